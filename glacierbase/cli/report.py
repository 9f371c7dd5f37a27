"""The command `report`: a page about the whole project."""

from __future__ import annotations

from collections.abc import Sequence

import click

from glacierbase.cli.completion import complete_environment
from glacierbase.cli.group import cli
from glacierbase.cli.options import Options, with_options


@cli.command()
@with_options()
@click.option(
    "-o", "--output", metavar="PATH", required=True, help="The HTML file to write; an existing one is replaced."
)
@click.argument("sources", nargs=-1, metavar="[ENV]...", shell_complete=complete_environment)
def report(options: Options, output: str, sources: Sequence[str]) -> None:
    """Write a page of tables, migrations and their changes.

    The page is one HTML file, which opens from disk and contacts nothing. With two or more ENV it also compares these, as `compare`
    does: each ENV is an environment, or a file ending in .json that `export-state` wrote.
    """
    options.report(lambda project: project.report(output, sources, options.catalogs))
