"""The commands `layout explain`, `advise`, `profile`, `simulate` and `ls`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from glacierbase.cli.completion import complete_file
from glacierbase.cli.group import cli, with_documents
from glacierbase.cli.options import Amount, CommandOptions, F, duration, with_color, with_format, with_options


@cli.group(cls=with_documents("layout"))
def layout() -> None:
    """Explain, size, test and list the object keys of tables.

    The first characters of a key decide which partition of the object store a request reaches. Each command says what is documented
    of the store, what is modelled, and what is unknown.
    """


@layout.command()
@with_options()
@click.argument("table", metavar="TABLE|FILE", shell_complete=complete_file)
def explain(options: CommandOptions, table: str) -> None:
    """Show the template of the object keys of a table.

    It shows what each part of a key is, how it varies, and what decides it: the partition spec, a property, a version. TABLE is a
    table as recorded in the history; where the history has no record of it, as the files declare it. FILE is the version or the
    path of a migration: the tables that it creates or changes, as each environment renders it. This contacts nothing.

    Keys are shown without the bucket and the folder of the table. Their parts are constant, a time (files that are written together
    have the same text), low-entropy (few values, or skewed first characters), balanced (even first characters) or hashed.
    """
    options.report(lambda project: project.layout_explain(table, options.catalogs))


_LOAD = (
    ("--objects", "N", Amount(), "The number of objects."),
    (
        "--objects-per-prefix",
        "N",
        Amount(),
        "The most objects that one prefix should hold. Default: the provider's limit.",
    ),
    ("--put-per-second", "X", Amount(), "PUT requests a second at the peak; a file is one or more."),
    ("--get-per-second", "X", Amount(), "GET requests a second at the peak."),
    ("--rows-per-second", "X", Amount(), "Rows a second at the peak, in place of --put-per-second."),
    ("--row-size", "BYTES", Amount(is_bytes=True), "With --rows-per-second: the size of a row in a file. [1KB]"),
    ("--file-size", "BYTES", Amount(is_bytes=True), "The size of a file. [128MB]"),
    ("--writers", "N", Amount(), "With --rows-per-second: how many writers close a file each at a commit."),
    ("--growth", "PERCENT", Amount(is_share=True), "Growth of objects and rates a month, compound."),
)


def _with_load(function: F) -> F:
    """Add the options of a load."""
    options: list[Callable[[F], F]] = [
        click.option(name, metavar=metavar, type=kind, help=text) for name, metavar, kind, text in _LOAD
    ]
    options.append(click.option("--months", metavar="N", type=int, help="With --growth: for how many months. [12]"))
    return functools.reduce(lambda made, option: option(made), reversed(options), function)


_with_provider = click.option(
    "--provider",
    type=click.Choice(["aws", "aws-2012", "custom"]),
    help="Whose limits: aws (3,500 PUT and 5,500 GET a second a prefix), aws-2012 (100, and 20M keys), or custom. [aws]",
)
_with_put_limit, _with_get_limit = (
    click.option(
        f"--{method.lower()}-limit",
        metavar="X",
        type=Amount(),
        help=f"With custom: {method} requests a second that a prefix carries.",
    )
    for method in ("PUT", "GET")
)


@layout.command()
@with_options()
@_with_load
@_with_provider
@_with_put_limit
@_with_get_limit
@click.option(
    "--type",
    "table_format",
    type=click.Choice(["iceberg", "delta", "hudi", "hive", "snowflake"]),
    help="The table's format; hive for folders of files, or keys of any kind. Default: that of --table, else iceberg.",
)
@click.option(
    "--table", metavar="NAME", help="A table of the project: its format and its layout, as `layout explain` shows them."
)
@click.option(
    "--column",
    help="The column by which hashes and buckets spread the keys. Default: that of the table's bucket field, or id.",
)
@click.option(
    "--readable", is_flag=True, help="Prefer keys that contain the column's value, or a bucket of it, in readable form."
)
@click.option("--write", is_flag=True, help="Write the statements as a migration of the --table. Runs nothing.")
@click.option("--author", help="With --write. Default: git's user.name.")
def advise(
    options: CommandOptions,
    provider: str | None,
    put_limit: float | None,
    get_limit: float | None,
    table_format: str | None,
    table: str | None,
    column: str | None,
    readable: bool,
    write: bool,
    author: str | None,
    **load: Any,
) -> None:
    """Size the key layout that a load needs, or say to do nothing.

    From objects and requests a second at the peak to prefixes, statements and the cost of listing. Numbers may end with k, M, G
    or T. Leave out what does not occur or is not known: 0 is refused. Below 50 requests a second the advice is to do nothing.
    This contacts nothing without --table.

    Example: glacierbase layout advise --objects 600M --objects-per-prefix 2.5M --put-per-second 9k
    """
    if write and table is None:
        raise click.UsageError("--write requires --table", click.get_current_context())
    if author is not None and not write:
        raise click.UsageError("--author requires --write", click.get_current_context())

    with options.reporting() as report:
        from glacierbase.capabilities.load.advise import AdviseResult
        from glacierbase.capabilities.load.advise import advise as advice_on
        from glacierbase.capabilities.load.rates import Load
        from glacierbase.capabilities.load.remedies import DEFAULT_COLUMN, FORMATS, AdvisedTable
        from glacierbase.layout.providers import provider_of

        given, limits = Load(**load), provider_of(provider, put_limit, get_limit)
        if table is None:
            about = AdvisedTable(table_format or FORMATS[0], column=column or DEFAULT_COLUMN, is_readable=readable)
            report.answer = AdviseResult(advice_on(given, limits, about))
        else:
            with options.loaded() as project:
                report.answer = project.layout_advise(
                    table, given, options.catalogs,
                    provider=limits, table_format=table_format, column=column, is_readable=readable, write=write, author=author,
                )  # fmt: skip


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

    SOURCE is a file that ends in .csv (with a header), .csv.gz or .parquet, or the name of a table. This counts the first and last
    characters of the ids in a column, and says which key schemes divide their load: id-first, reversed-id, hash, base2, random.

    A file needs no project. A table is read through PyIceberg where that is possible. Otherwise this starts the catalog's engine,
    whose answer is in memory at once. Nothing is changed.
    """
    from glacierbase.capabilities.load.ids import is_file
    from glacierbase.capabilities.load.profile import profile_file

    with options.reporting() as report:
        if is_file(source):
            report.answer = profile_file(source, column, sample=sample, plot=plot)
        else:
            with options.loaded() as project:
                report.answer = project.layout_profile(source, column, options.catalogs, sample=sample, plot=plot)


