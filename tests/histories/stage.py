"""A project on a real catalog in SQLite, whose runs are watched and disturbed before and after each statement, in this process."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.executors.direct.executor import IcebergExecutor, IcebergSession
from glacierbase.executors.spark.executor import SparkExecutor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.history.target import CatalogRun
from glacierbase.model.session import SessionContext
from glacierbase.project import each as running
from glacierbase.project.project import Project
from glacierbase.stores.bounded import BoundedStore
from tests.support.beds import LakeBed
from tests.support.catalog_files import LAKE
from tests.support.fakes import MemoryStore, MemoryTables
from tests.support.project_folder import ProjectFolder, only_catalog

_USE = re.compile(r"USE (\w+)\.(\w+)")
# The name of a table without catalog and namespace, after the words that precede it.
_SHORT = re.compile(r"(?<=TABLE )(?!IF\b)(\w+)(?![\w.])|(?<=EXISTS )(\w+)(?![\w.])")
# Called with version, index of the statement, and whether it has run.
Watch = Callable[[str, int, bool], None]


class _Session(IcebergSession):
    """A session that follows `USE`, as Spark does."""

    _namespace: tuple[str, str] | None = None

    def execute(self, sql: str, parameters: Any = (), *, tag: str | None = None) -> str | None:
        if use := _USE.fullmatch(sql.strip()):
            self._namespace = use[1], use[2]
            return None
        if self._namespace:
            before = ".".join(self._namespace)
            sql = _SHORT.sub(lambda name: f"{before}.{name[0]}", sql)
        return super().execute(sql, parameters, tag=tag)

    def context(self) -> SessionContext:
        return SessionContext(*self._namespace) if self._namespace else super().context()

    def select(self, context: SessionContext) -> None:
        if context != super().context():
            assert context.catalog
            assert context.namespace
            self._namespace = context.catalog, context.namespace


class _Executor(IcebergExecutor):
    """An executor of every statement that the histories hold, also of those that need an engine."""

    def open_session(self, *, bookkeeping: bool = False) -> Any:
        return _Session(self._lakes)


class Stage:
    """A project, its catalog and its runs.

    Attributes:
        client: of another program.
        watch: called before and after each statement.
        session_type: the class of the sessions that are watched.
    """

    session_type: type = IcebergSession

    def __init__(self, folder: Path, environment: str = "default", project: ProjectFolder | None = None) -> None:
        """Args:
        folder: a new folder for the tables and, without a project, for the project.
        """
        self.database = folder / "catalog.db"
        self.project = project or ProjectFolder(folder / "project")
        self.environment = environment
        self.client = SqlCatalog("lake", uri=f"sqlite:///{self.database}", warehouse=f"file://{folder}/tables")
        # Of history and lock, by environment.
        self.stores: dict[str, MemoryTables] = defaultdict(MemoryTables)
        self.watch: Watch = lambda version, index, is_done: None

    def catalog_file(self, more: str = "") -> None:
        """Write the catalog file of a project with one environment."""
        text = LAKE.replace("WAREHOUSE", str(self.database.parent)).replace(
            "type: spark\n", "type: spark\n  direct: auto\n", 1
        )
        self.project.catalog(text + more)

    def executor(self) -> Any:
        """Return an executor of statements that no run executes."""
        return self.opened(only_catalog(self.project.root))

    def opened(self, catalog: Any) -> Any:
        """Return an executor on a catalog."""
        return _Executor(catalog)

    @contextmanager
    def running(self) -> Iterator[Project]:
        """Open the project: its commands run on this stage."""
        load, execute = running.load_targets, self.session_type.execute

        def load_targets(*arguments: Any) -> list[CatalogRun]:
            return [self._open(target) for target in load(*arguments)]

        def watched(session: Any, sql: str, parameters: Any = (), *, tag: str | None = None) -> Any:
            *_, version, index = (tag or ";;").split(";")
            self.watch(version, int(index or 0), False)
            answer = execute(session, sql, parameters, tag=tag)
            self.watch(version, int(index or 0), True)
            return answer

        with patch.object(running, "load_targets", load_targets), patch.object(self.session_type, "execute", watched):
            yield Project.load(self.project.root, None if self.environment == "default" else self.environment)

    def _open(self, target: CatalogRun) -> CatalogRun:
        return replace(
            target,
            open_executor=lambda catalog, *_: self.opened(catalog),
            open_store=lambda catalog, engine: BoundedStore(
                lambda: MemoryStore(self.stores[catalog.environment], catalog.name), engine.cancelled
            ),
        )


class _SparkExecutor(SparkExecutor):
    """An executor on a Spark that was started with other catalogs than this one."""

    def _new_session(self, *, bookkeeping: bool) -> Any:
        session = self._spark.newSession()
        for key, value in self._catalog.spark_conf.items():
            if ".catalog." in key:
                session.conf.set(key, value)
        return SparkSessionPort(session, bookkeeping=bookkeeping)


class SparkStage(Stage):
    """A stage on which Spark runs the files, with a new catalog in its one JVM."""

    session_type = SparkSessionPort

    def __init__(self, folder: Path, bed: LakeBed) -> None:
        """Args:
        bed: the Spark.
        """
        super().__init__(folder)
        self._bed = bed

    def catalog_file(self, more: str = "") -> None:
        # Another client has changed a table that Spark has cached.
        text = LAKE.replace("WAREHOUSE", str(self.database.parent)).replace(
            "cache-enabled: true", "cache-enabled: false"
        )
        self.project.catalog(text + more)

    def opened(self, catalog: Any) -> Any:
        return _SparkExecutor(catalog, self._bed.spark, self._bed.executor.process, "ana")
