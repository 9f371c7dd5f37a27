"""The read-only commands on catalogs, except `drift`, which has actions."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from glacierbase.cli.completion import complete_environment, complete_file
from glacierbase.cli.group import DIFFERENCES, cli
from glacierbase.cli.options import CommandOptions, with_options


@cli.command()
@with_options(several=True)
def status(options: CommandOptions) -> None:
    """Show the state of every version and the lock holder. Writes nothing."""
    options.report(lambda project: project.status(options.catalogs))


@cli.command()
@with_options()
@click.option("--events", is_flag=True, help="List every event. JSON always has every event.")
@click.option("--table", help="Only files that change this table, also under its former names.")
@click.option("--column", help="Only changes of this column of the table, also under its former names.")
@click.option("--author", help="Only of authors whose name contains this.")
@click.option("--since", metavar="TIME", help="Only from this date (UTC) or time on, or 90m, 12h, 7d, 2w ago.")
@click.option("--version", help="Only this version.", shell_complete=complete_file)
def history(options: CommandOptions, events: bool, **filters: str | None) -> None:
    """List migrations and their outcomes, in order. Writes nothing."""
    from glacierbase.inspect.history import HistoryResult

    lines = HistoryResult.event_lines if events else None
    options.report(lambda project: project.history(options.catalogs, **filters), lines=lines)


@cli.command()
@with_options()
@click.argument("version", shell_complete=complete_file)
def show(options: CommandOptions, version: str) -> None:
    """Show one VERSION: statements, events and the next step. Writes nothing.

    The name of a repeatable counts as a version.
    """
    options.report(lambda project: project.show(version, options.catalogs))


@cli.command()
@with_options(sql=True)
@click.argument("table")
@click.option(
    "--at", metavar="VERSION|TIME", help="The table after this version, or at this time; a date means its end (UTC)."
)
@click.option("--diff", metavar="A..B", help="The differences between two versions or times.")
def schema(options: CommandOptions, table: str, at: str | None, diff: str | None) -> None:
    """Show the recorded schema of a TABLE. Writes nothing.

    `--format sql` prints statements that create the same table. The table itself is not read: `blame` says which migration made
    what, and what none made.
    """
    is_sql = options.format == "sql"
    options.report(lambda project: project.schema(table, options.catalogs, at=at, diff=diff, sql=is_sql))


@cli.command()
@with_options()
@click.argument("table", metavar="TABLE[.COLUMN]")
def blame(options: CommandOptions, table: str) -> None:
    """Show who changed each part of a TABLE, when and why. Writes nothing."""
    options.report(lambda project: project.blame(table, options.catalogs))


@cli.command()
@with_options()
@click.option(
    "--print-ddl",
    is_flag=True,
    help="Print the statements or commands that create glacierbase's tables, and the rights they need. Contacts nothing.",
)
def doctor(options: CommandOptions, print_ddl: bool) -> None:
    """Check files, connection, rights and the lock. Leaves nothing behind.

    It creates tables under a made-up name, lets several sessions compete for their lock, and drops them. For each namespace it
    shows whether the catalog prevents changes of tables by others than the migrator, or whether only `drift` detects them.
    """
    options.report(lambda project: project.doctor(options.catalogs, print_ddl=print_ddl))


@cli.command()
@with_options(environment=False)
@click.option("--exit-code", is_flag=True, help="Exit with 7 if anything differs that variables do not explain.")
@click.argument("sources", nargs=-1, metavar="ENV...", shell_complete=complete_environment)
def compare(options: CommandOptions, exit_code: bool, sources: Sequence[str]) -> None:
    """Show whether environments have had the same updates.

    Compares the applied files, and the tables that result. ENV is an environment, or a file ending in .json that `export-state`
    wrote. Writes nothing; starts an engine only where the history is read through it.
    """
    from glacierbase.capabilities.tables.compare.compare import compare_files, is_state_file

    if sources and all(map(is_state_file, sources)):  # No project is needed.
        with options.reporting() as report:
            report.results = compare_files(sources, options.catalogs)
    else:
        with options.reporting() as report, options.loaded() as project:
            report.results = project.compare(sources, options.catalogs)
    if exit_code and any(result.differs for result in report.results):
        sys.exit(DIFFERENCES)


@cli.command("export-state")
@with_options()
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    required=True,
    help="The file to write, which ends in .json; an existing one is replaced.",
)
def export_state(options: CommandOptions, output: str) -> None:
    """Write the state of an environment to a file for `compare`.

    The file contains versions, checksums and shapes of tables, and no secrets, SQL or
    rows. Use it for environments that only their own CI job can reach.
    """
    options.report(lambda project: project.export_state(output, options.catalogs))


@cli.command()
@with_options()
@click.option(
    "-o", "--output", metavar="PATH", required=True, help="The HTML file to write; an existing one is replaced."
)
@click.argument("sources", nargs=-1, metavar="[ENV]...", shell_complete=complete_environment)
def report(options: CommandOptions, output: str, sources: Sequence[str]) -> None:
    """Write a page of tables, migrations and their changes.

    The page is one HTML file, which opens from disk and contacts nothing. With two or more ENV it also compares these, as `compare`
    does: each ENV is an environment, or a file ending in .json that `export-state` wrote.
    """
    options.report(lambda project: project.report(output, sources, options.catalogs))
