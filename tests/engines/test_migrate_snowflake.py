"""The whole path on Snowflake: the genuine connector, HTTP, and a server that logs each request."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.cli.display import LiveLine
from glacierbase.executors.snowflake import session
from tests.support.beds import SnowBed
from tests.support.catalog_files import SNOWFLAKE_PASSWORD
from tests.support.ids import CALLS, expected, expressions, numbers, texts
from tests.support.processes import wait_for_line
from tests.support.program import ask_here, run_here
from tests.support.project_folder import Output, ProjectFolder, migration
from tests.support.snowflake.bed import SnowflakeServer
from tests.support.terminal import terminal


@pytest.fixture(params=["emulated", pytest.param("account", marks=pytest.mark.account)])
def snow(request: pytest.FixtureRequest) -> SnowBed:
    """An emulated Snowflake and, if an account is named, a real one."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def shop(snow: SnowBed, project: ProjectFolder) -> ProjectFolder:
    """A project with the catalog `shop`, with a new schema for history and lock."""
    project.catalog(snow.catalog_file())
    return project


@pytest.fixture
def wired(emulated: SnowBed, project: ProjectFolder) -> ProjectFolder:
    """The same project on the emulated Snowflake only, for tests that read its log."""
    project.catalog(emulated.catalog_file())
    return project


def start_log(server: SnowflakeServer) -> int:
    return len(server.requests)


def test_statements_run_and_are_recorded_with_their_ids(shop: ProjectFolder, snow: SnowBed) -> None:
    """The id identifies the statement in Snowflake's query history."""
    schema = snow.schema()
    shop.file("0001_create.sql", f"CREATE TABLE {schema}.t (a INT);\nINSERT INTO {schema}.t VALUES (1);")
    done = shop.ask("migrate")
    assert done.code == 0, done.stderr
    assert snow.rows(f"SELECT a FROM {schema}.t") == [(1,)]
    events = shop.ask("history").entry()["events"]
    assert [event["event"] for event in events] == ["started", "statement_done", "applied"]
    assert events[0]["query_id"] is None
    assert events[1]["query_id"] != events[2]["query_id"]
    assert events[2]["engine"].startswith("snowflake")
    assert "nothing to do" in shop.run("migrate").stdout


def test_each_statement_carries_its_tag(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """The tag is a parameter of that statement alone, so that no session setting changes."""
    schema = emulated.schema()
    wired.file("0001_create.sql", f"CREATE TABLE {schema}.t (a INT);\nDROP TABLE {schema}.t;")
    begin = start_log(snowflake_server)
    run_id = ask_here(wired, "migrate").code or ask_here(wired, "history").entry()["events"][0]["run_id"]
    sent = [each for each in snowflake_server.requests[begin:] if "sql" in each]
    tags = {each["sql"]: each["parameters"].get("QUERY_TAG") for each in sent}
    assert tags[f"CREATE TABLE {schema}.t (a INT)"] == f"glacierbase;{run_id};0001;1"
    assert tags[f"DROP TABLE {schema}.t"] == f"glacierbase;{run_id};0001;2"
    assert not [each["sql"] for each in sent if each["sql"].upper().startswith(("ALTER SESSION", "USE"))]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '100 %', 7 % 2, '%s %(name)s %%'",
        "SELECT '?', ':name', ':1', '&x', '&&x', '$x', '${env:HOME}', '<% y %>'",
        "SELECT $$ it's; a \\ body %s ? $$ AS body",
        r"SELECT 'it\'s', 'a\\b', 'it''s; still', '\n'",
        'SELECT \'ünïcödé 🧊\' AS "Größe; ""quoted"""',
        "SELECT 'line one\r\nline two' AS text,\r\n  1 AS one -- a comment ? %s\r\n, 2 AS two",
        "SELECT 1 /* keep; this */ + 1 AS two, 'a//b', 'a--b'",
    ],
)
def test_the_bytes_of_the_file_are_the_bytes_on_the_wire(
    sql: str, wired: ProjectFolder, snowflake_server: SnowflakeServer
) -> None:
    """No layer interprets `%`, `?`, `:name`, `&x` or `$`, or changes line ends."""
    path = wired.root / "migrations" / "shop" / "0001_battery.sql"
    path.write_bytes(f"{migration('-- ')}{{% raw %}}{sql}{{% endraw %}};\n".encode())
    begin = start_log(snowflake_server)
    done = ask_here(wired, "migrate")
    assert done.code == 0, done.stdout
    sent = [each["sql"] for each in snowflake_server.requests[begin:] if "sql" in each]
    assert sql in sent


