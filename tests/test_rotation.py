"""The rotating part of the full form."""

from __future__ import annotations

import argparse

import pytest

from tests import rotation

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
    """The run ends after the part that uses the budget up, prints the command that repeats it, and fails if a test failed."""
    clock = iter(range(0, 1000, 20))
    ran: list[str] = []
    monkeypatch.setattr(rotation, "collected", lambda: NODES)
    monkeypatch.setattr(rotation.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(rotation, "predicted", lambda parts: 15 * len(parts))
    monkeypatch.setattr(rotation, "run", lambda nodes: ran.extend(nodes) or 1)
    assert rotation.main(["--seed", "x", "--budget", "1m"]) == 1
    assert 0 < len(ran) < len(NODES)
    lines = capsys.readouterr().out.splitlines()
    not_reached = {node.partition("::")[0] for node in NODES} - {node.partition("::")[0] for node in ran}
    assert lines[1:-2] == [f"not reached: 9 in {file}" for file in sorted(not_reached)]
    assert lines[-1] == "repeat: python -m tests.rotation --seed x --budget 60s"


def test_a_part_that_exceeds_the_budget_waits_for_a_greater_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts after it run instead, as many as fit into half of the time."""
    parts = [["dear"], ["a"], ["b"], ["c"]]
    monkeypatch.setattr(rotation, "predicted", lambda parts: sum(500 if part == ["dear"] else 20 for part in parts))
    assert rotation.fitting(parts, 90) == [["a"], ["b"]]
    assert rotation.fitting(parts, 25) == [["a"]]
    assert rotation.fitting(parts, 15) == []
    assert rotation.fitting(parts, 600) == [["dear"]]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7200)])
def test_a_budget_has_a_unit(text: str, seconds: int) -> None:
    """Seconds, minutes or hours."""
    assert rotation.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5d"])
def test_another_budget_is_refused(text: str) -> None:
    """The message names the forms that are allowed."""
    with pytest.raises(argparse.ArgumentTypeError, match="90s, 5m or 2h"):
        rotation.seconds(text)
