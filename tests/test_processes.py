"""The program as processes: signals, secrets, several catalogs."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from tests.conftest import LAKE, ProjectFolder

CREATE = "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg"
# While it takes that many milliseconds, a test sends a signal. The method's answer is nothing.
SLEEP = "java_method('java.lang.Thread', 'sleep', {}L)"
CANARY = "canary-7f3a9c"


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Read the program's stderr up to a line that holds `text`."""
    assert process.stderr
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the program ended without {text!r}")


def stop_inside_a_statement(project: ProjectFolder, milliseconds: int, number: signal.Signals) -> tuple[int, str]:
    """The exit code and stderr of a run that is stopped while its statement takes that long."""
    project.file("1_create.sql", CREATE)
    slow = f"INSERT INTO lake.a.t SELECT IF({SLEEP.format(milliseconds)} = 'slept', 0, 1)"
    project.file("2_slow.sql", f"{slow}; INSERT INTO lake.a.t VALUES (2); INSERT INTO lake.a.t VALUES (3)")
    process = project.start("migrate", "-v")
    wait_for_line(process, "2_slow.sql: statement 1 of 3 starts")
    process.send_signal(number)
    stderr = process.communicate(timeout=120)[1]
    assert "stopping: what runs has 3 s to end" in stderr
    assert "Traceback" not in stderr
    return process.returncode, stderr


def test_stopped_a_run_lets_a_short_statement_end(lake_project: ProjectFolder) -> None:
    """What runs is finished and recorded, the lock is free, and the next run goes on behind it."""
    code, stderr = stop_inside_a_statement(lake_project, 500, signal.SIGINT)
    assert code == 130, stderr
    assert "error: INTERRUPTED: stopped before statement 2 of migrations/shop/2_slow.sql" in stderr
    status = lake_project.ask("status").entry()
    states = [(each["state"], each["statements_done"], each["statements_total"]) for each in status["migrations"]]
    assert (states, status["lock"]) == ([("applied", 2, 2), ("interrupted", 1, 3)], None)
    again = lake_project.ask("migrate").entry()
    assert [(file["version"], file["resumed_at"]) for file in again["applied"]] == [("2", 2)]
    assert rows_of(lake_project) == [1, 2, 3]


def test_stopped_a_run_cancels_a_long_statement(lake_project: ProjectFolder) -> None:
    """Whether it took effect is for a person to say; the table suggests that it did not. The lock is free."""
    began = time.monotonic()
    code, stderr = stop_inside_a_statement(lake_project, 60_000, signal.SIGTERM)
    assert time.monotonic() - began < 50
    assert code == 143, stderr
    assert "error: OUTCOME_UNKNOWN: migrations/shop/2_slow.sql, line 4: the answer to statement 1 of 3" in stderr
    status = lake_project.ask("status").entry()
    assert [each["state"] for each in status["migrations"]] == ["applied", "unknown"]
    assert status["lock"] is None
    [case] = lake_project.ask("repair").entry()["cases"]
    assert (case["suggests"], case["may_run"]) == ("not-done", False)
    assert rows_of(lake_project) == []


def test_stopped_a_run_does_not_wait_for_a_statement_that_cannot_be_cancelled(lake_project: ProjectFolder) -> None:
    """Its catalog's server does not answer: the engine is ended with it, and what is known is recorded."""
    database = lake_project.root / "silent.db"
    text = LAKE.replace("WAREHOUSE", str(lake_project.root / "warehouse"))
    silent = LAKE.replace("WAREHOUSE/catalog.db", str(database)).replace("=30000", "=300000")
    declared = [line for line in silent.splitlines() if "sql.catalog.lake" in line]
    more = "\n".join(declared).replace("catalog.lake", "catalog.silent")
    lake_project.catalog(text.replace("    dependencies", f"{more}\n    dependencies") + "store: {catalog: lake}\n")
    lake_project.file("1_a.sql", "CREATE NAMESPACE silent.a")
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        process = lake_project.start("migrate", "-v")
        wait_for_line(process, "1_a.sql: statement 1 of 1 starts")
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        stderr = process.communicate(timeout=200)[1]
    assert time.monotonic() - began < 100
    assert process.returncode == 143, stderr
    assert "Traceback" not in stderr
    status = lake_project.ask("status").entry()
    assert ([each["state"] for each in status["migrations"]], status["lock"]) == (["unknown"], None)


