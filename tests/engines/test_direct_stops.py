"""Signals to a run whose direct statement waits in native code: for the answer of an object store that accepts and is silent.

The native code is that of obstore, or of Arrow where a catalog names PyIceberg's file IO: the interpreter does not exit before it.
"""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import pytest

from glacierbase.executors.cancel import GRACE_SECONDS
from tests.support.processes import wait_for_line
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties:
      type: sql
      uri: sqlite:///FOLDER/lake.db
      warehouse: s3://bucket/lake
      s3.endpoint: http://127.0.0.1:PORT
      s3.access-key-id: key
      s3.secret-access-key: ${secret:MIGRATOR_LOGIN}
      s3.region: us-east-1
      s3.connect-timeout: 300.0
      s3.request-timeout: 300.0
OWN
store: {type: embedded}
"""
# What a run may take to end after a signal on a busy machine; the object store would be given up after 300 s.
SECONDS = GRACE_SECONDS + 20


@pytest.fixture(params=["", "      py-io-impl: pyiceberg.io.pyarrow.PyArrowFileIO"], ids=["obstore", "Arrow"])
def waiting(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[ProjectFolder, Popen[str]]]:
    """A project, and a run whose second statement waits for the object store."""
    project = ProjectFolder(tmp_path / "project")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        text = CATALOG.replace("FOLDER", str(tmp_path)).replace("PORT", str(silent.getsockname()[1]))
        project.catalog(text.replace("OWN", request.param))
        project.file("1_a.sql", "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id INT) USING iceberg")
        silent.settimeout(60)
        run = project.start("migrate")
        try:
            with silent.accept()[0]:
                yield project, run
        finally:
            run.kill()
            run.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_leaves_a_statement_that_waits_in_native_code(
    waiting: tuple[ProjectFolder, Popen[str]], number: signal.Signals
) -> None:
    """The run ends within seconds, its record says unknown, and its lock is free; the next run settles the statement."""
    project, run = waiting
    began = time.monotonic()
    run.send_signal(number)
    _, stderr = run.communicate(timeout=60)
    assert time.monotonic() - began < SECONDS
    assert run.returncode == 128 + number, stderr
    assert "OUTCOME_UNKNOWN" in stderr
    status = ask_here(project, "status").entry()
    assert (status["migrations"][0]["state"], status["migrations"][0]["statements_done"]) == ("unknown", 1)
    assert status["lock"] is None


def test_a_second_signal_ends_a_run_whose_statement_waits_in_native_code(
    waiting: tuple[ProjectFolder, Popen[str]],
) -> None:
    """The announcement is in the history, so that the outcome is unknown; the lock names a process that has ended."""
    project, run = waiting
    run.send_signal(signal.SIGTERM)
    wait_for_line(run, "stopping: ")
    began = time.monotonic()
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    assert time.monotonic() - began < GRACE_SECONDS
    assert run.returncode == 128 + signal.SIGTERM
    assert ask_here(project, "status").entry()["migrations"][0]["state"] == "unknown"
