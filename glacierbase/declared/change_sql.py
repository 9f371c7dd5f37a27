"""Changes of a table as statements of Spark; those of names and properties also as statements of Snowflake.

https://iceberg.apache.org/docs/latest/spark-ddl/, https://docs.delta.io/latest/delta-batch.html#update-table-schema
"""

from __future__ import annotations

import json
import re

from glacierbase.declared.render import (
    columns_inside,
    create_statement,
    declared_column,
    has_function,
    literal,
    path,
    snowflake_literal,
    sort_key,
    table_name,
    transformed,
    type_of,
)
from glacierbase.formats.delta import CLUSTERED, clustering_of
from glacierbase.formats.iceberg import FORMAT_VERSION
from glacierbase.model.changes import (
    Change,
    ClusteringSet,
    ColumnAdded,
    ColumnCommented,
    ColumnDropped,
    ColumnMoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReplaced,
    ConstraintAdded,
    ConstraintDropped,
    DefaultSet,
    FieldAdded,
    FieldDropped,
    FieldReplaced,
    IdentifiersDropped,
    IdentifiersSet,
    LocationSet,
    NullabilitySet,
    OrderSet,
    PropertiesSet,
    PropertiesUnset,
    ReferenceDropped,
    TableCreated,
    TableDropped,
    TableRenamed,
    TableReplaced,
)
from glacierbase.model.names import name_of, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Shape
from glacierbase.sql.dialects import SNOWFLAKE, SPARK

# Values of Snowflake's properties that are no strings.
_PLAIN = re.compile(r"(?i)-?\d+(?:\.\d+)?|true|false")


def sql_of(change: Change, table: str, dialect: str = SPARK.name) -> str | None:
    """Return the statement that makes a change, without a semicolon; None where there is none.

    Args:
        table: the name of the table before the change, as the history records names.
    """
    if dialect != SPARK.name:
        return _of_snowflake(change, table) if dialect == SNOWFLAKE.name else None
    match change:
        case TableCreated():
            exists = " IF NOT EXISTS" if change.is_optional else ""
            return None if change.unknown else _creation(change.shape, f"CREATE TABLE{exists}")
        case TableReplaced():
            verb = "REPLACE TABLE" if change.is_only else "CREATE OR REPLACE TABLE"
            return None if change.unknown else _creation(change.shape, verb)
        case TableDropped():
            return f"DROP TABLE {'IF EXISTS ' if change.is_optional else ''}{table_name(table)}"
        case PropertiesSet(values=(("comment", text),)):
            return f"COMMENT ON TABLE {table_name(table)} IS {literal(text)}"
    clause = clause_of(change)
    return None if clause is None else f"ALTER TABLE {table_name(table)} {clause}"


def _of_snowflake(change: Change, table: str) -> str | None:
    """Return the statement of a change of a name or a property. https://docs.snowflake.com/en/sql-reference/sql/alter-table"""
    match change:
        case TableDropped():
            return f"DROP TABLE {table}"
        case TableRenamed():
            clause = f"RENAME TO {change.name}"
        case ColumnDropped(path=(name,)):
            clause = f"DROP COLUMN {_quoted(name)}"
        case ColumnRenamed(path=(name,)):
            clause = f"RENAME COLUMN {_quoted(name)} TO {_quoted(change.name)}"
        case PropertiesSet():
            clause = f"SET {' '.join(f'{key} = {_value(text)}' for key, text in change.values)}"
        case PropertiesUnset():
            clause = f"UNSET {', '.join(change.keys)}"
        case _:
            return None
    return f"ALTER TABLE {table} {clause}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else snowflake_literal(text)


def _creation(shape: Shape, verb: str) -> str:
    """Return the statement that creates a table."""
    properties = {key: value for key, value in shape.properties.items() if key not in ("comment", CLUSTERED)}
    if shape.format_version is not None:
        properties = {FORMAT_VERSION: str(shape.format_version), **properties}
    clustered = [path(name_of(parts)) for parts in clustering_of(shape.properties.get(CLUSTERED, ""))]
    return create_statement(shape, properties, shape.partitioning, clustered).replace("CREATE TABLE", verb, 1)


