"""A review of one migration on a base of 500: without a cache against a bare Spark session, with it against an empty base."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.applied import lake_project
from tests.benchmarks.measure import by_turns, glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.catalog_files import RUNTIME
from tests.support.repository import commit_all

LIMIT, LIMIT_CACHED = 1.3, 1.5
FILES = 500
SCRIPT = f"""\
from pathlib import Path
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[*]")
    .config("spark.jars.packages", "{RUNTIME}")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.lake.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    .getOrCreate()
)
for path in sorted(Path("migrations/shop").iterdir()):
    spark.sql(path.read_text().partition("\\n\\n")[2])
spark.stop()
"""


def rows(order: Order) -> Iterator[Row | Absent]:
    """The first file creates the namespace, every tenth one a table; the others alter the table before them."""
    cache = order.folder / "cache"
    root = _project(order.folder / "review", FILES)
    found = glacierbase(root, "review", "--base", "main", environ={"XDG_CACHE_HOME": str(cache)})
    run(found)  # The first one resolves the jars.
    first = replace(found, before=lambda: shutil.rmtree(cache / "glacierbase" / "replays"))
    bare = python("bare PySpark", SCRIPT, root, environ={"JAVA_HOME": str(find_java_home())})
    samples, script = by_turns([first, bare], order.runs)
    yield compared(f"`review` of one file on {FILES}, whole process", samples, "bare PySpark script", script, LIMIT)
    empty = replace(found, folder=_project(order.folder / "empty", 0))
    samples, on_empty = by_turns([found, empty], order.runs)
    what = f"`review` of one file on {FILES} with the cache, whole process"
    yield compared(what, samples, "`review` of one file on an empty base", on_empty, LIMIT_CACHED)


def _project(folder: Path, files: int) -> Path:
    """Return a project with so many files in the base, and one on top."""
    project = lake_project(folder)
    commit_all(project.root)
    for number in range(files):
        table, is_first = f"lake.a.t{(number - 1) // 10}", number % 10 == 1
        alter = f"ALTER TABLE {table} ADD COLUMN c{number} INT"
        sql = f"CREATE TABLE {table} (a INT) USING iceberg" if is_first else alter
        project.file(f"{number:04}_x.sql", sql if number else "CREATE NAMESPACE lake.a")
    if files:
        commit_all(project.root, "files")
    new = "ALTER TABLE lake.a.t1 ADD COLUMN new INT" if files else "CREATE TABLE lake.a.t1 (a INT) USING iceberg"
    project.file(f"{files:04}_new.sql", new)
    return project.root
