"""Whatever comes from files, catalogs, engines or the command line is printed as text, never as a command."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from glacierbase.apply.lock import Terms, free_row
from glacierbase.cli import terminal
from glacierbase.errors import EngineError, GlacierbaseError, OutcomeUnknown, SeveralErrors, StatementRefused
from glacierbase.model import results
from glacierbase.model.results import Result
from glacierbase.output.documents import json_document, text_document, text_error
from tests.conftest import ProjectFolder, migration
from tests.support.hostile import NAME, PAYLOAD, check_inert, check_safe
from tests.support.world import World

CONF = "migrationExecutor: {type: spark}\nstore: {catalog: lake}\n"
KINDS = [
    kind
    for kind in vars(results).values()
    if isinstance(kind, type) and issubclass(kind, Result) and kind is not Result
]


def planted(kind: Any) -> Any:
    """A value of that type with the payload wherever a string can be."""
    if kind is Any or kind is str:
        return PAYLOAD
    if get_origin(kind) in (Union, types.UnionType):
        return planted(next(each for each in get_args(kind) if each is not type(None)))
    if get_origin(kind) is tuple:
        return (planted(get_args(kind)[0]),)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: planted(hints[field.name]) for field in fields(kind)})
    if issubclass(kind, Enum):
        return next(iter(kind))
    simple: dict[Any, Any] = {
        int: 1, bool: True, datetime: datetime.now(timezone.utc), Path: Path(PAYLOAD),
        GlacierbaseError: GlacierbaseError("A_CODE", PAYLOAD, PAYLOAD, path=PAYLOAD),
    }  # fmt: skip
    return simple[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_printed_without_obeying_any_value_in_it(kind: type[Result]) -> None:
    """Every string of every result holds the payload; JSON has it exactly, in escapes."""
    whole: Result = planted(kind)
    # SQL that is shown as it is in a file, without a margin, has lines of its own.
    check = check_inert if kind in (results.RenderResult, results.DoctorResult) else check_safe
    for result in (whole, replace(whole, skipped=None), replace(whole, skipped=None, error=None)):
        check(text_document([result]))
        document = json_document("show", [result], result.error)
        check_safe(document)
        assert json.loads(document)["catalogs"][0]["catalog"] == PAYLOAD
    assert text_document([replace(whole, skipped=None, error=None)])


@pytest.mark.parametrize(
    "error",
    [
        GlacierbaseError("A_CODE", PAYLOAD, PAYLOAD, path=PAYLOAD),
        EngineError("X", PAYLOAD),
        SeveralErrors([GlacierbaseError("A_CODE", PAYLOAD), GlacierbaseError("ANOTHER_CODE", PAYLOAD)]),
    ],
)
def test_an_error_is_printed_without_obeying_any_value_in_it(error: GlacierbaseError) -> None:
    """Programs read its message as it is."""
    check_safe(text_error(error))
    document = json_document("show", [], error)
    check_safe(document)
    assert json.loads(document)["error"]["message"] == error.message


def test_several_errors_are_a_line_each() -> None:
    """A line break in one of them does not look like one more."""
    several = SeveralErrors([GlacierbaseError("ONE", "a\nTWO: forged", "do this"), GlacierbaseError("TWO", "b")])
    assert text_error(several).splitlines() == [
        "error: ONE: 2 errors", "ONE: a", "    | TWO: forged", "TWO: b", "next: do this",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [StatementRefused, OutcomeUnknown])
def test_a_failed_statement_is_shown_behind_a_margin(
    kind: type[EngineError], project: ProjectFolder, tmp_path: Path
) -> None:
    """The lines of the SQL and of the engine's message, so that what this program says stands out."""
    world = World(project)
    sql = "SELECT '\u202e',\n::error::x,\n  nowhere ##[group]"
    world.file("1_a.sql", sql)

    def refuse(*_: object) -> None:
        raise kind("X", f"no\nerror: FAKE: {PAYLOAD}")

    world.break_at("nowhere", refuse)
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate()
    text = text_error(caught.value)
    check_safe(text)
    lines = text.splitlines()
    assert [line for line in lines if not line.startswith("    |")] == [lines[0], lines[-2], lines[-1]]
    assert lines[0].endswith(": [X] no")
    assert lines[-2] in ("nothing of this file is done", "whether it took effect is unknown")
    assert lines[-5:-2] == [r"    | SELECT '\u202e',", "    | ::error::x,", r"    |   nowhere #\x23[group]"]
    # And as the history has it.
    check_safe(text_document([results.HistoryResult("shop", "dev", events=tuple(world.events))]))


