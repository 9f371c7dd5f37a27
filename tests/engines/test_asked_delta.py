"""`schema`, `blame`, `history --column`, `drift` and `compare` of real Delta tables with column mapping."""

from __future__ import annotations

import pytest

from glacierbase.project.project import Project
from tests.engines.test_asked import lines
from tests.engines.test_migrate_delta import with_delta
from tests.support.one_engine import steps_of
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

pytestmark = pytest.mark.delta

ENVIRONMENTS = """\
environments:
  first: {store: {namespace: first}}
  second: {store: {namespace: second}}
defaultEnvironment: first
"""
FILES = {
    "01_make.sql": "CREATE TABLE t (id BIGINT NOT NULL, a STRING, device STRUCT<model: STRING>, day DATE) USING delta"
    " CLUSTER BY (day)",
    "02_ids.sql": "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "03_rename.sql": "ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN device.firmware STRING AFTER model",
    "04_again.sql": "ALTER TABLE t RENAME COLUMN b TO c; ALTER TABLE t RENAME COLUMN device TO sensor;\n"
    "ALTER TABLE t RENAME COLUMN sensor.model TO kind",
    "05_drop.sql": "ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN a STRING",
    "06_parts.sql": "ALTER TABLE t CLUSTER BY (id); ALTER TABLE t SET TBLPROPERTIES ('x' = '1')",
    "07_move.sql": "ALTER TABLE t RENAME TO u",
    "08_new.sql": "CREATE TABLE t (id INT) USING delta",
    "09_anew.sql": "DROP TABLE t; CREATE TABLE t (id INT, z INT) USING delta",
    "10_replace.sql": "CREATE OR REPLACE TABLE t (id INT, y STRING) USING delta PARTITIONED BY (y)",
}
BY_HAND = (
    "INSERT INTO u VALUES (1, named_struct('kind', 'k', 'firmware', 'f'), DATE'2026-01-01', 'a')",
    "OPTIMIZE u",
    "ALTER TABLE u ADD COLUMN legacy STRING",
    "ALTER TABLE u RENAME COLUMN a TO aa",
    "ALTER TABLE u SET TBLPROPERTIES ('y' = '2')",
    "DROP TABLE t",
)
DRIFT = ("drift", "--format", "json")


def test_the_answers_are_right_for_delta_tables_that_were_changed_in_every_way(project: ProjectFolder) -> None:
    """Renames, a column dropped and added again, nested fields, clustering, new tables under an old name, changes by hand."""
    place = f"      spark.sql.warehouse.dir: {project.root / 'spark'}\n"
    text = with_delta(project.root / "warehouse").replace("    sparkConf:\n", f"    sparkConf:\n{place}")
    project.catalog(text + ENVIRONMENTS)
    for name, sql in FILES.items():
        project.file(name, sql)
    settle = ("--reason", "test", "--author", "Ann", "--yes")
    steps: list[tuple[str, ...]] = [
        ("migrate",), DRIFT, *(("sql", each) for each in BY_HAND[:2]), DRIFT, *(("sql", each) for each in BY_HAND[2:]),
        DRIFT, ("drift", "adopt", *settle), ("drift", "revert", *settle),
        # The second environment begins with none of these tables.
        ("sql", "DROP TABLE u"), ("migrate", "--env", "second", "--to", "06"),
        ("sql", "ALTER TABLE t ADD COLUMN hand INT"), ("migrate", "--env", "second", "--to", "07"),
    ]  # fmt: skip
    migrated, as_recorded, after_rows, drifted, adopted, reverted, *second = steps_of(project, steps)
    for done in (migrated, as_recorded, after_rows, *second):
        assert done.code == 0, done.stderr

    asked = Project.load(project.root)
    assert lines(asked, "u") == [
        ("id", "01", ""),
        ("sensor", "04", "renamed from device"),
        ("sensor.kind", "04", "renamed from device.model"),
        ("sensor.firmware", "03", ""),
        ("day", "01", ""),
        ("a", "05", ""),
    ]
    assert [each for each in lines(asked, "u", "property", "table") if not each[0].startswith("delta.")] == [
        ("clusteringColumns", "06", 'was [["day"]]'), ("x", "06", ""), (U, "07", f"renamed from {T}"),
    ]  # fmt: skip
    assert lines(asked, "t", "column", "partition") == [("id", "10", ""), ("y", "10", ""), ("y", "10", "")]
    [changes] = asked.history(table="u", column="a")
    assert [(each.version, [one.line() for one in each.differences]) for each in changes.changes or ()] == [
        ("01", ["+ column a: string"]),
        ("03", ["~ column: a -> b"]),
        ("04", ["~ column: b -> c"]),
        ("05", ["- column c: string", "+ column a: string"]),
    ]
    shapes = [asked.schema("t", at=at)[0].shape for at in ("1", "6", "8", "9", "10")]
    assert [[each.name for each in shape.columns if "." not in each.name] for shape in shapes if shape] == [
        ["id", "a", "device", "day"], ["id", "sensor", "day", "a"], ["id"], ["id", "z"], ["id", "y"],
    ]  # fmt: skip
    assert [(each.table, str(each.change)) for each in asked.show("7")[0].tables] == [(U, "renamed")]
    assert [(each.table, str(each.change)) for each in asked.show("10")[0].tables] == [(T, "dropped"), (T, "created")]

    assert (drifted.code, [(each["what"], each["class"]) for each in drifted.entry()["drifts"]]) == (
        7,
        [
            ("column", "structural"),
            ("column legacy", "structural"),
            ("property y", "property"),
            (f"table {T}", "structural"),
        ],
    )
    assert (adopted.code, "DRIFT_REFUSED" in adopted.stderr) == (3, True)
    assert f"{T} was dropped or renamed" in adopted.stderr
    assert (reverted.code, f"not in it: {T} is gone" in reverted.stdout) == (0, True), reverted.stderr
    without = run_here(project, "schema", "u", "--format", "sql")
    assert (without.code, "in the format delta" in without.stderr) == (2, True)

    compared = run_here(project, "compare", "first", "second", "--exit-code", "--format", "json")
    [entry] = compared.document["catalogs"]
    assert compared.code == 7
    assert [
        (each["table"], each["verdict"], [(one["what"], one["name"]) for one in each["differences"]])
        for each in entry["tables"]
    ] == [(T, "unknown", []), (U, "outside", [("column", "hand")])]
    assert [each.partition(":")[0] for each in entry["warnings"]] == ["first", "second"]
    assert all("not read: only its engine" in each for each in entry["warnings"])


T, U = "spark_catalog.default.t", "spark_catalog.default.u"
