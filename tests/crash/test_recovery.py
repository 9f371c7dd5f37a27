"""Runs that are killed while their commit is on its way to a REST catalog: the next run finds out what became of it.

The server kills the run, Python and JVM, when the commit of its INSERT arrives; then it drops the commit, executes it at once,
or executes it after the next run has looked at the table.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.apply import recover
from glacierbase.errors import GlacierbaseError
from tests.support.beds import WebBed
from tests.support.processes import state_of
from tests.support.project_folder import ProjectFolder
from tests.support.world import wait_until

TIMEOUTS = """\
      spark.sql.catalog.lake.rest.client.connection-timeout-ms: 1000
      spark.sql.catalog.lake.rest.client.socket-timeout-ms: 59000
"""
GRACE = 8.0  # The sum of the two where a test waits for it, and more than the lease.


def jvm_of(run: subprocess.Popen[str]) -> int:
    """Return the process id of the JVM that a run has started."""
    [child] = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    return int(child)


class Lost:
    """A table, a migration that inserts a row, and a run of it that is killed when its commit arrives at the server."""

    def __init__(self, web: WebBed, project: ProjectFolder) -> None:
        self._web = web
        self._project = project
        self.namespace = f"r{uuid.uuid4().hex[:8]}"
        self.looked = threading.Event()
        with closing(web.executor.open_session()) as session:
            session.execute(f"CREATE NAMESPACE lake.{self.namespace}")
            session.execute(f"CREATE TABLE lake.{self.namespace}.t (a INT) USING iceberg")
        text = web.text.replace("      spark.sql.catalog.lake.token", f"{TIMEOUTS}      spark.sql.catalog.lake.token")
        project.catalog(f"{text}store: {{namespace: {self.namespace}, lockLease: 2s}}\n")
        project.file("1_a.sql", f"INSERT INTO lake.{self.namespace}.t VALUES (1)")
        self._table = f"/v1/namespaces/{self.namespace}/tables/t"

    def kill(self, lands: Callable[[], bool]) -> None:
        """Run until the commit arrives; `lands` returns whether it takes effect, after any time."""
        run = self._project.start("migrate")

        def before(request: str) -> bool:
            if request == f"POST {self._table}" and not killed:
                killed.append(jvm_of(run))
                for pid in (run.pid, *killed):
                    os.kill(pid, signal.SIGKILL)
                if lands():
                    self._web.server.loses.append(request)
                    return True
                return False
            if request == f"GET {self._table}" and killed:
                self.looked.set()
            return True

        killed: list[int] = []
        self._web.server.before = before
        assert run.wait(600) == -signal.SIGKILL
        wait_until(lambda: state_of(killed[0]) in (None, "Z"))

    def wait_less(self) -> None:
        """Let the time of a late commit be `GRACE`; a run on a busy machine needs longer time-outs."""
        path = self._project.root / "catalogs/shop.yaml"
        path.write_text(path.read_text().replace("59000", "7000"))

    def settle(self) -> str | None:
        """Migrate in this process; return what was recorded. What is pending then does not run: no second Spark starts here."""
        with suppress(GlacierbaseError):
            Project.load(self._project.root).migrate()
        [history] = Project.load(self._project.root).history()
        repaired = [event for event in history.events if event.event == "repaired"]
        assert all(event.principal == "glacierbase" for event in repaired)
        return str(repaired[-1].state) if repaired else None

    @property
    def rows(self) -> list[int]:
        return [row[0] for row in self._web.rows(f"SELECT a FROM lake.{self.namespace}.t")]


@pytest.fixture
def lost(web: WebBed, project: ProjectFolder) -> Iterator[Lost]:
    """A run that is going to be killed."""
    yield Lost(web, project)
    web.server.before = lambda request: True
    web.server.loses.clear()


def test_a_commit_that_was_dropped_is_not_done(lost: Lost) -> None:
    """The second look is after the grace, and finds the table as it was; the statement runs again."""
    lost.kill(lands=lambda: False)
    lost.wait_less()
    started = time.monotonic()
    assert lost.settle() == "interrupted"
    assert time.monotonic() - started >= GRACE
    done = lost._project.run("migrate")
    assert (done.code, lost.rows) == (0, [1]), done.stderr


def test_a_commit_whose_answer_was_lost_is_done(lost: Lost) -> None:
    """Nothing waits for what is there."""
    lost.kill(lands=lambda: True)
    wait_until(lambda: lost.rows == [1])
    assert lost.settle() == "applied"
    assert lost.rows == [1]


@pytest.mark.parametrize(("waits", "verdict"), [(True, "applied"), (False, "interrupted")])
def test_a_commit_that_lands_after_the_first_look_is_done_only_because_of_the_second(
    waits: bool, verdict: str, lost: Lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a wait until it has landed the verdict is wrong, which shows that this test can fail."""

    def land_late() -> bool:
        assert lost.looked.wait(600)
        if not waits:
            assert settled.wait(600)
        return True

    settled = threading.Event()
    monkeypatch.setattr(recover, "_wait", lambda *_: wait_until(lambda: lost.rows == [1]) if waits else None)
    lost.kill(lands=land_late)
    assert lost.settle() == verdict
    settled.set()
    wait_until(lambda: lost.rows == [1])


def test_a_commit_of_another_writer_leaves_the_outcome_to_a_person(lost: Lost, web: WebBed) -> None:
    """The killed run's commit was dropped, but the table cannot prove that."""
    lost.kill(lands=lambda: False)
    with closing(web.executor.open_session()) as session:
        session.execute(f"INSERT INTO lake.{lost.namespace}.t VALUES (2)")
    assert lost.settle() is None
