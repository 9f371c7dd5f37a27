"""`validate --base REF` on a branch that is not behind: the base's files are unchanged, and new versions are above its highest."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import header_lines, squashed_by
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder, migration
from tests.support.repository import commit_all, git
from tests.unit.cli.test_bad_input import GOOD, UNREACHABLE


@pytest.fixture
def based(project: ProjectFolder) -> ProjectFolder:
    """Return a project with two catalogs, whose first three files each are committed as `main`."""
    for catalog in ("shop", "web"):
        project.catalog(UNREACHABLE, catalog)
        for name in ("0001_a.sql", "0002_b.sql", "0005_c.sql"):
            project.file(name, GOOD, catalog)
    commit_all(project.root)
    return project


def found(project: ProjectFolder, *arguments: str) -> list[dict[str, Any]]:
    """Return the errors of `validate` against `main`."""
    told = ask_here(project, "validate", "--base", "main", *arguments)
    error = told.document["error"]
    assert told.code == (error["exit_code"] if error else 0)
    return error.get("errors", [error]) if error else []


def codes(project: ProjectFolder, *arguments: str) -> list[str]:
    return [error["code"] for error in found(project, *arguments)]


def restore(project: ProjectFolder, error: dict[str, Any]) -> None:
    """Run the command of a hint as printed."""
    hint = error["hint"]
    if hint.startswith("`glacierbase "):
        told = run_here(project, *shlex.split(hint.split("`")[1])[1:])
        assert told.code == 0, told
        return
    command = hint[hint.index("git ") :].partition("; ")[0].partition("), ")[0]
    subprocess.run(command, shell=True, check=True, cwd=project.root, capture_output=True)


def names(project: ProjectFolder, catalog: str = "shop") -> list[str]:
    """Return the names of the migration files that are in the work tree."""
    return sorted(path.name for path in (project.root / "migrations" / catalog).iterdir())


def renamed(project: ProjectFolder, old: str, new: str, text: str) -> None:
    (project.root / "catalogs" / f"{old}.yaml").unlink()
    (project.root / "migrations" / old).rename(project.root / "migrations" / new)
    project.catalog(text, new)


def removed(project: ProjectFolder, catalog: str) -> None:
    (project.root / "catalogs" / f"{catalog}.yaml").unlink()
    shutil.rmtree(project.root / "migrations" / catalog)


def test_validate_against_a_base_refuses_what_a_merge_would_break(based: ProjectFolder) -> None:
    """An edited file, a deleted file and a new version below the base's highest are errors, with the command to correct each."""
    assert found(based) == []
    based.file("0001_a.sql", GOOD + " ")
    (based.root / "migrations/shop/0002_b.sql").unlink()
    based.file("0003_late.sql", GOOD)
    based.file("0006_new.sql", GOOD)
    errors = found(based)
    assert [error["code"] for error in errors] == ["BASE_FILE_EDITED", "BASE_FILE_DELETED", "VERSION_BELOW_BASE"]
    for error in errors:
        restore(based, error)
    assert found(based) == []
    # Both new files have new versions: the first one could not be above the base and below the second.
    assert names(based)[3:] == ["0006_late.sql", "0007_new.sql"]


RENAMINGS: dict[str, Callable[[ProjectFolder], object]] = {
    "deleted": lambda p: removed(p, "web"),
    "renamed with its file and folder": lambda p: renamed(p, "web", "site", UNREACHABLE),
    "renamed from one name to another": lambda p: renamed(p, "web", "site", "name: site\n" + UNREACHABLE),
    "renamed by its key alone": lambda p: p.catalog("name: site\n" + UNREACHABLE, "web"),
}


@pytest.mark.parametrize("how", RENAMINGS)
def test_a_catalog_of_the_base_that_is_gone_is_one_error(how: str, based: ProjectFolder) -> None:
    """Deleting or renaming a catalog is an error, because the history has its migrations under the old name."""
    RENAMINGS[how](based)
    [error] = found(based)
    assert (error["code"], error["catalog"], error["path"]) == ("BASE_FILE_DELETED", "web", "catalogs/web.yaml")
    assert error["message"] == "catalog web: main has 3 of its migrations, but this branch has no catalog of this name"
    assert error["hint"].startswith("restore it: git checkout main -- catalogs/web.yaml migrations/web; ")
    restore(based, error)
    assert found(based) == []


