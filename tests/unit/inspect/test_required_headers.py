"""`validate` and headers that the catalog file requires: of new files against a base; a warning where there is no base."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.errors import GlacierbaseError
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git

CATALOG = LAKE.replace("WAREHOUSE", "/nowhere")


@pytest.fixture
def based(project: ProjectFolder) -> ProjectFolder:
    """A project with one committed file without a ticket, and a catalog file that requires one since."""
    project.catalog(CATALOG, "shop")
    project.file("0001_a.sql", "SELECT 1")
    commit_all(project.root)
    project.catalog(CATALOG + "headers: {TICKET: required}\n", "shop")
    return project


def load(project: ProjectFolder) -> Project:
    return Project.load(project.root)


def with_ticket(path: Path) -> None:
    path.write_text("-- MIGRATION_TICKET: OPS-17\n" + path.read_text())


def test_a_file_of_the_base_needs_no_header_that_became_required_later(based: ProjectFolder) -> None:
    """The file may be applied, and must not change any more."""
    [result] = load(based).validate(base="main")
    assert result.warnings == ()


def test_a_new_file_needs_the_required_header(based: ProjectFolder) -> None:
    """The error has the file and the line to add."""
    path = based.file("0002_b.sql", "SELECT 2")
    with pytest.raises(GlacierbaseError) as caught:
        load(based).validate(base="main")
    assert (caught.value.code, caught.value.data["path"]) == ("MISSING_HEADER", "migrations/shop/0002_b.sql")
    assert caught.value.hint == "write above the SQL: -- MIGRATION_TICKET: VALUE"
    with_ticket(path)
    [result] = load(based).validate(base="main")
    assert (result.files, result.warnings) == (2, ())


def test_every_file_of_a_catalog_that_the_base_lacks_is_new(based: ProjectFolder) -> None:
    """A new catalog starts with all its required headers."""
    based.catalog(CATALOG + "headers: {TICKET: required}\n", "web")
    based.file("0001_a.sql", "SELECT 1", "web")
    with pytest.raises(GlacierbaseError) as caught:
        load(based).validate(base="main")
    assert caught.value.data["path"] == "migrations/web/0001_a.sql"


def test_without_a_base_a_missing_header_is_a_warning(based: ProjectFolder) -> None:
    """`validate` knows no history: each of the files may be applied."""
    based.file("0002_b.sql", "SELECT 2")
    [result] = load(based).validate()
    [warning] = result.warnings
    assert "2 migrations without the required header MIGRATION_TICKET" in warning
    assert "migrations/shop/0002_b.sql" in warning
    assert "validate --base" in warning


def test_a_broken_catalog_file_does_not_make_listed_headers_unknown(based: ProjectFolder) -> None:
    """Only what is wrong in the catalog file is reported."""
    with_ticket(based.file("0002_b.sql", "SELECT 2"))
    based.catalog(CATALOG + "headers: {TICKET: requird}\n", "shop")
    with pytest.raises(GlacierbaseError) as caught:
        load(based)
    assert caught.value.code == "INVALID_VALUE"


def test_rebase_renames_a_file_with_a_listed_header(based: ProjectFolder) -> None:
    """`rebase` reads no catalog file, and leaves the headers to `validate`."""
    based.file("0003_c.sql", "SELECT 3")
    commit_all(based.root)
    git(based.root, "checkout", "-qb", "feature", "HEAD~1")
    with_ticket(based.file("0002_b.sql", "SELECT 2"))
    commit_all(based.root, "feature")
    done = based.ask("rebase", "--base", "main", "--dry-run")
    assert [file["version"] for file in done.entry()["renamed"]] == ["0004"]


def test_new_inverts_a_file_with_a_listed_header(based: ProjectFolder) -> None:
    """The headers of the files that it reads are left to `validate`."""
    with_ticket(based.file("0002_b.sql", "ALTER TABLE lake.s.t RENAME COLUMN a TO b"))
    done = based.ask("new", "rename it back", "--author", "Ann", "--reverting", "0002")
    assert done.code == 0, done.stdout
    assert "RENAME COLUMN" in (based.root / done.entry()["files"][0]).read_text()
