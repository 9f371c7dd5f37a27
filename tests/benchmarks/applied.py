"""Projects whose files are all applied, as their history tells it; no engine has run anything for them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.model.session import SessionContext
from glacierbase.run.run import Run
from glacierbase.stores import Store
from glacierbase.stores.choice import open_store
from tests.support.catalog_files import LAKE
from tests.support.project_folder import REPOSITORY, ProjectFolder

# The most appends that lie between the last compaction and now in a history that has been written one by one.
SINGLE_APPENDS = 25
ICEBERG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties:
      type: sql
      uri: sqlite:///WAREHOUSE/catalog.db
      warehouse: file://WAREHOUSE/tables
"""


def lake_project(folder: Path) -> ProjectFolder:
    """A project with the one catalog `shop`, and a new warehouse."""
    project = ProjectFolder(folder)
    project.catalog(LAKE.replace("WAREHOUSE", str(folder / "warehouse")))
    return project


def plain_project(folder: Path) -> ProjectFolder:
    """A project like it, whose catalog is of `type: iceberg`: PyIceberg runs its files."""
    project = ProjectFolder(folder)
    project.catalog(ICEBERG.replace("WAREHOUSE", str(folder / "warehouse")))
    (folder / "warehouse").mkdir()
    return project


def numbered_project(folder: Path, files: int) -> Path:
    """A project of so many files of one statement each, applied."""
    project = lake_project(folder)
    for number in range(1, files + 1):
        project.file(f"{number:05d}_step.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('step'='{number}');")
    record_as_applied(folder, files)
    return folder


def sample_project(folder: Path) -> Path:
    """The repository's sample project, applied."""
    for name in ("catalogs", "migrations"):
        shutil.copytree(REPOSITORY / name, folder / name)
    record_as_applied(folder, 0)
    return folder


def target_of(root: Path, **ports: Any) -> CatalogRun:
    """The only catalog of a project in its default environment, with an engine that does nothing."""
    [file] = load_catalog_files(root / "catalogs", root)
    catalog = file.for_environment(file.default_environment or "default", root)
    migrations, errors = load_migrations(root / "migrations" / catalog.stem, root)
    assert not errors
    return CatalogRun(catalog, migrations, Run.here(root), **{"open_executor": lambda *_: IdleExecutor(), **ports})


def record_as_applied(root: Path, statements: int) -> None:
    """Write the history that a run of all files leaves, all but its last appends in one."""

    def gathering(catalog: Catalog, engine: Any) -> Gathering:
        return Gathering(open_store(catalog, engine), max(0, statements - SINGLE_APPENDS))

    Migrator(target_of(root, open_store=gathering)).migrate(Selection(), Progress())


class Gathering:
    """A store that makes one append of the first so many; compaction, which would come between them, is left out."""

    proves_by_lease = True
    compacts_every = sys.maxsize

    def __init__(self, store: Store, gathers: int) -> None:
        self._store = store
        self._gathers = gathers
        self._gathered: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, events: Sequence[Event]) -> None:
        self._gathered.extend(events)
        self._gathers -= 1
        if self._gathers <= 0:
            self._store.append(self._gathered)
            self._gathered.clear()


class IdleExecutor:
    """An engine that takes every statement and does nothing; its own session, too."""

    dialect = "spark"
    engine = "spark 4.1.4"
    principal = "deployer"
    process: dict[str, Any] = {"engine_pid": None}  # noqa: RUF012 (the port's)

    def open_session(self, *, bookkeeping: bool = False) -> IdleExecutor:
        return self

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None: ...

    def context(self) -> SessionContext:
        return SessionContext("lake", "default")

    def cancel(self) -> None: ...

    def progress(self) -> None: ...

    def close(self) -> None: ...
