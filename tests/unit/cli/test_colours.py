"""When the output is plain, fitted to a terminal or coloured, and what each costs."""

from __future__ import annotations

import fcntl
import io
import logging
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.apply.results import AppliedFile, MigrateResult
from glacierbase.cli import main
from glacierbase.cli.display import LiveLine, open_display, show_on
from glacierbase.model.text import Mark, table
from tests.support.project_folder import ProjectFolder

PATH = "migrations/shop/1_a.sql"
APPLIED = MigrateResult("shop", "dev", applied=(AppliedFile("1", PATH, 2, 500, 1),))


class Screen(io.StringIO):
    """A terminal without a width."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("stream", "colour", "environ", "has_colour"),
    [
        (Screen(), "auto", {}, True),
        (Screen(), "auto", {"NO_COLOR": ""}, True),
        (Screen(), "auto", {"NO_COLOR": "1"}, False),
        (Screen(), "auto", {"TERM": "dumb"}, False),
        (Screen(), "auto", {"TERM": "unknown"}, False),
        (Screen(), "auto", {"TERM": ""}, False),
        (Screen(), "always", {"NO_COLOR": "1", "TERM": "dumb"}, True),
        (Screen(), "never", {}, False),
        (io.StringIO(), "auto", {}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TTY_COMPATIBLE": "1"}, False),
        (io.StringIO(), "always", {}, True),
        (io.StringIO(), "never", {}, False),
    ],
)
def test_who_decides_on_colours(
    stream: io.StringIO, colour: str, environ: dict[str, str], has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option decides, then the environment, then whether it is a terminal."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in show_on(stream, colour)([Mark("failed")])) is has_colour


@pytest.mark.parametrize("terminal", [None, "", "dumb", "unknown", "xterm"])
def test_a_terminal_with_colours_has_a_live_line_and_the_reverse(
    terminal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rule decides whether the terminal understands control sequences; without `TERM` it does not."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("TERM")
    if terminal is not None:
        monkeypatch.setenv("TERM", terminal)
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    has_colour = "\x1b[" in show_on(screen, "auto")([Mark("failed")])
    assert isinstance(open_display("text"), LiveLine) is has_colour is (terminal == "xterm")


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("", 80), ("0", 80), ("wide", 80), ("40", 40)])
def test_the_width_is_80_where_it_is_unknown(columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`COLUMNS` goes before the terminal, if it is a number."""
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    lines = show_on(Screen(), "auto")(["word " * 100]).split("\n")
    assert width - 5 < max(map(len, lines)) <= width


def test_a_width_beyond_all_measure_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is filled up to the width."""
    monkeypatch.setenv("COLUMNS", "9" * 15)
    assert show_on(Screen(), "never")(table(("a", "b"), [("1", "2"), ("3", "4")])) == "a  b\n1  2\n3  4"


def migrate(
    stdout: io.StringIO, stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch, *options: str
) -> tuple[int, int]:
    """Return how often a `migrate` that applies one file names it, on stdout and on stderr."""

    def apply(*_: object, **__: object) -> tuple[MigrateResult]:
        logging.getLogger("glacierbase").info("%s", APPLIED.applied[0].line())
        return (APPLIED,)

    monkeypatch.setattr(Project, "migrate", apply)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    with pytest.raises(SystemExit) as caught:
        main(["migrate", *options])
    assert caught.value.code == 0
    return stdout.getvalue().count(PATH), stderr.getvalue().count(PATH)


def test_a_file_is_reported_once_on_a_terminal_and_once_in_each_stream(
    lake_project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one terminal the log names the file and the result counts it; a redirected result names it."""
    monkeypatch.chdir(lake_project.root)
    screen, log = Screen(), Screen()
    assert migrate(screen, log, monkeypatch) == (0, 1)
    assert "1 migration, 2 statements, 0.5 s" in screen.getvalue()
    assert f"\x1b[32mapplied\x1b[0m  {PATH}" in log.getvalue()
    for streams in ((io.StringIO(), io.StringIO()), (io.StringIO(), Screen()), (Screen(), io.StringIO())):
        assert migrate(*streams, monkeypatch) == (1, 1)
    assert migrate(Screen(), Screen(), monkeypatch, "--format", "json") == (1, 1)


def on_a_terminal(root: Any, *arguments: str, columns: int) -> str:
    """Return what a command writes to a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(leader, "rb") as reader:
        command = [sys.executable, "-m", "glacierbase", *arguments]
        done = subprocess.run(command, cwd=root, stdin=follower, stdout=follower, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        os.close(follower)
        text = b""
        try:
            while part := reader.read1():
                text += part
        except OSError:  # The end, on Linux.
            pass
    return text.decode()


def test_a_terminal_gets_a_fitted_table_and_a_pipe_the_plain_one(lake_project: ProjectFolder) -> None:
    """The words are the same; the pipe has a line per row, whole paths and nothing of a terminal."""
    lake_project.file("0001_add_the_device_column.sql", "SELECT 1", description="Device names are needed by the report")
    text = on_a_terminal(lake_project.root, "pending", columns=60)
    assert "\x1b[1mshop (default)\x1b[0m" in text
    plain = on_a_terminal(lake_project.root, "pending", "--color", "never", columns=60)
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= 60
    piped = lake_project.run("pending").stdout
    assert "\x1b" not in piped
    assert "0001  " in piped
    assert piped.splitlines()[2].endswith("  migrations/shop/0001_add_the_device_column.sql")
    words = {"0001", "Device", "names", "are", "needed", "by", "the", "report", "Test", "Team", "statement"}
    assert words <= set(plain.split()) & set(piped.split())


@pytest.mark.parametrize(("options", "imported"), [([], False), (["--color", "always"], True)])
def test_rich_is_imported_for_a_terminal_only(options: list[str], imported: bool, lake_project: ProjectFolder) -> None:
    """A command in a pipe starts as fast as without it."""
    lake_project.file("1_a.sql", "SELECT 1")
    command = [sys.executable, "-X", "importtime", "-m", "glacierbase", "pending", *options]
    done = subprocess.run(command, cwd=lake_project.root, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert ("rich.style" in loaded) is imported
    assert "rich.console" not in loaded
    assert ("\x1b[" in done.stdout) is imported


def test_plan_files_are_loaded_for_a_plan_only(lake_project: ProjectFolder) -> None:
    """A run with nothing to do starts as fast as before there were plan files."""
    command = [sys.executable, "-X", "importtime", "-m", "glacierbase", "migrate"]
    done = subprocess.run(command, cwd=lake_project.root, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "glacierbase.apply.hooks" in loaded
    assert "glacierbase.apply.planfile" not in loaded