def test_a_secret_appears_nowhere(lake_project: ProjectFolder, tmp_path: Path) -> None:
    """In no output, log, error or history row, and on no command line; also where the engine repeats it in an error."""
    planted = (
        "      spark.canary.token: x${secret:PLANTED}\n      spark.sql.catalog.lake.jdbc.password: ${secret:PLANTED}\n"
    )
    text = LAKE.replace("WAREHOUSE", str(lake_project.root / "warehouse"))
    lake_project.catalog(text.replace("    sparkConf:\n", f"    sparkConf:\n{planted}"))
    lake_project.file("1_create.sql", CREATE)
    # Spark itself puts its configuration into SQL text.
    lake_project.file("2_leak.sql", "SELECT raise_error('it is ${spark.canary.token}')")
    environ = {"PLANTED": CANARY}
    process = lake_project.start("migrate", "-v", environ=environ)
    seen = watch_command_lines(process)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 1, stderr
    assert "it is ***" in stderr
    history = lake_project.ask("history", environ=environ)
    assert [event["event"] for event in history.entry()["events"]][-1] == "failed"
    outputs = [stdout, stderr, *seen, history.stdout, history.stderr]
    outputs += [
        lake_project.run("show", "2", environ=environ).stdout,
        lake_project.run("status", environ=environ).stdout,
    ]
    assert any("glacierbase" in line for line in seen)
    assert any("***" in text for text in outputs)
    assert [text for text in outputs if CANARY in text] == []
    assert [
        path for path in lake_project.root.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()
    ] == []


def watch_command_lines(process: subprocess.Popen[str]) -> list[str]:
    """All command lines of this machine while a process runs."""
    seen: set[str] = set()
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        time.sleep(0.2)
    return sorted(seen)


def test_what_init_writes_runs(tmp_path: Path) -> None:
    """On the spot; asking before changes nothing, and `pending --exit-code` tells a pipeline."""
    fresh = ProjectFolder(tmp_path / "fresh")
    assert fresh.run("init", "web").code == 0
    dry = fresh.run("migrate", "--dry-run")
    assert (dry.code, "CREATE NAMESPACE IF NOT EXISTS lake.web" in dry.stdout) == (0, True)
    assert not (fresh.root / ".glacierbase").exists()
    assert fresh.run("pending", "--exit-code").code == 7
    assert fresh.run("migrate").code == 0
    assert namespaces_of(fresh) == [("glacierbase",), ("web",)]
    assert fresh.run("pending", "--exit-code").code == 0


def namespaces_of(fresh: ProjectFolder) -> list[tuple[str, ...]]:
    folder = fresh.root / ".glacierbase/dev"
    lake = SqlCatalog("lake", uri=f"sqlite:///{folder}/web.db", warehouse=f"file://{folder}/web")
    found = sorted(lake.list_namespaces())
    lake.close()
    return found


def test_several_catalogs_run_one_after_the_other_each_in_a_jvm_of_its_own(project: ProjectFolder) -> None:
    """Their jars may differ. The first that fails stops no other, and gives the exit code."""
    for name in ("one", "two", "three"):
        project.catalog(LAKE.replace("WAREHOUSE", str(project.root / name / "warehouse")), name)
        project.file("1_create.sql", CREATE if name != "two" else "DROP TABLE lake.no.such", name)
    told = project.ask("migrate")
    assert told.code == 1
    found = [(each["catalog"], len(each["applied"]), bool(each["error"])) for each in told.document["catalogs"]]
    assert found == [("one", 1, False), ("three", 1, False), ("two", 0, True)]
    assert project.ask("pending", "--catalog", "three").entry()["pending"] == []


def rows_of(project: ProjectFolder) -> list[int]:
    warehouse = project.root / "warehouse"
    lake = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables")
    values = lake.load_table("a.t").scan().to_arrow().column("a").to_pylist()
    lake.close()
    return sorted(values)
