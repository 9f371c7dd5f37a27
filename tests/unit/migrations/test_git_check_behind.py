"""`validate --base REF` on a branch that is behind: its own changes are judged where it left the base, versions at the tip."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git
from tests.unit.cli.test_bad_input import GOOD, UNREACHABLE
from tests.unit.migrations.test_git_check import codes, found, restore


@pytest.fixture
def branch(project: ProjectFolder) -> ProjectFolder:
    """Return a project on the branch `topic`, which left `main` after three files; `main` got a fourth since."""
    project.catalog(UNREACHABLE)
    for name in ("0001_a.sql", "0002_b.sql", "0005_c.sql"):
        project.file(name, GOOD)
    commit_all(project.root)
    git(project.root, "branch", "topic")
    on_main(project, "0006_d.sql")
    return project


def on_main(project: ProjectFolder, name: str, sql: str | None = GOOD, catalog: str = "shop") -> None:
    """Commit a file, or its deletion, to `main`, and return to `topic`."""
    git(project.root, "switch", "-q", "main")
    if sql is None:
        (project.root / "migrations" / catalog / name).unlink()
    else:
        project.file(name, sql, catalog)
    commit_all(project.root, f"main {name}")
    git(project.root, "switch", "-q", "topic")


def test_a_branch_that_is_behind_has_neither_edited_nor_deleted_a_file(branch: ProjectFolder) -> None:
    """What only the base changed since the branch left it is no error, whole catalogs included."""
    assert found(branch) == []
    on_main(branch, "0001_a.sql", "SELECT 'edited on main'")
    on_main(branch, "0002_b.sql", None)
    git(branch.root, "switch", "-q", "main")
    branch.catalog(UNREACHABLE, "web")
    git(branch.root, "switch", "-q", "topic")
    on_main(branch, "0001_a.sql", GOOD, "web")
    assert found(branch) == []
    branch.file("0007_new.sql", GOOD)
    assert found(branch) == []


def test_what_a_branch_that_is_behind_did_itself_is_an_error(branch: ProjectFolder) -> None:
    """The files that the branch edited and deleted are restored by the commands of the hints."""
    branch.file("0001_a.sql", "SELECT 2")
    (branch.root / "migrations/shop/0002_b.sql").unlink()
    commit_all(branch.root, "wrong")
    on_main(branch, "0001_a.sql", "SELECT 'edited on main, too'")
    errors = found(branch)
    assert [error["code"] for error in errors] == ["BASE_FILE_EDITED", "BASE_FILE_DELETED"]
    for error in errors:
        restore(branch, error)
    assert found(branch) == []


def test_a_catalog_that_a_branch_that_is_behind_deleted_is_an_error(branch: ProjectFolder) -> None:
    """The hint restores it as it was where the branch left the base."""
    git(branch.root, "rm", "-rq", "catalogs", "migrations")
    ProjectFolder(branch.root)
    branch.catalog(UNREACHABLE, "web")
    branch.file("0001_a.sql", GOOD, "web")
    [error] = found(branch)
    assert (error["code"], error["catalog"]) == ("BASE_FILE_DELETED", "shop")
    restore(branch, error)
    assert found(branch) == []


def test_a_version_that_the_base_got_since_names_both_files(branch: ProjectFolder) -> None:
    """Two branches with one version: after the commands of the hint, the merge succeeds, and all files are there."""
    branch.file("0006_mine.sql", GOOD)
    commit_all(branch.root, "mine")
    [error] = found(branch)
    assert (error["code"], error["exit_code"]) == ("DUPLICATE_VERSION", 3)
    assert "migrations/shop/0006_mine.sql" in error["message"]
    assert "migrations/shop/0006_d.sql of main" in error["message"]
    run_hint(branch, error["hint"])
    assert found(branch) == []
    assert (branch.root / "migrations/shop/0006_d.sql").exists()
    assert (branch.root / "migrations/shop/0007_mine.sql").exists()


def run_hint(project: ProjectFolder, hint: str) -> None:
    """Run `glacierbase rebase` and `git merge` as the hint prints them."""
    rebase, merge = hint.split("`")[1], hint.partition("then merge: git ")[2]
    for key, value in (("user.name", "Alice"), ("user.email", "alice@example.com")):
        git(project.root, "config", key, value)
    assert run_here(project, *shlex.split(rebase)[1:]).code == 0
    git(project.root, *shlex.split(merge))


def test_one_path_with_two_contents_is_rebased_before_it_can_conflict(branch: ProjectFolder) -> None:
    """Two branches wrote a file of the same name."""
    branch.file("0006_d.sql", "SELECT 'mine'")
    commit_all(branch.root, "mine")
    [error] = found(branch)
    assert error["code"] == "DUPLICATE_VERSION"
    run_hint(branch, error["hint"])
    assert found(branch) == []
    assert "mine" in (branch.root / "migrations/shop/0007_d.sql").read_text()


def test_a_version_below_the_tip_is_an_error_although_it_was_above_all_when_the_branch_began(
    branch: ProjectFolder,
) -> None:
    """The pull request of Monday is merged after that of Tuesday."""
    on_main(branch, "0008_tuesday.sql")
    branch.file("0007_monday.sql", GOOD)
    commit_all(branch.root, "monday")
    [error] = found(branch)
    assert (error["code"], error["version"]) == ("VERSION_BELOW_BASE", "0007")
    assert "0008_tuesday.sql, the highest of main" in error["message"]
    run_hint(branch, error["hint"])
    assert found(branch) == []
    assert (branch.root / "migrations/shop/0009_monday.sql").exists()


def test_a_file_that_both_branches_have_alike_is_not_new(branch: ProjectFolder) -> None:
    """A commit that was picked from the base, and a merge that is not committed yet, bring files of the base."""
    git(branch.root, "cherry-pick", "main")
    assert found(branch) == []
    git(branch.root, "reset", "-q", "--hard", "HEAD~1")
    on_main(branch, "0001_a.sql", "SELECT 'edited on main'")
    git(branch.root, "merge", "-q", "--no-commit", "--no-ff", "main")
    assert found(branch) == []
    branch.file("0007_new.sql", GOOD)
    assert found(branch) == []
    branch.file("0003_late.sql", GOOD)
    assert codes(branch) == ["VERSION_BELOW_BASE"]


def test_a_shallow_clone_says_what_to_fetch(branch: ProjectFolder, tmp_path: Path) -> None:
    """CI services clone one commit; after the command of the hint the comparison is possible."""
    branch.file("0007_new.sql", GOOD)
    commit_all(branch.root, "mine")
    origin = f"file://{branch.root}"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", "--branch=topic", origin, "clone")
    branch.root = tmp_path / "clone"
    told = branch.ask("validate", "--base", "origin/main")
    error = told.document["error"]
    assert (told.code, error["code"]) == (2, "BASE_NOT_FOUND")
    assert "this clone is shallow" in error["message"]
    assert "fetch-depth: 0" in error["hint"]
    subprocess.run(shlex.split(error["hint"].partition(";")[0]), cwd=branch.root, check=True, capture_output=True)
    assert branch.ask("validate", "--base", "origin/main").code == 0


def test_a_base_without_a_common_commit_is_refused(branch: ProjectFolder) -> None:
    """Unrelated histories cannot be compared."""
    git(branch.root, "switch", "-q", "--orphan", "other")
    ProjectFolder(branch.root)
    branch.catalog(UNREACHABLE)
    told = branch.ask("validate", "--base", "main")
    assert told.document["error"]["message"].startswith("'HEAD' cannot be read: ")
    commit_all(branch.root, "other")
    told = branch.ask("validate", "--base", "main")
    assert (told.code, told.document["error"]["code"]) == (2, "BASE_NOT_FOUND")
    assert told.document["error"]["message"] == "HEAD and main have no commit in common: their histories are unrelated"


@pytest.mark.parametrize(("ref", "command"), [("origin/main", "git fetch origin main"), ("mian", "git branch --all")])
def test_a_base_that_is_not_in_the_clone_has_a_command_that_fits_it(
    branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch, ref: str, command: str
) -> None:
    """A branch of the remote is fetched; every other name is misspelled, and the command lists the branches."""
    monkeypatch.chdir(branch.root)
    error = branch.ask("validate", "--base", ref).document["error"]
    assert error["message"] == f"{ref!r} cannot be read: this clone has no such branch, tag or commit"
    assert command in error["hint"]
