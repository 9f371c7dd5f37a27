"""The program as a process that starts Spark: signals, secrets, several catalogs."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.catalog_files import ADD_EVENT, LAKE
from tests.support.processes import wait_for_line
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

CREATE = "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg"
# While it takes that many milliseconds, a test sends a signal. The method's answer is nothing.
SLEEP = "java_method('java.lang.Thread', 'sleep', {}L)"
# In every secret of this file and of no other: other tests run at the same time on the same machine.
MARK = "7f3a9c"
CANARY = f"canary-{MARK}"


def stop_inside_a_statement(project: ProjectFolder, milliseconds: int, number: signal.Signals) -> tuple[int, str]:
    """Stop a run while its statement takes that long; return its exit code and stderr."""
    project.file("1_create.sql", CREATE)
    slow = f"INSERT INTO lake.a.t SELECT IF({SLEEP.format(milliseconds)} = 'slept', 0, 1)"
    project.file("2_slow.sql", f"{slow}; INSERT INTO lake.a.t VALUES (2); INSERT INTO lake.a.t VALUES (3)")
    process = project.start("migrate", "-v")
    wait_for_line(process, "2_slow.sql: statement 1 of 3 starts")
    process.send_signal(number)
    stderr = process.communicate(timeout=120)[1]
    assert "stopping: the running statement is cancelled after 3 s" in stderr
    assert "Traceback" not in stderr
    return process.returncode, stderr


@pytest.mark.spark
def test_stopped_a_run_lets_a_short_statement_end(lake_project: ProjectFolder) -> None:
    """The statement is finished and recorded, the lock is released, and the next run resumes after it."""
    code, stderr = stop_inside_a_statement(lake_project, 100, signal.SIGINT)
    assert code == 130, stderr
    assert "error: INTERRUPTED: stopped before statement 2 of migrations/shop/2_slow.sql" in stderr
    status = lake_project.ask("status").entry()
    states = [(each["state"], each["statements_done"], each["statements_total"]) for each in status["migrations"]]
    assert (states, status["lock"]) == ([("applied", 2, 2), ("interrupted", 1, 3)], None)
    again = lake_project.ask("migrate").entry()
    assert [(file["version"], file["resumed_at"]) for file in again["applied"]] == [("2", 2)]
    assert rows_of(lake_project) == [1, 2, 3]


@pytest.mark.spark
def test_stopped_a_run_cancels_a_long_statement(lake_project: ProjectFolder) -> None:
    """The outcome needs a decision; the table suggests that it had no effect. The lock is released."""
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


@pytest.mark.spark
def test_stopped_a_run_does_not_wait_for_a_statement_that_cannot_be_cancelled(lake_project: ProjectFolder) -> None:
    """The database of the catalog does not answer: the engine is stopped as well, and the known state is recorded."""
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


# What spark-submit reads, what the session reads, and where a secret is a part of the value.
PLANTED = """\
      spark.canary.token: x${secret:PLANTED}
      spark.driver.canary: ${secret:PLANTED}
      spark.jars.canary: ${secret:PLANTED}
      spark.submit.canary: https://${secret:PLANTED}@proxy.example
      spark.sql.catalog.lake.jdbc.password: ${secret:PLANTED}
      spark.driver.proxy: http://alice:${env:OF_ALICE}@proxy.example/?sas=${env:PARAMETER}
      spark.hadoop.fs.azure.account.key.one: ${env:OF_AZURE}
      spark.canary.key: ${file:key.pem}
