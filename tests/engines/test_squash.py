"""`squash` on real Iceberg tables: what a new environment gets, and what an old one does not notice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.model.shape import Shape
from glacierbase.project.project import Project
from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all, git, set_author
from tests.support.shapes import comparable

ENVIRONMENTS = """\
store: {namespace: squash_old}
variables: {buckets: 8, owner: "{{ nobody }}"}
environments:
  old: {}
  new: {store: {namespace: squash_new}, variables: {buckets: 2}}
"""
FILES = {
    "0001_users.sql": "CREATE NAMESPACE IF NOT EXISTS lake.squashed;\n"
    "CREATE TABLE lake.squashed.users (id bigint NOT NULL COMMENT 'it''s the key', name string,"
    " address struct<city: string COMMENT 'where', zip: int>) USING iceberg"
    " PARTITIONED BY (bucket({{ variables.buckets }}, id)) TBLPROPERTIES ('a.b' = '\\u0024{c} {{ '{%' }} d')",
    "0002_events.sql": "CREATE TABLE lake.squashed.events (id int, at timestamp, kind string) USING iceberg;\n"
    "INSERT INTO lake.squashed.events VALUES (1, now(), 'x')",
    "0003_rename.sql": "ALTER TABLE lake.squashed.events RENAME COLUMN kind TO category",
    "0004_nested.sql": "ALTER TABLE lake.squashed.users ADD COLUMN address.country string COMMENT 'ISO'",
    "0005_partitions.sql": "ALTER TABLE lake.squashed.events ADD PARTITION FIELD days(at);\n"
    "ALTER TABLE lake.squashed.events ADD PARTITION FIELD truncate(2, category) AS short;\n"
    "ALTER TABLE lake.squashed.users DROP PARTITION FIELD bucket({{ variables['buckets'] }}, id)",
    "0006_order.sql": "ALTER TABLE lake.squashed.events WRITE ORDERED BY id DESC NULLS LAST;\n"
    "ALTER TABLE lake.squashed.users SET IDENTIFIER FIELDS id;\n"
    "COMMENT ON TABLE lake.squashed.users IS 'all {{ '{{' }} users'",
    "0007_drop.sql": "CREATE TABLE lake.squashed.gone (id int) USING iceberg;\nDROP TABLE lake.squashed.gone;\n"
    "ALTER TABLE lake.squashed.events RENAME TO squashed.actions",
    "0008_property.sql": "ALTER TABLE lake.squashed.actions SET TBLPROPERTIES ('commit.retry.num-retries' = '10')",
}
TABLES = ("lake.squashed.actions", "lake.squashed.users")


@pytest.fixture
def folder(project: ProjectFolder, lake: LakeBed, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectFolder]:
    """A project in git whose eight files are applied in the environment `old`."""
    monkeypatch.chdir(project.root)
    project.catalog(lake.text + ENVIRONMENTS)
    for name, sql in FILES.items():
        project.file(name, sql)
    commit_all(project.root)
    set_author(project.root)
    at(project, "old").migrate(spark=lake.spark)
    yield project
    for table in TABLES:
        lake.executor.open_session().execute(f"DROP TABLE IF EXISTS {table} PURGE")


def at(folder: ProjectFolder, environment: str) -> Project:
    return Project.load(folder.root, environment=environment)


def shapes(lake: LakeBed) -> list[Shape | None]:
    """Return the shapes of all tables, and of those that are gone."""
    with closing(ShapeReader(lake.catalog)) as reader:
        names = (*TABLES, "lake.squashed.events", "lake.squashed.gone")
        return [shape and comparable(shape) for shape in map(reader.read, names)]


def history_table(lake: LakeBed) -> str | None:
    """Return the metadata file of the history table, which every write replaces."""
    with closing(ShapeReader(lake.catalog)) as reader:
        table = reader.read("lake.squash_old.history_shop")
    assert table
    return table.metadata_location


def test_a_new_environment_gets_the_tables_and_an_old_one_notices_nothing(folder: ProjectFolder, lake: LakeBed) -> None:
    """The shapes are equal; in the old environment nothing runs and its history table is not written."""
    wanted, history = shapes(lake), history_table(lake)
    [made] = at(folder, "old").squash("8", author="Ana", commit=True)
    assert (made.path, made.tables) == ("migrations/shop/0008_squashed.sql", TABLES)
    assert git(folder.root, "status", "--porcelain") == ""
    assert git(folder.root, "ls-files", "migrations") == made.path
    assert any("variables" in each and "buckets" in each for each in made.left_out)
    assert any("rows (1 version: 0002)" in each for each in made.left_out)

    old = at(folder, "old")
    assert [each.state.value for each in old.status(spark=lake.spark)[0].migrations] == ["applied"] * 8
    assert old.pending(spark=lake.spark)[0].pending == ()
    assert old.plan(spark=lake.spark)[0].plan == ()
    assert old.migrate(spark=lake.spark)[0].applied == ()
    assert history_table(lake) == history
    assert shapes(lake) == wanted

    for table in TABLES:
        lake.executor.open_session().execute(f"DROP TABLE {table} PURGE")
    [applied] = at(folder, "new").migrate(spark=lake.spark)
    assert [each.version for each in applied.applied] == ["0008"]
    assert shapes(lake) == wanted
    assert lake.rows("SELECT * FROM lake.squashed.actions") == []
