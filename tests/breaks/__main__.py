"""`python -m tests.breaks [PATTERN]`: run the breaks whose file, text or test holds PATTERN; exit 1 if one is not noticed."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.breaks.listed import BREAKS
from tests.breaks.running import Break, run
from tests.rotation import commit, place


def main(arguments: Sequence[str]) -> int:
    """Print what became of each break, and return the exit code."""
    options = _options(arguments)
    chosen = [each for each in BREAKS if options.pattern in f"{each} {each.test}"]
    if options.since is None and not chosen:
        print(f"no break holds {options.pattern!r}")
        return 1
    chosen = _of_changed_files(chosen, options)
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        for each, why in run(chosen, Path(folder)):
            unnoticed += why is not None
            print(f"{'noticed' if why is None else 'NOT NOTICED'}: {each}{f' ({why})' if why else ''}", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} were noticed")
    return 1 if unnoticed else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.breaks")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--since", metavar="REVISION", help="only breaks of files that differ from this revision")
    parser.add_argument("--most", type=int, metavar="N", help="at most N of them; the commit decides which")
    return parser.parse_args(arguments)


def _of_changed_files(breaks: list[Break], options: argparse.Namespace) -> list[Break]:
    if options.since is not None:
        command = ("git", "diff", "--name-only", "--relative=glacierbase", options.since)
        files = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        breaks = [each for each in breaks if each.file in files]
        print(f"{len(breaks)} breaks of files that changed since {options.since}", flush=True)
    if options.most is not None and len(breaks) > options.most:
        seed = commit()
        print(f"{options.most} of them, chosen by {seed}", flush=True)
        breaks = sorted(breaks, key=lambda each: place(seed, str(each)))[: options.most]
    return breaks


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
