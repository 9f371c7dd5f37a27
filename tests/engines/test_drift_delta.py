"""`drift` of real Delta tables: who changed them and when, and migrations that keep or undo the changes."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from glacierbase.project.project import Project
from tests.engines.test_migrate_delta import with_delta
from tests.support.one_engine import steps_of
from tests.support.project_folder import ProjectFolder

pytestmark = pytest.mark.delta

ENVIRONMENTS = """\
environments:
  first: {store: {namespace: first}, variables: {db: one}}
  second: {store: {namespace: second}, variables: {db: two}}
defaultEnvironment: first
"""
BY_HAND = (
    "INSERT INTO one.t VALUES (1, 'a', 1, named_struct('model', 'm'), array(named_struct('x', 1)))",
    "ALTER TABLE one.t ADD COLUMN legacy STRING COMMENT 'it''s old' AFTER id",
    "ALTER TABLE one.t RENAME COLUMN a TO b",
    "ALTER TABLE one.t ADD COLUMN device.firmware STRING FIRST",
    "ALTER TABLE one.t SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'team' = 'data')",
    "ALTER TABLE one.t ALTER COLUMN n TYPE BIGINT",
    "ALTER TABLE one.t ALTER COLUMN id DROP NOT NULL",
    "COMMENT ON TABLE one.t IS 'all events'",
    "ALTER TABLE one.t CLUSTER BY (legacy)",
    "ALTER TABLE one.t ADD CONSTRAINT positive CHECK (id > 0)",
)
SETTLE = ("--reason", "test", "--author", "Ann", "--yes")
DRIFT = ("drift", "--format", "json")


def test_changes_by_hand_have_a_time_and_an_operation_and_run_in_another_environment(project: ProjectFolder) -> None:
    """Adopted statements are Delta's: they give the table of another environment the same shape. Reverted ones restore it."""
    place = f"      spark.sql.warehouse.dir: {project.root / 'spark'}\n"
    text = with_delta(project.root / "warehouse").replace("    sparkConf:\n", f"    sparkConf:\n{place}")
    project.catalog(text + ENVIRONMENTS)
    columns = "id BIGINT NOT NULL, a STRING, n INT, device STRUCT<model: STRING>, parts ARRAY<STRUCT<x: INT>>"
    mapping = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    project.file(
        "01_make.sql",
        "CREATE SCHEMA IF NOT EXISTS {{ variables.db }};\n"
        f"CREATE TABLE {{{{ variables.db }}}}.t ({columns}) USING delta CLUSTER BY (id) {mapping};\n"
        "CREATE TABLE {{ variables.db }}.plain (id BIGINT, a INT) USING delta PARTITIONED BY (a)",
    )
    files = project.root / "files" / "of events"
    project.file("02_path.sql", f"CREATE TABLE delta.`{files}` (a INT) USING delta")
    project.file("03_path.sql", f"ALTER TABLE DELTA.`{files}/` ADD COLUMN b INT")
    begin = datetime.now(timezone.utc)
    steps: list[tuple[str, ...]] = [
        ("migrate",), ("migrate", "--env", "second", "--to", "01"), *(("sql", statement) for statement in BY_HAND),
        ("sql", f"ALTER TABLE delta.`{files}` ADD COLUMN c INT"), DRIFT, ("drift", "adopt", "--table", "*.one.t", *SETTLE),
        ("migrate", "--env", "second", "--only", "04", "--reason", "x", "--yes"),
        ("sql", "ALTER TABLE one.t ADD COLUMN extra INT"), ("sql", "ALTER TABLE one.t DROP COLUMN b"),
        ("drift", "revert", "--table", "*.one.t", *SETTLE), ("migrate",), (*DRIFT, "--table", "*.one.t"),
        ("sql", "ALTER TABLE one.plain ADD COLUMN hand INT"), ("drift", "revert", "--table", "*.plain", *SETTLE),
    ]  # fmt: skip
    first, second, drifted, adopted, elsewhere, reverted, again, as_recorded, refused = steps_of(project, steps)
    for done in (first, second, adopted, elsewhere, reverted, again, as_recorded):
        assert done.code == 0, done.stderr

    drifts = {(drift["table"], drift["what"]): drift for drift in drifted.entry()["drifts"]}
    path = f"delta.`{files}`"
    assert drifts[T, "column legacy"]["operation"] == "ADD COLUMNS, version 2"
    assert drifts[T, "column"]["operation"] == "RENAME COLUMN, version 3"
    assert drifts[T, "property clusteringColumns"]["operation"] == "CLUSTER BY, version 9"
    assert drifts[T, "property delta.minReaderVersion"]["class"] == "kept by the engine"
    assert drifts[path, "column c"]["operation"] == "ADD COLUMNS, version 2"
    for drift in drifts.values():
        assert drift["by"].startswith("Apache-Spark/")
        assert not drift["is_bound"]
        assert begin < datetime.fromisoformat(drift["since"].replace("Z", "+00:00")) < datetime.now(timezone.utc)

    assert (
        "ALTER TABLE {{ variables.db }}.t RENAME COLUMN" in (project.root / "migrations/shop/04_test.sql").read_text()
    )
    assert "during 04" not in elsewhere.stdout
    assert "not from a migration" not in again.stdout  # `revert` has recorded it.
    here, there = (
        Project.load(project.root, environment=name).schema("t", at="4")[0].shape for name in ("first", "second")
    )
    assert here
    assert there
    assert [column.name for column in here.columns] == [column.name for column in there.columns]
    assert [(column.type, column.comment) for column in here.columns] == [
        (column.type, column.comment) for column in there.columns
    ]
    assert here.properties == there.properties
    assert as_recorded.entry()["drifts"] == []
    assert refused.code == 3
    assert "DROP COLUMN `hand`, which needs the property delta.columnMapping.mode = name" in refused.stderr
    [of_path] = Project.load(project.root).history(table=path)
    assert [outcome.version for outcome in of_path.outcomes] == ["02", "03"]


T = "spark_catalog.one.t"
