"""A pytest plugin that measures the processor time of each test and of each fixture that tests share."""

from __future__ import annotations

import ctypes
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.costs.fixtures import name_of, shared_fixtures
from tests.costs.table import function_of

FOLDER = "GLACIERBASE_TEST_COSTS"
# After so many seconds for the items of one function that share the same fixtures, the others are taken to cost as much.
ENOUGH = 15
_TICKS = os.sysconf("SC_CLK_TCK")
# PR_SET_CHILD_SUBREAPER of prctl(2).
_SET_CHILD_SUBREAPER = 36


def processor_seconds() -> float:
    """Return the processor time of this process and of all below it, also of those that ended and were waited for.

    Each living process has the time of its ended children in its own row (proc(5)).
    """
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    below: dict[int, list[int]] = defaultdict(list)
    used: dict[int, float] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # It ended.
                continue
            below[int(fields[1])].append(int(process.name))
            used[int(process.name)] = sum(map(int, fields[11:15])) / _TICKS
    waiting = list(below[os.getpid()])
    while waiting:
        process_id = waiting.pop()
        total += used[process_id]
        waiting += below[process_id]
    return total


class Measure:
    """Write a line for each test that was collected, then one for each that passed, and for each shared fixture."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w", buffering=1)
        self._shared = 0.0  # What the shared fixtures of the current test cost.
        self._passed = True
        self._kinds: dict[str, tuple[str, ...]] = {}
        self._spent: dict[tuple[str, ...], float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            shares = shared_fixtures(item)
            self._kinds[item.nodeid] = (function_of(item.nodeid), *shares)
            self._write(collected=item.nodeid, shares=shares)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self._spent[self._kinds[item.nodeid]] > ENOUGH:
            pytest.skip("enough of its kind is measured")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed &= report.passed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before, self._shared, self._passed = processor_seconds(), 0.0, True
        result = yield
        seconds = processor_seconds() - before - self._shared
        self._spent[self._kinds[item.nodeid]] += seconds
        if self._passed:
            self._write(test=item.nodeid, seconds=seconds)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[object]:
        if fixturedef.scope == "function":
            return (yield)
        before, outside = processor_seconds(), self._shared
        try:
            return (yield)
        finally:
            inner = self._shared - outside  # Those that it uses are set up meanwhile, and have lines of their own.
            whole = processor_seconds() - before
            self._write(fixture=name_of(fixturedef), seconds=whole - inner)
            self._shared = outside + whole

    def _write(self, **values: object) -> None:
        self._file.write(json.dumps(values) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each worker; without workers, in this process, below which an orphan then stays: the Spark of a killed run."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        config.pluginmanager.register(Measure(Path(os.environ[FOLDER], f"{os.getpid()}.jsonl")))
