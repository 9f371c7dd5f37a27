"""Fixtures of the tests of plan files and of `init --ci`."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.apply.ci_files import SERVICES
from glacierbase.apply.init import init
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder
from tests.unit.apply.plans import MORE, PLAN


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


@pytest.fixture(scope="session")
def ci_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the files of all services; not to be changed."""
    root = tmp_path_factory.mktemp("written")
    for service in SERVICES:
        init(str(root), None, "rest", service)
    return root
