"""The commands `rekey plan` and `rekey approve`."""

from __future__ import annotations

import click

from glacierbase.cli.group import cli, with_documents
from glacierbase.cli.options import CommandOptions, with_options, with_yes


@cli.group(cls=with_documents("rekey"))
def rekey() -> None:
    """Give a live table other object keys, phase by phase.

    The phases are ordinary migration files, which `migrate` runs. A file whose gate is shut waits; the next `migrate` asks again.
    """


@rekey.command()
@with_options()
@click.option(
    "--to",
    metavar="object-storage|STATEMENT|TEMPLATE",
    required=True,
    help="Hashes left of the partitions, or the ALTER TABLE that changes the keys, such as one of `layout advise`; of objects, the"
    " new keys, such as id_reversed={id:reversed}/date={date}/{file}.",
)
@click.option(
    "--from", "keys", metavar="TEMPLATE", help="Of objects: the keys now, such as date={date}/id={id}/{file}."
)
@click.option("--view", help="Of objects: the view by which readers are switched.")
@click.option("--old-table", metavar="TABLE", help="What the view reads by the old keys.")
@click.option("--new-table", metavar="TABLE", help="What the view reads by the new keys, with the same columns.")
@click.option("--by", metavar="COLUMN", help="The column by which rows are divided between the two meanwhile.")
@click.option("--table", "partitioned", help="Of objects: the table by whose partitions readers are switched instead.")
@click.option("--author", help="Default: git's user.name.")
@click.argument("table")
def plan(options: CommandOptions, table: str, to: str, **given: str | None) -> None:
    """Write the migrations that give an Iceberg table, or the objects of a data set on S3, new keys.

    Runs nothing. Of a table, whose name begins with its catalog, it reads the layout, through PyIceberg where that is possible. The
    files change it, rewrite the data files by ranges of partitions while other writers go on, and validate rows and keys. Of
    objects, the files check that writers write twice, copy and validate the other objects, switch readers and delete the old keys.

    Example: glacierbase rekey plan lake.web.events --to object-storage

    Example: glacierbase rekey plan s3://shop/events/ --from 'date={date}/id={id}/{file}' --to
    'id_reversed={id:reversed}/date={date}/{file}' --table spark_catalog.web.events
    """
    options.report(lambda project: project.rekey_plan(table, options.catalogs, to=to, **given))


@rekey.command()
@with_options(catalogs=False, environment=False)
@click.option(
    "--journal", metavar="dynamodb:TABLE", help="Where the re-key has its journal. Default: the project's folder."
)
@click.option("--manifest", metavar="DIGEST", help="With --yes: the digest of the manifest.")
@with_yes
@click.argument("address")
def approve(options: CommandOptions, address: str, journal: str | None, manifest: str | None, yes: bool) -> None:
    """Approve that the objects with old keys are deleted.

    Shows how many objects the manifest of the last validation names, and prompts for the address. The next `migrate` after the
    soak time deletes them.

    Example: glacierbase rekey approve s3://shop/events/
    """
    with options.reporting() as report, options.loaded() as project:
        if yes and manifest is None:
            from glacierbase.errors import ConfigurationError

            raise ConfigurationError(
                "CONFLICTING_OPTIONS", "--yes needs the digest that it approves", "add --manifest DIGEST"
            )
        if not yes:
            shown = project.rekey_approve(address, journal=journal)
            options.terminal.confirm_name(address, shown)
            manifest = manifest or shown.manifest
        report.answer = project.rekey_approve(address, manifest=manifest, journal=journal)
