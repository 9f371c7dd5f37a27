"""The commands `layout explain`, `advise`, `profile`, `simulate` and `ls`."""

from __future__ import annotations

import click

from glacierbase.cli.group import ListedCommand, cli
from glacierbase.cli.options import CommandOptions, with_options


class _Action(ListedCommand):
    """An action of `layout`."""

    def document_of(self, name: str) -> str:
        return f"layout-{name}"


class _Layout(click.Group):
    command_class = _Action


@cli.group(cls=_Layout)
def layout() -> None:
    """Explain, size, test and list the object keys of tables.

    The first characters of a key decide which partition of the object store a request reaches. Each command says what is documented
    of the store, what is modelled, and what is unknown.
    """


@layout.command("profile")
@with_options()
@click.option("--column", metavar="NAME", required=True, help="The column with the ids.")
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Read at most so many values, from the start. [1000000]"
)
@click.option("--plot", metavar="FILE.png", help="Also draw the shares as a PNG picture; an existing file is replaced.")
@click.argument("source")
def profile(options: CommandOptions, source: str, column: str, sample: int | None, plot: str | None) -> None:
    """Show how evenly ids divide the load of keys.

    SOURCE is a file that ends in .csv (with a header), .csv.gz or .parquet, or the name of a table. Counts the first and the last
    characters of the ids in a column, and says which key schemes divide their load: id-first, reversed-id, hash, base2, random.

    A file needs no project. A table is read through PyIceberg where that is possible. Otherwise this starts the catalog's engine,
    whose answer is in memory at once. Nothing is changed.
    """
    from glacierbase.heat import ids
    from glacierbase.heat.profile import profile as profile_of

    most = sample or ids.MOST
    with options.reporting() as report:
        if ids.is_file(source):
            report.answer = profile_of(ids.ids_in_file(source, column, most), source, column, most, plot)
        else:
            with options.loaded() as project:
                report.answer = project.layout_profile(source, column, options.catalogs, sample=most, plot=plot)
