"""`new --reverting` on a real Iceberg table."""

from __future__ import annotations

from typing import Any

from glacierbase import Project
from tests.support.beds import LakeBed
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

CHANGE = """\
ALTER TABLE lake.{{ variables.schema }}.t RENAME COLUMN kind TO category;
ALTER TABLE lake.reverted.t ADD COLUMNS (device string COMMENT 'a, b', place struct<x: int, y: decimal(4, 2)>);
ALTER TABLE lake.reverted.t ADD COLUMN place.z int;
ALTER TABLE lake.reverted.t RENAME COLUMN place.x TO longitude;
ALTER TABLE lake.reverted.t ADD PARTITION FIELD bucket(4, id) AS shard;
ALTER TABLE lake.reverted.t ADD PARTITION FIELD category;
ALTER TABLE lake.reverted.t DROP PARTITION FIELD days(ts);
ALTER TABLE lake.reverted.t SET TBLPROPERTIES ('commit.retry.num-retries'='10');
INSERT INTO lake.reverted.t (id) VALUES (1);
ALTER TABLE lake.reverted.t RENAME TO reverted.u;
"""


def test_a_table_has_its_former_schema_after_the_inverse(lake_project: ProjectFolder, lake: LakeBed) -> None:
    """Columns, partitioning and properties are those before; the comment for the INSERT does not run."""
    lake_project.catalog(lake.text + "variables: {schema: reverted}\nstore: {namespace: reverting}\n")
    create = (
        "CREATE TABLE lake.reverted.t (id bigint, kind string, ts timestamp) USING iceberg PARTITIONED BY (days(ts))"
    )
    lake_project.file("0001_t.sql", f"CREATE NAMESPACE IF NOT EXISTS lake.reverted;\n{create};")
    Project.load(lake_project.root).migrate(spark=lake.spark)
    before = shape(lake)
    lake_project.file("0002_change.sql", CHANGE)
    Project.load(lake_project.root).migrate(spark=lake.spark)
    told = run_here(lake_project, "new", "undo", "--author", "Ana", "--reverting", "2")
    assert told.code == 0, told
    Project.load(lake_project.root).migrate(spark=lake.spark)
    assert shape(lake) == before


def shape(lake: LakeBed) -> tuple[Any, ...]:
    """Return the columns, the partition fields and the properties of the table."""
    properties = lake.rows("SHOW TBLPROPERTIES lake.reverted.t")
    return lake.rows("DESCRIBE TABLE lake.reverted.t"), [row for row in properties if row[0] != "current-snapshot-id"]
