"""`review` of plain DDL on tables in memory: no engine starts, and no file of a table is touched."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from unittest.mock import patch

import pytest

from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.errors import GlacierbaseError
from glacierbase.executors.spark import ENGINE
from glacierbase.project.project import Project
from glacierbase.run import sealed as sealing
from glacierbase.run.cache import cache_folder
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.test_review import CATALOG

TABLE = "lake.sleep.event"


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch whose base creates a table. The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    project.file("0001_create.sql", f"CREATE TABLE {TABLE} (id BIGINT, device STRING, size INT) USING iceberg")
    commit_all(project.root)
    return project


def reviewed(project: ProjectFolder) -> ReviewResult:
    """Review the branch where an engine must not start."""
    with patch.object(type(ENGINE), "open_copy", side_effect=AssertionError("an engine started")):
        try:
            [result] = Project.load(project.root).review("main")
        except GlacierbaseError as error:
            [result] = error.results
    return result


def found(result: ReviewResult) -> list[str]:
    """Return the differences of the tables, a line each."""
    return [
        f"{table.table} {table.change}: {difference.what} {difference.name} {difference.before} {difference.after}"
        for table in result.tables
        for difference in table.diff
    ]


def test_plain_ddl_is_replayed_without_an_engine(branch: ProjectFolder) -> None:
    """The tables and the kind of the file are those of a replay, and the document says that no engine ran."""
    branch.file(
        "0002_change.sql",
        f"ALTER TABLE {TABLE} ADD COLUMN at TIMESTAMP AFTER id;\n"
        f"ALTER TABLE {TABLE} ALTER COLUMN size TYPE BIGINT;\n"
        f"ALTER TABLE {TABLE} ADD PARTITION FIELD days(at);\n"
        "CREATE TABLE lake.other.t (a INT) USING iceberg;",
    )
    result = reviewed(branch)
    assert result.replay is not None
    assert (result.replay.engine, result.replay.replayed) == ("direct", 5)
    assert [(file.kind, file.engine) for file in result.files] == [("metadata only", "direct")]
    assert [(table.table, str(table.change)) for table in result.tables] == [
        ("lake.other.t", "created"),
        (TABLE, "altered"),
    ]
    assert f"{TABLE} altered: type size int bigint" in found(result)


def test_a_second_review_takes_the_base_from_the_cache(branch: ProjectFolder) -> None:
    """Only the new file runs."""
    branch.file("0002_add.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    first, second = reviewed(branch), reviewed(branch)
    assert first.replay
    assert second.replay
    assert (first.replay.cached, second.replay.cached) == (False, True)
    assert (first.replay.replayed, second.replay.replayed) == (2, 1)
    assert first.tables == second.tables


@pytest.mark.parametrize("content", [b"{}", b"no JSON", b"[" * 100_000, None])
def test_metadata_that_is_none_is_ignored(branch: ProjectFolder, content: bytes | None) -> None:
    """The base runs again, and the result is that of a review without a cache."""
    branch.file("0002_add.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    first = reviewed(branch)
    [path] = cache_folder("replays").iterdir()
    document = json.loads(sealing.opened(path.read_bytes()))
    [location] = document["files"]
    if content is None:
        del document["files"][location]
    else:
        document["files"][location] = base64.b64encode(content).decode()
    path.write_bytes(sealing.sealed(json.dumps(document).encode()))
    second = reviewed(branch)
    assert second.replay
    assert (second.replay.cached, second.error) == (False, None)
    assert [table.diff for table in second.tables] == [table.diff for table in first.tables]


def test_a_lost_column_is_found(branch: ProjectFolder) -> None:
    """The findings are those of a replay in the engine."""
    branch.file("0002_drop.sql", f"ALTER TABLE {TABLE} DROP COLUMN device")
    result = reviewed(branch)
    assert "DS103" in [finding.code for finding in result.findings]
    assert [file.kind for file in result.files] == ["destructive"]


def test_a_refused_statement_has_the_words_of_the_engine(branch: ProjectFolder) -> None:
    """The statements after it are left out."""
    branch.file("0002_add.sql", f"ALTER TABLE {TABLE} DROP TAG nightly;\nALTER TABLE {TABLE} ADD COLUMN y INT")
    result = reviewed(branch)
    [finding] = [finding for finding in result.findings if finding.code == "REPLAY_REFUSED"]
    assert "Tag does not exist: nightly" in finding.message
    assert found(result) == []


def test_no_file_of_a_table_is_touched(branch: ProjectFolder, tmp_path: Path) -> None:
    """A location on this machine is only a text."""
    place = tmp_path / "stolen"
    branch.file("0002_make.sql", f"CREATE TABLE lake.a.t (a INT) USING iceberg LOCATION 'file:{place}'")
    assert [(table.table, str(table.change)) for table in reviewed(branch).tables] == [("lake.a.t", "created")]
    assert not place.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW lake.sleep.v AS SELECT id FROM lake.sleep.event",
        f"INSERT INTO {TABLE} VALUES (1, 'a', 2)",
        f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('write.format.default' = 'nonsense')",
    ],
)
def test_what_rows_or_queries_show_needs_the_engine(branch: ProjectFolder, sql: str) -> None:
    """A statement that is not plain, and a property by which rows are written."""
    branch.file("0002_other.sql", sql)
    with pytest.raises(AssertionError, match="an engine started"):
        reviewed(branch)


@pytest.mark.parametrize(
    ("table", "is_direct"), [("lake.a.other", True), ("lake.a.written", False), ("lake.a.renamed", False)]
)
def test_a_property_of_rows_in_the_base_concerns_its_table_alone(
    branch: ProjectFolder, table: str, is_direct: bool
) -> None:
    """A change of that table is tried with rows, which needs the engine; a change of another one does not."""
    written = "(id INT) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc')"
    branch.file(
        "0002_more.sql",
        f"CREATE TABLE lake.a.written {written}; CREATE TABLE lake.a.other (id INT) USING iceberg;"
        f" CREATE TABLE lake.a.before {written}; ALTER TABLE lake.a.before RENAME TO a.renamed",
    )
    commit_all(branch.root, "more")
    branch.file("0003_change.sql", f"ALTER TABLE {table} ADD COLUMN x INT")
    if is_direct:
        result = reviewed(branch)
        assert result.replay
        assert result.replay.engine == "direct"
    else:
        with pytest.raises(AssertionError, match="an engine started"):
            reviewed(branch)
