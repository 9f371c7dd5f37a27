"""One `migrate --parallel 4` on Iceberg and Delta on Spark 4.1, Hudi on Spark 3.5 and Snowflake: a story in one project.

The tests run in the order of the file, because each continues the project of the one before.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.run.processes import engine_process, is_engine_gone, this_process
from tests.engines.test_migrate_hudi import hudi_programs
from tests.support.beds import SnowBed
from tests.support.catalog_files import LAKE, SNOWFLAKE_PASSWORD
from tests.support.processes import children_of
from tests.support.project_folder import Output, ProjectFolder
from tests.support.sparks import SPARKS, installed

pytestmark = [pytest.mark.hudi, pytest.mark.delta, pytest.mark.snowflake, pytest.mark.spark]

OLD, NEW = SPARKS["3.5"], installed()
SPARK_NAMES = ("delta", "hoodie", "lake")
NAMES = (*SPARK_NAMES, "snow")
SPARK_CATALOG = """\
migrationExecutor:
  type: spark
PYTHON  conf:
    sparkConf:
      spark.sql.extensions: EXTENSION
      spark.sql.catalog.spark_catalog: CATALOG
MORE    dependencies: ["JAR"]
store: {type: embedded}
"""
DELTA = (
    SPARK_CATALOG.replace("EXTENSION", "io.delta.sql.DeltaSparkSessionExtension")
    .replace("CATALOG", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .replace("PYTHON", "")
    .replace("MORE", "      spark.databricks.delta.snapshotPartitions: 1\n")
    .replace("JAR", NEW.delta)
)
HUDI = (
    SPARK_CATALOG.replace("EXTENSION", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    .replace("CATALOG", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    .replace(
        "MORE",
        "      spark.serializer: org.apache.spark.serializer.KryoSerializer\n"
        "      spark.kryo.registrator: org.apache.spark.HoodieSparkKryoRegistrar\n",
    )
    .replace("JAR", OLD.hudi)
)
# Longer than the time after which a test kills a process inside of it.
SLOW = "SELECT IF(java_method('java.lang.Thread', 'sleep', 300000L) = 'slept', 0L, {}L)"
ENDED_SECONDS = 10.0
# From the announcement of a statement until the engine executes it.
SETTLED_SECONDS = 1.5


@dataclass
class Four:
    """The project with its four catalogs; each has a table with the column `a`."""

    project: ProjectFolder
    snow: SnowBed
    schema: str

    @property
    def tables(self) -> dict[str, str]:
        """The table of each catalog, in its SQL."""
        return {
            "delta": f"delta.`{self.project.root / 'delta'}`", "hoodie": "t", "lake": "lake.a.t", "snow": f"{self.schema}.T",
        }  # fmt: skip

    @property
    def known(self) -> str:
        """The statement that makes Hudi's table known: its catalog is in the memory of a JVM."""
        return f"CREATE TABLE IF NOT EXISTS t (a BIGINT) USING hudi LOCATION '{self.project.root / 'hoodie'}'"

    def file(self, name: str, catalog: str, *statements: str) -> None:
        """Write a migration."""
        first = (self.known,) if catalog == "hoodie" else ()
        self.project.file(name, ";\n".join([*first, *statements]), catalog)

    def insert(self, catalog: str, value: int, query: str = "SELECT {}") -> str:
        """Return the statement that inserts a value."""
        return f"INSERT INTO {self.tables[catalog]} {query.format(value)}"

    def migrate(self) -> Output:
        return self.project.ask("migrate", "--parallel", "4")

    def states(self) -> dict[str, str]:
        """Return the state of the newest migration of each catalog. No lock is held."""
        status = self.project.ask("status").document["catalogs"]
        assert [entry["lock"] for entry in status] == [None] * len(status)
        return {entry["catalog"]: entry["migrations"][-1]["state"] for entry in status}

    def rows(self) -> dict[str, list[int]]:
        """Return the values in each table, read without glacierbase and without Spark."""
        return {
            "delta": _of_files(self._delta_files()), "hoodie": _of_files(self._hudi_files()), "lake": self._lake(),
            "snow": sorted(row[0] for row in self.snow.rows(f"SELECT A FROM {self.schema}.T")),
        }  # fmt: skip

    def _delta_files(self) -> list[Path]:
        """Return the files that the log adds: no test deletes one."""
        table = self.project.root / "delta"
        lines = [line for log in table.glob("_delta_log/*.json") for line in log.read_text().splitlines()]
        return [table / action["add"]["path"] for action in map(json.loads, lines) if "add" in action]

    def _hudi_files(self) -> list[Path]:
        """Return the newest version of each file group."""
        newest: dict[str, Path] = {}
        for path in sorted((self.project.root / "hoodie").glob("*.parquet"), key=lambda path: path.stem.split("_")[-1]):
            newest[path.name.partition("_")[0]] = path
        return list(newest.values())

    def _lake(self) -> list[int]:
        warehouse = self.project.root / "warehouse"
        lake = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables")
        values = lake.load_table("a.t").scan().to_arrow().column("a").to_pylist()
        lake.close()
        return sorted(values)


