"""CREATE, DROP and RENAME of tables."""

from __future__ import annotations

from glacierbase.errors import TableNotFound
from glacierbase.executors.iceberg.errors import mapped
from glacierbase.executors.iceberg.lakes import Lakes, table_not_found
from glacierbase.sql.statement import ParsedStatement


def drop_table(lakes: Lakes, statement: ParsedStatement) -> None:
    """Remove a table from its catalog. Its files stay."""
    name = statement.targets[0]
    catalog, identifier = lakes.place(name)
    try:
        with mapped():
            catalog.drop_table(identifier)
    except TableNotFound as error:
        if not statement.options.if_exists:
            raise table_not_found(name) from error
