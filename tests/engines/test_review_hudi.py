"""`review` of tables of Hudi on the real Spark that Hudi has a bundle for, and the boundary around that Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.test_migrate_hudi import HUDI_JAR, hudi_programs, run
from tests.engines.test_sandbox import CANARY, Targets, answers_to, compiled, targets
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

pytestmark = pytest.mark.hudi

__all__ = ["targets"]

# History and lock are elsewhere: a review does not read them.
CATALOG = f"""\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.spark.sql.hudi.HoodieSparkSessionExtension
      spark.sql.catalog.spark_catalog: org.apache.spark.sql.hudi.catalog.HoodieCatalog
      spark.hadoop.hive.metastore.uris: thrift://{CANARY}:9083
    dependencies: ["{HUDI_JAR}"]
store: {{type: embedded}}
"""
KEY = "TBLPROPERTIES (primaryKey = 'id')"
CREATE = f"""\
CREATE TABLE shop.orders (id BIGINT, legacy STRING, name STRING) USING hudi {KEY} LOCATION 's3://bucket/orders';
INSERT INTO shop.orders VALUES (1, 'x', 'one'), (2, 'y', 'two');
CREATE TABLE shop.events (id BIGINT, at TIMESTAMP, day DATE) USING hudi PARTITIONED BY (day)
TBLPROPERTIES (primaryKey = 'id', type = 'mor', preCombineField = 'at');
INSERT INTO shop.events VALUES (1, TIMESTAMP '2026-01-01 00:00:00', DATE '2026-01-01');
CREATE TABLE shop.gone (id BIGINT) USING hudi {KEY};
CREATE VIEW shop.names AS SELECT legacy FROM shop.orders"""
CHANGE = f"""\
SET hoodie.schema.on.read.enable=true;
SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true;
SET hoodie.cleaner.policy=KEEP_LATEST_COMMITS;
ALTER TABLE shop.orders RENAME COLUMN name TO full_name;
ALTER TABLE shop.orders ADD COLUMNS (at TIMESTAMP COMMENT 'when');
DELETE FROM shop.orders WHERE id = 1;
UPDATE shop.events SET at = TIMESTAMP '2026-01-02 00:00:00' WHERE id = 1;
ALTER TABLE shop.orders DROP COLUMN legacy;
CREATE TABLE shop.new (id BIGINT) USING hudi {KEY}"""
WRONG = "INSERT INTO shop.orders VALUES (1)"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of Hudi's environment, which is created if it is absent."""
    return hudi_programs(tmp_path_factory)


def test_a_review_of_hudi_shows_what_a_branch_changes(programs: Path, project: ProjectFolder) -> None:
    """Shapes, differences, rows, lost columns and refusals are those of the engine. No address of a table is contacted.

    Columns of Hudi have no ids, so that a renamed one is another column; it is not reported as lost.
    """
    project.catalog(CATALOG, "shop")
    project.file("0001_create.sql", CREATE, catalog="shop")
    commit_all(project.root)
    project.file("0002_change.sql", CHANGE, catalog="shop")
    project.file("0003_drop.sql", f"DROP TABLE shop.gone; {WRONG}", catalog="shop")
    output = run(programs / "glacierbase", project, "review", "--base", "main")
    entry = output.entry()
    assert output.code == 3, output.stdout
    tables = {table["table"].rpartition(".")[2]: table for table in entry["tables"]}
    assert {name: table["change"] for name, table in tables.items()} == {
        "events": "altered", "gone": "dropped", "new": "created", "orders": "altered"
    }, output.stdout  # fmt: skip
    orders = {(line["what"], line["name"], line["before"], line["after"]) for line in tables["orders"]["diff"]}
    assert orders == {
        ("column", "legacy", "string", None),
        ("column", "name", "string", None),
        ("column", "full_name", None, "string"),
        ("column", "at", None, "timestamp"),
        ("rows of the copy", "", "2", "1"),
    }
    assert (tables["orders"]["files"], tables["events"]["files"]) == ("rewritten", "untouched")
    assert (tables["orders"]["breaks"], tables["events"]["snapshots"]) == (["view spark_catalog.shop.names"], 1)
    assert {(finding["code"], finding["line"]) for finding in entry["findings"] if finding["severity"] == "error"} >= {
        ("DS103", 11), ("BC106", 11), ("DS101", 4), ("REPLAY_REFUSED", 4)
    }  # fmt: skip
    lost = [finding["message"] for finding in entry["findings"] if finding["code"] == "DS103"]
    assert len(lost) == 1
    assert "the column legacy (string) is dropped" in lost[0]
    [skipped] = entry["replay"]["skipped"]
    assert skipped["why"] == "the copy does not keep the setting hoodie.cleaner.policy"


