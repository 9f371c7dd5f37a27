"""The port to an engine: how a type of engine describes itself, what every executor does, and how an executor is opened.

Packages add types of engine by the entry point group `glacierbase.executors`, each an object of a class that derives from
`EngineType`. An executor connects, runs one statement at a time and maps the vendor's errors. Order, lock, history and the
consequences of a failure are decided in the layers above. Every implementation passes `tests/engines/contract/`.

- `engine`: the engine of one catalog, started only when a statement has to run.
- `cancel`: cancel a statement that runs.
- `actions`: the statements that glacierbase executes itself through a session.
- `spark/`, `snowflake/`: the two engines of glacierbase.
- `pyiceberg/`: Iceberg catalogs and tables without an engine.
- `direct/`: plain DDL of Iceberg through them.
- `copies/`: throw-away copies of a catalog, for `review`.
- `environments/`: the virtual environments of `packages`.
- `worker/`: an engine in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from glacierbase.errors import ConfigurationError
from glacierbase.model.access import NamespaceAccess
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import NAMESPACE, Key, ValueType
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Past, Shape, StatementLog, TableVersion
from glacierbase.run.packages import EXECUTORS, names_in, offered

if TYPE_CHECKING:
    from glacierbase.run.run import Run

# The types of glacierbase itself, each with its room. They need no search for packages, which takes time; and a checkout may not be
# installed.
OWN = {"spark": "spark", "snowflake": "snowflake", "iceberg": "direct"}
# The one that runs plain DDL of Iceberg without an engine.
_PLAIN = "iceberg"

Row = tuple[Any, ...]

# The key under which a snapshot of Iceberg names the statement that added it.
STATEMENT_TAG = "glacierbase-statement"


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table or view of a catalog.

    Attributes:
        name: the qualified name, as the history records names.
        kind: `table`, `view`, or what else the engine calls it, in lower case.
    """

    name: str
    kind: str = "table"


