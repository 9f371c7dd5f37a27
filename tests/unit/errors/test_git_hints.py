"""The git commands in messages run as printed: in the project's root, below it, and outside of it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import header_lines, squashed_by
from tests.support.lakes import Lakes
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git

PLACES = [".", "migrations/shop", "../elsewhere"]
COMMAND = re.compile(r"\b((?:git|mv) (?:-C \S+ )?[^;`]+)")


@pytest.fixture(params=PLACES)
def lakes(request: pytest.FixtureRequest, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A project below the top of a repository, applied in prod, with the working directory in it, below it, or outside."""
    lakes = Lakes(project, monkeypatch)
    for name in ("0001_a.sql", "0003_c.sql"):
        project.file(name, "SELECT 1")
        project.file(name, "SELECT 1", "web")
    commit_all(project.root.parent)
    assert lakes.run("migrate --env prod").code == 0
    monkeypatch.chdir(project.root / request.param)
    return lakes


def named(lakes: Lakes, line: str) -> str:
    """Name the project where the working directory is outside of it."""
    return (
        line
        if Path.cwd().is_relative_to(lakes.project.root)
        else f"{line} --project {os.path.relpath(lakes.project.root)}"
    )


def paste(text: str) -> str:
    """Run the first command of git, or `mv`, in a text, in the working directory; return it."""
    [command, *_] = COMMAND.findall(text)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    return str(command)


def hint(lakes: Lakes, line: str, code: str) -> str:
    """Run a command that fails with this code, and return its hint."""
    done = lakes.paste(f"glacierbase {named(lakes, line)} --format json")
    errors = done.document["error"].get("errors", [done.document["error"]])
    return str(next(error["hint"] for error in errors if error["code"] == code))


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_an_applied_file_is_restored(change: str, lakes: Lakes) -> None:
    """`git checkout` is run on the project, wherever it is pasted."""
    path = lakes.project.root / "migrations/shop/0001_a.sql"
    content = path.read_bytes()
    path.write_text("-- MIGRATION_DESCRIPTION: a\n-- MIGRATION_AUTHOR: a\nSELECT 2")
    if change == "delete":
        path.unlink()
    code = {"edit": "CHECKSUM_MISMATCH", "delete": "MIGRATION_MISSING"}[change]
    paste(hint(lakes, "migrate --env prod --yes", code))
    assert path.read_bytes() == content


@pytest.mark.parametrize("tracked", [True, False])
def test_a_late_file_is_renamed_whether_git_tracks_it_or_not(tracked: bool, lakes: Lakes) -> None:
    """`git mv` refuses a file that is not tracked; `mv` moves it."""
    late = lakes.project.file("0002_b.sql", "SELECT 1")
    if tracked:
        commit_all(lakes.project.root.parent, "late")
    command = paste(hint(lakes, "migrate --env prod --yes", "OUT_OF_ORDER"))
    assert command.startswith("git " if tracked else "mv ")
    assert (late.exists(), late.with_name("0004_b.sql").exists()) == (False, True)


def test_a_late_file_outside_of_git_is_renamed(lakes: Lakes) -> None:
    """A copy without `.git` gets `mv`."""
    (lakes.project.root.parent / ".git").rename(lakes.project.root.parent / "git-was-here")
    late = lakes.project.file("0002_b b/0002_b.sql", "SELECT 1")
    assert paste(hint(lakes, "migrate --env prod --yes", "OUT_OF_ORDER")).startswith("mv ")
    assert late.with_name("0004_b.sql").exists()


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_file_of_the_base_is_restored(is_renamed: bool, lakes: Lakes) -> None:
    """Into its path, or into the folder that the catalog has now."""
    root = lakes.project.root
    git(root, "switch", "-qc", "side")
    folder = root / "migrations/shop"
    if is_renamed and Path.cwd() != folder:
        folder = folder.rename(root / "migrations/store")
        text = (root / "catalogs/shop.yaml").read_text()
        (root / "catalogs/store.yaml").write_text(f"name: shop\n{text}")
        (root / "catalogs/shop.yaml").unlink()
    (folder / "0001_a.sql").unlink()
    paste(hint(lakes, "validate --base main", "BASE_FILE_DELETED"))
    assert (folder / "0001_a.sql").exists()


def test_a_catalog_of_the_base_is_restored(lakes: Lakes) -> None:
    """With its catalog file and its folder."""
    root = lakes.project.root
    git(root, "switch", "-qc", "side")
    git(root, "rm", "-rq", "migrations/web", "catalogs/web.yaml")
    paste(hint(lakes, "validate --base main", "BASE_FILE_DELETED"))
    assert (root / "catalogs/web.yaml").exists()
    assert (root / "migrations/web/0001_a.sql").exists()


def test_a_catalog_file_with_another_suffix_is_renamed(lakes: Lakes) -> None:
    """The command is that of the message."""
    root = lakes.project.root
    git(root, "mv", "catalogs/web.yaml", "catalogs/web.yml")
    paste(hint(lakes, "validate", "MISNAMED_FILE"))
    assert (root / "catalogs/web.yaml").exists()


def test_the_renames_that_rebase_would_do_are_commands(lakes: Lakes) -> None:
    """A dry run prints them for the working directory, as text and in JSON."""
    root = lakes.project.root
    git(root, "switch", "-qc", "side")
    lakes.project.file("0002_b.sql", "SELECT 1")
    line = named(lakes, "glacierbase rebase --base main --dry-run")
    [file] = lakes.paste(line, "--format", "json").document["catalogs"][0]["renamed"]
    assert file["command"] in lakes.paste(line).stdout
    assert paste(file["command"]).startswith("mv ")
    assert (root / "migrations/shop/0004_b.sql").exists()


def test_the_commit_before_a_squash_is_checked_out_from_anywhere(lakes: Lakes) -> None:
    """The environment is in the middle of the replaced files; the command finds the squash's commit by its path in the project."""
    root = lakes.project.root
    lakes.project.file("0004_d.sql", "SELECT 1")
    commit_all(root.parent)
    before = git(root, "rev-parse", "HEAD")
    files, _ = load_migrations(root / "migrations/shop", root)
    squash = lakes.project.file("0004_squashed.sql", "SELECT 1")
    squash.write_text("\n".join([*header_lines(squashed_by(files)), squash.read_text()]))
    for file in files:
        file.path.unlink()
    commit_all(root.parent)
    output = lakes.call(*named(lakes, "migrate --env prod --catalog shop --yes").split())
    assert output.code == 3
    checkout = re.findall(r"`(git [^`]*)`", output.stderr)[0]
    subprocess.run(checkout, shell=True, check=True, capture_output=True)
    assert git(root, "rev-parse", "HEAD") == before
