"""Plain DDL without a JVM: one pending ALTER, and many files in one run, against bare PyIceberg scripts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.alter import SCRIPT as PYSPARK
from tests.benchmarks.applied import plain_project
from tests.benchmarks.measure import Command, by_turns, glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared, seconds, worked
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

OF_PYICEBERG, OF_PYSPARK, FILES = 1.3, 0.25, 500
# The bare scripts alter a table of their own: a change by them to that of the migrations would be reported as a manual one.
CREATE = """\
CREATE NAMESPACE lake.a;
CREATE TABLE lake.a.t (a BIGINT) USING iceberg;
CREATE TABLE lake.a.bare (a BIGINT) USING iceberg;
"""
ALTER = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{}');"
OPEN = """\
from pyiceberg.catalog import load_catalog
catalog = load_catalog("lake", type="sql", uri="sqlite:///WAREHOUSE/catalog.db", warehouse="file://WAREHOUSE/tables")
"""
ONE = f"""\
{OPEN}with catalog.load_table("a.bare").transaction() as transaction:
    transaction.set_properties(round="bare")
"""
# The loop loads the table before each commit, as one that is written file by file does, and creates it like the first file.
LOOP = f"""\
{OPEN}
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
BEFOREcatalog.create_namespace("a")
catalog.create_table("a.t", Schema(NestedField(1, "a", LongType(), required=False)))
for number in range({FILES}):
    KEEPwith catalog.load_table("a.t").transaction() as transaction:
        transaction.set_properties(round=str(number))
AFTER"""
# The least that history and lock require: a row per file and a proof of the lock before each statement; the rows are made one
# file as often as the history does it. Nothing is checked.
BEFORE = """\
import pyarrow
from datetime import datetime, timedelta
catalog.create_namespace("bare")
row = pyarrow.table({"owner": ["me"], "beat": [1], "event": ["x" * 1000]})
lock, history = (catalog.create_table(f"bare.{name}", row.schema) for name in ("lock", "history"))
lock.overwrite(row)
"""
KEEP = """\
history.append(row)
    lock.refresh().scan().to_arrow()
    if number % 25 == 24:
        history.overwrite(history.scan().to_arrow())
        history.maintenance.expire_snapshots().older_than(datetime.now() + timedelta(days=1)).commit()
    """
AFTER = "history.append(row)\nlock.overwrite(row)\n"


def rows(order: Order) -> Iterator[Row | Absent]:
    """One ALTER on a Spark catalog with `direct: auto` and on one of `type: iceberg`; then many files.

    The bare script makes one commit. A run makes four more, which are its guarantees: acquire the lock, announce the statement,
    record its outcome, release the lock.
    """
    for of, project in (("`direct: auto`", _auto(order.folder / "auto")), ("`type: iceberg`", _iceberg(order))):
        run(glacierbase(project.root, "migrate"))
        ours, bare, spark = by_turns([_one_alter(project), *_scripts(project)], order.runs)
        what = f"one pending ALTER, {of}, whole process"
        yield compared(what, ours, "bare PyIceberg script", bare, OF_PYICEBERG)
        yield compared(f"{what}: processor time", ours, "bare PyIceberg script", bare, OF_PYICEBERG, worked)
        # That of the script lacks its JVM's, which it does not wait for.
        yield compared(what, ours, "bare PySpark script", spark, OF_PYSPARK)
    yield from _many(order)


def _auto(folder: Path) -> ProjectFolder:
    project = ProjectFolder(folder)
    text = LAKE.replace("WAREHOUSE", str(folder / "warehouse"))
    project.catalog(text.replace("type: spark\n", "type: spark\n  direct: auto\n"))
    project.file("0_create.sql", CREATE)
    return project


def _iceberg(order: Order) -> ProjectFolder:
    project = plain_project(order.folder / "plain")
    project.file("0_create.sql", CREATE)
    return project


def _scripts(project: ProjectFolder) -> list[Command]:
    warehouse, java = str(project.root / "warehouse"), str(find_java_home())
    return [
        python("bare PyIceberg", ONE.replace("WAREHOUSE", warehouse), project.root),
        python(
            "bare PySpark",
            PYSPARK.replace("WAREHOUSE", warehouse).replace("lake.a.t", "lake.a.bare"),
            project.root,
            environ={"JAVA_HOME": java},
        ),
    ]


_versions = count(1)


def _one_alter(project: ProjectFolder) -> Command:
    def write() -> Path:
        version = next(_versions)
        return project.file(f"{version}_alter.sql", ALTER.format(version))

    return replace(glacierbase(project.root, "migrate"), before=write)


def _many(order: Order) -> Iterator[Row | Absent]:
    """Many files of one ALTER each, in one run on an empty warehouse.

    To take out the bookkeeping, a second loop does it, too.
    """
    files = min(FILES, order.largest)
    project = plain_project(order.folder / "many")
    project.file("0000_create.sql", CREATE)
    for number in range(1, files + 1):
        project.file(f"{number:04}_alter.sql", ALTER.format(number))
    keeping, bare = (_loop(order.folder / name, files, keeps=name == "keeping") for name in ("keeping", "bare"))
    migrate = replace(glacierbase(project.root, "migrate"), before=_emptied(project.root / "warehouse"))
    ours, kept, alone = by_turns([migrate, keeping, bare], order.runs)
    what = f"{files} files of one plain ALTER in one `migrate`"
    for name, figure in ((what, seconds), (f"{what}: processor time", worked)):
        yield compared(name, ours, "bare PyIceberg loop", alone, figure=figure)
        yield compared(name, ours, "the loop with as many commits to a history", kept, OF_PYICEBERG, figure)


def _loop(folder: Path, files: int, *, keeps: bool) -> Command:
    script = LOOP.replace(f"range({FILES})", f"range({files})")
    for word, text in {"BEFORE": BEFORE, "KEEP": KEEP, "AFTER": AFTER}.items():
        script = script.replace(word, text if keeps else "")
    folder.mkdir()
    script = script.replace("WAREHOUSE", str(folder / "warehouse"))
    return python(folder.name, script, folder, before=_emptied(folder / "warehouse"))


def _emptied(warehouse: Path) -> Callable[[], object]:
    def empty() -> None:
        shutil.rmtree(warehouse, ignore_errors=True)
        warehouse.mkdir()

    return empty
