"""`rebase`: the new files of a branch get versions above its base, all of them or none, in the same order."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest

from glacierbase.capabilities.authoring import rebase as rebasing
from glacierbase.migrations.folder import read_migrations
from glacierbase.migrations.git_base import Base, BaseFile, Compared
from glacierbase.migrations.git_files import Fork
from glacierbase.run.git import GitFailed
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git
from tests.unit.cli.test_bad_input import GOOD, UNREACHABLE
from tests.unit.migrations.test_git_check import names
from tests.unit.migrations.test_git_check_behind import on_main

IDENTITY = {
    "GIT_AUTHOR_NAME": "Alice", "GIT_AUTHOR_EMAIL": "alice@example.com",
    "GIT_COMMITTER_NAME": "Alice", "GIT_COMMITTER_EMAIL": "alice@example.com",
}  # fmt: skip


@pytest.fixture
def branch(project: ProjectFolder) -> ProjectFolder:
    """Return a project on the branch `topic` with the new files 0002 and 0003; `main` got 0002 and 0004 since."""
    project.catalog(UNREACHABLE)
    project.file("0001_a.sql", GOOD)
    commit_all(project.root)
    git(project.root, "switch", "-qc", "topic")
    project.file("0002_mine.sql", "SELECT 'first'")
    project.file("sub/0003_mine.sql", "SELECT 'second'")
    commit_all(project.root, "mine")
    on_main(project, "0002_theirs.sql")
    on_main(project, "0004_theirs.sql")
    return project


def texts(project: ProjectFolder, catalog: str = "shop") -> dict[str, str]:
    """Return the SQL of the files in the work tree, by path inside the catalog's folder."""
    folder = project.root / "migrations" / catalog
    return {str(path.relative_to(folder)): path.read_text().split("\n\n")[1].strip() for path in folder.rglob("*.sql")}


def test_new_files_get_versions_above_the_base_in_their_order(branch: ProjectFolder) -> None:
    """The files are renamed in git with their content unchanged; the result says which, and against which base."""
    branch.file("0005_untracked.sql", "SELECT 'third'")
    told = branch.ask("rebase")
    entry = told.entry()
    assert (told.code, entry["base"], entry["commit"], entry["dry_run"]) == (0, "main", None, False)
    assert [(file["old_version"], file["version"], file["tracked"]) for file in entry["renamed"]] == [
        ("0002", "0005", True), ("0003", "0006", True), ("0005", "0007", False),
    ]  # fmt: skip
    assert texts(branch) == {
        "0001_a.sql": GOOD, "0005_mine.sql": "SELECT 'first'",
        "sub/0006_mine.sql": "SELECT 'second'", "0007_untracked.sql": "SELECT 'third'",
    }  # fmt: skip
    assert git(branch.root, "status", "--porcelain").splitlines() == [
        "R  migrations/shop/0002_mine.sql -> migrations/shop/0005_mine.sql",
        "R  migrations/shop/sub/0003_mine.sql -> migrations/shop/sub/0006_mine.sql",
        "?? migrations/shop/0007_untracked.sql",
    ]
    assert branch.ask("validate", "--base", "main").code == 0
    assert branch.ask("rebase").entry()["renamed"] == []


def test_a_dry_run_renames_nothing_and_prints_the_commands(branch: ProjectFolder) -> None:
    """The commands that it prints do the same; a warning says what to record where a file is applied already."""
    told = branch.run("rebase", "--dry-run")
    assert (told.code, names(branch)) == (0, ["0001_a.sql", "0002_mine.sql", "sub"])
    commands = re.findall("^  (git mv .*)$", told.stdout, re.MULTILINE)
    assert "glacierbase repair 0002 --as removed --reason 'renamed to 0005'" in told.stdout
    for command in commands:
        subprocess.run(command, shell=True, check=True, cwd=branch.root)
    assert sorted(texts(branch)) == ["0001_a.sql", "0005_mine.sql", "sub/0006_mine.sql"]


