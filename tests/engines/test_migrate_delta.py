"""Delta tables by another `sparkConf` in the catalog file; history and lock are in an Iceberg catalog beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.history.records import fold
from glacierbase.record.shapes import table_records
from glacierbase.record.timeline import timelines
from tests.support.catalog_files import LAKE, RUNTIME
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.spark_kills import migrate_killed
from tests.support.sparks import installed

pytestmark = pytest.mark.delta

DELTA = installed().delta
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
    """Return the schemas that the table has had, from its log."""
    actions = [
        json.loads(line) for file in sorted(table.glob("_delta_log/*.json")) for line in file.read_text().splitlines()
    ]
    schemas = [json.loads(action["metaData"]["schemaString"]) for action in actions if "metaData" in action]
    return [[field["name"] for field in schema["fields"]] for schema in schemas]


def test_a_delta_table_is_migrated_fails_and_is_resumed(project: ProjectFolder) -> None:
    """A refusal of Delta is failed, not unknown, and each effect is there once."""
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
    [history] = Project.load(project.root).history()
    assert [each.unread for event in history.events for each in table_records(event)] == [None] * 3
    [timeline] = timelines(fold(history.events))
    assert [(each.event.version, str(each.origin)) for each in timeline.moments] == [("1", "migration")]
    shape = timeline.shape
    assert shape
    assert [(column.name, column.type) for column in shape.columns] == [("a", "bigint"), ("b", "string")]
    assert (shape.format, shape.uuid) == ("delta", id_of(table))


def id_of(table: Path) -> str:
    """Return the id of the table, from its log."""
    lines = (table / "_delta_log/00000000000000000000.json").read_text().splitlines()
    return str(next(action["metaData"]["id"] for action in map(json.loads, lines) if "metaData" in action))


def test_the_columns_of_a_delta_table_keep_their_ids(project: ProjectFolder) -> None:
    """Where column mapping is on, the record of a renamed column shows that it is the same one."""
    project.catalog(with_delta(project.root / "warehouse"))
    columns = "id BIGINT NOT NULL COMMENT 'key', p STRUCT<x: INT>, day DATE"
    mapping = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    place = f"LOCATION '{project.root / 'events'}'"
    project.file("1_a.sql", f"CREATE TABLE events ({columns}) USING delta PARTITIONED BY (day) {place} {mapping}")
    project.file("2_b.sql", "ALTER TABLE events RENAME COLUMN p TO q")
    done = project.ask("migrate")
    assert done.code == 0, done.stderr
    [history] = Project.load(project.root).history()
    [timeline] = timelines(fold(history.events))
    first, second = (each.shape for each in timeline.moments)
    assert first
    assert second
    assert [(column.id, column.name, column.required, column.comment) for column in first.columns] == [
        (1, "id", True, "key"), (2, "p", False, None), (3, "p.x", False, None), (4, "day", False, None),
    ]  # fmt: skip
    assert [(column.id, column.name) for column in second.columns] == [(1, "id"), (2, "q"), (3, "q.x"), (4, "day")]
    assert [(each.source, each.transform) for each in second.partitioning] == [("day", "identity")]
    assert second.properties["delta.columnMapping.mode"] == "name"


def test_what_fails_is_failed_in_delta_and_unknown_in_a_table_of_files_beside_it(project: ProjectFolder) -> None:
    """Delta shows no part of a failed statement. An INSERT OVERWRITE of parquet deletes the rows before it fails."""
    project.catalog(with_delta(project.root / "warehouse"))
    delta, files, other = (project.root / name for name in ("delta", "files", "other"))
    bad = "SELECT IF(id = 7, raise_error('no'), id) AS a FROM range(8)"
    create = f"CREATE TABLE events (a BIGINT) USING delta LOCATION '{delta}'; INSERT INTO events VALUES (1)"
    again = f"CREATE TABLE IF NOT EXISTS events USING delta LOCATION '{delta}'"
    of_files = f"CREATE TABLE files (a BIGINT) USING parquet LOCATION '{files}'; INSERT INTO files VALUES (1)"
    for done, wrong, code in (
        (create, "INSERT INTO events VALUES (1, 2)", "STATEMENT_FAILED"),
        (
            f"{create}; {again}",
            f"CREATE TABLE other USING delta LOCATION '{other}' AS SELECT nope FROM events",
            "STATEMENT_FAILED",
        ),
        (f"{create}; {again}; {of_files}", f"INSERT OVERWRITE files {bad}", "OUTCOME_UNKNOWN"),
    ):
        project.file("1_a.sql", f"{done}; {wrong}")
        failed = project.ask("migrate")
        assert failed.document["error"]["code"] == code, failed.stdout
    assert len(list(delta.glob("_delta_log/*.json"))) == 2
    assert not list(other.glob("_delta_log/*.json"))
    assert not list(files.glob("*.parquet"))


def test_the_catalog_file_of_init_works_as_it_is_written(project: ProjectFolder) -> None:
    """The metastore is kept: a second run alters the table of the first by its name. History and lock need no Spark."""
    assert project.run("init", "--type", "delta", "web").code == 0
    done = project.run("migrate")
    assert done.code == 0, done.stderr
    project.file("0002_device.sql", "ALTER TABLE web.events ADD COLUMN device STRING", catalog="web")
    asked = project.run("pending")
    assert (asked.code, asked.stderr) == (0, "")
    done = project.run("migrate")
    assert done.code == 0, done.stderr
    [table] = project.root.glob(".glacierbase/dev/web/web.db/events")
    before = ["id", "user_id", "kind", "occurred_at", "day"]
    # The property that the second file of `init` sets is a change of its own.
    with_source = [*before, "source"]
    assert columns_of(table) == [before, with_source, with_source, [*with_source, "device"]]
    assert not (project.root / "derby.log").exists()
    assert not (project.root / "metastore_db").exists()


# Loses the answers to two statements, of which the second did not take effect while somebody else committed.
LOSES = """
import json, sys
from glacierbase import GlacierbaseError, Project
from glacierbase.errors import OutcomeUnknown
from glacierbase.executors import open_executor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.run.run import Run
from pathlib import Path
from tests.support.project_folder import only_catalog

