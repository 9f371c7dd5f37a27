"""`access plan`: the grants of each kind of catalog, and how the kind is decided."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.capabilities.access.access import AccessResult
from glacierbase.capabilities.access.grants import FLAVOURS
from glacierbase.errors import ConfigurationError, GlacierbaseError
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder

SNOWFLAKE = """\
migrationExecutor:
  type: snowflake
  conf: {connection: {account: a, user: u, database: DEMO, schema: WEB, warehouse: SMALL}}
"""
SPARK = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: {implementation}
      spark.sql.catalog.lake.type: {kind}
      spark.sql.catalog.lake.uri: {uri}
      spark.sql.catalog.lake.warehouse: {warehouse}
"""
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
ANYWHERE = "http://127.0.0.1:1/"


@pytest.fixture
def planned(project: ProjectFolder) -> Callable[..., AccessResult]:
    """The grants for a table in the namespace `web` and one in `sales.eu`, of the catalog `shop`."""

    def planned(text: str, **options: Any) -> AccessResult:
        project.catalog(text)
        prefix = "" if "snowflake" in text else "lake."
        inner = "sales" if "snowflake" in text else "sales.eu"
        project.file("1_a.sql", f"CREATE TABLE {prefix}web.t (a INT);\nALTER TABLE {prefix}web.t ADD COLUMN b INT;")
        project.file("2_b.sql", f"CREATE TABLE {prefix}{inner}.u (a INT)")
        chosen = {"migrator": "deployer", "writers": ["etl"], **options}
        [result] = Project.load(project.root).access(**chosen)
        return result

    return planned


def spark(kind: str = "rest", uri: str = ANYWHERE, warehouse: str = "analytics", implementation: str = ICEBERG) -> str:
    return SPARK.format(kind=kind, uri=uri, warehouse=warehouse, implementation=implementation)


def statements(result: AccessResult, role: str) -> list[str]:
    return [grant.statement for grant in result.grants if role in grant.statement]


def test_on_snowflake_the_migrator_owns_the_schemas_and_writers_write_rows(
    planned: Callable[..., AccessResult],
) -> None:
    """Schema and database come from the names and the connection; each namespace is there once."""
    result = planned(SNOWFLAKE)
    owned = [text for text in statements(result, '"DEPLOYER"') if "OWNERSHIP ON SCHEMA" in text]
    assert owned == [
        f'GRANT OWNERSHIP ON SCHEMA "DEMO"."{schema}" TO ROLE "DEPLOYER" COPY CURRENT GRANTS'
        for schema in ("WEB", "SALES")
    ]
    of_writers = statements(result, '"ETL"')
    assert any("INSERT" in text for text in of_writers)
    for text in of_writers:
        assert "OWNERSHIP" not in text
        assert text.startswith("REVOKE") or "CREATE" not in text


def test_on_snowflake_the_tables_of_glacierbase_are_written_by_the_migrator_and_read_by_others(
    planned: Callable[..., AccessResult],
) -> None:
    """The migrator has the rights that `doctor --print-ddl` prints, and no more."""
    result = planned(SNOWFLAKE)
    tables = [grant.statement for grant in result.grants if "_SHOP" in grant.statement]
    history, lock = ('"DEMO"."GLACIERBASE"."HISTORY_SHOP"', '"DEMO"."GLACIERBASE"."LOCK_SHOP"')
    assert tables == [
        f'GRANT SELECT, INSERT ON TABLE {history} TO ROLE "DEPLOYER"',
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {lock} TO ROLE "DEPLOYER"',
        f'GRANT SELECT ON TABLE {history} TO ROLE "ETL"',
        f'GRANT SELECT ON TABLE {lock} TO ROLE "ETL"',
    ]


def test_in_polaris_a_writer_gets_no_privilege_that_changes_tables(planned: Callable[..., AccessResult]) -> None:
    """TABLE_WRITE_DATA includes TABLE_ADD_SCHEMA there, so that a writer gets the privileges of a snapshot's commit alone."""
    result = planned(spark(uri="https://polaris.example/api/catalog"))
    privileges = {shlex.split(text)[-1] for text in statements(result, "--catalog-role etl")}
    assert privileges == {
        "NAMESPACE_LIST", "NAMESPACE_READ_PROPERTIES", "TABLE_LIST", "TABLE_READ_DATA", "TABLE_ADD_SNAPSHOT",
        "TABLE_SET_SNAPSHOT_REF",
    }  # fmt: skip
    full = [
        shlex.split(text) for text in statements(result, "--catalog-role deployer") if "TABLE_FULL_METADATA" in text
    ]
    assert [words[words.index("--namespace") + 1] for words in full] == ["web", "sales.eu", "glacierbase"]
    assert all("analytics" in words for words in full)
    assert any("TABLE_ADD_SCHEMA" in warning for warning in result.warnings)


