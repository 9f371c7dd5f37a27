"""The JVM that runs Spark: one process per catalog, with its output in a log file, and its settings in a properties file."""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark.installed import spark_home
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.run.activity import note
from glacierbase.run.files import FileRefused, path_inside
from glacierbase.run.run import Run
from glacierbase.run.waiting import start_thread
from glacierbase.secrets import mask

# The settings that spark-submit reads. All others are set in the session.
_LAUNCH = (
    "spark.master",
    "spark.submit.",
    "spark.driver.",
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.yarn.",
)
# A line of Ivy's output; only the file's name in the address is shown.
_DOWNLOAD = re.compile(r"downloading \S*/([^\s/]+) \.\.\.")
_CONNECTION_INFO = "connection-info"
_COPY_SECONDS = 20
_POLL_SECONDS = 0.01
# Flags of the launcher: a short-lived JVM that builds the command line of Spark's JVM.
_LAUNCHER_OPTS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_OPTION = "--properties-file"


class Gateway:
    """A running JVM and the py4j connection to it.

    Attributes:
        log: the file with the JVM's output, masked.
        pid: the process id of the JVM.
        py4j: the py4j gateway, for pyspark.
    """

    def __init__(self, conf: Mapping[str, str], run: Run, java_home: Path, sandbox: JvmSandbox | None = None) -> None:
        """Start the JVM with the settings in `conf` that spark-submit reads.

        Args:
            sandbox: restricts the JVM; by default it has the rights of this process.

        Raises:
            EngineUnavailable: the JVM ended before it was ready, or its files cannot be written.
        """
        try:
            output = _log_file(run)
            self.log = Path(output.name)
            with tempfile.TemporaryDirectory(dir=sandbox.folder / "tmp" if sandbox else None) as folder:
                self._start(conf, java_home, Path(folder), sandbox, output)
        except OSError as error:
            what, hint = (
                f"Spark did not start: {error}",
                "make room for temporary files; the variable TMPDIR names their folder",
            )
            raise EngineUnavailable("SPARK_DID_NOT_START", what, hint) from error

    def _start(
        self, conf: Mapping[str, str], java_home: Path, folder: Path, sandbox: JvmSandbox | None, output: IO[str]
    ) -> None:
        self._process = _launch(conf, java_home, folder, sandbox)
        try:
            self.pid = self._process.pid
            # glacierbase writes the log itself, so that no secret that the JVM prints reaches the disk.
            self._copier = start_thread(partial(_copy_masked, self._process, output), "glacierbase-spark-log")
            self.py4j: Any = self._connect(folder / _CONNECTION_INFO)
        except BaseException:
            # A JVM that cannot write its connection information, because the folder is deleted, does not end by itself.
            self._process.kill()
            self._process.wait()  # The JVM may be writing into a folder that the caller removes.
            raise

    def _connect(self, connection_info: Path) -> Any:
        """Wait until the JVM listens, and connect."""
        # Imported here, because the import takes as long as the JVM takes to start.
        from pyspark.java_gateway import launch_gateway

        while not connection_info.is_file():
            if self._process.poll() is not None:
                self._copier.join(timeout=_COPY_SECONDS)
                raise EngineUnavailable(
                    "SPARK_DID_NOT_START",
                    f"Spark did not start: {_last_error(self.log)}",
                    f"see {self.log}",
                    log=str(self.log),
                )
            time.sleep(_POLL_SECONDS)
        with _environ(**_connection(connection_info.read_bytes())):
            return launch_gateway()

    @property
    def is_running(self) -> bool:
        """Whether the JVM has not ended."""
        return self._process.poll() is None

    def close(self, grace_seconds: float) -> None:
        """End the JVM; kill it if it does not end within `grace_seconds`. Never raises."""
        try:
            self.py4j.shutdown()
        except Exception:  # py4j raises various errors if the JVM is ending or has ended.
            self._process.kill()
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._copier.join(timeout=_COPY_SECONDS)