def test_a_file_that_stays_above_the_base_is_not_renamed_where_it_need_not_be() -> None:
    """A later new file is renamed only if the order of the new files would change otherwise."""
    assert planned("2 9", "1 4") == {"2": "5"}
    assert planned("2 3 6", "1 4") == {"2": "5", "3": "6", "6": "7"}
    assert planned("5 6", "1 4") == {}
    assert planned("2", "") == {}


def test_versions_keep_their_digits() -> None:
    """Numbers with leading zeros keep them, UTC times become the time now, and a number below a time becomes a time."""
    now, later = "20261120103000", "20261120103001"
    assert planned("0002 0003", "0001 0099") == {"0002": "0100", "0003": "0101"}
    assert planned("2", "0001 0004") == {"2": "0005"}
    assert planned("20261116000000 20261117000000", "20261118000000") == {
        "20261116000000": now, "20261117000000": later,
    }  # fmt: skip
    # A time above the base stays, and those before it are put below it.
    assert planned("20261116000000 20261119000000", "20261118000000") == {"20261116000000": "20261118000001"}
    assert planned(f"20261116000000 {now}", "20261118000000") == {"20261116000000": "20261118000001"}
    assert planned(f"20261116000000 20261117000000 {later}", "20261118000000") == {
        "20261116000000": "20261118000001", "20261117000000": "20261118000002",
    }  # fmt: skip
    assert planned("20261116000000", "99990101000000") == {"20261116000000": "99990101000001"}
    assert planned("0002", "20261118000000") == {"0002": "20261118000001"}


def planned(new: str, base: str) -> dict[str, str]:
    """Return the new versions of files, by version, beside a base with these versions."""
    root = Path("/nowhere")
    at_tip = {int(v): [BaseFile(v, int(v), f"migrations/shop/{v}_a.sql", "c")] for v in base.split()}
    migrations = [rebasing.Migration(v, "a", "", "", root, f"migrations/shop/{v}_a.sql", "", "d") for v in new.split()]
    compared = Compared(Base(Fork("main", "a", "a"), (), (), is_empty=False), migrations, {}, at_tip)
    now = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)
    return {migration.version: version for migration, version in rebasing.new_versions(compared, now)}


def test_after_a_merge_the_file_of_the_branch_is_renamed_and_not_that_of_the_base(branch: ProjectFolder) -> None:
    """A merge brought a second file with one version: the base's stays, whichever name sorts first."""
    branch.file("0006_zzz.sql", "SELECT 'third'")
    commit_all(branch.root, "third")
    on_main(branch, "0006_aaa.sql")
    git(branch.root, "merge", "-q", "main", "-m", "merge")
    assert branch.ask("validate").document["error"]["code"] == "DUPLICATE_VERSION"
    assert branch.run("rebase").code == 0
    assert sorted(texts(branch)) == [
        "0001_a.sql", "0002_theirs.sql", "0004_theirs.sql", "0006_aaa.sql",
        "0007_mine.sql", "0009_zzz.sql", "sub/0008_mine.sql",
    ]  # fmt: skip
    assert branch.ask("validate", "--base", "main").code == 0


def test_a_commit_holds_the_renames_and_nothing_else(branch: ProjectFolder) -> None:
    """`--commit` leaves other staged and untracked files as they are; hooks do not run."""
    (branch.root / "other").write_text("x")
    git(branch.root, "add", "other")
    branch.file("0004_untracked.sql", GOOD)
    (branch.root / ".git/hooks").mkdir(exist_ok=True)
    hook = branch.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    told = branch.ask("rebase", "--commit", environ=IDENTITY)
    assert told.entry()["commit"] == git(branch.root, "rev-parse", "HEAD")
    assert git(branch.root, "show", "--format=%s", "--name-status", "-M100%", "HEAD").splitlines() == [
        "Rebase migrations onto main", "",
        "R100\tmigrations/shop/0002_mine.sql\tmigrations/shop/0005_mine.sql",
        "R100\tmigrations/shop/sub/0003_mine.sql\tmigrations/shop/sub/0006_mine.sql",
    ]  # fmt: skip
    assert git(branch.root, "status", "--porcelain").splitlines() == [
        "A  other", "?? migrations/shop/0007_untracked.sql",
    ]  # fmt: skip


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_commit_is_offered_on_a_terminal(answer: str, branch: ProjectFolder) -> None:
    """Off a terminal none is made without `--commit`, and nothing is asked."""
    before = git(branch.root, "rev-parse", "HEAD")
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "glacierbase", "rebase"], cwd=branch.root, env={**os.environ, **IDENTITY},
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, text=True,
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while b"commit" not in shown and select.select([controller], [], [], 60)[0]:
        shown += os.read(controller, 1000)
    os.write(controller, f"{answer}\n".encode())
    stdout, _ = process.communicate(timeout=60)
    os.close(controller)
    assert b"2" in shown
    assert sorted(texts(branch)) == ["0001_a.sql", "0005_mine.sql", "sub/0006_mine.sql"]
    assert (git(branch.root, "rev-parse", "HEAD") != before) == (answer == "y")
    assert ("not committed" in stdout) == (answer == "n")


