"""The rotating part of the full form."""

from __future__ import annotations

import argparse

import pytest

from tests import rotation
from tests.costs.table import Cost, Costs

NODES = [f"tests/{file}.py::test_{file}[{number}]" for file in "abc" for number in range(9)]


def test_every_test_is_in_one_part() -> None:
    """A part holds tests of one file."""
    parts = list(rotation.parts(NODES, "seed"))
    assert sorted(node for part in parts for node in part) == sorted(NODES)
    assert [len({node.partition("::")[0] for node in part}) for part in parts] == [1] * len(parts)


def test_the_order_follows_from_the_seed() -> None:
    """The same seed gives the same order, whatever the order of collection; another seed gives another one."""
    assert list(rotation.parts(NODES, "one")) == list(rotation.parts(NODES[::-1], "one"))
    assert list(rotation.parts(NODES, "one")) != list(rotation.parts(NODES, "two"))


def test_what_the_budget_does_not_reach_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts and tests that did not begin in time. The last line repeats the run, which fails if a test failed."""
    clock = iter(range(0, 1000, 20))
    ran: list[str] = []

    def run(nodes: list[str], _: float) -> tuple[int, list[str]]:
        ran.extend(nodes[:-1])
        return 1, nodes[-1:]

    monkeypatch.setattr(rotation, "collected", lambda: NODES)
    monkeypatch.setattr(rotation.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(rotation, "predicted", lambda parts: 25 * len(parts))
    monkeypatch.setattr(rotation, "run", run)
    assert rotation.main(["--seed", "x", "--budget", "1m"]) == 1
    assert len(ran) == 8
    lines = capsys.readouterr().out.splitlines()
    reached = ran[0].partition("::")[0]
    counts = {file: 1 if file == reached else 9 for file in ("tests/a.py", "tests/b.py", "tests/c.py")}
    assert lines[1:-2] == [f"not reached: {count} in {file}" for file, count in counts.items()]
    assert lines[-2].startswith("ran 8 of 27 tests")
    assert lines[-1] == "repeat: python -m tests.rotation --seed x --budget 60s"


def test_no_test_begins_that_would_end_after_the_budget() -> None:
    """A test that is left out is named, and is no failure."""
    node = "tests/test_rotation.py::test_the_order_follows_from_the_seed"
    assert rotation.run([node], 0) == (0, [node])


def test_a_part_that_exceeds_the_budget_waits_for_a_greater_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts after it run instead, as many as fit."""
    parts = [["dear"], ["a"], ["b"], ["c"]]
    monkeypatch.setattr(rotation, "predicted", lambda parts: sum(300 if part == ["dear"] else 20 for part in parts))
    assert rotation.fitting(parts, 45) == [["a"], ["b"]]
    assert rotation.fitting(parts, 20) == [["a"]]
    assert rotation.fitting(parts, 15) == []
    assert rotation.fitting(parts, 305) == [["dear"]]


def test_the_tests_of_a_file_take_their_time_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of several files run on two workers; each fixture is made once."""
    some = Costs({f"tests/{file}.py::test": Cost(20, 9, ("tests::engine",)) for file in "abc"}, {"tests::engine": 5.0})
    monkeypatch.setattr(rotation, "costs", lambda: some)
    assert rotation.predicted([["tests/a.py::test[1]", "tests/a.py::test[2]"]]) == 45
    assert rotation.predicted([["tests/a.py::test"], ["tests/b.py::test"]]) == 25
    assert rotation.predicted([["tests/a.py::test"], ["tests/b.py::test"], ["tests/c.py::test"]]) == 35


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7200)])
def test_a_budget_has_a_unit(text: str, seconds: int) -> None:
    """Seconds, minutes or hours."""
    assert rotation.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5d"])
def test_another_budget_is_refused(text: str) -> None:
    """The message names the forms that are allowed."""
    with pytest.raises(argparse.ArgumentTypeError, match="90s, 5m or 2h"):
        rotation.seconds(text)
