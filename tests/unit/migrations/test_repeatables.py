"""Repeatables: their names, headers and order, and everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.migration import Migration

HEAD = "-- MIGRATION_DESCRIPTION: why\n-- MIGRATION_AUTHOR: who\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of repeatables."""
    path = tmp_path / "migrations/shop/repeatable"
    path.mkdir(parents=True)
    return path


def write(folder: Path, name: str, *after: str, sql: str = "SELECT 1;\n") -> None:
    (folder / f"{name}.sql").write_text(HEAD + "".join(f"-- MIGRATION_AFTER: {each}\n" for each in after) + sql)


def load(folder: Path) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    return load_migrations(folder.parent, folder.parents[2], headers=())


def names(folder: Path) -> list[str]:
    found, errors = load(folder)
    assert errors == []
    return [each.label for each in found]


def errors_of(folder: Path) -> list[tuple[str, str, int]]:
    return [(error.code, error.data["path"], error.data["line"]) for error in load(folder)[1]]


def test_repeatables_come_after_the_versions_in_the_order_of_their_names(folder: Path) -> None:
    """A repeatable has no version; its name identifies it."""
    for name in ("daily", "a_view"):
        write(folder, name)
    (folder.parent / "0042_create.sql").write_text(HEAD)
    assert names(folder) == ["0042", "a_view", "daily"]
    repeatable = load(folder)[0][-1]
    assert (repeatable.version, repeatable.name, repeatable.location) == (
        "",
        "daily",
        "migrations/shop/repeatable/daily.sql",
    )
    assert (repeatable.description, repeatable.author) == ("why", "who")


def test_a_header_puts_a_repeatable_after_others(folder: Path) -> None:
    """Of those that may be next, the first by name runs first."""
    write(folder, "a", "z", "m")
    write(folder, "b")
    write(folder, "m", "z")
    write(folder, "z")
    assert names(folder) == ["b", "z", "m", "a"]


def test_of_repeatables_that_may_be_next_the_first_by_name_runs_first(folder: Path) -> None:
    """A file that a header puts after another one precedes the files of later names."""
    write(folder, "a")
    write(folder, "b", "a")
    write(folder, "z")
    assert names(folder) == ["a", "b", "z"]


def test_a_cycle_is_an_error_at_the_line_that_closes_it(folder: Path) -> None:
    """Files that come after the cycle are not part of it."""
    write(folder, "a", "c")
    write(folder, "b", "a")
    write(folder, "c", "b")
    write(folder, "d", "a")
    [error] = load(folder)[1]
    assert (error.code, error.exit_code) == ("AFTER_CYCLE", 3)
    assert "a after c after b after a" in error.message
    assert (error.data["path"], error.data["line"]) == ("migrations/shop/repeatable/a.sql", 3)


def test_a_repeatable_that_comes_after_itself_is_a_cycle(folder: Path) -> None:
    """The shortest cycle."""
    write(folder, "a", "a")
    assert errors_of(folder) == [("AFTER_CYCLE", "migrations/shop/repeatable/a.sql", 3)]


def test_an_order_after_a_file_that_does_not_exist_is_an_error_with_the_nearest_name(folder: Path) -> None:
    """A misspelt name would change the order silently."""
    write(folder, "orders")
    write(folder, "totals", "order")
    [error] = load(folder)[1]
    assert (error.code, error.data["line"]) == ("UNKNOWN_AFTER", 3)
    assert "'order'" in error.message
    assert "orders" in error.hint


def test_a_file_that_is_not_valid_is_no_unknown_name(folder: Path) -> None:
    """Only what is wrong is reported."""
    (folder / "orders.sql").write_text("SELECT 1")
    write(folder, "totals", "orders")
    assert {code for code, *_ in errors_of(folder)} == {"MISSING_HEADER"}


@pytest.mark.parametrize("name", ["Daily", "daily view", "1_daily", "0001", "daily__x", "_daily", "deeper/daily"])
def test_a_misnamed_repeatable_is_an_error_and_never_skipped(name: str, folder: Path) -> None:
    """A name with a version would look like a version in commands; deeper folders would hide two files of one name."""
    path = folder / f"{name}.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD)
    assert errors_of(folder) == [("MISNAMED_FILE", f"migrations/shop/repeatable/{name}.sql", 1)]


def test_a_folder_of_that_name_elsewhere_has_versions(folder: Path) -> None:
    """Only the folder directly below the catalog's is special."""
    deeper = folder.parent / "2026" / "repeatable"
    deeper.mkdir(parents=True)
    (deeper / "7_a.sql").write_text(HEAD)
    assert names(folder) == ["7"]


def test_a_versioned_file_has_no_order_but_its_version(folder: Path) -> None:
    """The header would have no effect."""
    (folder.parent / "1_a.sql").write_text(HEAD + "-- MIGRATION_AFTER: b\n")
    [error] = load(folder)[1]
    assert (error.code, error.data["line"]) == ("UNKNOWN_HEADER", 3)


def test_a_repeatable_is_no_squash(folder: Path) -> None:
    """A repeatable replaces no versions."""
    (folder / "a.sql").write_text(HEAD + f"-- MIGRATION_SQUASHES: 1 v1:sha256:{'0' * 64}\n")
    assert errors_of(folder) == [("UNKNOWN_HEADER", "migrations/shop/repeatable/a.sql", 3)]
