"""The command `import`."""

from __future__ import annotations

from typing import Any

import click

from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_lock_timeout, with_options, with_yes

# Those of `adopt.importing`, which only this command imports.
TOOLS = ("flyway", "schemachange", "liquibase", "alembic-offline-sql")


@cli.command("import")
@with_options()
@click.argument("tool", type=click.Choice(TOOLS))
@click.argument("path", type=click.Path())
@click.option("--author", help="Of scripts whose tool does not record one. Default: git's user.name.")
@click.option("--dry-run", is_flag=True, help="Only show the files; write and record nothing.")
@click.option(
    "--baseline",
    is_flag=True,
    help="Then record as applied what the history table of TOOL has as applied; reads that table.",
)
@click.option("--history-table", metavar="NAME", help="With --baseline: the name of that table. Default: that of TOOL.")
@click.option("--reason", metavar="TEXT", help="With --baseline: why; recorded in the history.")
@click.option(
    "--accept",
    metavar="WHAT",
    multiple=True,
    help="With --baseline: a difference that does not matter, such as 'partitioning'; recorded.",
)
@with_lock_timeout
@with_yes
def import_(
    options: CommandOptions, tool: str, path: str, baseline: bool, dry_run: bool, yes: bool, **rest: Any
) -> None:
    """Write the scripts of another TOOL as migrations.

    PATH is the folder of its project, for liquibase also a changelog, for alembic-offline-sql the output of
    alembic upgrade head --sql. Nothing of that project is run or changed. What has no counterpart is listed with file and line.
    Placeholders become variables; those that the project gives a value are printed for the catalog file.
    """
    if baseline != (rest["reason"] is not None):
        what = "--baseline requires --reason" if baseline else "--reason requires --baseline"
        raise click.UsageError(f"import: {what}", click.get_current_context())

    with options.reporting() as report, options.loaded() as project:
        arguments = {**rest, "baseline": baseline}
        if baseline and not dry_run and not yes:
            planned = project.import_project(tool, path, options.catalogs, dry_run=True, **arguments)
            options.terminal.confirm(project.protected(options.catalogs), planned)
        report.results = project.import_project(tool, path, options.catalogs, dry_run=dry_run, **arguments)
