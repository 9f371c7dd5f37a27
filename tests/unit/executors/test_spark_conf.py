"""The Spark configuration of a catalog, for sessions that the caller creates."""

from __future__ import annotations

import pytest

from glacierbase import Project
from glacierbase.errors import ConfigurationError
from tests.support.project_folder import ProjectFolder

SPARK = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.uri: https://${environment}.example.com
      spark.sql.catalog.lake.token: ${secret:TOKEN}
      spark.jars.packages: a:b:1
    dependencies: [c:d:2, {coordinate: "e:f:3", sha256: "DIGEST"}]
environments: {dev: {}, prod: {migrationExecutor: {conf: {sparkConf: {spark.executor.memory: 4g}}}}}
""".replace("DIGEST", "0" * 64)
SNOWFLAKE = "migrationExecutor: {type: snowflake, conf: {connection: {account: acme, database: LAKE}}}\n"


def test_the_configuration_is_that_of_the_environment_with_its_dependencies(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """References are resolved, secrets included; the packages of `sparkConf` stay first."""
    monkeypatch.setenv("TOKEN", "canary")
    project.catalog(SPARK)
    assert Project.load(project.root, environment="prod").spark_conf() == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.uri": "https://prod.example.com",
        "spark.sql.catalog.lake.token": "canary",
        "spark.jars.packages": "a:b:1,c:d:2,e:f:3",
        "spark.executor.memory": "4g",
    }


def test_a_connect_server_gets_no_packages(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has its own jars, and would refuse the static setting."""
    monkeypatch.setenv("TOKEN", "x")
    text = SPARK.replace("spark.jars.packages: a:b:1", "spark.remote: sc://localhost")
    project.catalog(text)
    assert "spark.jars.packages" not in Project.load(project.root, environment="dev").spark_conf("shop")


@pytest.mark.parametrize(
    ("catalog", "environment", "code"),
    [
        ("billing", None, "SESSION_NOT_SPARK"),
        (None, "dev", "CATALOG_NOT_CHOSEN"),
        ("ghost", "dev", "UNKNOWN_CATALOG"),
        ("shop", "test", "UNKNOWN_ENVIRONMENT"),
        ("shop", "dev", "UNSET_REFERENCE"),
    ],
)
def test_a_catalog_without_a_configuration_is_an_error(
    catalog: str | None, environment: str | None, code: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same errors as of the commands."""
    monkeypatch.delenv("TOKEN", raising=False)
    project.catalog(SPARK)
    project.catalog(SNOWFLAKE, "billing")
    with pytest.raises(ConfigurationError) as caught:
        Project.load(project.root, environment=environment).spark_conf(catalog)
    assert caught.value.code == code
