"""Plain DDL without Spark on catalogs that servers keep makes the same metadata as on Spark."""

from __future__ import annotations

import uuid

import pytest

from tests.support.beds import CatalogBed
from tests.support.postgres import USER
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder
from tests.support.twins import Twins

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE TABLE lake.NS.t (id BIGINT NOT NULL COMMENT 'the id', s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<x: INT>>,"
    " m MAP<STRING, INT>, d DECIMAL(10,2), f FLOAT, ts TIMESTAMP) USING iceberg"
    " PARTITIONED BY (bucket(4, id), days(ts)) COMMENT 'one' TBLPROPERTIES ('a' = '1')",
    "ALTER TABLE lake.NS.t ADD COLUMNS (q INT COMMENT 'q' AFTER id, s.c STRING FIRST, l.element.y DOUBLE)",
    "ALTER TABLE lake.NS.t RENAME COLUMN s.b TO name",
    "ALTER TABLE lake.NS.t ALTER COLUMN d TYPE DECIMAL(20,2)",
    "ALTER TABLE lake.NS.t ALTER COLUMN f FIRST",
    "ALTER TABLE lake.NS.t DROP COLUMN m",
    "ALTER TABLE lake.NS.t REPLACE PARTITION FIELD ts_day WITH hours(ts)",
    "ALTER TABLE lake.NS.t ADD PARTITION FIELD truncate(3, s.name) AS short",
    "ALTER TABLE lake.NS.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id DESC, q NULLS LAST",
    "ALTER TABLE lake.NS.t SET IDENTIFIER FIELDS id",
    "ALTER TABLE lake.NS.t SET TBLPROPERTIES ('b' = '2', 'write.parquet.compression-codec' = 'gzip')",
    "ALTER TABLE lake.NS.t UNSET TBLPROPERTIES ('a')",
    "COMMENT ON TABLE lake.NS.t IS 'two'",
    "CREATE TABLE IF NOT EXISTS lake.NS.u (id INT) USING iceberg TBLPROPERTIES ('format-version' = '1')",
    "CREATE OR REPLACE TABLE lake.NS.v (id INT, b STRING) USING iceberg PARTITIONED BY (b)",
    "CREATE OR REPLACE TABLE lake.NS.v (b STRING, c INT) USING iceberg",
    "CREATE TABLE lake.NS.w (id INT) USING iceberg",
    "DROP TABLE lake.NS.w",
    "DROP TABLE IF EXISTS lake.NS.w",
    "CREATE TABLE lake.NS.y (id INT, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at)) TBLPROPERTIES ('format-version' = '3')",
    "ALTER TABLE lake.NS.y ADD COLUMN kind STRING AFTER id",
    "ALTER TABLE lake.NS.y WRITE ORDERED BY kind",
    "CREATE OR REPLACE TABLE lake.NS.y (kind STRING) USING iceberg TBLPROPERTIES ('format-version' = '3')",
)
WITHOUT_SPARK = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: PROPERTIES
"""


def properties(server: str, bed: CatalogBed) -> str:
    """Return PyIceberg's properties of a catalog that Spark opens by others."""
    conf = bed.catalog.spark_conf
    uri = conf["spark.sql.catalog.lake.uri"]
    if server == "web":
        return f"{{type: rest, uri: '{uri}', token: '${{secret:WEB_TOKEN}}'}}"
    uri = uri.replace("jdbc:postgresql://", f"postgresql+psycopg2://{USER}:${{secret:QUOTED_POSTGRES_PASSWORD}}@")
    return f"{{type: sql, uri: '{uri}', warehouse: '{conf['spark.sql.catalog.lake.warehouse']}'}}"


@pytest.mark.parametrize("type_", ["spark", "iceberg"])
@pytest.mark.parametrize("server", ["postgres", "web"])
def test_a_project_makes_the_same_metadata(
    server: str, type_: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """All files run directly, beside Spark or without it; `blame` names them where the server names the metadata files."""
    bed: CatalogBed = request.getfixturevalue(server)
    text = bed.text.replace("type: spark\n", "type: spark\n  direct: auto\n")
    if type_ == "iceberg":
        text = WITHOUT_SPARK.replace("PROPERTIES", properties(server, bed))
    # The REST server of the tests has no route for a rename.
    renames = ["ALTER TABLE lake.NS.u RENAME TO x"] if server == "postgres" else []

    def run(statements: list[str]) -> None:
        project.catalog(f"{text}store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
        project.file("0001_a.sql", ";\n".join(statements))
        done = ask_here(project, "migrate")
        assert done.code == 0, done.stdout
        assert [file["engine"] for file in done.entry()["applied"]] == ["direct"]
        assert done.entry()["warnings"] == []
        table = statements[0].split()[2]
        blame = ask_here(project, "blame", table).entry()
        assert blame["table"] == table
        assert {(line["since"]["origin"], line["since"]["version"]) for line in blame["lines"]} == {
            ("migration", "0001")
        }

    assert Twins(bed).compare([*STATEMENTS, *renames], run) == []
