"""The command `drift`."""

from __future__ import annotations

import sys

import click

from glacierbase.cli.group import Section, cli
from glacierbase.cli.options import Options, with_options

_FOUND = 7


@cli.command(section=Section.ASK)
@with_options()
@click.option(
    "--fail-on",
    type=click.Choice(["structural", "any"]),
    default="structural",
    help="Which differences end the command with exit code 7; any: those of properties and comments, too. [structural]",
)
@click.option("--list", "listed", is_flag=True, help="List the tables that no migration made.")
def drift(options: Options, fail_on: str, listed: bool) -> None:
    """Compare each table with what the history recorded of it. Writes nothing."""
    from glacierbase.inspect.drift_results import DriftResult

    lines = DriftResult.listed if listed else None
    results = options.report(lambda project: project.drift(options.catalogs), lines=lines)
    if any(result.has(fail_on) for result in results):
        sys.exit(_FOUND)
