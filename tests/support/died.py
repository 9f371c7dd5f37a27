"""A run that dies with its Spark between the effect of a statement and the record of it."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.support.project_folder import REPOSITORY, ProjectFolder

_DIES = """
import os, signal, sys
from glacierbase.executors.spark.session import SparkSessionPort
from tests.support.program import call_program

execute = SparkSessionPort.execute

def die(session, sql, *arguments, **options):
    execute(session, sql, *arguments, **options)
    if sys.argv[2] in sql:
        os.kill(int(session._spark._jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

SparkSessionPort.execute = die
call_program(["migrate", "--project", sys.argv[1]])
"""


def die_after(text: str, project: ProjectFolder) -> None:
    """Run `migrate`; kill its JVM and itself after Spark has executed a statement that contains `text`."""
    died = subprocess.run([sys.executable, "-c", _DIES, str(project.root), text], cwd=REPOSITORY, check=False)
    assert died.returncode == -signal.SIGKILL
