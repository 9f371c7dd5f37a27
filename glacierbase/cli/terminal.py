"""The terminal of a command: logs, prompts, the printed result, and the exit code."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from glacierbase.cli.display import Display, is_terminal, open_display, show_on
from glacierbase.cli.signals import Signals
from glacierbase.errors import ConfigurationError, GlacierbaseError, Interrupted, Stopped, joined
from glacierbase.model.command import command
from glacierbase.model.printable import printable
from glacierbase.model.result import Result, StandaloneResult
from glacierbase.model.text import split_lines
from glacierbase.output import documents
from glacierbase.output.formats import FORMATS

if TYPE_CHECKING:
    from glacierbase.output.formats import OutputFile

logger = logging.getLogger("glacierbase")

_INTERNAL = 70
_SIGINT = 130
_RUN_AGAIN = "run the same command again"

# Raised if no command is given, with the whole help; a class since click 8.2.
_HELP = getattr(click.exceptions, "NoArgsIsHelpError", ())


@dataclass(slots=True)
class Report:
    """The outcome of a command.

    Attributes:
        answer: of a command that is about no catalog.
        is_printed: whether the command prints its result itself, by lines; only the document of a failure is left, as a line.
    """

    results: Sequence[Any] = ()
    error: GlacierbaseError | None = None
    answer: StandaloneResult | None = None
    is_printed: bool = False


class Terminal:
    """The terminal of one command.

    Attributes:
        signals: received by the command.
    """

    def __init__(self, form: str, verbose: bool, colour: str = "auto", files: Sequence[OutputFile] = ()) -> None:
        """Args:
        form: the form of the result, one of `output.formats`.
        verbose: log more to stderr.
        colour: `auto`, `always` or `never`.
        files: also get the result.
        """
        self._files = files
        self._form = form
        self._verbose = verbose
        self._colour = colour
        self._display = open_display(form)
        self.signals = Signals(self._display.close)

    @property
    def is_one_screen(self) -> bool:
        """Whether the text of the result and the log go to a terminal, so that a file in both would be reported twice."""
        return self._form == "text" and is_terminal(sys.stdout) and is_terminal(sys.stderr)

    @property
    def _is_one_log(self) -> bool:
        """Whether the text of the result and the log go to pipes or files, which a CI service shows as one."""
        return self._form == "text" and not is_terminal(sys.stdout) and not is_terminal(sys.stderr)

    @contextmanager
    def reporting(
        self,
        command: str,
        lines: documents.Lines | None = None,
        shown: Callable[[Sequence[Any]], Sequence[Any]] = lambda results: results,
    ) -> Iterator[Report]:
        """Print the results of a command on stdout and its errors on stderr, and exit if it failed.

        The command runs in the block, and sets the results. The results of an error replace them.

        Args:
            lines: returns the text of a result; default its `lines`.
            shown: returns the results in the text form; default all results, one after the other.
        """
        _log_to_stderr(self._verbose, self._display, self._colour)
        # The result repeats its lines.
        logging.getLogger("glacierbase.applied").disabled = self._is_one_log
        report = Report()
        with self._display.watching():
            try:
                with self.signals.interrupting():
                    yield report
            except GlacierbaseError as error:
                # An error after a signal is a consequence of the signal.
                error.exit_code = self.signals.exit_code or error.exit_code
                report = Report(error.results, error, is_printed=report.is_printed)
            except (KeyboardInterrupt, click.Abort) as stop:
                state, hint = (f"; {stop.state}", stop.hint) if isinstance(stop, Stopped) else ("", _RUN_AGAIN)
                stopped = Interrupted("INTERRUPTED", f"{command} was stopped by a signal{state}", hint)
                stopped.exit_code = self.signals.exit_code or _SIGINT
                report = Report((), stopped, is_printed=report.is_printed)
        self._print(command, report, lines, shown)

    def write(self, text: str) -> None:
        """Print a part of a long result on stdout, before the command has ended."""
        with self._display.paused():
            click.echo(text)

    def _print(
        self,
        command: str,
        report: Report,
        lines: documents.Lines | None,
        shown: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> None:
        results = report.results
        written = self._write(documents.CommandOutcome(command, results, report.error))
        error = joined([*filter(None, [report.error]), *written])
        show = show_on(sys.stdout, self._colour)
        if report.is_printed:
            text = documents.document_line(command, error) if error and self._form == "json" else ""
        elif self._form != "text":
            text = FORMATS[self._form](documents.CommandOutcome(command, results, error, report.answer))
        elif report.answer:
            text = show(report.answer.lines())
        else:
            text = documents.text_document(shown(results), lines, show)
        try:
            if text:
                click.echo(text, color=True)
        except BrokenPipeError:
            if error is None:
                raise
            discard_stdout()  # The error and its exit code matter more.
        if error:
            if self._form != "json":
                errors = [result.error for result in results if result.error]
                show = show_on(sys.stderr, self._colour)
                click.echo(documents.text_errors([error, *errors], show), err=True, color=True)
            sys.exit(error.exit_code)

    def _write(self, outcome: documents.CommandOutcome) -> Sequence[GlacierbaseError]:
        """Write the result into the files, and return the errors."""
        if not self._files:
            return ()
        from glacierbase.output.formats import write_files

        return write_files(self._files, outcome)

    def agrees(self, question: str) -> bool:
        """Ask a question; return False if stdin is not a terminal."""
        self._display.clear()
        return is_terminal(sys.stdin) and click.confirm(printable([question]), err=True)

    def confirm(self, protected: Sequence[str], facts: Sequence[Result]) -> None:
        """Show what is about to change, and prompt for the name of each protected environment, or for a yes if none is.

        Raises:
            ConfigurationError: the answer was wrong, or stdin is not a terminal.
            Stopped: there was no answer.
        """
        self._display.clear()
        if text := documents.text_document(facts, show=show_on(sys.stderr, self._colour)):
            click.echo(text, err=True, color=True)
        self.check_keyboard(protected)
        try:
            _ask(protected)
        except (KeyboardInterrupt, click.Abort) as stop:
            raise Stopped("nothing was changed", _RUN_AGAIN) from stop

    def confirm_name(self, name: str, shown: StandaloneResult) -> None:
        """Show what is about to happen, and prompt for a name. Raises as `confirm`."""
        self._display.clear()
        click.echo(printable(map(str, shown.lines())), err=True)
        self.check_keyboard(())
        try:
            answer = click.prompt(printable([f"type {name} to go on"]), err=True)
        except (KeyboardInterrupt, click.Abort) as stop:
            raise Stopped("nothing was changed", _RUN_AGAIN) from stop
        if answer != name:
            raise ConfigurationError("NOT_CONFIRMED", f"that is not {name}; nothing was changed")

    def check_keyboard(self, protected: Sequence[str]) -> None:
        """Refuse to continue without a way to confirm.

        Raises:
            ConfigurationError: stdin is not a terminal.
        """
        if not is_terminal(sys.stdin):
            what = f"environment {protected[0]} is protected, and" if protected else "confirmation required, but"
            raise ConfigurationError("CONFIRMATION_MISSING", f"{what} stdin is not a terminal", "add --yes")


def _ask(protected: Sequence[str]) -> None:
    for environment in protected:
        question = printable([f"environment {environment} is protected; type its name to go on"])
        if click.prompt(question, err=True) != environment:
            raise ConfigurationError("NOT_CONFIRMED", f"that is not {environment}; nothing ran")
    if not protected and not click.confirm("go on", err=True):
        raise ConfigurationError("NOT_CONFIRMED", "nothing was changed")


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]
    """Write to stderr while the display is paused."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        with self._display.paused():
            super().emit(record)


