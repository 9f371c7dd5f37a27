"""Commands that ask the history of a table, where the migration files are not valid, or are as they were under another name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.cli import main
from glacierbase.errors import HistoryDisagrees, MigrationFileError
from glacierbase.history.target import CatalogRun
from glacierbase.project import each as running
from glacierbase.project.project import Project
from tests.support.project_folder import ProjectFolder
from tests.support.sample_story import EVENTS, tell_sample
from tests.support.world import World

QUESTIONS = {
    "schema": ["schema", EVENTS],
    "blame": ["blame", EVENTS],
    "history": ["history"],
    "history of a table": ["history", "--table", EVENTS],
}


@pytest.fixture
def recorded(sample: Callable[[], ProjectFolder], monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """The sample project with its history."""
    folder = sample()
    tell_sample(folder.root, monkeypatch)
    return folder


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """Return exit code and standard output of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code, capsys.readouterr().out


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_command_that_asks_the_history_answers_while_migration_files_are_not_valid(
    question: str, recorded: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer with a misnamed file, one without headers, a FIFO, and a link out of the project is the answer without them."""
    before = answer(QUESTIONS[question], capsys)
    folder = recorded.root / "migrations" / "analytics"
    (folder / "Misnamed.sql").write_text("SELECT 1")
    (folder / "0008_no_headers.sql").write_text("\x1b[2J'\n\n")
    os.mkfifo(folder / "0009_fifo.sql")
    (folder / "0010_link.sql").symlink_to("/etc/passwd")
    assert before[0] == 0
    assert answer(QUESTIONS[question], capsys) == before


@pytest.mark.parametrize("command", ["status", "pending"])
def test_a_command_about_the_files_reports_those_that_are_not_valid(
    command: str, recorded: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` and `pending` end with exit code 3 for a misnamed file."""
    (recorded.root / "migrations" / "analytics" / "Misnamed.sql").write_text("SELECT 1")
    assert answer([command], capsys)[0] == 3


def test_a_history_under_another_name_of_the_catalog_is_found_by_the_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`history` of a renamed catalog raises CATALOG_RENAMED, for which the files are read; an error in them is raised then."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    root, load = world.project.root, running.load_targets
    (root / "migrations/shop").rename(root / "migrations/store")
    (root / "catalogs/shop.yaml").rename(root / "catalogs/store.yaml")

    def load_targets(*arguments: Any) -> list[CatalogRun]:
        return [replace(each, open_store=world.target("store").open_store) for each in load(*arguments)]

    monkeypatch.setattr(running, "load_targets", load_targets)
    with pytest.raises(HistoryDisagrees) as caught:
        Project.load(root).history()
    assert caught.value.code == "CATALOG_RENAMED"
    (root / "migrations/store/Misnamed.sql").write_text("SELECT 1")
    with pytest.raises(MigrationFileError) as broken:
        Project.load(root).history()
    assert broken.value.code == "MISNAMED_FILE"