def test_a_failed_file_goes_on_where_it_stopped(shop: ProjectFolder, snow: SnowBed) -> None:
    """The two statements before are not run again; the error has Snowflake's message and code."""
    schema = snow.schema()
    first = f"CREATE TABLE {schema}.t (a INT);\nINSERT INTO {schema}.t VALUES (1);\n"
    shop.file("0001_five.sql", f"{first}INSERT INTO {schema}.missing VALUES (2);\nINSERT INTO {schema}.t VALUES (3);")
    done = ask_here(shop, "migrate")
    assert (done.code, done.document["error"]["code"]) == (1, "STATEMENT_FAILED")
    assert "MISSING" in done.document["error"]["message"].upper()
    assert done.document["error"]["error_class"] == "002003 (42S02)"
    assert ask_here(shop, "status").entry()["migrations"][0]["statements_done"] == 2
    shop.file("0001_five.sql", f"{first}INSERT INTO {schema}.t VALUES (2);\nINSERT INTO {schema}.t VALUES (3);")
    again = ask_here(shop, "migrate")
    assert again.code == 0, again.stdout
    assert again.entry()["applied"][0]["resumed_at"] == 3
    assert sorted(snow.rows(f"SELECT a FROM {schema}.t")) == [(1,), (2,), (3,)]


def test_a_transaction_is_one_step(shop: ProjectFolder, snow: SnowBed) -> None:
    """A failure inside rolls all of it back, and the next run starts at its BEGIN."""
    schema = snow.schema()
    create, begin = f"CREATE TABLE {schema}.t (a INT);\n", f"BEGIN TRANSACTION;\nINSERT INTO {schema}.t VALUES (1);\n"
    shop.file("0001_two_rows.sql", f"{create}{begin}INSERT INTO {schema}.missing VALUES (2);\nCOMMIT;")
    done = ask_here(shop, "migrate")
    assert done.code == 1
    assert "was rolled back" in done.document["error"]["message"]
    assert snow.rows(f"SELECT a FROM {schema}.t") == []
    assert ask_here(shop, "status").entry()["migrations"][0]["statements_done"] == 1
    shop.file("0001_two_rows.sql", f"{create}{begin}INSERT INTO {schema}.t VALUES (2);\nCOMMIT;")
    again = ask_here(shop, "migrate")
    assert again.code == 0, again.stdout
    assert again.entry()["applied"][0]["resumed_at"] == 2
    assert sorted(snow.rows(f"SELECT a FROM {schema}.t")) == [(1,), (2,)]


