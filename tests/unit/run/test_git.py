"""git on an untrusted branch: no file of the branch runs, no remote is contacted, and every call times out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from glacierbase.run import git as safe_git
from glacierbase.run.run import Run
from glacierbase.run.shared import Shared
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git
from tests.unit.cli.test_bad_input import GOOD, UNREACHABLE

HOSTILE = """\
[core]
    repositoryformatversion = 0
    bare = false
    worktree = .
    fsmonitor = "touch CANARY; false"
    hooksPath = hooks
[user]
    name = Mallory
[remote "origin"]
    promisor = true
    url = .
    uploadpack = "touch CANARY; false"
"""


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Return the path of a file that hostile commands create."""
    return tmp_path / "canary"


@pytest.fixture
def embedded(project: ProjectFolder, tmp_path: Path, canary: Path) -> ProjectFolder:
    """Return a project in a clone, whose tracked folder is also a bare repository with a hostile configuration."""
    project.catalog(UNREACHABLE)
    project.file("0001_a.sql", GOOD)
    commit_all(project.root)
    # Whoever reads the base there has to fetch the migration.
    blob = git(project.root, "rev-parse", "HEAD:migrations/shop/0001_a.sql")
    (project.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name in ("HEAD", "index", "objects", "refs"):
        shutil.move(project.root / ".git" / name, project.root / name)
    shutil.rmtree(project.root / ".git")
    (project.root / "config").write_text(HOSTILE.replace("CANARY", str(canary)))
    shutil.copytree(project.root, tmp_path / "outer/project")
    commit_all(tmp_path / "outer")
    git(tmp_path, "clone", "-q", "outer", "clone")
    git(tmp_path / "clone", "config", "user.name", "Alice")
    project.root = tmp_path / "clone/project"
    return project


def test_a_bare_repository_among_the_files_of_a_branch_runs_nothing(embedded: ProjectFolder, canary: Path) -> None:
    """`validate --base`, a run's commit and `new` use the repository that contains the project, and no configuration beside it."""
    commit = Run.here(embedded.root).git_commit
    assert not canary.exists()
    embedded.ask("validate", "--base", "main")
    assert not canary.exists()
    embedded.ask("rebase", "--base", "main", "--commit")
    assert not canary.exists()
    [written] = embedded.ask("new", "add a column").entry()["files"]
    text = Path(written).read_text()
    assert "MIGRATION_AUTHOR: Alice" in text
    Path(written).write_text(text.replace("{{ statements_to_be_written }}", "SELECT 1"))
    assert not canary.exists()
    assert commit == git(embedded.root.parent, "rev-parse", "HEAD")
    assert embedded.ask("validate", "--base", "main").code == 0
    embedded.file("0001_a.sql", "SELECT 2")
    assert embedded.ask("validate", "--base", "main").document["error"]["code"] == "BASE_FILE_EDITED"


def test_files_that_no_work_tree_holds_bring_no_repository_along(
    embedded: ProjectFolder, tmp_path: Path, canary: Path
) -> None:
    """Files unpacked from an archive are outside of git: they have no commit, no base and no author."""
    shutil.copytree(embedded.root, tmp_path / "unpacked")
    embedded.root = tmp_path / "unpacked"
    commit = Run.here(embedded.root).git_commit
    based = embedded.ask("validate", "--base", "main")
    assert not canary.exists()
    assert (commit, based.document["error"]["code"]) == (None, "BASE_NOT_FOUND")
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    assert embedded.ask("new", "a column", environ=nobody).document["error"]["code"] == "AUTHOR_MISSING"
    alice = {**nobody, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Alice"}
    assert embedded.ask("new", "a column", environ=alice).code == 0
    assert not canary.exists()


@pytest.mark.parametrize("url", ["file", "ext"])
def test_what_a_partial_clone_lacks_is_not_fetched(
    url: str, project: ProjectFolder, tmp_path: Path, canary: Path
) -> None:
    """`validate` contacts no remote; its hint is the command that fetches the missing files."""
    project.catalog(UNREACHABLE)
    project.file("0001_a.sql", GOOD)
    commit_all(project.root)
    git(project.root, "config", "uploadpack.allowFilter", "true")
    git(project.root, "switch", "-qc", "branch")
    project.file("0001_a.sql", GOOD + " ")
    commit_all(project.root, "edited")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{project.root}", "clone")
    project.root = tmp_path / "clone"
    git(project.root, "config", f"protocol.{url}.allow", "always")
    if url == "ext":
        git(project.root, "config", "remote.origin.url", f"ext::touch {canary}")
    else:
        git(project.root, "config", "remote.origin.uploadpack", f"touch {canary}; git-upload-pack")
    error = project.ask("validate", "--base", "origin/main").document["error"]
    assert not canary.exists()
    assert error["code"] == "BASE_NOT_FOUND"
    assert error["hint"] == "fetch all of its files: git fetch --refetch --no-filter origin main"
    assert Run.here(project.root).git_commit == git(project.root, "rev-parse", "HEAD")
    assert not canary.exists()
    git(project.root, "config", "remote.origin.url", f"file://{tmp_path / 'project'}")
    git(project.root, "config", "remote.origin.uploadpack", "git-upload-pack")
    git(project.root, *error["hint"].partition(": git ")[2].split())
    assert project.ask("validate", "--base", "origin/main").document["error"]["code"] == "BASE_FILE_EDITED"


@pytest.fixture
def checkout(project: ProjectFolder) -> ProjectFolder:
    """Return a project with one committed migration."""
    project.catalog(UNREACHABLE)
    project.file("0001_a.sql", GOOD)
    commit_all(project.root)
    return project


def test_a_hook_or_monitor_in_the_work_tree_does_not_run(checkout: ProjectFolder, canary: Path) -> None:
    """Hooks and monitors that the branch controls do not run, even if the repository is configured to run them."""
    hooks = checkout.root / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "monitor"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
        (hooks / name).chmod(0o755)
    commit = commit_all(checkout.root, "hooks")
    git(checkout.root, "config", "core.hooksPath", "hooks")
    git(checkout.root, "config", "core.fsmonitor", "hooks/monitor")
    # git rewrites an outdated index, which calls a hook.
    os.utime(checkout.root / "migrations/shop/0001_a.sql", (0, 0))
    assert Run.here(checkout.root).git_commit == commit
    assert not canary.exists()


def test_a_configured_hook_does_not_run_where_git_writes(checkout: ProjectFolder, canary: Path) -> None:
    """`core.hooksPath` alone: a commit takes the locks that `GIT_OPTIONAL_LOCKS` leaves out, and calls four hooks."""
    hooks = checkout.root / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (hooks / name).chmod(0o755)
    git(checkout.root, "config", "user.name", "Alice")
    git(checkout.root, "config", "user.email", "alice@example.com")
    git(checkout.root, "config", "core.hooksPath", "hooks")
    before = git(checkout.root, "rev-parse", "HEAD")
    safe_git.git(checkout.root, "add", "hooks")
    safe_git.git(checkout.root, "commit", "-q", "-m", "hooks")
    assert git(checkout.root, "rev-parse", "HEAD~1") == before
    assert not canary.exists()


@pytest.mark.parametrize("url", ["file", "ext"])
def test_no_command_of_git_reaches_a_remote(url: str, checkout: ProjectFolder, canary: Path) -> None:
    """`GIT_ALLOW_PROTOCOL` alone: `GIT_NO_LAZY_FETCH` does not concern a request that is no lazy fetch."""
    git(checkout.root, "config", f"protocol.{url}.allow", "always")
    git(
        checkout.root,
        "config",
        "remote.origin.url",
        f"ext::touch {canary}" if url == "ext" else f"file://{checkout.root}",
    )
    git(checkout.root, "config", "remote.origin.uploadpack", f"touch {canary}; git-upload-pack")
    for command in (["ls-remote", "origin"], ["fetch", "-q", "origin"]):
        with pytest.raises(safe_git.GitFailed, match=f"transport '{url}' not allowed"):
            safe_git.git(checkout.root, *command)
    assert not canary.exists()


def test_a_work_tree_that_differs_from_its_commit_is_recorded_as_dirty(checkout: ProjectFolder) -> None:
    """An edited file, an untracked file and a submodule at another commit are differences; a touched file is not."""
    first = git(checkout.root, "rev-parse", "HEAD")
    migration = checkout.root / "migrations/shop/0001_a.sql"
    os.utime(migration, (0, 0))
    assert Run.here(checkout.root).git_commit == first
    text = migration.read_text()
    migration.write_text(text + " ")
    assert Run.here(checkout.root).git_commit == f"{first}+dirty"
    migration.write_text(text)
    other = checkout.file("0002_b.sql", GOOD)
    assert Run.here(checkout.root).git_commit == f"{first}+dirty"
    other.unlink()
    git(checkout.root, "submodule", "--quiet", "add", str(checkout.root), "part")
    git(checkout.root, "commit", "-qm", "part")
    second = git(checkout.root, "rev-parse", "HEAD")
    assert Run.here(checkout.root).git_commit == second
    git(checkout.root / "part", "commit", "-q", "--allow-empty", "-m", "other")
    assert Run.here(checkout.root).git_commit == f"{second}+dirty"


def test_the_runs_of_a_command_ask_git_once(
    checkout: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of a command share one answer, the next command reads the next commit, and outside of git none is started."""
    program, starts = tmp_path / "bin/git", tmp_path / "starts"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> "{starts}"\nexec "{shutil.which("git")}" "$@"\n')
    program.chmod(0o755)

    def commits(root: Path) -> tuple[str | None, str | None]:
        starts.write_text("")
        with Shared() as shared, monkeypatch.context() as patch:
            patch.setenv("PATH", str(program.parent), prepend=os.pathsep)
            first, second = (Run.here(root, shared=shared).git_commit for _ in range(2))
        return first, second

    for number in range(2):
        commit = commit_all(checkout.root, str(number)) if number else git(checkout.root, "rev-parse", "HEAD")
        assert commits(checkout.root) == (commit, commit)
        assert [line.split().count("status") for line in starts.read_text().splitlines()] == [0, 1]
        checkout.file(f"{number}_b.sql", GOOD)
    assert commits(tmp_path) == (None, None)
    assert starts.read_text() == ""


def test_the_repository_of_a_git_hook_is_not_taken_for_the_projects(
    checkout: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook's environment names the repository that the hook runs for."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    commit_all(tmp_path / "other")
    commit = git(checkout.root, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    assert Run.here(checkout.root).git_commit == commit
    assert checkout.run("validate", "--base", commit).code == 0


def test_a_git_that_does_not_end_is_stopped(
    checkout: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git is stopped after a time-out; the run then records no commit."""
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(safe_git, "_TIMEOUT", 0.2)
    with pytest.raises(safe_git.GitFailed, match=r"git status did not end within 0\.2 seconds"):
        safe_git.git(checkout.root, "status")
    assert Run.here(checkout.root).git_commit is None


@pytest.mark.parametrize(
    "ref", ["", "-x", "--output=x", "--all", "main:catalogs", "main^{tree}", "^main", "main..main"]
)
def test_only_a_commit_is_a_base(ref: str, checkout: ProjectFolder) -> None:
    """A ref that is not the name of a commit is refused, and never reaches git as an option."""
    before = sorted(checkout.root.rglob("*"))
    told = checkout.ask("validate", f"--base={ref}")
    assert (told.code, told.document["error"]["code"]) == (2, "BASE_NOT_FOUND" if ref else "USAGE")
    assert sorted(checkout.root.rglob("*")) == before
