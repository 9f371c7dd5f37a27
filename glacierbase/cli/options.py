"""The options that commands share. Each command gets the ones that all commands have as one `CommandOptions`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

import glacierbase
from glacierbase.cli.completion import complete_catalog, complete_environment, complete_format, complete_output

if TYPE_CHECKING:
    from glacierbase.cli.terminal import Report, Terminal
    from glacierbase.output.documents import Lines
    from glacierbase.output.formats import OutputFile
    from glacierbase.project.project import Project

F = TypeVar("F", bound=Callable[..., Any])


class CommandOptions:
    """The options that every command has.

    Attributes:
        project: the project's root, or None for the nearest one.
        environments: names; empty for the default. Several for a command that shows them side by side.
        catalogs: names; empty for all.
        format: `text` or `json`; commands that review have more formats; `sql` for a command whose text is a script.
        verbose: whether more is logged to stderr.
        color: `auto`, `always` or `never`.
        outputs: files that also get the result.
        command: the command's name, which is also the name of its JSON document.
    """

    def __init__(
        self,
        command: str,
        project: str | None,
        format: str,
        verbose: bool,
        color: str = "auto",
        environments: Sequence[str] = (),
        catalogs: Sequence[str] = (),
        outputs: Sequence[OutputFile] = (),
    ) -> None:
        self.command = command
        self.project = project
        self.environments = environments
        self.catalogs = catalogs
        self.format = format
        self.verbose = verbose
        self.color = color
        self.outputs = outputs

    @functools.cached_property
    def terminal(self) -> Terminal:
        """The terminal of this command."""
        from glacierbase.cli.terminal import Terminal

        return Terminal("text" if self.format == "sql" else self.format, self.verbose, self.color, self.outputs)

    def load(self, environment: str | None = None) -> Project:
        """Return the project in an environment; by default in the chosen one."""
        environment = environment or next(iter(self.environments), None)
        project = glacierbase.Project.load(self.project, environment=environment)
        self.terminal.signals.watch(project.held_locks)
        return project

    @contextmanager
    def loaded(self, environment: str | None = None) -> Iterator[Project]:
        """Load the project, as `load`. Commands in messages of the block repeat the caller's choice."""
        from glacierbase.model.command import on_catalog

        project = self.load(environment)
        names = self.catalogs or project.default_catalogs
        with project.scope.in_use(), on_catalog(names[0] if len(names) == 1 else None):
            yield project

    def reporting(self, lines: Lines | None = None) -> AbstractContextManager[Report]:
        """Print the results that the block sets, and exit if it fails; see `Terminal.reporting`."""
        return self.terminal.reporting(self.command, lines)

    def report(
        self,
        run: Callable[[Project], Sequence[Any]],
        *,
        command: str | None = None,
        lines: Lines | None = None,
    ) -> Sequence[Any]:
        """Run the command in each environment, print its results, and exit if it fails; else return the results.

        Args:
            run: returns the results.
            command: the name of the JSON document; default the command's.
            lines: returns the text of a result; default its `lines`.
        """
        if len(self.environments) < 2:
            with self.terminal.reporting(command or self.command, lines) as report, self.loaded() as project:
                report.results = run(project)
            return report.results
        from glacierbase.output.side_by_side import side_by_side

        def run_in(environment: str) -> Sequence[Any]:
            with self.loaded(environment) as project:
                return run(project)

        with self.terminal.reporting(command or self.command, shown=side_by_side) as report:
            report.results = _run_in_each(self.environments, run_in)
        return report.results


def with_options(
    environment: bool = True, catalogs: bool = True, several: bool = False, outputs: bool = False, sql: bool = False
) -> Callable[[F], F]:
    """Add the options of `CommandOptions` to a command function, which gets them as its argument `options`.

    Args:
        environment: add `--env`.
        catalogs: add `--catalog`.
        several: allow several `--env`.
        outputs: add the formats of a review and `--output`.
        sql: add the format `sql`.
    """
    chosen = _ENVIRONMENTS if several else _ENVIRONMENT
    formats = (_EVERY_FORMAT, _OUTPUTS) if outputs else (_FORMAT_OR_SQL if sql else with_format,)
    shared = [_PROJECT, *formats, *_ALWAYS, *([_CATALOGS] if catalogs else []), *([chosen] if environment else [])]

    return lambda function: functools.reduce(lambda made, option: option(made), shared, function)


