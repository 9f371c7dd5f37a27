"""What a command's target gets from the caller."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import GlacierbaseError, Interrupted, MigrationFileError, SeveralErrors
from glacierbase.executors import Executor
from glacierbase.project import each as running
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

LOAD = running.load_targets


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project in memory with one file that is pending."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.target()  # Writes the catalog file.
    return world


def test_the_engine_is_opened_with_the_callers_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session, the engine is opened with None."""
    sessions: list[Any] = []

    def open_executor(_catalog: object, _run: object, spark: Any) -> Executor:
        sessions.append(spark)
        return world.engine

    target = replace(world.target(), open_executor=open_executor)
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [target])
    session = object()
    Project.load(world.project.root).migrate(spark=session)
    Project.load(world.project.root).doctor()
    assert sessions == [session, None]


def test_a_cancelled_command_runs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag of the caller stops the run before its first statement, and the second catalog is not tried."""
    targets = [world.target(), world.target()]
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: targets)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted) as caught:
        Project.load(world.project.root).migrate(cancel=cancel)
    assert [(result.error, result.skipped) for result in caught.value.results] == [
        (caught.value, None),
        (None, "not run, because the command was stopped"),
    ]
    assert world.events == []


SNOW = """\
migrationExecutor:
  type: snowflake
  conf: {connection: {account: '${env:SNOW_ACCOUNT}', user: '${env:SNOW_USER}', password: '${secret:SNOW_USER}', database: DB}}
"""


@pytest.fixture
def with_snow(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The project in memory, with a second catalog whose references have no values."""
    load = running.load_targets
    monkeypatch.setattr(
        running, "load_targets", lambda *options: [world.target(t.catalog.name) for t in load(*options)]
    )
    for name in ("SNOW_ACCOUNT", "SNOW_USER", "GLACIERBASE_CATALOG"):
        monkeypatch.delenv(name, raising=False)
    world.project.catalog(SNOW, "snow")
    return world


def test_a_catalog_whose_references_have_no_value_does_not_block_another(with_snow: World) -> None:
    """The other catalog is migrated. The result of the first has one error, which names its variables, each once."""
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root).migrate()
    shop, snow = caught.value.results
    assert ([file.version for file in shop.applied], shop.error) == (["1"], None)
    assert (snow.catalog, snow.environment, snow.error) == ("snow", "default", caught.value)
    assert (snow.error.code, snow.error.exit_code) == ("UNSET_REFERENCE", 2)
    assert snow.error.hint == "set the environment variables SNOW_ACCOUNT, SNOW_USER"
    assert snow.error.data["line"] == 3
    assert snow.error.unstated == "nothing ran on this catalog"


