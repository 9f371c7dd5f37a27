"""The commands on files alone, which contact nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from glacierbase.cli.completion import complete_catalog, complete_file, complete_version
from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_options, with_resolve
from glacierbase.project.commands import COMMANDS


@cli.command()
@with_options()
@click.option(
    "--base",
    metavar="REF",
    help="Compare with a git ref: its files must be unchanged, new versions must be above its highest.",
)
@with_resolve
def validate(options: CommandOptions, base: str | None, resolve: bool) -> None:
    """Check every file in every environment. Contacts nothing.

    Checks names, headers, templates, and that the SQL can be split into statements.
    """

    with options.reporting() as report:
        from glacierbase.project.folders import listing_catalogs

        with listing_catalogs(options.project):
            project = options.load()
        report.results = project.validate(options.catalogs, base=base, resolve=resolve)


@cli.command()
@with_options()
@with_resolve
@click.argument("versions", nargs=-1, shell_complete=complete_file)
def render(options: CommandOptions, resolve: bool, versions: Sequence[str]) -> None:
    """Print migrations as each environment renders them.

    All, or VERSIONS and names of repeatables. Contacts nothing. Control characters and CI commands are shown as escapes;
    --format json has the exact SQL.
    """
    options.report(lambda project: project.render(versions, options.catalogs, resolve=resolve))


@cli.command()
@with_options(catalogs=False)
@click.option("--catalog", help="The catalog; required if there are several.", shell_complete=complete_catalog)
@click.option("--author", help="Default: git's user.name.")
@click.option(
    "--to-match",
    metavar="FILE",
    help="Write the statements that lead from the recorded tables to those of FILE: CREATE TABLE statements, an Arrow, Parquet or "
    "JSON schema, or env:NAME, another environment.",
)
@click.option("--table", help="With --to-match: the table, as the history records it. Default: all in FILE.")
@click.option(
    "--rename",
    "renames",
    metavar="OLD:NEW",
    multiple=True,
    help="With --to-match: a column that has another name in FILE; otherwise columns of different names are different.",
)
@click.option("--reverting", metavar="VERSION", help="Write statements that undo this version, as far as possible.")
@click.option("--repeatable", metavar="NAME", help="Write repeatable/NAME.sql, which runs again whenever it changes.")
@click.argument("description")
def new(
    options: CommandOptions,
    catalog: str | None,
    description: str,
    to_match: str | None,
    table: str | None,
    renames: Sequence[str],
    **written: str | None,
) -> None:
    """Write the next migration file, with its headers.

    Example: glacierbase new 'add the device column'
    """

    if to_match is not None:
        with options.terminal.reporting("new-matching") as report, options.loaded() as project:
            chosen: dict[str, Any] = {"table": table, "renames": renames, "author": written["author"]}
            report.results = project.new_matching(to_match, description, [catalog] if catalog else (), **chosen)
        return
    with options.reporting() as report, options.loaded() as project:
        from glacierbase.project.each import folder_check

        folder = project.folder(catalog)
        write = COMMANDS["new"].load()
        check = folder_check(project.root, folder)
        report.results = (write(project.root, folder, description, catalog=catalog, check=check, **written),)


@cli.command()
@with_options(environment=False)
@click.option("--base", metavar="REF", help="The branch to merge into. Default: the default branch of origin.")
@click.option("--dry-run", is_flag=True, help="Only show the renames.")
@click.option("--commit", is_flag=True, help="Commit the renames. Default: ask on a terminal, otherwise do not commit.")
def rebase(options: CommandOptions, base: str | None, dry_run: bool, commit: bool) -> None:
    """Give new files versions above those of a base branch.

    For a branch whose base got higher versions meanwhile. Renames all files in their order, or none, and changes no content.
    Contacts nothing: whether a file is applied anywhere is not checked.
    """

    with options.reporting() as report, options.loaded() as project:
        from glacierbase.model.text import counted

        rename = COMMANDS["rebase"].load()
        catalogs = options.catalogs or project.default_catalogs
        folders = {name: project.folder(name) for name in (*project.catalogs, *catalogs)}
        planned = rename(project.root, folders, catalogs, base, dry_run=True, commit=False)
        if dry_run:
            report.results = planned
            return
        count = sum(file.tracked for result in planned for file in result.renamed)
        agreed = commit or (
            count > 0 and options.terminal.agrees(f"commit the renames, too ({counted(count, 'tracked file')})")
        )
        report.results = rename(project.root, folders, catalogs, base, dry_run=False, commit=agreed)


@cli.command()
@with_options()
@click.option(
    "--to", metavar="VERSION", required=True, help="The last version to replace.", shell_complete=complete_version
)
@click.option("--author", help="Default: git's user.name.")
@click.option("--dry-run", is_flag=True, help="Only show the file.")
@click.option("--commit", is_flag=True, help="Commit it. Default: ask on a terminal, otherwise do not commit.")
def squash(options: CommandOptions, to: str, author: str | None, dry_run: bool, commit: bool) -> None:
    """Replace old files by one that creates their tables.

    New environments run this file in place of all files up to VERSION. Its statements create the tables of the chosen environment,
    which must have applied all files up to VERSION and none above. Environments that have applied the old files run nothing, and
    their history does not change. Rows, views, grants and calls are left out.
    """

    with options.reporting() as report, options.loaded() as project:
        from glacierbase.errors import GlacierbaseError
        from glacierbase.migrations.new_files import git_user
        from glacierbase.model.text import counted

        author_ = author or git_user()
        try:
            [squashed] = project.squash(to, options.catalogs, author=author_, dry_run=True)
        except GlacierbaseError:
            if dry_run:
                raise
            # The command without `--dry-run` reports the error with the right hint.
            report.results = project.squash(to, options.catalogs, author=author_)
            return
        if dry_run:
            report.results = (squashed,)
            return
        replaced = counted(len(squashed.removed), "file")
        agreed = commit or options.terminal.agrees(
            f"also commit {squashed.path} in place of {replaced} (otherwise the change is only staged)"
        )
        report.results = project.squash(to, options.catalogs, author=author_, commit=agreed)


@cli.command()
@with_options(environment=False, catalogs=False)
@click.option(
    "--type",
    "catalog_type",
    type=click.Choice(["spark", "rest", "glue", "hive", "jdbc", "delta", "hudi", "snowflake"]),
    default="spark",
    show_default=True,
    help="What the catalog file is for: spark, delta and hudi work on local files, the others read environment variables.",
)
@click.option(
    "--store",
    type=click.Choice(["dynamodb"]),
    help="Where history and lock are: dynamodb is a table of DynamoDB. Default: where the type has them, such as in its catalog.",
)
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab"]),
    help="Also write files for this CI service: review, deployment, code owners. In a project that has catalogs: only these.",
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="The commit of glacierbase whose action or templates the CI service runs: git+https://HOST/OWNER/glacierbase@COMMIT. "
    "Default: what this installation came from.",
)
@click.argument("name", required=False)
def init(
    options: CommandOptions, catalog_type: str, store: str | None, ci: str | None, source: str | None, name: str | None
) -> None:
    """Write a project with the catalog NAME and a migration.

    NAME is analytics by default. Prints the next commands. Overwrites nothing but files that --ci wrote and nobody
    edited since.
    """
    if source is not None and ci is None:
        raise click.UsageError("--from requires --ci", click.get_current_context())

    with options.reporting() as report:
        from glacierbase.errors import ConfigurationError
        from glacierbase.project.folders import find_root

        project = options.project
        if ci and name is None and project is None:
            with suppress(ConfigurationError):  # No project is here: a new one.
                project = str(find_root())
        report.results = (COMMANDS["init"].load()(project, name, catalog_type, ci, source, store),)


@cli.command()
@with_options()
@click.argument("action", type=click.Choice(["plan"]))
@click.option("--migrator", metavar="ROLE", required=True, help="The role that runs `migrate`.")
@click.option(
    "--writers", metavar="ROLE", multiple=True, required=True, help="A role that writes rows; repeat for several."
)
@click.option(
    "--flavour",
    type=click.Choice(["snowflake", "polaris", "unity", "lake-formation"]),
    help="The kind of catalog, where the catalog file does not show it.",
)
def access(options: CommandOptions, action: str, migrator: str, writers: Sequence[str], flavour: str | None) -> None:  # noqa: ARG001
    """Print grants by which only one role changes tables.

    plan prints statements or commands, each with the vendor's page that it follows, for the namespaces of the tables that the files
    change and for those of history and lock. Contacts nothing, and grants nothing: `doctor` shows what holds.
    """
    options.report(
        lambda project: project.access(options.catalogs, migrator=migrator, writers=writers, flavour=flavour)
    )
