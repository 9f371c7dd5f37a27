"""An engine that a package adds: every command works with it, and a package that cannot be used is one clear error."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import glacierbase
from glacierbase import Project
from glacierbase.capabilities.load.simulate import SimulationInputs
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError
from glacierbase.run.packages import EXECUTORS, offered
from glacierbase.sql import read
from tests.docs.pages import blocks
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.sqlite_engine import SQLITE_ENGINE

CREATE = """\
CREATE TABLE customers (id INTEGER NOT NULL, name TEXT);
INSERT INTO customers VALUES (1, 'a; b');
ALTER TABLE customers ADD COLUMN city TEXT;"""


@pytest.fixture
def shop(sqlite_engine: ProjectFolder) -> ProjectFolder:
    """A project with one migration on the added engine."""
    sqlite_engine.file("0001_create_customers.sql", CREATE)
    return sqlite_engine


def rows(shop: ProjectFolder, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(shop.root / "shop.db")) as connection:
        return connection.execute(sql).fetchall()


def test_the_ids_of_a_table_are_read_through_the_engine(shop: ProjectFolder) -> None:
    """`layout profile` reads them from an engine whose tables PyIceberg cannot open, and no more than requested."""
    with closing(sqlite3.connect(shop.root / "shop.db")) as connection:
        connection.execute('CREATE TABLE ids ("user id" INT, tags BLOB)')
        connection.executemany("INSERT INTO ids VALUES (?, x'00')", [(None,), *((number,) for number in range(1, 200))])
        connection.commit()
    project = Project.load(shop.root)
    profile = project.layout_profile("ids", "user id").profile
    assert (profile.values, profile.nulls, profile.distinct, profile.is_sample) == (199, 1, 199, False)
    assert profile.last[9].count == 20
    assert project.layout_profile("ids", "user id", sample=50).profile.is_sample
    simulation = project.layout_simulate(SimulationInputs(("id-first",), days=1, ids="main.ids", column="user id"))
    assert simulation.runs[0].first_characters["1"] == pytest.approx(111 / 199)
    for table, column, code in (
        ("none", "id", "UNKNOWN_TABLE"),
        ("ids", "a", "UNKNOWN_COLUMN"),
        ("ids", "tags", "NOT_IDS"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            project.layout_profile(table, column)
        assert caught.value.code == code


def test_a_migration_is_planned_applied_and_recorded(shop: ProjectFolder) -> None:
    """The program reads the files, runs their statements on the engine, and records each in the package's store."""
    assert shop.run("validate").code == 0
    [planned] = shop.ask("plan").entry()["plan"]
    assert len(planned["statements"]) == 3
    assert [pending["version"] for pending in shop.ask("pending").entry()["pending"]] == ["0001"]
    assert not (shop.root / "shop.db").exists()
    assert shop.run("migrate").code == 0
    assert rows(shop, "SELECT * FROM customers") == [(1, "a; b", None)]
    [migration] = shop.ask("status").entry()["migrations"]
    assert (migration["state"], migration["statements_done"]) == ("applied", 3)
    events = shop.ask("history", "--events").entry()["events"]
    assert [event["event"] for event in events] == ["started", "statement_done", "statement_done", "applied"]
    assert events[0]["engine"] == f"sqlite {sqlite3.sqlite_version}"
    assert all(event["tables"] == ["customers"] for event in events)


def test_the_tables_that_files_change_are_recorded(shop: ProjectFolder) -> None:
    """The shapes that the engine describes are those of `schema`, and `drift` compares them with the tables as they are."""
    assert shop.run("migrate").code == 0
    shape = shop.ask("schema", "customers").entry()["shape"]
    assert [(column["name"], column["required"]) for column in shape["columns"]] == [
        ("id", True), ("name", False), ("city", False),
    ]  # fmt: skip
    rows(shop, "ALTER TABLE customers ADD COLUMN manual TEXT")
    [drift] = shop.ask("drift").entry()["drifts"]
    assert drift["table"] == "customers"


