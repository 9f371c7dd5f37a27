"""The program `glacierbase`: how it starts, and how it exits after a wrong command line or a bug."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

# Importing these modules adds their commands to the group.
from glacierbase.cli import adopt, apply, drift, files, inspect, layout, reference, rekey, review, sharding  # noqa: F401
from glacierbase.cli.group import PipeClosed, cli

# More objects than a read-only command creates, and few enough that their garbage fits into memory.
_OBJECTS = 500_000
# The exit code of a program that SIGPIPE ends.
_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit by `SystemExit`, never with a traceback."""
    _collect_seldom()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    with _quiet_if_closed():
        try:
            code = cli.main(list(arguments), prog_name="glacierbase", standalone_mode=False)
            sys.exit(code if isinstance(code, int) else 0)
        except click.ClickException as error:
            from glacierbase.cli.terminal import usage_error

            usage_error(error, as_json=_is_json(arguments))
        except click.Abort:
            sys.exit(130)
        except (PipeClosed, BrokenPipeError):
            raise
        except Exception as error:
            if getattr(error, "code", "") == "UNSUPPORTED_SYSTEM":
                _unsupported(error, arguments)
            from glacierbase.cli.terminal import unexpected

            unexpected(error, _document_of(arguments) if _is_json(arguments) else None)


def _unsupported(error: Any, arguments: Sequence[str]) -> NoReturn:
    """Report a system on which the modules that report other errors cannot be imported, and exit."""
    from glacierbase.output.documents import json_document, text_errors

    if _is_json(arguments):
        click.echo(json_document("usage", (), error))
    else:
        click.echo(text_errors([error]), err=True)
    sys.exit(error.exit_code)


def run() -> None:
    """Run the command line as a process of its own, and end it although a call may hang in native code.

    At exit, the interpreter would wait for such a call: Arrow's access to S3 waits for its requests.
    """
    try:
        main()
    except SystemExit as end:
        waiting = sys.modules.get("glacierbase.run.waiting")  # Most commands do not import it.
        if waiting and waiting.is_call_left():
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        raise


@contextmanager
def _quiet_if_closed() -> Iterator[None]:
    """Exit without a message if the reader of stdout has closed it."""
    try:
        yield
    except (PipeClosed, BrokenPipeError):
        from glacierbase.cli.terminal import discard_stdout

        discard_stdout()
        sys.exit(_PIPE_CLOSED)


def _collect_seldom() -> None:
    """Collect garbage rarely, and not at exit.

    Nearly all objects exist until the process ends; collections would take a third of the time of a read-only command.
    """
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)


def _is_json(arguments: Sequence[str]) -> bool:
    """Return whether these arguments choose JSON as the format."""
    pairs = zip(["", *arguments], arguments, strict=False)
    return any("--format" in before + argument and "json" in argument for before, argument in pairs)


def _document_of(arguments: Sequence[str]) -> str:
    """Return the name of the JSON document of a command that failed by a bug: its own if it has catalogs, else `usage`."""
    commands = cli.by_words()
    words = next((words for words in (" ".join(arguments[:2]), *arguments[:1]) if words in commands), None)
    has_catalogs = words and any(param.name == "project" for param in commands[words].params)
    return words.replace(" ", "-") if words and has_catalogs else "usage"
