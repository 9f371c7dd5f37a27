"""Other systems: Windows has no `fcntl`, and macOS neither `/proc` nor a limit of the address space."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.documents import checked
from tests.support.project_folder import REPOSITORY

# Modules that Python has only on POSIX are refused, as on Windows, and so are the flags of `os` that go with them.
AS_WINDOWS = """\
import os, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "pwd", "grp", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules.pop(name, None)
for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY"):
    delattr(os, name)
from glacierbase.cli import main
main(sys.argv[1:])
"""


def on_windows(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_WINDOWS, *arguments],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["init", "check", "migrate", "status", "new x"])
def test_windows_gets_one_message_that_names_wsl(command: str) -> None:
    """Each of them exits with 2, without a traceback and without a log of a bug."""
    done = on_windows(*command.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == [
        "error: UNSUPPORTED_SYSTEM: glacierbase runs on Linux and macOS: this Python has no module fcntl",
        "next: on Windows, install it in WSL, https://learn.microsoft.com/windows/wsl/install",
    ]


def test_the_document_of_that_error_has_the_shape_of_all_documents() -> None:
    """Programs read the code."""
    document = checked(json.loads(on_windows("status", "--format", "json").stdout))
    assert document["error"]["code"] == "UNSUPPORTED_SYSTEM"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["help", "--all"], ["explain", "UNSUPPORTED_SYSTEM"]])
def test_what_only_prints_works_there(arguments: list[str]) -> None:
    """The message's last line is a command that runs."""
    done = on_windows(*arguments)
    assert done.returncode == 0, done.stderr
