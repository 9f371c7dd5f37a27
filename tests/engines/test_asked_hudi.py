"""`schema`, `blame`, `history --column` and `drift` of real Hudi tables, whose columns are followed by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.project.project import Project
from tests.engines.test_asked import lines
from tests.engines.test_migrate_hudi import hudi_programs, with_hudi
from tests.support.one_engine import steps_of
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

pytestmark = pytest.mark.hudi

# Without both, Hudi refuses to rename and to drop a column.
EVOLVES = """\
SET hoodie.schema.on.read.enable=true;
SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true;
"""
KEY = "TBLPROPERTIES (primaryKey = 'id')"
FILES = {
    "01_make.sql": "CREATE TABLE t (id BIGINT, a STRING, device STRUCT<model: STRING>, day DATE) USING hudi PARTITIONED BY (day)"
    f" {KEY};\nINSERT INTO t VALUES (1, 'x', named_struct('model', 'm'), DATE'2026-01-01')",
    "02_rename.sql": f"{EVOLVES}ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN device.firmware STRING",
    "03_again.sql": f"{EVOLVES}ALTER TABLE t RENAME COLUMN b TO c; ALTER TABLE t RENAME COLUMN device TO sensor",
    "04_drop.sql": f"{EVOLVES}ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMNS (a STRING)",
    "05_wider.sql": "ALTER TABLE t SET TBLPROPERTIES ('x' = '1'); ALTER TABLE t ADD COLUMNS (n INT)",
    "06_move.sql": "ALTER TABLE t RENAME TO u",
    "07_new.sql": f"CREATE TABLE t (id INT) USING hudi {KEY}",
    "08_anew.sql": f"DROP TABLE t; CREATE TABLE t (id INT, z INT) USING hudi {KEY}",
}
BY_HAND = ("ALTER TABLE u ADD COLUMNS (legacy STRING)", "ALTER TABLE u SET TBLPROPERTIES ('y' = '2')", "DROP TABLE t")
T, U = "spark_catalog.default.t", "spark_catalog.default.u"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python in Hudi's environment, which is created if it is absent."""
    return hudi_programs(tmp_path_factory) / "python"


def test_the_answers_are_right_for_hudi_tables_that_were_changed_in_every_way(
    python: Path, project: ProjectFolder
) -> None:
    """A renamed column is a new one, and a renamed table the same; a change by hand is found, and no statement is guessed."""
    place = f"      spark.sql.warehouse.dir: {project.root / 'spark'}\n"
    project.catalog(with_hudi(project.root / "warehouse").replace("    sparkConf:\n", f"    sparkConf:\n{place}"))
    for name, sql in FILES.items():
        project.file(name, sql)
    drift, settle = ("drift", "--format", "json"), ("--reason", "test", "--author", "Ann", "--yes")
    steps = [
        ("migrate",), drift, *(("sql", each) for each in BY_HAND), drift,
        ("drift", "adopt", *settle), ("drift", "revert", *settle),
    ]  # fmt: skip
    migrated, as_recorded, drifted, *refused = steps_of(project, steps, python)
    assert migrated.code == 0, migrated.stderr
    assert as_recorded.code == 0, as_recorded.stdout

    asked = Project.load(project.root)
    assert lines(asked, "u") == [
        ("id", "01", ""),
        ("sensor", "03", ""),
        ("sensor.model", "03", ""),
        ("sensor.firmware", "03", ""),
        ("a", "04", ""),
        ("n", "05", ""),
        ("day", "01", ""),
    ]
    assert lines(asked, "u", "partition", "property", "table") == [
        ("day", "01", ""), ("primaryKey", "01", ""), ("type", "01", ""), ("x", "05", ""), (U, "06", f"renamed from {T}"),
    ]  # fmt: skip
    assert lines(asked, "t") == [("id", "08", ""), ("z", "08", "")]
    [changes] = asked.history(table="u", column="a")
    assert [(each.version, [one.line() for one in each.differences]) for each in changes.changes or ()] == [
        ("01", ["+ column a: string"]),
        ("02", ["- column a: string"]),
        ("04", ["+ column a: string"]),
    ]
    shapes = [asked.schema("t", at=at)[0].shape for at in ("1", "2", "5", "7", "8")]
    assert [[each.name for each in shape.columns] for shape in shapes if shape] == [
        ["id", "a", "device", "device.model", "day"],
        ["id", "b", "device", "device.model", "device.firmware", "day"],
        ["id", "sensor", "sensor.model", "sensor.firmware", "a", "n", "day"],
        ["id"],
        ["id", "z"],
    ]
    assert [(each.table, str(each.change)) for each in asked.show("6")[0].tables] == [(U, "renamed")]
    assert [(each.table, str(each.change)) for each in asked.show("8")[0].tables] == [(T, "dropped"), (T, "created")]

    assert (drifted.code, [(each["what"], each["class"]) for each in drifted.entry()["drifts"]]) == (
        7,
        [("column legacy", "structural"), ("property y", "property"), (f"table {T}", "structural")],
    )
    for each in refused:
        assert (each.code, f"{U} is no table of Iceberg or Delta" in each.stderr) == (3, True), each.stderr
    without = run_here(project, "schema", "u", "--format", "sql")
    assert (without.code, "in the format hudi" in without.stderr) == (2, True)
