"""What glacierbase costs over the PySpark that a user would write by hand. Run with `-m benchmark -s`: prints, asserts no time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from glacierbase import Project
from glacierbase.executors.spark.java import find_java_home
from tests.conftest import RUNTIME, SQLITE, LakeBed, ProjectFolder

pytestmark = pytest.mark.benchmark

ROUNDS = 5
STATEMENTS = 30

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


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def test_one_alter_as_a_whole_process(lake_project: ProjectFolder) -> None:
    """`glacierbase migrate` with one pending ALTER against the bare script, alternating, with the jars in the caches."""
    lake_project.file("1_create.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg")
    assert lake_project.run("migrate").code == 0
    script = lake_project.root / "bare.py"
    script.write_text(SCRIPT.replace("WAREHOUSE", str(lake_project.root / "warehouse")))
    ours, bare = [], []
    for number in range(2, ROUNDS + 2):
        lake_project.file(f"{number}_alter.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{number}')")
        ours.append(seconds(lambda: migrate(lake_project)))
        bare.append(seconds(lambda: run(script)))
    print(
        f"\none ALTER, whole process, median of {ROUNDS}: glacierbase {median(ours):.2f} s, bare PySpark {median(bare):.2f} s,"
        f" ratio {median(ours) / median(bare):.2f}"
    )


def migrate(project: ProjectFolder) -> None:
    done = project.ask("migrate")
    assert len(done.entry()["applied"]) == 1, done.stderr


def run(script: Path) -> None:
    environ = {**os.environ, "JAVA_HOME": str(find_java_home())}
    subprocess.run([sys.executable, str(script)], env=environ, capture_output=True, check=True)


def test_bookkeeping_per_statement(lake: LakeBed, project: ProjectFolder) -> None:
    """History and lock per statement, as a multiple of one bare `ALTER … SET TBLPROPERTIES` in the same session."""
    project.catalog(lake.text, "bench")
    project.file("1_create.sql", "CREATE NAMESPACE lake.b; CREATE TABLE lake.b.t (a BIGINT) USING iceberg", "bench")
    Project.load(project.root).migrate(spark=lake.spark)
    alters = [f"ALTER TABLE lake.b.t SET TBLPROPERTIES ('p'='{number}')" for number in range(STATEMENTS)]
    session = lake.spark.newSession()
    bare = median(seconds(lambda sql=sql: session.sql(sql)) for sql in alters)  # type: ignore[misc]
    project.file("2_one.sql", alters[0], "bench")
    one = seconds(lambda: Project.load(project.root).migrate(spark=lake.spark))
    project.file("3_many.sql", ";\n".join(alters), "bench")
    many = seconds(lambda: Project.load(project.root).migrate(spark=lake.spark))
    overhead = (many - one) / (STATEMENTS - 1) - bare
    print(
        f"\nbookkeeping per statement: {overhead * 1000:.0f} ms, bare ALTER {bare * 1000:.0f} ms, ratio {overhead / bare:.1f}"
    )