class Running:
    """A run of the program in its own process."""

    def __init__(self, project: ProjectFolder) -> None:
        self._process = project.start("migrate", "--parallel", "4", "-v", "--format", "json")
        self._lines: list[str] = []

    def wait_for(self, *texts: str) -> None:
        """Read stderr until it had each text, and wait until the statements that it announced are running."""
        missing = set(texts)
        assert self._process.stderr
        for line in self._process.stderr:
            self._lines.append(line)
            missing -= {text for text in missing if text in line}
            if not missing:
                time.sleep(SETTLED_SECONDS)
                return
        raise AssertionError(f"the program ended without {missing}: {''.join(self._lines)}")

    def engines(self) -> list[tuple[int, int]]:
        """Return the worker and the JVM of each Spark."""
        return [(worker, jvm) for worker in children_of(self._process.pid) for jvm in children_of(worker)]

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> Output:
        """Wait for the end of the run, and return its output."""
        stdout, stderr = self._process.communicate(timeout=120)
        return Output(self._process.returncode, stdout, "".join(self._lines) + stderr)


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode()


def have_ended(pids: Sequence[int]) -> bool:
    """Return whether the processes end within some seconds."""
    engines = [{**this_process(), **engine_process(pid)} for pid in pids]
    deadline = time.monotonic() + ENDED_SECONDS
    while not (gone := all(map(is_engine_gone, engines))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return gone


def _of_files(files: Sequence[Path]) -> list[int]:
    return sorted(
        value for file in files for value in pyarrow.parquet.ParquetFile(file).read(["a"]).column(0).to_pylist()
    )


@pytest.fixture(scope="module")
def four(emulated: SnowBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Four]:
    """The project, with a pending file in each catalog. That of Hudi has the Python of its Spark."""
    project = ProjectFolder(tmp_path_factory.mktemp("four") / "project")
    python = hudi_programs(tmp_path_factory) / "python"
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root / "warehouse")), "lake")
    project.catalog(DELTA, "delta")
    project.catalog(HUDI.replace("PYTHON", f"  python: {python}\n"), "hoodie")
    project.catalog(emulated.catalog_file(), "snow")
    four = Four(project, emulated, emulated.schema())
    creates = {
        "delta": [f"CREATE TABLE {four.tables['delta']} (a BIGINT) USING delta"],
        "hoodie": [],
        "lake": ["CREATE NAMESPACE lake.a", "CREATE TABLE lake.a.t (a BIGINT) USING iceberg"],
        "snow": [f"CREATE TABLE {four.schema}.T (A INT)"],
    }
    for name, statements in creates.items():
        four.file("1_create.sql", name, *statements, four.insert(name, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNOWFLAKE_PASSWORD", SNOWFLAKE_PASSWORD)
        yield four


def test_the_wrong_version_of_one_is_found_before_any_runs(four: Four) -> None:
    """Without `python` the jar of Hudi is for another Spark. No catalog has a table or a history afterwards."""
    path = four.project.root / "catalogs/hoodie.yaml"
    text = path.read_text()
    path.write_text(re.sub("  python: .*\n", "", text))
    done = four.migrate()
    path.write_text(text)
    assert (done.code, done.document["error"]["code"]) == (2, "SPARK_VERSION_MISMATCH")
    assert 'migrationExecutor.packages to ["pyspark==3.5.*"]' in done.document["error"]["hint"]
    entries = done.document["catalogs"]
    assert [(entry["catalog"], entry["skipped"]) for entry in entries] == [
        (name, None if name == "hoodie" else "not run, because catalog hoodie failed") for name in NAMES
    ]
    assert [entry["not_run"] for entry in entries if entry["catalog"] != "snow"] == [["1"]] * 3
    assert sorted(path.name for path in four.project.root.iterdir()) == ["catalogs", "migrations"]
    assert four.snow.rows(f"SHOW TABLES IN SCHEMA {four.schema}") == []
    histories = four.project.ask("history").document["catalogs"]
    assert [entry["events"] for entry in histories] == [[]] * 4


def test_all_are_applied_by_one_command(four: Four) -> None:
    """The document has an entry for each, with its engine."""
    done = four.migrate()
    assert done.code == 0, done.stderr
    entries = done.document["catalogs"]
    assert [(entry["catalog"], len(entry["applied"])) for entry in entries] == [(name, 1) for name in NAMES]
    delta, hoodie, lake, snow = (entry["engine"] for entry in entries)
    assert [delta["name"], hoodie["name"], snow["name"]] == ["spark", "spark", "snowflake"]
    assert (delta["version"], hoodie["version"], lake) == (NEW.pyspark, OLD.pyspark, delta)
    assert re.fullmatch(r"(17|21)\.\S+", delta["java"])
    assert (hoodie["java"], snow["java"]) == (delta["java"], None)
    assert four.rows() == {name: [1] for name in NAMES}


def test_one_fails_and_the_process_of_one_is_killed_while_the_others_are_applied(four: Four) -> None:
    """The JVM ends with its worker. The outcome of the lost statement is unknown, and every lock is released."""
    four.file("2_more.sql", "snow", four.insert("snow", 2), f"DROP TABLE {four.schema}.NOWHERE")
    four.file("2_more.sql", "delta", four.insert("delta", 2), four.insert("delta", 3, SLOW))
    for name in ("hoodie", "lake"):
        four.file("2_more.sql", name, four.insert(name, 2))
    running = Running(four.project)
    running.wait_for("migrations/delta/2_more.sql: statement 2 of 2 starts")
    [(worker, jvm)] = [pair for pair in running.engines() if "delta-spark" in command_of(pair[1])]
    os.kill(worker, signal.SIGKILL)
    done = running.end()
    assert have_ended([worker, jvm])
    assert (done.code, done.document["error"]["code"]) == (1, "STATEMENT_FAILED"), done.stderr
    assert [bool(entry["applied"]) for entry in done.document["catalogs"]] == [False, True, True, False]
    lost = done.entry()["error"]
    assert (lost["code"], lost["statement_index"]) == ("OUTCOME_UNKNOWN", 2)
    assert "the process of the engine was killed by SIGKILL" in lost["message"]
    assert four.states() == {"delta": "unknown", "hoodie": "applied", "lake": "applied", "snow": "failed"}
    assert four.rows() == {name: [1, 2] for name in NAMES}


# By design, the next run waits a minute for a commit of an engine that was killed.
def test_no_engine_outlives_a_killed_command_and_the_next_one_goes_on(four: Four) -> None:
    """The first run settles what the run before lost. It is killed while the statements of three Sparks are running."""
    for name in ("delta", "snow"):
        four.file("2_more.sql", name, four.insert(name, 2), four.insert(name, 3))
    for name in SPARK_NAMES:
        four.file("3_last.sql", name, four.insert(name, 4), four.insert(name, 5, SLOW))
    running = Running(four.project)
    last = {name: 3 if name == "hoodie" else 2 for name in SPARK_NAMES}
    running.wait_for(*(f"{name}/3_last.sql: statement {number} of {number} starts" for name, number in last.items()))
    engines = running.engines()
    assert len(engines) == len(SPARK_NAMES)
    running.kill()
    assert have_ended([pid for pair in engines for pid in pair])
    running.end()
    for name in SPARK_NAMES:
        # The JVM that continues Hudi's file does not know the table.
        known = (four.known,) if name == "hoodie" else ()
        four.file("3_last.sql", name, four.insert(name, 4), *known, four.insert(name, 5))
    # Iceberg's and Delta's logs prove that the statement had no effect; a person says so of Hudi's.
    options = ("--as", "not-done", "--reason", "it was killed", "--catalog", "hoodie", "--yes")
    settled = four.project.ask("repair", "3", *options)
    assert settled.code == 0, settled.stdout
    done = four.migrate()
    assert done.code == 0, done.stdout
    assert [[(file["version"], file["resumed_at"]) for file in entry["applied"]] for entry in done.document["catalogs"]] == [
        [("3", 2)], [("3", 3)], [("3", 2)], [],
    ]  # fmt: skip
    assert four.states() == dict.fromkeys(NAMES, "applied")
    expected = {"delta": [1, 2, 3, 4, 5], "hoodie": [1, 2, 4, 5], "lake": [1, 2, 4, 5], "snow": [1, 2, 3]}
    assert four.rows() == expected