def test_a_failed_file_is_repaired_and_resumed(shop: ProjectFolder) -> None:
    """A refused statement had no effect; after `repair`, the run continues at the next one."""
    shop.file(
        "0002_more.sql", "INSERT INTO customers (id) VALUES (2);\nINSERT INTO orders VALUES (2);\nDELETE FROM customers"
    )
    failed = shop.ask("migrate")
    assert failed.code == 1
    assert failed.entry()["failed"]["version"] == "0002"
    assert rows(shop, "SELECT count(*) FROM customers") == [(2,)]
    assert shop.run("repair", "2", "--as", "done", "--reason", "tested", "--yes").code == 0
    resumed = shop.ask("migrate")
    assert (resumed.code, resumed.entry()["applied"][0]["resumed_at"]) == (0, 3)
    assert rows(shop, "SELECT count(*) FROM customers") == [(0,)]


def test_doctor_checks_the_engine_and_races_for_the_lock(shop: ProjectFolder) -> None:
    """`doctor` leaves nothing behind."""
    done = shop.ask("doctor")
    assert done.code == 0
    assert [check["name"] for check in done.entry()["checks"]] == [
        "configuration", "store", "files", "history", "connection", "rights", "lock",
    ]  # fmt: skip
    assert not (shop.root / "shop.db.glacierbase").exists()
    assert shop.run("doctor", "--print-ddl").code == 0


def test_lint_says_that_it_has_no_rules_for_the_dialect(shop: ProjectFolder) -> None:
    """No rule of another dialect is applied, and no statement is listed as not understood."""
    shop.file("0002_drop.sql", "DROP TABLE customers;\nPRAGMA user_version = 3")
    done = shop.ask("lint")
    assert done.code == 0
    entry = done.entry()
    assert (entry["findings"], entry["not_understood"]) == ([], [])
    assert entry["warnings"] == ["there are no rules for the dialect sqlite"]


def test_the_python_interface_finds_the_engine(shop: ProjectFolder) -> None:
    """A Spark session is refused, because the engine has no use for it."""
    project = Project.load(shop.root)
    assert project.catalogs == ("shop",)
    with pytest.raises(ConfigurationError) as caught:
        project.migrate(spark=object())
    assert caught.value.code == "SESSION_NOT_SPARK"
    assert project.migrate()[0].applied[0].version == "0001"


def test_a_statement_is_read_by_the_words_that_the_dialect_declares(shop: ProjectFolder) -> None:
    """Every other statement is not understood."""
    assert not read("CREATE TABLE [a] (b INT)", "sqlite").understood
    assert read("INSERT INTO a SELECT * FROM b", "sqlite").tables == ("a",)
    assert not read("PRAGMA user_version = 3", "sqlite").understood
    assert [each.text for each in glacierbase.split_statements("SELECT [;];SELECT 2", "sqlite")] == [
        "SELECT [;]",
        "SELECT 2",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SQLITE_ENGINE + "    pth: x\n",
            "UNKNOWN_KEY: catalogs/shop.yaml, line 5: unknown key pth under migrationExecutor.conf",
        ),
        (
            SQLITE_ENGINE + "    sparkConf: {}\n",
            "UNKNOWN_KEY: catalogs/shop.yaml, line 5: unknown key sparkConf for type sqlite",
        ),
        (
            SQLITE_ENGINE + "    foreignKeys: 3\n",
            "catalogs/shop.yaml, line 5: foreignKeys: '3' is not true or false",
        ),
        (
            "migrationExecutor: {type: sqlite}\n",
            "MISSING_KEY: catalogs/shop.yaml, line 1: migrationExecutor.conf.path is missing",
        ),
        (
            SQLITE_ENGINE.replace("type: sqlite", "type: mysql"),
            "migrationExecutor.type: 'mysql' is not spark or snowflake or iceberg or sqlite",
        ),
        (SQLITE_ENGINE.replace("sqlite", "spark"), "unknown key path for type spark"),
    ],
)
def test_the_keys_of_an_added_engine_are_checked(shop: ProjectFolder, text: str, message: str) -> None:
    """The messages are those of the engines of glacierbase."""
    shop.catalog(text)
    done = shop.run("pending")
    assert done.code == 2
    assert message in done.stderr


