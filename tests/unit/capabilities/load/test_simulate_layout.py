"""`layout simulate --layout`: the keys of the tables of a migration, and of a table as the files declare it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.program import Output, run_here
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf: {spark.sql.defaultCatalog: lake, spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}
    dependencies: ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
environments: {dev: {variables: {buckets: 4}}, prod: {variables: {buckets: 16}}}
"""
CREATE = (
    "CREATE TABLE lake.sales.orders (id BIGINT, ts TIMESTAMP) USING iceberg"
    " PARTITIONED BY (%sbucket({{ variables.buckets }}, id))"
)
USAGE = 2


@pytest.fixture
def shop(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A project with a hot time prefix, the cure, and a migration of a table that is not known. Few ids are drawn."""
    monkeypatch.setattr("glacierbase.capabilities.load.schemes.MOST_IDS", 2000)
    project.catalog(CATALOG)
    project.file("0001_orders.sql", CREATE % "days(ts), ")
    project.file(
        "0002_hash.sql", "ALTER TABLE lake.sales.orders SET TBLPROPERTIES ('write.object-storage.enabled'='true')"
    )
    project.file("0003_other.sql", "ALTER TABLE lake.sales.unknown ADD COLUMN a INT")
    return project


def simulated(project: ProjectFolder, *arguments: str) -> Output:
    return run_here(project, "layout", "simulate", "--days", "1", "--noise", "0", "--format", "json", *arguments)


def runs(project: ProjectFolder, *arguments: str) -> list[dict[str, Any]]:
    output = simulated(project, *arguments)
    assert output.code == 0, output.stderr
    return list(json.loads(output.stdout)["runs"])


def test_a_migration_is_simulated_as_each_environment_renders_it(shop: ProjectFolder) -> None:
    """The template differs between environments: each has its runs; a burst costs both errors, since keys begin with the day."""
    by_scheme = {run["scheme"]: run for run in runs(shop, "--layout", "1")}
    assert by_scheme.keys() == {"lake.sales.orders in dev", "lake.sales.orders in prod"}
    for run in by_scheme.values():
        assert run["first_character_max_min"] is None
        assert run["burst"]["errors"] > 0


def test_the_cure_is_beside_the_schemes_that_were_named(shop: ProjectFolder) -> None:
    """Object storage divides the load by bits, as base2 does."""
    listed = runs(shop, "--layout", "migrations/shop/0002_hash.sql", "--scheme", "base2")
    cure, base2 = ([run for run in listed if (run["scheme"] == "base2") == is_base2] for is_base2 in (False, True))
    assert {run["scheme"] for run in cure[:4]} == {"lake.sales.orders in dev"}
    assert [run["burst"]["errors"] > 0 for run in cure[:4]] == [run["burst"]["errors"] > 0 for run in base2]
    assert set(cure[0]["first_characters"]) == {"0", "1"}


def test_keys_that_are_not_known_are_refused(shop: ProjectFolder) -> None:
    """The message says why, and the hint is the command that shows more."""
    output = simulated(shop, "--layout", "3")
    assert output.code == USAGE
    assert "the keys of 3 are not known" in json.loads(output.stdout)["error"]["message"]
    assert json.loads(output.stdout)["error"]["hint"].startswith("glacierbase layout explain 3")
