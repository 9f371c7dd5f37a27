"""A review of one migration on a base of 500: without a cache against a bare Spark session, with it against an empty base.
And of 64 migrations on many namespaces, beyond the start, against the same statements in a bare session; and two environments.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from glacierbase.executors.spark.java import find_java_home
from tests.benchmarks.applied import lake_project
from tests.benchmarks.measure import Failed, Sample, by_turns, glacierbase, python, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.catalog_files import RUNTIME
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

LIMIT, LIMIT_CACHED, LIMIT_BEYOND_START, LIMIT_TWO = 1.3, 1.5, 1.3, 1.2
FILES, NEW, NAMESPACES = 500, 64, 80
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
    yield _beyond_start(order, {"XDG_CACHE_HOME": str(cache)})
    yield _two_environments(order, {"XDG_CACHE_HOME": str(cache)})


def _beyond_start(order: Order, environ: dict[str, str]) -> Row | Absent:
    """Many new files on many namespaces, without a cache, less the time of one new file on none."""
    many, one = _branch(order.folder / "many", NEW, NAMESPACES).root, _branch(order.folder / "one", 1, 0).root
    replays = Path(environ["XDG_CACHE_HOME"]) / "glacierbase" / "replays"
    commands = [
        command
        for root in (many, one)
        for command in (
            glacierbase(root, "review", "--base", "main", environ=environ, before=lambda: shutil.rmtree(replays, True)),
            python("bare PySpark", SCRIPT, root, environ={"JAVA_HOME": str(find_java_home())}),
        )
    ]
    ours, theirs, start, bare_start = by_turns(commands, order.runs)
    what = f"`review` of {NEW} files on {NAMESPACES} namespaces, beyond the start"
    return compared(what, _beyond(ours, start), "bare PySpark", _beyond(theirs, bare_start), LIMIT_BEYOND_START)


def _beyond(samples: list[Sample] | Failed, start: list[Sample] | Failed) -> list[Sample] | Failed:
    if isinstance(samples, Failed) or isinstance(start, Failed):
        return samples if isinstance(samples, Failed) else start
    least = median(sample.seconds for sample in start)
    return [replace(sample, seconds=sample.seconds - least) for sample in samples]


def _two_environments(order: Order, environ: dict[str, str]) -> Row | Absent:
    """A new file that environments render in two ways, against one environment; the base is the same."""
    project = _branch(order.folder / "environments", 0, NAMESPACES)
    catalog = project.root / "catalogs/shop.yaml"
    catalog.write_text(catalog.read_text() + "environments: {dev: {variables: {n: 1}}, prod: {variables: {n: 2}}}\n")
    project.file("9999_new.sql", "ALTER TABLE lake.n1.t ADD COLUMN new{{ variables.n }} INT")
    replays = Path(environ["XDG_CACHE_HOME"]) / "glacierbase" / "replays"
    both, one = (
        glacierbase(
            project.root,
            "review",
            "--base",
            "main",
            *option,
            environ=environ,
            before=lambda: shutil.rmtree(replays, True),
        )
        for option in ((), ("--env", "dev"))
    )
    samples, alone = by_turns([both, one], order.runs)
    return compared("`review` of two environments", samples, "`review --env dev`", alone, LIMIT_TWO)


def _branch(folder: Path, files: int, namespaces: int) -> ProjectFolder:
    """Return a project with a table in each of so many namespaces in the base, and so many files of a branch on four tables."""
    project = lake_project(folder)
    project.file("0000_x.sql", "CREATE NAMESPACE lake.a")
    for number in range(1, namespaces + 1):
        project.file(f"{2 * number - 1:04}_x.sql", f"CREATE NAMESPACE lake.n{number}")
        project.file(f"{2 * number:04}_x.sql", f"CREATE TABLE lake.n{number}.t (a INT) USING iceberg")
    commit_all(project.root)
    for number in range(files):
        table = f"lake.a.t{number // 4}"
        sql = (
            f"CREATE TABLE {table} (id BIGINT, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at))",
            f"INSERT INTO {table} VALUES (1, current_timestamp())",
            f"ALTER TABLE {table} ADD COLUMN c{number} STRING",
            f"ALTER TABLE {table} SET TBLPROPERTIES ('commit.retry.num-retries'='{number + 4}')",
        )[number % 4]
        project.file(f"{1000 + number:04}_x.sql", sql)
    return project


def _project(folder: Path, files: int) -> Path:
    """Return a project with so many files in the base, and one on top."""
    return commit_files(lake_project(folder), files)


def commit_files(project: ProjectFolder, files: int) -> Path:
    """Commit so many files to the base of an empty project, write one on top, and return the project's folder."""
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
