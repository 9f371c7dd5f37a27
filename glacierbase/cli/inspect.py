"""The read-only commands on catalogs."""

from __future__ import annotations

import click

from glacierbase.cli.completion import complete_version
from glacierbase.cli.group import Section, cli
from glacierbase.cli.options import Options, with_options


@cli.command(section=Section.ASK)
@with_options(several=True)
def status(options: Options) -> None:
    """Show the state of every version and the lock holder. Writes nothing."""
    options.report(lambda project: project.status(options.catalogs))


@cli.command(section=Section.ASK)
@with_options()
@click.option("--events", is_flag=True, help="List every event. JSON always has every event.")
def history(options: Options, events: bool) -> None:
    """List migrations and their outcomes, in order. Writes nothing."""
    from glacierbase.inspect.results import HistoryResult

    lines = HistoryResult.event_lines if events else None
    options.report(lambda project: project.history(options.catalogs), lines=lines)


@cli.command(section=Section.ASK)
@with_options()
@click.argument("version", shell_complete=complete_version)
def show(options: Options, version: str) -> None:
    """Show one VERSION: statements, events and the next step. Writes nothing."""
    options.report(lambda project: project.show(version, options.catalogs))


@cli.command(section=Section.CHECK)
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
