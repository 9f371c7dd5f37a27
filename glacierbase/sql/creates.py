"""A shape as Spark SQL: the statements that make the same Iceberg table anew, and what they cannot say.

https://iceberg.apache.org/docs/latest/spark-ddl/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from glacierbase.model.escape import UNSAFE
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Also what would be escaped where the statements are printed, which must not change them.
_ESCAPED = re.compile(rf"['\\\x00-\x1f]|\$(?=\{{)|{UNSAFE.pattern}")
_ESCAPES = {"'": r"\'", "\\": r"\\", "\n": r"\n"}
_PRIMITIVE = re.compile(
    r"boolean|int|bigint|float|double|decimal\(\d+,\d+\)|date|timestamp|timestamp_ntz|string|binary|variant"
)
_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d+)\]")
# `timestamp` may be another type, by the setting spark.sql.timestampType.
_SPELLED = {"timestamp": "timestamp_ltz"}
# By Iceberg's name of the transform: the function in PARTITIONED BY, and what it appends to the name of the field.
_FUNCTIONS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_APPENDED = {"bucket": "_bucket", "truncate": "_trunc"}
# A property that Iceberg sets for every new table, and the keys that say where a table is, or who owns it.
_NEW = "write.parquet.compression-codec"
_PLACES = re.compile(r"location|write\.(?:.+\.)?path")
_NOT_SET = ("owner", "comment")
# Keys that Spark refuses as properties, and keys of Iceberg's own that it drops.
_REFUSED = frozenset(
    {
        "provider", "external", "is_managed_location", "collation", "table_type", "format-version", "uuid", "snapshot-count",
        "current-snapshot-id", "current-snapshot-summary", "current-snapshot-timestamp", "current-schema",
        "default-partition-spec", "default-sort-order",
    }
)  # fmt: skip


def create_statements(shape: Shape) -> list[str]:
    """Return the statements that make a table of this shape, without semicolons. Its ids and location may differ."""
    table = table_name(shape.table)
    inline = _inline(shape.partitioning)
    properties = {key: value for key, value in shape.properties.items() if _is_set(key)}
    if shape.format_version is not None:
        properties = {"format-version": str(shape.format_version), **properties}
    statements = [_create(shape, table, shape.partitioning[:inline], properties)]
    for field in shape.partitioning[inline:]:
        statements.append(
            f"ALTER TABLE {table} ADD PARTITION FIELD {transformed(field)} AS {spark_identifier(field.name)}"
        )
    if shape.sorting:  # LOCALLY: the other form also changes the property write.distribution-mode.
        statements.append(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY {', '.join(map(sort_key, shape.sorting))}")
    if shape.identifiers:
        statements.append(f"ALTER TABLE {table} SET IDENTIFIER FIELDS {', '.join(map(path, shape.identifiers))}")
    if _NEW not in shape.properties:
        statements.append(f"ALTER TABLE {table} UNSET TBLPROPERTIES ({literal(_NEW)})")
    return statements


def not_creatable(shape: Shape) -> list[str]:
    """Return what Spark SQL has no words for; empty where the statements make the whole table."""
    found = [f"{each.name} is of type {each.type}" for each in shape.columns if not _has_type(each)]
    found += [f"{each.name} has a default" for each in shape.columns if each.default is not None]
    fields: tuple[PartitionField | SortField, ...] = (*shape.partitioning, *shape.sorting)
    found += [f"{each.source} has the transform {each.transform}" for each in fields if not _has_function(each)]
    found += [f"{each.name} refuses nulls" for each in shape.columns if each.required and _is_element(each, shape)]
    found += [f"it has the property {key}" for key in shape.properties if key in _REFUSED]
    return [*found, *_unsayable_names(shape)]


def _unsayable_names(shape: Shape) -> Iterator[str]:
    paths = [name_parts(each.name) for each in shape.columns]
    texts = (
        *name_parts(shape.table),
        *(part for path in paths for part in path),
        *(each.name for each in shape.partitioning),
    )
    for text in dict.fromkeys(texts):
        if "${" in text or not text.isprintable() or not text or UNSAFE.search(text):
            yield f"the name {text!r}"
    names = Counter((*above, name.lower()) for *above, name in paths)  # Spark ignores the case of letters.
    yield from (f"several columns have the name {name_of(path)}" for path, count in names.items() if count > 1)


def places(shape: Shape) -> dict[str, str]:
    """Return the properties that say where the table's files are; another table must not have the same."""
    return {key: value for key, value in shape.properties.items() if _PLACES.fullmatch(key)}


def literal(text: str) -> str:
    """Return a text as a string of Spark SQL, in which neither escapes nor `${…}` mean anything else."""
    return "'" + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or _units(found[0]), text) + "'"


