"""`schema`, `blame`, `show` and `history --column` of real Iceberg tables, from what `migrate` recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.project.project import Project
from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder
from tests.support.shapes import comparable

T, U = "lake.asked.t", "lake.asked.u"
FILES = {
    "01_make.sql": "CREATE NAMESPACE IF NOT EXISTS lake.asked;\n"
    f"CREATE TABLE {T} (id bigint NOT NULL, a string, device struct<model: string>, at timestamp) USING iceberg"
    " PARTITIONED BY (days(at))",
    "02_rename.sql": f"ALTER TABLE {T} RENAME COLUMN a TO b; ALTER TABLE {T} ADD COLUMN device.firmware string AFTER model",
    "03_again.sql": f"ALTER TABLE {T} RENAME COLUMN b TO c; ALTER TABLE {T} RENAME COLUMN device TO sensor",
    "04_drop.sql": f"ALTER TABLE {T} DROP COLUMN c; ALTER TABLE {T} ADD COLUMN a string",
    "05_parts.sql": f"ALTER TABLE {T} REPLACE PARTITION FIELD days(at) WITH hours(at);\n"
    f"ALTER TABLE {T} WRITE ORDERED BY id; ALTER TABLE {T} SET TBLPROPERTIES ('x' = '1')",
    "06_move.sql": f"ALTER TABLE {T} RENAME TO asked.u",
    "07_new.sql": f"CREATE TABLE {T} (id int) USING iceberg",
    "08_anew.sql": f"DROP TABLE {T}; CREATE TABLE {T} (id int, z int) USING iceberg",
}


def lines(project: Project, name: str, *kinds: str) -> list[tuple[str, str | None, str]]:
    """Return name, version and change of the lines of `blame`."""
    [result] = project.blame(name)
    return [(each.name, each.version, each.change) for each in result.lines_ if each.kind in (kinds or ("column",))]


@pytest.fixture
def migrated(project: ProjectFolder, lake: LakeBed) -> Iterator[Project]:
    """The files, applied."""
    project.catalog(f"{lake.text}store: {{namespace: asked_{uuid4().hex[:8]}}}\n")
    for name, sql in FILES.items():
        project.file(name, sql)
    Project.load(project.root).migrate(spark=lake.spark)
    yield Project.load(project.root)
    for table in (T, U):
        lake.executor.open_session().execute(f"DROP TABLE IF EXISTS {table}")


def test_the_answers_are_right_for_tables_that_were_changed_in_every_way(
    migrated: Project, lake: LakeBed, project: ProjectFolder
) -> None:
    """Renames, a column dropped and added again, nested fields, partitions, a new table under an old name, changes from outside."""
    assert lines(migrated, "asked.u") == [
        ("id", "01", ""),
        ("sensor", "03", "renamed from device"),
        ("sensor.model", "01", ""),
        ("sensor.firmware", "02", ""),
        ("at", "01", ""),
        ("a", "04", ""),
    ]
    assert lines(migrated, "asked.u", "partition") == [("at_hour", "05", "was day(at)")]
    assert lines(migrated, "asked.u", "sort order", "table") == [("", "05", ""), (U, "06", f"renamed from {T}")]
    assert lines(migrated, "asked.t") == [("id", "08", ""), ("z", "08", "")]
    [changes] = migrated.history(table="asked.u", column="a")
    assert [(each.version, [one.line() for one in each.differences]) for each in changes.changes or ()] == [
        ("01", ["+ column a: string"]),
        ("02", ["~ column: a -> b"]),
        ("03", ["~ column: b -> c"]),
        ("04", ["- column c: string", "+ column a: string"]),
    ]
    columns = [migrated.schema("asked.t", at=at)[0].shape for at in ("1", "5", "7", "8")]
    assert [[each.name for each in shape.columns if "." not in each.name] for shape in columns if shape] == [
        ["id", "a", "device", "at"], ["id", "sensor", "at", "a"], ["id"], ["id", "z"],
    ]  # fmt: skip
    assert [(each.table, str(each.change)) for each in migrated.show("6")[0].tables] == [(U, "renamed")]

    # Somebody changes the table past the tool; the next file that touches it finds that.
    with closing(lake.executor.open_session()) as session:
        session.execute(f"ALTER TABLE {U} ADD COLUMN debug string")
        project.file("09_property.sql", f"ALTER TABLE {U} SET TBLPROPERTIES ('y' = '1')")
        Project.load(project.root).migrate(spark=lake.spark)
        [line] = migrated.blame("asked.u.debug")[0].lines_
        assert (line.version, line.author, line.outside, line.since.seen_by) == (None, None, True, "09")
        assert ("y", "09", "") in lines(migrated, "asked.u", "property")
        assert [str(each.origin) for each in migrated.show("9")[0].tables] == ["outside", "migration"]

        # The statements make the table as it was.
        [recorded] = migrated.schema("asked.u", at="6", sql=True)
        for statement in (f"DROP TABLE {U}", *(recorded.sql or "").removesuffix(";").split(";\n")):
            session.execute(statement)
    with closing(ShapeReader(lake.catalog)) as reader:
        made = reader.read(U)
    assert made
    assert recorded.shape
    assert comparable(made) == comparable(recorded.shape)


def test_the_ids_of_a_table_are_the_same_through_pyiceberg_and_through_spark(
    project: ProjectFolder, lake: LakeBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`layout profile` reads a table without Spark where PyIceberg can open its catalog."""
    project.catalog(f"{lake.text}store: {{namespace: asked_{uuid4().hex[:8]}}}\n")
    with closing(lake.executor.open_session()) as session:
        session.execute("CREATE NAMESPACE IF NOT EXISTS lake.asked")
        session.execute(f"DROP TABLE IF EXISTS {T}")
        session.execute(f"CREATE TABLE {T} (id bigint, `user id` string) USING iceberg")
        session.execute(f"INSERT INTO {T} SELECT id * 2, uuid() FROM range(1, 1001)")
        session.execute(f"INSERT INTO {T} VALUES (NULL, '')")
    loaded = Project.load(project.root)
    for column, kind in (("ID", "integer"), ("user id", "uuid")):
        near = loaded.layout_profile(T, column).profile
        assert (near.values, near.nulls, near.distinct, near.kind.value) == (1000, 1, 1000, kind)
        with monkeypatch.context() as patched:
            patched.setattr("glacierbase.record.live.can_open", lambda _: False)
            assert loaded.layout_profile(T, column, spark=lake.spark).profile == near
    assert not next(
        scheme for scheme in loaded.layout_profile(T, "id").profile.schemes if scheme.scheme == "reversed-id"
    ).safe
    with closing(lake.executor.open_session()) as session:
        session.execute(f"DROP TABLE {T}")
