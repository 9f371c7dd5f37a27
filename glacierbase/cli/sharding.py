"""The command `sharding advise`."""

from __future__ import annotations

import click

from glacierbase.cli.group import cli, with_documents
from glacierbase.cli.options import Amount, with_color, with_format


@cli.group(cls=with_documents("sharding"))
def sharding() -> None:
    """Say how many shards a partition key of DynamoDB needs.

    The library is `glacierbase.capabilities.sharding`: writers find the number themselves, and add a shard when one is throttled.
    """


@sharding.command()
@click.option(
    "--put-per-second",
    metavar="X",
    type=Amount(),
    required=True,
    help="Writes a second to one key, at the peak, such as 3500.",
)
@click.option(
    "--item-size", metavar="SIZE", type=Amount(is_bytes=True), default=1024.0, help="Of an item, such as 300B. [1KB]"
)
@click.option("--cooldown", metavar="SECONDS", type=click.FloatRange(0), default=30.0, help="Between two growths. [30]")
@with_format
@with_color
def advise(put_per_second: float, item_size: float, cooldown: float, format: str, color: str) -> None:
    """Say how many shards a rate of writes needs.

    A partition of DynamoDB accepts 1,000 write units a second, a unit for each KB of an item. Shows what a `get` and a `query` then
    cost, without sharding and with a random or a calculated suffix. This contacts nothing.

    Example: glacierbase sharding advise --put-per-second 3500 --item-size 300B
    """
    from glacierbase.capabilities.sharding.advise import advise
    from glacierbase.cli.terminal import Terminal

    with Terminal(format, verbose=False, colour=color).reporting("sharding-advise") as report:
        report.answer = advise(put_per_second, round(item_size), cooldown)
