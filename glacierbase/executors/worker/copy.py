"""The engine of a throw-away copy in a worker, behind the port of copies."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.executors import CopiedView, CopyCheckpoint, CopyState
from glacierbase.executors.worker.client import WorkerExecutor


class WorkerCopy(WorkerExecutor):
    """A throw-away copy in a worker. The content of its checkpoints stays there."""

    runs_queries = True

    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        """Create a namespace of a catalog and its parents, unless they exist."""
        self._call("make_namespace", name, levels)

    def locations(self) -> dict[str, str]:
        """Return the location of the metadata of each table, by the table's name."""
        locations: dict[str, str] = self._call("locations")
        return locations

    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON."""
        metadata: str = self._call("metadata", location)
        return metadata

    def views(self) -> dict[str, CopiedView]:
        """Return the views by name."""
        views: dict[str, CopiedView] = self._call("views")
        return views

    def state(self) -> CopyState | None:
        """Return the content of the copy; None if it holds more than a `CopyState` can."""
        state: CopyState | None = self._call("state")
        return state

    def checkpoint(self) -> CopyCheckpoint:
        """Return a checkpoint for `rewind`."""
        checkpoint: CopyCheckpoint = self._call("checkpoint")
        return checkpoint

    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        """Set the content of the catalogs to that of a checkpoint of this copy."""
        self._call("rewind", checkpoint)

    def restore(self, state: CopyState) -> None:
        """Fill an empty copy with the state of another."""
        self._call("restore", state)
