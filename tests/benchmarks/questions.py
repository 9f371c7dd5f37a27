"""`pending` and a `migrate` without work, against a bare PyIceberg script that reads one small table of the same catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.applied import sample_project
from tests.benchmarks.measure import Command, by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row, Samples, compared, peak

BARE = """\
from pyiceberg.catalog import load_catalog
catalog = load_catalog("lake", type="sql", uri="sqlite:///{home}/catalog.db", warehouse="file://{home}/{tables}")
catalog.load_table("glacierbase.lock_{catalog}").scan().to_arrow()
"""
AGAINST = "bare PyIceberg"
ON_THE_SAMPLE = 1.4
SIZES = (10, 1_000, 10_000)
# 10,000 files are 10 times 1,000.
AS_IT_GROWS = 12


def rows(order: Order) -> Iterator[Row | Absent]:
    """Time and memory on the sample project and at every size, and how the time grows; all of them by turns."""
    sample = sample_project(order.folder / "sample")
    places = [
        _Place("the sample project", sample, sample / ".glacierbase" / "dev", "warehouse", "analytics", ON_THE_SAMPLE)
    ]
    for files in order.sizes(*SIZES):
        project = order.project(files)
        places.append(_Place(f"{files:,} files", project, project / "warehouse", "tables", "shop"))
    samples = iter(by_turns([command for place in places for command in place.commands()], order.runs))
    grown: list[Samples] = []
    for place in places:
        pending, migrate, bare = (next(samples) for _ in range(3))
        yield compared(f"`pending`, {place.name}", pending, AGAINST, bare, place.at_most)
        yield compared(f"`migrate` without work, {place.name}", migrate, AGAINST, bare, place.at_most)
        yield compared(f"peak memory of `pending`, {place.name}", pending, AGAINST, bare, figure=peak)
        grown.append(migrate)
    if len(grown) > len(SIZES):
        yield _growth(*grown[1:])


@dataclass(frozen=True)
class _Place:
    """A project, and where the catalog is that it shares with the bare script."""

    name: str
    root: Path
    home: Path
    tables: str
    catalog: str
    at_most: float | None = None

    def commands(self) -> tuple[Command, Command, Command]:
        """`pending`, `migrate` and the bare script."""
        script = BARE.format(home=self.home, tables=self.tables, catalog=self.catalog)
        return glacierbase(self.root, "pending"), glacierbase(self.root, "migrate"), python("bare", script, self.root)


def _growth(*times: Samples) -> Row | Absent:
    """Of 10, 1,000 and 10,000 files."""
    what, against = "`migrate` without work, 10,000 files, beyond that with 10", "1,000 files, beyond that with 10"
    few, many, most = ([each.seconds for each in samples] if isinstance(samples, list) else [] for samples in times)
    if not (few and many and most):
        return Absent(what, against, "failed: one of them did")
    start = median(few)
    theirs, ours = (Figure.of([each - start for each in values]) for values in (many, most))
    return Row(what, ours, against, theirs, AS_IT_GROWS)
