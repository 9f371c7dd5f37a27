"""What a terminal, a log and a JSON reader see of statements that take long, on real engines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from glacierbase import Project
from glacierbase.cli.display import LiveLine
from glacierbase.executors.spark.session import SparkSessionPort
from tests.support.beds import LakeBed, RemoteLake
from tests.support.project_folder import ProjectFolder
from tests.support.terminal import Recording, run_on_terminal, terminal

ROWS = 50_000_000
FILL = f"INSERT INTO lake.a.t SELECT id FROM range(0, {ROWS}, 1, 16)"
CREATE = "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (id BIGINT) USING iceberg"
# Two stages of two and three tasks, each of which takes seconds without using the processor.
SLEEP = "IF(java_method('java.lang.Thread', 'sleep', 900L) = 'slept', 0, id)"
IN_TWO_STAGES = f"SELECT {SLEEP} FROM (SELECT /*+ REPARTITION(3) */ {SLEEP} AS id FROM range(0, 6, 1, 2))"
LINE = re.compile(r"shop: running (\d+) (\d)/(\d) \(line (\d+)\) (\d\d):(\d\d)(?:, stage (\d+), (\d+)/(\d+) tasks)?")
OFTEN = "from glacierbase.cli import display, main; display._LINE_SECONDS = 2.0; main()"


@contextmanager
def shown() -> Iterator[Recording]:
    """A terminal that shows what the block does in this process."""
    with terminal() as recording, LiveLine(recording.stream).watching():
        yield recording


def run_often(project: ProjectFolder, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in pipes, with a line every two seconds in place of every minute."""
    command = [sys.executable, "-c", OFTEN, *arguments]
    return subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False, timeout=300)


def numbers_of(lines: list[str]) -> list[tuple[int, ...]]:
    """Return seconds, stage, completed and all tasks of each line, and check that no number decreases."""
    matched = [found for found in map(LINE.fullmatch, lines) if found]
    found = [(60 * int(each[5]) + int(each[6]), *(int(each[n] or 0) for n in (7, 8, 9))) for each in matched]
    assert all(a <= b for before, after in pairwise(found) for a, b in zip(before, after, strict=True))
    return found


def test_a_line_grows_with_the_seconds_the_stages_and_the_tasks(lake: LakeBed, project: ProjectFolder) -> None:
    """The counts are those of the statement alone, and no number decreases."""
    project.catalog(f"{lake.text}store: {{namespace: progress_history}}\n")
    project.file("0002_create.sql", "CREATE NAMESPACE lake.progress; CREATE TABLE lake.progress.t (id BIGINT)")
    project.file("0003_slow.sql", f"SELECT 1;\nINSERT INTO lake.progress.t {IN_TWO_STAGES};")
    with shown() as recording:
        Project.load(project.root).migrate(spark=lake.spark)
    lines = [line for line in recording.live if "running 0003 2/2 (line 5)" in line]
    found = numbers_of(lines)
    assert len(found) == len(lines) >= 3
    assert len({seconds for seconds, *_ in found}) == len(found)
    assert (1, 0, 2) in {numbers[1:] for numbers in found}
    assert found[-1][1:] in {(2, 2, 5), (2, 3, 5), (2, 4, 5), (2, 5, 5)}
    assert recording.screen == []
    assert len(lake.rows("SELECT * FROM lake.progress.t")) == 6


def test_the_tasks_of_an_iceberg_procedure_count_as_its_statements(lake: LakeBed) -> None:
    """A procedure sets a job group of its own and starts threads; its jobs keep the tag of the statement."""
    for sql in (
        "CREATE NAMESPACE lake.proc",
        "CREATE TABLE lake.proc.t AS SELECT 1 AS id",
        "INSERT INTO lake.proc.t VALUES (2)",
    ):
        lake.spark.sql(sql)
    port, seen, ended = SparkSessionPort(lake.spark.newSession()), [], threading.Event()

    def poll() -> None:
        while not ended.wait(0.02):
            seen.append(port.progress())

    poller = threading.Thread(target=poll)
    poller.start()
    port.execute(
        "CALL lake.system.rewrite_data_files(table => 'proc.t', options => map('rewrite-all', 'true'))", tag="rewrite"
    )
    ended.set()
    poller.join()
    assert {text for text in seen if text}
    assert port.progress() is None


@pytest.fixture
def filling(lake_project: ProjectFolder) -> ProjectFolder:
    """A project whose second migration inserts 50 million rows."""
    lake_project.file("0001_create.sql", CREATE)
    lake_project.file("0002_fill.sql", FILL)
    return lake_project


@pytest.mark.spark
def test_fifty_million_rows_are_a_line_each_second_on_a_terminal(filling: ProjectFolder) -> None:
    """In the end only the results are left; each start of Spark and each statement had its line before."""
    code, recording = run_on_terminal(filling, "migrate")
    assert code == 0, recording.text
    assert any(line.startswith("shop: starting Spark 00:0") for line in recording.live)
    found = numbers_of([line for line in recording.live if "running 0002 1/1 (line 4)" in line])
    assert len(found) >= 3
    assert found[-1][2] > found[0][2]
    assert found[-1][3] == 16
    assert all(len(line) < 80 for line in recording.live)
    assert [re.sub(r"[\d.]+ s$", "N s", line) for line in recording.screen] == [
        "applied  migrations/shop/0001_create.sql  2 statements, N s",
        "applied  migrations/shop/0002_fill.sql  1 statement, N s",
        "shop (default)",
        "  applied  2 migrations, 3 statements, N s",
    ]


@pytest.mark.spark
def test_fifty_million_rows_are_a_line_each_interval_in_a_pipe_and_none_beside_json(filling: ProjectFolder) -> None:
    """Lines of a pipe have no escape; JSON has the same result and no line."""
    said = run_often(filling, "migrate")
    assert said.returncode == 0, said.stderr
    lines = said.stderr.splitlines()
    assert lines[0] == "shop: starting Spark"
    assert len(numbers_of([line for line in lines if "running 0002" in line])) >= 2
    assert "\x1b" not in said.stderr + said.stdout
    filling.file("0003_more.sql", f"INSERT INTO lake.a.t {IN_TWO_STAGES}")
    asked = run_often(filling, "migrate", "--format", "json")
    assert [file["version"] for file in json.loads(asked.stdout)["catalogs"][0]["applied"]] == ["0003"]
    assert (
        re.sub(r"[\d.]+ s$", "N s", asked.stderr.strip()) == "applied  migrations/shop/0003_more.sql  1 statement, N s"
    )


def test_a_connect_server_reports_its_stages_and_tasks(remote_lake: RemoteLake, project: ProjectFolder) -> None:
    """The client's own progress reports are counted; the server sends them every two seconds."""
    project.catalog(
        f"{remote_lake.text}\n".replace("store: {catalog: lake}", "store: {catalog: lake, namespace: progress}")
    )
    project.file("0002_create.sql", "CREATE NAMESPACE lake.far; CREATE TABLE lake.far.t (id BIGINT)")
    project.file("0003_slow.sql", f"INSERT INTO lake.far.t {IN_TWO_STAGES};")
    with shown() as recording:
        Project.load(project.root).migrate()
    found = numbers_of([line for line in recording.live if "running 0003 1/1 (line 4)" in line])
    assert found[0][1:] == (0, 0, 0)
    assert found[-1][1] >= 1
    assert found[-1][3] >= 2
