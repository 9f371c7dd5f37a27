"""What each plain statement does to the metadata of Iceberg, as Spark with Iceberg's extensions does it.

A statement that changes a table is one commit. A commit that another writer's commit precedes is made again from the new
metadata, as often as Iceberg does by default.

- `commit`: one commit to a table.
- `tables`: CREATE, DROP and RENAME of tables.
- `types`: Iceberg's types from Spark's spelling.
- `namespaces`: CREATE, ALTER, DROP and COMMENT ON of namespaces.
- `replacing`: CREATE OR REPLACE TABLE and REPLACE TABLE.
- `properties`: SET and UNSET TBLPROPERTIES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from glacierbase.executors.iceberg.ddl.commit import change_table
from glacierbase.executors.iceberg.ddl.namespaces import (
    alter_namespace,
    comment_on_namespace,
    create_namespace,
    drop_namespace,
)
from glacierbase.executors.iceberg.ddl.properties import set_property, unset_property
from glacierbase.executors.iceberg.ddl.replacing import replace_table
from glacierbase.executors.iceberg.ddl.tables import create_table, drop_table, rename_table
from glacierbase.executors.iceberg.lakes import Lakes
from glacierbase.sql.statement import ParsedStatement

_Statement: TypeAlias = Callable[[Lakes, ParsedStatement], None]

# Statements that change one table by their clauses run `change_table` with these, by the operation of the clause.
CLAUSES = {"set_properties": set_property, "unset_properties": unset_property}
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
    "comment_on": comment_on_namespace,
}


def run(lakes: Lakes, statement: ParsedStatement) -> None:
    """Run a plain statement.

    Raises:
        StatementRefused: it had no effect.
        OutcomeUnknown: the answer was lost.
    """
    if whole := (NAMESPACES if statement.namespace else STATEMENTS).get(statement.operation):
        whole(lakes, statement)
    else:
        change_table(lakes, statement.targets[0], [(CLAUSES[part.operation], part) for part in statement.parts])
