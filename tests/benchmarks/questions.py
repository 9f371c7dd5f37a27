"""`pending` and a `migrate` without work, against a bare PyIceberg script that reads one small table of the same catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.applied import sample_project
from tests.benchmarks.measure import by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row, Samples, compared, peak

BARE = """\
from pyiceberg.catalog import load_catalog
catalog = load_catalog("lake", type="sql", uri="sqlite:///{home}/catalog.db", warehouse="file://{home}/{tables}")
catalog.load_table("glacierbase.lock_{catalog}").scan().to_arrow()
"""
AGAINST = "bare PyIceberg"
ON_THE_SAMPLE = 1.4
# 10,000 files are 10 times 1,000.
AS_IT_GROWS = 12


def rows(order: Order) -> Iterator[Row | Absent]:
    """Time and memory on the sample project and at every size, and how the time grows."""
    sample = sample_project(order.folder / "sample")
    script = BARE.format(home=sample / ".glacierbase" / "dev", tables="warehouse", catalog="analytics")
    yield from _on("the sample project", sample, script, order.runs, ON_THE_SAMPLE)[1]
    times: dict[int, Samples] = {}
    for files in order.sizes(10, 1_000, 10_000):
        project = order.project(files)
        script = BARE.format(home=project / "warehouse", tables="tables", catalog="shop")
        times[files], found = _on(f"{files:,} files", project, script, order.runs)
        yield from found
    if len(times) == 3:
        yield _growth(*times.values())


def _on(
    where: str, project: Path, script: str, runs: int, at_most: float | None = None
) -> tuple[Samples, list[Row | Absent]]:
    """The times of `migrate`, and the lines."""
    commands = [glacierbase(project, "pending"), glacierbase(project, "migrate"), python("bare", script, project)]
    pending, migrate, bare = by_turns(commands, runs)
    return migrate, [
        compared(f"`pending`, {where}", pending, AGAINST, bare, at_most),
        compared(f"`migrate` without work, {where}", migrate, AGAINST, bare, at_most),
        compared(f"peak memory of `pending`, {where}", pending, AGAINST, bare, figure=peak),
    ]


def _growth(*times: Samples) -> Row | Absent:
    """Of 10, 1,000 and 10,000 files."""
    what, against = "`migrate` without work, 10,000 files, beyond that with 10", "1,000 files, beyond that with 10"
    few, many, most = ([each.seconds for each in samples] if isinstance(samples, list) else [] for samples in times)
    if not (few and many and most):
        return Absent(what, against, "failed: one of them did")
    start = median(few)
    theirs, ours = (Figure.of([each - start for each in values]) for values in (many, most))
    return Row(what, ours, against, theirs, AS_IT_GROWS)
