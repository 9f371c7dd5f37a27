"""`schema`, `blame` and `history --table` on a history with records of tables, against a bare read of that history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema as PyIcebergSchema
from pyiceberg.types import LongType, NestedField

from glacierbase.apply.locked import locked
from glacierbase.history.details import Details
from glacierbase.history.entries import Entry, started, took_effect
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Column, Shape
from glacierbase.record.live import LiveTables
from glacierbase.record.shapes import TableRecord, to_document
from tests.benchmarks.applied import lake_project, target_of
from tests.benchmarks.measure import Command, by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared

BARE = """\
from pyiceberg.catalog import load_catalog
catalog = load_catalog("lake", type="sql", uri="sqlite:///{home}/catalog.db", warehouse="file://{home}/tables")
assert len(catalog.load_table("glacierbase.history_shop").scan().to_arrow()) == {events}
"""
AGAINST = "bare PyIceberg, the history read whole"
AT_MOST = 1.4
SIZES = (100, 1_000, 10_000)
# Of the history.
TABLES, COLUMNS = 100, 20
NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)


def rows(order: Order) -> Iterator[Row | Absent]:
    """At every size, by turns."""
    for events in order.sizes(*SIZES):
        project = recorded_project(order.folder / f"recorded-{events}", events)
        asked, bare = _commands(project, events)
        *ours, theirs = by_turns([*asked, bare], order.runs)
        for command, samples in zip(asked, ours, strict=True):
            at_most = AT_MOST if events == max(SIZES) else None
            yield compared(f"`{command.name}`, {events:,} events", samples, AGAINST, theirs, at_most)


def recorded_project(folder: Path, events: int) -> Path:
    """A project whose files add a column, each to one of 100 tables, with a history of so many events that recorded that."""
    project = lake_project(folder)
    for number in range(1, events // 2 + 1):
        project.file(f"{number:05d}_step.sql", f"ALTER TABLE {_table(number)} ADD COLUMN c{number} bigint;")
    target = target_of(folder)
    with target.opened() as opened, locked(opened, read_state(opened), 0) as held:
        asked = _asked_table(folder, target.catalog, max(range(1, events // 2 + 1, TABLES)))
        files = target.compile(target.migrations)
        held.recorder.append(*(entry for file in files for entry in _entries(file, asked)))
    return folder


def _asked_table(folder: Path, catalog: Catalog, number: int) -> Shape:
    """Make the table that is asked for, as the file with this number left it: what `blame` finds is as recorded."""
    home = folder / "warehouse"
    lake = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/tables")
    lake.create_namespace_if_not_exists("a")
    fields = (NestedField(column.id or 0, column.name, LongType()) for column in _columns(number))
    lake.create_table("a.t1", PyIcebergSchema(*fields), properties={"write.format.default": "parquet"})
    lake.close()
    with LiveTables(catalog) as tables:
        shape = tables.read(["lake.a.t1"])["lake.a.t1"].shape
    assert shape
    return shape


def _entries(file: Compiled, asked: Shape) -> tuple[Entry, Entry]:
    number = file.migration.number
    begin = started(file, 1, NOW, {})
    end = took_effect(file, file.statements[0], NOW)
    name = _table(number)
    known = asked if name == asked.table else replace(asked, table=name, uuid=f"uuid-{name}")
    shape = replace(known, columns=_columns(number))
    return begin, replace(end, details=Details(tables=(to_document(TableRecord(name, shape)),)))


def _columns(number: int) -> tuple[Column, ...]:
    return tuple(Column(each, f"column_{each}", "bigint") for each in range(1, COLUMNS + number // TABLES + 1))


def _table(number: int) -> str:
    return f"lake.a.t{number % TABLES}"


def _commands(project: Path, events: int) -> tuple[list[Command], Command]:
    bare = python("bare", BARE.format(home=project / "warehouse", events=events), project)
    asked = (("schema", "t1"), ("blame", "a.t1"), ("history", "--table", "lake.a.t1"))
    return [replace(glacierbase(project, *each), name=" ".join(each)) for each in asked], bare
