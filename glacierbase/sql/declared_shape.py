"""The shape that a table has if it is as statements declare it, for the comparison with its actual shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.sql.column_types import normalised, types_of
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.known_table import KnownColumn, KnownColumns, KnownField, KnownTable, Path

# Spark's names of Iceberg's transforms. https://iceberg.apache.org/docs/latest/spark-ddl/#partitioned-by
_TRANSFORMS = {
    "": "identity", "years": "year", "months": "month", "days": "day", "date": "day", "hours": "hour", "date_hour": "hour",
}  # fmt: skip
# Formats of Spark whose columns are nullable whatever is declared, and whose partition columns are the last ones.
_OF_FILES = {"parquet", "orc", "avro", "csv", "json", "text", "hive", "hudi"}
# After USING; another word chooses the format of files in a table of Iceberg.
_FORMATS = {"iceberg", "delta", "hudi"}
_WITH_IDENTIFIERS = {"iceberg", "snowflake"}
# Properties that say where and what a table is, and are not stored as such.
_NOT_STORED = {"format-version", "location", "provider", "owner", "external"}
_LITERALS = {"TRUE": True, "FALSE": False, "NULL": None}


@dataclass(slots=True)
class DeclaredShape:
    """A table as statements declare it.

    Attributes:
        shape: what is not known is as it is in the actual shape.
        unknown: the parts that are not known: `columns`, `type of total`, `write order`.
    """

    shape: Shape
    unknown: list[str] = field(default_factory=list)


def declared_shape(known: KnownTable, actual: Shape, dialect: str) -> DeclaredShape:
    """Return a table as declared, in the spelling and with the names and ids of the table as it is.

    No PARTITIONED BY, write order, identifier or comment means that there is none. Of properties, those count that a
    statement names.
    """
    return _Declaration(known, actual, dialect).made()


class _Declaration:
    def __init__(self, known: KnownTable, actual: Shape, dialect: str) -> None:
        self._known = known
        self._actual = actual
        self._dialect = dialect
        self._there = {self._path(column.name): column for column in actual.columns}
        self._made = DeclaredShape(actual)
        # The description by an engine shows neither write order nor identifiers of Iceberg.
        self._is_partial = actual.format == "iceberg" and actual.uuid is None

    def made(self) -> DeclaredShape:
        known, made = self._known, self._made
        format_, version = self._format()
        shape = replace(made.shape, format=format_, format_version=version)
        if known.columns is None:
            made.unknown.append("columns")
        else:
            shape = replace(shape, columns=self._in_order(tuple(self._columns(known.columns))))
        if known.partitioning is None:
            made.unknown.append("partitioning")
        else:
            shape = replace(shape, partitioning=tuple(map(self._partition, known.partitioning)))
        made.shape = self._with_properties(self._with_order(shape))
        return made

    def _path(self, name: str) -> Path:
        parts = name_parts(name)
        return tuple(parts if self._dialect == "snowflake" else (part.lower() for part in parts))

    def _name(self, path: Path) -> str:
        there = self._there.get(path)
        return there.name if there else name_of(path)

    def _format(self) -> tuple[str, int | None]:
        actual, version = self._actual, (self._known.properties or {}).get("format-version", "")
        is_named = version.isdigit() and actual.format == "iceberg"
        using = self._known.using if self._known.using in _FORMATS else None
        return using or actual.format, int(version) if is_named else actual.format_version

    def _columns(self, columns: KnownColumns, above: Path = ()) -> Iterator[Column]:
        """Yield each column, and after it the fields inside."""
        for name, known in columns.items():
            path = (*above, name)
            there = self._there.get(path)
            yield self._column(path, known, there)
            if known.fields is None:
                yield from (each for at, each in self._there.items() if at[:-1] and at[: len(path)] == path != at)
            else:
                yield from self._columns(known.fields, path)

    def _column(self, path: Path, known: KnownColumn, there: Column | None) -> Column:
        name = self._name(path)
        declared = Column(
            there.id if there else None, name, self._type(name, known, there), known.required, known.comment or None
        )
        if there is None:
            return declared
        if self._actual.format in _OF_FILES:
            declared = replace(declared, required=there.required)
        if self._dialect == "snowflake" and path in (self._known.identifiers or ()):
            declared = replace(declared, required=True)
        return replace(declared, default=_default(known.default, there.default))

    def _type(self, name: str, known: KnownColumn, there: Column | None) -> str:
        """Return a type as the table spells it where it has that type. A type with fields inside is compared by them."""
        try:
            spellings = types_of(known.text or "", self._dialect)
            if there is None or not (known.fields and "<" in there.type):
                actual = normalised(there.type, self._dialect) if there else ""
                return there.type if there and actual in spellings else spellings[0]
        except (NotUnderstood, RecursionError):
            self._made.unknown.append(f"type of {name}")
        return there.type if there else known.text or ""

    def _in_order(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return the columns in the order of the table where its format has an order of its own."""
        if self._actual.format not in _OF_FILES:
            return columns
        order = {column.name: at for at, column in enumerate(self._actual.columns)}
        return tuple(sorted(columns, key=lambda column: order.get(column.name, len(order))))

    def _partition(self, known: KnownField) -> PartitionField:
        return PartitionField(None, known.name, self._name(known.source), _transform(known))

    def _with_order(self, shape: Shape) -> Shape:
        """Return the shape with write order and identifiers as declared."""
        known, actual = self._known, self._actual
        if known.ordering is None or (self._is_partial and known.ordering):
            self._made.unknown.append("write order")
        elif not self._is_partial:
            shape = replace(
                shape,
                sorting=tuple(
                    SortField(self._name(each.source), _transform(each), each.direction, each.nulls)
                    for each in known.ordering
                ),
            )
        if known.identifiers is None or (self._is_partial and known.identifiers):
            self._made.unknown.append("identifier fields")
        elif actual.format in _WITH_IDENTIFIERS and not self._is_partial:
            shape = replace(shape, identifiers=tuple(map(self._name, known.identifiers)))
        return shape

    def _with_properties(self, shape: Shape) -> Shape:
        """Return the shape with the properties that statements name, and the comment. Snowflake's are not read."""
        known = self._known
        if known.properties is None:
            self._made.unknown.append("properties")
        if known.properties is None or self._dialect == "snowflake":
            return shape
        named = {key: value for key, value in known.properties.items() if key not in _NOT_STORED}
        absent = known.unset | {"comment"}
        rest = {key: value for key, value in self._actual.properties.items() if key not in absent}
        return replace(shape, properties={**rest, **named})


def _transform(known: KnownField) -> str:
    """Return a transform as Iceberg spells it: `bucket[16]`, `day`."""
    function, _, width = known.transform.rstrip(")").partition("(")
    return f"{function}[{width}]" if width else _TRANSFORMS.get(function, function)


def _default(declared: str | None, actual: str | None) -> str | None:
    """Return the default of a column as the table has it, if it is the declared one, as far as that can be said.

    Engines store an expression in a spelling of their own, so that two of them are not compared.
    """
    stored = json.loads(actual) if actual else None
    if str(stored).startswith("IDENTITY "):  # Of Snowflake: AUTOINCREMENT is no default in the statement.
        return actual
    if declared is None or actual is None:
        return declared
    value = _literal(declared)
    return actual if value is _EXPRESSION or stored in (value, declared) else json.dumps(value)


_EXPRESSION = object()


def _literal(text: str) -> object:
    """Return the value of a literal; `_EXPRESSION` for any other text."""
    cursor = Cursor(text, "spark")
    if cursor.is_string() and not cursor.word(1):
        return cursor.string()
    if text.upper() in _LITERALS:
        return _LITERALS[text.upper()]
    try:
        return json.loads(text)
    except ValueError:
        return _EXPRESSION
