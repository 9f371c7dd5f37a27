"""The core of glacierbase on real Spark, in an installation without the capabilities."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.project_folder import Output, ProjectFolder
from tests.test_architecture import CAPABILITIES, PACKAGE

pytestmark = pytest.mark.spark


@pytest.fixture
def run(lake_project: ProjectFolder, tmp_path: Path) -> Callable[..., Output]:
    """Run a command of a copy of the package without the room of the capabilities."""
    left_out = {str(PACKAGE / CAPABILITIES)}

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if str(Path(folder, name)) in left_out or name == "__pycache__"]

    shutil.copytree(PACKAGE, tmp_path / "core" / PACKAGE.name, ignore=ignored)
    return lambda *arguments: lake_project.ask(*arguments, environ={"PYTHONPATH": str(tmp_path / "core")})


def test_the_core_works_without_the_capabilities(lake_project: ProjectFolder, run: Callable[..., Output]) -> None:
    """`migrate` and the read-only commands give their results; `lint` and `blame`, which are absent, are internal errors."""
    lake_project.file("0001_create_events.sql", "CREATE TABLE lake.a.t (id bigint) USING iceberg", author="Ada")
    lake_project.file("0002_add_name.sql", "ALTER TABLE lake.a.t ADD COLUMN name string", author="Grace")
    assert {run("lint").code, run("blame", "lake.a.t").code} == {70}
    assert _entry(run("validate"))["files"] == 2
    assert [file["version"] for file in _entry(run("pending"))["pending"]] == ["0001", "0002"]
    assert len(_entry(run("plan"))["plan"]) == 2
    assert [file["version"] for file in _entry(run("migrate"))["applied"]] == ["0001", "0002"]
    assert _entry(run("pending"))["pending"] == []
    assert {each["state"] for each in _entry(run("status"))["migrations"]} == {"applied"}
    assert [event["event"] for event in _entry(run("history"))["events"]].count("applied") == 2
    assert _entry(run("show", "0002"))["migration"]["author"] == "Grace"


def _entry(output: Output) -> dict[str, Any]:
    assert output.code == 0, output.stderr
    return output.entry()
