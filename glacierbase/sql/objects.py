"""CREATE, ALTER, DROP and COMMENT ON, by the kind of the object: TABLE, VIEW, NAMESPACE, FUNCTION and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from glacierbase.sql import snowflake
from glacierbase.sql.alter import SPARK_CLAUSES, alter_table
from glacierbase.sql.create import create_table, create_view
from glacierbase.sql.cursor import Cursor, UnsupportedClause, if_exists, if_not_exists, properties
from glacierbase.sql.dialects import SNOWFLAKE, SPARK, Dialect
from glacierbase.sql.kinds import CREATED, INDEXES, MODIFIERS, NAMESPACES, OTHERS, RELATIONS
from glacierbase.sql.queries import Sources
from glacierbase.sql.selects import select
from glacierbase.sql.statement import (
    EVERY_MOVE,
    AlterColumn,
    DroppedNamespace,
    Name,
    Options,
    ParsedStatement,
    Part,
    SessionEffect,
)

# Modifiers that are part of the kind.
_QUALIFIERS = ("MATERIALIZED", "STREAMING", "LIVE", "DYNAMIC", "ICEBERG", "HYBRID", "EVENT", "EXTERNAL")
_TEMPORARY = ("TEMPORARY", "TEMP", "VOLATILE")
_PROPERTIES = ("PROPERTIES", "DBPROPERTIES")
# Clauses of namespaces that no attribute holds.
_OF_NAMESPACES = (*_PROPERTIES, "MANAGED", "OWNER", "UNSET")


def create(cursor: Cursor) -> ParsedStatement:
    """Read CREATE after that word."""
    or_replace, or_alter = cursor.take("OR", "REPLACE"), cursor.take("OR", "ALTER") or cursor.take("OR", "REFRESH")
    is_global = cursor.word() == "GLOBAL"
    kind, options = _kind(cursor)
    parsed = _created(cursor, kind, replace(options, or_replace=or_replace, or_alter=or_alter))
    return _of_session(parsed, cursor.dialect, is_global=is_global) if options.temporary else parsed


def _of_session(parsed: ParsedStatement, dialect: Dialect, *, is_global: bool = False) -> ParsedStatement:
    """Return a statement on a temporary object, with its effect on the session; a global view lives as long as Spark.

    A temporary table holds rows, which no replay restores.
    """
    is_text = dialect is SPARK and not is_global and not parsed.options.kind.endswith("table")
    return replace(parsed, session=SessionEffect.SET if is_text else SessionEffect.UNKNOWN)


def replaced(cursor: Cursor) -> ParsedStatement:
    """Read REPLACE TABLE after its first word."""
    kind, options = _kind(cursor)
    if kind != "TABLE":
        raise UnsupportedClause(f"REPLACE {kind}")
    return _created(cursor, kind, replace(options, or_replace=True, only_replaces=True))


def _kind(cursor: Cursor) -> tuple[str, Options]:
    """Move past the kind of an object and the modifiers before it; return its last word, and the modifiers as options."""
    words: list[str] = []
    while cursor.word() in MODIFIERS and cursor.word(1) not in ("", "VOLUME", "LOCATION"):
        words.append(cursor.next())
    kind = cursor.next()
    if kind in NAMESPACES and cursor.word() == "ROLE":  # Snowflake's role of a database.
        kind = cursor.next()
    name = " ".join([*(word for word in words if word in _QUALIFIERS), kind]).lower()
    temporary = not set(words).isdisjoint(_TEMPORARY)
    return kind, Options(name, temporary=temporary, external="EXTERNAL" in words)


def _created(cursor: Cursor, kind: str, options: Options) -> ParsedStatement:
    if kind == "TABLE":
        return create_table(cursor, options)
    if kind == "VIEW":
        return create_view(cursor, options)
    if kind in INDEXES:
        return _index(cursor, options)
    options = replace(options, if_not_exists=if_not_exists(cursor))
    if kind in NAMESPACES:
        place, name = cursor.place(), cursor.table()
        options, parts = _namespace_clauses(cursor, options, "create_namespace")
        if options.or_replace:
            parts = (DroppedNamespace("drop_namespace", place, name.parts), *parts)
        return _on_namespace("create_namespace", cursor, options, name, parts)
    if kind in CREATED:
        _skip_body(cursor)
        return ParsedStatement(CREATED[kind], (), None, options=options)
    return _other(cursor, kind, options)


def _namespace_clauses(cursor: Cursor, options: Options, operation: str) -> tuple[Options, tuple[Part, ...]]:
    """Read the clauses that Spark has for a namespace; move past others."""
    parts, clauses = list[Part](), list[str]()
    while cursor.dialect is SPARK and cursor.word() not in ("", ";"):
        has_with, word = cursor.take("WITH"), cursor.next()
        if word in clauses or has_with != (word in _PROPERTIES and operation == "create_namespace"):
            cursor.note(f"the clause {word}")
        if word == "COMMENT" and cursor.is_string():
            options = replace(options, comment=cursor.string())
        elif word == "LOCATION" and cursor.is_string():
            options = replace(options, location=cursor.string())
        elif word in _PROPERTIES and cursor.word() == "(":
            parts += properties(cursor, operation)
            word = _PROPERTIES[0]
        elif word in _OF_NAMESPACES:
            cursor.note(f"the clause {word}")
            cursor.skip_to(";")
        else:
            raise UnsupportedClause(f"{word} in a statement on a namespace")
        clauses.append(word)
    cursor.skip_to(";")
    return options, tuple(parts)


def _on_namespace(
    operation: str, cursor: Cursor, options: Options, name: Name | None, parts: tuple[Part, ...] = ()
) -> ParsedStatement:
    """Return a statement on a namespace.

    On Snowflake, a created namespace becomes the current one: https://docs.snowflake.com/en/sql-reference/sql/create-schema.
    """
    parsed = ParsedStatement(operation, parts=parts, options=options, namespace=name)
    if cursor.dialect is not SNOWFLAKE:
        return parsed
    is_schema = options.kind == "schema" and name is not None and len(name.parts) == 1
    return replace(parsed, session=SessionEffect.MOVE, moves=frozenset({"namespace"}) if is_schema else EVERY_MOVE)


def _skip_body(cursor: Cursor) -> None:
    """Move to the end of a definition, which may be a script."""
    if cursor.skip_to("BEGIN", "DECLARE", ";") and cursor.word() != ";":
        cursor.skip_all()


def _other(cursor: Cursor, kind: str, options: Options) -> ParsedStatement:
    """Read the rest of a statement on an object that is not a table and contains none."""
    if kind not in OTHERS:
        raise UnsupportedClause(f"an object of the kind {kind}" if kind else "the end where an object is expected")
    _skip_body(cursor)
    return ParsedStatement("other", (), None, options=options)


def _index(cursor: Cursor, options: Options) -> ParsedStatement:
    """Read CREATE INDEX or DROP INDEX after the first word of its kind."""
    if not cursor.skip_to("ON"):
        raise UnsupportedClause("an index without ON")
    cursor.expect("ON")
    cursor.take("TABLE")
    target = cursor.table()
    cursor.skip_to(";")
    return ParsedStatement("other", (target,), options=options)


def drop(cursor: Cursor) -> ParsedStatement:
    """Read DROP after that word."""
    kind, options = _kind(cursor)
    parsed = _dropped(cursor, kind, options)
    return _of_session(parsed, cursor.dialect) if options.temporary else parsed


def _dropped(cursor: Cursor, kind: str, options: Options) -> ParsedStatement:
    if kind in INDEXES:
        return _index(cursor, options)
    options = replace(options, if_exists=if_exists(cursor))
    if kind in RELATIONS:
        return _drop_relation(cursor, options)
    if kind in NAMESPACES:
        place, name = cursor.place(), cursor.table()
        cascade = cursor.take_any("CASCADE", "RESTRICT") == "CASCADE"
        parts = (DroppedNamespace("drop_namespace", place, name.parts),)
        options = replace(options, cascade=cascade)
        return _on_namespace("drop_namespace", cursor, options, name, parts)
    if kind == "FUNCTION":
        cursor.skip_to(";")
        return ParsedStatement("drop_function", options=options)
    return _other(cursor, "TAG" if kind in CREATED else kind, options)


def _drop_relation(cursor: Cursor, options: Options) -> ParsedStatement:
    target = cursor.table()
    may_be_absent = if_exists(cursor) or options.if_exists
    purge = cursor.take("PURGE")
    cascade = cursor.take_any("CASCADE", "RESTRICT") == "CASCADE"
    operation = "drop_table" if options.kind.endswith("table") else "drop_view"
    options = replace(options, if_exists=may_be_absent, purge=purge, cascade=cascade)
    return ParsedStatement(operation, (target,), options=options)


def alter(cursor: Cursor) -> ParsedStatement:
    """Read ALTER after that word."""
    if cursor.dialect is SNOWFLAKE and cursor.word() == "SESSION":
        return snowflake.session(cursor)
    kind, options = _kind(cursor)
    if options.kind in ("table", "iceberg table", "external table", "hybrid table"):
        clauses = snowflake.CLAUSES if cursor.dialect is SNOWFLAKE else SPARK_CLAUSES
        return alter_table(cursor, options, clauses)
    if options.kind == "view":
        return _alter_view(cursor, options)
    if kind in RELATIONS:
        return _alter_other_relation(cursor, options)
    if kind in NAMESPACES:
        options = replace(options, if_exists=if_exists(cursor))
        name = None if cursor.word(1) == "(" else cursor.table()
        if not cursor.take("SET") or cursor.word() not in ("LOCATION", *_PROPERTIES):
            cursor.note(f"the clause {cursor.word()}")
        options, parts = _namespace_clauses(cursor, options, "alter_namespace")
        return _on_namespace("alter_namespace", cursor, options, name, parts)
    return _other(cursor, "TAG" if kind in CREATED else kind, options)


def _alter_other_relation(cursor: Cursor, options: Options) -> ParsedStatement:
    """Read ALTER of a materialized view, a dynamic table and the like; their clauses have no operation in `OPERATIONS`."""
    options = replace(options, if_exists=if_exists(cursor))
    targets, operation = [cursor.table()], "other"
    if cursor.take("RENAME", "TO"):
        operation = "rename_view" if options.kind.endswith("view") else "rename_table"
        targets.append(cursor.table())
    elif cursor.take("SWAP", "WITH"):
        targets.append(cursor.table())
    elif cursor.take("REFRESH"):
        operation = "refresh"
    cursor.skip_to(";")
    return ParsedStatement(operation, tuple(targets), None, options=options)


def _alter_view(cursor: Cursor, options: Options) -> ParsedStatement:
    options = replace(options, if_exists=if_exists(cursor))
    target = cursor.table()
    for words, read in _VIEW_CLAUSES.items():
        if cursor.take(*words):
            return read(cursor, target, options)
    cursor.take("AS")
    start = cursor.position
    sources = Sources(cursor).query()
    query = select(cursor.part(start), reads_target=sources.reads(target))
    return ParsedStatement("alter_view", (target,), sources.without(target), options=options, query=query)


def _rename_view(cursor: Cursor, target: Name, options: Options) -> ParsedStatement:
    return ParsedStatement("rename_view", (target, cursor.table()), options=options)


def _set_properties(cursor: Cursor, target: Name, options: Options) -> ParsedStatement:
    parts = tuple(properties(cursor, "set_properties"))
    return ParsedStatement("set_properties", (target,), (), parts, options)


def _unset_properties(cursor: Cursor, target: Name, options: Options) -> ParsedStatement:
    options = replace(options, if_exists=if_exists(cursor))
    parts = tuple(properties(cursor, "unset_properties"))
    return ParsedStatement("unset_properties", (target,), (), parts, options)


def _alter_view_itself(cursor: Cursor, target: Name, options: Options) -> ParsedStatement:
    cursor.skip_to(";")
    return ParsedStatement("alter_view", (target,), options=options)


_VIEW_CLAUSES: Mapping[tuple[str, ...], Callable[[Cursor, Name, Options], ParsedStatement]] = {
    ("RENAME", "TO"): _rename_view,
    ("SET", "TBLPROPERTIES"): _set_properties,
    ("UNSET", "TBLPROPERTIES"): _unset_properties,
    ("WITH", "SCHEMA"): _alter_view_itself,
    ("OWNER", "TO"): _alter_view_itself,
    ("SET",): _alter_view_itself,
    ("UNSET",): _alter_view_itself,
}


def comment(cursor: Cursor) -> ParsedStatement:
    """Read COMMENT ON after COMMENT."""
    may_be_absent = if_exists(cursor)
    cursor.expect("ON")
    kind, options = _kind(cursor)
    name = cursor.table()
    if cursor.word() != "IS":
        cursor.note(f"the clause {cursor.word()}")
    if not cursor.skip_to("IS"):
        raise UnsupportedClause("COMMENT ON without IS")
    cursor.expect("IS")
    text = None if cursor.take("NULL") else cursor.string()
    options = replace(options, comment=text, if_exists=may_be_absent)
    place, last = cursor.place(), slice(-1, None)
    changed = AlterColumn("alter_column_comment", place, name.parts[last], comment=text or "", key=name.key[last])
    parts = (changed,) if kind == "COLUMN" else ()
    namespace = name if kind in NAMESPACES else None
    return ParsedStatement("comment_on", _tables_of(kind, name), parts=parts, options=options, namespace=namespace)


def tag(cursor: Cursor) -> ParsedStatement:
    """Read Databricks' SET TAG ON and UNSET TAG ON after the word ON."""
    kind, options = _kind(cursor)
    name = cursor.table()
    cursor.skip_to(";")
    return ParsedStatement("other", _tables_of(kind, name), options=options)


def undrop(cursor: Cursor) -> ParsedStatement:
    """Read UNDROP after that word. Databricks also names a table by its id."""
    kind, options = _kind(cursor)
    if cursor.take("WITH"):
        raise UnsupportedClause("a table that is named by its id")
    return ParsedStatement("other", _tables_of(kind, cursor.table()), options=options)


def _tables_of(kind: str, name: Name) -> tuple[Name, ...]:
    """Return the table that an object of this kind is or belongs to."""
    if kind == "COLUMN" and len(name.parts) < 2:
        raise UnsupportedClause("a column without its table")
    return {"TABLE": (name,), "VIEW": (name,), "COLUMN": (name.owner(),)}.get(kind, ())
