"""Open one catalog in one environment, with its files, its engine and its store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glacierbase import executors
from glacierbase.errors import EngineError, EngineUnavailable
from glacierbase.executors import Executor
from glacierbase.executors.actions import OpenAction, no_actions
from glacierbase.executors.direct.files import FileEngines
from glacierbase.executors.engine import Engine
from glacierbase.history.lockrow import LockTerms
from glacierbase.migrations.compiled import Compiled, compile_all
from glacierbase.migrations.new_files import FileCheck
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration
from glacierbase.run.activity import doing
from glacierbase.run.run import Run
from glacierbase.stores import Store, choice

if TYPE_CHECKING:
    from glacierbase.executors.direct.table_versions import TableVersions

OpenExecutor = Callable[[Catalog, Run, Any], Executor]
OpenStore = Callable[[Catalog, Engine], Store]


OpenTables = Callable[[Catalog, Callable[[], bool]], "TableVersions"]


def open_tables(catalog: Catalog, cancelled: Callable[[], bool]) -> TableVersions:
    """Return the reader of the versions of users' tables. Contacts nothing."""
    from glacierbase.executors.direct.table_versions import TableVersions

    return TableVersions(catalog, cancelled)


@dataclass(frozen=True, slots=True)
class CatalogRun:
    """One catalog in one environment with its migration files: the target of a command.

    Attributes:
        migrations: the files with a version, in ascending order.
        siblings: names of the project's other catalogs, with histories that may be in the same namespace.
        spark: the caller's SparkSession to work in; None to start an engine.
        cancelled: returns True once the command is cancelled; waits then end soon.
        open_executor, open_store, open_tables: open the engine, the store, and the reader of the versions of users' tables.
        open_action: returns the function of an action of glacierbase; the facade sets it.
        repeatables: the files without a version, in the order in which they run.
        check_new: checks the files that a command writes; the facade sets it.
    """

    catalog: Catalog
    migrations: Sequence[Migration]
    run: Run
    siblings: Collection[str] = ()
    spark: Any = None
    cancelled: Callable[[], bool] = lambda: False
    open_executor: OpenExecutor = executors.open_executor
    open_store: OpenStore = choice.open_store
    open_tables: OpenTables = open_tables
    open_action: OpenAction = no_actions
    repeatables: Sequence[Migration] = ()
    check_new: FileCheck = lambda *_: None

    @property
    def files(self) -> Sequence[Migration]:
        """All files, in the order in which they run."""
        return (*self.migrations, *self.repeatables)

    @property
    def dialect(self) -> str:
        """The SQL dialect of the files."""
        return self.catalog.dialect

    @property
    def terms(self) -> LockTerms:
        """The terms of the catalog's lock."""
        return LockTerms(self.catalog.name, self.catalog.environment, self.catalog.store.lease_seconds)

    def compile(self, migrations: Sequence[Migration]) -> tuple[Compiled, ...]:
        """Return the compiled files, in the same order. Contacts nothing.

        Raises:
            MigrationFileError, SeveralErrors: every error in the files.
        """
        compiled = compile_all(migrations, self.catalog, self.dialect)
        return tuple(compiled[migration.key] for migration in migrations)

    def engine(self) -> Engine:
        """Return the engine of the catalog, not started yet."""
        open_direct = self.file_engines().opener()
        return Engine(
            lambda: self.open_executor(self.catalog, self.run, self.spark),
            self.cancelled,
            open_direct,
            lambda: self.open_tables(self.catalog, self.cancelled),
        )

    def file_engines(self) -> FileEngines:
        """Return what chooses the engine of each file."""
        return FileEngines(self.catalog, in_session=self.spark is not None)

    @contextmanager
    def opened(self) -> Iterator[OpenCatalog]:
        """Open the store; the engine is started only where the store needs it. Both are closed at the end.

        Raises:
            EngineUnavailable: also for an error of the store inside the block.
        """
        with closing(self.engine()) as engine:
            try:
                with doing(f"{self.catalog.name}: opening history and lock", announce=False):
                    store = self.open_store(self.catalog, engine)
                yield OpenCatalog(self, engine, store)
            except EngineError as error:
                raise EngineUnavailable(
                    "STORE_UNAVAILABLE",
                    f"catalog {self.catalog.name}: history and lock in {self.catalog.store.place} cannot be used: {error.message}",
                    error.hint
                    or embedded_hint(self.catalog)
                    or "check the catalog file, its server and the rights on that namespace;"
                    f" `{command('doctor')}` checks each",
                ) from error


def embedded_hint(catalog: Catalog) -> str | None:
    """Return the hint for an embedded store that cannot be used; None for a store on a server."""
    if catalog.store.folder is None:
        return None
    return (
        "check that this user may write to that folder and all files in it, and that its disk has space; then run again"
    )


@dataclass(frozen=True, slots=True)
class OpenCatalog:
    """A target with its engine and its open store."""

    target: CatalogRun
    engine: Engine
    store: Store

    def open_another_store(self) -> Store:
        """Open a second connection to the same tables. It is closed with the engine."""
        return self.target.open_store(self.target.catalog, self.engine)
