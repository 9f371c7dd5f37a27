"""Read the current tables and columns of users: through PyIceberg where it can open their catalog, else through the engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

from glacierbase.catalogs.table_formats import formats
from glacierbase.errors import ConfigurationError, EngineError, GlacierbaseError, OutcomeUnknown, TableNotFound
from glacierbase.executors import ListedTable, Session, type_of
from glacierbase.executors.engine import Engine
from glacierbase.executors.pyiceberg.properties import can_open
from glacierbase.executors.pyiceberg.shape import ListedNames, ShapeReader, shape_from_json
from glacierbase.executors.pyiceberg.values import not_ids
from glacierbase.executors.pyiceberg.versions import identifier
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Past, Shape, StatementLog
from glacierbase.run.waiting import Caller, result
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.qualified import DECLARED, DEFAULT_CATALOG, qualified, whole_name

T = TypeVar("T")

# Readers work in parallel, each with its own connections; a reader is added for so many tables.
_READERS, _TABLES_EACH = 4, 4
# After consecutive failures that took so many seconds, the catalog counts as unreachable. Quick failures concern their tables.
_PATIENCE = 25.0


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table as it was read.

    Attributes:
        shape: None if the table does not exist.
        unread: why the table was not read; None if it was.
    """

    shape: Shape | None = None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables and views of all catalogs of an engine.

    Attributes:
        unlisted: why the tables of a catalog or of a namespace are not known.
        without_views: the catalogs of which only the engine lists the views; it was not started for them.
    """

    tables: tuple[ListedTable, ...]
    unlisted: Mapping[str, str]
    without_views: tuple[str, ...]


class LiveTables:
    """Read the tables of one catalog. A table that cannot be read does not prevent the others from being read.

    A context manager, which closes its connections and its session.
    """

    def __init__(self, catalog: Catalog, engine: Engine | None = None) -> None:
        """Contact nothing.

        Args:
            engine: started for the first table that requires it; without an engine, such tables are not read.
        """
        self._catalog = catalog
        self._engine = engine
        self._shapes = TableShapes(catalog)
        self._session: Session | None = None
        self._readers: list[_Reader] = []

    def is_near(self, table: str) -> bool:
        """Return whether a table is read without the engine."""
        return not self._shapes.needs_engine(table)

    def read(self, tables: Iterable[str]) -> Mapping[str, TableRead]:
        """Read tables by the names that the history records, uncached."""
        answers = self._read_all(tables, lambda shapes, table: shapes.read(table))
        return {table: self._reading(table, answer) for table, answer in answers.items()}

    def past(self, since: Mapping[str, str | None]) -> Mapping[str, Past]:
        """Return the versions of tables since the given metadata files; tables that cannot be read are left out."""
        answers = self._read_all(since, lambda shapes, table: shapes.past(table, since[table]))
        if self._engine is not None:
            far = [table for table, answer in answers.items() if answer is None or isinstance(answer, TableNotFound)]
            answers = {**answers, **{table: self._past_by_engine(self._engine, table, since[table]) for table in far}}
        return {table: answer for table, answer in answers.items() if isinstance(answer, Past)}

    def _past_by_engine(self, engine: Engine, table: str, since: str | None) -> Past | None:
        try:
            return self._shapes.past(table, since, self._opened_session(engine))
        except GlacierbaseError:
            return None

    def statements(self, since: Mapping[str, datetime]) -> StatementLog | None:
        """Return the statements that may have changed tables that only the engine reads, by its log; None where it is not readable.

        Args:
            since: the time of the first wanted statement, by table.
        """
        far = {whole_name(self._catalog, table): at for table, at in since.items() if not self.is_near(table)}
        if self._engine is None or not far:
            return None
        try:
            return type_of(self._catalog).logged_statements(self._opened_session(self._engine), far)
        except GlacierbaseError:
            return None

    def renamed(self, tables: Iterable[Shape], known: Collection[str]) -> Mapping[str | None, Shape]:
        """Return the shapes of tables that have other names now, by UUID.

        Args:
            tables: those that do not exist under their names.
            known: the names of tables in the namespaces where they may be. Tables with these names are others.
        """
        wanted = {shape.uuid for shape in tables if shape.uuid}
        if not wanted:
            return {}
        neighbours = self.names_beside({tuple(name_parts(name)[:-1]): name for name in known}.values())
        folded = {name.casefold() for name in known}
        others = [name for names in neighbours.values() for name in names if name.casefold() not in folded]
        shapes = (reading.shape for reading in self.read(others).values())
        return {shape.uuid: shape for shape in shapes if shape and shape.uuid in wanted}

    def names_beside(self, tables: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the names of all tables in the namespace of each table; namespaces that cannot be read are left out."""
        answers = self._read_all(tables, lambda shapes, table: shapes.names_beside(table))
        return {table: answer for table, answer in answers.items() if isinstance(answer, tuple)}

    def why_not_direct(self, tables: Iterable[str]) -> Mapping[str, str]:
        """Return why tables cannot be changed without the engine, by table; those that can are left out."""
        answers = self._read_all(tables, lambda shapes, table: shapes.why_not_direct(table))
        return {table: answer for table, answer in answers.items() if isinstance(answer, str)}

    def values(self, table: str, column: str, most: int) -> Iterator[Sequence[str | None]]:
        """Yield the first values of a column as text, in batches. The engine returns all of them at once.

        Args:
            table: its name as the history records names; it exists.
            column: its name in the table's shape; no field inside a column.

        Raises:
            ConfigurationError: `NOT_IDS`: its values are no text; without an engine, `STORE_NOT_ICEBERG`.
            EngineError, EngineUnavailable: the table cannot be read.
        """
        near = None
        if self.is_near(table):
            try:
                near = self._shapes.values(table, column, most)
            except (
                ConfigurationError,
                TableNotFound,
            ):  # As for shapes; or PyIceberg does not apply the deletes of the table.
                if self._engine is None:
                    raise
        yield from self._values_by_engine(table, column, most) if near is None else near

    def _values_by_engine(self, table: str, column: str, most: int) -> Iterator[Sequence[str | None]]:
        if self._engine is None:
            raise ConfigurationError("STORE_NOT_ICEBERG", "only its engine can read it")
        selected, source = '"{}"'.format(column.replace('"', '""')), table
        if dialect_of(self._catalog.dialect).names_follow_conf:
            parts = name_parts(qualified(self._catalog, table))
            selected, source = spark_identifier(column), ".".join(map(spark_identifier, parts))
        rows = self._opened_session(self._engine).query(f"SELECT {selected} FROM {source} LIMIT {most:d}")
        yield [_text(value, column) for (value,) in rows]

    def listed(self, is_wanted: Callable[[str], bool]) -> Listing:
        """Return the tables and views of all catalogs that the catalog file names. What cannot be listed keeps nothing else out.

        Args:
            is_wanted: returns whether the tables of a namespace are wanted, and those of the namespaces inside.
        """
        tables: list[ListedTable] = []
        unlisted: dict[str, str] = {}
        without_views: list[str] = []
        for name in catalogs_of(self._catalog):
            try:
                if self._shapes.may_need_engine(name_of((name, "any", "any"))):
                    tables += self._listed_by_engine(name)
                else:
                    tables += self._listed_near(name, is_wanted, unlisted, without_views)
            except GlacierbaseError as error:
                unlisted[name] = error.message
        return Listing(tuple(tables), unlisted, tuple(dict.fromkeys(without_views)))

    def view_statements(self, view: str) -> tuple[str, ...]:
        """Return the statements that create a view, by the engine; none where it does not show its text.

        Raises:
            GlacierbaseError: the engine does not start, or does not describe it.
        """
        return self._opened_session(self._engine).view_statements(view) if self._engine else ()

    def _listed_by_engine(self, name: str) -> Sequence[ListedTable]:
        if self._engine is None:
            raise ConfigurationError("STORE_NOT_ICEBERG", "only its engine can list it")
        return self._opened_session(self._engine).tables(name)

    def _listed_near(
        self, name: str, is_wanted: Callable[[str], bool], unlisted: dict[str, str], without_views: list[str]
    ) -> Iterator[ListedTable]:
        """Yield what PyIceberg lists, one level of namespaces after the other; add to the last two arguments what it does not."""
        waiting = [name]
        while waiting:
            answers = self._read_near(waiting, lambda shapes, namespace: shapes.listed(namespace))
            waiting = []
            for namespace, answer in answers.items():
                if isinstance(answer, ListedNames):
                    yield from map(ListedTable, answer.tables)
                    yield from (ListedTable(view, "view") for view in answer.views or ())
                    without_views += [name] if answer.views is None else []
                    waiting += filter(is_wanted, answer.namespaces)
                elif not isinstance(answer, TableNotFound):  # Else it was dropped meanwhile, or the catalog is empty.
                    unlisted[namespace] = answer.message

    def _read_all(
        self, tables: Iterable[str], read: Callable[[TableShapes, str], T]
    ) -> Mapping[str, T | GlacierbaseError | None]:
        """Return what `read` returns for each table, or the error that it raises; None for tables that require the engine."""
        names = list(dict.fromkeys(tables))
        return {**dict.fromkeys(names), **self._read_near([name for name in names if self.is_near(name)], read)}

    def _read_near(
        self, near: Sequence[str], read: Callable[[TableShapes, str], T]
    ) -> Mapping[str, T | GlacierbaseError]:
        """Return what `read` returns for each name, or the error that it raises. Several readers share the names."""
        count = min(_READERS, -(-len(near) // _TABLES_EACH))
        while len(self._readers) < count:
            self._readers.append(_Reader(self._catalog))
        answers = [reader.begin(near[number::count], read) for number, reader in enumerate(self._readers[:count])]
        by_name: dict[str, T | GlacierbaseError] = {}
        for answer in answers:  # Each call inside has its own time limit.
            more: Mapping[str, T | GlacierbaseError] = result(answer, float("inf"))
            by_name.update(more)
        return by_name

    def _reading(self, table: str, answer: Shape | GlacierbaseError | None) -> TableRead:
        """Return the answer of a reader, or the engine's where the reader could not open the table."""
        is_far = not self.is_near(table)
        if self._engine is None and is_far:
            return TableRead(unread="only its engine can read it")
        if self._engine is not None and (is_far or isinstance(answer, (ConfigurationError, TableNotFound))):
            return self._through(self._engine, table)
        return TableRead(unread=answer.message) if isinstance(answer, GlacierbaseError) else TableRead(answer)

    def _through(self, engine: Engine, table: str) -> TableRead:
        try:
            return TableRead(self._shapes.read(table, self._opened_session(engine)))
        except GlacierbaseError as error:
            return TableRead(unread=error.message)

    def _opened_session(self, engine: Engine) -> Session:
        self._session = self._session or engine.start().open_session()
        return self._session

    def __enter__(self) -> LiveTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reader in self._readers:
            reader.close()
        self._shapes.close()
        if self._session:
            self._session.close()


class _Reader:
    """Read one table after the other in a thread. Once the catalog is unreachable, no more tables are read."""

    def __init__(self, catalog: Catalog) -> None:
        self._shapes = TableShapes(catalog)
        self._caller = Caller()
        self._failing_seconds = 0.0
        self._unreachable: GlacierbaseError | None = None

    def begin(
        self, tables: Sequence[str], read: Callable[[TableShapes, str], T]
    ) -> Future[Mapping[str, T | GlacierbaseError]]:
        """Begin to read tables."""
        return self._caller.submit(lambda: {table: self._answer(table, read) for table in tables})

    def close(self) -> None:
        """Read no further table, and close the connections after the call that has begun."""
        self._unreachable = self._unreachable or OutcomeUnknown("NotAsked", "the command ended before")
        self._caller.submit(self._shapes.close)
        self._caller.end()

    def _answer(self, table: str, read: Callable[[TableShapes, str], T]) -> T | GlacierbaseError:
        if self._unreachable is not None:
            return self._unreachable
        begin = monotonic()
        try:
            answer = read(self._shapes, table)
        except GlacierbaseError as error:
            is_answer = not isinstance(error, OutcomeUnknown)
            self._failing_seconds = 0.0 if is_answer else self._failing_seconds + monotonic() - begin
            if self._failing_seconds >= _PATIENCE:
                why = f"not read, because the catalog did not answer for another table: {error.message}"
                self._unreachable = OutcomeUnknown("NotAsked", why)
            return error
        self._failing_seconds = 0.0
        return answer


def catalogs_of(catalog: Catalog) -> tuple[str, ...]:
    """Return the catalogs of the engine that hold the tables of users: for Spark, those that `sparkConf` declares."""
    if not dialect_of(catalog.dialect).names_follow_conf:
        return (str(catalog.connection.get("database") or catalog.store.catalog),)
    declared = (DECLARED.fullmatch(key) for key in catalog.spark_conf)
    return tuple(match[1] for match in declared if match) or (DEFAULT_CATALOG,)


class TableShapes(ShapeReader):
    """Read the tables of one catalog file by the names that the history records, through PyIceberg or a session of the engine."""

    def needs_engine(self, table: str) -> bool:
        """Return whether `read` requires a session for a table. Contacts nothing."""
        name = qualified(self._catalog, table)
        first = next(iter(name_parts(name)), "")
        if identifier(name, first) is None:
            return True
        return not can_open(replace(self._catalog, store=replace(self._catalog.store, catalog=first)))

    def may_need_engine(self, table: str) -> bool:
        """Return whether `read` requires a session, or may require one. Contacts nothing."""
        first = next(iter(name_parts(qualified(self._catalog, table))), "")
        # The session catalog also opens tables of other formats.
        is_shared = self._catalog.spark_conf.get(f"spark.sql.catalog.{first}", "").endswith(".SparkSessionCatalog")
        return is_shared or self.needs_engine(table)

    def read(self, table: str, session: Session | None = None) -> Shape | None:
        """Return the shape of a table, uncached, under its qualified name; None if the table does not exist.

        Args:
            table: its name as the history records names. It must not depend on a `USE`.
            session: a session of the engine; without one, only tables that PyIceberg reads can be read.

        Raises:
            ConfigurationError: PyIceberg cannot open the catalog of the table, and there is no session.
            EngineError: the table cannot be read.
        """
        if session is None:
            return super().read(table)
        if not self.needs_engine(table):
            try:
                return super().read(table)
            except (ConfigurationError, TableNotFound):  # A package is not installed, or it is not an Iceberg table.
                pass
        name = qualified(self._catalog, table)
        first = next(iter(name_parts(name)), "")
        return _described(session, name, maybe_iceberg=formats(self._catalog).get(first) == "iceberg")

    def past(self, table: str, since: str | None, session: Session | None = None) -> Past | None:
        """Return the versions of a table since an older one; None if its format lists none, or only the engine can read it.

        Args:
            table, session: as for `read`.
            since: the location of the metadata file before the first wanted version.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        if session is not None and self.may_need_engine(table):
            return type_of(self._catalog).past(session, qualified(self._catalog, table), since)
        return None if self.needs_engine(table) else super().past(table, since)

    def names_beside(self, table: str) -> tuple[str, ...]:
        """Return the qualified names of all tables in the namespace of a table; none if only the engine can read it.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        return () if self.needs_engine(table) else super().names_beside(qualified(self._catalog, table))

    def renamed(self, table: Shape) -> Shape | None:
        """Return the shape of a table that has another name in its namespace now; None where none there has its UUID.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        shapes = map(self.read, self.names_beside(table.table))
        return next((shape for shape in shapes if shape and shape.uuid == table.uuid), None)

    def created(self, table: str, proofs: Iterable[str]) -> Shape | None:
        """Return the table beside one of a name whose first metadata file has one of these UUIDs in its name; None without one.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        for past in (self.past(name, None) for name in self.names_beside(table)):
            if past and any(proof in (past.versions[0].shape.metadata_location or "") for proof in proofs):
                return past.versions[-1].shape
        return None

    def _loaded(self, table: str, read: Callable[[str, Any], T]) -> T | None:
        return super()._loaded(qualified(self._catalog, table), read)


def _text(value: Any, column: str) -> str | None:
    """Return a value of the engine as text.

    Raises:
        ConfigurationError: `NOT_IDS`: it is a list, a struct, a map or bytes.
    """
    if isinstance(value, (list, tuple, dict, bytes, bytearray)):
        raise not_ids(f"the column {column} holds a {type(value).__name__}: its values are no text and no numbers")
    return None if value is None else str(value)


def _described(session: Session, table: str, *, maybe_iceberg: bool) -> Shape | None:
    """Return the shape of a table from the metadata file that the engine names; without one, as the engine describes it.

    Args:
        maybe_iceberg: whether the table is in a catalog of Iceberg: its description is then requested only without metadata.
    """
    shape = None if maybe_iceberg else session.shape(table)
    if not maybe_iceberg and (shape is None or shape.format != "iceberg"):
        return shape
    name = ".".join(map(spark_identifier, name_parts(table)))
    try:
        session.execute(f"REFRESH TABLE {name}")
        location = str(session.query(f"SELECT file FROM {name}.metadata_log_entries")[-1][0])
        lines = session.query(f"SELECT value FROM text.{spark_identifier(location)}")
        parsed = shape_from_json(table, "\n".join(str(row[0]) for row in lines))
    # No table, not one of Iceberg, its metadata is compressed, or PyIceberg is not installed.
    except (ConfigurationError, EngineError, ValueError, IndexError):
        return shape or session.shape(table)
    return replace(parsed, metadata_location=location)
