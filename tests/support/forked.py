"""The program, and the worker of its sandbox, in processes forked from one that has imported both.

Real processes all the same, with output, folder, environment and exit code of their own, for a tenth of the cost of starting
an interpreter. The process that is forked runs no test, and its environment has only what an interpreter reads at its start.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from select import select
from typing import Any, BinaryIO

_PACKAGE = Path(__file__).parents[2] / "glacierbase"
# Rooms that import vendors' packages, which some of the tests' environments do not have.
_LEFT_OUT = ("glacierbase.__main__", "glacierbase.executors.", "glacierbase.capabilities.load.", "glacierbase.stores.")
# What an interpreter reads at its start; the loader's variables also reach a worker.
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "DYLD_")
_NUMBER = struct.Struct("i")
# The connection to the process that is forked, by the process that has it.
_connections: dict[int, socket.socket] = {}


def _of_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environ.items() if key.startswith(_READ_AT_START)}


_AT_START = _of_start(os.environ)


def can_be_forked(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter would start with these variables as the one that is forked did."""
    return _of_start(environ) == _AT_START


def run_forked(
    arguments: Sequence[str], folder: Path, environ: Mapping[str, str], timeout: float
) -> tuple[int, str, str]:
    """Run the program to its end; return its exit code, stdout and stderr.

    Raises:
        subprocess.TimeoutExpired: after `timeout` seconds. The process still runs.
    """
    with (
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
        Path(os.devnull).open("rb") as stdin,
        _fork("program", arguments, folder, environ, [each.fileno() for each in (stdin, stdout, stderr)]) as told,
    ):
        _number(told)
        if not select([told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        code = os.waitstatus_to_exitcode(_number(told))
        texts = []
        for each in (stdout, stderr):
            each.seek(0)
            texts.append(each.read().decode().replace("\r\n", "\n"))
    return code, texts[0], texts[1]


class ForkedWorker:
    """A worker of the sandbox, with the part of the interface of `subprocess.Popen` that the sandbox uses."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        """Args: as `sandbox._start`."""
        given, stdin = os.pipe()
        stdout, written = os.pipe()
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        with os.fdopen(given, "rb"), os.fdopen(written, "wb"), Path(os.devnull).open("wb") as stderr:
            self._told = _fork("worker", arguments, Path("/"), environ, [given, written, stderr.fileno()])
        self.pid = _number(self._told)
        self._code: int | None = None

    def wait(self) -> int:
        if self._code is None:
            with self._told:
                self._code = os.waitstatus_to_exitcode(_number(self._told))
        return self._code

    def kill(self) -> None:
        # A process that has ended may have left its id to another one.
        if self._code is None and not select([self._told], [], [], 0)[0]:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> None:
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        self.wait()


def _fork(
    kind: str, arguments: Sequence[str], folder: Path, environ: Mapping[str, str], files: Sequence[int]
) -> BinaryIO:
    """Fork the program or a worker, with these files as stdin, stdout and stderr.

    Returns:
        A file from which the id of the process is read, and after its end its status.
    """
    reader, writer = os.pipe()
    server = _server()
    request = {"kind": kind, "arguments": list(arguments), "folder": str(folder), "environ": dict(environ)}
    with os.fdopen(writer, "wb"), tempfile.TemporaryFile() as written:
        written.write(json.dumps(request).encode())
        written.seek(0)
        # One byte with its files is one message, also when several processes write.
        socket.send_fds(server, [b"\n"], [*files, writer, written.fileno(), server.fileno()])
    return os.fdopen(reader, "rb", buffering=0)


def _number(told: BinaryIO) -> int:
    number: int = _NUMBER.unpack(told.read(_NUMBER.size))[0]
    return number


def _server() -> socket.socket:
    """Return the connection to the process that is forked, one for each process of the tests. It ends with the last of these."""
    if os.getpid() not in _connections:
        ours, theirs = socket.socketpair()
        with theirs:
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.forked", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], cwd=_PACKAGE.parent, env=_AT_START, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        _connections[os.getpid()] = ours
    return _connections[os.getpid()]


def _serve(connection: socket.socket) -> None:
    """Fork for each request a process that becomes what it names, below one that waits for it and reports its status."""
    # An ended process is waited for, not ignored: only then does its processor time count as that of this one.
    signal.signal(signal.SIGCHLD, _wait_for_ended)
    while True:
        head, files, _, _ = socket.recv_fds(connection, 1, 6)
        if not head:
            return
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            child = os.fork()
            if not child:
                _become(files)
                return
            told = files.pop(3)
            for each in files:
                os.close(each)
            os.write(told, _NUMBER.pack(child))
            os.write(told, _NUMBER.pack(os.waitpid(child, 0)[1]))
            os._exit(0)
        for each in files:
            os.close(each)


def _wait_for_ended(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(files: Sequence[int]) -> None:
    *standard, told, written, server = files
    with os.fdopen(written) as file:
        request: dict[str, Any] = json.load(file)
    for number, each in enumerate(standard):
        os.dup2(each, number)
        os.close(each)
    os.close(told)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    if request["kind"] == "worker":
        os.close(server)
        sys.argv = ["-c", *request["arguments"]]
        import_module("glacierbase.migrations.worker").main()
    else:
        os.set_inheritable(server, False)
        _connections[os.getpid()] = socket.socket(fileno=server)
        import_module("glacierbase.migrations.sandbox")._start = ForkedWorker
        sys.argv = [str(_PACKAGE / "__main__.py"), *request["arguments"]]
        import_module("glacierbase.cli").main()


if __name__ == "__main__":
    for module in pkgutil.walk_packages([str(_PACKAGE)], "glacierbase."):
        if not f"{module.name}.".startswith(_LEFT_OUT):
            import_module(module.name)
    gc.freeze()  # Otherwise each collection of a forked process would copy all pages.
    with socket.socket(fileno=int(sys.argv[1])) as accepted:
        _serve(accepted)