def test_a_commit_that_git_refuses_leaves_the_renames(branch: ProjectFolder) -> None:
    """The error says so: the files are renamed, and not committed."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "EMAIL": None}
    git(branch.root, "config", "user.useConfigOnly", "true")
    told = branch.ask("rebase", "--commit", environ=nobody)
    assert (told.code, told.document["error"]["code"]) == (2, "GIT_FAILED")
    assert told.document["error"]["message"].startswith("the files are renamed, but git did not commit that: ")
    assert sorted(texts(branch)) == ["0001_a.sql", "0005_mine.sql", "sub/0006_mine.sql"]


def test_a_file_that_appears_in_the_place_of_a_new_name_is_not_overwritten(
    branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes the file after the renames were planned: nothing is renamed."""
    branch.file("0004_untracked.sql", GOOD)
    rename_all = rebasing.rename_all

    def late(renames: Sequence[rebasing.Rename], root: Path) -> None:
        branch.file("0007_untracked.sql", "SELECT 'theirs'")
        rename_all(renames, root)

    monkeypatch.setattr("glacierbase.capabilities.authoring.rebase.rename_all", late)
    with pytest.raises(rebasing.ConfigurationError, match=r"0007_untracked\.sql exists; nothing was renamed"):
        run_rebase(branch)
    assert texts(branch)["0007_untracked.sql"] == "SELECT 'theirs'"
    assert {"0002_mine.sql", "sub/0003_mine.sql", "0004_untracked.sql"} < set(texts(branch))