@layout.command()
@with_options()
@click.option(
    "--scheme",
    "schemes",
    multiple=True,
    help="A key scheme: date-first, id-first, hash, base2, reversed-id, random; repeat for several. Default: all but random,"
    " and with --layout none.",
)
@click.option("--days", type=int, help="The days that count. [30]")
@click.option("--seed", type=int, help="The same seed gives the same result. [0]")
@click.option(
    "--layout",
    metavar="PATTERN|TABLE|FILE",
    help="Simulate these keys too: a pattern such as date={date}/id={id}/{file}, a table, a migration file.",
)
@click.option(
    "--ids",
    metavar="NAME|FILE|TABLE",
    help="The ids: benford, uniform, sequential, even, zipf, or read from a CSV file, a Parquet file or a table. [benford]",
)
@click.option("--column", help="The column with the ids. [id]")
@click.option(
    "--put-per-second",
    metavar="X",
    type=Amount(),
    help="The mean of PUT requests a second, not the peak as for `layout advise`. [1929]",
)
@click.option("--peak-to-mean", type=float, help="The peak of a day by its mean. [1.9]")
@click.option("--noise", type=float, help="The standard deviation of the rate by the rate. [0.05]")
@click.option("--burst", type=float, help="The rate of the burst by the mean. [10]")
@click.option("--burst-hours", type=float, help="The length of the burst. [2]")
@_with_provider
@_with_put_limit
@click.option("--trigger", type=float, help="The part of the limit above which a partition is hot. [0.95]")
@click.option("--delay", type=duration, help="How long a partition is hot before it is split. [45m]")
@click.option(
    "--merge-after", type=duration, help="How long partitions are idle before they are merged. Default: never."
)
@click.option(
    "--trace",
    "logs",
    multiple=True,
    type=click.Path(),
    help="Replay S3 server access logs: a file, plain or gzip, or a folder; repeat for several. Excludes the options of a load.",
)
@click.option(
    "--output",
    "paths",
    multiple=True,
    type=click.Path(),
    help="Also write a page or pictures: FILE.html, FILE.png or FILE.svg; repeat for several.",
)
def simulate(options: CommandOptions, logs: Sequence[str], paths: Sequence[str], **values: Any) -> None:
    """Simulate 503s of an object store for several key schemes.

    Two models of splitting, with partitions that exist already and without, and a table of what the result depends on. How S3
    splits partitions is not documented: compare schemes, and take no number for a forecast. With --trace, the 503s of a log beside
    those of the models.

    This contacts nothing, unless ids are read from a table, or the keys of a table from the history.

    Example: glacierbase layout simulate --scheme date-first --scheme hash --put-per-second 3000
    """
    with options.reporting() as report:
        from glacierbase.capabilities.load.replay import replay
        from glacierbase.capabilities.load.simulate import SimulationInputs, simulate
        from glacierbase.capabilities.load.simulation_files import check_outputs, write_outputs

        check_outputs(paths)
        given = {name: value for name, value in values.items() if value not in (None, ())}
        inputs = SimulationInputs(**given)
        if logs:
            simulation = replay(logs, given)
        elif inputs.needs_project:
            with options.loaded() as project:
                simulation = project.layout_simulate(inputs, options.catalogs)
        else:
            simulation = simulate(inputs)
        report.answer = write_outputs(paths, simulation)


