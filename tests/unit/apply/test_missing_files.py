"""A file of the history that is deleted or edited here: the message says what happened to it, and the command that restores it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.errors import HistoryDisagrees
from glacierbase.model.migration import checksum
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git
from tests.support.world import World

PATH = "migrations/shop/0001_a.sql"


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """Return a world in which 0001 and 0002 are applied from files that are committed with the project."""
    world = World(project)
    for number in (1, 2):
        project.file(f"000{number}_a.sql", f"CREATE TABLE t{number} (a INT)")
    world.target()  # Writes the catalog file.
    commit_all(project.root)
    world.migrate()
    return world


def file(world: World, path: str = PATH) -> Path:
    return world.project.root / path


def hint(world: World) -> str:
    """Return the hint of the error that `migrate` ends with."""
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "MIGRATION_MISSING"
    return caught.value.hint


def run_checkout(world: World, text: str) -> None:
    """Run the git command in a text as printed."""
    found = re.search(r"git checkout [^;]*", text)
    assert found, text
    subprocess.run(found[0], shell=True, check=True, cwd=world.project.root, capture_output=True)


def deleted_in_work_tree(world: World) -> None:
    file(world).unlink()


def deleted_in_index(world: World) -> None:
    git(world.project.root, "rm", "-q", PATH)


def deleted_in_commit(world: World) -> None:
    git(world.project.root, "rm", "-q", PATH)
    commit_all(world.project.root, "delete")
    world.project.file("0003_later.sql", "CREATE TABLE t3 (a INT)")
    commit_all(world.project.root, "later")


def edited_then_deleted(world: World) -> None:
    world.project.file("0001_a.sql", "SELECT 'edited'")
    commit_all(world.project.root, "edit")
    deleted_in_commit(world)


def edited_then_deleted_in_work_tree(world: World) -> None:
    world.project.file("0001_a.sql", "SELECT 'edited'")
    commit_all(world.project.root, "edit")
    file(world).unlink()


def renumbered(world: World) -> None:
    git(world.project.root, "mv", PATH, "migrations/shop/0003_a.sql")
    commit_all(world.project.root, "renumber")


def deleted_in_merge(world: World) -> None:
    git(world.project.root, "switch", "-qc", "side")
    commit_all_of(world, "side")
    git(world.project.root, "switch", "-q", "main")
    commit_all_of(world, "other")
    git(world.project.root, "merge", "-q", "--no-commit", "side")
    git(world.project.root, "rm", "-q", PATH)
    git(world.project.root, "commit", "-qm", "merge")


def commit_all_of(world: World, name: str) -> None:
    (world.project.root / name).touch()
    commit_all(world.project.root, name)


@pytest.mark.parametrize(
    "lose",
    [
        deleted_in_work_tree, deleted_in_index, deleted_in_commit, edited_then_deleted, edited_then_deleted_in_work_tree,
        renumbered, deleted_in_merge,
    ],
)  # fmt: skip
def test_the_printed_command_restores_the_file_with_its_recorded_checksum(
    lose: Callable[[World], None], world: World
) -> None:
    """Whatever deleted the file, the printed command restores it as it was applied."""
    recorded = checksum(file(world).read_bytes())
    lose(world)
    assert not file(world).exists()
    run_checkout(world, hint(world))
    assert checksum(file(world).read_bytes()) == recorded
    world.migrator().plan(Selection(out_of_order=None))  # No file is missing.


def test_a_project_below_the_top_of_its_repository_has_the_same_command(project: ProjectFolder) -> None:
    """The path of the command is relative to the project; names with blanks are quoted."""
    world = World(project)
    project.file("a b/0001_a.sql", "CREATE TABLE t1 (a INT)")
    project.file("0002_a.sql", "CREATE TABLE t2 (a INT)")
    world.target()
    commit_all(project.root.parent)
    world.migrate()
    file(world, "migrations/shop/a b/0001_a.sql").unlink()
    run_checkout(world, hint(world))
    assert file(world, "migrations/shop/a b/0001_a.sql").exists()


def test_a_file_of_another_branch_is_restored_from_the_commit_that_the_run_recorded(world: World) -> None:
    """The file was applied from a branch that HEAD does not contain."""
    git(world.project.root, "switch", "-qc", "other")
    world.project.file("0003_other.sql", "CREATE TABLE t3 (a INT)")
    commit_all(world.project.root, "other")
    world.migrate()
    git(world.project.root, "switch", "-q", "main")
    world.project.file("0004_mine.sql", "CREATE TABLE t4 (a INT)")
    run_checkout(world, hint(world))
    assert file(world, "migrations/shop/0003_other.sql").exists()


def test_a_file_that_git_never_had_is_shown_from_the_history(world: World) -> None:
    """No git command is printed that cannot work."""
    world.project.file("0003_never.sql", "CREATE TABLE t3 (a INT)")
    world.migrate()
    file(world, "migrations/shop/0003_never.sql").unlink()
    world.project.file("0004_mine.sql", "CREATE TABLE t4 (a INT)")
    assert hint(world).startswith(
        "git has no such file with the recorded checksum; `glacierbase show 0003` prints what ran; "
    )


def test_outside_of_git_the_history_is_named(world: World) -> None:
    """A copy without `.git` has no git command."""
    (world.project.root / ".git").rename(world.project.root.parent / "moved")
    file(world).unlink()
    assert hint(world).startswith("restore the file; `glacierbase show 0001` prints what ran; ")


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "-x", "a\nb", ":(top)x", "\x1b[31m.sql"])
def test_a_hostile_path_of_the_history_reaches_git_as_a_path(path: str, world: World) -> None:
    """The history table is data: its paths are neither options nor magic, and the error is the usual one."""
    file(world).unlink()
    events = world.tables.histories["shop"]
    events[:] = [replace(event, path=path) if event.version == "0001" else event for event in events]
    assert "git checkout" not in hint(world)


def warnings(world: World) -> tuple[str, ...]:
    return world.migrator().plan(Selection()).warnings


@pytest.mark.parametrize("committed", [False, True])
def test_a_deleted_newest_file_is_not_called_an_older_checkout(committed: bool, world: World) -> None:
    """The warning names the deletion, and the command that restores the file."""
    newest = file(world, "migrations/shop/0002_a.sql")
    newest.unlink()
    if committed:
        commit_all(world.project.root, "delete")
    [warning] = warnings(world)
    assert "its file was deleted here; restore it: git checkout " in warning
    run_checkout(world, warning)
    assert warnings(world) == ()


def test_a_newest_file_that_was_never_committed_is_not_called_an_older_checkout(world: World) -> None:
    """HEAD contains the commit of the run that applied the file, so it is not older than the file."""
    world.project.file("0003_never.sql", "CREATE TABLE t3 (a INT)")
    world.migrate()
    file(world, "migrations/shop/0003_never.sql").unlink()
    [warning] = warnings(world)
    assert "its file was deleted here; git has no such file with the recorded checksum; " in warning


def test_an_older_checkout_is_called_one(world: World) -> None:
    """HEAD's history has neither the file nor the commit that it was applied from."""
    world.project.file("0003_new.sql", "CREATE TABLE t3 (a INT)")
    commit_all(world.project.root, "new")
    world.migrate()
    git(world.project.root, "switch", "-q", "--detach", "HEAD~1")
    [warning] = warnings(world)
    assert warning.endswith("but newer than every file here: this is an older checkout; git pull")


@pytest.mark.parametrize("is_committed", [False, True])
def test_the_command_of_the_message_restores_an_edited_file(world: World, is_committed: bool) -> None:
    """The command names a commit in which the file has the recorded content, also after the edit was committed."""
    before = file(world).read_bytes()
    world.project.file("0001_a.sql", "SELECT 'edited'")
    if is_committed:
        commit_all(world.project.root, "edit")
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "CHECKSUM_MISMATCH"
    run_checkout(world, caught.value.hint)
    assert file(world).read_bytes() == before
    assert world.migrate().applied == []


def test_an_edited_file_that_git_does_not_have_is_no_work_of_git(world: World) -> None:
    """The message has no command that would restore something else."""
    world.project.file("0003_c.sql", "CREATE TABLE t3 (a INT)")
    world.migrate()
    world.project.file("0003_c.sql", "SELECT 'edited'")
    commit_all(world.project.root, "edited before it was committed")
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert "git checkout" not in caught.value.hint
    assert "`git log -p -- migrations/shop/0003_c.sql`" in caught.value.hint
