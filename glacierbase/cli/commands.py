"""The command line: commands and options. What a command does is `glacierbase.Project`'s, how it answers `terminal`'s.

Both are imported by the command that runs: `--help` costs what click does.
"""

from __future__ import annotations

import atexit
import functools
import gc
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

import glacierbase
from glacierbase.cli.explain import explain

if TYPE_CHECKING:
    from glacierbase.model.results import Result
    from glacierbase.project import Project

F = TypeVar("F", bound=Callable[..., Any])

_FOUND = 7
# More objects than a question makes, and few enough to hold what is garbage among them for a while.
_OBJECTS = 500_000


class _Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`30s`, `5m`, `1h`, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from glacierbase.catalogs.catalog import parse_duration

        try:
            return parse_duration(value)
        except ValueError:
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h", param, ctx)


def _complete_catalog(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    try:
        return [name for name in glacierbase.Project.load().catalogs if name.startswith(incomplete)]
    except glacierbase.GlacierbaseError:
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


_resolving = click.option(
    "--resolve",
    is_flag=True,
    help="Read ${env:…}, ${secret:…} and ${file:…}; only on a branch that you trust. Default: placeholders.",
)
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


class _Command(click.Command):
    """A command that takes no empty value: it comes from an unset variable of a script, and would otherwise mean "all"."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for param in self.get_params(ctx):
            value = ctx.params.get(param.name or "")
            for each in value if isinstance(value, tuple) else (value,):
                if each == "":
                    raise click.BadParameter("the value is empty", ctx, param)
        return rest


class _Group(click.Group):
    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
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
        from glacierbase.cli.terminal import confirm, stop_by_signal

        loaded = _load(project, environment)
        confirm(loaded.protected(catalogs), yes)
        with stop_by_signal() as stop:
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
@_resolving
@click.argument("versions", nargs=-1)
def render(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    resolve: bool,
    versions: Sequence[str],
) -> None:
    """Print migrations as each environment renders them (all, or VERSIONS). Contacts nothing.

    Characters that a terminal or a CI service would obey are shown as escapes; --format json has the exact SQL.
    """
    _answer("render", form, verbose, lambda: _load(project, environment).render(versions, catalogs, resolve=resolve))


@cli.command()
@_common()
@click.option(
    "--base",
    metavar="REF",
    help="Compare with this git ref: nothing edited or deleted, new versions above its.",
)
@_resolving
def validate(
    project: str | None,
    environment: str | None,
    catalogs: Sequence[str],
    form: str,
    verbose: bool,
    base: str | None,
    resolve: bool,
) -> None:
    """Check every file for every environment: names, headers, templates, SQL quoting. Contacts nothing."""
    _answer(
        "validate", form, verbose, lambda: _load(project, environment).validate(catalogs, base=base, resolve=resolve)
    )


@cli.command()
@_common()
@click.option(
    "--as",
    "as_",
    type=click.Choice(["done", "not-done", "abandoned", "edited", "removed"]),
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
        from glacierbase.cli.terminal import confirm_known

        loaded = _load(project, environment)
        if as_ or environment_was:
            shown = None if environment_was else lambda: loaded.repair(versions, catalogs)
            confirm_known(loaded, catalogs, yes, shown)
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
        from glacierbase.cli.terminal import confirm_known

        loaded = _load(project, environment)
        if not yes:
            held = loaded.unlock(catalogs, dry_run=True)
            if not any(result.lock for result in held):
                return held
            confirm_known(loaded, catalogs, yes, lambda: held)
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
        from glacierbase.cli.terminal import confirm_known

        loaded = _load(project, environment)
        confirm_known(loaded, catalogs, yes, lambda: loaded.pending(catalogs))
        return loaded.baseline(to, catalogs, reason=reason, lock_timeout=lock_timeout)

    _answer("baseline", form, verbose, run)


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
        from glacierbase.migrations import scaffold
        from glacierbase.model.results import WrittenResult

        loaded = _load(project)
        folder = loaded.folder(catalog)
        path = scaffold.new(folder, loaded.root, description, author or scaffold.git_user())
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
        from glacierbase.migrations import scaffold
        from glacierbase.model.results import WrittenResult

        files = scaffold.init(project or ".", name, executor_type)
        return (WrittenResult(name, "", files=tuple(map(str, files))),)

    _answer("init", form, verbose, write)


cli.add_command(explain)


def _load(project: str | None, environment: str | None = None) -> Project:
    return glacierbase.Project.load(project, environment=environment)


def _answer(command: str, form: str, verbose: bool, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    from glacierbase.cli.terminal import answer

    return answer(command, form, verbose, ask)


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `glacierbase`. Leaves by `SystemExit`, never with a traceback."""
    _collect_seldom()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = cli.main(list(arguments), prog_name="glacierbase", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        from glacierbase.cli.terminal import usage_error

        usage_error(error, as_json="json" in _format_of(arguments))
    except click.Abort:
        sys.exit(130)
    except Exception as error:
        from glacierbase.cli.terminal import unexpected

        unexpected(error)


def _collect_seldom() -> None:
    """Nearly all that a start makes lives until the process ends: looking for garbage among it, time and again and once more at
    the end, would take a third of a question's time."""
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)


def _format_of(arguments: Sequence[str]) -> str:
    return " ".join(arg for before, arg in zip(["", *arguments], arguments, strict=False) if "--format" in before + arg)
