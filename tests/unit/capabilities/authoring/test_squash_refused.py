"""What `squash` refuses: other formats and engines, tables that it cannot write down; its hints repeat `--dry-run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.capabilities.authoring.squash import source
from glacierbase.declared.render import Written
from glacierbase.model.shape import Column, Shape
from glacierbase.secrets import secrets_in_use
from tests.support.lakes import Lakes, printed_commands
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, set_author
from tests.support.world import World
from tests.unit.capabilities.authoring.test_squash import (
    TABLE,
    applied,
    called,
    check_refused,
    names,
    run,
    shapes,
    world,
)
from tests.unit.capabilities.tables.test_drift_files import change, made, settle

__all__ = ["shapes", "world"]

OTHERS = {
    "delta": ("org.apache.spark.sql.delta.catalog.DeltaCatalog", "CREATE TABLE spark_catalog.a.t (id int) USING delta"),
    "hudi": ("org.apache.spark.sql.hudi.catalog.HoodieCatalog", "CREATE TABLE spark_catalog.a.t (id int) USING hudi"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_table_of_another_format_is_refused(
    name: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table's shape is not read, so that no statement could make it anew; the refusal names table and catalog."""
    implementation, create = OTHERS[name]
    more = f"      spark.sql.catalog.spark_catalog: {implementation}\n    dependencies:"
    lakes = Lakes(project, monkeypatch)
    path = project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("    dependencies:", more) + "store: {catalog: lake}\n")
    project.file("0001_a.sql", create)
    monkeypatch.setattr(type(lakes.place("dev").engine.open_session()), "execute", lambda *_, **__: None)
    assert lakes.run("migrate --catalog shop").code == 0
    commit_all(project.root)
    set_author(project.root)
    output = lakes.run("squash --to 0001 --catalog shop --author Ana", "--format", "json")
    error = output.document["error"]
    assert (output.code, error["code"]) == (3, "SQUASH_REFUSED"), output
    assert "spark_catalog.a.t: PyIceberg cannot open the catalog spark_catalog" in error["message"]
    assert "nothing was written" in error["message"]
    assert [each.name for each in Path(project.root, "migrations/shop").iterdir()] == ["0001_a.sql"]


def test_a_catalog_on_snowflake_is_refused(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of Snowflake have no metadata that is read here."""
    lakes = Lakes(project, monkeypatch)
    connection = "{account: acme, user: u, database: shop}"
    project.catalog(f"migrationExecutor: {{type: snowflake, conf: {{connection: {connection}}}}}\n", "shop")
    project.file("0001_a.sql", "CREATE TABLE shop_t (id int)")
    assert lakes.run("migrate --catalog shop").code == 0
    commit_all(project.root)
    set_author(project.root)
    error = lakes.run("squash --to 0001 --catalog shop --author Ana", "--format", "json").document["error"]
    assert error["code"] == "SQUASH_REFUSED"
    assert "runs on snowflake; squash reads Iceberg tables of Spark catalogs only" in error["message"]


def test_a_text_that_would_not_render_to_its_statements_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would run is not what makes the tables; nothing is written, also where Python leaves assertions out."""
    monkeypatch.setattr(source, "creation", lambda _: Written(("CREATE TABLE lake.a.t (id int); DROP TABLE lake.a.u",)))
    check_refused(world, "0002_squashed.sql would not render to the statements that create the tables")


@pytest.mark.parametrize(("options", "again"), [(("--dry-run",), " --dry-run"), ((), "")])
def test_the_hint_of_a_refusal_repeats_the_option(
    options: tuple[str, ...], again: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that was to write nothing is not answered by one that writes."""
    applied(world, {"0003_more.sql": "ALTER TABLE lake.a.t ADD COLUMN c int"})
    told = called(world, monkeypatch, *options, "--format", "json")
    [hint] = printed_commands(told.document["error"]["hint"])
    assert hint == f"glacierbase squash{again} --to 0003"
    assert len(names(world)) == 3


def test_changes_that_no_migration_made_are_refused(project: ProjectFolder) -> None:
    """A squash with a column that somebody added by hand would make it in new environments only. Adopted, it is in the squash."""
    tables = made(project)
    commit_all(project.root)
    set_author(project.root)
    change(tables)
    error = tables.run("squash", "--to", "1", "--author", "Ana", "--format", "json").document["error"]
    assert error["code"] == "SQUASH_REFUSED"
    assert "environment default has changes that no migration made; nothing was written" in error["message"]
    assert "lake.a.t: column legacy" in error["message"]
    assert [each.name for each in Path(project.root, "migrations/shop").iterdir()] == ["1_make.sql"]
    adopted = settle(tables, "adopt")
    assert adopted.code == 0, adopted.stderr
    commit_all(project.root)
    migrations = tables.run("status", "--format", "json").document["catalogs"][0]["migrations"]
    squashed = tables.run("squash", "--to", migrations[-1]["version"], "--author", "Ana", "--format", "json")
    assert squashed.code == 0, squashed.stderr
    assert "`legacy` string" in squashed.document["catalogs"][0]["sql"]


@pytest.mark.parametrize(
    "sql",
    [
        "CALL lake.system.register_table('a.x', '/m.json')",
        "ALTER TABLE t ADD COLUMN c int",
        "USE elsewhere.a;\nALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE unknown.a.t ADD COLUMN c int",
    ],
)
def test_a_statement_whose_table_is_not_known_is_refused(world: World, sql: str) -> None:
    """The refusal lists the statement with its version."""
    applied(world, {"0003_other.sql": sql})
    check_refused(world, f"0003: {sql.splitlines()[-1]}", to=3)


def test_a_name_that_use_completes_is_known(world: World) -> None:
    """The squash creates the table that the statement changed."""
    applied(world, {"0003_other.sql": "USE lake.a;\nALTER TABLE t ADD COLUMN c int"})
    assert run(world, 3).tables == ("lake.a.t",)


def test_the_nearest_table_is_created_and_what_is_not_exact_is_named(world: World, shapes: dict[str, Shape]) -> None:
    """A type without words in Spark SQL becomes another one, and a secret, which must not get into git, is left out."""
    secrets_in_use().register("canary-secret")
    columns = (Column(1, "id", "uuid"), Column(2, "at", "int"))
    shapes["lake.a.t"] = replace(TABLE, columns=columns, properties={"key": "canary-secret"})
    world.variables += "drift: {ignore: [{table: '*', what: '*', reason: it is no migration's}]}\n"
    world.target()
    commit_all(world.project.root)
    made = run(world)
    assert "`id` string" in made.sql
    assert "--   - Not exact: lake.a.t: id is of type uuid" in made.sql
    assert "Not exact: lake.a.t: the property key holds a secret, and is left out" in made.left_out
    assert "canary" not in made.sql


def test_all_tables_that_no_statement_creates_are_named_at_once(world: World, shapes: dict[str, Shape]) -> None:
    """One refusal names each table with its reason."""
    world.file("0003_u.sql", "CREATE TABLE lake.a.u (id int)")
    applied(world, {"0004_v.sql": "CREATE TABLE lake.a.v (id int)"})
    for number, name in enumerate("uv"):
        shapes[f"lake.a.{name}"] = replace(
            TABLE, table=f"lake.a.{name}", uuid=name, columns=(Column(1, f"${{{number}}}", "int"),)
        )
    check_refused(
        world, "no statements create 2 tables", "lake.a.u: the name '${0}'", "lake.a.v: the name '${1}'", to=4
    )
