"""Delta's log as recorded rows: the version of a table, and its shape after each commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.executors.spark.delta import past_of, table_version
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Column, Past, Shape
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog

FOLDER = "/data/t/_delta_log/"
BEGIN = datetime(2026, 11, 20, 10, tzinfo=timezone.utc)
DELTA = "      spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog\n"
UNITY = "      spark.sql.catalog.unity: io.unitycatalog.spark.UCSingleCatalog\n"
FILE = LAKE.replace("    sparkConf:\n", f"    sparkConf:\n{DELTA}{UNITY}") + "store: {catalog: lake}\n"


def entry(version: int, operation: str, user: str | None = None, tag: str | None = None) -> tuple[Any, ...]:
    """Return a row of DESCRIBE HISTORY."""
    at = (BEGIN + timedelta(minutes=version)).astimezone().replace(tzinfo=None)
    return (version, at, None, user, operation, {}, None, None, None, version - 1, "", True, {}, tag, "Spark/4.1")


def metadata(*columns: str, **configuration: str) -> dict[str, Any]:
    fields = [{"name": name, "type": "integer", "nullable": True, "metadata": {}} for name in columns]
    schema = json.dumps({"type": "struct", "fields": fields})
    return {"id": "id-1", "schemaString": schema, "partitionColumns": [], "configuration": configuration}


def clustered(*columns: str) -> dict[str, Any]:
    configuration = json.dumps({"clusteringColumns": [[column] for column in columns]})
    return {"domain": "delta.clustering", "configuration": configuration, "removed": False}


class Log:
    """A session in which one table has a log."""

    def __init__(
        self, entries: Sequence[tuple[Any, ...]], actions: Mapping[int, Mapping[str, Any]], now: Shape | None = None
    ) -> None:
        self.entries, self.actions, self.now = entries, actions, now
        self.queries: list[str] = []

    def shape(self, table: str) -> Shape | None:
        return self.now

    def context(self) -> SessionContext:
        return SessionContext("spark_catalog", "`my db`")

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.queries.append(sql)
        if sql.startswith("DESCRIBE HISTORY"):
            if not self.entries:
                raise StatementRefused("DELTA_TABLE_ONLY_OPERATION", "not a Delta table")
            return [tuple(row) for row in self.entries][: int(sql.rpartition(" ")[2])]
        after = sql.partition("file_name > '")[2].partition("'")[0]
        return [
            (f"{version:020}.json", json.dumps({kind: action}))
            for version, actions in self.actions.items()
            for kind, action in actions.items()
            if f"{version:020}.json" > after
        ]


def shape(version: int, *columns: str, **properties: str) -> Shape:
    made = tuple(Column(None, column, "int", required=False) for column in columns)
    location = f"{FOLDER}{version:020}.json"
    return Shape("c.t", "id-1", "delta", 2, made, properties=properties, metadata_location=location)


def past(log: Log, since: int | None) -> Past:
    made = past_of(log, "c.t", None if since is None else f"{FOLDER}{since:020}.json")  # type: ignore[arg-type]
    assert made
    return made


HISTORY = [
    entry(3, "WRITE"), entry(2, "ADD COLUMNS", "ann"), entry(1, "CLUSTER BY"), entry(0, "CREATE TABLE"),
]  # fmt: skip
ACTIONS = {
    0: {"metaData": metadata("a"), "domainMetadata": clustered("a")},
    1: {"domainMetadata": clustered("a", "b")},
    2: {"metaData": metadata("a", "b", x="1")},
}
NOW = shape(3, "a", "b", x="1", clusteringColumns='[["a"],["b"]]')


def test_a_change_has_the_time_the_user_and_the_operation_of_its_commit() -> None:
    """The clock is that of the log; later commits of rows have the same shape."""
    made = past(Log(HISTORY, ACTIONS, NOW), 1)
    assert [(version.operation, version.by) for version in made.versions] == [
        ("ADD COLUMNS, version 2", "ann (Spark/4.1)"), ("WRITE, version 3", "Spark/4.1"),
    ]  # fmt: skip
    assert made.versions[0].at == BEGIN + timedelta(minutes=2)
    assert made.versions[-1].shape == NOW
    assert made.is_whole


def test_the_shape_of_each_version_is_composed_of_the_last_actions_up_to_it() -> None:
    """An action replaces the columns and properties, or the clustering, and leaves the other."""
    made = past(Log(HISTORY, ACTIONS, NOW), None)
    assert made.is_whole
    assert [
        ([column.name for column in version.shape.columns], dict(version.shape.properties)) for version in made.versions
    ] == [
        (["a"], {"clusteringColumns": '[["a"]]'}),
        (["a"], {"clusteringColumns": '[["a"],["b"]]'}),
        (["a", "b"], {"clusteringColumns": '[["a"],["b"]]', "x": "1"}),
        (["a", "b"], {"clusteringColumns": '[["a"],["b"]]', "x": "1"}),
    ]


def test_a_part_that_a_deleted_commit_set_leaves_the_past_incomplete() -> None:
    """The commits before version 1 were deleted: the clustering then is unknown, and no shape is invented."""
    actions = {1: {"metaData": metadata("a")}, 2: {"domainMetadata": clustered("b")}}
    made = past(Log(HISTORY[:3], actions, shape(3, "a", clusteringColumns='[["b"]]')), 0)
    assert [version.operation for version in made.versions] == ["ADD COLUMNS, version 2", "WRITE, version 3"]
    assert not made.is_whole


def test_commits_of_rows_alone_leave_a_whole_past_without_another_shape() -> None:
    """No action since then has changed the shape."""
    made = past(Log(HISTORY, {}, NOW), 2)
    assert made.is_whole
    assert [version.shape for version in made.versions] == [NOW]


def test_the_log_of_another_place_is_no_past_of_the_record() -> None:
    """The table was created again elsewhere: all of its commits count, and the first may be missing."""
    made = past_of(Log(HISTORY, ACTIONS, NOW), "c.t", "/other/_delta_log/00000000000000000001.json")  # type: ignore[arg-type]
    assert made
    assert (len(made.versions), made.is_whole) == (4, False)


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("t", "spark_catalog.`my db`.t"),
        ("s.t", "spark_catalog.s.t"),
        ("unity.s.t", "unity.s.t"),
        ("delta.`/data/t`", "delta.`/data/t`"),
        ("delta.`s3://bucket/a b`", "delta.`s3://bucket/a b`"),
    ],
)
def test_the_version_of_a_delta_table_is_the_commit_with_its_tag(
    project: ProjectFolder, written: str, whole: str
) -> None:
    """The session resolves the name as the statement had it; the version has the name that holds in any session."""
    project.catalog(FILE)
    log = Log([entry(3, "WRITE", tag="tag"), entry(2, "WRITE"), entry(1, "WRITE")], {})
    version = table_version(only_catalog(Path(project.root)), log, written)  # type: ignore[arg-type]
    assert version
    assert (version.table, version.sequence, version.tag, version.by_engine) == (whole, 3, "tag", True)
    assert version.metadata == "version 3 of 2026-11-20 10:03:00.000000 UTC"
    assert version.previous == "version 2 of 2026-11-20 10:02:00.000000 UTC"
    assert [sql.count("`") % 2 for sql in log.queries] == [0]


@pytest.mark.parametrize("written", ["lake.a.t", "parquet.`/data/t`"])
def test_no_log_is_read_of_a_table_that_cannot_be_delta(project: ProjectFolder, written: str) -> None:
    """The class of the catalog, or the format of the path, excludes it without a query."""
    project.catalog(FILE)
    log = Log([entry(3, "WRITE")], {})
    assert table_version(only_catalog(Path(project.root)), log, written) is None  # type: ignore[arg-type]
    assert log.queries == []


def test_a_view_and_a_table_of_files_have_no_version(project: ProjectFolder) -> None:
    """Delta refuses to describe their history."""
    project.catalog(FILE)
    assert table_version(only_catalog(Path(project.root)), Log([], {}), "s.v") is None  # type: ignore[arg-type]
