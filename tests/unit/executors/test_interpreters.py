"""Which Python runs the engine of a catalog, and why another one does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors.environments import interpreters
from glacierbase.executors.environments.interpreters import interpreter_of
from glacierbase.model.catalog import Catalog
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    """Each test runs its own programs."""
    interpreters._unusable.cache_clear()
    yield
    interpreters._unusable.cache_clear()


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_a_key_it_is_this_python(iceberg_catalog: Catalog, tmp_path: Path) -> None:
    """No program runs for that."""
    assert interpreter_of(iceberg_catalog, tmp_path) == Path(sys.executable)


def test_a_path_is_relative_to_the_project_or_to_the_home(
    iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute path is taken as it is. A link is not resolved: the Python of a virtual environment is one."""
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setenv("HOME", str(tmp_path))
    for written in ("python", "~/python", str(tmp_path / "python")):
        assert interpreter_of(replace(iceberg_catalog, python=written), tmp_path) == tmp_path / "python"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "which is no file"),
        ("", "which is not executable"),
        ("echo glacierbase 3 9", "which is Python 3.9"),
        ("echo 'some other program'", "which is no Python"),
        ("echo glacierbase three", "which is no Python"),
        ("exit 0", "which is no Python"),
        ("exit 3", "which is no Python"),
    ],
)
def test_a_python_that_cannot_run_an_engine_is_one_clear_error(
    text: str | None, why: str, iceberg_catalog: Catalog, tmp_path: Path
) -> None:
    """The message names the catalog, the key, the path and the reason."""
    path = tmp_path / "python"
    if text is not None:
        program(path, text).chmod(0o755 if text else 0o644)
    with pytest.raises(ConfigurationError) as caught:
        interpreter_of(replace(iceberg_catalog, python="python"), tmp_path)
    assert caught.value.code == "PYTHON_NOT_USABLE"
    assert caught.value.message == f"catalog shop: migrationExecutor.python is {path}, {why}"
    assert "Python 3.10 or newer" in caught.value.hint


@pytest.mark.parametrize("value", ["''", "' '", "${env:NO_PATH}", '"a\\0b"'])
def test_an_empty_path_does_not_mean_this_python(
    value: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would run with other packages than those that the catalog file means."""
    project.catalog(f"{LAKE}  python: {value}\n")
    monkeypatch.setenv("NO_PATH", "")
    with pytest.raises(ConfigurationError) as caught:
        only_catalog(project.root)
    assert caught.value.code == "INVALID_VALUE"
    assert "python" in caught.value.message