class _Formatter(logging.Formatter):
    """Format a record like the lines of a result."""

    def __init__(self, colour: str) -> None:
        super().__init__("%(message)s")
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        return show_on(sys.stderr, self._colour)([super().format(record)])


def _log_to_stderr(verbose: bool, display: Display, colour: str) -> None:
    handler = _Handler(display)
    handler.setFormatter(_Formatter(colour))
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    # Logs and warnings of other packages repeat, with a stack, what the errors of glacierbase report in a line.
    logging.getLogger().addHandler(logging.NullHandler())
    if verbose:
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").handlers = [handler]
    else:
        warnings.simplefilter("ignore")


def discard_stdout() -> None:
    """Discard pending output to stdout, whose reader closed it, as `head` does. Python would report the error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def usage_error(error: click.ClickException, *, as_json: bool) -> NoReturn:
    """Report a wrong command line, and exit."""
    usage = ConfigurationError("USAGE", error.format_message(), "glacierbase --help")
    if as_json:
        click.echo(documents.json_document("usage", (), usage))
    elif isinstance(error, _HELP):
        error.show()
    else:
        click.UsageError(printable([error.format_message()]), getattr(error, "ctx", None)).show()
    sys.exit(usage.exit_code)


def unexpected(error: Exception, document: str | None = None) -> NoReturn:
    """Write the traceback of a bug to a file, print one line that names the file, and exit.

    Args:
        document: the command whose JSON document is printed as well.
    """
    with tempfile.NamedTemporaryFile("w", prefix="glacierbase-", suffix=".log", delete=False) as file:
        file.write(printable(split_lines("".join(traceback.format_exception(error)))))
    what = f"this is a bug in glacierbase; please report it with {file.name}"
    if document:
        click.echo(documents.json_document(document, (), GlacierbaseError("INTERNAL_ERROR", what)))
    message = f"error: INTERNAL_ERROR: {what}"
    click.echo(printable([message, f"more: {command('explain', 'INTERNAL_ERROR')}"]), err=True)
    sys.exit(_INTERNAL)
