"""`review` of one plain file on many, without a JVM: against three seconds, and with the cache against `lint` of the file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

from tests.benchmarks.applied import plain_project
from tests.benchmarks.measure import by_turns, glacierbase
from tests.benchmarks.order import Order
from tests.benchmarks.review import FILES, commit_files
from tests.benchmarks.table import Absent, Figure, Row, compared, seconds, worked

SECONDS, OF_LINT = 3.0, 1.5


def rows(order: Order) -> Iterator[Row | Absent]:
    """The files of `review`, in a catalog of `type: iceberg`; cold is without any cache of glacierbase's."""
    cache = order.folder / "plain-cache"
    files = min(FILES, order.largest)
    root = commit_files(plain_project(order.folder / "plain-review"), files)
    environ = {"XDG_CACHE_HOME": str(cache)}
    again = glacierbase(root, "review", "--base", "main", environ=environ)
    cold = replace(again, before=lambda: shutil.rmtree(cache, ignore_errors=True))
    lint = glacierbase(root, "lint", "--base", "main", environ=environ)
    what = f"`review` of one plain file on {files}"
    [first] = by_turns([cold], order.runs)
    cached, linted = by_turns([again, lint], order.runs)
    for name, figure in (("whole process", seconds), ("processor time", worked)):
        if isinstance(first, list):
            yield Row(f"{what}, empty cache: {name}", figure(first), "a limit", Figure.limit(SECONDS), 1)
        else:
            yield Absent(f"{what}, empty cache: {name}", "a limit", f"failed: {first}")
        yield compared(f"{what}, with the cache: {name}", cached, "`lint` of the file", linted, OF_LINT, figure)
