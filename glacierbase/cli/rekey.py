"""The command `rekey plan`."""

from __future__ import annotations

import click

from glacierbase.cli.group import cli, with_documents
from glacierbase.cli.options import CommandOptions, with_options


@cli.group(cls=with_documents("rekey"))
def rekey() -> None:
    """Give a live table other object keys, phase by phase.

    The phases are ordinary migration files, which `migrate` runs. A file whose gate is shut waits; the next `migrate` asks again.
    """


@rekey.command()
@with_options()
@click.option(
    "--to",
    metavar="object-storage|STATEMENT",
    required=True,
    help="Hashes left of the partitions, or the ALTER TABLE that changes the keys, such as one of `layout advise`.",
)
@click.option("--author", help="Default: git's user.name.")
@click.argument("table")
def plan(options: CommandOptions, table: str, to: str, author: str | None) -> None:
    """Write the migrations that move the files of an Iceberg table to new keys.

    Reads the table, through PyIceberg where that is possible, and runs nothing. TABLE begins with its catalog. The files change its
    layout, rewrite its data files by ranges of partitions while other writers go on, and validate rows and keys.

    Example: glacierbase rekey plan lake.web.events --to object-storage
    """
    options.report(lambda project: project.rekey_plan(table, options.catalogs, to=to, author=author))
