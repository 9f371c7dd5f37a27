"""Hudi tables, on the newest Spark that Hudi publishes a bundle for, in a separate virtual environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

from glacierbase.capabilities.review.table_properties import is_later, known
from tests.support.catalog_files import LAKE, RUNTIME
from tests.support.jar_properties import properties_of
from tests.support.layouts import HUDI, ROW_IN_FOLDERS, check_keys, in_folder, predicted
from tests.support.processes import one_at_a_time, shared_folder
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder
from tests.support.sparks import SPARKS, spark_programs

pytestmark = pytest.mark.hudi

SPARK = SPARKS["3.5"]
# An older one than that of the other tests, so that the list of properties is compared with two versions.
ICEBERG_OF_3_5 = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0"
HUDI_JAR = SPARK.hudi
# https://hudi.apache.org/docs/quick-start-guide
CONF = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
BOTH = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


@pytest.fixture(scope="module")
def glacierbase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in that environment, which is created if it is absent."""
    return hudi_programs(tmp_path_factory) / "glacierbase"


def hudi_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of that environment, after one worker has fetched the jars.

    Two Sparks that download the same jar into an empty cache at a time disturb each other.
    """
    programs, shared = spark_programs(SPARK.short), shared_folder(tmp_path_factory)
    with one_at_a_time(shared):
        if not (shared / "hudi-is-warm").exists():
            folder = ProjectFolder(tmp_path_factory.mktemp("hudi") / "project")
            folder.catalog(with_hudi(folder.root / "warehouse"))
            warmed = run(programs / "glacierbase", folder, "warm")
            assert warmed.code == 0, warmed.stdout
            (shared / "hudi-is-warm").touch()
    return programs


def with_hudi(warehouse: Path) -> str:
    """Return a catalog file with history and lock in an Iceberg catalog beside the tables."""
    text = LAKE.replace("WAREHOUSE", str(warehouse)).replace(f'"{RUNTIME}"', f'"{ICEBERG_OF_3_5}", "{HUDI_JAR}"')
    text = text.replace(BOTH, f"{BOTH},org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    lines = "".join(f"      {key}: {value}\n" for key, value in CONF.items())
    return text.replace("    sparkConf:\n", f"    sparkConf:\n{lines}") + "store: {catalog: lake}\n"


def test_a_hudi_table_is_migrated_and_what_it_refuses_is_failed(glacierbase: Path, project: ProjectFolder) -> None:
    """A refusal is not unknown, and each effect is there once."""
    project.catalog(with_hudi(project.root / "warehouse"))
    table = project.root / "events"
    create = (
        f"CREATE TABLE events (id BIGINT, a STRING) USING hudi TBLPROPERTIES (primaryKey = 'id') LOCATION '{table}'"
    )
    project.file("1_create.sql", f"{create};\nINSERT INTO events VALUES (1, 'one');\n{keyed_tables(project.root)}")
    project.file("2_widen.sql", "ALTER TABLE events ADD COLUMNS (b INT);\nINSERT INTO events VALUES (2, 'two', 20);")
    project.file("3_wrong.sql", "INSERT INTO events VALUES (3, 'three', 30, 'too much')")
    done = run(glacierbase, project, "migrate")
    assert done.code == 1, done.stderr
    assert done.document["error"]["code"] == "STATEMENT_FAILED"
    assert [each["version"] for each in done.entry()["applied"]] == ["1", "2"]
    assert (done.entry()["failed"]["version"], done.entry()["not_run"]) == ("3", [])
    newest = max(table.glob("*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    found = pyarrow.parquet.ParquetFile(newest).read(["id", "a", "b"]).to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "a": "one", "b": None},
        {"id": 2, "a": "two", "b": 20},
    ]
    for name, (statements, text) in HUDI.items():
        folder = project.root / name
        keys = [str(path.relative_to(folder)) for path in folder.rglob("*.parquet") if ".hoodie" not in path.parts]
        check_keys(predicted(name, statements, "hudi", HUDI_JAR.rpartition(":")[2]), text, keys)


def keyed_tables(root: Path) -> str:
    """Return statements that make a table of each key layout, with a row."""
    made = {
        f"keyed_{number}": in_folder(statements, f"keyed_{number}", root / name)
        for number, (name, (statements, _)) in enumerate(HUDI.items())
    }
    rows = (f"INSERT INTO {table} {ROW_IN_FOLDERS}" for table in made)
    return ";\n".join([*(statement for statements in made.values() for statement in statements), *rows])


def test_the_known_properties_are_those_of_the_jars(glacierbase: Path, project: ProjectFolder) -> None:
    """The list contains Hudi's properties, and those that Iceberg got after this version."""
    project.catalog(with_hudi(project.root / "warehouse"))
    jars = resolved(glacierbase, project)
    if not jars:  # The test of migrations has resolved them where it ran before.
        assert run(glacierbase, project, "warm").code == 0
        jars = resolved(glacierbase, project)
    of_jars = dict(properties_of(jar) for jar in jars if "-spark" in jar.name)
    assert of_jars["hudi"] == known("hudi")
    iceberg = known("iceberg")
    assert {key for key in iceberg if is_later(key, "iceberg", "1.10.0")} == iceberg.keys() - of_jars["iceberg"].keys()


