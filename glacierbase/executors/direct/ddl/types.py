"""Iceberg's types from Spark's spelling, with the ids that Iceberg assigns to their fields.

https://iceberg.apache.org/docs/latest/spark-getting-started/#spark-type-to-iceberg-type
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from glacierbase.sql.types import TypeTree, type_tree

_SIMPLE: Mapping[str, Callable[[], IcebergType]] = {
    "boolean": BooleanType,
    "tinyint": IntegerType,
    "smallint": IntegerType,
    "int": IntegerType,
    "bigint": LongType,
    "float": FloatType,
    "double": DoubleType,
    "date": DateType,
    "timestamp": TimestamptzType,
    "timestamp_ntz": TimestampType,
    "string": StringType,
    "char": StringType,
    "varchar": StringType,
    "binary": BinaryType,
}


def iceberg_type(text: str, next_id: Callable[[], int]) -> IcebergType:
    """Return the type of a column.

    Args:
        text: a type that `plain_types` allows.
        next_id: assigns the ids of fields: those of one level before those inside, as Iceberg does for new columns.
    """
    return _converted(type_tree(text), next_id)


def _converted(tree: TypeTree, next_id: Callable[[], int]) -> IcebergType:
    ids = [next_id() for _ in tree.fields]
    inside = [_converted(field.type, next_id) for field in tree.fields]
    if tree.name == "struct":
        return StructType(
            *(
                NestedField(field_id, field.name, field_type, required=field.required, doc=field.comment)
                for field_id, field, field_type in zip(ids, tree.fields, inside, strict=True)
            )
        )
    if tree.name == "array":
        return ListType(ids[0], inside[0], element_required=False)
    if tree.name == "map":
        return MapType(ids[0], inside[0], ids[1], inside[1], value_required=False)
    return DecimalType(*tree.parameters) if tree.name == "decimal" else _SIMPLE[tree.name]()
