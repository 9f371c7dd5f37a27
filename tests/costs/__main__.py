"""`python -m tests.costs [PATH …]`: measure what the tests cost, and record it in `recorded.tsv`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any

from tests.costs.forms import QUICK
from tests.costs.measure import FOLDER
from tests.costs.table import RECORDED, Cost, Costs, costs, function_of, written

# Fixtures that cost less are those of the tests that use them first.
_LEAST = 0.1


def main(*paths: str) -> int:
    """Run the tests, all or those of some paths, and record their costs; return pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-p", "tests.costs.measure", "-n", "2", "-m", "", "-q", *paths]
        code = subprocess.run(command, env={**os.environ, FOLDER: folder}, check=False).returncode
        lines = [json.loads(line) for file in Path(folder).iterdir() for line in file.read_text().splitlines()]
    RECORDED.write_text(written(merged(costs() if paths else Costs(), recorded(lines))))
    return code


def recorded(lines: Iterable[Mapping[str, Any]]) -> Costs:
    """Return the costs that measured lines show."""
    shares: dict[str, tuple[str, ...]] = {}
    seconds: dict[str, float] = {}
    set_ups: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        if "collected" in line:
            shares[line["collected"]] = tuple(line["shares"])
        elif "fixture" in line:
            set_ups[line["fixture"]].append(line["seconds"])
        else:
            seconds[line["test"]] = line["seconds"]
    fixtures = {name: mean(each) for name, each in set_ups.items() if mean(each) >= _LEAST}
    functions: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for node, names in shares.items():
        functions[function_of(node)][node] = tuple(name for name in names if name in fixtures)
    tests = (_lines(function, nodes, seconds) for function, nodes in functions.items())
    return Costs(dict(line for lines in tests for line in lines), fixtures)


def _lines(
    function: str, nodes: Mapping[str, tuple[str, ...]], measured: Mapping[str, float]
) -> Iterator[tuple[str, Cost]]:
    """Yield the costs of a function: of its typical items together, and of each other one.

    An item is typical if it shares what most items share, and costs about as much as they do.

    Args:
        nodes: the fixtures that each of its items shares.
        measured: the seconds of the items that were measured. The others are taken to cost as much as those with the same fixtures.
    """
    [(usual, _)] = Counter(nodes.values()).most_common(1)
    every = [measured[node] for node in nodes if node in measured]
    if not every:
        return
    alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for node in nodes.keys() & measured.keys():
        alike[nodes[node]].append(measured[node])
    typical = {names: median(alike[names] or every) for names in set(nodes.values())}
    taken = {node: measured.get(node, typical[names]) for node, names in nodes.items()}

    def is_typical(node: str) -> bool:
        own, others = taken[node], typical[usual]
        return nodes[node] == usual and (own < QUICK) is (others < QUICK) and own <= 2 * max(others, QUICK)

    together = [node for node in nodes if is_typical(node)]
    if together:
        yield function, Cost(mean(taken[node] for node in together), len(together), usual)
    for node in nodes.keys() - set(together):
        yield node, Cost(taken[node], 1, nodes[node])


def merged(before: Costs, new: Costs) -> Costs:
    """Return the costs with those of the newly measured functions in place of the former ones."""
    functions = {function_of(node) for node in new.tests}
    kept = {node: cost for node, cost in before.tests.items() if function_of(node) not in functions}
    return Costs({**kept, **new.tests}, {**before.fixtures, **new.fixtures})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
