"""Shapes as Spark SQL: the statements that create a table or turn one shape into another, and what they cannot express.

https://iceberg.apache.org/docs/latest/spark-ddl/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from glacierbase.formats import OF_SPARK
from glacierbase.formats.iceberg import ICEBERG
from glacierbase.model.escape import UNSAFE
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, name_and_width

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Also the characters that printing would escape: printed statements must run unchanged.
_ESCAPED = re.compile(rf"['\\\x00-\x1f]|\$(?=\{{)|{UNSAFE.pattern}")
_ESCAPES = {"'": r"\'", "\\": r"\\", "\n": r"\n"}
_PRIMITIVE = re.compile(
    r"boolean|int|bigint|float|double|decimal\(\d+,\d+\)|date|timestamp|timestamp_ntz|string|binary|variant"
)
# Types that Spark SQL lacks: the type as which Spark reads them.
_READ_AS = {"uuid": "string", "fixed": "binary"}
# `timestamp` may be another type, by the setting spark.sql.timestampType.
_SPELLED = {"timestamp": "timestamp_ltz"}
# The keys of locations.
_PLACES = re.compile(r"location|write\.(?:.+\.)?path")
_OWNER = "owner"
# Keys that Spark refuses as properties, and reserved keys that Iceberg drops. Those of owner and location have words of their own.
_REFUSED = ICEBERG.not_stored | (OF_SPARK.keys() - {_OWNER, "location"})


def not_creatable(shape: Shape) -> list[str]:
    """Return what Spark SQL cannot express; empty if the statements create the whole table."""
    reasons = [f"{column.name} is of type {column.type}" for column in shape.columns if not _has_type(column)]
    reasons += [f"{column.name} has a default" for column in shape.columns if column.default is not None]
    fields: tuple[PartitionField | SortField, ...] = (*shape.partitioning, *shape.sorting)
    reasons += [f"{field.source} has the transform {field.transform}" for field in fields if not has_function(field)]
    reasons += [
        f"{column.name} refuses nulls" for column in shape.columns if column.required and _is_element(column, shape)
    ]
    reasons += [f"it has the property {key}" for key in shape.properties if key in _REFUSED]
    return [*reasons, *unsupported_names(shape)]


def nearest(shape: Shape) -> Shape:
    """Return the nearest shape for which Spark SQL has words, names aside.

    A column of a type that Spark does not read is left out, with the partition and sort fields and the identifiers that name it.
    """
    columns = [
        replace(column, type=_READ_AS.get(column.type.partition("(")[0], column.type)) for column in shape.columns
    ]
    lost = {name_parts(column.name)[0] for column in columns if not _has_type(column)}
    kept = tuple(
        replace(column, default=None, required=column.required and not _is_element(column, shape))
        for column in columns
        if name_parts(column.name)[0] not in lost
    )
    names = {column.name for column in kept}
    return replace(
        shape,
        columns=kept,
        partitioning=tuple(field for field in shape.partitioning if field.source in names and has_function(field)),
        sorting=tuple(field for field in shape.sorting if field.source in names and has_function(field)),
        identifiers=tuple(name for name in shape.identifiers if name in names),
        properties={key: value for key, value in shape.properties.items() if key not in _REFUSED},
    )


def unsupported_names(shape: Shape) -> Iterator[str]:
    """Yield the names that a statement cannot have."""
    paths = [name_parts(column.name) for column in shape.columns]
    texts = (
        *name_parts(shape.table),
        *(part for path in paths for part in path),
        *(field.name for field in shape.partitioning),
    )
    for text in dict.fromkeys(texts):
        if "${" in text or not text.isprintable() or not text or UNSAFE.search(text):
            yield f"the name {text!r}"
    names = Counter((*above, name.lower()) for *above, name in paths)  # Spark ignores the case of letters.
    yield from (f"several columns have the name {name_of(path)}" for path, count in names.items() if count > 1)


def places(shape: Shape) -> dict[str, str]:
    """Return the properties that locate the table's files; no other table may have the same."""
    return {key: value for key, value in shape.properties.items() if is_place(key)}


def is_place(key: str) -> bool:
    """Return whether a property locates the table's files."""
    return bool(_PLACES.fullmatch(key))


def literal(text: str) -> str:
    """Return a text as a string literal of Spark SQL, in which escapes and `${…}` are not interpreted."""
    return "'" + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or _units(match[0]), text) + "'"


