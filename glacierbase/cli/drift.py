"""The command `drift`, and its three ways to resolve a difference."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from glacierbase.cli.group import DIFFERENCES, cli
from glacierbase.cli.options import CommandOptions, with_lock_timeout, with_options, with_yes


@cli.command()
@with_options()
@click.argument("action", type=click.Choice(["adopt", "revert", "ignore"]), required=False)
@click.option(
    "--fail-on",
    type=click.Choice(["structural", "any"]),
    default="structural",
    help="Which differences end the command with exit code 7; any: those of properties and comments, too. [structural]",
)
@click.option("--list", "listed", is_flag=True, help="List the tables that no migration made.")
@click.option(
    "--table", "tables", metavar="PATTERN", multiple=True, help="Only these tables, as in 'lake.web.*'. Default: all."
)
@click.option("--reason", metavar="TEXT", help="With an action: why; recorded, and the description of the migration.")
@click.option("--author", help="With adopt or revert. Default: git's user.name.")
@with_lock_timeout
@with_yes
def drift(
    options: CommandOptions,
    action: str | None,
    fail_on: str,
    listed: bool,
    tables: Sequence[str],
    reason: str | None,
    author: str | None,
    lock_timeout: float,
    yes: bool,
) -> None:
    """Compare each table with its record in the history.

    Without ACTION it writes nothing. adopt writes a migration that makes the changes in other environments, and records it as
    applied in this one; revert writes a migration that undoes the changes here, and records another one that makes them; ignore
    shows the rules to add to the catalog file.
    """
    if action is None:
        _report(options, fail_on, listed, tables)
        return
    if reason is None:
        raise click.UsageError(f"drift {action} requires --reason", click.get_current_context())

    with options.terminal.reporting(f"drift-{action}") as report, options.loaded() as project:
        from glacierbase.migrations.new_files import git_user

        chosen: dict[str, Any] = {"tables": tables, "reason": reason}
        if action == "ignore":
            report.results = project.drift_ignore(options.catalogs, **chosen)
            return
        chosen["author"] = author or git_user()
        results = () if yes else project.drift(options.catalogs, tables=tables)
        if any(result.drifts for result in results):
            options.terminal.confirm(project.protected(options.catalogs), results)
        settle = project.drift_adopt if action == "adopt" else project.drift_revert
        report.results = settle(options.catalogs, **chosen, lock_timeout=lock_timeout)


def _report(options: CommandOptions, fail_on: str, listed: bool, tables: Sequence[str]) -> None:
    from glacierbase.capabilities.tables.drift import DriftResult

    lines = DriftResult.listed if listed else None
    results = options.report(lambda project: project.drift(options.catalogs, tables=tables), lines=lines)
    if any(result.has(fail_on) for result in results):
        sys.exit(DIFFERENCES)