def test_the_catalog_file_of_init_works_as_it_is_written(glacierbase: Path, project: ProjectFolder) -> None:
    """The metastore is kept: a second run writes into the table of the first by its name.

    Only the Python of its engine is another: the environment of these tests in place of that of `glacierbase env`.
    """
    assert run(glacierbase, project, "init", "--type", "hudi", "web").code == 0
    file = project.root / "catalogs/web.yaml"
    python = f"python: {glacierbase.parent / 'python'}"
    file.write_text(file.read_text().replace('packages: ["pyspark==3.5.*"]', python))
    done = run(glacierbase, project, "migrate")
    assert done.code == 0, done.stderr
    columns = "(id, user_id, kind, occurred_at, source, day)"
    values = "(1, 2, 'a', TIMESTAMP '2026-01-01 00:00:00', 'web', DATE '2026-01-01')"
    row = f"INSERT INTO web.events {columns} VALUES {values}"
    project.file("0002_fill.sql", row, catalog="web")
    done = run(glacierbase, project, "migrate")
    assert done.code == 0, done.stderr
    shown = run(glacierbase, project, "show", "0002").entry()
    assert shown["tables"] == []  # Rows are no change of the table, although Hudi reports each commit to the metastore.
    [rows] = project.root.glob(".glacierbase/dev/web/web.db/events/**/*.parquet")
    [found] = pyarrow.parquet.ParquetFile(rows).read(["id", "user_id", "kind"]).to_pylist()
    assert found == {"id": 1, "user_id": 2, "kind": "a"}


def resolved(glacierbase: Path, project: ProjectFolder) -> list[Path]:
    """Return the jars of the project's catalog that a run has resolved, none where no run has."""
    script = (
        "from tests.support.project_folder import only_catalog; from pathlib import Path;"
        "from glacierbase.executors.spark.jars import resolved_jars; catalog = only_catalog(Path.cwd());"
        "print(*resolved_jars(catalog.spark_conf, catalog.dependencies) or (), sep='\\n')"
    )
    done = subprocess.run(
        [glacierbase.parent / "python", "-c", script], cwd=project.root, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    return [Path(line) for line in done.stdout.splitlines() if line]


def run(glacierbase: Path, project: ProjectFolder, *arguments: str) -> Output:
    """Run the program with its result as JSON."""
    done = subprocess.run(
        [glacierbase, *arguments, "--format", "json"], cwd=project.root, capture_output=True, text=True, check=False
    )
    return Output(done.returncode, done.stdout, done.stderr)
