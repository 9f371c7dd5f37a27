"""A killed statement that Spark ran is settled by its table or its namespace, wherever history and lock are.

The kill, as a program: run `migrate` of a project, and kill Spark and the process before or after its second statement.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from glacierbase.executors import Session
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.spark import Spark
from glacierbase.executors.spark.evidence import proving_table
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.run import clock as clocks
from glacierbase.run.run import Run
from tests.crash.test_direct_kills import BEFORE, DECLARED, SPARK, STATEMENTS, WITHOUT_COMMIT, KilledProject
from tests.support.catalog_files import RUNTIME, SQLITE
from tests.support.clock import Clock
from tests.support.fakes import lost_answer
from tests.support.processes import ended_process
from tests.support.program import call_program, run_here
from tests.support.project_folder import REPOSITORY

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
    command = [sys.executable, "-m", __name__, str(project.root), when]
    killed = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    took_effect = when == "after" or statement in WITHOUT_COMMIT
    assert project.state() == (project.after if took_effect else BEFORE)
    project.check_settled(project.run("migrate"), None if statement in WITHOUT_COMMIT else took_effect)


def _main(root: str, when: str) -> None:
    """Run `migrate`; kill Spark and this process before or after its second statement."""
    processes, start, execute, ran = [os.getpid()], Gateway.__init__, SparkSessionPort.execute, 0

    def started(gateway: Gateway, *arguments: Any) -> None:
        start(gateway, *arguments)
        processes.insert(0, gateway.pid)

    def killing(port: SparkSessionPort, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
        nonlocal ran
        ran += tag is not None
        is_second = tag is not None and ran == 2
        if not is_second or when == "after":
            execute(port, sql, parameters, tag=tag)
        for process in processes if is_second else ():
            os.kill(process, signal.SIGKILL)

    Gateway.__init__ = started  # type: ignore[method-assign]
    SparkSessionPort.execute = killing  # type: ignore[method-assign]
    call_program(["migrate", "--project", root])


if __name__ == "__main__":
    _main(*sys.argv[1:])
