"""The same two commands against the peers' own, on projects of as many migrations, all applied, theirs in SQLite."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tests.benchmarks.measure import Command, Failed, by_turns, glacierbase
from tests.benchmarks.order import Order
from tests.benchmarks.peers import PEERS, Peer
from tests.benchmarks.peers.peer import NotInstalled
from tests.benchmarks.table import Absent, Row, compared

# From so many files on ours is to be the faster one. Native programs start before an interpreter does.
STATUS_AHEAD_FROM = {"liquibase": 0, "flyway": 1_000, "alembic": 10_000, "yoyo": 10_000, "goose": 10_000}
APPLY_AHEAD_FROM = {"liquibase": 0, "flyway": 1_000}


def rows(order: Order) -> Iterator[Row | Absent]:
    """Compare `pending`, and `migrate` without work, with the nearest commands of the peers, at every size."""
    peers = []
    for kind in PEERS:
        peer = kind()
        try:
            print(f"installing {peer}", file=sys.stderr)
            peer.install()
            peers.append(peer)
        except NotInstalled as error:
            yield Absent("`pending`, `migrate` without work", str(peer), f"not installed: {error}")
    for files in order.sizes(10, 1_000, 10_000):
        yield from _at(files, peers, order)


def _at(files: int, peers: Sequence[Peer], order: Order) -> Iterator[Row | Absent]:
    prepared: list[tuple[Peer, Command, Command]] = []
    for peer in peers:
        try:
            print(f"{peer} applies {files:,} migrations, unless it has before", file=sys.stderr)
            folder = peer.applied(files)
            prepared.append((peer, peer.command(peer.status, folder), peer.command(peer.apply, folder)))
        except Failed as error:
            yield Absent(f"`pending`, `migrate` without work, {files:,} files", str(peer), f"failed: {error}")
    project = order.project(files)
    theirs = [command for _, status, apply in prepared for command in (status, apply)]
    pending, migrate, *found = by_turns(
        [glacierbase(project, "pending"), glacierbase(project, "migrate"), *theirs], order.runs
    )
    for (peer, status, apply), asked, done in zip(prepared, found[::2], found[1::2], strict=True):
        yield compared(
            f"`pending`, {files:,} files", pending, status.name, asked, _target(STATUS_AHEAD_FROM, peer, files)
        )
        yield compared(
            f"`migrate` without work, {files:,} files",
            migrate,
            apply.name,
            done,
            _target(APPLY_AHEAD_FROM, peer, files),
        )


def _target(ahead_from: dict[str, int], peer: Peer, files: int) -> float | None:
    return 1 if files >= ahead_from.get(peer.name, files + 1) else None
