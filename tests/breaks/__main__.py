"""`python -m tests.breaks [PATTERN]`: run the breaks whose file, text or test holds PATTERN; exit 1 if one is not noticed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.breaks.listed import BREAKS
from tests.breaks.running import run


def main(pattern: str = "") -> int:
    """Print what became of each break, and return the exit code."""
    chosen = [each for each in BREAKS if pattern in f"{each} {each.test}"]
    if not chosen:
        print(f"no break holds {pattern!r}")
        return 1
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        for each, why in run(chosen, Path(folder)):
            unnoticed += why is not None
            print(f"{'noticed' if why is None else 'NOT NOTICED'}: {each}{f' ({why})' if why else ''}", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} were noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