class Session(Protocol):
    """One session of the engine: `USE` and `SET` affect only this session."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        """Run one statement to its end, as written, with each `?` bound to one of `parameters` if there are any.

        Args:
            tag: a name for the statement in the engine: `cancel` uses it, and the engine's log shows it.

        Returns:
            The engine's id of the statement, or None where the engine has no ids.

        Raises:
            StatementRefused: the engine's answer proves that the statement had no effect.
            OutcomeUnknown: any other failure.
        """

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query. Raises as `execute` does."""

    def cancel(self) -> None:
        """Cancel the tagged statement that `execute` runs in another thread, if there is one. Never raises.

        `execute` then raises what the engine's answer proves, or returns if the statement ended before.
        """

    def progress(self) -> str | None:
        """Return the progress of the tagged statement that `execute` runs in another thread; None if the engine reports none.

        Never raises. May take as long as the engine takes to answer. No number in it decreases while the statement runs.
        """

    def shape(self, table: str) -> Shape | None:
        """Return the shape of a table as the engine describes it, uncached; None if the table does not exist.

        Args:
            table: its name as the history records names.

        Raises:
            EngineError: the engine does not describe the table.
        """

    def tables(self, catalog: str) -> list[ListedTable]:
        """Return the tables and views in all namespaces of a catalog, without temporary ones.

        Args:
            catalog: its name; of an engine with a single catalog, that of the engine's type.

        Raises:
            EngineError: the engine does not list them.
        """

    def view_statements(self, view: str) -> tuple[str, ...]:
        """Return the statements that create a view or replace it, without semicolons; none where the engine does not show its text.

        Args:
            view: its qualified name, as `tables` returns it.

        Raises:
            EngineError: there is no such view, or the engine does not describe it.
        """

    def make_view(self, view: str, sql: str, function: str, columns: str) -> None:
        """Create or replace a temporary view of the rows that a Python function makes of those of a query, on the engine's tasks.

        The function runs each time the view is queried, on parts of the rows side by side. Only the actions of glacierbase use
        it, on engines with the dialect of Spark.

        Args:
            function: `module:name`. It gets an iterator of rows as tuples, and yields rows. Its module imports at its top nothing
                but the standard library: it is sent to the tasks.
            columns: names and types of the rows that it yields, `key STRING, size BIGINT`: whole numbers are BIGINT.

        Raises:
            EngineError: the engine refuses the query, or has no Python.
        """

    def context(self) -> SessionContext:
        """Return the session's current catalog, namespace and role.

        Raises:
            EngineError: the engine does not show them.
        """

    def select(self, context: SessionContext) -> None:
        """Make the catalog and the namespace of the context the current ones. Raises as `execute` does."""

    def close(self) -> None:
        """Close the session. Never raises."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A statement without a recorded outcome.

    Attributes:
        tables: the tables that its text names as changed.
        since: when its start was recorded, by the clock of its run.
        tag: the tag that it was run with.
        sql: its text in the history, which is masked.
        application: `application` in the `Executor.process` of its engine; None if none was recorded.
    """

    tables: Sequence[str]
    since: datetime
    tag: str
    sql: str
    application: str | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an engine's logs show of a statement without a recorded outcome.

    Attributes:
        facts: the log entries, a line each.
        took_effect: what the entries suggest; None where they suggest nothing.
        has_ended: whether the statement has ended; None where the engine does not show it.
        is_proof: whether `took_effect` is the engine's own record of this statement, and not only a suggestion.
    """

    facts: tuple[str, ...] = ()
    took_effect: bool | None = None
    has_ended: bool | None = None
    is_proof: bool = False


class Executor(Protocol):
    """A connection to the engine of one catalog.

    Attributes:
        dialect: the SQL dialect, of migrations and of the history and lock tables.
        engine: name and version, for the history: `spark 4.1.4`.
        principal: the user as the engine authenticated it.
        process: values that identify the engine (`engine_pid`, `application`), for the history and the lock; and the version
            of its `java`, if it has one.
    """

    dialect: str
    engine: str
    principal: str
    process: Mapping[str, Any]

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """Open a new session, as configured. It reads everything that was committed before.

        Args:
            bookkeeping: the session is for history and lock; it must not queue behind statements of other sessions.

        Raises:
            EngineUnavailable: the engine no longer opens sessions.
        """

    def evidence(self, statement: InFlight) -> Evidence:
        """Return what the engine's logs show of the statement.

        Raises:
            EngineError: the engine cannot be queried.
        """

    def proving_table(self, sql: str, file: str) -> str | None:
        """Return the table, or the namespace, whose version proves whether the statement took effect; None without such a one.

        Every effect of such a statement is a commit to that one table; a snapshot, if there is one, is added by the last commit.

        Args:
            file: all statements of its file, rendered.
        """

    def close(self) -> None:
        """Stop only what `open_executor` started. Never raises."""


@dataclass(frozen=True, slots=True)
class CopiedView:
    """A view of a throw-away copy.

    Attributes:
        version: the version of its query.
        location: the location of its metadata.
    """

    uuid: str
    version: int
    location: str


@dataclass(frozen=True, slots=True)
class CopyState:
    """The content of the catalogs of a throw-away copy. A name begins with its catalog.

    Attributes:
        namespaces: properties by name.
        tables, views: locations of the metadata by name.
        files: content by location: metadata and rows.
    """

    namespaces: Mapping[tuple[str, ...], Mapping[str, str]]
    tables: Mapping[tuple[str, ...], str]
    views: Mapping[tuple[str, ...], str]
    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CopyCheckpoint:
    """The content of a throw-away copy at one moment, kept in its engine.

    Attributes:
        content: what only the engine reads.
        is_whole: whether the copy held nothing outside of its catalogs.
    """

    content: Any = field(repr=False)
    is_whole: bool = True


class CopyExecutor(Executor, Protocol):
    """The engine of a throw-away copy: it holds tables in memory, and cannot reach anything outside of its folder.

    Attributes:
        runs_queries: whether it reads and writes rows; otherwise it runs only plain DDL.
    """

    runs_queries: bool

    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        """Create a namespace of a catalog and its parents, unless they exist."""

    def locations(self) -> dict[str, str]:
        """Return the location of the metadata of each table, by the table's name as the history records names.

        For formats other than Iceberg, a text that changes with the table.
        """

    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON by Iceberg's specification.

        For other formats: its `shape`, `location`, `snapshots` (summaries by number, with Iceberg's keys) and number of `rows`.
        """

    def views(self) -> dict[str, CopiedView]:
        """Return the views, by their names as the history records names."""

    def state(self) -> CopyState | None:
        """Return the content of the copy; None if it holds more than a `CopyState` can."""

    def checkpoint(self) -> CopyCheckpoint:
        """Return the content of the copy, for `rewind`."""

    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        """Set the content of the catalogs to that of a checkpoint of this copy."""

    def restore(self, state: CopyState) -> None:
        """Fill an empty copy with the state of another.

        Raises:
            EngineError: the state is not valid. The copy then holds a part of it.
        """


@dataclass(frozen=True, slots=True)
class Warmed:
    """The result of `warm`.

    Attributes:
        dependencies: the number of jars in the cache.
        archive: the class archive; None where the engine's JVM is not started here.
        start_ms: how long a start with the archive took, in milliseconds.
    """

    dependencies: int = 0
    archive: Path | None = None
    start_ms: int | None = None


