"""PyIceberg's SQL catalog with time-outs, and without connections that show uncommitted rows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables
from pyiceberg.catalog.sql import SqlCatalog as _SqlCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchNamespaceError, TableAlreadyExistsError
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.typedef import EMPTY_DICT
from sqlalchemy import event, insert, make_url, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.errors import database_locked
from glacierbase.executors.pyiceberg.guard import Guarded, reading_metadata
from glacierbase.executors.pyiceberg.properties import OWN_FOLDER, STRICT
from glacierbase.model.catalog import EMBEDDED_FOLDER
from glacierbase.model.command import command
from glacierbase.run.waiting import CALL_SECONDS

# MySQL's error for an absent table, by which SQLAlchemy finds out that it is absent.
_NO_TABLE = 1146
# A catalog has two tables, each of which another process may create first.
_CREATIONS = 3


class SqlCatalog(Guarded, _SqlCatalog):  # type: ignore[misc]
    """Roll back and close a connection after any error, so that the next read uses a new one.

    SQLAlchemy returns a connection whose COMMIT failed to the pool without a rollback, although SQLite keeps the transaction
    open: every later read through that connection shows the uncommitted rows.
    """

    notes_changes = True

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties | {"uri": _with_literal_file(properties["uri"])})

    def _init_catalog(self) -> None:
        """Register the listeners before the engine is first used."""
        event.listen(self.engine, "handle_error", _discard)
        # A transaction takes effect by its COMMIT alone. None is sent for a read.
        event.listen(self.engine, "commit", lambda _: setattr(self, "in_doubt", True))
        # libpq limits only network waits. Set per transaction, because a pooler refuses or shares the settings of a session.
        timeout = int(self.engine.url.query.get("tcp_user_timeout", 0))
        # SQLite runs inside the process that commits, and ends with it.
        self.commit_seconds = 0.0 if self.engine.dialect.name == "sqlite" else timeout / 1000 or CALL_SECONDS
        if timeout:
            limit = f"SET LOCAL statement_timeout = {timeout}"
            event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql(limit))
        super()._init_catalog()

    def _convert_orm_to_iceberg(self, orm_table: Any) -> Any:
        if folder := self.properties.get(OWN_FOLDER):
            _check_moved(Path(orm_table.metadata_location), Path(folder))
        namespace = self.identifier_to_tuple(orm_table.table_namespace)
        with reading_metadata(orm_table.metadata_location):
            return self.kept_table((*namespace, orm_table.table_name), orm_table.metadata_location)

    def create_tables(self) -> None:
        """Create the tables of the catalog that are missing, unless another process creates them at the same time."""
        for attempt in range(_CREATIONS):
            try:
                super().create_tables()
                return
            except DBAPIError:
                if attempt == _CREATIONS - 1:
                    raise

    def create_namespace(self, namespace: str | tuple[str, ...], properties: Any = EMPTY_DICT) -> None:
        """Create a namespace with the property by which Iceberg stores one without properties."""
        try:
            super().create_namespace(namespace, IcebergNamespaceProperties.NAMESPACE_MINIMAL_PROPERTIES | properties)
        except IntegrityError as error:  # Another process created it after PyIceberg's check.
            raise NamespaceAlreadyExistsError(f"Namespace already exists: {namespace}") from error

    def new_table(self, identifier: Any, schema: Any, location: str | None, spec: Any, properties: Any) -> None:
        """Create a table as Iceberg's JDBC catalog does: unless it is strict, the namespace may be absent.

        The location does not depend on that of the namespace.
        """
        if self.properties.get(STRICT) and not self.namespace_exists(identifier[:-1]):
            raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(identifier[:-1])}")
        if identifier in self.list_views(identifier[:-1]):
            raise TableAlreadyExistsError(f"View with same name already exists: {'.'.join(identifier)}")
        place = location or "/".join((self.properties["warehouse"].rstrip("/"), *identifier))
        metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, place.rstrip("/"), properties)
        provider = load_location_provider(metadata.location, metadata.properties)
        file = self._named(provider.new_table_metadata_file_location())
        self._write_metadata(metadata, self._load_file_io(metadata.properties, file), file)
        row = self._create_table_row(self.namespace_to_string(identifier[:-1]), identifier[-1], file)
        with Session(self.engine) as session:
            try:
                session.execute(insert(IcebergTables).values(**row))
                session.commit()
            except IntegrityError as error:
                raise TableAlreadyExistsError(f"{'.'.join(identifier)} already exists") from error

    def list_views(self, namespace: str | tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the views of a namespace, which PyIceberg does not list in a SQL catalog; none in a catalog of schema V0."""
        if self._schema_version != "v1":
            return []
        wanted = (
            IcebergTables.catalog_name == self.name,
            IcebergTables.table_namespace == self.namespace_to_string(namespace),
            IcebergTables.iceberg_type == "VIEW",
        )
        with Session(self.engine) as session:
            rows = session.scalars(select(IcebergTables).where(*wanted)).all()
        return [(*self.identifier_to_tuple(row.table_namespace), row.table_name) for row in rows]


def _check_moved(metadata: Path, folder: Path) -> None:
    """Refuse a table of an embedded store whose files were moved or deleted: Iceberg names them by absolute paths.

    Raises:
        ConfigurationError: `EMBEDDED_MOVED`.
    """
    if metadata.exists() or metadata.resolve().is_relative_to(folder.resolve()):
        return
    first, project = (text.partition(f"/{EMBEDDED_FOLDER}/")[0] for text in (str(metadata), str(folder)))
    hint = f"ln -s {quote(project)} {quote(first)}"
    if Path(first).exists():
        by_hand = command("baseline", "--to", "VERSION", reason=True)
        hint = f"for a history of this copy's own: rm -r {quote(str(folder))} && {by_hand}"
    what = f"the embedded store in {folder} has its files in the project {first}, which holds them no more"
    raise ConfigurationError("EMBEDDED_MOVED", what, hint)


def _with_literal_file(uri: str) -> str:
    """Return a URI whose SQLite file SQLAlchemy opens by its literal name: version 2.1 decodes `%20`, version 2.0 does not."""
    decodes = make_url("sqlite:///%25").database == "%"
    return uri.replace("%", "%25") if decodes and uri.startswith("sqlite:") else uri


def _discard(context: Any) -> Exception | None:
    """Roll back, and close the connection as if the database had ended it.

    SQLite keeps the locks of a connection while an object, such as the error, refers to its cursors.
    """
    if getattr(context.original_exception, "args", ())[:1] == (_NO_TABLE,):
        return None
    if context.connection is not None:
        with suppress(Exception):  # A broken connection cannot be rolled back.
            context.connection.connection.rollback()
    context.is_disconnect = True
    return database_locked(context.engine.url.database, context.original_exception)
