"""A project on disk with the real path of `migrate`, and an engine and tables in memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.history.state import CatalogState, current_state
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.repeatables import repeatables, versioned
from glacierbase.model.migration import Event
from glacierbase.run.run import Run
from glacierbase.stores.bounded import BoundedStore
from tests.support.catalog_files import LAKE
from tests.support.fakes import FakeExecutor, MemoryStore, MemoryTables, MemoryVersions
from tests.support.project_folder import ProjectFolder

FIVE = """\
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1);
INSERT INTO {} VALUES (2);
INSERT INTO t VALUES (3);
INSERT INTO t VALUES (4);"""


class World:
    """A project whose engine and tables are in memory, and the commands on it."""

    def __init__(self, project: ProjectFolder) -> None:
        self.project = project
        self.engine = FakeExecutor()
        self.tables = MemoryTables()
        self.store_before: Callable[[str], None] = lambda verb: None
        self.warehouse = "/nowhere"
        self.variables = "variables: {size: 4}\n"
        self.environment = "default"

    def file(self, name: str, sql: str) -> Path:
        return self.project.file(name, sql)

    def target(self, name: str = "shop") -> CatalogRun:
        self.project.catalog(LAKE.replace("WAREHOUSE", self.warehouse) + self.variables, name)
        [file] = [
            f for f in load_catalog_files(self.project.root / "catalogs", self.project.root, {}) if f.name == name
        ]
        catalog = file.for_environment(file.environments[0], self.project.root)
        catalog = replace(catalog, environment=self.environment)
        root = self.project.root
        files, _ = load_migrations(root / "migrations" / name, root, headers=file.headers)
        return CatalogRun(
            catalog,
            versioned(files),
            Run.here(self.project.root),
            repeatables=repeatables(files),
            open_executor=lambda *_: self.engine,
            open_store=lambda catalog, engine: BoundedStore(
                lambda: MemoryStore(self.tables, catalog.name, lambda verb: self.store_before(verb)),
                engine.cancelled if engine else lambda: False,
            ),
            open_tables=lambda *_: MemoryVersions(self.tables, lambda verb: self.store_before(verb)),  # type: ignore[arg-type, return-value]
        )

    def begin(self) -> None:
        """Create the tables of history and lock, as a first run does, which looks for a lost history before."""
        self.tables.histories["shop"] = []
        self.tables.locks["shop"] = free_row(LockTerms("shop", self.environment, 60))

    def migrate(
        self,
        selection: Selection = Selection(),  # noqa: B008 (frozen)
        lock_timeout: float = 0,
        **options: Any,
    ) -> Progress:
        """Apply what is pending; `options` are attributes of the target."""
        progress = Progress()
        self.migrator(**options).migrate(selection, progress, lock_timeout)
        return progress

    def migrator(self, name: str = "shop", **options: Any) -> Migrator:
        return Migrator(replace(self.target(name), **options))

    @property
    def state(self) -> CatalogState:
        return current_state(self.target())

    @property
    def events(self) -> list[Event]:
        return self.tables.histories.get("shop", [])

    @property
    def kinds(self) -> list[tuple[str, str | None]]:
        return [(event.event, event.version) for event in self.events]

    def values(self, table: str = "t") -> list[int]:
        return [row[0] for row in self.engine.rows(f"SELECT a FROM {table} ORDER BY a")]

    def break_at(self, text: str, action: Callable[..., None]) -> None:
        """Call `action` before the next statement that contains `text`, once. It may raise instead of the statement."""

        def before(sql: str) -> None:
            if text in sql and not done:
                done.append(sql)
                action(sql)

        done: list[str] = []
        self.engine.before = before


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def once(verb: str, action: Callable[[], None]) -> Callable[[str], None]:
    """Call `action` at the first call of `verb`."""
    done: list[str] = []

    def before(called: str) -> None:
        if called == verb and not done:
            done.append(called)
            action()

    return before


def held_row(owner: str) -> Any:
    """Return a lock row that is held by a run on another machine."""
    now = datetime.now(timezone.utc)
    return replace(
        free_row(LockTerms("shop", "default", 60)),
        owner=owner,
        fence=5,
        acquired_at=now,
        expires_at=now + timedelta(seconds=60),
        holder=json.dumps({"host": "elsewhere", "pid": 7, "os_user": "bob"}),
    )
