"""Classify the statements of Spark for a squash: whether they change tables, or the kind of change that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from glacierbase.sql.operations import (
    FUNCTIONS,
    NAMESPACES,
    PARTITIONS,
    QUERIES,
    REFERENCES,
    RIGHTS,
    ROWS,
    UPKEEP,
    VIEWS,
)
from glacierbase.sql.statement import Call, ColumnClause, ParsedStatement


class EffectKind(Enum):
    """What a statement changes; the value names the kind in the list of what a squash leaves out."""

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
        namespace: the one that it creates.
        has_rows: whether it also writes rows.
        removes: whether it drops or renames the first of its tables.
    """

    kind: EffectKind
    namespace: str | None = None
    has_rows: bool = False
    removes: bool = False


_KINDS = {
    **dict.fromkeys(NAMESPACES, EffectKind.NAMESPACE),
    **dict.fromkeys(VIEWS, EffectKind.VIEW),
    **dict.fromkeys(FUNCTIONS, EffectKind.FUNCTION),
    **dict.fromkeys(RIGHTS, EffectKind.RIGHTS),
    **dict.fromkeys(REFERENCES, EffectKind.REFERENCE),
    **dict.fromkeys((ROWS | PARTITIONS) - {"copy"}, EffectKind.ROWS),
    **dict.fromkeys(QUERIES | UPKEEP | {"use", "set", "reset"}, EffectKind.NOTHING),
}
# Procedures of Iceberg that create a table. https://iceberg.apache.org/docs/latest/spark-procedures/
_CREATING = ("migrate", "snapshot", "register_table")
_NAMESPACES = ("namespace", "schema", "database")


def effect(parsed: ParsedStatement) -> Effect:
    """Return what a statement of Spark changes; `UNKNOWN` if it may be the shape of an unnamed table."""
    kind = _kind(parsed)
    if kind is EffectKind.TABLE:
        removes = parsed.operation in ("drop_table", "rename_table")
        return Effect(kind, has_rows=_has_query(parsed), removes=removes)
    name = parsed.namespace.recorded if parsed.namespace and parsed.operation == "create_namespace" else None
    return Effect(kind, namespace=name)


def _kind(parsed: ParsedStatement) -> EffectKind:
    if not parsed.understood:
        return EffectKind.UNKNOWN
    if parsed.options.kind in _NAMESPACES:
        return EffectKind.NAMESPACE
    if parsed.operation in _KINDS:
        return _KINDS[parsed.operation]
    if parsed.operation == "call":
        called = [part for part in parsed.parts if isinstance(part, Call)]
        creates = [call.procedure[-1].lower() in _CREATING for call in called]
        return EffectKind.UNKNOWN if any(creates) or not creates else EffectKind.CALL
    return EffectKind.TABLE if parsed.targets and parsed.options.kind == "table" else EffectKind.UNKNOWN


def _has_query(parsed: ParsedStatement) -> bool:
    is_replaced = parsed.operation == "replace_table" and not any(
        isinstance(part, ColumnClause) for part in parsed.parts
    )
    return parsed.operation == "create_table_as" or is_replaced
