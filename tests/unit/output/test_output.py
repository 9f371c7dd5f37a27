"""Values from files, catalogs, engines and the command line are printed as text, never executed as commands."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.apply import results as apply_results
from glacierbase.apply.lock import Lock
from glacierbase.apply.results import PendingFile, PendingResult
from glacierbase.capabilities.access import access
from glacierbase.capabilities.authoring import new, rebase
from glacierbase.capabilities.authoring.squash import squash
from glacierbase.capabilities.review import results as review_results
from glacierbase.cli import signals, terminal
from glacierbase.errors import EngineError, GlacierbaseError, OutcomeUnknown, SeveralErrors, StatementRefused
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.inspect import results as inspect_results
from glacierbase.inspect.history import HistoryResult, outcomes
from glacierbase.inspect.results import Check, DoctorResult, RenderResult
from glacierbase.model.result import Result
from glacierbase.output.documents import json_document, text_document, text_errors
from glacierbase.run.run import Run
from glacierbase.secrets import Secrets, register
from tests.support.errors import text_error
from tests.support.fakes import MemoryStore, MemoryTables
from tests.support.hostile import NAME, PAYLOAD, check_inert, check_safe
from tests.support.project_folder import ProjectFolder, migration
from tests.support.world import World
from tests.unit.output.planted import planted

CONF = "migrationExecutor: {type: spark}\nstore: {catalog: lake}\n"
KINDS = [
    kind
    for room in (access, apply_results, new, rebase, squash, inspect_results, review_results)
    for kind in vars(room).values()
    if isinstance(kind, type) and issubclass(kind, Result) and kind is not Result
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_printed_without_obeying_any_value_in_it(kind: type[Result]) -> None:
    """Every string of every result is the payload. JSON has it exactly, in escapes."""
    whole: Result = planted(kind)
    # SQL of a file is printed without a margin, so that its lines look like lines of the program.
    check = check_inert if kind in (RenderResult, DoctorResult) else check_safe
    for result in (whole, replace(whole, skipped=None), replace(whole, skipped=None, error=None)):
        check(text_document([result]))
        check(repr(result))
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
    """The JSON document has the exact message."""
    check_safe(text_error(error))
    document = json_document("show", [], error)
    check_safe(document)
    assert json.loads(document)["error"]["message"] == error.message


def test_several_errors_are_a_line_each() -> None:
    """A line break in an error does not look like another error."""
    several = SeveralErrors([GlacierbaseError("ONE", "a\nTWO: forged", "do this"), GlacierbaseError("TWO", "b")])
    assert text_errors([several]).splitlines() == [
        "error: ONE: a", "    | TWO: forged", "next: do this", "error: TWO: b", "more: glacierbase explain ONE TWO",
    ]  # fmt: skip


def test_each_of_several_errors_has_its_own_hint() -> None:
    """Each error's hint is in the text, in the JSON document and in a line of `doctor`."""
    several = SeveralErrors([GlacierbaseError("ONE", "a", "do this"), GlacierbaseError("TWO", "b", "do that")])
    errors = json.loads(json_document("status", [], several))["error"]["errors"]
    assert [each["hint"] for each in errors] == ["do this", "do that"]
    assert [line for line in text_errors([several]).splitlines() if "next" in line] == [
        "next: do this",
        "next: do that",
    ]
    assert Check("files", error=several).text() == "ONE: a; next: do this; TWO: b; next: do that"


@pytest.mark.parametrize("kind", [StatementRefused, OutcomeUnknown])
def test_a_failed_statement_is_shown_with_a_margin(
    kind: type[EngineError], project: ProjectFolder, tmp_path: Path
) -> None:
    """The margin tells the SQL and the engine's message from the lines of the program."""
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
    history = HistoryResult("shop", "dev", events=tuple(world.events), outcomes=outcomes(world.events))
    check_safe(text_document([history]))
    check_safe(text_document([history], HistoryResult.event_lines))


def yaml(text: str) -> str:
    """Return the text as a quoted YAML scalar, without the characters that YAML refuses."""
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
    """The text and the JSON document of the error are safe."""
    project.catalog(CONF)
    arrange, code = HOSTILE[place]
    arrange(project)
    for form in ("text", "json"):
        output = project.run("validate", "--format", form)
        assert output.code in (2, 3)
        assert code in output.stdout + output.stderr
        check_safe(output.stdout)
        check_safe(output.stderr)


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
    """Arguments of a CI job, such as a branch name, may come from a stranger."""
    project.catalog(CONF)
    subprocess.run(["git", "init", "-q", project.root], check=True)
    arguments = [argument.replace("\0", "") for argument in arguments]
    for form in ([], ["--format", "json"]):
        output = project.run(*arguments[:1], *form, *arguments[1:])
        assert output.code in (2, 3), output
        check_safe(output.stdout)
        check_safe(output.stderr)


def test_without_a_command_the_help_is_shown_as_it_is(project: ProjectFolder) -> None:
    """The lines of the help text have no margin."""
    output = project.run()
    assert "\nEvery day:\n  init " in output.stdout + output.stderr


def test_a_hostile_variable_of_the_environment_is_refused_without_obeying_it(project: ProjectFolder) -> None:
    """The value of an environment variable is escaped as an argument is."""
    project.catalog(CONF)
    for name in ("GLACIERBASE_ENV", "GLACIERBASE_PROJECT"):
        output = project.run("validate", environ={name: NAME})
        assert output.code == 2
        check_safe(output.stdout + output.stderr)


