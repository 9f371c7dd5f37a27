"""Further headers of migration files: those that the catalog file lists are read, all others are errors."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import check_required
from glacierbase.model.migration import Migration

HEAD = "-- MIGRATION_DESCRIPTION: why\n-- MIGRATION_AUTHOR: who\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The migrations folder of a catalog."""
    folder = tmp_path / "migrations" / "shop"
    folder.mkdir(parents=True)
    return folder


def load(
    folder: Path, text: str, listed: Collection[str] | None
) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    (folder / "1_a.sql").write_text(text)
    return load_migrations(folder, folder.parent.parent, headers=listed)


def test_a_listed_header_is_read(folder: Path) -> None:
    """The value follows the colon, without surrounding blanks; the fixed headers are not listed headers."""
    text = "-- MIGRATION_TICKET:  OPS-17: part 2 \n" + HEAD + "-- MIGRATION_REVIEWED_BY: Ann\nSELECT 1"
    [migration], errors = load(folder, text, ["TICKET", "REVIEWED_BY"])
    assert errors == []
    assert migration.headers == {"TICKET": "OPS-17: part 2", "REVIEWED_BY": "Ann"}
    assert (migration.description, migration.author) == ("why", "who")


def test_a_listed_header_without_a_value_or_below_the_sql_is_none(folder: Path) -> None:
    """A header without a value, or below the SQL, counts as missing."""
    [migration], errors = load(folder, HEAD + "-- MIGRATION_TICKET:\nSELECT 1\n-- MIGRATION_TICKET: x", ["TICKET"])
    assert (dict(migration.headers), errors) == ({}, [])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("TICKT", "did you mean MIGRATION_TICKET?"),
        ("AUTOR", "did you mean MIGRATION_AUTHOR?"),
        ("JIRA", "allow it in the catalog file: headers: {JIRA: optional}"),
    ],
)
def test_an_unlisted_header_is_an_error_with_the_next_step(name: str, hint: str, folder: Path) -> None:
    """A misspelt name gets the nearest one, another name the line of the catalog file that allows it."""
    _, [error] = load(folder, HEAD + f"-- MIGRATION_{name}: x\n", ["TICKET"])
    assert (error.code, error.data["line"], error.hint) == ("UNKNOWN_HEADER", 3, hint)


@pytest.mark.parametrize("meant", ["DESCRIPTION", "AUTHOR"])
def test_one_typing_error_in_a_required_header_is_one_error(meant: str, folder: Path) -> None:
    """The error names the header that is meant, which is not reported as missing besides."""
    written = meant.replace("TH", "T").replace("TI", "I")
    _, [error] = load(folder, HEAD.replace(f"MIGRATION_{meant}", f"MIGRATION_{written}"), ["TICKET"])
    assert (error.code, error.hint) == ("UNKNOWN_HEADER", f"did you mean MIGRATION_{meant}?")


def test_a_header_that_is_missing_beside_another_unknown_one_is_reported(folder: Path) -> None:
    """Only a misspelling of the missing header explains that it is missing."""
    unknown = HEAD.replace("MIGRATION_AUTHOR", "MIGRATION_JIRA")
    _, errors = load(folder, unknown, [])
    assert [error.code for error in errors] == ["UNKNOWN_HEADER", "MISSING_HEADER"]


def test_an_empty_header_beside_a_misspelt_one_is_reported(folder: Path) -> None:
    """Correcting the misspelt line would make it a duplicate."""
    _, errors = load(folder, "-- MIGRATION_AUTHOR:\n-- MIGRATION_AUTOR: me\n-- MIGRATION_DESCRIPTION: why\n", [])
    assert [error.code for error in errors] == ["UNKNOWN_HEADER", "MISSING_HEADER"]


def test_a_listed_header_twice_is_an_error(folder: Path) -> None:
    """Which of the two is meant is not decided silently."""
    _, [error] = load(folder, HEAD + "-- MIGRATION_TICKET: a\n-- MIGRATION_TICKET: b\n", ["TICKET"])
    assert (error.code, error.data["line"]) == ("DUPLICATE_HEADER", 4)


def test_any_header_is_read_where_the_catalog_file_is_not_known(folder: Path) -> None:
    """A broken catalog file must not turn its migrations' headers into errors."""
    [migration], errors = load(folder, HEAD + "-- MIGRATION_TICKET: a\n", None)
    assert (dict(migration.headers), errors) == ({"TICKET": "a"}, [])


def test_a_missing_required_header_is_an_error_with_the_line_to_add(folder: Path) -> None:
    """The line, with a value, makes the file valid."""
    [migration], _ = load(folder, HEAD + "SELECT 1", ["TICKET"])
    with pytest.raises(GlacierbaseError) as caught:
        check_required([migration], ["TICKET"])
    error = caught.value
    assert (error.code, error.exit_code, error.data["path"], error.data["line"]) == (
        "MISSING_HEADER", 3, "migrations/shop/1_a.sql", 1,
    )  # fmt: skip
    line = error.hint.removeprefix("write above the SQL: ")
    [migration], _ = load(folder, f"{line}\n{HEAD}SELECT 1", ["TICKET"])
    check_required([migration], ["TICKET"])
    assert migration.headers == {"TICKET": "VALUE"}
