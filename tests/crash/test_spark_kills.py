"""A killed statement that Spark ran is settled by its table or its namespace, wherever history and lock are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from glacierbase.executors import Session
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.spark import Spark
from glacierbase.executors.spark.evidence import proving_table
from glacierbase.model.catalog import Catalog
from glacierbase.run import clock as clocks
from glacierbase.run.run import Run
from tests.crash.test_direct_kills import BEFORE, DECLARED, SPARK, STATEMENTS, WITHOUT_COMMIT, KilledProject
from tests.support.catalog_files import RUNTIME, SQLITE
from tests.support.clock import Clock
from tests.support.fakes import lost_answer
from tests.support.processes import ended_process
from tests.support.program import run_here
from tests.support.spark_kills import migrate_killed

ENGINE = SPARK.replace("direct: auto", "direct: never") + DECLARED
JARS = f'    dependencies: ["{RUNTIME}", "{SQLITE}"]\n'
# Where history and lock are: the name of the tables' catalog, and the catalog file.
STORES: Mapping[str, tuple[str, str]] = {
    "same": ("lake", ENGINE + JARS + "store: {lockLease: 2s}\n"),
    "embedded": ("lake", ENGINE + JARS + "store: {type: embedded, lockLease: 2s}\n"),
    "other": (
        "lake",
        ENGINE + DECLARED.replace("NAME", "other") + JARS + "store: {catalog: other, lockLease: 2s}\n",
    ),
}


class _StandIn(IcebergExecutor):
    """Stands for Spark, whose process has ended: it names no file after a statement, and loses an answer.

    Attributes:
        when: "before" or "after" the second statement takes effect; empty to lose none.
    """

    when = ""

    def __init__(self, catalog: Catalog, _: Run) -> None:
        super().__init__(catalog)
        self.process = ended_process()
        self._ran = 0

    def proving_table(self, sql: str, file: str) -> str | None:
        return proving_table(sql, file)

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        session: Any = super().open_session(bookkeeping=bookkeeping)
        execute = session.execute

        def losing(sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
            self._ran += tag is not None
            is_lost = tag is not None and self._ran == 2
            if not is_lost or self.when != "before":
                execute(sql, parameters)
            if is_lost and self.when:
                lost_answer()

        session.execute = losing
        return session  # type: ignore[no-any-return]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_lost_statement_of_an_engine_is_settled_by_what_it_does(
    statement: str, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file names a statement of Spark, so the table and its log are compared with what the statement makes of them."""
    project = KilledProject(tmp_path / "project", STORES["embedded"], statement)
    monkeypatch.setattr(clocks, "time", Clock())
    monkeypatch.setattr(Spark, "open_executor", lambda _, *arguments: _StandIn(*arguments))
    monkeypatch.setattr(_StandIn, "when", when)
    assert run_here(project, "migrate").code == 6
    took_effect = when == "after" or statement in WITHOUT_COMMIT
    assert project.state() == (project.after if took_effect else BEFORE)
    monkeypatch.setattr(_StandIn, "when", "")
    project.check_settled(run_here(project, "migrate"), None if statement in WITHOUT_COMMIT else took_effect)


@pytest.mark.spark
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("store", STORES)
def test_the_next_run_settles_what_a_kill_of_spark_left_open(
    store: str, statement: str, when: str, tmp_path: Path
) -> None:
    """Each effect is there once, the record is true, and no person is needed."""
    project = KilledProject(tmp_path / "project", STORES[store], statement)
    migrate_killed(project, 2, when)
    took_effect = when == "after" or statement in WITHOUT_COMMIT
    assert project.state() == (project.after if took_effect else BEFORE)
    project.check_settled(project.run("migrate"), None if statement in WITHOUT_COMMIT else took_effect)
