"""Fixtures of the tests of catalog files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.catalogs.yamlfolder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A project without files."""
    return Folder(tmp_path)
