"""`python -m tests.benchmarks [NAME …]`: prints the table, line by line as it is measured."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.benchmarks import (
    against_peers,
    alter,
    asked,
    bookkeeping,
    comparing,
    connect,
    direct,
    help,
    history,
    lint,
    listing,
    machine,
    object_store,
    plain_review,
    questions,
    rekey,
    report,
    requests,
    review,
    several,
    simulate,
)
from tests.benchmarks.order import Order
from tests.benchmarks.table import HEAD, Absent, Row

# In this order, whatever the order of the arguments: what starts a Spark in this process comes last.
BENCHMARKS: Mapping[str, Callable[[Order], Iterator[Row | Absent]]] = {
    "object_store": object_store.rows,
    "help": help.rows,
    "lint": lint.rows,
    "questions": questions.rows,
    "asked": asked.rows,
    "comparing": comparing.rows,
    "report": report.rows,
    "simulate": simulate.rows,
    "peers": against_peers.rows,
    "history": history.rows,
    "requests": requests.rows,
    "listing": listing.rows,
    "direct": direct.rows,
    "plain_review": plain_review.rows,
    "alter": alter.rows,
    "several": several.rows,
    "connect": connect.rows,
    "review": review.rows,
    "bookkeeping": bookkeeping.rows,
    "rekey": rekey.rows,
}


def main() -> None:
    """Print the chosen benchmarks as Markdown; progress goes to stderr."""
    arguments = _arguments()
    print(f"{machine.description()}\n\n{HEAD}", flush=True)
    with tempfile.TemporaryDirectory(prefix="glacierbase-benchmarks-") as folder:
        order = Order(arguments.runs, arguments.largest, Path(folder))
        for name in (name for name in BENCHMARKS if name in arguments.names):
            print(f"{name} …", file=sys.stderr)
            _run(name, order)
    print(f"\nAt the end: {machine.load()}.")


def _run(name: str, order: Order) -> None:
    try:
        for row in BENCHMARKS[name](order):
            print(row, flush=True)
    except Exception as error:  # One that cannot be run here must not cost the others.
        traceback.print_exc()
        print(Absent(f"`{name}`", "", f"failed: {str(error).partition(chr(10))[0]}"), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"{', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--runs", type=int, default=5, help="of each command (%(default)s)")
    parser.add_argument("--largest", type=int, default=10_000, help="project in files, history in events (%(default)s)")
    parsed = parser.parse_args()
    unknown = set(parsed.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"there is no benchmark {sorted(unknown)[0]}")
    parsed.names = parsed.names or list(BENCHMARKS)
    return parsed


main()
