"""The command `import`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_options


@cli.command("import")
@with_options()
@click.argument("what", type=click.Choice(["tables"]))
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option("--list", "listed", is_flag=True, help="Only list the tables, and which of them are managed.")
def import_(options: CommandOptions, what: str, patterns: Sequence[str], listed: bool) -> None:  # noqa: ARG001
    """Bring tables that exist under version control.

    Example: glacierbase import tables --list 'lake.sales.*'
    """
    with options.terminal.reporting("import-tables") as report, options.loaded() as project:
        report.results = project.import_tables(patterns, options.catalogs)
