"""`new`: the next file has the highest version, one that no other file has, and a name in ASCII."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import pytest

from glacierbase.catalogs.folder import file_of
from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import missing_headers
from glacierbase.migrations.new_files import write_migration
from glacierbase.run import files
from tests.support.project_folder import ProjectFolder
from tests.support.world import World
from tests.unit.cli.test_bad_input import GOOD, UNREACHABLE

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)
TIME = "20261120103000"


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """Return a project with an empty catalog."""
    project.catalog(UNREACHABLE)
    return project


def written(
    shop: ProjectFolder, description: str = "a column", author: str = "Ana", versions: str | None = None
) -> str:
    folder = shop.root / "migrations/shop"
    return write_migration(folder, shop.root, description, author, NOW, versions=versions, check=lambda _: None).name


@pytest.mark.parametrize(
    ("existing", "version"),
    [
        ((), "0001"),
        (("0001_a.sql", "0042_b.sql"), "0043"),
        (("001_a.sql", "9_b.sql", "sub/010_c.sql"), "011"),
        (("9999_a.sql",), "10000"),
        (("0001_a.sql", "20261120102959_b.sql"), TIME),
        (("20261120102959_a.sql",), TIME),
        ((f"{TIME}_a.sql",), "20261120103001"),
        (("sub/99990101000000_typo.sql",), "99990101000001"),
        (("20261120103000123_milliseconds.sql",), "20261120103000124"),
        (("99990101000000 no migration.sql", "99990101000000_a.txt"), "0001"),
    ],
)
def test_the_version_continues_the_versions_of_the_folder(
    existing: tuple[str, ...], version: str, shop: ProjectFolder
) -> None:
    """A sequence keeps its width; times continue with the time now. The new file is never below another one."""
    for name in existing:
        shop.file(name, GOOD)
    assert written(shop) == f"{version}_a_column.sql"


@pytest.mark.parametrize(
    ("versions", "existing", "version"),
    [
        ("sequence", (), "0001"),
        ("sequence", ("20261120102959_a.sql",), "20261120102960"),
        ("timestamp", (), TIME),
        ("timestamp", ("0001_a.sql",), TIME),
        ("timestamp", (f"{TIME}_a.sql",), "20261120103001"),
    ],
)
def test_the_catalog_file_chooses_how_new_files_are_numbered(
    versions: str, existing: tuple[str, ...], version: str, shop: ProjectFolder
) -> None:
    """Whatever the folder has; a version is above the others in any case."""
    for name in existing:
        shop.file(name, GOOD)
    assert written(shop, versions=versions) == f"{version}_a_column.sql"


def test_every_command_that_writes_a_migration_reads_the_key(shop: ProjectFolder) -> None:
    """`new` gets it from the catalog file, `drift adopt` and `import tables` from the catalog in its environment."""
    shop.catalog(f"{UNREACHABLE}versions: timestamp\nenvironments: {{dev: {{}}}}\n")
    assert shop.run("new", "a column", "--author", "Ana").code == 0
    [path] = (shop.root / "migrations/shop").glob("*.sql")
    assert re.fullmatch(r"2\d{13}_a_column\.sql", path.name)
    assert file_of(path.parent, shop.root).for_environment("dev", shop.root).versions == "timestamp"


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("versions: timestamps", "INVALID_VALUE", "did you mean timestamp?"),
        ("versions: uuid", "INVALID_VALUE", "write `versions: sequence` or `versions: timestamp`"),
        ("version: sequence", "UNKNOWN_KEY", "did you mean versions?"),
        ("environments: {dev: {versions: sequence}}", "UNKNOWN_KEY", "allowed:"),
    ],
)
def test_a_wrong_style_of_versions_is_one_clear_message(text: str, code: str, hint: str, shop: ProjectFolder) -> None:
    """With the nearest spelling. It is a key of the file: all environments share the folder."""
    shop.catalog(f"{UNREACHABLE}{text}\n")
    error = shop.ask("new", "a column", "--author", "Ana").document["error"]
    assert (error["code"], error["path"]) == (code, "catalogs/shop.yaml")
    assert hint in error["hint"]
    assert not list((shop.root / "migrations").rglob("*.sql"))


def test_files_of_one_second_have_different_versions(shop: ProjectFolder) -> None:
    """Two calls in one second write two versions, with the same words too."""
    assert [written(shop, versions="timestamp"), written(shop), written(shop, "b")] == [
        f"{TIME}_a_column.sql", "20261120103001_a_column.sql", "20261120103002_b.sql",
    ]  # fmt: skip


def test_calls_at_the_same_time_choose_different_versions(shop: ProjectFolder) -> None:
    """Calls that write at the same time wait for each other; no version is written twice."""
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda number: written(shop, f"words {number}"), range(40)))
    assert len({name.partition("_")[0] for name in names}) == 40


def test_processes_at_the_same_time_write_files_that_are_valid_together(shop: ProjectFolder) -> None:
    """`validate` finds no version twice."""
    running = [shop.start("new", f"words {number}", "--author", "Ana") for number in range(6)]
    assert [process.communicate(timeout=120) and process.returncode for process in running] == [0] * 6
    errors = shop.ask("validate").document["error"]["errors"]
    assert [error["code"] for error in errors] == ["UNDEFINED_VARIABLE"] * 6


def test_a_process_that_is_stopped_delays_the_others_for_some_seconds_only(
    shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A holder that never goes on does not block the command."""
    monkeypatch.setattr(files, "_LONGEST_WAIT", 0.1)
    with files.one_at_a_time(shop.root):
        assert written(shop) == "0001_a_column.sql"


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("Ünïcode", "unicode"),
        ("straße à l'Øresund, İzmir", "strasse_a_l_oresund_izmir"),
        ("Łódź Æther þorn", "lodz_aether_thorn"),
        ("ﬁrst ② ＡＢ", "first_2_ab"),
        ("追加 device 列", "device"),
        ("追加", "migration"),
        ("добавить", "migration"),
        ("x" * 200, "x" * 60),
        ("../../etc/passwd", "etc_passwd"),
    ],
)
def test_the_file_name_is_transliterated_to_ascii(description: str, words: str, shop: ProjectFolder) -> None:
    """Letters lose their marks; other scripts become `migration`; the header keeps the description as it is."""
    name = written(shop, description)
    assert name == f"0001_{words}.sql"
    text = (shop.root / "migrations/shop" / name).read_text("utf-8")
    assert f"-- MIGRATION_DESCRIPTION: {description}\n" in text


