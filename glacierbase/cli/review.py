"""The commands that check migrations: `check`, `lint` and `review`, which contact no catalog."""

from __future__ import annotations

import click

from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_options


@cli.command()
@with_options(outputs=True)
@click.option(
    "--base",
    metavar="REF",
    help="Show what the files do that this git ref lacks, and refuse edited ones. Default: check all files.",
)
def check(options: CommandOptions, base: str | None) -> None:
    """Check all files, and what their statements do.

    Joins `validate` and `lint`, with --base `validate` and `review`, in every environment. Contacts nothing. Exits with 3 if a file
    is wrong, or if a finding is an error that no comment `-- GLACIERBASE_ALLOW: CODE reason` above the statement allows.
    """
    options.report(lambda project: project.check(options.catalogs, base=base))


@cli.command()
@with_options(outputs=True)
@click.option("--base", metavar="REF", help="Check only the files that this git ref does not have. Default: all files.")
def lint(options: CommandOptions, base: str | None) -> None:
    """Check what the statements do, in every environment. Contacts nothing.

    Exits with 3 if a rule finds an error that no comment `-- GLACIERBASE_ALLOW: CODE reason` above the statement allows.
    """
    options.report(lambda project: project.lint(options.catalogs, base=base))


@cli.command()
@with_options(outputs=True)
@click.option("--base", metavar="REF", required=True, help="The branch to merge into. Files that it lacks are new.")
def review(options: CommandOptions, base: str) -> None:
    """Show what new migrations do to the tables, on a copy.

    Runs the migrations of the base and then the new ones with the catalog's Spark on a throw-away copy: empty tables in memory,
    without network, credentials and files. Contacts no catalog. Fails if Spark refuses a statement, or if a table or column is lost
    and no comment allows it. What `lint --base` finds in the new migrations is among the findings.
    """
    options.report(lambda project: project.review(base, options.catalogs))