def clause_of(change: Change) -> str | None:
    """Return the clause of ALTER TABLE that makes a change; None where there is none."""
    match change:
        case ColumnAdded():
            return f"ADD COLUMN {_added(change.columns)}{'' if change.after is None else f' {_place(change.after)}'}"
        case ColumnsReplaced():
            inside = columns_inside(change.columns)
            return (
                f"REPLACE COLUMNS ({', '.join(declared_column(column, ' ', inside) for column in inside.get((), ()))})"
            )
        case ColumnDropped():
            return f"DROP COLUMN {'IF EXISTS ' if change.is_optional else ''}{_path(change.path)}"
        case ColumnRenamed():
            return f"RENAME COLUMN {_path(change.path)} TO {spark_identifier(change.name)}"
        case ColumnRetyped():
            return f"ALTER COLUMN {_path(change.path)} TYPE {change.type}"
        case NullabilitySet():
            return f"ALTER COLUMN {_path(change.path)} {'SET' if change.required else 'DROP'} NOT NULL"
        case ColumnCommented():
            return f"ALTER COLUMN {_path(change.path)} COMMENT {literal(change.comment)}"
        case DefaultSet(default=None):
            return f"ALTER COLUMN {_path(change.path)} DROP DEFAULT"
        case DefaultSet(default=str(default)):
            return f"ALTER COLUMN {_path(change.path)} SET DEFAULT {expression(default)}"
        case ColumnMoved():
            return f"ALTER COLUMN {_path(change.path)} {_place(change.after)}"
        case TableRenamed():
            return f"RENAME TO {table_name(change.name)}"
        case LocationSet():
            return f"SET LOCATION {literal(change.location)}"
        case PropertiesSet():
            return (
                f"SET TBLPROPERTIES ({', '.join(f'{literal(key)} = {literal(text)}' for key, text in change.values)})"
            )
        case PropertiesUnset():
            return f"UNSET TBLPROPERTIES ({', '.join(map(literal, change.keys))})"
    return _other_clause(change)


def _other_clause(change: Change) -> str | None:
    """Return the clause of a change that is of no column and no property."""
    match change:
        case FieldAdded():
            return f"ADD PARTITION FIELD {_field(change.source, change.transform)}{_as(change.name)}"
        case FieldDropped():
            return f"DROP PARTITION FIELD {_dropped(change)}"
        case FieldReplaced(dropped=dropped, added=added):
            new = f"{_field(added.source, added.transform)}{_as(added.name)}"
            return f"REPLACE PARTITION FIELD {_dropped(dropped)} WITH {new}"
        case OrderSet(fields=None) if change.distribution == "hash":
            return "WRITE DISTRIBUTED BY PARTITION"
        case OrderSet(fields=()) if change.distribution == "none":
            return "WRITE UNORDERED"
        case OrderSet(fields=(_, *_) as listed) if change.distribution in _ORDERS:
            return f"WRITE {_ORDERS[change.distribution]}ORDERED BY {', '.join(map(sort_key, listed))}"
        case IdentifiersSet(names=(_, *_)):
            return f"SET IDENTIFIER FIELDS {', '.join(map(path, change.names))}"
        case IdentifiersDropped():
            return f"DROP IDENTIFIER FIELDS {', '.join(map(path, change.names))}"
        case ConstraintAdded():
            return f"ADD CONSTRAINT {spark_identifier(change.name)} CHECK ({change.condition})"
        case ConstraintDropped():
            return f"DROP CONSTRAINT {spark_identifier(change.name)}"
        case ClusteringSet(columns=()):
            return "CLUSTER BY NONE"
        case ClusteringSet():
            return f"CLUSTER BY ({', '.join(map(_path, change.columns))})"
        case ReferenceDropped():
            return f"DROP {change.kind.upper()} {spark_identifier(change.name)}"
    return None


# Words before ORDERED BY, by the distribution that the clause sets. LOCALLY keeps it.
_ORDERS = {"range": "", None: "LOCALLY ", "hash": "DISTRIBUTED BY PARTITION LOCALLY "}


def _path(names: tuple[str, ...]) -> str:
    return ".".join(map(spark_identifier, names))


def _place(after: str) -> str:
    return f"AFTER {spark_identifier(after)}" if after else "FIRST"


def _added(columns: tuple[Column, ...]) -> str:
    column, *_ = columns
    required = " NOT NULL" if column.required else ""
    default = "" if column.default is None else f" DEFAULT {expression(column.default)}"
    comment = f" COMMENT {literal(column.comment)}" if column.comment else ""
    return f"{path(column.name)} {type_of(column, columns_inside(columns))}{required}{default}{comment}"


def expression(default: str) -> str:
    """Return a default, whose JSON holds a plain value or the text of an expression."""
    value = json.loads(default)
    return value if isinstance(value, str) else json.dumps(value)


def _field(source: str, transform: str) -> str:
    return transformed(PartitionField(None, "", source, transform))


def _as(name: str | None) -> str:
    return "" if name is None else f" AS {spark_identifier(name)}"


def _dropped(change: FieldDropped) -> str:
    """Return how a statement names a dropped field: by a transform that Spark has no function for, by its name."""
    field = PartitionField(None, "", change.source, change.transform)
    return transformed(field) if has_function(field) else spark_identifier(change.name or "")