def test_render_shows_sql_in_escapes_and_has_it_exactly_in_json(project: ProjectFolder) -> None:
    """A line break in a folder's name does not end the comment that shows the path."""
    project.catalog(CONF)
    project.file(f"{NAME}/1_a.sql", "SELECT '\u202eü漢'\n::int, \x1b[2J\r1 -- ##vso[x]")
    output = project.run("render")
    assert output.code == 0
    check_safe(output.stdout)
    path, *_, first, second = output.stdout.splitlines()[1:]
    assert path.startswith(r"  -- migrations/shop/a\n::error::FAKE\n")
    assert (first, second) == (r"  SELECT '\u202eü漢'", r"  \x3a:int, \x1b[2J\r1 -- #\x23vso[x]")
    document = project.ask("render")
    check_safe(document.stdout)
    assert "ü漢" in document.stdout
    [file] = document.entry()["files"]
    assert file["sql"].endswith("SELECT '\u202eü漢'\n::int, \x1b[2J\r1 -- ##vso[x]\n")


def test_columns_are_as_wide_as_what_is_shown() -> None:
    """The width of a column counts the escape, which is wider than the character."""
    pending = [PendingFile(str(number), text, "me", "a.sql", 1, 1) for number, text in enumerate(("a", "\x1b" * 9))]
    lines = text_document([PendingResult("shop", "", pending=tuple(pending))]).splitlines()[1:]
    assert len({line.index(word) for line, word in zip(lines, ("author", "me  ", "me  "), strict=True)}) == 1


def test_a_cell_of_a_table_is_masked_with_the_secrets_of_its_project_only() -> None:
    """The secrets of another project, which are in use when the text is made, are not masked in it."""
    own, others = Secrets(), Secrets()
    with own.in_use():
        register("secret one")
        file = PendingFile("1", "it is secret one, not secret two", "me", "a.sql", 1, 1)
        result = PendingResult("shop", "", pending=(file,))
    with others.in_use():
        register("secret two")
        assert "it is ***, not secret two" in text_document([result])


def test_progress_and_warnings_are_printed_without_obeying_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A log record is one line; further lines of its values have a margin."""
    with terminal.Terminal("text", False).reporting("status"):
        logging.getLogger("glacierbase").warning("output: %s", PAYLOAD)
    output = capsys.readouterr().err
    assert output.startswith("output: ")
    check_safe(output)


def test_warnings_of_other_packages_are_printed_without_obeying_them() -> None:
    """Warnings of Python are logged with `--verbose`, and are safe."""
    code = "import warnings; from glacierbase.cli.terminal import Terminal; from tests.support.hostile import PAYLOAD\n"
    ask = "with Terminal('text', True).reporting('status'): warnings.warn(PAYLOAD, stacklevel=1)"
    done = subprocess.run([sys.executable, "-c", code + ask], capture_output=True, text=True, check=True)
    assert "UserWarning" in done.stderr
    check_safe(done.stderr)


def test_the_text_of_a_bug_is_in_the_file_only(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is two lines; the file can be shown on a terminal, too."""
    with pytest.raises(SystemExit):
        terminal.unexpected(RuntimeError(PAYLOAD))
    output = capsys.readouterr().err
    assert (output.count("\n"), "FAKE" in output) == (2, False)
    report = Path(output.splitlines()[0].split()[-1])
    check_inert(report.read_text())
    assert "RuntimeError: " in report.read_text()
    report.unlink()


class _Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_prompt_is_printed_without_obeying_the_name_in_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prompt shows the environment's name in escapes."""
    monkeypatch.setattr(sys, "stdin", _Keyboard("no\n"))
    with pytest.raises(GlacierbaseError):
        terminal.Terminal("text", False).confirm([PAYLOAD], [])
    output = capsys.readouterr()
    assert "is protected" in output.err + output.out
    check_safe(output.err + output.out)


def test_a_lock_that_is_left_behind_is_named_without_obeying_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second signal ends the process and names the locks that it held, in escapes."""
    run = replace(Run.here(tmp_path), id=PAYLOAD, os_user=PAYLOAD, host=PAYLOAD)
    store, terms = MemoryStore(MemoryTables(), PAYLOAD), LockTerms(PAYLOAD, "dev", 60)
    store.create(free_row(terms))
    Lock(store, terms, run, {}).acquire(None, 0, 0, lambda: False)
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(signals.logger, "handlers", [logging.NullHandler()])
    received = signals.Signals()
    received.watch(run.held)
    with received.cancelling():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGINT)
    join_notices()
    output = capfd.readouterr().err
    assert "is left behind" in output
    check_safe(output)


def join_notices() -> None:
    """Wait until the threads that report a first signal have ended."""
    for thread in threading.enumerate():
        if thread.name == "stopping":
            thread.join()


class _Interrupted(io.StringIO):
    """A stream whose first write a signal interrupts; as stderr, it refuses a write inside another of the same thread."""

    writer: int | None = None

    def write(self, text: str) -> int:
        if self.writer == threading.get_ident():
            raise RuntimeError("reentrant call")
        is_first, self.writer = self.writer is None, threading.get_ident()
        if is_first:
            signal.raise_signal(signal.SIGINT)
        self.writer = 0
        return super().write(text)


def test_a_signal_inside_a_write_to_the_log_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line that the signal interrupts is written, and after it what the signal does."""
    stream = _Interrupted()
    monkeypatch.setattr(signals.logger, "handlers", [logging.StreamHandler(stream)])
    with signals.Signals().cancelling():
        signals.logger.warning("a line")
    join_notices()
    first, second = stream.getvalue().splitlines()
    assert first == "a line"
    assert second.startswith("stopping: the running statement is cancelled after")
    assert "Logging error" not in capsys.readouterr().err
