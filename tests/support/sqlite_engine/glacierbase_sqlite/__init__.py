"""SQLite as an engine of glacierbase: what a catalog file says of it, and how it is opened."""

from __future__ import annotations

from glacierbase.executors import EngineType, Executor
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import BOOLEAN, Key
from glacierbase.run.run import Run


class Sqlite(EngineType):
    """A database file."""

    name = "sqlite"
    dialect = "sqlite"
    keys = (
        Key("path", "The database file, such as `${projectRoot}/shop.db`.", required=True),
        Key("foreignKeys", "Whether foreign keys are enforced.", type=BOOLEAN, default="true"),
    )

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:
        """Open the file, which is created if it does not exist."""
        from glacierbase_sqlite.executor import SqliteExecutor

        return SqliteExecutor(catalog)


ENGINE = Sqlite()
