"""The throw-away copy of `review` for plain DDL: tables in the memory of this process, without rows and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyiceberg.table.metadata import TableMetadata

from glacierbase.errors import NotPlain
from glacierbase.executors import CopiedView, CopyCheckpoint, CopyState, Session
from glacierbase.executors.copies.memory import MemoryLakes
from glacierbase.executors.direct.executor import IcebergExecutor, IcebergSession
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.guard import complete
from glacierbase.executors.pyiceberg.metadata import parsed
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of


class MemoryCopy(IcebergExecutor):
    """The copy of the catalogs that a catalog file declares."""

    runs_queries = False

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self._memory = self._lakes = MemoryLakes(catalog)
        self._located: Mapping[str, TableMetadata] = {}

    def open_session(self, *, bookkeeping: bool = False) -> Session:  # noqa: ARG002 (the port's)
        """Open a session on the copy."""
        return IcebergSession(self._memory)

    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        """Create a namespace of a catalog and its parents, unless they exist."""
        self._memory.open(name).make_namespace(tuple(levels))

    def locations(self) -> dict[str, str]:
        """Return the location of the metadata of each table, by the table's name as the history records names."""
        tables = self._memory.tables()
        self._located = {table.metadata_location: table.metadata for table in tables.values()}
        return {name_of(name): table.metadata_location for name, table in tables.items()}

    def metadata(self, location: str) -> str:
        """Return the metadata of a table that `locations` listed, as JSON by Iceberg's specification."""
        text: str = complete(self._located[location]).model_dump_json()
        return text

    def views(self) -> dict[str, CopiedView]:
        """Return none: a statement about a view needs an engine."""
        return {}

    def state(self) -> CopyState:
        """Return the content of the copy."""
        tables = self._memory.tables()
        return CopyState(
            namespaces=self._memory.namespaces(),
            tables={name: table.metadata_location for name, table in tables.items()},
            views={},
            files={
                table.metadata_location: complete(table.metadata).model_dump_json().encode()
                for table in tables.values()
            },
        )

    def restore(self, state: CopyState) -> None:
        """Fill an empty copy with a state."""
        if state.views:
            raise NotPlain("the state holds views")
        with mapped():
            for (catalog, *levels), properties in state.namespaces.items():
                self._memory.open(catalog).make_namespace(tuple(levels), properties)
            for (catalog, *identifier), location in state.tables.items():
                metadata = parsed(state.files[location].decode())
                self._memory.open(catalog).keep(tuple(identifier), metadata, location)

    def checkpoint(self) -> CopyCheckpoint:
        """Return the content of the copy: metadata never changes, so the names suffice."""
        return CopyCheckpoint(self._memory.content())

    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        """Set the content of the catalogs to that of a checkpoint of this copy."""
        content: Mapping[str, Any] = checkpoint.content
        self._memory.hold(content)
