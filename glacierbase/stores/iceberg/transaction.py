"""Cache metadata so that the cost of a commit stays constant."""

from __future__ import annotations

from pyiceberg.table import Transaction as _Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate


class Transaction(_Transaction):  # type: ignore[misc]
    """Copies the table's metadata only after an update was staged.

    PyIceberg's Transaction copies it at every access, about twenty times in an append.
    """

    _cached: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if not self._updates:
            return self._table.metadata
        if self._cached is None or self._cached[0] is not self._updates:
            self._cached = self._updates, super().table_metadata
        return self._cached[1]