def yaml(text: str) -> str:
    """The text in YAML, in quotes; without what YAML does not take, and has other escapes for."""
    return json.dumps(text.replace("\udcff", "").replace("\U000e0041", ""))


def named_catalog(project: ProjectFolder) -> None:
    (project.root / "catalogs" / f"{NAME}.yaml").write_text(CONF)


def named_file(project: ProjectFolder) -> None:
    (project.root / "migrations/shop" / f"{NAME}.sql").write_text(migration("SELECT 1"))


def named_folder(project: ProjectFolder) -> None:
    (project.root / "migrations" / NAME).mkdir()


HOSTILE: dict[str, tuple[Callable[[ProjectFolder], object], str]] = {
    "a key": (lambda p: p.catalog(f"{CONF}{yaml(NAME)}: 1\n"), "UNKNOWN_KEY"),
    "a nested key": (lambda p: p.catalog(f"{CONF}environments: {{dev: {{{yaml(NAME)}: 1}}}}\n"), "UNKNOWN_KEY"),
    "a value": (lambda p: p.catalog(f"{CONF}outOfOrder: {yaml(PAYLOAD)}\n"), "INVALID_VALUE"),
    "no YAML": (lambda p: p.catalog("a: *\u202e\x9b\n  ::error::FAKE\n"), "INVALID_YAML"),
    "an environment": (lambda p: p.catalog(f"{CONF}environments: {{{yaml(NAME)}: {{}}}}\n"), "INVALID_NAME"),
    "a reference": (
        lambda p: p.catalog(f"{CONF}variables: {{a: {yaml('${environ:' + PAYLOAD + '}')}}}\n"),
        "UNKNOWN_REFERENCE",
    ),
    "a catalog's name": (lambda p: p.catalog(f"{CONF}name: {yaml(PAYLOAD)}\n"), "INVALID_NAME"),
    "a catalog file's name": (named_catalog, "INVALID_NAME"),
    "a migration file's name": (named_file, "MISNAMED_FILE"),
    "a folder's name": (named_folder, "FOLDER_WITHOUT_CATALOG"),
    "a variable": (lambda p: p.file("1_a.sql", "{{ variables['\x1b[2J::a::##[b]\u202e'] }}"), "UNDEFINED_VARIABLE"),
    "SQL": (lambda p: p.file("1_a.sql", "SELECT '\n::error::FAKE\u202e##[group]\x1b"), "UNTERMINATED_STRING"),
}


@pytest.mark.parametrize("place", HOSTILE)
def test_a_hostile_file_is_refused_without_obeying_it(place: str, project: ProjectFolder) -> None:
    """In the text and in the document of the error."""
    project.catalog(CONF)
    arrange, code = HOSTILE[place]
    arrange(project)
    for form in ("text", "json"):
        told = project.run("validate", "--format", form)
        assert told.code in (2, 3)
        assert code in told.stdout + told.stderr
        check_safe(told.stdout)
        check_safe(told.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        [PAYLOAD],
        [f"--{PAYLOAD}"],
        ["validate", PAYLOAD],
        ["validate", f"--x{PAYLOAD}"],
        ["validate", "--format", PAYLOAD],
        ["validate", "--env", PAYLOAD],
        ["validate", "--catalog", PAYLOAD],
        ["validate", "--base", PAYLOAD],
        ["validate", "--project", NAME],
        ["migrate", "--lock-timeout", PAYLOAD],
        ["render", PAYLOAD],
        ["init", PAYLOAD],
    ],
)
def test_a_hostile_argument_is_refused_without_obeying_it(arguments: list[str], project: ProjectFolder) -> None:
    """A name of a branch may come from a stranger."""
    project.catalog(CONF)
    subprocess.run(["git", "init", "-q", project.root], check=True)
    arguments = [argument.replace("\0", "") for argument in arguments]
    for form in ([], ["--format", "json"]):
        told = project.run(*arguments[:1], *form, *arguments[1:])
        assert told.code in (2, 3), told
        check_safe(told.stdout)
        check_safe(told.stderr)


def test_without_a_command_the_help_is_shown_as_it_is(project: ProjectFolder) -> None:
    """Its lines are the program's, and no value's."""
    told = project.run()
    assert "\nCommands:\n  baseline " in told.stdout + told.stderr


