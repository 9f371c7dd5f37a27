"""Commits that do not get dearer with every commit before."""

from __future__ import annotations

from pyiceberg.table import Transaction as _Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate


class Transaction(_Transaction):  # type: ignore[misc]
    """PyIceberg's own copies all of a table's metadata whenever a part of them is looked up, some twenty times in an append.

    They change only when an update is staged.
    """

    _shown: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if not self._updates:
            return self._table.metadata
        if self._shown is None or self._shown[0] is not self._updates:
            self._shown = self._updates, super().table_metadata
        return self._shown[1]
