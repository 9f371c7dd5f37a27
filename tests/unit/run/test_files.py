"""Files and links that an untrusted branch may contain are refused before they are read or written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.folder import load_migrations
from glacierbase.run.files import FileReader, FileRefused
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder, migration

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
"""
CANARY = "canary-of-the-neighbour"


def outside(path: Path, text: str) -> Path:
    """Return a file beside the project."""
    target = path.parents[len(path.parts) - 1 - path.parts.index("project")].parent / "secret.sql"
    target.write_text(text)
    return target


def sparse(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


HOSTILE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a FIFO": (os.mkfifo, "UNREADABLE_FILE", "it is a FIFO and no regular file"),
    "a folder": (Path.mkdir, "UNREADABLE_FILE", "it is a folder and no regular file"),
    "11 MiB": (lambda path: sparse(path, 11 * 2**20), "UNREADABLE_FILE", "it holds more than"),
    "a link to nothing": (lambda path: path.symlink_to("gone"), "UNREADABLE_FILE", "No such file or directory"),
    "a link to itself": (lambda path: path.symlink_to(path), "UNREADABLE_FILE", "symbolic links"),
    "a link to zeros": (lambda path: path.symlink_to("/dev/zero"), "OUTSIDE_PROJECT", "leads to /dev/zero"),
    "a link to the terminal": (lambda path: path.symlink_to("/dev/tty"), "OUTSIDE_PROJECT", "leads to /dev/tty"),
    "a link out": (lambda path: path.symlink_to(outside(path, migration(CANARY))), "OUTSIDE_PROJECT", "secret.sql"),
    "a link to a link out": (
        lambda path: (path.with_name("x").symlink_to(outside(path, migration(CANARY))), path.symlink_to("x")),
        "OUTSIDE_PROJECT",
        "secret.sql",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_path_outside_the_project_is_refused_as_a_migration(kind: str, project: ProjectFolder) -> None:
    """`validate` ends with exit 3, names the file, and checks the files beside it."""
    project.catalog(CATALOG)
    project.file("0001_a.sql", "SELECT {{ variables.x }}")
    make, code, said = HOSTILE[kind]
    make(project.root / "migrations/shop/0003_x.sql")
    told = ask_here(project, "validate")
    errors = {each["path"]: each for each in told.document["error"]["errors"]}
    assert told.code == 3
    assert errors["migrations/shop/0001_a.sql"]["code"] == "UNDEFINED_VARIABLE"
    refused = errors["migrations/shop/0003_x.sql"]
    assert (refused["code"], said in refused["message"], bool(refused["hint"])) == (code, True, True)
    assert CANARY not in told.stdout + told.stderr


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_path_outside_the_project_is_refused_as_a_catalog(kind: str, project: ProjectFolder) -> None:
    """`validate` exits with 2, and checks the catalog beside the refused one."""
    project.catalog(CATALOG + "variabels: {}\n")
    make, code, said = HOSTILE[kind]
    make(project.root / "catalogs/x.yaml")
    told = ask_here(project, "validate")
    errors = {each["path"]: each for each in told.document["error"]["errors"]}
    assert told.code == 2
    assert errors["catalogs/shop.yaml"]["code"] == "UNKNOWN_KEY"
    assert (errors["catalogs/x.yaml"]["code"], said in errors["catalogs/x.yaml"]["message"]) == (code, True)
    assert CANARY not in told.stdout + told.stderr


@pytest.mark.parametrize("link", ["migrations/shop/sub", "migrations/shop", "migrations", "catalogs"])
def test_a_folder_that_leads_out_of_the_project_is_refused(link: str, project: ProjectFolder) -> None:
    """The hint says what to do; no file outside of the project is read."""
    project.catalog(CATALOG)
    project.file("sub/0001_a.sql", f"SELECT '{CANARY}'")
    (project.root / link).rename(project.root.parent / "elsewhere")
    (project.root / link).symlink_to(project.root.parent / "elsewhere")
    told = ask_here(project, "render")
    assert told.code == (2 if link == "catalogs" else 3)
    assert told.document["error"]["code"] == "OUTSIDE_PROJECT"
    assert "the folder that holds both" in told.document["error"]["hint"]
    assert CANARY not in told.stdout + told.stderr


def test_links_inside_of_the_project_are_followed(project: ProjectFolder) -> None:
    """A link to a file, to a folder or to the project itself is followed."""
    project.catalog(CATALOG)
    (project.root / "common").mkdir()
    (project.root / "common/1_a.sql").write_text(migration("SELECT 1"))
    (project.root / "common/b").write_text(migration("SELECT 2"))
    (project.root / "migrations/shop/common").symlink_to("../../common")
    (project.root / "migrations/shop/2_b.sql").symlink_to(project.root / "common/b")
    link = project.root.parent / "link"
    link.symlink_to(project.root)
    assert ask_here(project, "validate", "--project", str(link)).entry()["files"] == 2


@pytest.mark.parametrize("link", ["migrations", "catalogs"])
def test_init_writes_nothing_through_a_link_out_of_the_project(link: str, project: ProjectFolder) -> None:
    """`init` writes neither outside of the project nor in it."""
    elsewhere = project.root.parent / "elsewhere"
    (project.root / link).rename(elsewhere)
    (project.root / link).symlink_to(elsewhere)
    told = ask_here(project, "init", "web")
    assert (told.code, told.document["error"]["code"]) == (2, "OUTSIDE_PROJECT")
    assert [path for path in project.root.parent.rglob("*") if path.is_file()] == []


def test_init_leaves_a_link_in_the_place_of_a_file_alone(project: ProjectFolder) -> None:
    """`init` does not write through a link, even if its target does not exist."""
    target = project.root.parent / "written"
    (project.root / ".gitignore").symlink_to(target)
    assert run_here(project, "init", "web").code == 0
    (project.root / "catalogs/shop.yaml").symlink_to(target)
    assert ask_here(project, "init", "shop").document["error"]["code"] == "ALREADY_EXISTS"
    assert not target.exists()


def test_new_writes_nothing_through_a_link_out_of_the_project(project: ProjectFolder) -> None:
    """`new` refuses a folder `migrations/shop` that is a link to a folder of the system."""
    project.catalog(CATALOG)
    elsewhere = project.root.parent / "elsewhere"
    (project.root / "migrations/shop").rename(elsewhere)
    (project.root / "migrations/shop").symlink_to(elsewhere)
    told = ask_here(project, "new", "a change", "--author", "me")
    assert (told.code, told.document["error"]["code"]) == (2, "OUTSIDE_PROJECT")
    assert list(elsewhere.iterdir()) == []


def test_files_are_limited_together(tmp_path: Path) -> None:
    """Each read of a file through another link counts towards the common limit."""
    (tmp_path / "a").write_bytes(b"x" * 40)
    (tmp_path / "b").symlink_to("a")
    files = FileReader(tmp_path, 50, 100)
    assert [len(files.read(tmp_path / name)) for name in ("a", "b")] == [40, 40]
    with pytest.raises(FileRefused, match="together"):
        files.read(tmp_path / "b")


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    """A file that is one byte larger is refused before it is read."""
    (tmp_path / "a").write_bytes(b"x" * 50)
    (tmp_path / "b").write_bytes(b"x" * 51)
    files = FileReader(tmp_path, 50, 1000)
    assert len(files.read(tmp_path / "a")) == 50
    with pytest.raises(FileRefused, match="more than"):
        files.read(tmp_path / "b")


def test_folders_in_folders_have_an_end(tmp_path: Path) -> None:
    """Folders that are too deep are one error; a link to a parent folder is followed once."""
    folder = tmp_path / "migrations/shop"
    (folder / "up").mkdir(parents=True)
    (folder / "up/1_a.sql").write_text(migration("SELECT 1"))
    (folder / "up/again").symlink_to(folder)
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=deep)
        deep, above = os.open("d", os.O_RDONLY, dir_fd=deep), deep
        os.close(above)
    os.close(deep)
    migrations, errors = load_migrations(folder, tmp_path)
    subprocess.run(["rm", "-r", folder / "d"], check=True)  # Python's own way goes by recursion, too.
    assert [each.version for each in migrations] == ["1"]
    assert [error.code for error in errors] == ["UNREADABLE_FILE"]


def test_a_file_of_wrong_headers_is_a_handful_of_errors(tmp_path: Path) -> None:
    """The number of reported headers is limited, because finding the nearest spelling of each is slow."""
    lines = "".join(f"-- MIGRATION_{'A' * (1 + number % 50)}: x\n" for number in range(10_000))
    (tmp_path / "1_a.sql").write_text(lines)
    errors: list[GlacierbaseError] = load_migrations(tmp_path, tmp_path, headers=())[1]
    assert {error.code for error in errors} == {"UNKNOWN_HEADER"}
    assert len(errors) == 20


@pytest.mark.parametrize("name", ["catalogs", "migrations"])
@pytest.mark.parametrize("command", [["validate"], ["render"], ["new", "x", "--author", "me"]])
def test_no_name_of_a_folder_outside_is_read(command: list[str], name: str, project: ProjectFolder) -> None:
    """Without this check, errors would list the names in a folder that `catalogs` or `migrations` links to."""
    project.catalog(CATALOG)
    other = project.root.parent / "other"
    (other / f"{CANARY}.yml").mkdir(parents=True)
    (project.root / name).rename(project.root / "moved")
    (project.root / name).symlink_to(other)
    told = run_here(project, *command)
    assert told.code == (2 if name == "catalogs" else 3)
    assert f"OUTSIDE_PROJECT: {name} leads to" in told.stderr
    assert CANARY not in told.stdout + told.stderr


NOWHERE = {"a long name": "a" * 300, "a circle": "../circle", "nothing": "gone"}


@pytest.mark.parametrize("target", NOWHERE)
def test_a_link_to_nowhere_is_not_a_folder_without_migrations(target: str, project: ProjectFolder) -> None:
    """A broken link in place of a catalog's folder is an error with exit 3; one that no catalog uses is ignored."""
    project.catalog(CATALOG)
    (project.root / "migrations/other").symlink_to(NOWHERE[target])
    (project.root / "migrations" / ("b" * 255)).touch()
    (project.root / "circle").symlink_to("circle")
    assert run_here(project, "validate").code == 0
    (project.root / "migrations/shop").rmdir()
    (project.root / "migrations/shop").symlink_to(NOWHERE[target])
    for command in (["validate"], ["new", "x", "--author", "me"]):
        told = run_here(project, *command)
        assert told.code == 3
        assert "error: MISPLACED_FILE: migrations/shop is not a folder" in told.stderr


@pytest.mark.parametrize("target", ["a" * 300, "catalogs"])
def test_catalogs_that_lead_nowhere_are_no_project(target: str, project: ProjectFolder) -> None:
    """The exit code is 2, from a folder inside the project and from outside."""
    (project.root / "catalogs").rmdir()
    (project.root / "catalogs").symlink_to(target)
    told = run_here(project, "validate")
    assert told.code == 2
    assert "error: PROJECT_NOT_FOUND" in told.stderr
