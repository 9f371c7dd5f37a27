"""One `migrate --parallel 3` on two Iceberg catalogs whose Sparks differ, and a Snowflake one."""

from __future__ import annotations

import pytest

from tests.support.catalog_files import LAKE, SNOWFLAKE_PASSWORD
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer

pytestmark = [pytest.mark.spark, pytest.mark.snowflake]


def test_iceberg_and_snowflake_are_applied_at_the_same_time(
    project: ProjectFolder, snowflake_server: SnowflakeServer, warm_cache: None
) -> None:
    """Each Spark has a process, because their settings differ. A failure of one is recorded, and the others are applied."""
    for number, name in enumerate(("one", "two")):
        text = LAKE.replace("WAREHOUSE", str(project.root / name))
        project.catalog(
            text.replace("    sparkConf:\n", f"    sparkConf:\n      spark.locality.wait: {number}s\n"), name
        )
        sql = f"CREATE NAMESPACE lake.{name};\nCREATE TABLE lake.{name}.t (a INT) USING iceberg;"
        project.file("1_a.sql", sql, name)
    project.catalog(snowflake_server.catalog, "snow")
    project.file("1_a.sql", "CREATE SCHEMA SEVERAL;\nCREATE TABLE SEVERAL.T (A INT);", "snow")
    environ = {"SNOWFLAKE_PASSWORD": SNOWFLAKE_PASSWORD}
    done = project.ask("migrate", "--parallel", "3", environ=environ)
    assert done.code == 0, done.stdout + done.stderr
    assert [len(entry["applied"]) for entry in done.document["catalogs"]] == [1, 1, 1]
    one, snow, two = (entry["engine"] for entry in done.document["catalogs"])
    assert [engine["name"] for engine in (one, snow, two)] == ["spark", "snowflake", "spark"]
    assert (one["java"], snow["java"]) == (two["java"], None)
    project.file("2_b.sql", "DROP TABLE lake.one.nowhere;", "one")
    project.file("2_b.sql", "ALTER TABLE lake.two.t ADD COLUMN b INT;", "two")
    done = project.ask("migrate", "--parallel", "3", environ=environ)
    assert (done.code, done.document["error"]["code"]) == (1, "STATEMENT_FAILED")
    assert [bool(entry["applied"]) for entry in done.document["catalogs"]] == [False, False, True]
    assert project.ask("pending", environ=environ).entry(0)["pending"][0]["version"] == "2"