def _units(character: str) -> str:
    """Return the UTF-16 units of a character as escapes, which all versions of Spark have."""
    return re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())


def table_name(name: str) -> str:
    """Return the recorded name of a table as an identifier, each part in backticks where it needs them."""
    return ".".join(part if _WORD.fullmatch(part) else spark_identifier(part) for part in name_parts(name))


def _is_set(key: str) -> bool:
    return key not in _NOT_SET and not _PLACES.fullmatch(key)


def _create(shape: Shape, table: str, partitioning: Sequence[PartitionField], properties: Mapping[str, str]) -> str:
    inside = columns_inside(shape.columns)
    columns = ",\n  ".join(_column(column, " ", inside) for column in inside.get((), []))
    lines = [f"CREATE TABLE {table} (\n  {columns}\n)", "USING iceberg"]
    if partitioning:
        lines.append(f"PARTITIONED BY ({', '.join(map(transformed, partitioning))})")
    if (comment := shape.properties.get("comment")) is not None:
        lines.append(f"COMMENT {literal(comment)}")
    if properties:
        pairs = ",\n  ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        lines.append(f"TBLPROPERTIES (\n  {pairs}\n)")
    return "\n".join(lines)


_Inside = Mapping[tuple[str, ...], Sequence[Column]]


def columns_inside(columns: Iterable[Column]) -> _Inside:
    """Return the fields inside each column and field, by its path; those of the table itself are at the empty path."""
    inside: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        inside.setdefault(tuple(name_parts(column.name)[:-1]), []).append(column)
    return inside


def type_of(column: Column, inside: _Inside) -> str:
    """Return the type of a column, with the comments of the fields inside and whether they refuse nulls."""
    fields = inside.get(tuple(name_parts(column.name)), ())
    kind = column.type.partition("<")[0]
    if kind == "struct":
        return f"struct<{', '.join(_column(field, ': ', inside) for field in fields)}>"
    if fields:
        return f"{kind}<{', '.join(type_of(field, inside) for field in fields)}>"
    return _SPELLED.get(column.type, column.type)


def _column(column: Column, between: str, inside: _Inside) -> str:
    """Return the declaration of a column, or of a field of a struct, where a colon is `between` name and type."""
    *_, name = name_parts(column.name)
    required = " NOT NULL" if column.required else ""
    comment = "" if column.comment is None else f" COMMENT {literal(column.comment)}"
    return f"{spark_identifier(name)}{between}{type_of(column, inside)}{required}{comment}"


def _inline(fields: Sequence[PartitionField]) -> int:
    """Return how many of the first fields PARTITIONED BY can make; ADD PARTITION FIELD makes the others.

    PARTITIONED BY chooses their names, and refuses a second time unit of one column as redundant.
    """
    timed: set[str] = set()
    for at, field in enumerate(fields):
        if field.name != _given_name(field) or (field.transform in _FUNCTIONS and field.source in timed):
            return at
        if field.transform in _FUNCTIONS:
            timed.add(field.source)
    return len(fields)


def _given_name(field: PartitionField) -> str:
    """Return the name that PARTITIONED BY gives to a field."""
    kind = field.transform.partition("[")[0]
    source = ".".join(name_parts(field.source))
    return source if kind == "identity" else source + _APPENDED.get(kind, f"_{kind}")


def transformed(field: PartitionField | SortField) -> str:
    """Return the expression by which a field partitions or sorts: `bucket(16, id)`."""
    source = path(field.source)
    if field.transform == "identity":
        return source
    if found := _WITH_WIDTH.fullmatch(field.transform):
        return f"{found[1]}({found[2]}, {source})"
    return f"{_FUNCTIONS[field.transform]}({source})"


def sort_key(field: SortField) -> str:
    """Return a field of a sort order."""
    return f"{transformed(field)} {field.direction.upper()} NULLS {field.nulls.upper()}"


def _has_function(field: PartitionField | SortField) -> bool:
    return field.transform in ("identity", *_FUNCTIONS) or bool(_WITH_WIDTH.fullmatch(field.transform))


def _has_type(column: Column) -> bool:
    return "<" in column.type or bool(_PRIMITIVE.fullmatch(column.type))


def _is_element(column: Column, shape: Shape) -> bool:
    """Return whether the column is the element of an array, or the value of a map, which Spark SQL lets be null."""
    *above, name = name_parts(column.name)
    kinds: Iterator[str] = (each.type for each in shape.columns if name_parts(each.name) == above)
    kind = next(kinds, "").partition("<")[0]
    return (kind, name) in (("array", "element"), ("map", "value"))


def path(name: str) -> str:
    """Return the recorded name of a column, or of a field inside one, as an identifier."""
    return ".".join(map(spark_identifier, name_parts(name)))
