"""What each plain statement does to the metadata of Iceberg, as Spark with Iceberg's extensions does it.

A statement that changes a table is one commit. A commit that another writer's commit precedes is made again from the new
metadata, as often as Iceberg does by default.

- `commit`: one commit to a table.
- `tables`: CREATE, DROP and RENAME of tables.
- `types`: Iceberg's types from Spark's spelling.
- `namespaces`: CREATE, ALTER, DROP and COMMENT ON of namespaces.
- `replacing`: CREATE OR REPLACE TABLE and REPLACE TABLE.
- `columns`: the clauses about columns, as Spark checks them.
- `upcasts`: which changes of a type Spark passes on to Iceberg.
- `schema_change`: the schema that results from changes of columns.
- `name_mapping`: the property that follows changes of columns.
- `transforms`: the transforms of partition and sort fields.
- `properties`: SET and UNSET TBLPROPERTIES, SET LOCATION, COMMENT ON TABLE.
- `partitioning`: ADD, DROP and REPLACE PARTITION FIELD.
- `orders`: WRITE ORDERED and DISTRIBUTED BY.
- `references`: CREATE, REPLACE and DROP of branches and tags.
- `shown`: whether a table shows afterwards that a statement took effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from glacierbase.executors.direct.ddl.columns import (
    add_columns,
    alter_columns,
    drop_columns,
    drop_identifier_fields,
    rename_column,
    replace_columns,
    set_identifier_fields,
)
from glacierbase.executors.direct.ddl.commit import Stage, change_table
from glacierbase.executors.direct.ddl.namespaces import alter_namespace, create_namespace, drop_namespace
from glacierbase.executors.direct.ddl.orders import set_writes
from glacierbase.executors.direct.ddl.partitioning import change_partitioning
from glacierbase.executors.direct.ddl.properties import comment_on, set_location, set_properties, unset_properties
from glacierbase.executors.direct.ddl.references import create_reference, drop_reference
from glacierbase.executors.direct.ddl.replacing import replace, replace_table
from glacierbase.executors.direct.ddl.tables import create_table, drop_table, rename_table
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.sql.statement import ParsedStatement

_Statement: TypeAlias = Callable[[PyIcebergCatalogs, ParsedStatement], None]

# What changes one table runs in `change_table`, by the operation of its first clause.
CLAUSES: Mapping[str, Stage] = {
    "set_properties": set_properties,
    "unset_properties": unset_properties,
    "set_location": set_location,
    "comment_on": comment_on,
    "add_column": add_columns,
    "drop_column": drop_columns,
    "rename_column": rename_column,
    "replace_columns": replace_columns,
    "alter_column_type": alter_columns,
    "alter_column_nullability": alter_columns,
    "alter_column_comment": alter_columns,
    "alter_column_position": alter_columns,
    "set_identifier_fields": set_identifier_fields,
    "drop_identifier_fields": drop_identifier_fields,
    "add_partition_field": change_partitioning,
    "drop_partition_field": change_partitioning,
    "replace_partition_field": change_partitioning,
    "set_write_order": set_writes,
    "set_distribution": set_writes,
    "create_branch": create_reference,
    "create_tag": create_reference,
    "drop_branch": drop_reference,
    "drop_tag": drop_reference,
}
# All others, by the operation of the statement.
STATEMENTS: Mapping[str, _Statement] = {
    "create_table": create_table,
    "drop_table": drop_table,
    "rename_table": rename_table,
    "replace_table": replace_table,
}
# Statements on namespaces, by their operation.
NAMESPACES: Mapping[str, _Statement] = {
    "create_namespace": create_namespace,
    "alter_namespace": alter_namespace,
    "drop_namespace": drop_namespace,
    "comment_on": alter_namespace,
}


def run(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Run a plain statement.

    Raises:
        StatementRefused: it had no effect.
        OutcomeUnknown: the answer was lost.
    """
    if whole := (NAMESPACES if statement.namespace else STATEMENTS).get(statement.operation):
        whole(lakes, statement)
    else:
        change_table(lakes, statement, CLAUSES[_clause(statement)])


def stage_of(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> Stage | None:
    """Return what stages the changes of a statement on a table that exists; None for one that makes no commit to such a table."""
    if statement.operation == "replace_table":
        return partial(replace, lakes)
    return CLAUSES.get(_clause(statement))


def _clause(statement: ParsedStatement) -> str:
    return statement.parts[0].operation if statement.operation == "several" else statement.operation