@pytest.mark.parametrize("description", ["", "???", " — ", "\u0301"])
def test_a_description_without_a_word_is_refused(description: str, shop: ProjectFolder) -> None:
    """Nothing is written."""
    with pytest.raises(ConfigurationError) as caught:
        written(shop, description)
    assert caught.value.code == "INVALID_VALUE"
    assert list((shop.root / "migrations/shop").iterdir()) == []


def test_a_new_file_is_refused_until_it_has_statements(shop: ProjectFolder) -> None:
    """A new file does not run as an empty file, which could not change any more; the error names the line to replace."""
    name = written(shop)
    error = shop.ask("validate").document["error"]
    path = shop.root / "migrations/shop" / name
    lines = path.read_text().splitlines()
    assert (error["code"], error["line"]) == ("UNDEFINED_VARIABLE", len(lines))
    assert lines[-1].endswith(" -- write the statements in place of this line")
    assert error["message"].endswith(f"line {len(lines)}: the statements are not written yet")
    assert error["hint"] == "write them in place of this line"
    world = World(shop)
    with pytest.raises(MigrationFileError):
        world.migrate()
    assert world.events == []
    path.write_text("\n".join([*lines[:-1], "CREATE TABLE t (a INT);"]))
    world.migrate()
    assert world.values() == []


def test_a_new_file_has_a_line_for_each_header_that_the_catalog_file_requires(shop: ProjectFolder) -> None:
    """The file is refused until they have values; optional headers are not written."""
    shop.catalog(UNREACHABLE + "headers: {TICKET: required, REVIEWER: optional, WHERE: required}\n")
    [name] = shop.ask("new", "a column", "--author", "Ana").entry()["files"]
    text = Path(name).read_text()
    head = ["-- MIGRATION_DESCRIPTION: a column", "-- MIGRATION_AUTHOR: Ana"]
    assert text.splitlines()[:5] == [*head, "-- MIGRATION_TICKET: ", "-- MIGRATION_WHERE: ", ""]
    migrations, errors = load_migrations(shop.root / "migrations/shop", shop.root, headers=["TICKET", "WHERE"])
    assert errors == []
    assert [error.code for error in missing_headers(migrations, ["TICKET", "WHERE"])] == ["MISSING_HEADER"] * 2
    Path(name).write_text(text.replace("TICKET: ", "TICKET: OPS-17").replace("WHERE: ", "WHERE: eu"))
    migrations, _ = load_migrations(shop.root / "migrations/shop", shop.root, headers=["TICKET", "WHERE"])
    assert list(missing_headers(migrations, ["TICKET", "WHERE"])) == []


def test_the_printed_path_is_relative_and_that_of_the_document_is_not(shop: ProjectFolder, tmp_path: Path) -> None:
    """A person opens the file from the working directory; a program from anywhere."""
    told = shop.run("new", "a column", "--author", "Ana").stdout.split()
    [path] = (shop.root / "migrations/shop").iterdir()
    assert told[-2:] == ["wrote", f"migrations/shop/{path.name}"]
    assert Path(shop.ask("new", "b", "--author", "Ana").entry()["files"][0]).is_absolute()
    root, shop.root = shop.root, tmp_path
    assert (
        f"wrote {root.name}/migrations/shop/" in shop.run("new", "c", "--author", "Ana", "--project", str(root)).stdout
    )