class EngineType:
    """A type of engine, which catalog files name as `migrationExecutor.type`. A package derives a class from this one.

    An entry point of the group `glacierbase.executors` names an object of that class. Its module is imported when a catalog file is
    read, so it must import the engine's packages inside its methods only.

    Attributes:
        name: the name of the entry point.
        dialect: the name of the SQL dialect of its migrations.
        keys: the keys under `migrationExecutor.conf`. `Catalog.conf` has their values.
        default_catalog: the keys under `conf` that lead to the catalog of history and lock if `store.catalog` is not set; empty
            for an engine with a single catalog, which then has the name of the type.
        namespace: the type of `store.namespace`.
        extra: the extra of glacierbase that installs the engine; empty where another package does.
        has_copies: whether `open_copy` starts an engine for `review`.
        grants: the kinds of servers whose grants `access plan` can write for this engine.
        is_direct: whether it runs statements in this process, without an engine.
    """

    name: str
    dialect: str
    keys: tuple[Key, ...] = ()
    default_catalog: tuple[str, ...] = ()
    namespace: ValueType = NAMESPACE
    extra = ""
    has_copies = False
    grants: tuple[str, ...] = ()
    is_direct = False

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:
        """Connect to the catalog's engine.

        Raises:
            ConfigurationError: a requirement of the engine is missing on this machine, or versions are incompatible.
            EngineUnavailable: the engine did not start or could not be reached.
        """
        raise NotImplementedError

    def implied_conf(self, conf: Mapping[str, Any]) -> Mapping[str, str]:  # noqa: ARG002 (the port's)
        """Return settings of Spark that the keys imply, by which the names of tables are resolved."""
        return {}

    def open_in_session(self, catalog: Catalog, session: Any) -> Executor:  # noqa: ARG002 (the port's)
        """Work in a SparkSession of the caller. Raises as `open_executor` does."""
        raise self._not_spark(catalog, "a Spark session was given", "omit `spark=`, or name only Spark catalogs")

    def needs(self, catalog: Catalog) -> Sequence[Any] | None:  # noqa: ARG002 (the port's)
        """Return what the catalogs of one engine process have in common, in JSON's types; None where no process is started."""
        return None

    def worker_environment(self, catalog: Catalog) -> Mapping[str, str]:  # noqa: ARG002 (the port's)
        """Return environment variables for a process in which the engine runs on another Python. Raises nothing."""
        return {}

    def check_installed(self, catalog: Catalog) -> None:
        """Check, without a start, that the installed engine is compatible with the catalog.

        Raises:
            ConfigurationError: as `open_executor` would raise it.
        """

    def given_parts(self, catalog: Catalog) -> int:  # noqa: ARG002 (the port's)
        """Return how many parts of a table's name the catalog file supplies."""
        return 0

    def access(
        self,
        executor: Executor,  # noqa: ARG002 (the port's)
        catalog: str,  # noqa: ARG002 (the port's)
        namespace: str,  # noqa: ARG002 (the port's)
        tables: Iterable[str],  # noqa: ARG002 (the port's)
    ) -> NamespaceAccess | None:
        """Return who besides the executor's user may change the tables of a namespace; None where the engine keeps no rights.

        Args:
            catalog: the name of the namespace's catalog in the engine.
            tables: those of the namespace that migrations change.
        """
        return None

    def table_version(
        self,
        catalog: Catalog,  # noqa: ARG002 (the port's)
        session: Session,  # noqa: ARG002 (the port's)
        table: str,  # noqa: ARG002 (the port's)
    ) -> TableVersion | None:
        """Return the version of a table whose log only the engine reads; None for other tables.

        Args:
            table: a name, as the history records names, that the session resolves. The version has it qualified.

        Raises:
            EngineError: the log cannot be read.
        """
        return None

    def past(self, session: Session, table: str, since: str | None) -> Past | None:  # noqa: ARG002 (the port's)
        """Return the versions of a table after an older one, by the log that only the engine reads; None without one.

        Args:
            table: its qualified name.
            since: `metadata_location` of the older shape.

        Raises:
            EngineError: the log cannot be read.
        """
        return None

    def logged_statements(
        self,
        session: Session,  # noqa: ARG002 (the port's)
        since: Mapping[str, datetime],  # noqa: ARG002 (the port's)
    ) -> StatementLog | None:
        """Return the statements that may have changed tables, by the engine's log of all statements; None without such a log.

        The session is not used for anything else afterwards but to read: a time limit of its statements may have been set.

        Args:
            since: for each table, by its qualified name, the time of the first wanted statement; at least one table.

        Raises:
            EngineError: the log cannot be read.
        """
        return None

    def warm(self, catalog: Catalog, run: Run) -> Warmed:  # noqa: ARG002 (the port's)
        """Prepare the engine's start: resolve dependencies and build the class archive. Contacts no catalog.

        Raises:
            ConfigurationError, EngineUnavailable: as `open_executor` does.
        """
        return Warmed()

    def spark_conf(self, catalog: Catalog) -> dict[str, str]:
        """Return the configuration of a Spark session on the catalog, which `open_in_session` accepts.

        Raises:
            ConfigurationError: `SESSION_NOT_SPARK`: the catalog runs on another engine.
        """
        raise self._not_spark(catalog, "it has no Spark configuration", "name a Spark catalog")

    def open_copy(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> CopyExecutor:
        """Start the engine of a throw-away copy, if `has_copies`.

        Args:
            catalog: with the configuration of the copy.
            folder: an empty folder, the only one that the engine writes to.
            names: the names of the Iceberg catalogs in the copy.

        Raises:
            ConfigurationError, EngineUnavailable: as `open_executor` does.
        """
        raise NotImplementedError

    def _not_spark(self, catalog: Catalog, what: str, hint: str) -> ConfigurationError:
        return ConfigurationError("SESSION_NOT_SPARK", f"catalog {catalog.name} runs on {self.name}; {what}", hint)


@cache
def engine_type(name: str) -> EngineType | None:
    """Return the type of engine of this name, of glacierbase or of a package, or None.

    Raises:
        ConfigurationError: `BROKEN_PACKAGE`: the package that adds the type cannot be used.
    """
    return _own_type(name) if name in OWN else offered(EXECUTORS, name, EngineType)


def own_types() -> tuple[EngineType, ...]:
    """Return the types of engine of glacierbase itself."""
    return tuple(map(_own_type, OWN))


def engine_types() -> tuple[EngineType, ...]:
    """Return all types of engine: first those of glacierbase, then those of packages. Raises as `engine_type` does."""
    added = (engine_type(name) for name in names_in(EXECUTORS) if name not in OWN)
    return (*own_types(), *(engine for engine in added if engine))


def _own_type(name: str) -> EngineType:
    engine: EngineType = import_module(f"{__name__}.{OWN[name]}").ENGINE
    return engine


def type_of(catalog: Catalog) -> EngineType:
    """Return the type of a catalog's engine."""
    engine = engine_type(catalog.executor_type)
    assert engine
    return engine


def open_executor(catalog: Catalog, run: Run, session: Any = None) -> Executor:
    """Connect to the catalog's engine, here or in a worker, or work in a SparkSession of the caller.

    Raises:
        ConfigurationError, EngineUnavailable: as `EngineType.open_executor` does; the Python of the catalog file cannot be used.
    """
    engine = type_of(catalog)
    if session is not None:
        return engine.open_in_session(catalog, session)
    is_parallel = run.shared is not None and run.shared.is_parallel
    if _has_own_python(catalog) or (is_parallel and engine.needs(catalog) is not None):
        from glacierbase.executors.worker.pool import open_in_worker

        return open_in_worker(engine, catalog, run)
    return engine.open_executor(catalog, run)


def check_installed(catalog: Catalog, run: Run) -> None:
    """Check, without a start of the engine and once in a command, that what is installed is compatible with the catalog.

    Raises:
        ConfigurationError, EngineUnavailable: as `open_executor` would raise it.
    """
    engine = type_of(catalog)
    check = partial(engine.check_installed, catalog)
    if _has_own_python(catalog):
        from glacierbase.executors.worker.pool import check_in_worker

        check = partial(check_in_worker, engine, catalog, run)
    if run.shared is None:
        check()
    else:
        run.shared.get(("installed", catalog.name, catalog.environment), None, check, lambda _: None)


def warm(catalog: Catalog, run: Run) -> Warmed:
    """Prepare the start of the engine. Raises as `open_executor` does."""
    if _has_own_python(catalog):
        from glacierbase.executors.worker.pool import warm_in_worker

        return warm_in_worker(type_of(catalog), catalog, run)
    return type_of(catalog).warm(catalog, run)


def _has_own_python(catalog: Catalog) -> bool:
    return bool(catalog.python or catalog.packages)


def without_engine(catalog: Catalog) -> Catalog:
    """Return the catalog with the executor of plain DDL, which needs no engine."""
    return replace(catalog, executor_type=_PLAIN, python=None, packages=())


def import_plain() -> None:
    """Import the modules for a copy without an engine. It takes longer than all else that the copy does."""
    with suppress(Exception):  # Raised again where a copy is opened.
        import glacierbase.executors.copies.memory_copy  # noqa: F401


def open_copy(catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> CopyExecutor:
    """Start the engine of a throw-away copy, here or in a worker. Arguments and errors are those of `EngineType.open_copy`."""
    if _has_own_python(catalog):
        from glacierbase.executors.worker.pool import open_copy_in_worker

        return open_copy_in_worker(type_of(catalog), catalog, run, folder, names)
    return type_of(catalog).open_copy(catalog, run, folder, names)
