"""The tables and views that exist after all files, and the shape of each as the files declare it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import KnownTables
from glacierbase.formats import FILE_FORMATS, FORMATS, OF_SPARK
from glacierbase.formats.iceberg import FORMAT_VERSION
from glacierbase.model.names import name_parts
from glacierbase.model.partial_shape import COLUMNS, IDENTIFIERS, PARTITIONING, SORTING, Path
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.sql.cursor import Cursor, UnsupportedClause, if_not_exists
from glacierbase.sql.dialects import SNOWFLAKE, SPARK, dialect_of
from glacierbase.sql.file import FileStatement
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import Name, ParsedStatement
from glacierbase.sql.types import normalised, types_of

# Returns the qualified names of what a statement changes, after these statements of its session.
WholeNames = Callable[[ParsedStatement, Sequence[FileStatement]], Sequence[Name]]

_F = TypeVar("_F", PartitionField, SortField)
_CREATES = CREATES_TABLE | {"create_view", "replace_view"}
_DROPS = frozenset({"drop_table", "drop_view"})
_RENAMES = frozenset({"rename_table", "rename_view"})
_OF_SESSION = frozenset({"use", "set"})
# Words between CREATE and TABLE or VIEW.
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Declared:
    """A table or view that exists after all files.

    Attributes:
        name: as the file writes it.
        whole: its name after every USE.
        uses: the statements of its session before it.
        versions: the versions of the files that create or change it.
        known: what the statements declare of it; None for a view, and where it is not known.
        why: the reason why it is not known.
    """

    name: str
    whole: Name
    uses: tuple[str, ...]
    versions: tuple[str, ...]
    is_view: bool = False
    known: KnownTable | None = None
    why: str = ""


@dataclass(slots=True)
class DeclaredTables:
    """What files declare.

    Attributes:
        tables: by the key of the qualified name.
        not_understood: the versions of files, and a sentence for each of their statements that is not understood.
    """

    tables: dict[tuple[str, ...], Declared] = field(default_factory=dict)
    not_understood: list[tuple[str, str]] = field(default_factory=list)


def declared_tables(
    files: Iterable[tuple[str, Sequence[FileStatement]]], dialect: str, names: WholeNames
) -> DeclaredTables:
    """Return what the files declare. A table that a statement that is not understood may have changed is unknown afterwards.

    Args:
        files: the version and the statements of each, from the first one of the catalog.
    """
    follower = TableTracker(dialect, names)
    for version, statements in files:
        follower.follow_file(version, statements)
    return follower.declared


class TableTracker:
    """Follow tables from statement to statement.

    Attributes:
        declared: what the files so far declare.
    """

    def __init__(self, dialect: str, names: WholeNames, *, is_complete: bool = True) -> None:
        """Args:
        names: returns the qualified names of what a statement changes.
        is_complete: whether the first file is the first one of the catalog.
        """
        self.declared = DeclaredTables()
        self._dialect = dialect
        self._names = names
        self._known = KnownTables(is_complete=is_complete)

    def follow_file(self, version: str, statements: Sequence[FileStatement]) -> None:
        """Add what the statements of the next file declare."""
        uses: tuple[FileStatement, ...] = ()
        for named in statements:
            parsed = self._parsed(named, version)
            if parsed.operation in _OF_SESSION:
                uses = (*uses, named)
            elif not parsed.options.temporary:
                written = [name.recorded for name in parsed.targets]
                whole = replace(parsed, targets=tuple(self._names(parsed, uses)))
                self._known.follow(whole)
                self._list(whole, written, tuple(use.statement.text for use in uses), version)
                self._explain(f"version {version}, statement {named.statement.index}: {_effect(parsed)}")

    def _parsed(self, named: FileStatement, version: str) -> ParsedStatement:
        """Return what a statement does; for one that is not understood, also what it creates."""
        statement, parsed = named.statement, named.parsed
        if parsed.understood:
            return parsed
        place = f"version {version}, statement {statement.index}"
        self.declared.not_understood.append((version, f"{place} is not understood: {parsed.why}"))
        name = _created_name(statement.text, self._dialect)
        return replace(parsed, targets=(name,) if name else ())

    def _list(self, parsed: ParsedStatement, written: Sequence[str], uses: tuple[str, ...], version: str) -> None:
        """Add, remove or rename the tables that a statement is about."""
        tables, keys = self.declared.tables, [name.key for name in parsed.targets]
        is_new = parsed.operation in _CREATES or (not parsed.understood and keys)
        if is_new and not (parsed.options.if_not_exists and keys[0] in tables):
            is_view = parsed.operation.endswith("_view") or parsed.options.kind.endswith("view")
            tables[keys[0]] = Declared(
                written[0], parsed.targets[0], uses, (version,), is_view, why=_why(parsed, self._dialect)
            )
        elif parsed.operation in _DROPS:
            tables.pop(keys[0], None)
        elif parsed.operation in _RENAMES and keys[0] in tables:
            renamed = tables.pop(keys[0])
            tables[keys[1]] = replace(renamed, name=written[1], whole=parsed.targets[1], uses=uses)
        for key in keys[-1:] if parsed.operation in _RENAMES else keys:
            if key in tables and version not in tables[key].versions:
                tables[key] = replace(tables[key], versions=(*tables[key].versions, version))

    def _explain(self, why: str) -> None:
        """Store what is known of each table, or the reason why nothing is."""
        for key, table in self.declared.tables.items():
            known = None if table.is_view or (table.why and not table.known) else self._known.before(table.whole)
            if known is None and not table.why:
                self.declared.tables[key] = replace(table, known=None, why="a view" if table.is_view else why)
            else:
                self.declared.tables[key] = replace(table, known=known)


def _why(parsed: ParsedStatement, dialect: str) -> str:
    """Return why the table that a statement creates cannot be known; empty where it can."""
    if not parsed.understood:
        return parsed.why
    if dialect == SNOWFLAKE.name and (parsed.options.kind != "table" or parsed.options.external):
        return (
            ""
            if parsed.options.kind.endswith("view")
            else f"Snowflake adds columns or maps types of an {parsed.options.kind}"
        )
    if parsed.operation in ("create_table", "replace_table") and parsed.sources and parsed.query is None:
        return f"a copy of {parsed.sources[0]}"
    return ""


def _effect(parsed: ParsedStatement) -> str:
    """Return a sentence on how a statement may have changed a table, so that nothing is known of it."""
    what = parsed.operation.replace("_", " ") if parsed.understood else f"it is not understood ({parsed.why})"
    return f"{what} may have changed it"


def _created_name(sql: str, dialect: str) -> Name | None:
    """Return the name of the table or view that a statement creates, where the rest of the statement is not understood."""
    try:
        cursor = Cursor(sql, dialect)
        if cursor.next() not in ("CREATE", "REPLACE"):
            return None
        for _ in range(_MOST_WORDS):
            if cursor.next() in ("TABLE", "VIEW"):
                if_not_exists(cursor)
                return cursor.table()
    except UnsupportedClause:
        pass
    return None


# Formats of Spark whose columns are nullable whatever is declared, and whose partition columns are the last ones.
_OF_FILES = FILE_FORMATS | {"hive", *(known.name for known in FORMATS.values() if not known.keeps_columns)}
_WITH_IDENTIFIERS = {SNOWFLAKE.name, *(known.name for known in FORMATS.values() if known.has_identifiers)}
_LITERALS = {"TRUE": True, "FALSE": False, "NULL": None}


@dataclass(slots=True)
class DeclaredShape:
    """A table as statements declare it.

    Attributes:
        shape: unknown parts are those of the actual shape.
        unknown: the parts that are not known: `columns`, `type of total`, `write order`.
    """

    shape: Shape
    unknown: list[str] = field(default_factory=list)


def declared_shape(known: KnownTable, actual: Shape, dialect: str) -> DeclaredShape:
    """Return a table as declared, in the spelling and with the names and ids of the actual table.

    A statement without PARTITIONED BY, write order, identifier or comment declares that there is none. Properties that no
    statement names are ignored.
    """
    return _Declaration(known, actual, dialect).result()


class _Declaration:
    def __init__(self, known: KnownTable, actual: Shape, dialect: str) -> None:
        self._known = known
        self._actual = actual
        self._dialect = dialect
        self._there = {self._path(column.name): column for column in actual.columns}
        self._result = DeclaredShape(actual)
        # An engine's description of an Iceberg table shows neither write order nor identifiers.
        self._is_partial = actual.format == "iceberg" and actual.uuid is None

    def result(self) -> DeclaredShape:
        declared, result = self._known.model, self._result
        format_, version = self._format()
        shape = replace(result.shape, format=format_, format_version=version)
        if declared.knows(COLUMNS):
            shape = replace(shape, columns=self._in_order(tuple(self._columns(declared.shape.columns))))
        else:
            result.unknown.append("columns")
        if declared.knows(PARTITIONING):
            shape = replace(shape, partitioning=tuple(map(self._named, declared.shape.partitioning)))
        else:
            result.unknown.append("partitioning")
        result.shape = self._with_properties(self._with_order(shape))
        return result

    def _path(self, name: str) -> Path:
        parts = name_parts(name)
        facts = dialect_of(self._dialect)
        return tuple(map(facts.folds, parts) if facts.quotes_fold else parts)

    def _name(self, name: str) -> str:
        there = self._there.get(self._path(name))
        return there.name if there else name

    def _named(self, field: _F) -> _F:
        return replace(field, source=self._name(field.source))

    def _format(self) -> tuple[str, int | None]:
        actual, version = self._actual, (self._known.properties or {}).get("format-version", "")
        is_named = version.isdigit() and actual.format == "iceberg"
        # Another word after USING chooses the format of files in a table of Iceberg.
        using = self._known.using if self._known.using in FORMATS else None
        return using or actual.format, int(version) if is_named else actual.format_version

    def _columns(self, columns: Sequence[Column]) -> Iterator[Column]:
        """Yield each column. The fields inside one whose type is not understood are those of the table."""
        paths = [self._path(column.name) for column in columns]
        with_fields = {path[:-1] for path in paths}
        for path, column in zip(paths, columns, strict=True):
            yield self._column(column, self._there.get(path), has_fields=path in with_fields)
            if "<" in column.type and path not in with_fields:
                yield from (inner for at, inner in self._there.items() if at[:-1] and at[: len(path)] == path != at)

    def _column(self, column: Column, there: Column | None, *, has_fields: bool) -> Column:
        name = there.name if there else column.name
        made = Column(
            there.id if there else None, name, self._type(name, column.type, there, has_fields=has_fields),
            column.required, column.comment or None,
        )  # fmt: skip
        if there is None:
            return made
        if self._actual.format in _OF_FILES:
            made = replace(made, required=there.required)
        if self._dialect == SNOWFLAKE.name and column.name in self._known.model.shape.identifiers:
            made = replace(made, required=True)
        default = None if column.default is None else str(json.loads(column.default))
        return replace(made, default=_default(default, there.default))

    def _type(self, name: str, text: str, there: Column | None, *, has_fields: bool) -> str:
        """Return a type, in the table's spelling if the table has it. Nested types are compared by their fields."""
        try:
            spellings = types_of(text, self._dialect)
            if there is None or not (has_fields and "<" in there.type):
                actual = normalised(there.type, self._dialect) if there else ""
                return there.type if there and actual in spellings else spellings[0]
        except UnsupportedClause:
            self._result.unknown.append(f"type of {name}")
        return there.type if there else text

    def _in_order(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return the columns in the order of the table if its format determines the order."""
        if self._actual.format not in _OF_FILES:
            return columns
        order = {column.name: at for at, column in enumerate(self._actual.columns)}
        return tuple(sorted(columns, key=lambda column: order.get(column.name, len(order))))

    def _with_order(self, shape: Shape) -> Shape:
        """Return the shape with write order and identifiers as declared."""
        declared, sorting, identifiers = (
            self._known.model,
            self._known.model.shape.sorting,
            self._known.model.shape.identifiers,
        )
        if not declared.knows(SORTING) or (self._is_partial and sorting):
            self._result.unknown.append("write order")
        elif not self._is_partial:
            shape = replace(shape, sorting=tuple(map(self._named, sorting)))
        if not declared.knows(IDENTIFIERS) or (self._is_partial and identifiers):
            self._result.unknown.append("identifier fields")
        elif self._actual.format in _WITH_IDENTIFIERS and not self._is_partial:
            shape = replace(shape, identifiers=tuple(map(self._name, identifiers)))
        return shape

    def _with_properties(self, shape: Shape) -> Shape:
        """Return the shape with the properties that statements name, and the comment. Snowflake's properties are not read."""
        known = self._known
        if known.properties is None:
            self._result.unknown.append("properties")
        if known.properties is None or self._dialect == SNOWFLAKE.name:
            return shape
        of_format = FORMATS.get(self._actual.format)
        not_stored = {FORMAT_VERSION, *OF_SPARK, *(of_format.not_stored if of_format else ())}
        named = {key: value for key, value in known.properties.items() if key not in not_stored}
        absent = known.unset | {"comment"}
        rest = {key: value for key, value in self._actual.properties.items() if key not in absent}
        return replace(shape, properties={**rest, **named})


def _default(declared: str | None, actual: str | None) -> str | None:
    """Return the table's default of a column if it is the declared one, as far as that can be determined.

    Engines store expressions in another spelling, so that they are not compared.
    """
    stored = json.loads(actual) if actual else None
    if str(stored).startswith("IDENTITY "):  # Snowflake: AUTOINCREMENT is no default in the statement.
        return actual
    if declared is None or actual is None:
        return declared
    value = _literal(declared)
    return actual if value is _EXPRESSION or stored in (value, declared) else json.dumps(value)


_EXPRESSION = object()


def _literal(text: str) -> object:
    """Return the value of a literal; `_EXPRESSION` for any other text."""
    cursor = Cursor(text, SPARK.name)
    if cursor.is_string() and not cursor.word(1):
        return cursor.string()
    if text.upper() in _LITERALS:
        return _LITERALS[text.upper()]
    try:
        return json.loads(text)
    except ValueError:
        return _EXPRESSION