def escapes(targets: Targets, sandbox: Path, jar: Path) -> Iterator[tuple[str, ...]]:
    """Yield attempts with tables of Hudi, its procedures, its settings and the classes that they name."""
    table, outside = "spark_catalog.default.h", targets.written
    make, row = f"CREATE TABLE {table} (id INT, a STRING) USING hudi", f"INSERT INTO {table} VALUES (1, 'a')"
    gone = f"DROP TABLE IF EXISTS {table}"
    for path in (targets.key, targets.key.parent, "/etc", "/proc/self", outside):
        yield (f"SELECT * FROM hudi.`{path}`",)
        yield gone, f"{make} {KEY} LOCATION '{path}'", row, f"SELECT a FROM {table}"
    for address in (f"hdfs://127.0.0.1:{targets.port}/x", f"s3://127.0.0.1:{targets.port}/x"):
        yield gone, f"{make} {KEY} LOCATION '{address}'", row, f"SELECT a FROM {table}"
    yield gone, f"{make} {KEY}", row
    for place in (outside, sandbox / "tmp", "."):
        yield (f"CALL export_instants(table => 'h', local_folder => '{place}')",)
    yield (f"CALL run_bootstrap(table => 'b', table_type => 'COPY_ON_WRITE', bootstrap_path => '{targets.key.parent}',"
           f" base_path => '{outside}', rowKey_field => 'id')",)  # fmt: skip
    yield ("CALL create_metadata_table(table => 'h')",)
    settings = (
        {"hoodie.embed.timeline.server": "true"},
        {"hoodie.filesystem.view.type": "REMOTE_ONLY", "hoodie.filesystem.view.remote.port": f"{targets.port}"},
        {"hoodie.write.commit.callback.on": "true", "hoodie.write.commit.callback.http.url": f"http://127.0.0.1:{targets.port}"},
        {"hoodie.write.concurrency.mode": "optimistic_concurrency_control",
         "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
         "hoodie.write.lock.zookeeper.url": f"127.0.0.1:{targets.port}", "hoodie.write.lock.zookeeper.base_path": "/x",
         "hoodie.write.lock.zookeeper.lock_key": "x", "hoodie.write.lock.zookeeper.connection_timeout_ms": "500",
         "hoodie.write.lock.num_retries": "1", "hoodie.write.lock.client.num_retries": "1",
         "hoodie.write.lock.wait_time_ms": "500"},
        {"hoodie.metrics.on": "true", "hoodie.metrics.reporter.type": "GRAPHITE",
         "hoodie.metrics.graphite.port": f"{targets.port}"},
        {"hoodie.memory.merge.max.size": "1", "hoodie.memory.spillable.map.path": f"{outside}"},
        {"hoodie.memory.merge.max.size": "1", "hoodie.common.spillable.diskmap.type": "ROCKS_DB"},
        {"hoodie.filesystem.view.type": "EMBEDDED_KV_STORE", "hoodie.filesystem.view.rocksdb.base.path": f"{outside}"},
        {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
        {"hoodie.datasource.write.payload.class": "Evil"},
        {"hoodie.datasource.write.keygenerator.class": "Evil"},
        {"hoodie.datasource.hive_sync.enable": "true", "hoodie.datasource.hive_sync.mode": "hms",
         "hoodie.datasource.hive_sync.metastore.uris": f"thrift://127.0.0.1:{targets.port}"},
        {"hoodie.datasource.meta.sync.enable": "true", "hoodie.meta.sync.client.tool.class": "Evil"},
    )  # fmt: skip
    for number, chosen in enumerate(settings):
        with_row = f"INSERT INTO {table} VALUES ({number + 2}, 'b')"
        sets = tuple(f"SET {key} = {value}" for key, value in chosen.items())
        yield f"ADD JAR '{jar}'", *sets, with_row, f"UPDATE {table} SET a = 'c'", f"SELECT a FROM {table}"
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in {"primaryKey": "id", **chosen}.items())
        yield (
            f"CREATE TABLE spark_catalog.default.h{number} (id INT) USING hudi TBLPROPERTIES ({properties})",
            (f"INSERT INTO spark_catalog.default.h{number} VALUES (1)"),
        )
    for place in (jar, *(folder / "evil.jar" for folder in (sandbox, sandbox / "warehouse", sandbox / "tmp"))):
        yield f"ADD JAR '{place}'", "CREATE TEMPORARY VIEW v USING Evil"
        yield f"CREATE TEMPORARY FUNCTION f AS 'Evil' USING JAR '{place}'", "SELECT f(1)"


@pytest.mark.parametrize("boundary", ["all", "java", "kernel"])
def test_no_statement_on_hudi_leaves_the_copy(
    boundary: str, programs: Path, project: ProjectFolder, targets: Targets, tmp_path: Path
) -> None:
    """Neither of the two boundaries by itself lets a table, a procedure or a setting reach a file, an address or a class."""
    project.catalog(CATALOG)
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    [spark] = (programs.parent / "lib").glob("python*/site-packages/pyspark")
    jar = compiled(targets, tmp_path, spark)
    attempts = list(escapes(targets, sandbox, jar))
    answers = answers_to(attempts, boundary, project, sandbox, jar, programs / "python")
    assert not targets.written.exists()
    assert targets.connections == 0
    assert not any("root:" in answer for given in answers for answer in given)
    if boundary == "all":  # Rows are written, and no procedure places a file that a later statement could load.
        given = dict(zip(attempts, answers, strict=True))
        assert all("access denied (" in given[attempt][0] for attempt in attempts if "export_instants" in attempt[0])
        assert ["None", "None", "None", "[('a',)]"] in answers
