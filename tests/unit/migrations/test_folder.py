"""The migrations folder: names, headers, order, and everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.migration import Migration, checksum

HEAD = "-- MIGRATION_DESCRIPTION: why\n-- MIGRATION_AUTHOR: who\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty migrations folder."""
    path = tmp_path / "migrations/shop"
    path.mkdir(parents=True)
    return path


def load(folder: Path) -> tuple[tuple[Migration, ...], list[GlacierbaseError]]:
    return load_migrations(folder, folder.parent.parent, headers=())


def error_of(folder: Path, content: bytes, name: str = "1_a.sql") -> GlacierbaseError:
    (folder / name).write_bytes(content)
    migrations, errors = load(folder)
    assert migrations == ()
    [error] = errors
    return error


def test_files_come_in_the_order_of_their_numbers_in_any_folder(folder: Path) -> None:
    """`10` comes after `9`, and a version is kept as written."""
    for name in ("10_ten.sql", "009_nine.sql", "deep/er/20261120103000_new.sql"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(HEAD)
    migrations, errors = load(folder)
    assert errors == []
    assert [(m.version, m.name, m.location) for m in migrations] == [
        ("009", "nine", "migrations/shop/009_nine.sql"),
        ("10", "ten", "migrations/shop/10_ten.sql"),
        ("20261120103000", "new", "migrations/shop/deep/er/20261120103000_new.sql"),
    ]


def test_a_missing_folder_is_an_empty_one(tmp_path: Path) -> None:
    """A catalog may be written before its first migration."""
    assert load_migrations(tmp_path / "migrations/none", tmp_path) == ((), [])


def test_a_linked_folder_is_read_and_one_that_leads_back_ends(folder: Path, tmp_path: Path) -> None:
    """No file is skipped silently, and none is read twice."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "1_a.sql").write_text(HEAD)
    (shared / "back").symlink_to(folder)
    (folder / "linked").symlink_to(shared)
    migrations, errors = load(folder)
    assert ([m.version for m in migrations], errors) == (["1"], [])


def test_headers_are_read_from_the_comments_above_the_sql(folder: Path) -> None:
    """Headers may be in any order, with other comments and blank lines between them, but not below the first SQL."""
    text = "\n-- note\n  -- MIGRATION_AUTHOR :  Ann  \n\n--MIGRATION_DESCRIPTION: a: b\nSELECT 1;\n-- MIGRATION_AUTHOR: Bob\n"
    (folder / "1_a.sql").write_text(text)
    [migration], errors = load(folder)
    assert errors == []
    assert (migration.description, migration.author, migration.text) == ("a: b", "Ann", text)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_any_line_end_ends_a_header(ends: str, folder: Path) -> None:
    """CR, LF and CRLF end a header, and remain in the text."""
    text = HEAD.replace("\n", ends) + "SELECT 1"
    (folder / "1_a.sql").write_bytes(b"\xef\xbb\xbf" + text.encode())
    [migration], _ = load(folder)
    assert (migration.author, migration.text) == ("who", text)


def test_line_ends_and_a_byte_order_mark_do_not_change_the_checksum() -> None:
    """Editors and checkouts may add them; every other change is an edit."""
    same = {checksum(content) for content in (b"a\nb\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n")}
    others = {checksum(content) for content in (b"a\nb", b"a\rb\n", b"a \nb\n", b"A\nb\n")}
    assert len(same) == 1
    assert len(others) == 4
    assert same.isdisjoint(others)
    # echo -n 'a' | sha256sum
    assert checksum(b"a") == "v1:sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.mark.parametrize(
    "name",
    [
        "a.sql",
        "1.sql",
        "1_.sql",
        "1_A.sql",
        "1-a.sql",
        "1_a b.sql",
        "1_a__b.sql",
        "_1_a.sql",
        "1_a.SQL",
        "¹_a.sql",
        "V1__a.sql",
    ],
)
def test_a_misnamed_file_is_an_error_and_never_skipped(name: str, folder: Path) -> None:
    """A file that ends in `.sql` is meant to run."""
    error = error_of(folder, HEAD.encode(), name)
    assert (error.code, error.exit_code, error.data["path"]) == (
        "MISNAMED_FILE",
        3,
        f"migrations/shop/{name}",
    )


def test_other_files_are_left_alone(folder: Path) -> None:
    """A README or a query's result in the folder is ignored."""
    (folder / "README.md").write_text("read me")
    assert load(folder) == ((), [])


@pytest.mark.parametrize(
    ("content", "code", "line", "said"),
    [
        (b"-- MIGRATION_AUTHOR: me\nSELECT 1", "MISSING_HEADER", 1, "MIGRATION_DESCRIPTION is missing"),
        (
            b"-- MIGRATION_DESCRIPTION: why\n-- MIGRATION_AUTHOR:\n",
            "MISSING_HEADER",
            1,
            "MIGRATION_AUTHOR is empty",
        ),
        (
            HEAD.encode() + b"\n-- MIGRATION_AUTHOR: x\n",
            "DUPLICATE_HEADER",
            4,
            "duplicate header MIGRATION_AUTHOR",
        ),
        (HEAD.encode() + b"-- MIGRATION_AUTOR: x\n", "UNKNOWN_HEADER", 3, "MIGRATION_AUTOR"),
        (HEAD.encode() + b"\n-- \xff\n", "NOT_UTF8", 4, "0xff"),
        (HEAD.encode("utf-16"), "NOT_UTF8", 1, "0xff"),
    ],
)
def test_an_error_in_a_file_is_reported_with_its_line(
    content: bytes, code: str, line: int, said: str, folder: Path
) -> None:
    """Each error has the file, the line and a hint."""
    error = error_of(folder, content)
    assert (error.code, error.exit_code, error.data["line"]) == (code, 3, line)
    assert error.message.startswith(f"migrations/shop/1_a.sql, line {line}: ")
    assert said in error.message
    assert error.hint


def test_two_files_with_one_number_are_an_error_that_names_both(folder: Path) -> None:
    """`1` and `0001` are the same version."""
    (folder / "0001_a.sql").write_text(HEAD)
    (folder / "1_b.sql").write_text(HEAD)
    [migration], [error] = load(folder)
    assert error.code == "DUPLICATE_VERSION"
    assert migration.location in error.message
    assert error.data["path"] == "migrations/shop/1_b.sql"


def test_all_errors_are_found_and_the_good_files_beside_them(folder: Path) -> None:
    """One run reports the errors of all files."""
    (folder / "1_a.sql").write_text("SELECT 1")
    (folder / "2 b.sql").write_text(HEAD)
    (folder / "3_c.sql").write_text(HEAD)
    migrations, errors = load(folder)
    assert [m.version for m in migrations] == ["3"]
    assert [error.code for error in errors] == ["MISSING_HEADER", "MISSING_HEADER", "MISNAMED_FILE"]


def test_a_file_that_cannot_be_read_is_an_error(folder: Path) -> None:
    """A broken link is an error."""
    (folder / "1_a.sql").symlink_to(folder / "gone")
    [error] = load(folder)[1]
    assert error.code == "UNREADABLE_FILE"


def test_what_looks_like_a_migration_and_cannot_be_read_is_never_skipped(tmp_path: Path) -> None:
    """A user without permissions gets an error instead of an empty list of pending files."""
    (tmp_path / "migrations" / "shop" / "1_a.sql").mkdir(parents=True)
    [error] = load_migrations(tmp_path / "migrations" / "shop", tmp_path)[1]
    assert (error.code, error.data["path"]) == ("UNREADABLE_FILE", "migrations/shop/1_a.sql")
    refused: list[OSError] = []
    error_of_walk = PermissionError(13, "Permission denied", str(tmp_path / "migrations" / "shop" / "sub"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.walk", lambda *_, onerror, **__: iter(refused) if onerror(error_of_walk) else iter(()))
        [error] = load_migrations(tmp_path / "migrations" / "shop", tmp_path)[1]
    assert (error.code, error.data["path"]) == ("UNREADABLE_FILE", "migrations/shop/sub")
