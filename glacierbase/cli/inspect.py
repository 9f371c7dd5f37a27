"""The read-only commands on catalogs."""

from __future__ import annotations

import click

from glacierbase.cli.completion import complete_version
from glacierbase.cli.group import cli
from glacierbase.cli.options import Options, with_options


@cli.command()
@with_options(several=True)
def status(options: Options) -> None:
    """Show the state of every version and the lock holder. Writes nothing."""
    options.report(lambda project: project.status(options.catalogs))


@cli.command()
@with_options()
@click.option("--events", is_flag=True, help="List every event. JSON always has every event.")
@click.option("--table", help="Only files that change this table, also under its former names.")
@click.option("--column", help="Only changes of this column of the table, also under its former names.")
@click.option("--author", help="Only of authors whose name contains this.")
@click.option("--since", metavar="TIME", help="Only from this date (UTC) or time on, or 90m, 12h, 7d, 2w ago.")
@click.option("--version", help="Only this version.", shell_complete=complete_version)
def history(options: Options, events: bool, **filters: str | None) -> None:
    """List migrations and their outcomes, in order. Writes nothing."""
    from glacierbase.inspect.versions.history import HistoryResult

    lines = HistoryResult.event_lines if events else None
    options.report(lambda project: project.history(options.catalogs, **filters), lines=lines)


@cli.command()
@with_options()
@click.argument("version", shell_complete=complete_version)
def show(options: Options, version: str) -> None:
    """Show one VERSION: statements, events and the next step. Writes nothing."""
    options.report(lambda project: project.show(version, options.catalogs))


@cli.command()
@with_options(sql=True)
@click.argument("table")
@click.option(
    "--at", metavar="VERSION|TIME", help="The table after this version, or at this time; a date means its end (UTC)."
)
@click.option("--diff", metavar="A..B", help="The differences between two versions or times.")
def schema(options: Options, table: str, at: str | None, diff: str | None) -> None:
    """Show the recorded schema of a TABLE. Writes nothing.

    `--format sql` prints statements that create the same table. The table itself is not read: `blame` says which migration made
    what, and what none made.
    """
    is_sql = options.format == "sql"
    options.report(lambda project: project.schema(table, options.catalogs, at=at, diff=diff, sql=is_sql))


@cli.command()
@with_options()
@click.argument("table", metavar="TABLE[.COLUMN]")
def blame(options: Options, table: str) -> None:
    """Show who changed each part of a TABLE, when and why. Writes nothing."""
    options.report(lambda project: project.blame(table, options.catalogs))


@cli.command()
@with_options()
@click.option(
    "--print-ddl",
    is_flag=True,
    help="Print the statements that create glacierbase's tables, and the rights they need. Contacts nothing.",
)
def doctor(options: Options, print_ddl: bool) -> None:
    """Check files, connection, rights and the lock. Leaves nothing behind.

    It creates tables under a made-up name, lets several sessions compete for their lock, and drops them.
    """
    options.report(lambda project: project.doctor(options.catalogs, print_ddl=print_ddl))