def test_unity_and_lake_formation_say_what_they_cannot_separate(planned: Callable[..., AccessResult]) -> None:
    """MODIFY adds columns, and ALTER commits rows; `drift` remains."""
    unity = planned(spark(uri="https://workspace.example/api/2.1/unity-catalog/iceberg-rest"))
    assert "GRANT USE SCHEMA, SELECT, MODIFY ON SCHEMA `analytics`.`web` TO `etl`" in statements(unity, "`etl`")
    assert "`drift` detects it" in unity.warnings[0]
    glue = planned(spark("glue", warehouse="s3://bucket/lake"))
    [rows] = [text for text in statements(glue, "=etl") if "TableWildcard" in text and '"web"' in text]
    assert "--permissions ALTER DELETE DESCRIBE INSERT SELECT " in rows
    assert "`drift` detects" in glue.warnings[0]
    [place] = [text for text in statements(glue, "=deployer") if "DATA_LOCATION_ACCESS" in text]
    assert '"arn:aws:s3:::bucket/lake"' in place


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (spark(implementation="org.apache.polaris.spark.SparkCatalog"), "polaris"),
        (spark(implementation="io.unitycatalog.spark.UCSingleCatalog"), "databricks"),
        (spark("glue"), "aws"),
        (SNOWFLAKE, "snowflake"),
    ],
)
def test_the_catalog_file_decides_whose_grants_are_printed(
    text: str, source: str, planned: Callable[..., AccessResult]
) -> None:
    """A class, a kind or an address names the product."""
    assert {source in grant.source for grant in planned(text).grants} == {True}


def test_flavour_names_the_product_of_a_rest_server(planned: Callable[..., AccessResult]) -> None:
    """A REST server says nothing of its product."""
    with pytest.raises(ConfigurationError) as caught:
        planned(spark())
    assert caught.value.code == "UNKNOWN_FLAVOUR"
    assert "--flavour polaris" in caught.value.hint
    assert {"polaris" in grant.source for grant in planned(spark(), flavour="polaris").grants} == {True}


@pytest.mark.parametrize(("text", "flavour"), [(spark("jdbc"), None), (spark(), "snowflake"), (SNOWFLAKE, "unity")])
def test_grants_of_another_product_are_refused(
    text: str, flavour: str | None, planned: Callable[..., AccessResult]
) -> None:
    """A JDBC catalog has no rights of its own."""
    with pytest.raises(ConfigurationError, match="no grants of"):
        planned(text, flavour=flavour)


@pytest.mark.parametrize("role", ["x; rm -rf /", 'x"; DROP ROLE y; --', "x` y", "$(reboot)", "a'b"])
@pytest.mark.parametrize("text", [SNOWFLAKE, spark(uri="http://h/api/catalog"), spark("glue")])
def test_a_role_is_a_name_whatever_it_contains(role: str, text: str, planned: Callable[..., AccessResult]) -> None:
    """Somebody pastes what is printed into a shell or a worksheet."""
    grants = planned(text, migrator=role).grants
    assert grants
    for grant in grants:
        if grant.statement.startswith(("polaris", "aws")):
            assert all(";" not in word or word.endswith(role) for word in shlex.split(grant.statement))
            words = " ".join(shlex.split(grant.statement))
            assert role in words or "etl" in words
        else:
            quoted = '"' + role.replace('"', '""') + '"'
            assert quoted in grant.statement or '"ETL"' in grant.statement


@pytest.mark.parametrize("role", ["", " ", "a\nb", "\x1b[2J"])
def test_what_is_no_name_is_refused(role: str, planned: Callable[..., AccessResult]) -> None:
    """An unset variable of a script is an empty value."""
    with pytest.raises(GlacierbaseError) as caught:
        planned(SNOWFLAKE, writers=[role])
    assert caught.value.code in ("EMPTY_VALUE", "INVALID_NAME")


def test_the_migrator_is_no_writer(planned: Callable[..., AccessResult]) -> None:
    """The statements for writers would revoke what it is granted."""
    with pytest.raises(ConfigurationError) as caught:
        planned(SNOWFLAKE, writers=["etl", "deployer"])
    assert caught.value.code == "INVALID_VALUE"


def test_the_text_has_each_statement_with_its_source(project: ProjectFolder) -> None:
    """The document has a list of `statement` and `source`; nothing is contacted, so no login is required."""
    project.catalog(SNOWFLAKE)
    project.file("1_a.sql", "CREATE TABLE t (a INT)")
    arguments = ("access", "plan", "--migrator", "deployer", "--writers", "etl", "--writers", "bi")
    done = ask_here(project, *arguments)
    assert done.code == 0, done.stderr
    grants = done.entry()["grants"]
    assert {frozenset(grant) for grant in grants} == {frozenset({"statement", "source"})}
    assert all(grant["source"].startswith("https://docs.snowflake.com/") for grant in grants)
    text = run_here(project, *arguments).stdout
    assert all(f"  {grant['statement']};\n" in text for grant in grants)
    assert f"  -- {grants[0]['source']}\n" in text
    assert '"BI"' in text


def test_every_template_and_every_limit_has_a_source() -> None:
    """A claim about a product names the page that it comes from."""
    for flavour in FLAVOURS.values():
        for rights in (flavour.migrator, flavour.writer):
            sources = [source for part in (rights.catalog, rights.namespace, rights.store) for _, source in part]
            assert sources
            assert all(source.startswith("https://") for source in sources)
    assert {"(https://" in limit for flavour in FLAVOURS.values() for limit in flavour.limits} == {True}