def take_options(command: str, values: dict[str, Any]) -> None:
    """Replace the values of the options that `with_options` adds, if a command has them, by one `options`."""
    if "project" in values:
        common = {name: values.pop(name) for name in _NAMES if name in values}
        values["options"] = CommandOptions(command, **common)


_NAMES = ("project", "format", "verbose", "color", "environments", "catalogs", "outputs")
with_color = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the output; auto: on a terminal, unless NO_COLOR is set. [auto]",
)
with_format, _FORMAT_OR_SQL = (
    click.option("--format", type=click.Choice(choices), default="text", help="The format of the result. [text]")
    for choices in (["text", "json"], ["text", "json", "sql"])
)
_PROJECT = click.option(
    "--project", type=click.Path(file_okay=False), help="The project's root folder. [env: GLACIERBASE_PROJECT]"
)
_ALWAYS = [click.option("-v", "--verbose", is_flag=True, help="Log more to stderr."), with_color]


class _Format(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A format of `output.formats`, which is loaded only for a command with this option."""

    name = "format"

    @property
    def choices(self) -> Sequence[str]:
        from glacierbase.output.formats import FORMATS

        return tuple(FORMATS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(click.Choice(self.choices).convert(value, param, ctx))

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 (click's)
        return f"[{'|'.join(self.choices)}]"


def _to_files(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Sequence[OutputFile]:
    if not values or ctx.resilient_parsing:
        return ()
    from glacierbase.output.formats import output_files

    try:
        return output_files(values)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


_EVERY_FORMAT = click.option(
    "--format",
    type=_Format(),
    default="text",
    help="The format of the result. [text]",
    shell_complete=complete_format,
)
_OUTPUTS = click.option(
    "--output",
    "outputs",
    metavar="FORMAT=PATH",
    multiple=True,
    callback=_to_files,
    help="Also write the result to a file in this format; repeat for several.",
    shell_complete=complete_output,
)
_CATALOGS = click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    help="A catalog; repeat for several. Default: all. [env: GLACIERBASE_CATALOG]",
    shell_complete=complete_catalog,
)


def _only_one(ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    if len(values) > 1:
        raise click.UsageError(f"--env was given {len(values)} times: {ctx.info_name} takes one environment", ctx)
    return values


_environments = functools.partial(
    click.option,
    "--env",
    "--environment",
    "environments",
    multiple=True,
    shell_complete=complete_environment,
)
_ENVIRONMENT = _environments(callback=_only_one, help="The environment. [env: GLACIERBASE_ENV]")
_ENVIRONMENTS = _environments(help="The environment; repeat to see several. [env: GLACIERBASE_ENV]")


class _Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`30s`, `5m`, `1h`, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from glacierbase.model.keys import parse_duration

        try:
            return parse_duration(value)
        except ValueError:
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h", param, ctx)


duration = _Duration()
with_lock_timeout = click.option(
    "--lock-timeout",
    type=duration,
    default="0s",
    help="How long to wait while another run holds the lock: 30s, 5m. [0s]",
)
with_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
with_resolve = click.option(
    "--resolve",
    is_flag=True,
    help="Read ${env:…}, ${secret:…} and ${file:…}; only on a branch that you trust. Default: placeholders.",
)


def _run_in_each(environments: Iterable[str], run: Callable[[str], Sequence[Any]]) -> Sequence[Any]:
    """Run a command in each environment, also after an error, and return all results.

    Raises:
        GlacierbaseError: the error, or all as one `SeveralErrors`; `results` holds the results of all environments.
    """
    from glacierbase.errors import GlacierbaseError, SeveralErrors

    results: list[Any] = []
    errors: list[GlacierbaseError] = []
    for environment in dict.fromkeys(environments):
        try:
            results += run(environment)
        except GlacierbaseError as error:
            results += error.results
            errors.append(error)
    if not errors:
        return results
    joined = errors[0] if len(errors) == 1 else SeveralErrors(errors)
    joined.results = tuple(results)
    raise joined


class Amount(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number such as `37.5M`, a size such as `128MB`, or a share such as `5%`."""

    name = "amount"

    def __init__(self, *, is_bytes: bool = False, is_share: bool = False) -> None:
        self._is_bytes = is_bytes
        self._is_share = is_share

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from glacierbase.model.amounts import parse_amount

        try:
            return parse_amount(value.removesuffix("%") if self._is_share else value, is_bytes=self._is_bytes)
        except ValueError as error:
            self.fail(str(error), param, ctx)
