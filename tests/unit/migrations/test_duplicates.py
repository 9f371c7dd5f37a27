"""Of two files with one version, the error names the one to rename, where git shows which one is newer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.folder import load_migrations
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git

A, B = "migrations/shop/0002_a.sql", "migrations/shop/0002_b.sql"
NEUTRAL = "the one of the two that no environment has applied"


def add(project: ProjectFolder, path: str, *, commit: bool = True) -> None:
    project.file(path.rpartition("/")[2], "SELECT 1")
    if commit:
        commit_all(project.root, path)


def untracked(project: ProjectFolder, older: str, newer: str) -> None:
    add(project, older)
    add(project, newer, commit=False)


def of_the_branch(project: ProjectFolder, older: str, newer: str) -> None:
    """The branch's file was committed first; the base got its own one meanwhile, which is merged into the branch."""
    git(project.root, "switch", "-qc", "side")
    add(project, newer)
    git(project.root, "switch", "-q", "main")
    add(project, older)
    git(project.root, "switch", "-q", "side")
    git(project.root, "-c", "user.name=a", "merge", "-q", "--no-edit", "main")


def merged_later(project: ProjectFolder, older: str, newer: str) -> None:
    """Yield two files of one version that are both in the base, in the order of their commits."""
    of_the_branch(project, older, newer)
    git(project.root, "switch", "-q", "main")
    git(project.root, "merge", "-q", "--no-ff", "--no-edit", "side")


def committed_later(project: ProjectFolder, older: str, newer: str) -> None:
    add(project, older)
    add(project, newer)


def error_of(project: ProjectFolder) -> GlacierbaseError:
    [error] = load_migrations(project.root / "migrations/shop", project.root)[1]
    assert error.code == "DUPLICATE_VERSION"
    return error


@pytest.mark.parametrize(("older", "newer"), [(A, B), (B, A)])
@pytest.mark.parametrize("arrange", [untracked, of_the_branch, merged_later, committed_later])
def test_the_newer_file_is_named(
    arrange: Callable[[ProjectFolder, str, str], None], older: str, newer: str, project: ProjectFolder
) -> None:
    """The newer of two files is named, whatever the order of the names."""
    add(project, "migrations/shop/0001_first.sql")
    arrange(project, older, newer)
    error = error_of(project)
    assert error.message == f"{newer}, line 1: has the same version as {older}"
    assert error.hint.startswith(f"rename {newer} to a version above all others; ")
    assert error.data["path"] == newer


def without_git(project: ProjectFolder) -> None:
    add(project, A, commit=False)
    add(project, B, commit=False)


def both_untracked(project: ProjectFolder) -> None:
    add(project, "migrations/shop/0001_first.sql")
    without_git(project)


def in_one_commit(project: ProjectFolder) -> None:
    without_git(project)
    commit_all(project.root)


def without_base(project: ProjectFolder) -> None:
    """No branch has one of the usual names."""
    add(project, A)
    add(project, B)
    git(project.root, "branch", "-qm", "trunk")


def broken(project: ProjectFolder) -> None:
    without_base(project)
    (project.root / ".git/HEAD").write_text("nonsense")


@pytest.mark.parametrize("arrange", [without_git, both_untracked, in_one_commit, without_base, broken])
def test_where_the_newer_file_is_not_known_neither_is_named(
    arrange: Callable[[ProjectFolder], None], project: ProjectFolder
) -> None:
    """The hint says how to choose."""
    arrange(project)
    error = error_of(project)
    assert error.hint.startswith(f"rename {NEUTRAL} to a version above all others; ")
    assert error.message == f"{B}, line 1: has the same version as {A}"


def test_names_that_git_would_quote_are_compared(project: ProjectFolder) -> None:
    """A folder's name may hold blanks, a tab and letters outside of ASCII."""
    add(project, A)
    folder = project.root / "migrations/shop/ä b\tc*"
    folder.mkdir()
    (project.root / A).rename(folder / "0002_a.sql")
    commit_all(project.root, "moved")
    add(project, B, commit=True)
    assert error_of(project).data["path"] == B