def test_a_hostile_variable_of_the_environment_is_refused_without_obeying_it(project: ProjectFolder) -> None:
    """As an argument is."""
    project.catalog(CONF)
    for name in ("GLACIERBASE_ENV", "GLACIERBASE_PROJECT"):
        told = project.run("validate", environ={name: NAME})
        assert told.code == 2
        check_safe(told.stdout + told.stderr)


def test_render_shows_sql_in_escapes_and_has_it_exactly_in_json(project: ProjectFolder) -> None:
    """A folder's name stays in its comment, wherever its lines end."""
    project.catalog(CONF)
    project.file(f"{NAME}/1_a.sql", "SELECT '\u202eü漢'\n::int, \x1b[2J\r1 -- ##vso[x]")
    told = project.run("render")
    assert told.code == 0
    check_safe(told.stdout)
    path, *_, first, second = told.stdout.splitlines()[1:]
    assert path.startswith(r"  -- migrations/shop/a\n::error::FAKE\n")
    assert (first, second) == (r"  SELECT '\u202eü漢'", r"  \x3a:int, \x1b[2J\r1 -- #\x23vso[x]")
    document = project.ask("render")
    check_safe(document.stdout)
    assert "ü漢" in document.stdout
    [file] = document.entry()["files"]
    assert file["sql"].endswith("SELECT '\u202eü漢'\n::int, \x1b[2J\r1 -- ##vso[x]\n")


def test_columns_are_as_wide_as_what_is_shown() -> None:
    """An escape takes more room than the character."""
    pending = [
        results.PendingFile(str(number), text, "me", "a.sql", 1, 1) for number, text in enumerate(("a", "\x1b" * 9))
    ]
    lines = text_document([results.PendingResult("shop", "", pending=tuple(pending))]).splitlines()[1:]
    assert len({line.index(word) for line, word in zip(lines, ("author", "me  ", "me  "), strict=True)}) == 1


def test_progress_and_warnings_are_printed_without_obeying_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A record is a line; what it brings of its own goes behind the margin."""

    def ask() -> list[Any]:
        logging.getLogger("glacierbase").warning("told: %s", PAYLOAD)
        return []

    terminal.answer("status", "text", False, ask)
    told = capsys.readouterr().err
    assert told.startswith("told: ")
    check_safe(told)


def test_warnings_of_other_packages_are_printed_without_obeying_them() -> None:
    """They are shown with --verbose only."""
    code = "import warnings; from glacierbase.cli.terminal import answer; from tests.support.hostile import PAYLOAD\n"
    ask = "answer('status', 'text', True, lambda: warnings.warn(PAYLOAD, stacklevel=1) or [])"
    done = subprocess.run([sys.executable, "-c", code + ask], capture_output=True, text=True, check=True)
    assert "UserWarning" in done.stderr
    check_safe(done.stderr)


def test_the_text_of_a_bug_is_in_the_file_only(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is two lines; the file can be shown on a terminal, too."""
    with pytest.raises(SystemExit):
        terminal.unexpected(RuntimeError(PAYLOAD))
    told = capsys.readouterr().err
    assert (told.count("\n"), "FAKE" in told) == (2, False)
    report = Path(told.splitlines()[0].split()[-1])
    check_inert(report.read_text())
    assert "RuntimeError: " in report.read_text()
    report.unlink()


class _Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_question_is_asked_without_obeying_what_is_named_in_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who answers must see what the question is about."""
    monkeypatch.setattr(sys, "stdin", _Keyboard("no\n"))
    with pytest.raises(GlacierbaseError):
        terminal.confirm([PAYLOAD], yes=False)
    told = capsys.readouterr()
    assert "is protected" in told.err + told.out
    check_safe(told.err + told.out)


def test_a_lock_that_is_left_behind_is_named_without_obeying_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the second signal."""
    row = replace(
        free_row(Terms(PAYLOAD, "dev", 60)), owner=PAYLOAD, holder=json.dumps({"host": PAYLOAD, "os_user": PAYLOAD})
    )
    monkeypatch.setattr(terminal, "held_here", lambda: [row])
    monkeypatch.setattr(terminal, "_received", [])
    monkeypatch.setattr(os, "_exit", sys.exit)
    with terminal.stop_by_signal():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGINT)
    told = capsys.readouterr().err
    assert "is left behind" in told
    check_safe(told)
