"""What statements of Spark change besides rows, as far as a squash needs to know: tables by name, or what it leaves out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from glacierbase.migrations.targets import target_table
from glacierbase.model.names import NAME, name_parts, recorded_name


class Kind(Enum):
    """What a statement changes; the value names it in what a squash leaves out."""

    TABLE = "tables"
    ROWS = "rows"
    VIEW = "views"
    NAMESPACE = "properties and places of namespaces"
    FUNCTION = "functions"
    RIGHTS = "grants"
    CALL = "calls of procedures"
    NOTHING = "settings of a session"
    UNKNOWN = "statements that are not understood"


@dataclass(frozen=True, slots=True)
class Effect:
    """What one statement changes.

    Attributes:
        tables: whose shape it may change, as written; a renamed one under both names.
        namespace: that it creates.
        has_rows: whether it also writes rows.
        switches: whether the names in statements after it depend on it.
    """

    kind: Kind
    tables: tuple[str, ...] = ()
    namespace: str | None = None
    has_rows: bool = False
    switches: bool = False


_MANY = r"(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|EXTERNAL|MATERIALIZED)\s+)*"
_FIRST_WORDS: tuple[tuple[Kind, str], ...] = (
    (Kind.TABLE, rf"(?:CREATE|REPLACE|DROP|ALTER)\s+{_MANY}TABLE|COMMENT\s+ON\s+TABLE"),
    (Kind.VIEW, rf"(?:CREATE|DROP|ALTER)\s+{_MANY}VIEW"),
    (Kind.NAMESPACE, r"(?:CREATE|DROP|ALTER|COMMENT\s+ON)\s+(?:NAMESPACE|DATABASE|SCHEMA)"),
    (Kind.FUNCTION, rf"(?:CREATE|DROP)\s+{_MANY}FUNCTION"),
    (Kind.RIGHTS, r"GRANT|REVOKE"),
    (Kind.ROWS, r"INSERT|UPDATE|DELETE|MERGE|TRUNCATE|WITH|FROM"),
    (Kind.NOTHING, r"USE|SET|RESET|REFRESH|ANALYZE|CACHE|UNCACHE|SHOW|DESC|DESCRIBE|SELECT|VALUES|EXPLAIN"),
)
_PATTERNS = tuple((kind, re.compile(rf"(?:{words})\b", re.IGNORECASE)) for kind, words in _FIRST_WORDS)
_RENAMED = re.compile(rf"(?is)ALTER\s+TABLE\s+{NAME}\s+RENAME\s+TO\s+(?P<new>{NAME})\s*")
_QUERY = re.compile(r"(?i)\bAS\s*\(?\s*(?:SELECT|WITH|VALUES|FROM|TABLE)\b")
_CREATES_NAMESPACE = re.compile(
    rf"(?i)CREATE\s+(?:NAMESPACE|DATABASE|SCHEMA)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>{NAME})"
)
# Procedures of Iceberg that change no schema. https://iceberg.apache.org/docs/latest/spark-procedures/
_PROCEDURES = re.compile(
    r"(?is)CALL\s+[\w.`]*\bsystem`?\s*\.\s*`?(?:rewrite_\w+|expire_snapshots|remove_orphan_files|rollback_to_\w+|set_current_snapshot"
    r"|cherrypick_snapshot|publish_changes|fast_forward|add_files|ancestors_of|compute_\w+_stats|create_changelog_view)\b"
)


def effect(sql: str) -> Effect:
    """Return what a statement changes; `UNKNOWN` where it could be the shape of a table that is not named."""
    if _PROCEDURES.match(sql):
        return Effect(Kind.CALL)
    kind = next((kind for kind, pattern in _PATTERNS if pattern.match(sql)), Kind.UNKNOWN)
    if kind is Kind.TABLE:
        return _of_table(sql)
    if kind is Kind.NAMESPACE:
        found = _CREATES_NAMESPACE.match(sql)
        return Effect(kind, namespace=recorded_name(found["name"]) if found else None)
    return Effect(kind, switches=kind is Kind.NOTHING and sql[:3].upper() == "USE")


def _of_table(sql: str) -> Effect:
    table, renamed = target_table(sql), _RENAMED.fullmatch(sql)
    if table is None or (renamed is None and re.search(r"(?i)\bRENAME\s+TO\b", sql)):
        return Effect(Kind.UNKNOWN)
    tables = (table, *_new_names(table, recorded_name(renamed["new"]))) if renamed else (table,)
    return Effect(Kind.TABLE, tables, has_rows=bool(_QUERY.search(sql)))


def _new_names(old: str, new: str) -> tuple[str, ...]:
    """Return what the new name of a table may mean: the first parts of the old one may be left out."""
    missing = len(name_parts(old)) - len(name_parts(new))
    first = old.split(".")[:missing] if "`" not in old else []
    return (new, ".".join((*first, new))) if missing > 0 and first else (new,)
