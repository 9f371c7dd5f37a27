"""`import` by the command line: the files that it writes, what it lists, and that it writes all files or none."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.capabilities.adopt.foreign import ForeignFolder
from glacierbase.capabilities.adopt.importing import TOOLS
from glacierbase.cli import adopt
from glacierbase.errors import ConfigurationError
from glacierbase.migrations import all_or_none, sandbox
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.capabilities.adopt.conftest import Written


def written(shop: ProjectFolder) -> dict[str, str]:
    """Return the text of each file in the catalog's folder."""
    folder = shop.root / "migrations" / "shop"
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.sql"))}


def flyway(shop: ProjectFolder, path: Path, *arguments: str) -> Output:
    return shop.ask("import", "flyway", str(path), "--author", "Ann", *arguments)


def test_the_tools_of_the_command_are_those_that_can_be_read() -> None:
    """The command line names them without importing a reader."""
    assert tuple(TOOLS) == adopt.TOOLS


def test_flyway_scripts_become_migrations_that_are_valid(shop: ProjectFolder, theirs: Written) -> None:
    """The document has each file with its script; the variables are those that the catalog file needs."""
    path = theirs(
        {
            "flyway.conf": "flyway.placeholders.schema=web\n",
            "V1__Create_the_Orders.sql": "CREATE TABLE lake.${schema}.orders (id INT);\n",
            "V1.2__add.sql": "ALTER TABLE lake.${schema}.orders ADD COLUMN a STRING;",
            "U1.2__add.sql": "ALTER TABLE lake.web.orders DROP COLUMN a;",
        }
    )
    before = {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    planned = flyway(shop, path, "--dry-run")
    assert (planned.code, written(shop)) == (0, {})
    done = flyway(shop, path)
    assert written(shop) == {
        "0001000000_create_the_orders.sql": (
            "-- MIGRATION_DESCRIPTION: Create the Orders\n-- MIGRATION_AUTHOR: Ann\n\n"
            "CREATE TABLE lake.{{ variables.schema }}.orders (id INT);\n"
        ),
        "0001002000_add.sql": (
            "-- MIGRATION_DESCRIPTION: add\n-- MIGRATION_AUTHOR: Ann\n\n"
            "ALTER TABLE lake.{{ variables.schema }}.orders ADD COLUMN a STRING;\n"
        ),
    }
    [entry] = done.document["catalogs"]
    assert entry["files"][1] == {
        "path": "migrations/shop/0001002000_add.sql",
        "version": "0001002000",
        "name": None,
        "description": "add",
        "author": "Ann",
        "from": f"{path}/V1.2__add.sql",
        "line": 1,
        "from_version": "1.2",
        "is_written": True,
    }
    assert entry["variables"] == {"schema": "web"}
    assert [(part["path"], part["line"]) for part in entry["not_mapped"]] == [(f"{path}/U1.2__add.sql", 1)]
    [dry] = planned.document["catalogs"]
    assert [{**file, "is_written": True} for file in dry["files"]] == entry["files"]
    assert {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    assert shop.run("validate").code == 3
    with (shop.root / "catalogs" / "shop.yaml").open("a") as file:
        file.write("variables: {schema: web}\n")
    assert shop.run("validate").code == 0


def test_the_text_shows_versions_parts_that_are_not_mapped_and_variables(shop: ProjectFolder, theirs: Written) -> None:
    """The variables are a block that can be copied into the catalog file."""
    path = theirs({"V1__a.sql": "SELECT '${size}';", "beforeMigrate.sql": "SELECT 1;"})
    shown = shop.run("import", "flyway", str(path), "--author", "Ann", "--dry-run").stdout
    assert "dry run: nothing was written" in shown
    assert re.search(r"0001 +1 +\S+V1__a.sql:1 +migrations/shop/0001_a.sql", shown)
    assert "variables:\n      size: null\n" in shown
    assert "not mapped: 2" in shown


def test_the_command_can_run_again_and_adds_what_is_new(shop: ProjectFolder, theirs: Written) -> None:
    """Files with the same SQL stay, whatever their headers and names are now."""
    path = theirs({"V1__a.sql": "SELECT 1;", "V2__b.sql": "SELECT 2;"})
    assert flyway(shop, path).code == 0
    folder = shop.root / "migrations" / "shop"
    (folder / "0001_a.sql").rename(folder / "0001_renamed.sql")
    (folder / "0002_b.sql").write_text((folder / "0002_b.sql").read_text().replace("Ann", "Ben"))
    theirs({"V3__c.sql": "SELECT 3;"})
    again = flyway(shop, path)
    assert [file["is_written"] for file in again.entry()["files"]] == [False, False, True]
    assert list(written(shop)) == ["0001_renamed.sql", "0002_b.sql", "0003_c.sql"]


def test_a_version_of_another_file_is_refused_and_nothing_is_written(shop: ProjectFolder, theirs: Written) -> None:
    """The error names both files."""
    shop.file("0002_mine.sql", "SELECT 'mine';")
    path = theirs({"V1__a.sql": "SELECT 1;", "V2__b.sql": "SELECT 2;"})
    done = flyway(shop, path)
    assert (done.code, done.document["error"]["code"]) == (2, "ALREADY_EXISTS")
    assert "0002_mine.sql" in done.document["error"]["message"]
    assert "V2__b.sql" in done.document["error"]["message"]
    assert list(written(shop)) == ["0002_mine.sql"]


def test_all_files_are_written_or_none(shop: ProjectFolder, theirs: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written removes those before it."""
    path = theirs({"V1__a.sql": "SELECT 1;", "V2__b.sql": "SELECT 2;"})
    create = all_or_none.create_file

    def failing(target: Path, root: Path, text: str) -> None:
        if "0002" in target.name:
            raise KeyboardInterrupt
        create(target, root, text)

    monkeypatch.setattr(all_or_none, "create_file", failing)
    with pytest.raises(KeyboardInterrupt):
        Project.load(shop.root).import_project("flyway", path, author="Ann")
    assert written(shop) == {}


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"V1__a.sql": "SELECT 1;", "old/V1.0__b.sql": "SELECT 1;"}, "DUPLICATE_IMPORT"),
        ({"README.md": "nothing"}, "NOTHING_TO_IMPORT"),
        ({"U1__a.sql": "SELECT 1;"}, "NOTHING_TO_IMPORT"),
    ],
)
def test_a_project_that_cannot_be_imported_is_refused(
    shop: ProjectFolder, theirs: Written, files: dict[str, str], code: str
) -> None:
    """Nothing is written."""
    done = flyway(shop, theirs(files))
    assert (done.code, done.document["error"]["code"], written(shop)) == (2, code, {})


def test_arguments_are_checked(shop: ProjectFolder, theirs: Written) -> None:
    """A path that does not exist or is a file, another tool, and a baseline without a reason."""
    path = theirs({"V1__a.sql": "SELECT 1;"})
    assert flyway(shop, path / "V1__a.sql").document["error"]["code"] == "NOTHING_TO_IMPORT"
    with pytest.raises(ConfigurationError, match="empty"):
        Project.load(shop.root).import_project("flyway", "")
    assert flyway(shop, path / "gone").document["error"]["code"] == "UNREADABLE_FILE"
    assert shop.run("import", "dbt", str(path)).code == 2
    assert "requires --reason" in shop.run("import", "flyway", str(path), "--baseline").stderr
    with pytest.raises(ConfigurationError, match="dbt"):
        Project.load(shop.root).import_project("dbt", path)
    shop.catalog((shop.root / "catalogs" / "shop.yaml").read_text(), "other")
    assert flyway(shop, path).code == 2
    assert flyway(shop, path, "--catalog", "other").entry()["files"][0]["path"] == "migrations/other/0001_a.sql"


def test_headers_hold_no_template_and_comments_of_the_script_are_no_headers(
    shop: ProjectFolder, theirs: Written
) -> None:
    """A stranger's script cannot pretend to be a squash, and its names are not rendered."""
    checksum = "v1:sha256:" + "0" * 64
    path = theirs(
        {
            "V1__{{_x_}}.sql": f"-- MIGRATION_SQUASHES: 1 {checksum}\n-- MIGRATION_AUTHOR: eve\nSELECT 1;\n",
        }
    )
    done = flyway(shop, path)
    [(name, text)] = written(shop).items()
    assert name == "0001_x.sql"
    assert text == (
        "-- MIGRATION_DESCRIPTION: { { x }}\n-- MIGRATION_AUTHOR: Ann\n\n"
        f"-- MIGRATION SQUASHES: 1 {checksum}\n-- MIGRATION AUTHOR: eve\nSELECT 1;\n"
    )
    assert [part["line"] for part in done.entry()["not_mapped"]] == [1]
    assert shop.run("validate").code == 0


def test_further_headers_that_the_catalog_requires_are_to_be_filled(shop: ProjectFolder, theirs: Written) -> None:
    """Required headers are written without a value, of which `validate` warns."""
    with (shop.root / "catalogs" / "shop.yaml").open("a") as file:
        file.write("headers: {TICKET: required}\n")
    assert flyway(shop, theirs({"V1__a.sql": "SELECT 1;"})).code == 0
    assert "-- MIGRATION_TICKET:\n\nSELECT 1;" in written(shop)["0001_a.sql"]
    assert "without the required header MIGRATION_TICKET" in shop.run("validate").stdout


def test_repeatable_scripts_are_written_into_their_folder(shop: ProjectFolder, theirs: Written) -> None:
    """Names that have the same words get a number; each begins with a letter."""
    path = theirs(
        {
            "c/R__24_hours.sql": "SELECT 24",
            "R__The_View.sql": "CREATE VIEW v AS SELECT 1;",
            "b/R__the-view.sql": "CREATE VIEW w AS SELECT 1;",
        }
    )
    done = flyway(shop, path)
    assert [(file["version"], file["name"]) for file in done.entry()["files"]] == [
        (None, "repeatable_24_hours"),
        (None, "the_view"),
        (None, "the_view_2"),
    ]
    names = ("repeatable_24_hours", "the_view", "the_view_2")
    assert list(written(shop)) == [f"repeatable/{name}.sql" for name in names]


def test_a_template_of_schemachange_that_glacierbase_refuses_is_listed(snow: ProjectFolder, theirs: Written) -> None:
    """A filter that does not exist here is an error of the script, at its line."""
    path = theirs({"V1__a.sql": "SELECT 1;\nSELECT '{{ x | urlize }}';", "V2__b.sql": "SELECT 2;"})
    done = snow.ask("import", "schemachange", str(path), "--author", "Ann")
    assert list(written(snow)) == ["0002_b.sql"]
    [part] = [part for part in done.entry()["not_mapped"] if "not imported" in part["what"]]
    assert (part["path"], part["line"]) == (f"{path}/V1__a.sql", 2)


def test_changesets_and_revisions_are_numbered_in_their_order(snow: ProjectFolder, theirs: Written) -> None:
    """The author of a changeset is its own; that of a revision is the one of the command."""
    log = "--liquibase formatted sql\n--changeset eve:x\nSELECT 1;\n--changeset ann:a\nSELECT 2;\n"
    path = theirs({"log.sql": log, "up.sql": "-- Running upgrade  -> abc\nSELECT 3;\n"})
    done = snow.ask("import", "liquibase", str(path / "log.sql"))
    assert [(file["version"], file["author"], file["from_version"]) for file in done.entry()["files"]] == [
        ("0001", "eve", "x"),
        ("0002", "ann", "a"),
    ]
    snow.catalog((snow.root / "catalogs" / "shop.yaml").read_text(), "other")
    done = snow.ask("import", "alembic-offline-sql", str(path / "up.sql"), "--author", "Ben", "--catalog", "other")
    assert [(file["version"], file["author"], file["from_version"]) for file in done.entry()["files"]] == [
        ("0001", "Ben", "abc")
    ]


@pytest.mark.parametrize(
    ("tool", "name", "text"),
    [
        ("flyway", "flyway.toml", '[flyway]\na=["' + '\\"' * 2**17),
        ("flyway", "flyway.toml", "[flyway]\n" + "a=[\n" * 2**15),
        ("flyway", "flyway.conf", "flyway.locations=a\n" * 2**14),
        ("flyway", "flyway.conf", "a\\\n" * 2**20),
        ("flyway", "V2__b.sql", "${" * 2**17),
        ("schemachange", "V2__b.sql", "{{ " + "(" * 2**17),
        ("schemachange", "V2__b.sql", "{{ 10 ** 10 ** 10 }}{{ 'a' * 10 ** 10 }}"),
        ("liquibase", "log.sql", "--liquibase formatted sql\n--changeset " + " " * 2**18),
        ("liquibase", "log.sql", "--liquibase formatted sql\n--changeset a:b\n" + "\n" * 2**18 + "x"),
        ("alembic-offline-sql", "up.sql", "-- Running upgrade " + " " * 2**18),
        ("alembic-offline-sql", "up.sql", "-- Running upgrade  -> a\n" + "CREATE TABLE alembic_version (\n" * 2**13),
    ],
)
def test_a_hostile_project_costs_seconds(theirs: Written, tool: str, name: str, text: str) -> None:
    """No pattern searches the rest of a file again and again, and no expression of a template is computed."""
    path = theirs({name: text, "V1__a.sql": "SELECT 1"})
    start = time.process_time()
    with suppress(ConfigurationError):
        TOOLS[tool].read(ForeignFolder(path if name[0] in "fV" else path / name), "snowflake")
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("limit", "value", "text", "shown"),
    [
        ("_SECONDS_IN_ALL", 0.1, "{" * 400_000, "0.1 s of processor time"),
        ("_MEMORY", 12 * 2**20, "a" * (8 * 2**20), "12 MiB of memory"),
    ],
    ids=["time", "memory"],
)
def test_a_project_that_exceeds_a_limit_is_one_error_and_writes_nothing(
    limit: str,
    value: float,
    text: str,
    shown: str,
    shop: ProjectFolder,
    theirs: Written,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten megabytes of braces take minutes; the command's own process reads none of it."""
    monkeypatch.setattr(sandbox, limit, value)
    path = theirs({"V1__a.sql": text})
    began = time.process_time()
    with pytest.raises(ConfigurationError) as caught:
        Project.load(shop.root).import_project("flyway", path, author="Ann")
    assert (caught.value.code, caught.value.message) == (
        "UNREADABLE_FILE",
        f"reading {path} needs more than {shown}",
    )
    assert written(shop) == {}
    assert time.process_time() - began < 1
