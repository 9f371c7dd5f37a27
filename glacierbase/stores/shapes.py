"""The shapes of users' tables: through PyIceberg where it can open their catalog, else through a session of the engine."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

from glacierbase.errors import ConfigurationError, EngineError, TableNotFound
from glacierbase.executors import Session
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts, spark_identifier
from glacierbase.model.shape import Shape
from glacierbase.sql.qualified import qualified
from glacierbase.stores.iceberg.past import Past
from glacierbase.stores.iceberg.properties import can_open
from glacierbase.stores.iceberg.shape import ShapeReader, shape_from_json
from glacierbase.stores.iceberg.version import identifier


class TableShapes:
    """Reads the tables of one catalog file. Most need no engine; `needs_engine` returns which do."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._reader: ShapeReader | None = None

    def needs_engine(self, table: str) -> bool:
        """Return whether `read` requires a session for a table. Contacts nothing."""
        name = qualified(self._catalog, table)
        first = next(iter(name_parts(name)), "")
        if identifier(name, first) is None or not find_spec("pyiceberg"):
            return True
        return not can_open(replace(self._catalog, store=replace(self._catalog.store, catalog=first)))

    def may_need_engine(self, table: str) -> bool:
        """Return whether `read` requires a session, or may require one. Contacts nothing."""
        first = next(iter(name_parts(qualified(self._catalog, table))), "")
        # It opens tables of other formats, too.
        is_shared = self._catalog.spark_conf.get(f"spark.sql.catalog.{first}", "").endswith(".SparkSessionCatalog")
        return is_shared or self.needs_engine(table)

    def read(self, table: str, session: Session | None = None) -> Shape | None:
        """Return the shape of a table, uncached, under its qualified name; None where there is no such table.

        Args:
            table: its name as the history records names. It must not depend on a `USE`.
            session: of the engine; without one, only tables that PyIceberg reads can be read.

        Raises:
            ConfigurationError: PyIceberg cannot open the catalog of the table, and there is no session.
            EngineError: the table cannot be read.
        """
        name = qualified(self._catalog, table)
        if session is None:
            return self._reads().read(name)
        if not self.needs_engine(table):
            try:
                return self._reads().read(name)
            except (ConfigurationError, TableNotFound):  # A package is not installed, or it is no table of Iceberg.
                pass
        return _described(session, name)

    def past(self, table: str, since: str | None) -> Past | None:
        """Return the versions of a table since one; None where only the engine can read the table.

        Args:
            table: as for `read`.
            since: the location of the metadata after which they are wanted.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        return None if self.needs_engine(table) else self._reads().past(qualified(self._catalog, table), since)

    def names_beside(self, table: str) -> tuple[str, ...]:
        """Return the qualified names of all tables in the namespace of a table; none where only the engine can read it.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        return () if self.needs_engine(table) else self._reads().names_beside(qualified(self._catalog, table))

    def close(self) -> None:
        """Close the connections. Sessions are their owner's."""
        if self._reader:
            self._reader.close()

    def _reads(self) -> ShapeReader:
        self._reader = self._reader or ShapeReader(self._catalog)
        return self._reader


def _described(session: Session, table: str) -> Shape | None:
    """Return the shape of a table as the engine describes it; of Iceberg, that of the metadata file which the engine names."""
    shape = session.shape(table)
    if shape is None or shape.format != "iceberg":
        return shape
    log = ".".join(map(spark_identifier, (*name_parts(table), "metadata_log_entries")))
    try:
        location = str(session.query(f"SELECT file FROM {log}")[-1][0])
        lines = session.query(f"SELECT value FROM text.{spark_identifier(location)}")
        found = shape_from_json(table, "\n".join(str(row[0]) for row in lines))
    except (ConfigurationError, EngineError, ValueError, IndexError):  # Compressed, or PyIceberg is not installed.
        return shape
    return replace(found, metadata_location=location)
