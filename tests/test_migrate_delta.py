"""Delta tables by swapping the catalog file's sparkConf; history and lock stand in an Iceberg catalog beside them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import LAKE, RUNTIME, ProjectFolder

DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
BOTH = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def with_delta(warehouse: Path) -> str:
    text = LAKE.replace("WAREHOUSE", str(warehouse)).replace(f'"{RUNTIME}"', f'"{RUNTIME}", "{DELTA}"')
    text = text.replace(BOTH, f"{BOTH},io.delta.sql.DeltaSparkSessionExtension")
    conf = {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    lines = "".join(f"      {key}: {value}\n" for key, value in conf.items())
    return text.replace("    sparkConf:\n", f"    sparkConf:\n{lines}") + "store: {catalog: lake}\n"


def columns_of(table: Path) -> list[list[str]]:
    """The schemas that the table has had, from its own log."""
    actions = [
        json.loads(line) for file in sorted(table.glob("_delta_log/*.json")) for line in file.read_text().splitlines()
    ]
    schemas = [json.loads(action["metaData"]["schemaString"]) for action in actions if "metaData" in action]
    return [[field["name"] for field in schema["fields"]] for schema in schemas]


def test_a_delta_table_is_migrated_fails_and_is_resumed(project: ProjectFolder) -> None:
    """What Delta refuses is failed, not unknown; each effect once."""
    project.catalog(with_delta(project.root / "warehouse"))
    table = project.root / "events"
    create = f"CREATE TABLE delta.`{table}` (a BIGINT) USING delta; ALTER TABLE delta.`{table}` ADD COLUMN b STRING"
    project.file("1_create.sql", create)
    rows = f"INSERT INTO delta.`{table}` VALUES (1, 'one'); INSERT INTO delta.`{table}` VALUES (2, NULL)"
    project.file("2_fill.sql", rows.replace("(2, NULL)", "(2, NULL, 3)"))
    failed = project.ask("migrate")
    assert failed.code == 1, failed.stderr
    assert failed.document["error"]["code"] == "STATEMENT_FAILED"
    project.file("2_fill.sql", rows)
    [applied] = project.ask("migrate").entry()["applied"]
    assert (applied["version"], applied["resumed_at"]) == ("2", 2)
    assert columns_of(table) == [["a"], ["a", "b"]]
    assert len(list(table.glob("*.parquet"))) == 2
