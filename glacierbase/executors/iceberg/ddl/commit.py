"""One commit to a table, made again where another writer was first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pyiceberg.table import Transaction as _Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from glacierbase.errors import CommitConflict
from glacierbase.executors.iceberg.errors import mapped
from glacierbase.executors.iceberg.lakes import Lakes
from glacierbase.sql.statement import Name, Part

# Stages the change of one clause in a transaction.
Stage: TypeAlias = Callable[["Transaction", Any], None]
# Iceberg's default of `commit.retry.num-retries` is 4 repetitions.
_ATTEMPTS = 5


class Transaction(_Transaction):  # type: ignore[misc]
    """Copy the table's metadata only after an update was staged.

    PyIceberg's Transaction copies the metadata at every access, about twenty times in an append.
    """

    _cached: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if not self._updates:
            return self._table.metadata
        if self._cached is None or self._cached[0] is not self._updates:
            self._cached = self._updates, super().table_metadata
        return self._cached[1]


def change_table(lakes: Lakes, name: Name, clauses: Sequence[tuple[Stage, Part]]) -> None:
    """Make all changes of a statement in one commit.

    Raises:
        TableNotFound: there is no such table.
        StatementRefused: the table does not admit a change, or every attempt met the commit of another writer.
        OutcomeUnknown: the answer to the commit was lost.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        transaction = Transaction(lakes.table(name))
        for stage, part in clauses:
            stage(transaction, part)
        try:
            with mapped():
                lakes.wrote(transaction.commit_transaction())
            return
        except CommitConflict:
            if attempt == _ATTEMPTS:
                raise
