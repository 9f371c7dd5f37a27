"""The command line: options, signals, exit codes. What a command does is `glacierbase.Project`'s; how it reads, `documents`'."""

from __future__ import annotations

import functools
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

import glacierbase
from glacierbase import documents, scaffold
from glacierbase.catalog import parse_duration
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.lock import describe, held_here
from glacierbase.project import Project
from glacierbase.repair import Resolution
from glacierbase.results import Result, WrittenResult
from glacierbase.secrets import mask
from glacierbase.stop import GRACE_SECONDS

F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger("glacierbase")

_FOUND = 7
_INTERNAL = 70


class _Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`30s`, `5m`, `1h`, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(value)
        except ValueError:
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h", param, ctx)


def _complete_catalog(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    try:
        return [name for name in Project.load().catalogs if name.startswith(incomplete)]
    except GlacierbaseError:
        return []


def _common(environment: bool = True, catalogs: bool = True) -> Callable[[F], F]:
    """The options that every command about a project has."""
    options = [
        click.option(
            "--project",
            type=click.Path(file_okay=False),
            help="The project's root. [env: GLACIERBASE_PROJECT]",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            help="How the result reads.",
        ),
        click.option("-v", "--verbose", is_flag=True, help="Say more on stderr."),
    ]
    if catalogs:
        help_text = "A catalog; repeat for several. Default: all."
        options.append(
            click.option("--catalog", "catalogs", multiple=True, help=help_text, shell_complete=_complete_catalog)
        )
    if environment:
        options.append(
            click.option("--env", "--environment", "environment", help="The environment. [env: GLACIERBASE_ENV]")
        )

    def decorate(function: F) -> F:
        return functools.reduce(lambda made, option: option(made), options, function)

    return decorate


_selecting = [
    click.option("--to", metavar="VERSION", help="Go up to this version."),
    click.option("--only", metavar="VERSION", help="Run this one alone (a hotfix); needs --reason."),
    click.option("--reason", metavar="TEXT", help="Why --only; recorded in the history."),
    click.option(
        "--allow-out-of-order",
        metavar="VERSION",
        multiple=True,
        help="Run this one although a higher one is applied.",
    ),
]


def _with_selection(function: F) -> F:
    return functools.reduce(lambda made, option: option(made), reversed(_selecting), function)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(glacierbase.__version__, prog_name="glacierbase")
def cli() -> None:
    """Version control for table schemas in data lakes.

    Migrations are .sql files below migrations/CATALOG/, catalogs are catalogs/CATALOG.yaml.

    Exit codes: 0 done or nothing to do, 1 a migration failed, 2 usage or configuration, 3 files and history do not agree,
    4 lock held or lost, 5 engine or catalog unreachable, 6 a person must say what happened, 7 found (pending --exit-code),
    70 a bug, 130 and 143 stopped by a signal.
    """


@cli.command()
@_common()
@_with_selection
@click.option("--lock-timeout", type=_Duration(), default="0s", help="How long to wait for another run: 30s, 5m. [0s]")
@click.option("--dry-run", is_flag=True, help="Show what would run, as `plan` does.")
@click.option("--yes", is_flag=True, help="Do not ask for the name of a protected environment.")
def migrate(
    project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool, to: str | None,
    only: str | None, reason: str | None, allow_out_of_order: Sequence[str], lock_timeout: float, dry_run: bool, yes: bool,
) -> None:  # fmt: skip
    """Apply what is pending, in order, under the catalog's lock."""
    selection: dict[str, Any] = {
        "to": to,
        "only": only,
        "reason": reason,
        "allow_out_of_order": allow_out_of_order,
    }
    if dry_run:
        _answer("plan", form, verbose, lambda: _load(project, environment).plan(catalogs, **selection))
        return

    def run() -> Sequence[Result]:
        loaded = _load(project, environment)
        _confirm(loaded.protected(catalogs), yes)
        with _signals() as stop:
            return loaded.migrate(catalogs, **selection, lock_timeout=lock_timeout, stop=stop)

    _answer("migrate", form, verbose, run)


@cli.command()
@_common()
@click.option("--exit-code", is_flag=True, help="Exit with 7 when something is pending.")
def pending(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    exit_code: bool,
) -> None:
    """List what `migrate` would apply, in order. Writes nothing."""
    results = _answer("pending", form, verbose, lambda: _load(project, environment).pending(catalogs))
    if exit_code and any(result.pending for result in results):
        sys.exit(_FOUND)


@cli.command()
@_common()
def status(project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool) -> None:
    """Show where every version stands, and who holds the lock. Writes nothing."""
    _answer("status", form, verbose, lambda: _load(project, environment).status(catalogs))


@cli.command()
@_common()
def history(project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool) -> None:
    """List every recorded event, in order. Writes nothing."""
    _answer("history", form, verbose, lambda: _load(project, environment).history(catalogs))


@cli.command()
@_common()
@click.argument("version")
def show(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    version: str,
) -> None:
    """Show one VERSION: why, who, its statements, what failed and what to do next. Writes nothing."""
    _answer("show", form, verbose, lambda: _load(project, environment).show(version, catalogs))


@cli.command()
@_common()
@_with_selection
def plan(
    project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool, to: str | None,
    only: str | None, reason: str | None, allow_out_of_order: Sequence[str],
) -> None:  # fmt: skip
    """Show what `migrate` would run, rendered, statement by statement. Writes nothing."""
    selection: dict[str, Any] = {
        "to": to,
        "only": only,
        "reason": reason,
        "allow_out_of_order": allow_out_of_order,
    }
    _answer("plan", form, verbose, lambda: _load(project, environment).plan(catalogs, **selection))


@cli.command()
@_common()
@click.argument("versions", nargs=-1)
def render(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    versions: Sequence[str],
) -> None:
    """Print migrations as each environment renders them (all, or VERSIONS). Contacts nothing."""
    _answer("render", form, verbose, lambda: _load(project, environment).render(versions, catalogs))


@cli.command()
@_common()
@click.option(
    "--base",
    metavar="REF",
    help="Compare with this git ref: nothing edited or deleted, new versions above its.",
)
def validate(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    base: str | None,
) -> None:
    """Check every file for every environment: names, headers, templates, SQL quoting. Contacts nothing."""
    _answer("validate", form, verbose, lambda: _load(project, environment).validate(catalogs, base=base))


@cli.command()
@_common()
@click.option(
    "--as",
    "as_",
    type=click.Choice([resolution.value for resolution in Resolution]),
    help="What is true of the version. Without it, repair only shows what is known.",
)
@click.option("--reason", metavar="TEXT", help="How you know; recorded in the history.")
@click.option(
    "--environment-was",
    metavar="OLD",
    help="Accept a history that says environment OLD: it was renamed, or cloned.",
)
@click.option("--engine-stopped", is_flag=True, help="You saw that the lost run's engine is at work no more; recorded.")
@click.option("--lock-timeout", type=_Duration(), default="0s", help="How long to wait for another run: 30s, 5m. [0s]")
@click.option("--yes", is_flag=True, help="Record it without asking.")
@click.argument("versions", nargs=-1)
def repair(
    project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool, as_: str | None,
    reason: str | None, environment_was: str | None, engine_stopped: bool, lock_timeout: float, yes: bool,
    versions: Sequence[str],
) -> None:  # fmt: skip
    """Settle VERSIONS that need a person: an unknown outcome, a failed, edited or removed file.

    Without --as it shows what is known of them (of all that need a person, where none is named): the statement, who ran it
    and when, and what the engine remembers of it.
    """

    def run() -> Sequence[Result]:
        loaded = _load(project, environment)
        if as_ or environment_was:
            shown = None if environment_was else lambda: loaded.repair(versions, catalogs)
            _confirm_known(loaded, catalogs, yes, shown)
        return loaded.repair(
            versions, catalogs, as_=as_, reason=reason, environment_was=environment_was, engine_stopped=engine_stopped,
            lock_timeout=lock_timeout,
        )  # fmt: skip

    _answer("repair", form, verbose, run)


@cli.command()
@_common()
@click.option("--reason", metavar="TEXT", help="Why the lock is freed; recorded.")
@click.option("--force", is_flag=True, help="Also from a run that may be alive; it runs nothing more.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
def unlock(
    project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool, reason: str | None,
    force: bool, yes: bool,
) -> None:  # fmt: skip
    """Free a catalog's lock whose run is dead, after showing who it was."""

    def run() -> Sequence[Result]:
        loaded = _load(project, environment)
        if not yes:
            held = loaded.unlock(catalogs, dry_run=True)
            if not any(result.lock for result in held):
                return held
            _confirm_known(loaded, catalogs, yes, lambda: held)
        return loaded.unlock(catalogs, force=force, reason=reason)

    _answer("unlock", form, verbose, run)


@cli.command()
@_common()
@click.option("--to", metavar="VERSION", required=True, help="The last version whose tables are there already.")
@click.option("--reason", metavar="TEXT", required=True, help="Why; recorded in the history.")
@click.option("--lock-timeout", type=_Duration(), default="0s", help="How long to wait for another run: 30s, 5m. [0s]")
@click.option("--yes", is_flag=True, help="Do it without asking.")
def baseline(
    project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool, to: str, reason: str,
    lock_timeout: float, yes: bool,
) -> None:  # fmt: skip
    """Adopt existing tables: record migrations as applied without running them, once their tables are seen to be there."""

    def run() -> Sequence[Result]:
        loaded = _load(project, environment)
        _confirm_known(loaded, catalogs, yes, lambda: loaded.pending(catalogs))
        return loaded.baseline(to, catalogs, reason=reason, lock_timeout=lock_timeout)

    _answer("baseline", form, verbose, run)


def _confirm_known(
    project: Project, catalogs: Sequence[str], yes: bool, ask: Callable[[], Sequence[Result]] | None
) -> None:
    """Show what is known before it is overruled; a person says yes, or `--yes` does."""
    _confirm(project.protected(catalogs), yes)
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


@cli.command()
@_common()
@click.option(
    "--print-ddl", is_flag=True, help="Print what creates our tables, and the least rights. Contacts nothing."
)
def doctor(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    print_ddl: bool,
) -> None:
    """Try all that a migration needs: files, connection, rights, and whether only one can win the lock. Leaves nothing."""
    _answer("doctor", form, verbose, lambda: _load(project, environment).doctor(catalogs, print_ddl=print_ddl))


@cli.command()
@_common()
def warm(project: str | None, environment: str | None, catalogs: Sequence[str], form: str, verbose: bool) -> None:
    """Fetch the dependencies and make Spark's class archive, for container images and CI caches. Contacts no catalog."""
    _answer("warm", form, verbose, lambda: _load(project, environment).warm(catalogs))


@cli.command()
@_common(environment=False, catalogs=False)
@click.option(
    "--catalog", help="The catalog; may be left out when there is only one.", shell_complete=_complete_catalog
)
@click.option("--author", help="Default: git's user.name.")
@click.argument("description")
def new(
    project: str | None, catalog: str | None, form: str, verbose: bool, author: str | None, description: str
) -> None:
    """Write the next migration's file, with its headers filled in: new 'add the device column'."""

    def write() -> Sequence[Result]:
        folder = Project.load(project).folder(catalog)
        path = scaffold.new(folder, description, author or _git_user())
        return (WrittenResult(catalog or folder.name, "", files=(str(path),)),)

    _answer("new", form, verbose, write)


@cli.command()
@_common(environment=False, catalogs=False)
@click.option(
    "--type",
    "executor_type",
    type=click.Choice(["spark", "snowflake"]),
    default="spark",
    show_default=True,
    help="The engine. Spark's sample runs on the spot, Snowflake's needs an account.",
)
@click.argument("name", default="analytics")
def init(project: str | None, form: str, verbose: bool, executor_type: str, name: str) -> None:
    """Write a project with the catalog NAME and its first migration. Overwrites nothing."""

    def write() -> Sequence[Result]:
        files = scaffold.init(Path(project or "."), name, executor_type)
        return (WrittenResult(name, "", files=tuple(map(str, files))),)

    _answer("init", form, verbose, write)


def _load(project: str | None, environment: str | None) -> Project:
    return Project.load(project, environment=environment)


def _answer(command: str, form: str, verbose: bool, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Ask, print the answer on stdout, and leave with the exit code of an error, if there was one."""
    _log_to_stderr(verbose)
    error: GlacierbaseError | None = None
    try:
        results = ask()
    except GlacierbaseError as caught:
        error, results = caught, caught.results
        if _received:  # Whatever it came to, the signal ended it.
            error.exit_code = 128 + _received[0]
    if form == "json":
        click.echo(documents.json_document(command, results, error))
    elif text := documents.text_document(results):
        click.echo(text)
    if error:
        if form == "text":
            errors = [result.error for result in results if result.error] or [error]
            click.echo("\n".join(map(documents.text_error, errors)), err=True)
        sys.exit(error.exit_code)
    return results


def _confirm(environments: Sequence[str], yes: bool) -> None:
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
        if click.prompt(f"environment {environment} is protected; type its name to go on", err=True) != environment:
            raise ConfigurationError("NOT_CONFIRMED", f"that is not {environment}; nothing ran")


_received: list[int] = []


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM ask the run to stop; the second one ends the process at once."""
    stop = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        _received.append(number)
        if stop.is_set():
            for row in held_here():
                click.echo(f"the lock of {row.catalog} is left behind, {describe(row)}", err=True)
            os._exit(128 + number)
        stop.set()
        logger.warning(
            "stopping: what runs has %.0f s to end, then it is cancelled; once more ends everything at once",
            GRACE_SECONDS,
        )

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _MaskedFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


def _log_to_stderr(verbose: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_MaskedFormatter("%(message)s"))
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    # Vendors' logs and warnings repeat, with a stack, what our errors say in a line.
    logging.getLogger().addHandler(logging.NullHandler())
    if not verbose:
        warnings.simplefilter("ignore")


def _git_user() -> str:
    try:
        found = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        found = ""
    if not found:
        raise ConfigurationError("AUTHOR_MISSING", "git knows no user.name here", "add --author 'Data Platform Team'")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `glacierbase`. Leaves by `SystemExit`, never with a traceback."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = cli.main(list(arguments), prog_name="glacierbase", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        _usage(error, "json" in _format_of(arguments))
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has what it wanted; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception:
        with tempfile.NamedTemporaryFile("w", prefix="glacierbase-", suffix=".log", delete=False) as file:
            file.write(mask(traceback.format_exc()))
        click.echo(f"error: INTERNAL_ERROR: a bug of glacierbase; please report it with {file.name}", err=True)
        sys.exit(_INTERNAL)


def _format_of(arguments: Sequence[str]) -> str:
    return " ".join(arg for before, arg in zip(["", *arguments], arguments, strict=False) if "--format" in before + arg)


def _usage(error: click.ClickException, as_json: bool) -> None:
    usage = ConfigurationError("USAGE", error.format_message(), "glacierbase --help")
    if as_json:
        click.echo(documents.json_document("usage", (), usage))
    else:
        error.show()
    sys.exit(2)
