"""The shapes of tables as Spark describes them, for tables that PyIceberg does not read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from glacierbase.formats import FORMATS
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Shape
from glacierbase.model.transforms import IDENTITY, iceberg_name

# The names of types in the JSON of a schema that differ from SQL. https://spark.apache.org/docs/latest/sql-ref-datatypes.html
_SQL_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
# In the metadata of a field: its comment, its type where Spark replaces it by `string`, its default, and its id in Delta
# (https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping).
_COMMENT, _CHARACTERS, _DEFAULT, _ID = (
    "comment", "__CHAR_VARCHAR_TYPE_STRING", "CURRENT_DEFAULT", "delta.columnMapping.id",
)  # fmt: skip
# Columns that formats add to each row.
_ADDED = tuple(known.column_prefix for known in FORMATS.values() if known.column_prefix)
# Properties outside of a shape. The location of the files depends on how the session loads the table.
LEFT_OUT = frozenset({"path", "option.path"}).union(*(known.unshaped for known in FORMATS.values()))
# A partition of a table whose transforms Spark supports: `days(ts)`, `bucket(4, id)`.
_TRANSFORMED = re.compile(r"(?P<transform>\w+)\((?:(?P<argument>\d+), )?(?P<source>.+)\)")

# The file of a commit to a Delta table, by its number. https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries
COMMIT = "{}/_delta_log/{:020}.json"

_Row = Sequence[Any]


def read_shape(spark: Any, table: str) -> Shape | None:
    """Return the shape of a table, uncached; None for a view.

    Args:
        table: its name as the history records names.

    Raises:
        Exception: of Spark, also if the table does not exist.
    """
    name = ".".join(map(spark_identifier, name_parts(table)))
    spark.sql(f"REFRESH TABLE {name}")
    described = [tuple(row) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()]
    details = table_details(described)
    if not details or details.get("Type") == "VIEW":
        return None
    listed = dict(tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    properties = {key: value for key, value in listed.items() if key not in LEFT_OUT}
    if "Comment" in details:
        properties["comment"] = details["Comment"]
    uuid, schema, commit = None, spark.table(name).schema.json(), None
    if details.get("Provider") == "delta":
        uuid, schema, commit = _delta(spark, name, details["Location"], schema)
    version = str(properties.get("delta.minWriterVersion", properties.get("format-version")))
    return Shape(
        table=table,
        uuid=uuid,
        format=details.get("Provider", "").lower(),
        format_version=int(version) if version.isdigit() else None,
        columns=tuple(columns_of(json.loads(schema)["fields"])),
        partitioning=tuple(_partitioning(described)),
        properties=dict(sorted(properties.items())),
        metadata_location=commit,
    )


def table_details(described: Sequence[_Row]) -> dict[str, str]:
    """Return the details in `DESCRIBE TABLE EXTENDED`, such as `Provider`; none for a temporary view."""
    return {str(row[0]): str(row[1]) for row in _section(described, "# Detailed Table Information")}


def _delta(spark: Any, name: str, location: str, schema: str) -> tuple[str, str, str | None]:
    """Return the id of a table, its schema with the ids of columns, which Delta hides from Spark, and the file of its last commit.

    Spark Connect reaches none of them; there, the id comes from a statement that also counts the files of the table.
    """
    with suppress(Exception):  # No JVM in this process, or private in another version.
        logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
        snapshot = logs.forTable(spark._jsparkSession, location).unsafeVolatileSnapshot()
        metadata, commit = snapshot.metadata(), COMMIT.format(location.rstrip("/"), int(snapshot.version()))
        return str(metadata.id()), str(metadata.schemaString()), commit
    return str(spark.sql(f"DESCRIBE DETAIL {name}").select("id").collect()[0][0]), schema, None


def _section(described: Sequence[_Row], title: str) -> Iterator[_Row]:
    """Yield the rows below a title, up to an empty one."""
    rows = iter(described)
    for row in rows:
        if row[0] == title:
            break
    for row in rows:
        if not row[0]:
            return
        yield row


def _partitioning(described: Sequence[_Row]) -> Iterator[PartitionField]:
    for row in _section(described, "# Partition Information"):
        if not row[0].startswith("# "):
            yield PartitionField(None, row[0], name_of((row[0],)), "identity")
    for row in _section(described, "# Partitioning"):
        match = _TRANSFORMED.fullmatch(row[1])
        width = f"[{match['argument']}]" if match and match["argument"] else ""
        source, name = (match["source"], iceberg_name(match["transform"])) if match else (row[1], IDENTITY.name)
        yield PartitionField(None, row[1], source, f"{name}{width}")


def columns_of(fields: Sequence[Mapping[str, Any]], above: tuple[str, ...] = ()) -> Iterator[Column]:
    """Yield each field of a schema in Spark's JSON, and after it the fields inside."""
    for field in fields:
        if field["name"].startswith(_ADDED):
            continue
        path, metadata = (*above, field["name"]), field.get("metadata", {})
        yield Column(
            id=metadata.get(_ID),
            name=name_of(path),
            type=metadata.get(_CHARACTERS) or _type(field["type"]),
            required=not field["nullable"],
            comment=metadata.get(_COMMENT) or None,
            default=_as_json(metadata[_DEFAULT]) if _DEFAULT in metadata else None,
        )
        yield from columns_of(_inside(field["type"]), path)


def _inside(type_: Any) -> Sequence[Mapping[str, Any]]:
    """Return the fields inside a type, named as in Iceberg."""
    match type_:
        case {"type": "struct", "fields": fields}:
            return tuple(fields)
        case {"type": "array", "elementType": element, "containsNull": nulls}:
            return ({"name": "element", "type": element, "nullable": nulls},)
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nulls}:
            return (
                {"name": "key", "type": key, "nullable": False},
                {"name": "value", "type": value, "nullable": nulls},
            )
    return ()


def _type(type_: Any) -> str:
    match type_:
        case {"type": "struct", "fields": fields}:
            inside = (f"{name_of((field['name'],))}:{_type(field['type'])}" for field in fields)
            return f"struct<{','.join(inside)}>"
        case {"type": "array" | "map" as kind}:
            return f"{kind}<{','.join(_type(field['type']) for field in _inside(type_))}>"
        case {"type": str(kind)}:  # A user-defined type.
            return kind
    return _SQL_TYPES.get(type_, str(type_))


def _as_json(expression: str) -> str:
    """Return the default of a column as JSON: its value if it is a literal, else the text of the expression."""
    try:
        return json.dumps(json.loads(expression))
    except ValueError:
        return json.dumps(expression)
