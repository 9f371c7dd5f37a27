"""The command `import`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_lock_timeout, with_options, with_yes

_TABLES = "tables"
# Those of `adopt.importing`, which only this command imports.
TOOLS = ("flyway", "schemachange", "liquibase", "alembic-offline-sql")


@cli.command("import")
@with_options()
@click.argument("what", type=click.Choice((_TABLES, *TOOLS)))
@click.argument("sources", nargs=-1, metavar="[PATTERN|PATH]...")
@click.option("--list", "list_only", is_flag=True, help="Only list the tables, and which of them are managed.")
@click.option("--author", help="Of tables, and of scripts whose tool does not record one. Default: git's user.name.")
@click.option("--dry-run", is_flag=True, help="Only show the files; write and record nothing.")
@click.option(
    "--baseline",
    is_flag=True,
    help="Then record the files as applied, as `baseline` does; of a tool, those that its history table has as applied.",
)
@click.option("--history-table", metavar="NAME", help="Of a tool, with --baseline: the name of that table.")
@click.option(
    "--accept",
    metavar="WHAT",
    multiple=True,
    help="Of a tool, with --baseline: a difference that does not matter, such as 'partitioning'; recorded.",
)
@click.option("--reason", metavar="TEXT", help="With --baseline: why; recorded in the history.")
@with_lock_timeout
@with_yes
def import_(
    options: CommandOptions,
    what: str,
    sources: Sequence[str],
    list_only: bool,
    history_table: str | None,
    accept: Sequence[str],
    baseline: bool,
    **rest: Any,
) -> None:
    """Write migrations for existing tables or projects.

    tables [PATTERN]... writes a file for each table, as in 'lake.sales.*', that no migration or file creates yet, and that the
    catalog file does not leave to others. It creates a table like the one that exists: in other environments, and for `baseline`
    in this one.

    flyway, schemachange, liquibase or alembic-offline-sql, with the PATH of its project, writes a file for each script. PATH may
    also be a changelog for liquibase, and is the output of alembic upgrade head --sql. Nothing of the project is run or changed.
    What has no counterpart is listed with file and line. Placeholders become variables; those with a value are printed.

    Example: glacierbase import tables --list
    """
    if baseline is not (rest["reason"] is not None):
        wrong = "--baseline requires --reason" if baseline else "--reason requires --baseline"
        raise click.UsageError(f"import: {wrong}", click.get_current_context())
    if what == _TABLES:
        _refuse(what, {"--history-table": history_table, "--accept": accept})
        if list_only and baseline:
            raise click.UsageError("import tables: --list excludes --baseline", click.get_current_context())
        _import_tables(options, sources, list_only=list_only, **rest)
        return
    _refuse(what, {"--list": list_only})
    if len(sources) != 1:
        raise click.UsageError(f"import {what} requires one PATH", click.get_current_context())
    _import_project(options, what, sources[0], baseline=baseline, history_table=history_table, accept=accept, **rest)


def _refuse(what: str, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value:
            raise click.UsageError(f"import {what} has no option {option}", click.get_current_context())


def _import_tables(
    options: CommandOptions, patterns: Sequence[str], yes: bool, *, list_only: bool, dry_run: bool, **rest: Any
) -> None:
    with options.terminal.reporting("import-tables") as report, options.loaded() as project:
        if rest["reason"] is not None and not (yes or dry_run or list_only):
            listed = project.import_tables(patterns, options.catalogs, list_only=True)
            options.terminal.confirm(project.protected(options.catalogs), listed)
        report.results = project.import_tables(patterns, options.catalogs, list_only=list_only, dry_run=dry_run, **rest)


def _import_project(
    options: CommandOptions, tool: str, path: str, yes: bool, *, baseline: bool, dry_run: bool, **rest: Any
) -> None:
    with options.reporting() as report, options.loaded() as project:
        arguments = {**rest, "baseline": baseline}
        if baseline and not dry_run and not yes:
            planned = project.import_project(tool, path, options.catalogs, dry_run=True, **arguments)
            options.terminal.confirm(project.protected(options.catalogs), planned)
        report.results = project.import_project(tool, path, options.catalogs, dry_run=dry_run, **arguments)
