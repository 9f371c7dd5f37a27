"""Standard streams that are closed before the program starts, as some schedulers start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from glacierbase.cli.terminal import Terminal
from glacierbase.errors import ConfigurationError


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "code"), [("explain LOCK_HELD", 0), ("schemas", 0), ("status", 2), ("migrate", 2)])
def test_a_closed_stream_changes_no_exit_code(command: str, code: int, closed: str, tmp_path: Path) -> None:
    """The last two commands are outside of a project."""
    line = f'exec "$0" -m glacierbase {command} --color always {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable], cwd=tmp_path, check=False)
    assert done.returncode == code


def test_no_confirmation_is_possible_where_stdin_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed stdin is refused like stdin that is no terminal."""
    monkeypatch.setattr(sys, "stdin", None)
    terminal = Terminal("text", verbose=False)
    assert not terminal.agrees("go on")
    with pytest.raises(ConfigurationError) as caught:
        terminal.check_keyboard(())
    assert caught.value.code == "CONFIRMATION_MISSING"
