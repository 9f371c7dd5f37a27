"""The published examples of the original run unchanged: headers, variable, catalog keys and commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.catalog_files import RUNTIME, SQLITE
from tests.support.project_folder import ProjectFolder

pytestmark = pytest.mark.spark

# The published keys; what it leaves out stands where it wrote an ellipsis.
CATALOG = f"""\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      "spark.sql.catalog.glue": "org.apache.iceberg.spark.SparkCatalog"
      "spark.sql.catalog.glue.type": jdbc
      "spark.sql.catalog.glue.uri": "jdbc:sqlite:${{projectRoot}}/lake/${{environment}}/glue.db?busy_timeout=30000"
      "spark.sql.catalog.glue.jdbc.schema-version": V1
      "spark.sql.catalog.glue.warehouse": "file://${{projectRoot}}/lake/${{environment}}/glue"
      "spark.sql.catalog.catalog": "org.apache.iceberg.spark.SparkCatalog"
      "spark.sql.catalog.catalog.type": jdbc
      "spark.sql.catalog.catalog.uri": "jdbc:sqlite:${{projectRoot}}/lake/${{environment}}/catalog.db?busy_timeout=30000"
      "spark.sql.catalog.catalog.jdbc.schema-version": V1
      "spark.sql.catalog.catalog.warehouse": "file://${{projectRoot}}/lake/${{environment}}/catalog"
    dependencies:
      - "{RUNTIME}"
      - "{SQLITE}"
store: {{catalog: glue}}
environments:
  dev: {{variables: {{catalog: {{namespace: {{tableName: {{bucketSize: 4}}}}}}}}}}
  prod: {{variables: {{catalog: {{namespace: {{tableName: {{bucketSize: 32}}}}}}}}}}
"""

CREATE = """\
-- MIGRATION_DESCRIPTION: Create the table
-- MIGRATION_AUTHOR: Data Platform Team

create namespace catalog.namespace;

create table catalog.namespace.table (id bigint, timestamp timestamp)
using iceberg
partitioned by (
  day(timestamp),
  bucket({{ .variables.catalog.namespace.tableName.bucketSize }}, id)
);
"""

SET = """\
-- MIGRATION_DESCRIPTION: Increase commit resilience during high-concurrency backfills
-- MIGRATION_AUTHOR: Data Platform Team

ALTER TABLE catalog.namespace.table SET TBLPROPERTIES (
'commit.retry.num-retries'='10',
'commit.retry.min-wait-ms'='1000',
'write.merge.isolation-level'='snapshot'
);
"""


@pytest.mark.parametrize(("environment", "buckets"), [("dev", 4), ("prod", 32)])
def test_the_published_snippets_run_in_two_environments(environment: str, buckets: int, project: ProjectFolder) -> None:
    """PyIceberg reads the tables that the snippets describe."""
    project.catalog(CATALOG, "analytics")
    folder = project.root / "migrations/analytics"
    (folder / "0001_create_table.sql").write_text(CREATE)
    (folder / "0002_commit_resilience.sql").write_text(SET)
    environ = {"GLACIERBASE_ENV": environment}
    migrated = project.ask("migrate", "--catalog", "analytics", environ=environ)
    assert migrated.code == 0, migrated.stderr
    assert [file["version"] for file in migrated.entry()["applied"]] == ["0001", "0002"]
    pending = project.ask("pending", "--catalog", "analytics", environ=environ)
    assert (pending.code, pending.entry()["pending"]) == (0, [])
    spec, properties = read(project.root / "lake" / environment)
    assert spec == ["day", f"bucket[{buckets}]"]
    assert properties["commit.retry.num-retries"] == "10"
    assert properties["commit.retry.min-wait-ms"] == "1000"
    assert properties["write.merge.isolation-level"] == "snapshot"


def read(folder: Path) -> tuple[list[str], dict[str, str]]:
    lake = SqlCatalog("catalog", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/catalog")
    table = lake.load_table("namespace.table")
    lake.close()
    return [str(field.transform) for field in table.spec().fields], table.properties
