"""Projects of other tools that tests write from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

Written = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def theirs(tmp_path: Path) -> Written:
    """Return what writes files of another tool's project, by path, and returns its folder."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "theirs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "theirs"

    return write


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project with the catalog `shop`, which has no migration."""
    project.catalog(LAKE)
    return project


@pytest.fixture
def snow(project: ProjectFolder) -> ProjectFolder:
    """A project with a catalog on Snowflake that has no migration."""
    project.catalog("migrationExecutor: {type: snowflake, conf: {connection: {account: a, user: u, database: d}}}\n")
    return project
