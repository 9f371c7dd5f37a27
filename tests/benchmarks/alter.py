"""One pending ALTER from start to end, against the PySpark script that a user would write for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.applied import lake_project
from tests.benchmarks.measure import Command, Failed, by_turns, glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, Samples, compared
from tests.support.catalog_files import RUNTIME, SQLITE
from tests.support.project_folder import ProjectFolder

COLD, WARM = 1.0, 0.5
SCRIPT = f"""\
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[*]")
    .config("spark.jars.packages", "{RUNTIME},{SQLITE}")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.lake.type", "jdbc")
    .config("spark.sql.catalog.lake.uri", "jdbc:sqlite:WAREHOUSE/catalog.db?busy_timeout=30000")
    .config("spark.sql.catalog.lake.jdbc.schema-version", "V1")
    .config("spark.sql.catalog.lake.warehouse", "file://WAREHOUSE/tables")
    .getOrCreate()
)
spark.sql("ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='bare')")
spark.stop()
"""


def rows(order: Order) -> Iterator[Row | Absent]:
    """With the jars in the caches, before and after `glacierbase warm`; its cache is the benchmark's own."""
    project = lake_project(order.folder / "alter")
    project.file("0_create.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg;")
    cold, warm = ({"XDG_CACHE_HOME": str(order.folder / name)} for name in ("cold", "warm"))
    script = SCRIPT.replace("WAREHOUSE", str(project.root / "warehouse"))
    bare = python("bare PySpark", script, project.root, environ={"JAVA_HOME": str(find_java_home())})
    run(glacierbase(project.root, "migrate", environ=cold))
    commands = [bare, _one_alter(project, cold), _one_alter(project, warm)]
    try:
        run(glacierbase(project.root, "warm", environ=warm))
        found: list[Samples] = by_turns(commands, order.runs)
    except Failed as error:
        found = [*by_turns(commands[:2], order.runs), error]
    script_alone, without, after = found
    yield compared("one pending ALTER, whole process", without, "bare PySpark script", script_alone, COLD)
    yield compared("the same after `glacierbase warm`", after, "bare PySpark script", script_alone, WARM)


_versions = count(1)


def _one_alter(project: ProjectFolder, environ: dict[str, str]) -> Command:
    def write() -> Path:
        version = next(_versions)
        return project.file(f"{version}_alter.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{version}');")

    return replace(glacierbase(project.root, "migrate", environ=environ), before=write)
