"""The command `import`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_lock_timeout, with_options, with_yes


@cli.command("import")
@with_options()
@click.argument("what", type=click.Choice(["tables"]), expose_value=False)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option("--list", "list_only", is_flag=True, help="Only list the tables, and which of them are managed.")
@click.option("--author", help="Of the files. Default: git's user.name.")
@click.option("--dry-run", is_flag=True, help="Only show the files; write and record nothing.")
@click.option("--baseline", is_flag=True, help="Then record the files as applied, as `baseline` does.")
@click.option("--reason", metavar="TEXT", help="With --baseline: why; recorded in the history.")
@with_lock_timeout
@with_yes
def import_(
    options: CommandOptions,
    patterns: Sequence[str],
    baseline: bool,
    yes: bool,
    **rest: Any,
) -> None:
    """Write a migration for each table that exists.

    PATTERN is of whole names, as in 'lake.sales.*'. Each file creates a table like the one that exists: it is meant for other
    environments, and for `baseline` in this one. A table that a migration or a file changes already, or that the catalog file
    leaves to others, gets no file, so that the command can be repeated.

    Example: glacierbase import tables --list
    """
    if baseline is not (rest["reason"] is not None):
        raise click.UsageError("--baseline and --reason require each other", click.get_current_context())

    with options.terminal.reporting("import-tables") as report, options.loaded() as project:
        if baseline and not (yes or rest["dry_run"] or rest["list_only"]):
            listed = project.import_tables(patterns, options.catalogs, list_only=True)
            options.terminal.confirm(project.protected(options.catalogs), listed)
        report.results = project.import_tables(patterns, options.catalogs, **rest)
