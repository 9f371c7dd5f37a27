"""What statements of Spark change besides rows, as far as a squash needs to know: tables by name, or what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from glacierbase.model.names import completed_like, name_parts
from glacierbase.sql.statement import Call, ColumnClause, ParsedStatement


class EffectKind(Enum):
    """What a statement changes; the value names it in what a squash leaves out."""

    TABLE = "tables"
    ROWS = "rows"
    VIEW = "views"
    NAMESPACE = "properties and places of namespaces"
    FUNCTION = "functions"
    RIGHTS = "grants"
    REFERENCE = "branches and tags"
    CALL = "calls of procedures"
    NOTHING = "settings and maintenance"
    UNKNOWN = "statements that are not understood"


@dataclass(frozen=True, slots=True)
class Effect:
    """What one statement changes.

    Attributes:
        tables: whose shape it may change, as written; a renamed one under both names.
        namespace: that it creates.
        has_rows: whether it also writes rows.
        switches: whether the names in statements after it depend on it.
        removes: whether it drops or renames the first of its tables.
    """

    kind: EffectKind
    tables: tuple[str, ...] = ()
    namespace: str | None = None
    has_rows: bool = False
    switches: bool = False
    removes: bool = False


_KINDS = {
    **dict.fromkeys(("create_namespace", "alter_namespace", "drop_namespace"), EffectKind.NAMESPACE),
    **dict.fromkeys(("create_view", "replace_view", "alter_view", "drop_view", "rename_view"), EffectKind.VIEW),
    **dict.fromkeys(("create_function", "drop_function"), EffectKind.FUNCTION),
    **dict.fromkeys(("grant", "revoke"), EffectKind.RIGHTS),
    **dict.fromkeys(("create_branch", "drop_branch", "create_tag", "drop_tag"), EffectKind.REFERENCE),
    **dict.fromkeys(
        ("insert", "insert_overwrite", "insert_multi", "update", "delete", "merge", "truncate", "add_partition", "drop_partition"),
        EffectKind.ROWS,
    ),
    **dict.fromkeys(
        (
            "use", "set", "reset", "show", "describe", "select", "explain", "analyze", "refresh", "cache", "uncache",
            "optimize", "vacuum",
        ),
        EffectKind.NOTHING,
    ),
}  # fmt: skip
# Procedures of Iceberg that create a table. https://iceberg.apache.org/docs/latest/spark-procedures/
_CREATING = ("migrate", "snapshot", "register_table")
_NAMESPACES = ("namespace", "schema", "database")


def effect(found: ParsedStatement) -> Effect:
    """Return what a statement of Spark changes; `UNKNOWN` where it could be the shape of a table that is not named."""
    kind = _kind(found)
    if kind is EffectKind.TABLE:
        removes = found.operation in ("drop_table", "rename_table")
        return Effect(kind, _tables(found), has_rows=_has_query(found), removes=removes)
    name = found.namespace.recorded if found.namespace and found.operation == "create_namespace" else None
    return Effect(kind, namespace=name, switches=found.understood and bool(found.moves))


def _kind(found: ParsedStatement) -> EffectKind:
    if not found.understood:
        return EffectKind.UNKNOWN
    if found.options.kind in _NAMESPACES:
        return EffectKind.NAMESPACE
    if found.operation in _KINDS:
        return _KINDS[found.operation]
    if found.operation == "call":
        called = [part for part in found.parts if isinstance(part, Call)]
        creates = [call.procedure[-1].lower() in _CREATING for call in called]
        return EffectKind.UNKNOWN if any(creates) or not creates else EffectKind.CALL
    return EffectKind.TABLE if found.targets and found.options.kind == "table" else EffectKind.UNKNOWN


def _tables(found: ParsedStatement) -> tuple[str, ...]:
    names = tuple(target.recorded for target in found.targets)
    if found.operation != "rename_table":
        return names
    # The new name may be relative to the catalog and the namespace of the old one.
    return tuple(dict.fromkeys((*names, completed_like(names[1], name_parts(names[0])))))


def _has_query(found: ParsedStatement) -> bool:
    is_replaced = found.operation == "replace_table" and not any(isinstance(part, ColumnClause) for part in found.parts)
    return found.operation == "create_table_as" or is_replaced
