"""The program in a process forked from one that has imported it: a tenth of the cost of starting an interpreter.

A real process all the same: with output, folder, environment and exit code of its own.
"""

from __future__ import annotations

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
from functools import cache
from importlib import import_module
from pathlib import Path
from select import select
from threading import Lock

_PACKAGE = Path(__file__).parents[2] / "glacierbase"
# Rooms that import vendors' packages, which some of the tests' environments do not have.
_LEFT_OUT = ("glacierbase.__main__", "glacierbase.executors.", "glacierbase.heat.", "glacierbase.stores.")
_CODE = struct.Struct("i")
_LONGEST = 2**20
_sending = Lock()


def _of_python(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environ.items() if key.startswith("PYTHON")}


_AT_START = _of_python(os.environ)


def can_be_forked(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter would start with these variables as the one that is forked did."""
    return _of_python(environ) == _AT_START


def run_forked(
    arguments: Sequence[str], folder: Path, environ: Mapping[str, str], timeout: float
) -> tuple[int, str, str]:
    """Run the program to its end; return its exit code, stdout and stderr.

    Raises:
        subprocess.TimeoutExpired: after `timeout` seconds. The process still runs.
    """
    reader, writer = os.pipe()
    with (
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
        Path(os.devnull).open("rb") as stdin,
        os.fdopen(reader, "rb") as code,
    ):
        request = json.dumps([list(arguments), str(folder), dict(environ)]).encode("utf-8", "surrogateescape")
        assert len(request) < _LONGEST
        with os.fdopen(writer, "wb"), _sending:
            files = [stdin.fileno(), stdout.fileno(), stderr.fileno(), writer]
            socket.send_fds(_server(os.getpid()), [struct.pack("I", len(request))], files)
            _server(os.getpid()).sendall(request)
        if not select([code], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        [status] = _CODE.unpack(code.read())
        texts = []
        for each in (stdout, stderr):
            each.seek(0)
            texts.append(each.read().decode().replace("\r\n", "\n"))
    return os.waitstatus_to_exitcode(status), texts[0], texts[1]


@cache
def _server(pid: int) -> socket.socket:
    """Return the connection to the process that is forked, one for each process of the tests. It ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked", str(theirs.fileno())],
            pass_fds=[theirs.fileno()], cwd=_PACKAGE.parent, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return ours


def _serve(connection: socket.socket) -> None:
    """Fork for each request a process that runs the program, below one that waits for it and reports its status."""
    # An ended process is waited for, not ignored: only then does its processor time count as that of this one.
    signal.signal(signal.SIGCHLD, _wait_for_ended)
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 4)
        if not head:
            return
        [length] = struct.unpack("I", head)
        request = b""
        while len(request) < length:
            request += connection.recv(length - len(request))
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.close()
            child = os.fork()
            if not child:
                _become_program(request, files)
                return
            status = os.waitpid(child, 0)[1]
            os.write(files[3], _CODE.pack(status))
            os._exit(0)
        for each in files:
            os.close(each)


def _wait_for_ended(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become_program(request: bytes, files: Sequence[int]) -> None:
    arguments, folder, environ = json.loads(request.decode("utf-8", "surrogateescape"))
    for number, each in enumerate(files[:3]):
        os.dup2(each, number)
    for each in files:
        os.close(each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = [str(_PACKAGE / "__main__.py"), *arguments]
    import_module("glacierbase.cli").main()


if __name__ == "__main__":
    for module in pkgutil.walk_packages([str(_PACKAGE)], "glacierbase."):
        if not f"{module.name}.".startswith(_LEFT_OUT):
            import_module(module.name)
    with socket.socket(fileno=int(sys.argv[1])) as accepted:
        _serve(accepted)
