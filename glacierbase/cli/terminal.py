"""What every command does at the terminal: ask, confirm, tell progress, answer, and leave with an exit code."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import click

from glacierbase.apply.lock import describe, held_here
from glacierbase.errors import ConfigurationError, GlacierbaseError, Interrupted
from glacierbase.executors.cancel import GRACE_SECONDS
from glacierbase.model.results import Result
from glacierbase.model.text import split_lines
from glacierbase.output import documents
from glacierbase.output.printable import printable
from glacierbase.project import Project

logger = logging.getLogger("glacierbase")

_INTERNAL = 70
_AGAIN = "run `glacierbase {}` again"

# The whole help, where no command is given; a class of its own since click 8.2.
_HELP = getattr(click.exceptions, "NoArgsIsHelpError", ())


def answer(command: str, form: str, verbose: bool, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Ask, print the answer on stdout, and leave with the exit code of an error, if there was one."""
    _log_to_stderr(verbose)
    error: GlacierbaseError | None = None
    try:
        with _interrupted_by_signal():
            results = ask()
    except GlacierbaseError as caught:
        error, results = caught, caught.results
        if _received:  # Whatever it came to, the signal ended it.
            error.exit_code = 128 + _received[0]
    except (KeyboardInterrupt, click.Abort):
        error, results = Interrupted("INTERRUPTED", f"{command} was stopped by a signal", _AGAIN.format(command)), ()
        error.exit_code = 128 + (_received or [signal.SIGINT])[0]
    if form == "json":
        click.echo(documents.json_document(command, results, error))
    elif text := documents.text_document(results):
        click.echo(text)
    if error:
        if form == "text":
            errors = [result.error for result in results if result.error] or [error]
            click.echo(documents.text_errors(errors), err=True)
        sys.exit(error.exit_code)
    return results


def confirm(environments: Sequence[str], yes: bool) -> None:
    """A protected environment is named by the person who changes it, or `--yes` is given where no person is."""
    for environment in environments:
        if yes:
            continue
        if not sys.stdin.isatty():
            raise ConfigurationError(
                "CONFIRMATION_MISSING",
                f"environment {environment} is protected, and there is no terminal to ask on",
                "add --yes",
            )
        question = printable([f"environment {environment} is protected; type its name to go on"])
        if click.prompt(question, err=True) != environment:
            raise ConfigurationError("NOT_CONFIRMED", f"that is not {environment}; nothing ran")


def confirm_known(
    project: Project, catalogs: Sequence[str], yes: bool, ask: Callable[[], Sequence[Result]] | None
) -> None:
    """Show what is known before it is overruled; a person says yes, or `--yes` does."""
    confirm(project.protected(catalogs), yes)
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "CONFIRMATION_MISSING", "this is confirmed, and there is no terminal to ask on", "add --yes"
        )
    if ask:
        click.echo(documents.text_document(ask()), err=True)
    if not click.confirm("go on", err=True):
        raise ConfigurationError("NOT_CONFIRMED", "nothing was changed")


_received: list[int] = []


@contextmanager
def stop_by_signal() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM ask the run to stop; the second one ends the process at once."""
    stop = threading.Event()

    def ask_to_stop() -> None:
        stop.set()
        logger.warning(
            "stopping: what runs has %.0f s to end, then it is cancelled; once more ends everything at once",
            GRACE_SECONDS,
        )

    with _on_signal(ask_to_stop):
        yield stop


@contextmanager
def _interrupted_by_signal() -> Iterator[None]:
    """SIGINT and SIGTERM raise KeyboardInterrupt, so that locks and engines are given back; the second one ends the process."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with _on_signal(interrupt):
        yield


@contextmanager
def _on_signal(first: Callable[[], None]) -> Iterator[None]:
    """Call `first` at the first SIGINT or SIGTERM, and end the process at once at the second."""

    def handle(number: int, _frame: FrameType | None) -> None:
        _received.append(number)
        if len(_received) > 1:
            for row in held_here():
                click.echo(printable([f"the lock of {row.catalog} is left behind, {describe(row)}"]), err=True)
            os._exit(128 + number)
        first()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable([super().format(record)])


def _log_to_stderr(verbose: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_PrintableFormatter("%(message)s"))
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    # Vendors' logs and warnings repeat, with a stack, what our errors say in a line.
    logging.getLogger().addHandler(logging.NullHandler())
    if verbose:
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").handlers = [handler]
    else:
        warnings.simplefilter("ignore")


def usage_error(error: click.ClickException, *, as_json: bool) -> NoReturn:
    """Say what is wrong with the command line, and leave."""
    usage = ConfigurationError("USAGE", error.format_message(), "glacierbase --help")
    if as_json:
        click.echo(documents.json_document("usage", (), usage))
    elif isinstance(error, _HELP):
        error.show()
    else:
        click.UsageError(printable([error.format_message()]), getattr(error, "ctx", None)).show()
    sys.exit(usage.exit_code)


def unexpected(error: Exception) -> NoReturn:
    """Leave without a traceback: that is kept in a file, which is named."""
    if isinstance(error, BrokenPipeError):
        # The reader of our output has what it wanted; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    with tempfile.NamedTemporaryFile("w", prefix="glacierbase-", suffix=".log", delete=False) as file:
        file.write(printable(split_lines("".join(traceback.format_exception(error)))))
    told = f"error: INTERNAL_ERROR: a bug of glacierbase; please report it with {file.name}"
    click.echo(printable([told, "more: glacierbase explain INTERNAL_ERROR"]), err=True)
    sys.exit(_INTERNAL)