def test_a_wrong_file_of_one_catalog_does_not_block_another(with_snow: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors of the files, and those of the references, are in the result of that catalog."""
    (with_snow.project.root / "migrations/snow/Misnamed.sql").write_text("SELECT 1")
    with pytest.raises(SeveralErrors) as caught:
        Project.load(with_snow.project.root).pending()
    shop, snow = caught.value.results
    assert len(shop.pending) == 1
    assert [error.code for error in snow.error.errors] == ["MISNAMED_FILE", "UNSET_REFERENCE"]
    monkeypatch.setenv("SNOW_ACCOUNT", "a")
    monkeypatch.setenv("SNOW_USER", "u")
    with pytest.raises(MigrationFileError):
        Project.load(with_snow.project.root).pending()


def test_a_catalog_that_is_not_named_needs_no_values(with_snow: World) -> None:
    """One name may be given as a text."""
    assert [result.catalog for result in Project.load(with_snow.project.root).pending("shop")] == ["shop"]
    assert [result.catalog for result in Project.load(with_snow.project.root).status(catalogs="shop")] == ["shop"]


def test_statements_of_tables_and_grants_need_no_values(with_snow: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor --print-ddl` contacts nothing; values that are set are in it."""
    monkeypatch.setattr(running, "load_targets", LOAD)
    project = Project.load(with_snow.project.root)
    [result] = project.doctor("snow", print_ddl=True)
    assert 'GRANT USAGE ON DATABASE "DB"' in (result.ddl or "")
    with_snow.project.catalog(SNOW.replace("DB", "'${env:SNOW_ACCOUNT}'"), "snow")
    monkeypatch.setenv("SNOW_ACCOUNT", "GIVEN")
    [result] = Project.load(with_snow.project.root).doctor("snow", print_ddl=True)
    assert 'GRANT USAGE ON DATABASE "GIVEN"' in (result.ddl or "")
    with pytest.raises(GlacierbaseError) as caught:
        project.doctor("snow")
    assert caught.value.code == "UNSET_REFERENCE"


@pytest.mark.parametrize(
    ("value", "names"), [("shop", ["shop"]), ("shop,snow", ["shop", "snow"]), (" snow , shop,", ["shop", "snow"])]
)
def test_a_variable_names_the_catalogs_of_a_command_that_names_none(
    value: str, names: list[str], with_snow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commas separate several names; an argument takes precedence."""
    monkeypatch.setenv("GLACIERBASE_CATALOG", value)
    monkeypatch.setenv("SNOW_ACCOUNT", "a")
    monkeypatch.setenv("SNOW_USER", "u")
    project = Project.load(with_snow.project.root)
    assert sorted({result.catalog for result in project.validate()}) == names
    assert [result.catalog for result in project.validate("snow")] == ["snow"]


@pytest.mark.parametrize("value", ["", " ", ",", " , "])
def test_a_list_of_catalogs_without_a_name_is_refused(
    value: str, with_snow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that are not set lead to such a list, which would otherwise choose all catalogs."""
    monkeypatch.setenv("GLACIERBASE_CATALOG", value)
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root)
    assert caught.value.code == "EMPTY_VALUE"
    assert with_snow.events == []


@pytest.mark.parametrize("command", [["drift"], ["import", "tables", "--list"], ["lint"], ["migrate"], ["doctor"]])
def test_the_text_has_no_result_of_a_catalog_that_cannot_be_read(command: list[str], with_snow: World) -> None:
    """An empty result would read as `0 tables as recorded`."""
    with_snow.project.catalog(SNOW.replace("account: ", "role: '${nothing}', account: "), "snow")
    done = call_program([*command, "--project", str(with_snow.project.root)])
    assert "UNKNOWN_REFERENCE" in done.stderr
    assert "snow" not in done.stdout


def test_environments_that_lack_the_same_values_have_one_error(
    with_snow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`compare` reads the catalog in both."""
    environments = "environments: {dev: {}, prod: {}}\n"
    with_snow.project.catalog(SNOW + environments, "snow")
    monkeypatch.setattr(running, "load_targets", LOAD)
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root).compare(["dev", "prod"], "snow")
    assert not isinstance(caught.value, SeveralErrors)
    assert caught.value.code == "UNSET_REFERENCE"


def test_a_command_in_a_message_repeats_the_catalog_that_was_named(
    with_snow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of an argument does so too, before any catalog is read; a name in the variable counts as well."""
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root).show("x", ["shop"])
    assert caught.value.hint.startswith("`glacierbase status --catalog shop ")
    monkeypatch.setenv("GLACIERBASE_CATALOG", "shop")
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root).show("x")
    assert caught.value.hint.startswith("`glacierbase status --catalog shop ")


MISSPELLED = "migrationExecutor: {type: spark}\nenviroments: {dev: {}}\n"


def test_a_wrong_catalog_file_does_not_block_another_catalog(with_snow: World) -> None:
    """The other catalog is migrated; the result of the first has its error, also where that catalog is named."""
    with_snow.project.catalog(MISSPELLED, "snow")
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(with_snow.project.root).migrate()
    shop, snow = caught.value.results
    assert (shop.error, len(shop.applied)) == (None, 1)
    assert (snow.catalog, snow.error.code, snow.error.state) == ("snow", "UNKNOWN_KEY", "nothing ran on this catalog")
    with pytest.raises(GlacierbaseError, match="unknown key enviroments"):
        Project.load(with_snow.project.root).status("snow")


def test_commands_on_a_named_catalog_ignore_a_wrong_file_of_another(with_snow: World) -> None:
    """Read-only commands and checks of files run on the named catalog; without a name, `validate` reports the wrong file."""
    with_snow.project.catalog(MISSPELLED, "snow")
    project = Project.load(with_snow.project.root)
    assert [result.error for result in (*project.status("shop"), *project.validate("shop"))] == [None, None]
    with pytest.raises(GlacierbaseError, match="unknown key enviroments") as caught:
        project.validate()
    assert [(result.catalog, result.skipped) for result in caught.value.results] == [
        ("shop", "the project cannot be read"),
        ("snow", None),
    ]
    with pytest.raises(GlacierbaseError, match="there are several: shop, snow"):
        project.unlock()


@pytest.mark.parametrize(("name", "text"), [("_shared", MISSPELLED), ("snow", f"name: shop\n{SNOW}")])
def test_an_error_that_concerns_several_catalogs_blocks_all_of_them(with_snow: World, name: str, text: str) -> None:
    """The shared file belongs to all catalogs, and two catalogs of one name have one history."""
    (with_snow.project.root / "catalogs" / f"{name}.yaml").write_text(text)
    with pytest.raises(GlacierbaseError):
        Project.load(with_snow.project.root)