root = Path(sys.argv[1])
executor = open_executor(only_catalog(root), Run.here(root))
spark, execute, cases = executor._spark, SparkSessionPort.execute, []

def lose(session, sql, *arguments, **options):
    if "VALUES (8)" in sql:
        spark.newSession().sql("INSERT INTO events VALUES (9)")
    else:
        execute(session, sql, *arguments, **options)
    if "VALUES (7)" in sql or "VALUES (8)" in sql:
        raise OutcomeUnknown("SocketException", "reset")

SparkSessionPort.execute = lose
for _ in range(2):
    try:
        Project.load(root).migrate(spark=spark)
    except GlacierbaseError as error:
        [case] = Project.load(root).repair(spark=spark)[0].cases
        cases.append([error.code, case.suggests, list(case.evidence)])
        Project.load(root).repair([case.version], as_="done", reason="test", spark=spark)
sys.stdout.write(json.dumps(cases))
executor.close()
"""


def metadata_of(table: Path) -> list[str | None]:
    """Return the user metadata of the table's commits, in order."""
    lines = [line for file in sorted(table.glob("_delta_log/*.json")) for line in file.read_text().splitlines()]
    return [json.loads(line)["commitInfo"].get("userMetadata") for line in lines if "commitInfo" in line]


def test_of_a_lost_answer_the_tag_in_the_commit_tells_whose_it_is(project: ProjectFolder) -> None:
    """Metadata that the author sets replaces the tag, and another writer's commit suggests nothing."""
    project.catalog(with_delta(project.root / "warehouse"))
    table = project.root / "events"
    into = "INSERT INTO events VALUES"
    mine = "SET spark.databricks.delta.commitInfo.userMetadata=mine"
    project.file("1_a.sql", f"CREATE TABLE events (a BIGINT) USING delta LOCATION '{table}'; {into} (7)")
    project.file("2_b.sql", f"{mine}; {into} (1); RESET spark.databricks.delta.commitInfo.userMetadata; {into} (8)")
    command = [sys.executable, "-c", LOSES, str(project.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    [first, second] = json.loads(done.stdout)
    assert first[:2] == ["OUTCOME_UNKNOWN", "done"]
    assert first[2][-1].endswith(" by this statement")
    assert second[:2] == ["OUTCOME_UNKNOWN", None]
    assert second[2]
    tags = [
        metadata.rpartition("glacierbase;")[2].partition(";")[2] if metadata else metadata
        for metadata in metadata_of(table)
    ]
    assert tags[:2] == ["1;1", "1;2"]
    assert metadata_of(table)[2:] == ["mine", None]


def test_a_run_that_died_after_a_commit_to_delta_is_settled_by_the_log(project: ProjectFolder) -> None:
    """The next run records that the statement took effect, with the commit as its reason, and runs the rest once."""
    project.catalog(with_delta(project.root / "warehouse"))
    table = f"delta.`{project.root / 'events'}`"
    alter = f"ALTER TABLE {table} ADD COLUMN b INT"
    project.file("1_a.sql", f"CREATE TABLE {table} (a INT) USING delta; {alter}; INSERT INTO {table} VALUES (1, 2)")
    migrate_killed(project, "ADD COLUMN b")
    done = project.ask("migrate")
    assert done.code == 0, done.stderr
    [warning] = done.entry()["warnings"]
    assert "the only commit to" in warning
    assert warning.endswith("so it took effect; recorded as done")
    assert columns_of(project.root / "events") == [["a"], ["a", "b"]]
    assert len(list((project.root / "events").glob("*.parquet"))) == 1
