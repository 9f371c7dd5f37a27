"""The object that a statement of Snowflake names, and the words after its name, whether the rest is understood or not.

https://docs.snowflake.com/en/sql-reference/sql-all
"""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.sql.cursor import Cursor, UnsupportedClause, if_exists, if_not_exists
from glacierbase.sql.statement import Name, Subject

# Kinds of several words; the last word alone is another kind, or none.
_SEVERAL = tuple(
    tuple(kind.split())
    for kind in (
        "EXTERNAL ACCESS INTEGRATION", "STORAGE LIFECYCLE POLICY", "ROW ACCESS POLICY", "MASKING POLICY", "AGGREGATION POLICY",
        "PROJECTION POLICY", "JOIN POLICY", "PRIVACY POLICY", "NETWORK POLICY", "PASSWORD POLICY", "SESSION POLICY",
        "AUTHENTICATION POLICY", "PACKAGES POLICY", "NETWORK RULE", "FILE FORMAT", "DYNAMIC TABLE", "EXTERNAL TABLE",
        "ICEBERG TABLE", "HYBRID TABLE", "EVENT TABLE", "MATERIALIZED VIEW", "RESOURCE MONITOR", "DATABASE ROLE",
        "EXTERNAL VOLUME", "FAILOVER GROUP", "REPLICATION GROUP", "GIT REPOSITORY", "COMPUTE POOL",
    )
)  # fmt: skip
_SINGLE = frozenset(
    {
        "TABLE", "VIEW", "STREAM", "TASK", "PIPE", "STAGE", "SEQUENCE", "TAG", "SCHEMA", "DATABASE", "WAREHOUSE", "ROLE", "USER",
        "SHARE", "INTEGRATION", "CONNECTION", "ALERT", "FUNCTION", "PROCEDURE", "SECRET", "ACCOUNT", "SESSION", "NOTEBOOK",
        "STREAMLIT", "SERVICE",
    }
)  # fmt: skip
# The verbs before the kind of an object, with how many other words may come between.
_BEFORE_KIND = {"CREATE": 6, "ALTER": 2, "DROP": 2, "UNDROP": 2, "EXECUTE": 0}
_WITHOUT_KIND = ("COPY", "GRANT", "REVOKE", "REMOVE", "RM", "USE")
_NAMELESS = ("ACCOUNT", "SESSION")


def subject_of(cursor: Cursor) -> Subject:
    """Return what the statement that begins here names. Of statements on rows, only the verb."""
    while cursor.take(";"):
        pass
    verb = cursor.next()
    if verb in _WITHOUT_KIND:
        return Subject(verb, words=_words(cursor))
    return _object(verb, cursor, _BEFORE_KIND[verb]) if verb in _BEFORE_KIND else Subject(verb)


def _object(verb: str, cursor: Cursor, most_words: int) -> Subject:
    modifiers: list[str] = []
    while not (kind := _kind(cursor)) and len(modifiers) < most_words:
        modifiers.append(cursor.next())
    if not kind:
        return Subject(verb)
    for _ in kind:
        cursor.next()
    absent_only = if_not_exists(cursor)
    if_exists(cursor)
    name = None if " ".join(kind) in _NAMELESS else _name(cursor)
    words = _words(cursor, *(("AS",) if verb == "CREATE" else ()))
    return Subject(verb, " ".join(kind), name, frozenset(modifiers), absent_only, words)


def _kind(cursor: Cursor) -> tuple[str, ...]:
    for kind in _SEVERAL:
        if all(cursor.word(ahead) == word for ahead, word in enumerate(kind)):
            return kind
    return (cursor.word(),) if cursor.word() in _SINGLE else ()


def _name(cursor: Cursor) -> Name | None:
    try:
        return cursor.table()
    except UnsupportedClause:  # It is computed.
        return None


def _words(cursor: Cursor, *ends: str) -> tuple[str, ...]:
    return tuple(_each_word(cursor, ends))


def _each_word(cursor: Cursor, ends: tuple[str, ...]) -> Iterator[str]:
    """Yield the words up to the definition, without what parentheses enclose; strings with their quotes."""
    while (word := cursor.word()) and word != ";" and word not in ends:
        yield cursor.text() if cursor.is_string() or word == '"' else word
        try:
            cursor.parentheses() if word == "(" else cursor.next()
        except UnsupportedClause:
            return
