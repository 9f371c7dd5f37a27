"""The tables of users as they are now, read with the engine only where that is the only way."""

from __future__ import annotations

from types import TracebackType

from glacierbase.executors import Session
from glacierbase.history.opening import OpenCatalog
from glacierbase.model.shape import Shape
from glacierbase.stores.iceberg.past import Past
from glacierbase.stores.shapes import TableShapes


class TablesNow:
    """Reads the tables of an open catalog. The engine is started for the first table that requires it.

    A context manager, which closes what it opened.
    """

    def __init__(self, opened: OpenCatalog) -> None:
        self._engine = opened.engine
        self._shapes = TableShapes(opened.target.catalog)
        self._session: Session | None = None

    def read(self, table: str) -> Shape | None:
        """Return the shape of a table, uncached; None where there is no such table.

        Raises:
            ConfigurationError, EngineError: it cannot be read.
        """
        return self._shapes.read(table, self._opened() if self._shapes.needs_engine(table) else None)

    def is_near(self, table: str) -> bool:
        """Return whether a table is read without the engine."""
        return not self._shapes.needs_engine(table)

    def past(self, table: str, since: str | None) -> Past | None:
        """Return the versions of a table, as `TableShapes.past` does."""
        return self._shapes.past(table, since)

    def names_beside(self, table: str) -> tuple[str, ...]:
        """Return the names of the tables in its namespace, as `TableShapes.names_beside` does."""
        return self._shapes.names_beside(table)

    def _opened(self) -> Session:
        self._session = self._session or self._engine.start().open_session()
        return self._session

    def __enter__(self) -> TablesNow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shapes.close()
        if self._session:
            self._session.close()
