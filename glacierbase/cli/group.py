"""The group of all commands: their common behaviour, including exit codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

import glacierbase
from glacierbase.cli.options import take_options
from glacierbase.project.commands import COMMANDS, DAILY, Section

# The exit code of a read-only command that found what its options search for.
DIFFERENCES = 7


class PipeClosed(Exception):
    """The reader of stdout closed it, as `head` does."""


@contextmanager
def _pipe_watched() -> Iterator[None]:
    """Raise a broken pipe as `PipeClosed`: click would exit with 1, which means that a migration failed."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosed from error


class ListedCommand(click.Command):
    """A command that refuses empty values: they come from unset variables of a script, and would otherwise mean "all".

    Raises:
        KeyError: the table of commands lacks the command.
    """

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)
        self._document = self.document_of(name)
        self.section = COMMANDS[self._document].section

    def _hint(self, message: str) -> str:
        """Return what somebody probably meant who gave the command one argument too many; empty if that is not known."""
        if self.name == "help":
            return "a command is explained by `COMMAND --help`"
        if self.name == "new":
            return "write the description in quotes"
        param, hint = (
            ("catalogs", "--catalog names a catalog")
            if "/" in message
            else ("environments", "--env names the environment")
        )
        return hint if any(known.name == param for known in self.params) else ""

    def document_of(self, name: str) -> str:
        """Return the command's name in the table of commands, which is also the name of its JSON document."""
        return name

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.message and (hint := self._hint(error.message)):
                raise click.UsageError(f"{error.message.rstrip('.')}; {hint}.", ctx) from error
            raise
        if ctx.resilient_parsing:  # For a shell that completes an incomplete line.
            return rest
        for param in self.get_params(ctx):
            value = ctx.params.get(param.name or "")
            for item in value if isinstance(value, tuple) else (value,):
                if item == "":
                    raise click.BadParameter("the value is empty", ctx, param)
        take_options(self._document, ctx.params)
        return rest


def with_documents(group: str) -> type[click.Group]:
    """Return the class of a group whose actions have documents of their own: `layout-explain` for `layout explain`."""

    class Action(ListedCommand):
        def document_of(self, name: str) -> str:
            return f"{group}-{name}"

    class Group(click.Group):
        command_class = Action

    return Group


class _Group(click.Group):
    command_class = ListedCommand

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the daily commands, and how to see the others."""
        self.format_sections(formatter, is_all=False)
        formatter.write_paragraph()
        formatter.write_text(f"`help --all` lists all {len(self.commands)} commands, `COMMAND --help` explains one.")

    def format_sections(self, formatter: click.HelpFormatter, *, is_all: bool) -> None:
        """Write lists of commands, with whole first sentences."""
        sections = self.sections(is_all=is_all)
        width = max(len(name) for _, rows in sections for name, _ in rows)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])

    def sections(self, *, is_all: bool) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the daily commands, or every command by section: title, and names with their summaries."""
        names = {
            section.value: [name for name, row in COMMANDS.items() if row.section is section] for section in Section
        }
        chosen = names if is_all else {"Every day": DAILY}
        return [
            (title, [(name, self.commands[name].get_short_help_str(100)) for name in names])
            for title, names in chosen.items()
        ]

    def by_words(self) -> Mapping[str, click.Command]:
        """Return every command by the words that call it: `migrate`, `layout explain`."""
        every: dict[str, click.Command] = {}
        for name, called in self.commands.items():
            inner = called.commands if isinstance(called, click.Group) else {}
            every |= {f"{name} {action}": inside for action, inside in inner.items()} or {name: called}
        return every

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if any(error.option_name in param.opts for command in self.by_words().values() for param in command.params):
                hint = f"write it after the command: `COMMAND {error.option_name} …`"
                raise click.UsageError(
                    f"No such option '{error.option_name}' before a command; {hint}.", ctx
                ) from error
            raise

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _pipe_watched():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _pipe_watched():
            return super().invoke(ctx)


def _print_version(ctx: click.Context, _param: click.Parameter, is_chosen: bool) -> None:
    if is_chosen and not ctx.resilient_parsing:
        from glacierbase.run.installed import built_from, extras

        facts = [f"commit {built_from()[0] or 'unknown'}", f"extras {', '.join(extras()) or 'none'}"]
        click.echo(f"glacierbase {glacierbase.__version__} ({'; '.join(facts)})")
        ctx.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show version, commit and extras.",
)
def cli() -> None:
    """Version control for table schemas in data lakes.

    Migrations are .sql files below migrations/CATALOG/, catalogs are catalogs/CATALOG.yaml.

    Exit codes: 0 done or nothing to do, 1 a migration failed, 2 usage or configuration error, 3 invalid files, or files and
    history differ, 4 lock held or lost, 5 engine or catalog unreachable, 6 the history needs `repair`, 7 found (by
    drift; by pending and compare with --exit-code), 70 internal error, 129, 130 and 143 stopped by a signal.
    """