@layout.command("ls")
@click.argument("url", metavar="s3://BUCKET/PREFIX")
@click.option(
    "--prefixes",
    metavar="SET",
    help="Divide the keys at these prefixes: hex1 to hex4, base2:1 to base2:16, digits, or a file with one a line.",
)
@click.option("--after", metavar="KEY", help="List the keys after this one.")
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 256),
    default=16,
    help="How many listings are side by side, at most 256. [16]",
)
@click.option("--endpoint", metavar="URL", help="The server; default that of AWS's configuration.")
@click.option("--region", help="The region; default that of AWS's configuration.")
@with_format
@with_color
def ls(
    url: str,
    prefixes: str | None,
    after: str | None,
    parallel: int,
    endpoint: str | None,
    region: str | None,
    format: str,
    color: str,
) -> None:
    """List keys by many listings side by side, in order.

    Prints what one listing would print, in the same order, while it lists. A prefix of --prefixes follows PREFIX directly and only
    divides the keys: those that begin with none of the prefixes are listed too. base2:8 is 0000/0000 to 1111/1111, as Iceberg
    writes the first folders below data/.

    About 250,000 keys are kept in memory for their turn. Listings side by side therefore help while a prefix has some ten thousand
    keys; where it has more, divide further. The processor is the limit at about 100,000 keys a second. In text, control characters
    are escaped; --format json has the exact keys.

    Example: glacierbase layout ls s3://lake/db/t/data/ --prefixes base2:8 --format json
    """
    from glacierbase.capabilities.load import listing
    from glacierbase.capabilities.load.objectstore import KeyPlace
    from glacierbase.cli.terminal import Terminal

    terminal = Terminal(format, verbose=False, colour=color)
    with terminal.reporting("layout-ls") as report:
        report.is_printed = True
        place = KeyPlace(url, endpoint, region)
        listing.ls(place, prefixes, after, parallel, format, terminal.write)
