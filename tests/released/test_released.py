"""What a released version made is read, and continued, by this one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.released import HERE, PLACE, STORES, unpack
from tests.support.forked import run_forked
from tests.support.project_folder import Output

VERSIONS = sorted(path.name.removesuffix(".tar.gz") for path in HERE.glob("*.tar.gz"))


@pytest.fixture(params=VERSIONS)
def lakehouse(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The project that a version made."""
    yield unpack(request.param)
    shutil.rmtree(PLACE)


def ask(project: Path, *arguments: str) -> Output:
    return Output(*run_forked([*arguments, "--format", "json"], project, os.environ, timeout=60))


def test_the_first_release_has_an_archive() -> None:
    """Each release adds one."""
    assert "1.0.0" in VERSIONS


@pytest.mark.parametrize("catalog", STORES)
def test_history_states_and_causes_are_read(catalog: str, lakehouse: Path) -> None:
    """The events, the state of each version, and who made each column."""
    status = ask(lakehouse, "status", "--catalog", catalog).entry()
    assert [(row["version"], row["state"]) for row in status["migrations"]] == [
        ("0001", "applied"), ("0002", "applied"), ("0003", "failed")
    ]  # fmt: skip
    events = ask(lakehouse, "history", "--catalog", catalog).entry()["events"]
    assert [event["event"] for event in events if event["version"] == "0003"] == ["started", "statement_done", "failed"]
    lines = ask(lakehouse, "blame", "a.t", "--catalog", catalog).entry()["lines"]
    made = {line["name"]: line["version"] for line in lines if line["kind"] == "column"}
    assert made == {"id": "0001", "name": "0002", "size": "0002", "kind": "0003"}


@pytest.mark.parametrize("catalog", STORES)
def test_a_failed_file_is_resumed_under_the_lock(catalog: str, lakehouse: Path) -> None:
    """The statement that was done does not run again."""
    path = lakehouse / f"migrations/{catalog}/0003_absent.sql"
    path.write_text(path.read_text().replace("DROP COLUMN absent", "DROP COLUMN size"))
    [applied] = ask(lakehouse, "migrate", "--catalog", catalog).entry()["applied"]
    assert (applied["version"], applied["resumed_at"]) == ("0003", 2)
    lines = ask(lakehouse, "blame", "a.t", "--catalog", catalog).entry()["lines"]
    assert [line["name"] for line in lines if line["kind"] == "column"] == ["id", "name", "kind"]