def test_what_one_file_uses_the_next_does_not(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """A file that changes its session costs a login; all other files share one."""
    schema = emulated.schema()
    for number in (1, 2, 3):
        wired.file(f"000{number}_clean.sql", f"CREATE TABLE {schema}.t{number} (a INT);")
    begin = start_log(snowflake_server)
    assert run_here(wired, "migrate").code == 0
    logins = [each for each in snowflake_server.requests[begin:] if each["path"].endswith("login-request")]
    assert len(logins) == 3  # The lock's, the history's, and one for all files.
    wired.file("0004_use.sql", f"USE SCHEMA {schema};\nCREATE TABLE here (a INT);")
    wired.file("0005_unqualified.sql", "CREATE TABLE there (a INT);")
    begin = start_log(snowflake_server)
    done = ask_here(wired, "migrate")
    assert done.code == 1, done.stdout
    assert [each["version"] for each in done.entry()["applied"]] == ["0004"]
    logins = [each for each in snowflake_server.requests[begin:] if each["path"].endswith("login-request")]
    assert len(logins) == 4
    assert emulated.rows(f"SELECT * FROM {schema}.here") == []


def test_questions_write_nothing(wired: ProjectFolder, snowflake_server: SnowflakeServer) -> None:
    """Read-only commands create no table, not even history and lock."""
    wired.file("0001_create.sql", "CREATE TABLE t (a INT);")
    begin = start_log(snowflake_server)
    for command in ("status", "pending", "history", "plan"):
        assert run_here(wired, command).code == 0
    sent = [each["sql"] for each in snowflake_server.requests[begin:] if "sql" in each]
    assert sent
    assert all(sql.startswith(("SELECT", "SHOW")) for sql in sent)


def test_of_two_runs_at_once_one_does_everything_and_the_other_names_it(shop: ProjectFolder, snow: SnowBed) -> None:
    """In each of four rounds the effect is there once."""
    schema = snow.schema()
    snow.executor.open_session().execute(f"CREATE TABLE {schema}.t (a INT)")
    for number in range(1, 5):
        shop.file(f"00{number:02d}_row.sql", f"INSERT INTO {schema}.t /* takes 1 s */ SELECT {number};")
        runs = [shop.start("migrate", "--format", "json") for _ in range(2)]
        ended = [(run.communicate(timeout=120), run.returncode) for run in runs]
        outputs = sorted((Output(code, *texts) for texts, code in ended), key=lambda output: output.code)
        assert [output.code for output in outputs] == [0, 4], [output.stderr for output in outputs]
        error = outputs[1].document["error"]
        assert error["code"] == "LOCK_HELD"
        assert error["pid"] in [run.pid for run in runs]
        assert error["host"] in error["message"]
        assert snow.rows(f"SELECT COUNT(*), SUM(a) FROM {schema}.t") == [(number, number * (number + 1) // 2)]


def test_killed_inside_a_statement_its_outcome_is_unknown(
    emulated: SnowBed, project: ProjectFolder, snowflake_server: SnowflakeServer
) -> None:
    """The next run names the statement and its tag and runs nothing again; the query history has its outcome."""
    project.catalog(emulated.catalog_file(lease="1s"))
    schema = emulated.schema()
    emulated.executor.open_session().execute(f"CREATE TABLE {schema}.t (a INT)")
    sql = f"INSERT INTO {schema}.t /* takes 20 s */ VALUES (1)"
    project.file("0001_row.sql", f"SELECT 1;\n{sql};")
    run = project.start("migrate")
    snowflake_server.wait_for(sql)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    time.sleep(2.5)  # Over by more than a lease: taken for dead, on whatever machine.
    again = ask_here(project, "migrate")
    assert again.code == 6, again.stdout
    error = again.document["error"]
    assert error["code"] == "OUTCOME_UNKNOWN"
    assert (error["path"], error["statement_index"]) == ("migrations/shop/0001_row.sql", 2)
    assert error["query_tag"] == f"glacierbase;{error['run_id']};0001;2"
    assert error["query_tag"] in error["message"]
    assert snowflake_server.statements().count(sql) == 1
    [case] = ask_here(project, "repair").entry()["cases"]
    assert (case["sql"], case["query_tag"]) == (sql, error["query_tag"])
    assert "RUNNING" in case["evidence"][0]
    not_done = ask_here(project, "repair", "1", "--as", "not-done", "--reason", "it was killed", "--yes")
    assert (not_done.code, not_done.document["error"]["code"]) == (6, "ENGINE_MAY_RUN")
    deadline = time.monotonic() + 60
    while case["suggests"] is None and time.monotonic() < deadline:
        [case] = ask_here(project, "repair").entry()["cases"]
    assert (case["suggests"], case["may_run"]) == ("done", False)
    assert "SUCCESS" in case["evidence"][0]
    said = ask_here(project, "repair", "1", "--as", "done", "--reason", "the query history says so", "--yes")
    assert said.code == 0, said.stdout
    assert run_here(project, "migrate").code == 0
    assert emulated.rows(f"SELECT a FROM {schema}.t") == [(1,)]
    assert snowflake_server.statements().count(sql) == 1


def test_a_lost_answer_is_unknown_and_not_failed(wired: ProjectFolder, emulated: SnowBed) -> None:
    """The answer is lost although the row was inserted, so that the outcome is unknown."""
    schema = emulated.schema()
    emulated.executor.open_session().execute(f"CREATE TABLE {schema}.t (a INT)")
    path = wired.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("network_timeout: 30", "network_timeout: 5"))
    wired.file("0001_row.sql", f"INSERT INTO {schema}.t /* the answer is lost */ VALUES (1);")
    done = ask_here(wired, "migrate")
    assert (done.code, done.document["error"]["code"]) == (6, "OUTCOME_UNKNOWN")
    assert ask_here(wired, "migrate").code == 6
    assert emulated.rows(f"SELECT COUNT(*) > 0 FROM {schema}.t") == [(True,)]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("${env:SNOWFLAKE_PASSWORD}", "${env:WRONG_PASSWORD}", "Incorrect username or password"),
        ("127.0.0.1", "127.0.0.2", "no session on Snowflake"),
        ("role: ENGINEER", "role: MISSING", "MISSING"),
        ("warehouse: SMALL", "warehouse: MISSING", "warehouse"),
        ("role: ENGINEER", "role: READER", "Insufficient privileges to operate on database 'DEMO'"),
    ],
)
def test_what_cannot_be_reached_is_one_clear_message(
    before: str, after: str, says: str, emulated: SnowBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run exits with 5, and names the place and the remedy, but no secret."""
    monkeypatch.setenv("WRONG_PASSWORD", "wrong")
    assert before in emulated.text
    patience = "login_timeout: 1" if after == "127.0.0.2" else "login_timeout: 30"
    text = emulated.text.replace(before, after).replace("login_timeout: 30", patience)
    project.catalog(text + "store: {namespace: glacierbase}\n")
    project.file("0001_create.sql", "CREATE TABLE t (a INT);")
    done = run_here(project, "migrate")
    assert done.code == 5, done.stderr
    assert says in done.stderr
    assert done.stderr.count("next: ") == 1
    assert "Traceback" not in done.stderr
    assert SNOWFLAKE_PASSWORD not in done.stderr + done.stdout


def test_stopped_a_run_lets_a_short_statement_end(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """The connector's own SIGINT handler, which would cancel the statement, is not in effect."""
    schema = emulated.schema()
    go_on = wired.root / "go-on"
    slow = f"CREATE TABLE {schema}.t /* waits for {go_on} */ (a INT)"
    wired.file("0001_two.sql", f"{slow};\nINSERT INTO {schema}.t VALUES (1);")
    run = wired.start("migrate")
    snowflake_server.wait_for(slow)
    run.send_signal(signal.SIGINT)
    wait_for_line(run, "stopping: ")
    go_on.touch()
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    assert emulated.rows(f"SELECT * FROM {schema}.t") == []
    assert ask_here(wired, "status").entry()["migrations"][0]["statements_done"] == 1
    assert run_here(wired, "migrate").code == 0
    assert emulated.rows(f"SELECT a FROM {schema}.t") == [(1,)]


def test_stopped_a_run_cancels_a_long_statement_by_its_id(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """The outcome needs a decision; the account's query history suggests that it had no effect."""
    slow = f"CREATE TABLE {emulated.schema()}.t /* takes 60 s */ (a INT)"
    wired.file("0001_slow.sql", f"{slow};")
    run = wired.start("migrate", "--format", "json")
    snowflake_server.wait_for(slow)
    run.send_signal(signal.SIGTERM)
    stdout, stderr = run.communicate(timeout=60)
    error = json.loads(stdout)["error"]
    assert (run.returncode, error["exit_code"], error["code"]) == (143, 143, "OUTCOME_UNKNOWN"), stderr
    assert "SELECT SYSTEM$CANCEL_QUERY(?)" in snowflake_server.statements()
    status = ask_here(wired, "status").entry()
    assert ([each["state"] for each in status["migrations"]], status["lock"]) == (["unknown"], None)
    [case] = ask_here(wired, "repair").entry()["cases"]
    assert (case["suggests"], case["may_run"]) == ("not-done", False)


def test_an_interrupted_caller_of_the_api_does_not_wait_for_the_statement(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """Ctrl-C in a notebook cancels the query by its id, records what is known of it and frees the lock."""
    slow = f"CREATE TABLE {emulated.schema()}.t /* takes 60 s */ (a INT)"
    wired.file("0001_slow.sql", f"{slow};")

    def interrupt() -> None:
        snowflake_server.wait_for(slow)
        # A real signal: `_thread.interrupt_main` would not wake a main thread that waits.
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Project.load(wired.root).migrate()
    assert time.monotonic() - began < 40
    assert "SELECT SYSTEM$CANCEL_QUERY(?)" in snowflake_server.statements()
    status = ask_here(wired, "status").entry()
    assert ([each["state"] for each in status["migrations"]], status["lock"]) == (["unknown"], None)


def test_the_sessions_of_history_and_lock_are_kept_alive(
    wired: ProjectFolder, snowflake_server: SnowflakeServer
) -> None:
    """The sessions are idle while a statement runs, and Snowflake closes an idle session after four hours."""
    begin = start_log(snowflake_server)
    wired.file("0001_ask.sql", "SELECT 1;")
    assert run_here(wired, "migrate").code == 0
    logins = [each for each in snowflake_server.requests[begin:] if each["path"].endswith("login-request")]
    kept = [each["parameters"].get("CLIENT_SESSION_KEEP_ALIVE") for each in logins]
    assert len(logins) == 3
    assert [str(each).lower() for each in kept].count("true") == 2  # Not the one that the files share.


def test_the_state_of_a_query_is_asked_for_once_in_a_while(
    wired: ProjectFolder, snowflake_server: SnowflakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement finds the id; further requests need no warehouse. A short statement causes none."""
    monkeypatch.setattr(session, "_INTERVAL_SECONDS", 1.0)
    wired.file("0001_slow.sql", "SELECT 1;\nSELECT 2 /* takes 4 s */;")
    before, began = start_log(snowflake_server), time.monotonic()
    with terminal() as recording, LiveLine(recording.stream).watching():
        Project.load(wired.root).migrate()
    seconds = time.monotonic() - began
    assert any(
        re.fullmatch(r"shop: running 0001 2/2 \(line 5\) 00:\d\d, query running", line) for line in recording.live
    )
    sent = snowflake_server.requests[before:]
    assert len([each for each in sent if "QUERY_HISTORY(" in each.get("sql", "")]) == 1
    assert 1 <= len([each for each in sent if each["path"].startswith("/monitoring/queries/")]) <= seconds


def test_a_second_sigint_ends_it_at_once_and_names_the_lock_that_stays(
    wired: ProjectFolder, emulated: SnowBed, snowflake_server: SnowflakeServer
) -> None:
    """The message has the lock's owner and lease; the outcome of the statement is unknown."""
    slow = f"CREATE TABLE {emulated.schema()}.t /* takes 15 s */ (a INT)"
    wired.file("0001_slow.sql", f"{slow};")
    run = wired.start("migrate")
    snowflake_server.wait_for(slow)
    run.send_signal(signal.SIGINT)
    wait_for_line(run, "stopping: ")
    started = time.monotonic()
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=60)
    assert time.monotonic() - started < 12
    assert run.returncode == 130, stderr
    owner = ask_here(wired, "status").entry()["lock"]["owner"]
    assert f"held by run {owner} of" in stderr
    assert "lease until" in stderr


def test_an_edited_file_is_refused(shop: ProjectFolder, snow: SnowBed) -> None:
    """A changed checksum of an applied file stops the run with exit 3."""
    schema = snow.schema()
    path: Path = shop.file("0001_create.sql", f"CREATE TABLE {schema}.t (a INT);")
    assert run_here(shop, "migrate").code == 0
    path.write_text(path.read_text().replace("INT", "BIGINT"))
    done = ask_here(shop, "migrate")
    assert (done.code, done.document["error"]["code"]) == (3, "CHECKSUM_MISMATCH")


def test_a_view_a_procedure_and_a_grant_are_repeatables(shop: ProjectFolder, snow: SnowBed) -> None:
    """The body of a procedure is one statement. What changed runs again, the rest does not."""
    schema = snow.schema()
    shop.file("0001_create.sql", f"CREATE TABLE {schema}.t (a INT);\nINSERT INTO {schema}.t VALUES (1), (2);")
    view = f"CREATE OR REPLACE VIEW {schema}.v AS SELECT a FROM {schema}.t WHERE a > {{}};"
    shop.file("repeatable/v.sql", view.format(1))
    procedure = (
        f"CREATE OR REPLACE PROCEDURE {schema}.p() RETURNS STRING LANGUAGE SQL AS $$\nBEGIN\n  RETURN 'x';\nEND;\n$$;"
    )
    shop.file("repeatable/p.sql", procedure)
    shop.file("repeatable/grants.sql", f"GRANT SELECT ON VIEW {schema}.v TO ROLE PUBLIC;")
    path = shop.root / "migrations/shop/repeatable/grants.sql"
    path.write_text(path.read_text().replace("\n\n", "\n-- MIGRATION_AFTER: v\n\n", 1))
    done = shop.ask("migrate")
    assert done.code == 0, done.stderr
    assert [file["name"] for file in done.entry()["applied"]] == [None, "p", "v", "grants"]
    assert snow.rows(f"SELECT a FROM {schema}.v") == [(2,)]
    shop.file("repeatable/v.sql", view.format(0))
    assert [file["name"] for file in shop.ask("migrate").entry()["applied"]] == ["v"]
    assert snow.rows(f"SELECT a FROM {schema}.v ORDER BY a") == [(1,), (2,)]
    assert [(each["name"], each["state"]) for each in shop.ask("status").entry()["repeatables"]] == [
        ("p", "applied"), ("v", "applied"), ("grants", "applied"),
    ]  # fmt: skip


def check_keys(bed: SnowBed, names: list[str], left_out: str) -> None:
    """Compare the macros with Python, for numbers, texts without the characters `left_out`, and NULL."""
    of_text = [text for text in texts(500) if not set(text) & set(left_out)]
    for ids in (numbers(500), of_text):
        rows = ", ".join(f"({at}, {literal(id)})" for at, id in enumerate([*ids, None]))
        columns = [sql for name, sql in expressions("snowflake", "column2").items() if name in names]
        found = bed.rows(f"SELECT {', '.join(columns)} FROM VALUES {rows} ORDER BY column1")
        in_python = [tuple(result[name] for name in names) for result in expected(ids)]
        assert [tuple(row) for row in found] == [*in_python, (None,) * len(names)]


def test_the_key_macros_compute_what_python_computes(emulated: SnowBed) -> None:
    """The emulator has no function for buckets, and leaves marks on their letters where it reverses texts."""
    check_keys(emulated, ["reversed", "prefix", "whole", "path"], "\x00\u0301\u200d🏽")


@pytest.mark.account
def test_on_an_account_all_key_macros_compute_what_python_computes(account: SnowBed) -> None:
    """Buckets and characters that combine included."""
    check_keys(account, list(CALLS), "\x00")


def literal(id: str | int | None) -> str:
    """Return an id as a literal of Snowflake's."""
    if isinstance(id, str):
        return "'" + id.replace("\\", r"\\").replace("'", "''") + "'"
    return "NULL" if id is None else str(id)
