"""The JVM that runs Spark: one process per catalog, started and ended here, its output in a log file."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from glacierbase.errors import EngineUnavailable
from glacierbase.run import Run
from glacierbase.secrets import mask

# What spark-submit itself reads. All else is set in the session: a command line is readable by every user of the machine.
_LAUNCH = (
    "spark.master",
    "spark.submit.",
    "spark.driver.",
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.yarn.",
)
_COPY_SECONDS = 20
# Of the JVM that puts the command line of the other one together, and ends.
_LAUNCHER_OPTS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class Gateway:
    """A running JVM and the py4j connection to it.

    Attributes:
        log: the file that takes what the JVM prints, with secrets masked.
        pid: of the JVM.
        py4j: the connection, as pyspark wants it.
    """

    def __init__(self, conf: Mapping[str, str], run: Run, java_home: Path) -> None:
        """Start the JVM with the part of `conf` that it needs at its start.

        Raises:
            EngineUnavailable: the JVM ended before it was ready.
        """
        from pyspark.errors import PySparkException
        from pyspark.find_spark_home import _find_spark_home
        from pyspark.java_gateway import launch_gateway

        self.log = _log_file(run)
        read, write = os.pipe()
        # A thread of ours writes the file, so that no secret the JVM may print reaches the disk.
        self._copier = threading.Thread(
            target=_copy_masked, args=(os.fdopen(read, errors="replace"), self.log), daemon=True
        )
        self._copier.start()
        launch = _LaunchConf((key, value) for key, value in conf.items() if key.startswith(_LAUNCH))
        try:
            with _environ(
                JAVA_HOME=str(java_home),
                SPARK_HOME=_find_spark_home(),  # Else a script asks a Python of its own.
                SPARK_LAUNCHER_OPTS=os.environ.get("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTS),
            ):
                self.py4j: Any = launch_gateway(launch, popen_kwargs={"stdout": write, "stderr": write})
        except PySparkException as error:
            os.close(write)
            self._copier.join(timeout=_COPY_SECONDS)
            raise EngineUnavailable(
                "SPARK_DID_NOT_START", f"Spark did not start: {_last_error(self.log)}", f"see {self.log}"
            ) from error
        os.close(write)
        self.pid: int = self.py4j.proc.pid

    def close(self, grace_seconds: float) -> None:
        """End the JVM and wait for it, so long. Never raises."""
        process: subprocess.Popen[bytes] = self.py4j.proc
        try:
            self.py4j.shutdown()
        except Exception:  # Whatever py4j says about a JVM that is going or gone.
            process.kill()
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._copier.join(timeout=_COPY_SECONDS)


class _LaunchConf(dict[str, str]):
    """What `launch_gateway` asks of a configuration."""

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 (pyspark's name)
        return list(self.items())


@contextmanager
def _environ(**values: str) -> Iterator[None]:
    """`launch_gateway` hands this process's own environment to the JVM; there is no other way to name the Java."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def _log_file(run: Run) -> Path:
    folder = Path(run.project, ".glacierbase", "logs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
    except OSError:  # A read-only checkout.
        folder = Path(tempfile.gettempdir())
    return folder / f"spark-{run.id}.log"


def _copy_masked(source: IO[str], target: Path) -> None:
    with source, target.open("a") as file:
        for line in source:
            file.write(mask(line))
            file.flush()


def _last_error(log: Path) -> str:
    """The line of the log that most likely says why: the last one that names an error, else the last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    named = [line for line in lines if ("Error" in line or "Exception" in line) and not line.startswith("at ")]
    return (named or lines or ["it printed nothing"])[-1]
