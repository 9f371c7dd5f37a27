"""The commands `layout explain`, `advise`, `profile`, `simulate` and `ls`."""

from __future__ import annotations

import click

from glacierbase.cli.group import ListedCommand, cli
from glacierbase.cli.options import with_color


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
@click.option(
    "--format",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    help="text: a key a line; jsonl: an object of JSON a line; json: one document with the totals. [text]",
)
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
    are escaped; jsonl has the exact keys.

    Example: glacierbase layout ls s3://lake/db/t/data/ --prefixes base2:8 --format jsonl
    """
    from glacierbase.cli.terminal import Terminal
    from glacierbase.heat import listing
    from glacierbase.heat.objectstore import KeyPlace

    terminal = Terminal("json" if format == "json" else "text", verbose=False, colour=color)
    with terminal.reporting("layout-ls") as report:
        place = KeyPlace(url, endpoint, region)
        report.answer = listing.ls(place, prefixes, after, parallel, format, terminal.write)
