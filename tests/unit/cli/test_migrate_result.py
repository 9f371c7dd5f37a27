"""What `migrate` prints of a file that stopped, and of one that it resumed."""

from __future__ import annotations

import signal

import pytest

from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder

FOUR = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2);\nSELECT 1"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A project with one pending file of four statements."""
    lakes = Lakes(project, monkeypatch)
    project.file("0001_a.sql", FOUR)
    return lakes


@pytest.mark.parametrize(
    ("form", "label"), [("text", "UNKNOWN  migrations/shop/0001_a.sql  at statement 3, line 6"), ("json", "")]
)
def test_a_statement_that_ctrl_c_left_unknown_is_not_called_failed(form: str, label: str, lakes: Lakes) -> None:
    """Whether it took effect is not known; the exit code is that of the signal."""

    def stop(sql: str) -> None:
        if "VALUES (2)" in sql:
            signal.raise_signal(signal.SIGINT)
            lost_answer()

    lakes.place("dev").engine.before = stop
    output = lakes.run(f"migrate --catalog shop --format {form}")
    assert output.code == 130
    assert "FAILED" not in output.stdout + output.stderr
    assert label in output.stdout
    if form == "json":
        assert output.entry()["failed"]["state"] == "unknown"
        assert output.document["error"]["code"] == "OUTCOME_UNKNOWN"


def test_a_statement_that_the_engine_refused_is_called_failed(lakes: Lakes) -> None:
    """A refused statement had no effect, which is proven."""
    lakes.project.file("0001_a.sql", FOUR.replace("t VALUES (2)", "nowhere VALUES (2)"))
    assert lakes.run("migrate --catalog shop --format json").entry()["failed"]["state"] == "failed"
    assert "  FAILED   migrations/shop/0001_a.sql  at statement 3, line 6" in lakes.run("migrate --catalog shop").stdout


def test_a_resumed_file_says_how_many_statements_ran_now(lakes: Lakes) -> None:
    """The statements before were done by the run that failed."""
    lakes.project.file("0001_a.sql", FOUR.replace("t VALUES (2)", "nowhere VALUES (2)"))
    assert lakes.run("migrate --catalog shop").code == 1
    lakes.project.file("0001_a.sql", FOUR)
    output = lakes.run("migrate --catalog shop")
    assert "migrations/shop/0001_a.sql  2 of 4 statements, " in output.stdout
    assert output.stdout.rstrip().endswith(", resumed at statement 3")


def test_off_a_terminal_each_applied_file_is_listed_once(lakes: Lakes) -> None:
    """A CI service shows both streams as one log. Beside JSON, which is no log, stderr lists them."""
    output = lakes.run("migrate --catalog shop")
    assert (output.stdout + output.stderr).count("migrations/shop/0001_a.sql") == 1
    lakes.project.file("0002_b.sql", "SELECT 1")
    output = lakes.run("migrate --catalog shop --format json")
    assert output.entry()["applied"][0]["path"] == "migrations/shop/0002_b.sql"
    assert output.stderr.startswith("applied  migrations/shop/0002_b.sql  1 statement, ")
