"""`python -m tests.rotation`: run a part of the full form, which a seed chooses, within a budget.

Each commit has another part, so that all of them run within some weeks of changes. A test that costs more
than the budget runs only with a greater one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.costs.forms import Form
from tests.costs.table import costs

_WORKERS = 2
# Tests of one file run together up to this cost in seconds, so that they share an engine.
_TOGETHER = 15
# Too few seconds to start an engine.
_LEAST = 30
_UNITS = {"s": 1, "m": 60, "h": 3600}
_PYTEST = (sys.executable, "-m", "pytest", "-m", "", "-p", "no:cacheprovider", "-p", "tests.rotation")
# In the environment of pytest: the time at which the budget ends, and the file that names the tests which began no more.
_END, _LATE = "GLACIERBASE_ROTATION_END", "GLACIERBASE_ROTATION_LATE"


def main(arguments: Sequence[str]) -> int:
    """Run the part, print what was not reached and how to repeat it, and return 1 if a test failed."""
    options = _options(arguments)
    waiting = list(parts(collected(), options.seed))
    tests, failed, start, late = sum(map(len, waiting)), 0, time.monotonic(), list[str]()
    print(f"seed {options.seed}: {tests} tests in the full form, {options.budget:.0f} s", flush=True)
    while (left := options.budget - (time.monotonic() - start)) > _LEAST and (chosen := fitting(waiting, left)):
        code, skipped = run([node for part in chosen for node in part], left)
        failed, late = failed | code, [*late, *skipped]
        waiting = [part for part in waiting if part not in chosen]
    not_reached = Counter(node.partition("::")[0] for part in (*waiting, late) for node in part)
    for file, count in sorted(not_reached.items()):
        print(f"not reached: {count} in {file}")
    print(f"ran {tests - not_reached.total()} of {tests} tests of the full form in {time.monotonic() - start:.0f} s")
    print(f"repeat: python -m tests.rotation --seed {options.seed} --budget {options.budget:.0f}s")
    return failed


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.rotation", description=__doc__)
    parser.add_argument("--seed", default=commit(), help="any text; default the commit")
    parser.add_argument("--budget", type=seconds, default=seconds("5m"), help="such as 5m or 2h; default 5m")
    return parser.parse_args(arguments)


def seconds(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `5m` or `2h`.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not (found := re.fullmatch(r"(\d+)([smh])", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 5m or 2h")
    return int(found[1]) * _UNITS[found[2]]


def commit() -> str:
    """Return the commit of the checkout."""
    return subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def collected() -> list[str]:
    """Return the tests of the full form."""
    command = (sys.executable, "-m", "pytest", "-m", Form.FULL.value, "--collect-only", "-q", "-n", "0", "--no-header")
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if "::" in line]


def parts(nodes: Sequence[str], seed: str) -> Iterator[list[str]]:
    """Yield the tests in parts of one file, in an order that follows from the seed."""
    files: dict[str, list[str]] = defaultdict(list)
    for node in sorted(nodes, key=lambda node: place(seed, node)):
        files[node.partition("::")[0]].append(node)
    split = (part for file in files.values() for part in _split(file))
    yield from sorted(split, key=lambda part: place(seed, part[0]))


def _split(nodes: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for node in nodes:
        part.append(node)
        if sum(costs().seconds(each) or 0 for each in part) >= _TOGETHER:
            yield part
            part = []
    if part:
        yield part


def place(seed: str, text: str) -> bytes:
    """Return the place of a text in an order that follows from a seed."""
    return hashlib.sha256(f"{seed} {text}".encode()).digest()


def fitting(parts: Sequence[list[str]], left: float) -> list[list[str]]:
    """Return as many of the next parts as fit into the time that is left."""
    chosen: list[list[str]] = []
    for part in (part for part in parts if predicted([part]) <= left):
        if predicted([*chosen, part]) > left:
            break
        chosen.append(part)
    return chosen


def predicted(parts: Sequence[Sequence[str]]) -> float:
    """Return about how many seconds parts take: the cost of their fixtures, and of their tests on the workers.

    The tests of a file run on one worker.
    """
    nodes = [node for part in parts for node in part]
    used = {name for node in nodes if (cost := costs().of(node)) for name in cost.shares}
    files: dict[str, float] = defaultdict(float)
    for node in nodes:
        files[node.partition("::")[0]] += _seconds(node)
    own = max([sum(files.values()) / _WORKERS, *files.values()])
    return own + sum(costs().fixtures[name] for name in used)


def _seconds(node: str) -> float:
    cost = costs().of(node)
    return cost.seconds if cost else 0.0


def run(nodes: Sequence[str], left: float) -> tuple[int, list[str]]:
    """Run tests for so many seconds; return 1 if one failed, and those that did not begin."""
    with tempfile.TemporaryDirectory() as folder:
        listed, late = Path(folder, "tests"), Path(folder, "late")
        listed.write_text("\n".join(nodes))
        late.touch()
        environment = {**os.environ, _END: str(time.time() + left), _LATE: str(late)}
        ended = subprocess.run([*_PYTEST, "-n", str(_WORKERS), f"@{listed}"], env=environment, check=False)
        return int(ended.returncode != 0), late.read_text().splitlines()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """As a plugin: begin no test that would end after the budget."""
    if time.time() + _seconds(item.nodeid) > float(os.environ[_END]):
        with Path(os.environ[_LATE]).open("a") as late:
            late.write(f"{item.nodeid}\n")
        pytest.skip("the budget is used up")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