def _launch(
    conf: Mapping[str, str], java_home: Path, folder: Path, sandbox: JvmSandbox | None
) -> subprocess.Popen[str]:
    """Start the JVM as pyspark does, without waiting for it. It ends when its stdin is closed.

    Args:
        folder: for the settings, and for the file in which the JVM writes its port and secret.
    """
    values = {key: value for key, value in conf.items() if key.startswith(_LAUNCH)}
    given = sandbox.arguments if sandbox else shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    home = spark_home()
    jars = filter(None, conf.get("spark.driver.extraClassPath", "").split(":"))
    confined = sandbox.command(java_home, jars) if sandbox else []
    return subprocess.Popen(
        [*confined, home / "bin" / "spark-submit", *with_properties(values, given, folder / "properties")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
        start_new_session=True,  # Signals to the process group must not end the JVM; glacierbase ends it.
        cwd=sandbox.folder / "tmp" if sandbox else None,
        env={
            "SPARK_LAUNCHER_OPTS": _LAUNCHER_OPTS,
            **(sandbox.environment if sandbox else os.environ),
            "JAVA_HOME": str(java_home),
            "SPARK_HOME": str(home),  # Otherwise a script runs another Python to find it.
            "SPARK_CONNECT_MODE": "0",
            "PYTHONSAFEPATH": "1",  # Spark 4 starts `python3 -m` to find data sources written in Python.
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _CONNECTION_INFO),
        },
    )


def _connection(connection_info: bytes) -> dict[str, str]:
    """Return the variables by which pyspark connects to a running JVM."""
    port, length = struct.unpack(">ii", connection_info[:8])
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": connection_info[8 : 8 + length].decode()}


@contextmanager
def _environ(**values: str) -> Iterator[None]:
    """Set environment variables of this process, and restore them at the end."""
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
    """Open a new file that only this user can read: in the project, or in the temporary folder if the project is read-only."""
    try:
        folder = path_inside(Path(run.project, ".glacierbase", "logs"), Path(run.project))
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
        return _new_file(run, folder)
    except (OSError, FileRefused):
        return _new_file(run, Path(tempfile.gettempdir()))


def _new_file(run: Run, folder: Path) -> IO[str]:
    """Open a new file, never a file or a link that another user placed there (tempfile: O_EXCL and mode 0600)."""
    prefix = f"spark-{run.id}-"
    return tempfile.NamedTemporaryFile("w", prefix=prefix, suffix=".log", dir=folder, delete=False)


def _copy_masked(process: subprocess.Popen[str], target: IO[str]) -> None:
    assert process.stdout
    # A full disk ends neither the reading, without which the JVM would wait, nor the run.
    with process.stdout, suppress(OSError), target:
        for line in process.stdout:
            if match := _DOWNLOAD.match(line):
                note(f"downloading {match[1]}")
            with suppress(OSError):
                target.write(mask(line))
                target.flush()


def _last_error(log: Path) -> str:
    """Return the line of the log that most likely gives the cause: the last one that names an error, else the last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    named = [line for line in lines if ("Error" in line or "Exception" in line) and not line.startswith("at ")]
    return (named or lines or ["it printed nothing"])[-1]


def defaults_file() -> Path:
    """Return the administrator's defaults file, which may not exist.

    https://spark.apache.org/docs/latest/configuration.html#dynamically-loading-spark-properties
    """
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf", "spark-defaults.conf")


def with_properties(values: Mapping[str, str], arguments: Sequence[str], file: Path) -> list[str]:
    """Write `values` to the new `file`, and return the arguments of spark-submit with that file as its properties.

    Spark reads one properties file. The new file therefore begins with the content of the file that Spark would read otherwise:
    the file that `arguments` name, else the administrator's. Of two equal keys Java takes the last.
    """
    named, others = _split(arguments)
    source = Path(named) if named else defaults_file()
    if named and not source.is_file():
        return list(arguments)  # Spark reports that the file is missing.
    content = source.read_bytes() if source.is_file() else b""
    file.touch(0o600, exist_ok=False)
    # An empty line, because the last one of the file may end in a backslash.
    file.write_bytes(content + b"\n\n" + _lines(values).encode("ascii"))
    return [_OPTION, str(file), *others]


def _split(arguments: Iterable[str]) -> tuple[str, list[str]]:
    """Return the properties file that the arguments name, or an empty string, and the other arguments."""
    named, others = "", []
    rest = iter(arguments)
    for argument in rest:
        option, _, value = argument.partition("=")
        if option == _OPTION:
            named = value or next(rest, "")
        else:
            others.append(argument)
    return named, others


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in values.items())


def _escaped(text: str) -> str:
    r"""Return the text with everything but letters and digits as `\uXXXX`, which is never a separator or a comment.

    https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/Properties.html#load(java.io.Reader)
    """
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in ".-") else _units(letter) for letter in text
    )


def _units(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))
