"""`drift` on real Iceberg tables: each way out ends the drift, proven on the table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from glacierbase.errors import HistoryDisagrees
from glacierbase.project.project import Project
from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder

ENVIRONMENTS = """\
store: {namespace: drift_first}
environments:
  first: {}
  second: {store: {namespace: drift_second}}
"""
TABLE = "lake.drifted.events"


@pytest.fixture
def folder(project: ProjectFolder, lake: LakeBed) -> Iterator[ProjectFolder]:
    """A project of two environments; the first one has applied its file."""
    project.catalog(lake.text + ENVIRONMENTS)
    create = f"CREATE TABLE {TABLE} (id int NOT NULL, kind string) USING iceberg"
    project.file("0001_events.sql", f"CREATE NAMESPACE IF NOT EXISTS lake.drifted;\n{create}")
    at(project, "first").migrate(spark=lake.spark)
    yield project
    lake.executor.open_session().execute(f"DROP TABLE IF EXISTS {TABLE} PURGE")


def at(folder: ProjectFolder, environment: str) -> Project:
    return Project.load(folder.root, environment=environment)


def drifted(folder: ProjectFolder, environment: str) -> list[str]:
    """Return what differs, with its class."""
    [result] = at(folder, environment).drift()
    return [f"{each.what}: {each.class_}" for each in result.drifts]


def blamed(folder: ProjectFolder, environment: str) -> tuple[str | None, str | None, str | None]:
    """Return version, author and reason of the column `legacy`."""
    [result] = at(folder, environment).blame(f"{TABLE}.legacy")
    [line] = result.lines_
    return line.version, line.author, line.description


def columns(lake: LakeBed) -> list[str]:
    return [f"{name} {kind}" for name, kind, *_ in lake.rows(f"DESCRIBE {TABLE}")]


def test_what_is_adopted_here_runs_elsewhere_and_what_is_reverted_is_undone(
    folder: ProjectFolder, lake: LakeBed
) -> None:
    """The second environment begins with the table as the migrations make it, and drifts in its turn."""
    session = lake.executor.open_session()
    session.execute(f"ALTER TABLE {TABLE} ADD COLUMN legacy string AFTER id")
    assert drifted(folder, "first") == ["column legacy: structural"]
    [adopted] = at(folder, "first").drift_adopt(reason="the loader's column", author="Ann")
    assert adopted.settled
    assert drifted(folder, "first") == []
    assert at(folder, "first").pending(spark=lake.spark)[0].pending == ()

    who = (adopted.version, "Ann", "the loader's column")
    assert blamed(folder, "first") == who

    session.execute(f"ALTER TABLE {TABLE} DROP COLUMN legacy")
    second = at(folder, "second")
    second.baseline("0001", reason="the table is there", spark=lake.spark)
    [applied] = second.migrate(spark=lake.spark)
    assert [each.version for each in applied.applied] == [adopted.version]
    assert columns(lake) == ["id int", "legacy string", "kind string"]
    assert drifted(folder, "second") == []
    assert blamed(folder, "second") == who

    session.execute(f"ALTER TABLE {TABLE} RENAME COLUMN kind TO category")
    session.execute(f"ALTER TABLE {TABLE} ADD PARTITION FIELD bucket(4, id)")
    at(folder, "second").drift_revert(reason="a mistake", author="Ann")
    at(folder, "second").migrate(spark=lake.spark)
    assert drifted(folder, "second") == []
    assert columns(lake)[:3] == ["id int", "legacy string", "kind string"]
    assert not any("bucket" in each for each in columns(lake))
    assert {each.statements for each in at(folder, "first").pending(spark=lake.spark)[0].pending} == {0}

    session.execute(f"ALTER TABLE {TABLE} ALTER COLUMN id TYPE bigint")
    session.execute(f"ALTER TABLE {TABLE} ALTER COLUMN id DROP NOT NULL")
    with pytest.raises(HistoryDisagrees) as refused:
        at(folder, "second").drift_revert(reason="a mistake", author="Ann")
    # Iceberg widens types only, and no column that may hold nulls begins to refuse them.
    assert "id cannot begin to refuse nulls" in refused.value.message
    assert "id cannot change from bigint to int" in refused.value.message
