"""`review` of tables of Delta, and of files in Spark's own catalog, on the real Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.test_migrate_delta import with_delta
from tests.engines.test_review import cache_with_jars
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

pytestmark = pytest.mark.delta

MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
CREATE = f"""\
CREATE TABLE shop.orders (id BIGINT NOT NULL, legacy STRING, name STRING) USING delta
LOCATION 's3://bucket/orders of 100%' {MAPPED};
INSERT INTO shop.orders VALUES (1, 'x', 'one'), (2, 'y', 'two');
CREATE TABLE shop.files (id BIGINT, day DATE) USING parquet PARTITIONED BY (day);
INSERT INTO shop.files VALUES (1, DATE '2026-01-01');
CREATE TABLE shop.gone (id BIGINT) USING delta;
CREATE TABLE delta.`hdfs://nowhere:8020/events` (id BIGINT) USING delta;
CREATE TABLE delta.`s3://BUCKET/two
lines` (id BIGINT) USING delta;
CREATE VIEW shop.names AS SELECT legacy FROM shop.orders"""
CHANGE = """\
ALTER TABLE shop.orders RENAME COLUMN name TO full_name;
ALTER TABLE shop.orders ADD COLUMN at TIMESTAMP COMMENT 'when';
DELETE FROM shop.orders WHERE id = 1;
CREATE TABLE shop.alias USING delta LOCATION 's3://bucket/orders of 100%';
CREATE TABLE shop.hides USING delta LOCATION 'hdfs://nowhere:8020/events';
ALTER TABLE delta.`s3://BUCKET/two
lines` ADD COLUMN kind STRING;
ALTER TABLE shop.files ADD COLUMN kind STRING;
INSERT INTO shop.files VALUES (2, 'a', DATE '2026-01-02');
OPTIMIZE shop.orders;
CREATE TABLE shop.new (id BIGINT) USING delta CLUSTER BY (id)"""


def test_a_review_of_delta_and_of_files_shows_what_a_branch_changes(project: ProjectFolder, tmp_path: Path) -> None:
    """Shapes, differences, rows and lost tables are those of the engine, for tables by name and by path, and for each file.
    A second name of a table's files hides no change.

    No address of a table is contacted. The cause of a broken view is found by running the new files again from the base.
    """
    project.catalog(with_delta(project.root / "warehouse"), "shop")
    project.file("0001_create.sql", CREATE, catalog="shop")
    commit_all(project.root)
    project.file("0002_change.sql", CHANGE, catalog="shop")
    drop = "DROP TABLE shop.gone; DROP TABLE shop.hides; ALTER TABLE shop.orders DROP COLUMN legacy"
    hidden = "ALTER TABLE delta.`hdfs://nowhere:8020/events` ADD COLUMN kind STRING"
    project.file("0003_drop.sql", f"{drop}; {hidden}", catalog="shop")
    output = project.ask(
        "review", "--base", "main", environ={"XDG_CACHE_HOME": str(cache_with_jars(tmp_path / "cache"))}
    )
    entry = output.entry()
    assert output.code == 3, output.stdout
    tables = {table["table"]: table for table in entry["tables"]}
    assert {name: table["change"] for name, table in tables.items()} == {
        "delta.`hdfs://nowhere:8020/events`": "altered",
        "delta.`s3://BUCKET/two\nlines`": "altered",
        "spark_catalog.shop.alias": "created",
        "spark_catalog.shop.files": "altered",
        "spark_catalog.shop.gone": "dropped",
        "spark_catalog.shop.new": "created",
        "spark_catalog.shop.orders": "altered",
    }, output.stdout
    orders = tables["spark_catalog.shop.orders"]
    assert [(line["what"], line["name"], line["before"], line["after"]) for line in orders["diff"]][:3] == [
        ("column", "legacy", "string", None),
        ("column", "", "name", "full_name"),
        ("column", "at", None, "timestamp"),
    ]
    assert ("rows of the copy", "2", "1") in [(line["what"], line["before"], line["after"]) for line in orders["diff"]]
    assert [column["name"] for column in orders["before"]["columns"]] == ["id", "legacy", "name"]
    assert [column["name"] for column in orders["after"]["columns"]] == ["id", "full_name", "at"]
    assert [line["name"] for line in tables["spark_catalog.shop.files"]["diff"]] == ["kind"]
    codes = {(finding["code"], Path(finding["path"]).name) for finding in entry["findings"]}
    assert {(code, "0003_drop.sql") for code in ("DS101", "DS103", "BC106")} <= codes
    assert orders["breaks"] == ["view spark_catalog.shop.names"]
    assert not any(code == "REPLAY_REFUSED" for code, _ in codes)
    assert [statement["why"] for statement in entry["replay"]["skipped"]] == [
        "OPTIMIZE works on files that the copy does not have"
    ]
    assert not (project.root / "spark-warehouse").exists()


def test_the_catalog_file_of_init_is_reviewed_without_a_jar_of_iceberg(project: ProjectFolder, tmp_path: Path) -> None:
    """In prod its store is an Iceberg catalog, which only PyIceberg opens."""
    assert project.ask("init", "--type", "delta", "web").code == 0
    commit_all(project.root)
    project.file("0002_device.sql", "ALTER TABLE web.events ADD COLUMN device STRING", catalog="web")
    output = project.ask(
        "review", "--base", "main", environ={"XDG_CACHE_HOME": str(cache_with_jars(tmp_path / "cache"))}
    )
    assert output.code == 0, output.stdout
    entries = output.document["catalogs"]
    assert [entry["environment"] for entry in entries] == ["dev", "prod"]
    for entry in entries:
        assert [(table["table"], table["change"]) for table in entry["tables"]] == [
            ("spark_catalog.web.events", "altered")
        ]
