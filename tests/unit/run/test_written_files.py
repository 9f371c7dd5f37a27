"""A file that a command writes is replaced as a whole, and no link of a branch decides where it is."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from glacierbase.run.files import FileReader, FileRefused, replace_file
from tests.support.ci import COMMIT
from tests.support.lakes import Lakes
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

# Each command that writes a file at a path that is given to it; `review` shares the options of `lint`.
COMMANDS = (
    "plan --catalog shop --output {}",
    "export-state --catalog shop --output {}",
    "report --output {}",
    "lint --catalog shop --output json={}",
)
MINE = b"mine\n"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A project in a work tree of git, beside a folder of the user with one file."""
    lakes = Lakes(project, monkeypatch)
    (project.root / ".git/hooks").mkdir(parents=True)
    home(project).mkdir()
    (home(project) / "keys.json").write_bytes(MINE)
    monkeypatch.chdir(project.root)
    return lakes


def home(project: ProjectFolder) -> Path:
    return project.root.parent / "home"


def contents(*folders: Path) -> dict[Path, bytes | str]:
    """Return every file below the folders with its content, and every link with its target."""
    found = (path for folder in folders for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {
        path: str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        for path in found
    }


def link(place: str, target: str | Path) -> Callable[[], object]:
    """Return what tracks a link in the branch."""

    def make() -> None:
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).symlink_to(target)

    return make


def other_tree() -> None:
    """A link to another work tree, which its own `.git` must not make a place to write to."""
    Path("../home/.git").mkdir()
    Path("out").symlink_to("../home")


HOSTILE: dict[str, tuple[Callable[[], object], str, str]] = {
    "a link to a file of the user": (
        link("a.json", "../home/keys.json"),
        "a.json",
        "it is a link to ../home/keys.json",
    ),
    "a link to no file": (link("a.json", "../home/new.json"), "a.json", "it is a link to ../home/new.json"),
    "a link in the project": (link("a.json", "b.json"), "a.json", "it is a link to b.json"),
    "a link to itself": (link("a.json", "a.json"), "a.json", "it is a link to a.json"),
    "a hook": (link("a.json", ".git/hooks/post-checkout"), "a.json", "it is a link to .git/hooks/post-checkout"),
    "a link to stdout": (lambda: None, "/dev/stdout", "it is a link to /proc/self/fd/1"),
    "a folder that leads out": (link("out", "../home"), "out/keys.json", "home, outside of the project"),
    "a folder above it": (link("out", ".."), "out/home/keys.json", "home, outside of the project"),
    "the folder of a link and a step up": (link("out", "../home"), "out/../x.json", "outside of the project"),
    "a folder that leads to git's files": (link("out", ".git/hooks"), "out/a.json", ".git/hooks, outside of"),
    "a folder that leads to another work tree": (other_tree, "out/keys.json", "home, outside of the project"),
    "a FIFO": (lambda: os.mkfifo("a.json"), "a.json", "it is a FIFO"),
    "a folder": (lambda: Path("a.json").mkdir(), "a.json", "it is a folder"),
    "a device": (lambda: None, "/dev/full", "it is a device"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_or_a_special_file_in_the_way_of_an_output_is_refused(command: str, kind: str, lakes: Lakes) -> None:
    """Exit code 2, the message names the file, and nothing changes in the project or beside it."""
    make, path, said = HOSTILE[kind]
    make()
    if not path.endswith(".json") and command.startswith("export-state"):
        said = "does not end in .json"
    before = contents(lakes.project.root.parent)
    done = lakes.run(command.format(path))
    assert done.code == 2, done.stdout + done.stderr
    assert path in done.stderr
    assert said in done.stderr
    assert contents(lakes.project.root.parent) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_is_written_through_folders_that_stay_in_the_project_or_are_none_of_it(
    command: str, lakes: Lakes
) -> None:
    """A link inside the project is followed, and so is one that only the user can have made."""
    Path("real").mkdir()
    Path("out").symlink_to("real")
    Path("../mine").symlink_to("home")
    for path in ("out/a.json", "../mine/a.json"):
        assert lakes.run(command.format(path)).code in (0, 3)
    assert Path("real/a.json").read_bytes()
    assert (home(lakes.project) / "a.json").read_bytes()


def test_outside_of_git_the_links_of_a_project_lead_nowhere_either(project: ProjectFolder) -> None:
    """A branch may be unpacked from an archive."""
    home(project).mkdir()
    (project.root / "out").symlink_to(home(project))
    done = run_here(project, "lint", "--output", "json=out/a.json")
    assert (done.code, "outside of the project" in done.stderr) == (2, True)
    assert list(home(project).iterdir()) == []


def test_a_replaced_file_keeps_its_permissions_and_its_other_names(tmp_path: Path) -> None:
    """A plan that only its owner can read stays so; the content under a second name of the old file stays."""
    path = tmp_path / "plan.json"
    path.write_bytes(MINE)
    path.chmod(0o600)
    os.link(path, tmp_path / "second")
    replace_file(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)
    assert (tmp_path / "second").read_bytes() == MINE


@pytest.mark.parametrize("target", [".git/hooks", "../home"])
@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("new 'a change' --author me --catalog shop", "migrations/shop"),
        ("init other", "migrations"),
        (f"init --ci github --from {COMMIT}", ".github"),
    ],
)
def test_a_new_file_is_not_written_through_a_folder_that_leads_to_gits_files_or_out(
    command: str, place: str, target: str, lakes: Lakes
) -> None:
    """`new`, `init` and `init --ci` refuse such a folder; nothing is written."""
    shutil.rmtree(place, ignore_errors=True)
    Path(place).symlink_to(os.path.relpath(target, Path(place).parent))
    before = contents(lakes.project.root.parent)
    done = run_here(lakes.project, *shlex.split(command))
    assert done.code in (2, 3), done.stdout
    assert "OUTSIDE_PROJECT" in done.stderr
    assert contents(lakes.project.root.parent) == before


def test_a_file_of_git_is_no_input(tmp_path: Path) -> None:
    """`.git/config` may hold the token of a CI job; a link of a branch leads to it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("token")
    (tmp_path / "1_a.sql").symlink_to(".git/config")
    (tmp_path / "sub").symlink_to(".git")
    for path in ("1_a.sql", "sub/config"):
        with pytest.raises(FileRefused) as caught:
            FileReader(tmp_path, 100, 100).read(tmp_path / path)
        assert caught.value.code == "OUTSIDE_PROJECT"
