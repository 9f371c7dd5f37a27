"""`compare` of three environments, against a bare PyIceberg script that reads one small table in each of them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.measure import by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared, peak
from tests.support.project_folder import ProjectFolder
from tests.unit.inspect.scenes import apply_all, fleet_of

BARE = """\
from pyiceberg.catalog import load_catalog
for name in ("dev", "staging", "prod"):
    home = f"{home}/{name}"
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/tables")
    catalog.load_table("glacierbase.lock_shop").scan().to_arrow()
"""
AT_MOST = 1.6


def rows(order: Order) -> Iterator[Row | Absent]:
    """Three environments of seven versions and three tables, which differ in every way."""
    fleet = fleet_of(ProjectFolder(order.folder / "fleet"))
    apply_all(fleet)
    root = fleet.project.root
    script = BARE.replace('f"{home}/{name}"', f'f"{root}/warehouse/{{name}}"')
    ours, bare = by_turns(
        [glacierbase(root, "compare", "dev", "staging", "prod"), python("bare", script, root)], order.runs
    )
    yield compared("`compare` of three environments", ours, "bare PyIceberg, a read in each", bare, AT_MOST)
    yield compared("peak memory of `compare`", ours, "bare PyIceberg", bare, figure=peak)
