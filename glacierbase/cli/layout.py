"""The commands `layout explain`, `advise`, `profile`, `simulate` and `ls`."""

from __future__ import annotations

import click

from glacierbase.cli.completion import complete_file
from glacierbase.cli.group import ListedCommand, cli
from glacierbase.cli.options import CommandOptions, with_options


class _Action(ListedCommand):
    """An action of `layout`."""

    def document_of(self, name: str) -> str:
        return f"layout-{name}"


class _Layout(click.Group):
    command_class = _Action


@cli.group(cls=_Layout)
def layout() -> None:
    """Explain, size, test and list the object keys of tables.

    The first characters of a key decide which partition of the object store a request reaches. Each command says what is documented
    of the store, what is modelled, and what is unknown.
    """


@layout.command()
@with_options()
@click.argument("table", metavar="TABLE|FILE", shell_complete=complete_file)
def explain(options: CommandOptions, table: str) -> None:
    """Show the template of the object keys of a table.

    It shows what each part of a key is, how it varies, and what decides it: the partition spec, a property, a version. TABLE is a
    table as recorded in the history; where the history has no record of it, as the files declare it. FILE is the version or the
    path of a migration: the tables that it creates or changes, as each environment renders it. This contacts nothing.
    """
    options.report(lambda project: project.layout_explain(table, options.catalogs))