@pytest.mark.parametrize("failing", [GitFailed("fatal: no"), OSError("no space"), KeyboardInterrupt()])
def test_a_rename_that_fails_undoes_those_before_it(
    failing: BaseException, branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files have their old names again, in the index of git too."""
    branch.file("0004_untracked.sql", GOOD)
    before = git(branch.root, "status", "--porcelain"), texts(branch)
    monkeypatch.chdir(branch.root)
    move = rebasing._move

    def fail_at_the_last(source: Path, target: Path, root: Path, *, tracked: bool) -> None:
        if source.name == "0002_mine.sql":
            raise failing
        move(source, target, root, tracked=tracked)

    monkeypatch.setattr(rebasing, "_move", fail_at_the_last)
    with pytest.raises((rebasing.ConfigurationError, KeyboardInterrupt)) as caught:
        run_rebase(branch)
    assert (git(branch.root, "status", "--porcelain"), texts(branch)) == before
    if not isinstance(failing, KeyboardInterrupt):
        assert str(caught.value).endswith("; nothing was renamed")


def test_a_stop_between_the_file_and_the_index_is_undone(
    branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git was stopped after it renamed a file and before it wrote its index."""
    before = git(branch.root, "status", "--porcelain"), texts(branch)
    move = rebasing._move

    def half(source: Path, target: Path, root: Path, *, tracked: bool) -> None:
        if source.name == "0002_mine.sql":
            source.rename(target)
            raise KeyboardInterrupt
        move(source, target, root, tracked=tracked)

    monkeypatch.setattr(rebasing, "_move", half)
    with pytest.raises(KeyboardInterrupt):
        run_rebase(branch)
    assert (git(branch.root, "status", "--porcelain"), texts(branch)) == before


def run_rebase(project: ProjectFolder) -> None:
    """Plan and do the renames of the catalog in this process."""
    from glacierbase.capabilities.authoring.rebase import rebase

    folders = {"shop": project.root / "migrations/shop"}
    rebase(project.root, folders, (), "main", dry_run=False, commit=False)


@pytest.mark.parametrize(
    ("refs", "base"),
    [
        (("origin/trunk", "origin/main", "main"), "origin/trunk"),
        (("origin/main", "origin/master", "main"), "origin/main"),
        (("origin/master", "main"), "origin/master"),
        (("main", "master"), "main"),
        (("master",), "master"),
        ((), None),
    ],
)
def test_the_default_base_is_the_most_usual_one_that_exists(
    refs: tuple[str, ...], base: str | None, branch: ProjectFolder
) -> None:
    """The remote's default branch comes first; without any of them, the error asks for `--base`."""
    main = git(branch.root, "rev-parse", "main")
    git(branch.root, "branch", "-qD", "main")
    for ref in refs:
        kind = "remotes" if "/" in ref else "heads"
        git(branch.root, "update-ref", f"refs/{kind}/{ref}", main)
    if "origin/trunk" in refs:
        git(branch.root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    told = branch.ask("rebase", "--dry-run")
    if base:
        assert (told.entry()["base"], len(told.entry()["renamed"])) == (base, 2)
    else:
        assert (told.code, told.document["error"]["code"]) == (2, "BASE_NOT_FOUND")
        assert told.document["error"]["hint"].endswith("--base REF")


def test_one_catalog_is_rebased_alone(branch: ProjectFolder) -> None:
    """`--catalog` leaves the files of the others, and refuses a name that does not exist."""
    git(branch.root, "switch", "-q", "main")
    branch.catalog(UNREACHABLE, "web")
    on_main(branch, "0009_theirs.sql", GOOD, "web")
    git(branch.root, "merge", "-q", "main", "-m", "merge")
    branch.file("0003_mine.sql", GOOD, "web")
    assert branch.ask("rebase", "--catalog", "nope").document["error"]["code"] == "UNKNOWN_CATALOG"
    assert [entry["catalog"] for entry in branch.ask("rebase", "--catalog", "web").document["catalogs"]] == ["web"]
    assert names(branch, "web") == ["0009_theirs.sql", "0010_mine.sql"]
    assert "0002_mine.sql" in texts(branch)


def test_a_file_can_get_the_name_that_another_one_leaves(project: ProjectFolder) -> None:
    """Files of one name are renamed from the last one on, so that none overwrites another."""
    project.catalog(UNREACHABLE)
    project.file("0001_x.sql", GOOD)
    commit_all(project.root)
    git(project.root, "switch", "-qc", "topic")
    on_main(project, "0002_theirs.sql")
    for number in (2, 3, 4):
        project.file(f"000{number}_x.sql", f"SELECT {number}")
    assert project.run("rebase").code == 0
    assert {name: text for name, text in texts(project).items() if name > "0002"} == {
        "0003_x.sql": "SELECT 2", "0004_x.sql": "SELECT 3", "0005_x.sql": "SELECT 4",
    }  # fmt: skip


def test_an_invalid_file_prevents_all_renames(branch: ProjectFolder) -> None:
    """A file whose name or headers are wrong is an error before anything is renamed."""
    (branch.root / "migrations/shop/0003_bad.sql").write_text("SELECT 1\n")
    told = branch.ask("rebase")
    assert (told.code, "0002_mine.sql" in names(branch)) == (3, True)


def test_a_folder_that_is_a_link_is_rebased(branch: ProjectFolder) -> None:
    """git refuses paths through a link, so the place behind it is renamed."""
    folder = branch.root / "later"
    folder.mkdir()
    (folder / "0003_linked.sql").write_text((branch.root / "migrations/shop/0001_a.sql").read_text())
    (branch.root / "migrations/shop/linked").symlink_to("../../later")
    commit_all(branch.root, "linked")
    assert branch.run("rebase").code == 0
    assert [path.name for path in folder.iterdir()] == ["0006_linked.sql"]
    assert read_migrations(branch.root / "migrations/shop", branch.root)[1] == []
