"""One pending ALTER in each of three Iceberg catalogs whose Sparks differ: three at a time, against one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from tests.benchmarks.measure import Command, by_turns, glacierbase, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

NAMES = ("one", "two", "three")


def rows(order: Order) -> Iterator[Row | Absent]:
    """With the jars in the cache. No target is set: the ratio depends on the processors of the machine."""
    project = ProjectFolder(order.folder / "several")
    for number, name in enumerate(NAMES):
        text = LAKE.replace("WAREHOUSE", str(project.root / name))
        project.catalog(
            text.replace("    sparkConf:\n", f"    sparkConf:\n      spark.locality.wait: {number}s\n"), name
        )
        project.file("0_create.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg;", name)
    run(glacierbase(project.root, "migrate"))
    together, in_turn = by_turns([_alters(project, "--parallel", "3"), _alters(project)], order.runs)
    what = "one pending ALTER in each of three catalogs, `--parallel 3`"
    yield compared(what, together, "one after the other", in_turn)


_versions = count(1)


def _alters(project: ProjectFolder, *options: str) -> Command:
    def write() -> Any:
        version = next(_versions)
        for name in NAMES:
            sql = f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{version}');"
            project.file(f"{version}_alter.sql", sql, name)

    return replace(glacierbase(project.root, "migrate", *options), before=write)
