"""`report` of many migrations and tables: seconds and bytes of the page, and how soon Chromium shows and searches it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from glacierbase.apply.locked import locked
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.history.details import Details
from glacierbase.history.entries import Entry, started, took_effect
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.shape import Shape
from glacierbase.record.shapes import TableRecord, to_document
from tests.benchmarks.applied import lake_project, target_of
from tests.benchmarks.asked import NOW
from tests.benchmarks.measure import Failed, by_turns, glacierbase
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row, seconds
from tests.support.chromium import chromium

MIGRATIONS, TABLES, COLUMNS, PENDING = 5_000, 500, 20, 12
LIMIT, SECONDS, BYTES, FIRST_TABLE, SEARCH, FILTER = "a limit", 30, 25_000_000, 2, 0.5, 1
# Notes the frame that shows the first table, and how long after a letter the next frame comes.
OBSERVER = """
new MutationObserver((_, observer) => {
  if (document.querySelector("main table")) {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.shown = performance.now() / 1000; }));
  }
}).observe(document, {childList: true, subtree: true});
document.addEventListener("input", () => {
  const begin = performance.now();
  requestAnimationFrame(() => setTimeout(() => { window.found = (performance.now() - begin) / 1000; }));
}, true);
"""
WORDS = (
    "Raise the retries of commits",
    "Add the device that measured it",
    "Add the consent of the user",
    "Widen the strain",
)


def rows(order: Order) -> Iterator[Row | Absent]:
    """The time to write the page, its size, and what a reader waits for in the browser."""
    migrations = min(MIGRATIONS, order.largest)
    project = reported_project(order.folder / "reported", migrations)
    page, what = project / "page.html", f"`report`, {migrations:,} migrations, {TABLES} tables"
    [samples] = by_turns([glacierbase(project, "report", "-o", page.name)], order.runs)
    if isinstance(samples, Failed):
        yield Absent(what, LIMIT, f"failed: {samples}")
        return
    yield Row(what, seconds(samples), LIMIT, Figure.limit(SECONDS), 1)
    yield Row(f"{what}: processor time", Figure.of([each.worked for each in samples]), LIMIT, Figure.limit(SECONDS), 1)
    yield Row(f"{what}: the page", Figure.of([page.stat().st_size], "bytes"), LIMIT, Figure.limit(BYTES, "bytes"), 1)
    if shutil.which("chromium"):
        yield from _in_browser(what, page, order.runs)
    else:
        yield Absent(f"{what}: in Chromium", LIMIT, "there is no chromium")


def _in_browser(what: str, page: Path, runs: int) -> Iterator[Row]:
    names = {
        "the first table is shown": FIRST_TABLE,
        "the processor time of that": FIRST_TABLE,
        "a letter finds results": SEARCH,
        "a letter filters the dictionary": FILTER,
    }
    for (name, limit), values in zip(
        names.items(), zip(*(_opened(page) for _ in range(runs)), strict=True), strict=True
    ):
        yield Row(f"{what}: {name}", Figure.of(values), LIMIT, Figure.limit(limit), 1)


def _opened(page: Path) -> tuple[float, float, float, float]:
    """Return the seconds until the first table is shown, what the page's process worked for it, a search, and a filter."""
    with chromium() as tab:
        tab.send("Page.addScriptToEvaluateOnNewDocument", source=OBSERVER)
        tab.open(page)
        tab.wait("window.shown > 0")
        metrics = {each["name"]: each["value"] for each in tab.send("Performance.getMetrics")["metrics"]}
        shown = tab.evaluate("window.shown")
        tab.press("/", "d")
        tab.wait("window.found > 0 && document.querySelector('#found li') !== null")
        searched = tab.evaluate("window.found")
        tab.open(page, "#dictionary")
        tab.wait("document.getElementById('filter') !== null")
        tab.evaluate("window.found = 0, document.getElementById('filter').focus()")
        tab.press("c")
        tab.wait("window.found > 0")
        return shown, metrics["TaskDuration"], searched, tab.evaluate("window.found")


def reported_project(folder: Path, migrations: int) -> Path:
    """A project of so many applied files, each of which added a column to one of 500 tables, and some to come."""
    project = lake_project(folder)
    for number in range(1, migrations + PENDING + 1):
        project.file(
            f"{number:05d}_step.sql", f"ALTER TABLE {_table(number)} ADD COLUMN c{number} bigint;",
            description=f"{WORDS[number % len(WORDS)]} ({number})", author=f"Team {number % 40}",
        )  # fmt: skip
    made = _made(folder / "warehouse", migrations)
    target = target_of(folder)
    with closing(ShapeReader(target.catalog)) as reader:
        shapes = {name: reader.read(name) for name in made}
    with target.opened() as opened, locked(opened, read_state(opened), 0) as held:
        files = target.compile(target.migrations[:migrations])
        held.recorder.append(*(entry for file in files for entry in _entries(file, shapes)))
    return folder


def _made(warehouse: Path, migrations: int) -> list[str]:
    """Create the tables as they are after the last migration, and return their names."""
    warehouse.mkdir(exist_ok=True)
    client = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables")
    client.create_namespace("a")
    for number in range(TABLES):
        names = [
            *(f"column_{each}" for each in range(1, COLUMNS + 1)),
            *(f"c{each}" for each in _added(number, migrations)),
        ]
        fields = (NestedField(place, name, LongType(), required=False) for place, name in enumerate(names, 1))
        client.create_table(f"a.t{number}", Schema(*fields))
    return [_table(number) for number in range(TABLES)]


def _added(number: int, migrations: int) -> range:
    """Return the migrations up to one that added a column to the table of `number`."""
    return range(number % TABLES or TABLES, migrations + 1, TABLES)


def _table(number: int) -> str:
    return f"lake.a.t{number % TABLES}"


def _entries(file: Compiled, shapes: Mapping[str, Shape | None]) -> tuple[Entry, Entry]:
    number = file.migration.number
    now = shapes[_table(number)]
    assert now is not None
    shape = replace(now, columns=now.columns[: COLUMNS + len(_added(number, number))])
    details = Details(tables=(to_document(TableRecord(shape.table, shape)),))
    return started(file, 1, NOW, {}), replace(took_effect(file, file.statements[0], NOW), details=details)