def test_an_engine_may_be_named_by_a_reference(shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the reference is not read, the engine is the one that has the keys beside it."""
    shop.catalog(SQLITE_ENGINE.replace("sqlite", "${env:ENGINE}"))
    assert shop.run("validate").code == 0
    monkeypatch.setenv("ENGINE", "sqlite")
    assert shop.run("pending").code == 0


def test_a_type_that_nothing_adds_is_explained_before_its_keys(project: ProjectFolder) -> None:
    """The message lists the types that exist, and the hint says how one is added."""
    project.catalog(SQLITE_ENGINE)
    done = project.run("pending")
    assert done.code == 2
    assert (
        "INVALID_VALUE: catalogs/shop.yaml, line 2: migrationExecutor.type: 'sqlite' is not spark or snowflake"
        in done.stderr
    )
    assert "install the package that adds it by an entry point of the group glacierbase.executors" in done.stderr


def test_the_code_in_contributing_is_that_of_the_package() -> None:
    """The page shows the entry points and the type of engine as they are installed here."""
    folder = REPOSITORY / "tests" / "support" / "sqlite_engine"
    written = (folder / "pyproject.toml").read_text() + (folder / "glacierbase_sqlite" / "__init__.py").read_text()
    shown = [block.text for block in blocks(REPOSITORY / "CONTRIBUTING.md") if "sqlite" in block.text]
    assert len(shown) == 2
    lines = {line.strip() for line in written.splitlines()}
    assert [line for text in shown for line in text.splitlines() if line.strip() not in lines] == []


def package(folder: Path, name: str, module: str | None, value: str = "ENGINE") -> None:
    """Install a package that adds the engine `acme`."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[glacierbase.executors]\nacme = {name}:{value}\n")
    if module is not None:
        (folder / f"{name}.py").write_text(module)


ENGINE = """\
from glacierbase.executors import EngineType

class Acme(EngineType):
    name = "{}"
    dialect = "acme"

ENGINE = Acme()
"""


@pytest.mark.parametrize(
    ("arrange", "why"),
    [
        (lambda folder: package(folder, "acme_none", None), "No module named 'acme_none'"),
        (lambda folder: package(folder, "acme_zero", "1 / 0"), "ZeroDivisionError: division by zero"),
        (lambda folder: package(folder, "acme_other", "ENGINE = 3"), "acme_other is no EngineType"),
        (lambda folder: package(folder, "acme_less", "", "ENGINE"), "AttributeError"),
        (lambda folder: package(folder, "acme_name", ENGINE.format("emca")), "acme_name has not that name"),
        (
            lambda folder: [package(folder, name, ENGINE.format("acme")) for name in ("acme_one", "acme_two")],
            "2 packages add it",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_one_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrange: Callable[[Path], object], why: str
) -> None:
    """The error is a configuration error, whatever the package raises."""
    arrange(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    from glacierbase.executors import EngineType

    with pytest.raises(ConfigurationError) as caught:
        offered(EXECUTORS, "acme", EngineType)
    assert caught.value.code == "BROKEN_PACKAGE"
    assert why in caught.value.message or why in caught.value.hint


def test_no_package_is_searched_for_a_catalog_of_glacierbase(
    lake_project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands on Spark and Snowflake start without reading the metadata of installed packages."""
    monkeypatch.setattr("glacierbase.run.packages._entries", lambda _: pytest.fail("entry points were read"))
    [file] = load_catalog_files(lake_project.root / "catalogs", lake_project.root)
    assert file.for_environment("default", lake_project.root).dialect == "spark"


def test_a_typo_in_a_spark_file_is_an_unknown_key(sqlite_engine: ProjectFolder) -> None:
    """An engine that a package adds changes only the list of keys."""
    sqlite_engine.catalog("migrationExecutor: {type: spark, conf: {sparkcnf: {}}}\n")
    assert "unknown key sparkcnf under migrationExecutor.conf" in sqlite_engine.run("pending").stderr
