"""What statements of Spark change besides rows, as far as a squash needs to know: tables by name, or what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from glacierbase.model.names import name_of, name_parts
from glacierbase.sql import read
from glacierbase.sql.clauses import if_not_exists
from glacierbase.sql.cursor import Cursor
from glacierbase.sql.parts import Call, Column
from glacierbase.sql.statement import ParsedStatement


class Kind(Enum):
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

    kind: Kind
    tables: tuple[str, ...] = ()
    namespace: str | None = None
    has_rows: bool = False
    switches: bool = False
    removes: bool = False


_KINDS = {
    **dict.fromkeys(("create_namespace", "alter_namespace", "drop_namespace"), Kind.NAMESPACE),
    **dict.fromkeys(("create_view", "replace_view", "alter_view", "drop_view", "rename_view"), Kind.VIEW),
    **dict.fromkeys(("create_function", "drop_function"), Kind.FUNCTION),
    **dict.fromkeys(("grant", "revoke"), Kind.RIGHTS),
    **dict.fromkeys(("create_branch", "drop_branch", "create_tag", "drop_tag"), Kind.REFERENCE),
    **dict.fromkeys(
        ("insert", "insert_overwrite", "insert_multi", "update", "delete", "merge", "truncate", "add_partition", "drop_partition"),
        Kind.ROWS,
    ),
    **dict.fromkeys(
        (
            "use", "set", "reset", "show", "describe", "select", "explain", "analyze", "refresh", "cache", "uncache",
            "optimize", "vacuum",
        ),
        Kind.NOTHING,
    ),
}  # fmt: skip
# Procedures of Iceberg that create a table. https://iceberg.apache.org/docs/latest/spark-procedures/
_CREATING = ("migrate", "snapshot", "register_table")
_NAMESPACES = ("namespace", "schema", "database")


def effect(sql: str) -> Effect:
    """Return what a statement changes; `UNKNOWN` where it could be the shape of a table that is not named."""
    found = read(sql, "spark")
    kind = _kind(found)
    if kind is Kind.TABLE:
        removes = found.operation in ("drop_table", "rename_table")
        return Effect(kind, _tables(found), has_rows=_has_query(found), removes=removes)
    name = _created_namespace(sql) if found.operation == "create_namespace" else None
    # A setting such as `spark.sql.defaultCatalog`.
    switches = found.operation == "use" or (found.operation == "set" and "catalog" in sql.lower())
    return Effect(kind, namespace=name, switches=switches)


def _created_namespace(sql: str) -> str:
    """Return the namespace of a CREATE NAMESPACE that is understood."""
    cursor = Cursor(sql, "spark")
    cursor.expect("CREATE")
    cursor.next()
    if_not_exists(cursor)
    return cursor.table().recorded


def _kind(found: ParsedStatement) -> Kind:
    if not found.understood:
        return Kind.UNKNOWN
    if found.options.kind in _NAMESPACES:
        return Kind.NAMESPACE
    if found.operation in _KINDS:
        return _KINDS[found.operation]
    if found.operation == "call":
        called = [part for part in found.parts if isinstance(part, Call)]
        creates = [each.procedure[-1].lower() in _CREATING for each in called]
        return Kind.UNKNOWN if any(creates) or not creates else Kind.CALL
    return Kind.TABLE if found.targets and found.options.kind == "table" else Kind.UNKNOWN


def _tables(found: ParsedStatement) -> tuple[str, ...]:
    names = tuple(target.recorded for target in found.targets)
    return (names[0], *_new_names(*names)) if found.operation == "rename_table" else names


def _has_query(found: ParsedStatement) -> bool:
    is_replaced = found.operation == "replace_table" and not any(isinstance(part, Column) for part in found.parts)
    return found.operation == "create_table_as" or is_replaced


def _new_names(old: str, new: str) -> tuple[str, ...]:
    """Return what the new name of a table may mean: the first parts of the old one may be left out."""
    whole, parts = name_parts(old), name_parts(new)
    missing = len(whole) - len(parts)
    return (new, name_of((*whole[:missing], *parts))) if missing > 0 else (new,)