"""
PEM = f"-----BEGIN PRIVATE KEY-----\n{MARK}+first/line\n{MARK}+second/line==\n-----END PRIVATE KEY-----\n"


@pytest.mark.spark
def test_a_secret_appears_nowhere(lake_project: ProjectFolder) -> None:
    """The secret is in no output, log, error, history, lock or command line, even if the engine's error repeats it."""
    text = LAKE.replace("WAREHOUSE", str(lake_project.root / "warehouse"))
    lake_project.catalog(text.replace("    sparkConf:\n", f"    sparkConf:\n{PLANTED}"))
    (lake_project.root / "key.pem").write_text(PEM)
    lake_project.file("1_create.sql", CREATE)
    values = " || ' ' || ".join(map(setting, ("spark.driver.canary", "spark.driver.proxy")))
    lake_project.file("2_leak.sql", f"SELECT raise_error('it is ' || {values})")
    environ = {"PLANTED": CANARY, "CI_JOB_URL": f"https://bot:canary-{MARK}-of-ci@ci.example/1", "GITHUB_RUN_ID": None}
    environ |= {name: f"canary-{MARK}-{name}" for name in ("OF_ALICE", "PARAMETER", "OF_AZURE")}
    process = lake_project.start("migrate", "-v", environ=environ)
    seen = watch_command_lines(process)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 1, stderr
    assert "it is *** http://alice:***@proxy.example/?sas=***" in stderr
    history = lake_project.ask("history", environ=environ)
    assert [event["event"] for event in history.entry()["events"]][-1] == "failed"
    outputs = [stdout, stderr, *seen, history.stdout, history.stderr, *tables_of(lake_project)]
    outputs += [
        lake_project.run("show", "2", environ=environ).stdout,
        lake_project.run("status", environ=environ).stdout,
    ]
    assert [line for line in seen if "org.apache.spark.launcher.Main" in line]
    assert [line for line in seen if "org.apache.spark.deploy.SparkSubmit" in line and "launcher" not in line]
    assert any("***" in text for text in outputs)
    assert [text for text in outputs if MARK in text] == []
    [log] = (lake_project.root / ".glacierbase/logs").iterdir()
    files = [path for path in lake_project.root.rglob("*") if path.is_file()]
    told = {path.name for path in files if MARK.encode() in path.read_bytes()}
    assert told == {"key.pem", "shop.yaml"}
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def setting(name: str) -> str:
    """Return SQL that reads a setting with which Spark was started: they are properties of its JVM."""
    return f"java_method('java.lang.System', 'getProperty', '{name}')"


def tables_of(project: ProjectFolder) -> list[str]:
    """Return the rows of history and lock, whose files are compressed."""
    warehouse = project.root / "warehouse"
    lake = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables")
    rows = [lake.load_table(f"glacierbase.{name}_shop").scan().to_arrow().to_pylist() for name in ("history", "lock")]
    lake.close()
    assert [len(each) > 0 for each in rows] == [True, True]
    return [str(row) for each in rows for row in each]


@pytest.mark.spark
def test_an_administrators_defaults_count_below_the_catalog_file(lake_project: ProjectFolder, tmp_path: Path) -> None:
    """Spark reads both the administrator's defaults and the catalog file's values."""
    text = LAKE.replace("WAREHOUSE", str(lake_project.root / "warehouse"))
    lake_project.catalog(text.replace("    sparkConf:\n", "    sparkConf:\n      spark.driver.said: ä=b\\c d\n"))
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.said administrator\nspark.admin.said yes\\")
    lake_project.file(
        "1_ask.sql", f"SELECT raise_error({setting('spark.driver.said')} || ' ' || {setting('spark.admin.said')})"
    )
    told = lake_project.run("migrate", environ={"SPARK_CONF_DIR": str(tmp_path)})
    assert "ä=b" in told.stderr, told.stderr
    assert "d yes" in told.stderr, told.stderr


KEYS = """\
token credential jdbc.password header.Authorization header.X-Api-Key s3.access-key-id s3.secret-access-key adls.sas-token
adls.account-key gcs.oauth2.token jdbc.passwd some.pwd some.passphrase some.passcode
"""
UNREACHABLE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: http://alice:${env:IN_URI}@127.0.0.1:9/?token=${env:IN_PARAMETER}
      spark.remote: sc://127.0.0.1:9/;token=${env:IN_REMOTE}
      spark.sql.catalog.lake.unmarked: ${secret:PLANTED}
      spark.sql.catalog.lake.key: ${file:key.pem}
