"""The recorded costs of the tests: `recorded.tsv`, a line for each function, and one for each item that costs much more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded.tsv"
_HEAD = "# Written by `python -m tests.costs`. Processor time in seconds; how many items; the fixtures that they share; the test.\n"
_FIXTURE = "fixture"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a test.

    Attributes:
        seconds: processor time of one item and of the processes that it starts, without the fixtures that items share.
        items: how many items the line stands for.
        shares: the fixtures that its items share with others.
    """

    seconds: float
    items: int
    shares: tuple[str, ...] = ()


@dataclass(frozen=True)
class Costs:
    """The recorded costs.

    Attributes:
        tests: the costs by node id. The line of a function holds for its items that have no line of their own.
        fixtures: the processor time in seconds to set up each shared fixture.
    """

    tests: Mapping[str, Cost] = field(default_factory=dict)
    fixtures: Mapping[str, float] = field(default_factory=dict)

    def of(self, node: str) -> Cost | None:
        """Return the cost of an item, or of its function; None if neither is recorded."""
        return self.tests.get(node) or self.tests.get(function_of(node))

    def seconds(self, node: str) -> float | None:
        """Return the cost of an item in seconds, with its part of the fixtures that it shares; None if it is not recorded."""
        cost = self.of(node)
        return None if cost is None else cost.seconds + sum(self._parts[name] for name in cost.shares)

    @cached_property
    def _parts(self) -> Mapping[str, float]:
        """The cost of each shared fixture, divided by the number of items that use it."""
        users: dict[str, int] = defaultdict(int)
        for cost in self.tests.values():
            for name in cost.shares:
                users[name] += cost.items
        return {name: self.fixtures.get(name, 0.0) / count for name, count in users.items()}

    @cached_property
    def files(self) -> Mapping[str, Mapping[str, list[str]]]:
        """The lines of each file, by function."""
        files: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for node in self.tests:
            path, _, name = function_of(node).partition("::")
            files[path][name].append(node)
        return files


def function_of(node: str) -> str:
    """Return a node id without its parameters."""
    return node.partition("[")[0]


@cache
def costs() -> Costs:
    """Return the costs that the repository holds."""
    return parsed(RECORDED.read_text("utf-8")) if RECORDED.exists() else Costs()


def parsed(text: str) -> Costs:
    """Return the costs that a text holds."""
    tests, fixtures = {}, {}
    for line in text.splitlines():
        if not line.startswith("#"):
            seconds, items, shares, node = line.split("\t")
            if items == _FIXTURE:
                fixtures[node] = float(seconds)
            else:
                tests[node] = Cost(float(seconds), int(items), tuple(filter(None, shares.split(","))))
    return Costs(tests, fixtures)


def written(costs: Costs) -> str:
    """Return the text of costs: fixtures first, then tests by node id."""
    return "".join((_HEAD, *_fixture_lines(costs), *_test_lines(costs)))


def _fixture_lines(costs: Costs) -> Iterable[str]:
    return (f"{seconds:.1f}\t{_FIXTURE}\t\t{name}\n" for name, seconds in sorted(costs.fixtures.items()))


def _test_lines(costs: Costs) -> Iterable[str]:
    for node, cost in sorted(costs.tests.items()):
        yield f"{cost.seconds:.2f}\t{cost.items}\t{','.join(cost.shares)}\t{node}\n"
