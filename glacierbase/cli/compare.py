"""The commands that compare environments: `compare`, and `export-state` for those that only their own CI job can reach."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from glacierbase.cli.completion import complete_environment
from glacierbase.cli.group import FOUND, cli
from glacierbase.cli.options import Options, with_options


@cli.command()
@with_options(environment=False)
@click.option("--exit-code", is_flag=True, help="Exit with 7 if anything differs that variables do not explain.")
@click.argument("sources", nargs=-1, metavar="ENV...", shell_complete=complete_environment)
def compare(options: Options, exit_code: bool, sources: Sequence[str]) -> None:
    """Show whether environments have had the same updates.

    Compares the applied files, and the tables that result. ENV is an environment, or a file ending in .json that `export-state`
    wrote. Writes nothing; starts an engine only where the history is read through it.
    """
    from glacierbase.inspect.compare.sources import compare_files, is_state_file

    if sources and all(map(is_state_file, sources)):  # No project is needed.
        with options.reporting() as report:
            report.results = compare_files(sources, options.catalogs)
    else:
        with options.reporting() as report, options.loaded() as project:
            report.results = project.compare(sources, options.catalogs)
    if exit_code and any(result.differs for result in report.results):
        sys.exit(FOUND)


@cli.command("export-state")
@with_options()
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    required=True,
    help="The file to write, which ends in .json; an existing one is replaced.",
)
def export_state(options: Options, output: str) -> None:
    """Write the state of an environment to a file for `compare`.

    The file contains versions, checksums and shapes of tables, and no secrets, SQL or
    rows. Use it for environments that only their own CI job can reach.
    """
    options.report(lambda project: project.export_state(output, options.catalogs))