def snowflake_literal(text: str) -> str:
    """Return a text as a string of Snowflake, in which a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _units(character: str) -> str:
    """Return the UTF-16 units of a character as escapes, which all versions of Spark support."""
    return re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())


def table_name(name: str) -> str:
    """Return the recorded name of a table as an identifier, each part in backticks where it needs them."""
    return ".".join(part if _WORD.fullmatch(part) else spark_identifier(part) for part in name_parts(name))


def create_statement(
    shape: Shape, properties: Mapping[str, str], partitioning: Sequence[PartitionField], clustered: Sequence[str] = ()
) -> str:
    """Return CREATE TABLE with the columns and the comment of a shape.

    Args:
        clustered: the columns of CLUSTER BY, as identifiers.
    """
    inside = columns_inside(shape.columns)
    columns = ",\n  ".join(declared_column(column, " ", inside) for column in inside.get((), []))
    lines = [f"CREATE TABLE {table_name(shape.table)} (\n  {columns}\n)", f"USING {shape.format}"]
    if partitioning:
        lines.append(f"PARTITIONED BY ({', '.join(map(transformed, partitioning))})")
    if clustered:
        lines.append(f"CLUSTER BY ({', '.join(clustered)})")
    if (comment := shape.properties.get("comment")) is not None:
        lines.append(f"COMMENT {literal(comment)}")
    if properties:
        pairs = ",\n  ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        lines.append(f"TBLPROPERTIES (\n  {pairs}\n)")
    return "\n".join(lines)


_Inside = Mapping[tuple[str, ...], Sequence[Column]]


def columns_inside(columns: Iterable[Column]) -> _Inside:
    """Return the fields inside each column and field, by its path; the top-level columns are at the empty path."""
    inside: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        inside.setdefault(tuple(name_parts(column.name)[:-1]), []).append(column)
    return inside


def type_of(column: Column, inside: _Inside) -> str:
    """Return the type of a column, with the comments and NOT NULL of the fields inside."""
    fields = inside.get(tuple(name_parts(column.name)), ())
    kind = column.type.partition("<")[0]
    if kind == "struct":
        return f"struct<{', '.join(declared_column(field, ': ', inside) for field in fields)}>"
    if fields:
        return f"{kind}<{', '.join(type_of(field, inside) for field in fields)}>"
    return _SPELLED.get(column.type, column.type)


def declared_column(column: Column, between: str, inside: _Inside) -> str:
    """Return the declaration of a column, or of a struct's field, which has a colon `between` name and type."""
    *_, name = name_parts(column.name)
    required = " NOT NULL" if column.required else ""
    comment = "" if column.comment is None else f" COMMENT {literal(column.comment)}"
    return f"{spark_identifier(name)}{between}{type_of(column, inside)}{required}{comment}"


def transformed(field: PartitionField | SortField) -> str:
    """Return the expression by which a field partitions or sorts: `bucket(16, id)`."""
    (name, width), source = name_and_width(field.transform), path(field.source)
    function = TRANSFORMS[name].functions[0]
    return f"{function}({width}, {source})" if width else f"{function}({source})" if function else source


def sort_key(field: SortField) -> str:
    """Return a field of a sort order."""
    return f"{transformed(field)} {field.direction.upper()} NULLS {field.nulls.upper()}"


def has_function(field: PartitionField | SortField) -> bool:
    name, width = name_and_width(field.transform)
    return name in TRANSFORMS and (width.isdecimal() if TRANSFORMS[name].has_width else not width)


def _has_type(column: Column) -> bool:
    return "<" in column.type or bool(_PRIMITIVE.fullmatch(column.type))


def _is_element(column: Column, shape: Shape) -> bool:
    """Return whether the column is the element of an array or the value of a map, which are always nullable in Spark SQL."""
    *above, name = name_parts(column.name)
    kinds: Iterator[str] = (column.type for column in shape.columns if name_parts(column.name) == above)
    kind = next(kinds, "").partition("<")[0]
    return (kind, name) in (("array", "element"), ("map", "value"))


def path(name: str) -> str:
    """Return the recorded name of a column, or of a field inside one, as an identifier."""
    return ".".join(map(spark_identifier, name_parts(name)))


@dataclass(frozen=True, slots=True)
class Written:
    """The statements that create a table, or give it another shape.

    Attributes:
        statements: in the order in which they run, without semicolons.
        impossible: what no statement does; each names its column or property.
        left: what is left out on purpose: secrets, and the places of files.
    """

    statements: tuple[str, ...]
    impossible: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def not_exact(self) -> tuple[str, ...]:
        """All that the statements do not do."""
        return (*self.impossible, *self.left)