def test_a_catalog_that_is_checked_alone_is_checked_alone(based: ProjectFolder) -> None:
    """`--catalog` ignores the changes to other catalogs."""
    removed(based, "web")
    assert found(based, "--catalog", "shop") == []
    based.file("0001_a.sql", GOOD + " ")
    assert codes(based, "--catalog", "shop") == ["BASE_FILE_EDITED"]
    assert codes(based) == ["BASE_FILE_EDITED", "BASE_FILE_DELETED"]


def test_a_catalog_without_the_chosen_environment_is_not_gone(based: ProjectFolder) -> None:
    """A catalog without the chosen environment is not compared, and not reported as deleted."""
    based.catalog(UNREACHABLE + "environments: {dev: {}}\n")
    assert found(based, "--env", "dev") == []


def test_a_renamed_folder_is_compared_under_the_name_that_stays(based: ProjectFolder) -> None:
    """Files are identified by catalog name and version, never by path; the hint restores into the renamed folder."""
    renamed(based, "shop", "my shop's", "name: shop\n" + UNREACHABLE)
    assert found(based) == []
    based.file("0001_a.sql", GOOD + " ", "my shop's")
    (based.root / "migrations/my shop's/0002_b.sql").unlink()
    based.file("0003_late.sql", GOOD, "my shop's")
    errors = found(based)
    assert [error["code"] for error in errors] == ["BASE_FILE_EDITED", "BASE_FILE_DELETED", "VERSION_BELOW_BASE"]
    for error in errors:
        restore(based, error)
    assert found(based) == []
    assert (based.root / "migrations/my shop's/0006_late.sql").exists()


def test_catalogs_that_exchange_their_names_exchange_their_histories(based: ProjectFolder) -> None:
    """Each catalog is compared with the files that the base has under the same name."""
    based.file("0005_c.sql", "SELECT 2", "web")
    commit_all(based.root, "different")
    for stem, name in (("shop", "web"), ("web", "shop")):
        based.catalog(f"name: {name}\n" + UNREACHABLE, stem)
    assert [error["path"] for error in found(based)] == ["migrations/web/0005_c.sql", "migrations/shop/0005_c.sql"]


@pytest.mark.parametrize(
    "text", ["a: [", "name: Not A Name\n", "name: web\nname: web\n", "- web\n", "\0", '"\\ud800": 1']
)
def test_an_unreadable_catalog_file_of_the_base_is_a_warning(text: str, based: ProjectFolder) -> None:
    """The migrations are compared with those of the present catalog file of the same stem, which may be a correction."""
    path = based.catalog(text, "web")
    commit_all(based.root, "broken")
    path.write_text("name: site\n" + UNREACHABLE)
    told = based.ask("validate", "--base", "main")
    assert told.code == 0
    shop, site = told.document["catalogs"]
    assert shop["warnings"] == []
    [warning] = site["warnings"]
    assert warning.startswith("main:catalogs/web.yaml, line ")
    assert warning.endswith("; its name is taken to be site")
    assert f"warning: {warning}" in based.run("validate", "--base", "main").stdout
    based.file("0001_a.sql", GOOD + " ", "web")
    assert codes(based) == ["BASE_FILE_EDITED"]
    removed(based, "web")
    [gone] = found(based)
    assert gone["code"] == "BASE_FILE_DELETED"
    assert gone["message"].endswith(warning.replace("site", "web"))


def test_a_folder_of_the_base_without_a_catalog_file_is_compared_too(based: ProjectFolder) -> None:
    """Such a folder is compared with the catalog of its name, or reported as deleted."""
    (based.root / "catalogs/web.yaml").unlink()
    commit_all(based.root, "no file")
    based.catalog(UNREACHABLE, "web")
    assert found(based) == []
    based.file("0001_a.sql", GOOD + " ", "web")
    assert codes(based) == ["BASE_FILE_EDITED"]
    removed(based, "web")
    [error] = found(based)
    assert (error["code"], error["path"]) == ("BASE_FILE_DELETED", "migrations/web")
    restore(based, error)
    assert (based.root / "migrations/web/0001_a.sql").exists()


