"""Fixtures of the tests of plan files, and of those that wait."""

from __future__ import annotations

import pytest

from glacierbase.run import clock as clocks
from tests.support.clock import Clock
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder
from tests.unit.apply.plans import MORE, PLAN


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of leases and waits: those of the lock, of the history, and for a late commit."""
    clock = Clock()
    monkeypatch.setattr(clocks, "time", clock)
    return clock


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A project with three environments; the catalog `shop` has one file that is applied in prod, and two that are pending."""
    lakes = Lakes(project, monkeypatch, MORE)
    project.file("0001_a.sql", "CREATE TABLE t (a INT)")
    assert lakes.run("migrate --catalog shop").code == 0
    project.file("0002_b.sql", "INSERT INTO t VALUES ({{ variables.size }}); INSERT INTO t VALUES (5)")
    project.file("0003_c.sql", "INSERT INTO t VALUES (6)")
    return lakes


@pytest.fixture
def planned(lakes: Lakes) -> Lakes:
    """The plan of `shop` in prod is in the file plan.json."""
    assert lakes.run(PLAN).code == 0
    return lakes
