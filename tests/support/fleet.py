"""One catalog in several environments, each on SQLite: another client changes the tables, and a run is recorded for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.history.details import Details, to_json
from glacierbase.history.lockrow import free_row
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.migration import Event, EventType, State
from glacierbase.model.shape import Shape
from glacierbase.record.shapes import TableRecord, to_document
from glacierbase.record.timeline import differ
from glacierbase.run.run import Run
from glacierbase.sql.file import named
from glacierbase.sql.targets import table_names, target_tables
from glacierbase.stores import Store
from glacierbase.stores.iceberg import open_store
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

_STATES = {
    EventType.APPLIED: State.APPLIED, EventType.FAILED: State.FAILED, EventType.BASELINED: State.APPLIED,
    EventType.UNKNOWN: State.UNKNOWN,
}  # fmt: skip

Change = Callable[[SqlCatalog], object]


def nothing(_: SqlCatalog) -> None:
    """Leave the tables as they are."""


@dataclass
class Place:
    """One environment.

    Attributes:
        client: of another program.
    """

    root: Path
    environment: str
    client: SqlCatalog
    sequence: int = field(default=0, init=False)
    _known: dict[str, Shape | None] = field(default_factory=dict, init=False)

    @property
    def target(self) -> CatalogRun:
        [file] = load_catalog_files(self.root / "catalogs", self.root)
        catalog = file.for_environment(self.environment, self.root)
        migrations, errors = load_migrations(self.root / "migrations" / catalog.stem, self.root, headers=file.headers)
        assert not errors
        return CatalogRun(catalog, migrations, Run.here(self.root))

    def apply(
        self, version: str, change: Change = nothing, end: EventType = EventType.APPLIED, *, is_recorded: bool = True,
        names: Mapping[str, str] = MappingProxyType({}), **columns: Any,
    ) -> None:  # fmt: skip
        """Change tables as a file does, and record that a run has applied it.

        Args:
            end: what the run records at the end.
            is_recorded: whether it records the shapes of the tables.
            names: qualified names of tables that the file names in part.
            columns: of the last event, other than they would be.
        """
        target = self.target
        [compiled] = target.compile([each for each in target.migrations if each.version == version])
        before = (
            self._shapes(table_names(target_tables(named(compiled.statements, "spark"))), names) if is_recorded else {}
        )
        change(self.client)
        at = datetime.now(timezone.utc) - timedelta(days=2)
        start = Event(
            1, self.sequence + 1, "run", target.catalog.name, self.environment, EventType.STARTED.value,
            State.RUNNING.value, version, compiled.migration.description, compiled.migration.author,
            compiled.migration.location, compiled.migration.checksum, compiled.checksum,
            statement_total=len(compiled.statements), tables=target_tables(named(compiled.statements, "spark")),
            recorded_at=at, started_at=at, rendered_sql=compiled.text,
            details=to_json(Details(squashes=compiled.migration.squashes)),
        )  # fmt: skip
        details = Details(tables=tuple(self._records(before, names)))
        ended = replace(
            start, sequence=start.sequence + 1, event=end.value, state=_STATES[end].value, details=to_json(details)
        )
        with self._store() as store:
            store.create(replace(free_row(target.terms), fence=1))
            store.append([start, replace(ended, **columns)])
        self.sequence += 2

    def _records(self, before: Mapping[str, Shape | None], names: Mapping[str, str]) -> Iterator[Any]:
        """Yield what a run records of tables: also what they were before it, where that is not as the last record says."""
        for table, after in self._shapes(before, names).items():
            is_changed = differ(self._known.get(table), before[table])
            self._known[table] = after
            yield to_document(TableRecord(table, after, before[table] if is_changed else None, is_changed))

    def _shapes(self, tables: Iterable[str], names: Mapping[str, str]) -> dict[str, Shape | None]:
        with closing(ShapeReader(self.target.catalog)) as reader:
            return {table: reader.read(names.get(table, table)) for table in tables}

    @contextmanager
    def _store(self) -> Iterator[Store]:
        with closing(open_store(self.target.catalog)) as store:
            yield store


class Fleet:
    """The project and its environments."""

    def __init__(self, project: ProjectFolder, environments: str, more: str = "") -> None:
        """Args:
        environments: those of the catalog file, as YAML.
        more: further keys of the catalog file.
        """
        self.project = project
        warehouse = project.root / "warehouse"
        text = LAKE.replace("WAREHOUSE", f"{warehouse}/${{environment}}")
        project.catalog(f"{text}environments: {environments}\n{more}")
        self._warehouse = warehouse
        self._places: dict[str, Place] = {}

    def __getitem__(self, environment: str) -> Place:
        if environment not in self._places:
            folder = self._warehouse / environment
            folder.mkdir(parents=True)
            client = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/tables")
            self._places[environment] = Place(self.project.root, environment, client)
        return self._places[environment]
