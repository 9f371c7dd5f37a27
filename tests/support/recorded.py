"""A project whose Iceberg tables another client changes, with a real history and no engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.apply.locked import locked
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.history.entries import baselined, started
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import load_migrations
from glacierbase.record.shapes import TableRecord, to_document
from glacierbase.run.run import Run
from glacierbase.sql.file import named
from glacierbase.sql.targets import target_tables
from tests.support.catalog_files import LAKE
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder, only_catalog


class RecordedTables:
    """A project with the catalog `shop`, whose tables are in the Iceberg catalog `lake`.

    Attributes:
        client: another client of that catalog.
    """

    def __init__(self, project: ProjectFolder, more: str = "") -> None:
        self.project = project
        warehouse = project.root / "warehouse"
        project.catalog(LAKE.replace("WAREHOUSE", str(warehouse)) + more)
        warehouse.mkdir(exist_ok=True)
        self.client = SqlCatalog(
            "lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables"
        )
        self.client.create_namespace("a")

    def target(self) -> CatalogRun:
        root = self.project.root
        [file] = load_catalog_files(root / "catalogs", root)
        migrations, _ = load_migrations(root / "migrations" / "shop", root, headers=file.headers)
        return CatalogRun(only_catalog(root), migrations, Run.here(root))

    def apply(
        self, name: str, sql: str, change: Callable[[SqlCatalog], object], *tables: str, is_recorded: bool = True,
        is_lost: bool = False,
    ) -> Path:  # fmt: skip
        """Write a migration, let the client make its change, and record it with what it left of the tables.

        Args:
            is_lost: whether the run is lost after the change: only its start is recorded.
        """
        path = self.project.file(name, sql)
        change(self.client)
        target = self.target()
        [compiled] = target.compile([each for each in target.migrations if each.path == path])
        with closing(ShapeReader(target.catalog)) as reader:
            records = tuple(to_document(TableRecord(table, reader.read(table))) for table in tables)
        entry = (
            started(compiled, 1, datetime.now(timezone.utc), {})
            if is_lost
            else baselined(compiled, "by another client")
        )
        details = replace(entry.details, tables=records if is_recorded else ())
        with target.opened() as opened, locked(opened, read_state(opened), 0) as held:
            held.recorder.append(
                replace(entry, details=details, tables=target_tables(named(compiled.statements, compiled.dialect)))
            )
        return path

    def run(self, *arguments: str, typed: str | None = None) -> Output:
        """Run the program on the project."""
        return call_program([*arguments, "--project", str(self.project.root)], typed)
