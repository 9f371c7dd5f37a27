"""A review of one migration on a base of 500, against a bare Spark session that runs the same statements."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.applied import lake_project
from tests.benchmarks.measure import by_turns, glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.catalog_files import RUNTIME
from tests.support.repository import commit_all

LIMIT = 1.3
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
    project = lake_project(order.folder / "review")
    project.file("0000_namespace.sql", "CREATE NAMESPACE lake.a")
    for number in range(1, FILES):
        table, is_first = f"lake.a.t{(number - 1) // 10}", number % 10 == 1
        add = f"ALTER TABLE {table} ADD COLUMN c{number} INT"
        project.file(f"{number:04}_x.sql", f"CREATE TABLE {table} (a INT) USING iceberg" if is_first else add)
    commit_all(project.root)
    project.file(f"{FILES:04}_new.sql", "ALTER TABLE lake.a.t1 ADD COLUMN new INT")
    review = glacierbase(project.root, "review", "--base", "main")
    run(review)  # The first one resolves the jars.
    bare = python("bare PySpark", SCRIPT, project.root, environ={"JAVA_HOME": str(find_java_home())})
    found, script = by_turns([review, bare], order.runs)
    yield compared(f"`review` of one file on {FILES}, whole process", found, "bare PySpark script", script, LIMIT)
