"""The reference of error codes is complete, and its commands can be run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from glacierbase import errors
from glacierbase.cli.group import cli
from glacierbase.errors.reference import ENTRIES, ErrorEntry
from glacierbase.prose import sections
from tests.unit.errors.raised import raised

# Names in capitals that are no codes: environment variables and headers.
OTHER_NAMES = {
    "AWS_ACCESS_KEY_ID", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL", "AWS_PROFILE", "HTTPS_PROXY",
    "GLACIERBASE_CATALOG", "GLACIERBASE_ENV", "GLACIERBASE_PROJECT", "JAVA_HOME", "JAVA_TOOL_OPTIONS",
    "MIGRATION_", "MIGRATION_AFTER", "MIGRATION_AUTHOR",
    "MIGRATION_DESCRIPTION", "MIGRATION_SQUASHES", "REPLAY_BROKEN_TABLE", "REPLAY_BROKEN_VIEW",
    "REPLAY_NOT_RUN", "REPLAY_REFUSED", "REPLAY_TIMEOUT", "REPLAY_UNKNOWN_TABLE",
    "SPARK_HOME", "UV_DEFAULT_INDEX",
}  # fmt: skip
COMMAND = re.compile(r"`glacierbase ([^`]*)`")
LONGEST_SENTENCE, LONGEST_SUMMARY = 25, 110

each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def texts(entry: ErrorEntry) -> Iterator[str]:
    yield entry.meaning
    yield from entry.remedy


def sentences(text: str) -> list[str]:
    """The sentences of `text`, each command or name in backticks as one word."""
    return re.split(r"(?<=[.?:;])\s+", re.sub(r"`[^`]*`", "CODE", text))


def test_every_code_that_is_raised_has_an_entry_and_every_entry_is_raised() -> None:
    """The source builds exactly the pairs of class and code that the entries list."""
    found = raised()
    assert found.unresolved == []
    assert found.pairs == {(kind.__name__, entry.code) for entry in ENTRIES.values() for kind in entry.errors}


def test_every_code_has_one_entry() -> None:
    """Every file of texts is read, and no two of their sections describe the same code."""
    files = Path(errors.__file__).parent.glob("*.md")
    assert sorted(code for path in files for code, _ in sections(path)) == sorted(ENTRIES)


@each_entry
def test_the_exit_codes_are_those_of_the_classes(entry: ErrorEntry) -> None:
    """An interrupted run exits with 128 and the number of the signal."""
    expected = {kind.exit_code for kind in entry.errors}
    assert set(entry.exit_codes) == (expected | {129, 143} if errors.Interrupted in entry.errors else expected)


@each_entry
def test_the_example_is_the_error_as_it_is_printed(entry: ErrorEntry) -> None:
    """An error of the command line has the form of click."""
    begins = "Usage: glacierbase " if entry.code == "USAGE" else f"error: {entry.code}: "
    assert entry.example.startswith(begins)
    assert entry.example.count("next: ") <= 1


def check_command(line: str) -> None:
    """Parse a command line as the program does, without running it; `--help` and `--version` exit."""
    name, *arguments = shlex.split(line)
    with suppress(click.exceptions.Exit), cli.make_context("glacierbase", [name, *arguments]) as context:
        cli.commands[name].make_context(name, arguments, parent=context).close()


@each_entry
def test_every_command_of_an_entry_can_be_parsed(entry: ErrorEntry) -> None:
    """Command, options and arguments exist. A hint may mention a command without its arguments."""
    for text in texts(entry):
        for line in COMMAND.findall(text):
            check_command(line)
    for line in COMMAND.findall(entry.example):
        with suppress(click.MissingParameter):
            check_command(line)


@each_entry
def test_a_code_that_an_entry_names_has_an_entry(entry: ErrorEntry) -> None:
    """Names in capitals are codes or environment variables."""
    named = {name for text in texts(entry) for name in re.findall(r"`([A-Z]+(?:_[A-Z]*)+)`", text)}
    assert named - OTHER_NAMES <= set(ENTRIES) - {entry.code}


@each_entry
def test_the_text_is_in_short_sentences(entry: ErrorEntry) -> None:
    """The first one fits on a line of the list of all codes."""
    for text in texts(entry):
        assert text == " ".join(text.split())
        assert text[-1] in ".?`", text
        for sentence in sentences(text):
            assert len(sentence.split()) <= LONGEST_SENTENCE, sentence
    assert len(entry.summary) <= LONGEST_SUMMARY
    assert entry.remedy


def test_importing_the_errors_does_not_import_the_entries() -> None:
    """Commands that succeed do not load the reference."""
    code = (
        "import sys, glacierbase.errors; print(*sorted(name for name in sys.modules if name.startswith('glacierbase')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["glacierbase", "glacierbase.errors", "glacierbase.secrets"]
