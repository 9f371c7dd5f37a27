"""`layout simulate` with its defaults, five schemes and the sensitivity over 32 days, and how its time grows with the days."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tests.benchmarks.measure import by_turns, glacierbase
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row, Samples, peak, seconds

SECONDS, BYTES = 10.0, 500e6
START, DAYS, MORE = 1, 120, 360
# 360 days are 3 times 120 days.
AS_IT_GROWS = 3.6


def rows(order: Order) -> Iterator[Row | Absent]:
    """The defaults against limits, and the time beyond that of a day."""
    commands = [glacierbase(order.folder, "layout", "simulate")]
    commands += [glacierbase(order.folder, "layout", "simulate", "--days", str(days)) for days in (START, DAYS, MORE)]
    default, *growing = by_turns(commands, order.runs)
    what = "`layout simulate` with its defaults"
    if not isinstance(default, list):
        yield Absent(what, "a limit", f"failed: {default}")
        return
    yield Row(f"{what}, whole process", seconds(default), "a limit", Figure.limit(SECONDS), 1.0)
    yield Row(f"{what}, peak memory", peak(default), "a limit", Figure.limit(BYTES, "bytes"), 1.0)
    yield _growth(*growing)


def _growth(*times: Samples) -> Row | Absent:
    what, against = f"`layout simulate --days {MORE}`, beyond {START} day", f"{DAYS} days, beyond {START} day"
    first, some, most = (
        [sample.seconds for sample in samples] if isinstance(samples, list) else [] for samples in times
    )
    if not (first and some and most):
        return Absent(what, against, "failed: one of them did")
    start = median(first)
    theirs, ours = (Figure.of([value - start for value in values]) for values in (some, most))
    return Row(what, ours, against, theirs, AS_IT_GROWS)
