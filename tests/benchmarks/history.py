"""A history that is written event by event: what an append, a read and the files left behind cost as it grows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from glacierbase.apply.locked import locked
from glacierbase.history.entries import Entry, FileColumns
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun
from glacierbase.model.migration import EventType, State
from tests.benchmarks.applied import lake_project, target_of
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row

# So many appends are looked at together; four compactions fall among them.
APPENDS = 100
APPEND_STAYS = 1.5
READ_SECONDS = 0.2
FILES = 200
READ = """\
import sys, time
from pathlib import Path
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.stores.iceberg import open_store
root = Path(sys.argv[1])
[file] = load_catalog_files(root / "catalogs", root)
store = open_store(file.for_environment("default", root))
store.read_lock()  # Imports what a read imports, and opens the catalog.
started = time.perf_counter()
assert len(store.read_history()) == int(sys.argv[2])
print(time.perf_counter() - started)
"""


def rows(order: Order) -> Iterator[Row | Absent]:
    """One history, looked at when it has as many events as each of the sizes."""
    project = lake_project(order.folder / "history")
    project.file("1_alter.sql", "ALTER TABLE lake.a.t SET TBLPROPERTIES ('step'='1');")
    sizes = order.sizes(100, 1_000, 10_000)
    for took in _appends(target_of(project.root), max(sizes)):
        if len(took) in sizes:
            yield from _at(took, project.root, order.runs)


def _appends(target: CatalogRun, events: int) -> Iterator[list[float]]:
    """Append single events as a run does, with its compactions; yield after each the seconds of all so far."""
    [compiled] = target.compile(target.migrations)
    took: list[float] = []
    file = FileColumns.of(compiled)
    entry = Entry(event=EventType.STATEMENT_DONE, state=State.RUNNING, file=file, rendered_sql=compiled.text)
    with target.opened() as opened, locked(opened, read_state(opened), 0) as held:
        for _ in range(events):
            started = time.perf_counter()
            held.recorder.append(entry)
            held.recorder.compact()
            took.append(time.perf_counter() - started)
            yield took


def _at(took: Sequence[float], root: Path, runs: int) -> Iterator[Row]:
    events = len(took)
    if events > APPENDS:
        first, last = _mean(took[:APPENDS]), _mean(took[-APPENDS:])
        yield Row(
            f"one append of the last {APPENDS} of {events:,} events, mean",
            last,
            f"of the first {APPENDS}",
            first,
            APPEND_STAYS,
        )
    reads = [_read(root, events) for _ in range(1 + runs)][1:]
    yield Row(f"read of {events:,} events, beyond imports", Figure.of(reads), "limit", Figure.limit(READ_SECONDS), 1)
    left = [path for path in (root / "warehouse").glob("**/history_shop/**/*") if path.is_file()]
    files = Figure.limit(len(left), "files")
    yield Row(f"files in the history's folder after {events:,} events", files, "limit", Figure.limit(FILES, "files"), 1)


def _mean(took: Sequence[float]) -> Figure:
    """The compaction among them counts as much as it took."""
    return Figure(sum(took) / len(took), min(took), max(took), len(took), "s")


def _read(root: Path, events: int) -> float:
    """Seconds, by a process that has read nothing yet."""
    command = [sys.executable, "-c", READ, str(root), str(events)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
