"""The program's start: its help, and one file rendered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Command, by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.peers import Schemachange
from tests.benchmarks.peers.peer import NotInstalled
from tests.benchmarks.table import Absent, Row, compared
from tests.support.project_folder import REPOSITORY

NO_MORE_THAN_CLICK = 2.5


def rows(order: Order) -> Iterator[Row | Absent]:
    """`--help` against the import of what draws it; schemachange, as far as it goes without a Snowflake."""
    folder = REPOSITORY
    help_, click = by_turns([glacierbase(folder, "--help"), python("click", "import click", folder)], order.runs)
    yield compared("`--help`", help_, '`python -c "import click"`', click, NO_MORE_THAN_CLICK)
    peer = Schemachange()
    try:
        peer.install()
    except NotInstalled as error:
        yield Absent("`--help`, `render`", str(peer), f"not installed: {error}")
        return
    yield from _against(peer, order.folder / "schemachange", order.runs)


def _against(peer: Schemachange, folder: Path, runs: int) -> Iterator[Row | Absent]:
    folder.mkdir()
    (folder / "V1__step.sql").write_text("ALTER TABLE t SET COMMENT = '{{ text }}';\n")
    commands = [
        glacierbase(REPOSITORY, "--help"),
        Command("help", (*peer.program, "--help"), folder),
        glacierbase(REPOSITORY, "render", "2"),
        Command("render", (*peer.program, "render", "--vars", '{"text": "a"}', "V1__step.sql"), folder),
    ]
    help_, their_help, render, their_render = by_turns(commands, runs)
    yield compared("`--help`", help_, f"{peer} `--help`", their_help)
    yield compared("one file, `render`", render, f"{peer} `render`", their_render)
