"""The JVM that runs Spark: one process per catalog, started and ended here, its output in a log file."""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark.installed import spark_home
from glacierbase.executors.spark.properties import with_properties
from glacierbase.run.run import Run
from glacierbase.run.waiting import start_thread
from glacierbase.secrets import mask

# What spark-submit itself reads. All else is set in the session.
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
_POLL_SECONDS = 0.01
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
        output = _log_file(run)
        self.log = Path(output.name)
        with tempfile.TemporaryDirectory() as folder:
            connection_info = Path(folder, "connection-info")
            self._process = _launch(conf, java_home, Path(folder, "properties"), connection_info)
            self.pid = self._process.pid
            # glacierbase writes the log itself, so that no secret that the JVM prints reaches the disk.
            self._copier = start_thread(partial(_copy_masked, self._process, output), "glacierbase-spark-log")
            self.py4j: Any = self._connect(connection_info)

    def _connect(self, connection_info: Path) -> Any:
        """Wait until the JVM listens, and connect."""
        # Imported here, because the import takes as long as the JVM takes to start.
        from pyspark.java_gateway import launch_gateway

        while not connection_info.is_file():
            if self._process.poll() is not None:
                self._copier.join(timeout=_COPY_SECONDS)
                raise EngineUnavailable(
                    "SPARK_DID_NOT_START", f"Spark did not start: {_last_error(self.log)}", f"see {self.log}"
                )
            time.sleep(_POLL_SECONDS)
        with _environ(**_connection(connection_info.read_bytes())):
            return launch_gateway()

    def close(self, grace_seconds: float) -> None:
        """End the JVM and wait for it, so long. Never raises."""
        try:
            self.py4j.shutdown()
        except Exception:  # Whatever py4j says about a JVM that is going or gone.
            self._process.kill()
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._copier.join(timeout=_COPY_SECONDS)


def _launch(conf: Mapping[str, str], java_home: Path, properties: Path, connection_info: Path) -> subprocess.Popen[str]:
    """Start the JVM as pyspark does, which lets nobody do something else meanwhile. It reads `properties`, which is written
    here, and writes to `connection_info` where it listens; it ends when its stdin does."""
    values = {key: value for key, value in conf.items() if key.startswith(_LAUNCH)}
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    home = spark_home()
    return subprocess.Popen(
        [home / "bin" / "spark-submit", *with_properties(values, arguments, properties)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
        start_new_session=True,  # What a terminal or a service sends to all of ours is for us to answer.
        env={
            "SPARK_LAUNCHER_OPTS": _LAUNCHER_OPTS,
            **os.environ,
            "JAVA_HOME": str(java_home),
            "SPARK_HOME": str(home),  # Else a script asks a Python of its own.
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_info),
        },
    )


def _connection(connection_info: bytes) -> dict[str, str]:
    """Where the JVM listens and its secret, as pyspark takes them of one that runs already."""
    port, length = struct.unpack(">ii", connection_info[:8])
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": connection_info[8 : 8 + length].decode()}


@contextmanager
def _environ(**values: str) -> Iterator[None]:
    """This process's own environment with `values`, for a while."""
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


def _log_file(run: Run) -> IO[str]:
    """A new file of this user alone, in the project or, where that is read-only, in the folder for temporary files."""
    folder = Path(run.project, ".glacierbase", "logs")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
        return _new_file(run, folder)
    except OSError:
        return _new_file(run, Path(tempfile.gettempdir()))


def _new_file(run: Run, folder: Path) -> IO[str]:
    """Never a file or a link that another user has put there (tempfile opens with O_EXCL and mode 0600)."""
    prefix = f"spark-{run.id}-"
    return tempfile.NamedTemporaryFile("w", prefix=prefix, suffix=".log", dir=folder, delete=False)


def _copy_masked(process: subprocess.Popen[str], target: IO[str]) -> None:
    assert process.stdout
    with process.stdout, target:
        for line in process.stdout:
            target.write(mask(line))
            target.flush()


def _last_error(log: Path) -> str:
    """The line of the log that most likely says why: the last one that names an error, else the last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    named = [line for line in lines if ("Error" in line or "Exception" in line) and not line.startswith("at ")]
    return (named or lines or ["it printed nothing"])[-1]
