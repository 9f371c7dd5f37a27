"""Fixtures of the tests of `init --ci`."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.capabilities.authoring.ci_files import SERVICES
from glacierbase.capabilities.authoring.init import init
from tests.support.ci import COMMIT


@pytest.fixture(scope="session")
def ci_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the files of all services; not to be changed."""
    root = tmp_path_factory.mktemp("written")
    for service in SERVICES:
        init(str(root), None, "rest", service, COMMIT)
    return root