"""


@pytest.mark.parametrize(
    "command",
    [
        ["pending", "-v"],
        ["status"],
        ["validate"],
        ["render"],
        ["migrate", "-v"],
        ["doctor"],
        ["repair"],
        ["migrate", "--dry-run"],
    ],
)
def test_a_command_that_fails_tells_no_secret(command: list[str], project: ProjectFolder) -> None:
    """Text and JSON mask the secret under every key, with a catalog that cannot be reached."""
    lines = [f"      spark.sql.catalog.lake.{key}: ${{env:K{number}}}\n" for number, key in enumerate(KEYS.split())]
    names = ("IN_URI", "IN_PARAMETER", "IN_REMOTE", *(f"K{number}" for number in range(len(lines))))
    environ = {"PLANTED": CANARY, **{name: f"canary-{name}" for name in names}}
    project.catalog(UNREACHABLE + "".join(lines))
    (project.root / "key.pem").write_text(PEM)
    project.file("1_a.sql", "SELECT 1")
    for form in ("text", "json"):
        told = run_here(project, *command, "--format", form, environ=environ)
        assert told.code in ((0,) if command[0] in ("validate", "render") else (2, 5)), told.stderr
        assert "canary" not in told.stdout + told.stderr
        assert MARK not in told.stdout + told.stderr
        assert form == "text" or told.document["schema"].startswith("glacierbase/")


def watch_command_lines(process: subprocess.Popen[str]) -> list[str]:
    """Return all command lines of this machine while a process runs."""
    seen: set[str] = set()
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        time.sleep(0.05)
    return sorted(seen)


@pytest.mark.spark
def test_what_init_writes_runs(tmp_path: Path) -> None:
    """The project runs without an edit, on both engines; a dry run changes nothing, and `pending --exit-code` exits with 7."""
    fresh = ProjectFolder(tmp_path / "fresh")
    assert fresh.run("init", "web").code == 0
    fresh.file("0002_add_event.sql", ADD_EVENT, "web")
    dry = fresh.run("migrate", "--dry-run")
    assert (dry.code, "CREATE NAMESPACE IF NOT EXISTS lake.web" in dry.stdout) == (0, True)
    assert not (fresh.root / ".glacierbase").exists()
    assert fresh.run("pending", "--exit-code").code == 7
    applied = fresh.ask("migrate").entry()["applied"]
    assert [file["engine"] for file in applied] == ["direct", "spark"]
    assert namespaces_of(fresh) == [("glacierbase",), ("web",)]
    assert fresh.run("pending", "--exit-code").code == 0


def namespaces_of(fresh: ProjectFolder) -> list[tuple[str, ...]]:
    folder = fresh.root / ".glacierbase/dev"
    lake = SqlCatalog("lake", uri=f"sqlite:///{folder}/web.db", warehouse=f"file://{folder}/web")
    found = sorted(lake.list_namespaces())
    lake.close()
    return found


@pytest.mark.spark
def test_several_catalogs_with_equal_needs_run_one_after_the_other_in_one_jvm(project: ProjectFolder) -> None:
    """The settings of one are not those of another, nor after RESET. A failure stops no other catalog, and sets the exit code."""
    for name in ("one", "two", "three"):
        text = LAKE.replace("WAREHOUSE", str(project.root / name / "warehouse"))
        project.catalog(text.replace("catalog.lake", "catalog.pond") if name == "one" else text, name)
    pond = CREATE.replace("lake.", "pond.")  # The JVM starts with the settings of the first catalog.
    project.file("1_create.sql", f"SET spark.sql.ansi.enabled=false; RESET; {pond}", "one")
    project.file("1_create.sql", CREATE, "three")
    project.file("1_list.sql", "SHOW TABLES IN pond.a", "two")
    told = project.ask("migrate")
    assert len(list((project.root / ".glacierbase/logs").iterdir())) == 1  # One for each JVM.
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