def test_other_files_of_the_base_are_not_compared(based: ProjectFolder, tmp_path: Path) -> None:
    """Files with other names, in hidden folders, behind links or in other repositories may be deleted."""
    migrations = based.root / "migrations"
    inner = migrations / "shop/0009_module.sql"
    inner.mkdir()
    (inner / "file").touch()
    commit_all(inner)
    others = [
        migrations / name for name in ("shop/9.sql", "shop/²_a.sql", "shop/x_a.sql", "0009_a.sql", ".old/0009_a.sql")
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text(GOOD)
    (migrations / "linked").symlink_to(tmp_path)
    commit_all(based.root, "more")
    shutil.rmtree(inner)
    for path in (*others, migrations / "linked"):
        path.unlink()
    assert found(based) == []


def test_a_path_of_the_base_that_is_not_utf_8_is_printed_in_ascii(based: ProjectFolder) -> None:
    """Bytes that are not UTF-8 are escaped, because they cannot be printed."""
    path = based.file("0009_\udcff.sql", GOOD)
    commit_all(based.root, "more")
    path.unlink()
    [error] = found(based)
    assert (error["code"], error["path"]) == ("BASE_FILE_DELETED", r"migrations/shop/0009_\xff.sql")


def test_a_project_below_the_top_of_its_repository_is_found_in_the_base(based: ProjectFolder, tmp_path: Path) -> None:
    """The names of the folders above the project may contain git's wildcards."""
    top = tmp_path / "top"
    root = top / ":(top) *" / "a project"
    root.parent.mkdir(parents=True)
    (top / "catalogs").mkdir()
    (top / "catalogs/other.yaml").write_text(UNREACHABLE)
    shutil.rmtree(based.root / ".git")
    based.root.rename(root)
    based.root = root
    commit_all(top)
    assert found(based) == []
    based.file("0001_a.sql", GOOD + " ")
    removed(based, "web")
    errors = found(based)
    assert [error["code"] for error in errors] == ["BASE_FILE_EDITED", "BASE_FILE_DELETED"]
    for error in errors:
        restore(based, error)
    assert found(based) == []


def test_a_project_that_the_base_does_not_have_is_new(project: ProjectFolder) -> None:
    """No file of a new project is an error."""
    (project.root / "README").touch()
    commit_all(project.root)
    project.catalog(UNREACHABLE)
    project.file("0001_a.sql", GOOD)
    assert found(project) == []


def test_a_project_that_the_base_does_not_have_is_a_warning(project: ProjectFolder) -> None:
    """A branch could move the project, edit it and leave a link in its place, so a comparison with nothing is reported."""
    project.catalog(UNREACHABLE)
    project.file("1_a.sql", "SELECT 1")
    commit_all(project.root.parent)
    assert ask_here(project, "validate", "--base", "main").entry()["warnings"] == []
    project.root.rename(project.root.with_name("moved"))
    project.root.symlink_to("moved")
    project.file("1_a.sql", "DROP TABLE t")
    told = ask_here(project, "validate", "--base", "main")
    assert told.code == 0
    [warning] = told.entry()["warnings"]
    assert "nothing was compared" in warning


def squash(project: ProjectFolder, catalog: str = "shop") -> Path:
    """Replace all files of a catalog by a squash."""
    folder = project.root / "migrations" / catalog
    files, _ = load_migrations(folder, project.root)
    path = folder / f"{files[-1].version}_squashed.sql"
    path.write_text("\n".join([*header_lines(squashed_by(files)), migration(GOOD)]))
    for file in files:
        file.path.unlink()
    return path


def test_a_squash_deletes_and_edits_nothing(based: ProjectFolder) -> None:
    """A squash is not new either: its version is that of the base's highest file."""
    squash(based)
    assert codes(based) == []
    based.file("0006_d.sql", GOOD)
    assert codes(based) == []


def test_a_squash_of_other_content_deletes_and_edits(based: ProjectFolder) -> None:
    """What it replaces are the base's files only if their checksums are the same."""
    based.file("0002_b.sql", "SELECT 2")
    based.file("0005_c.sql", "SELECT 5")
    squash(based)
    assert codes(based) == ["BASE_FILE_DELETED", "BASE_FILE_EDITED"]


def test_a_squash_of_a_file_that_the_base_never_had_is_refused(based: ProjectFolder) -> None:
    """An environment that has applied all files of the base would be in the middle of it; one that the base has is none."""
    based.file("0006_d.sql", GOOD)
    squash(based)
    [error] = found(based, "--catalog", "shop")
    assert (error["code"], error["exit_code"]) == ("INVALID_SQUASH", 3)
    assert "replaces the files up to version 0006, but main ends at 0005" in error["message"]
    commit_all(based.root, "squash")
    assert codes(based) == []


def test_a_squash_of_a_new_catalog_is_accepted(based: ProjectFolder) -> None:
    """The base has no environment of it."""
    based.catalog(UNREACHABLE, "new")
    based.file("0001_a.sql", GOOD, "new")
    squash(based, "new")
    assert codes(based) == []


def test_a_branch_from_before_the_squash_is_only_behind(based: ProjectFolder) -> None:
    """The branch has the files that the squash of its base replaced, and goes on above them."""
    git(based.root, "switch", "-qc", "feature")
    based.file("0006_d.sql", GOOD)
    commit_all(based.root, "feature")
    git(based.root, "switch", "-q", "main")
    squash(based)
    commit_all(based.root, "squash")
    git(based.root, "switch", "-q", "feature")
    assert codes(based) == []
    git(based.root, "merge", "-q", "--no-edit", "main")
    assert names(based) == ["0005_squashed.sql", "0006_d.sql"]
    assert codes(based) == []


def test_rebase_renames_no_squash(based: ProjectFolder) -> None:
    """A squash lists the files up to its own version, so `rebase` does not rename it."""
    git(based.root, "switch", "-qc", "feature")
    based.file("0006_d.sql", GOOD)
    squash(based)
    commit_all(based.root, "squash")
    git(based.root, "switch", "-q", "main")
    based.file("0007_e.sql", GOOD)
    commit_all(based.root, "later")
    git(based.root, "switch", "-q", "feature")
    told = based.ask("rebase", "--base", "main")
    assert (told.code, told.document["error"]["code"]) == (3, "INVALID_SQUASH")
    assert names(based) == ["0006_squashed.sql"]


def test_a_repeatable_of_the_base_may_be_edited_and_its_deletion_is_a_warning(project: ProjectFolder) -> None:
    """No environment has to keep the text of a repeatable; what a deleted one made stays."""
    project.catalog(UNREACHABLE)
    project.file("1_a.sql", "SELECT 1")
    path = project.file("repeatable/v.sql", "CREATE OR REPLACE VIEW a.v AS SELECT 1")
    commit_all(project.root)
    project.file("repeatable/v.sql", "CREATE OR REPLACE VIEW a.v AS SELECT 2")
    project.file("repeatable/w.sql", "CREATE OR REPLACE VIEW a.w AS SELECT 2")
    edited = ask_here(project, "validate", "--base", "main")
    assert (edited.code, edited.entry()["warnings"]) == (0, [])
    path.unlink()
    deleted = ask_here(project, "validate", "--base", "main")
    [warning] = deleted.entry()["warnings"]
    assert deleted.code == 0
    assert "repeatable/v.sql" in warning
    assert "repair v --as removed" in warning


def test_a_required_header_is_required_of_repeatables_that_changed(project: ProjectFolder) -> None:
    """As of new files; the unchanged ones are spared."""
    project.catalog(UNREACHABLE)
    project.file("repeatable/v.sql", "SELECT 1")
    project.file("repeatable/w.sql", "SELECT 1")
    commit_all(project.root)
    project.catalog(UNREACHABLE + "headers: {TICKET: required}\n")
    project.file("repeatable/w.sql", "SELECT 2")
    error = ask_here(project, "validate", "--base", "main").document["error"]
    assert (error["code"], error["path"]) == ("MISSING_HEADER", "migrations/shop/repeatable/w.sql")
