"""What no longer works on the copy after the new files: it is a finding of the statement that broke it."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.executors import CopiedView
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.copies import TABLE, FakeCopy
from tests.unit.capabilities.review.test_review import CATALOG, reviewed

VIEW = "lake.sleep.names"
DROP = f"ALTER TABLE {TABLE} DROP COLUMN device"


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch whose base has a table and a view; its new file drops a column between two other statements."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    project.file("0001_create.sql", f"CREATE TABLE {TABLE} (id STRING, device STRING) USING iceberg")
    commit_all(project.root)
    project.file("0002_drop.sql", f"SELECT 1;\n{DROP};\nSELECT 2")
    return project


def copy_with_view(**breaks: str) -> FakeCopy:
    """Return a copy that holds a view, and refuses trials after statements: a part of each by the statement's first word."""
    copy = FakeCopy()
    copy.views_after = {count: {VIEW: CopiedView("v", 1, "memory://v")} for count in range(1, 9)}
    copy.breaks = {
        {"drop": "DROP COLUMN", "create": "CREATE TABLE", "last": "SELECT 2"}[word]: part
        for word, part in breaks.items()
    }
    return copy


def broken(result: ReviewResult) -> list[tuple[str, int | None, str | None]]:
    return [
        (finding.code, finding.statement_index, finding.table)
        for finding in result.findings
        if finding.code.startswith("REPLAY_BROKEN")
    ]


def test_a_view_that_can_no_longer_be_read_is_an_error_of_the_statement_that_broke_it(branch: ProjectFolder) -> None:
    """The message is the engine's first line; the table of the statement names the view."""
    [result] = reviewed(branch, copy_with_view(drop=VIEW))
    assert broken(result) == [("REPLAY_BROKEN_VIEW", 2, VIEW)]
    [finding] = [finding for finding in result.findings if finding.code == "REPLAY_BROKEN_VIEW"]
    assert finding.message == f"on the throw-away copy: the view {VIEW} can no longer be read: after DROP COLUMN"
    assert [(table.table, table.files, table.breaks) for table in result.tables] == [
        (TABLE, "untouched", (f"view {VIEW}",))
    ]
    assert "  existing files untouched; 0 snapshots added; breaks view lake.sleep.names" in list(
        map(str, result.lines())
    )


def test_what_the_base_broke_is_no_finding(branch: ProjectFolder) -> None:
    """The view and an INSERT into the table are refused before the new files, too."""
    [result] = reviewed(branch, copy_with_view(create=VIEW))
    assert broken(result) == []
    [result] = reviewed(branch, copy_with_view(create="INSERT INTO"))
    assert broken(result) == []
    assert [table.breaks for table in result.tables] == [()]


def test_a_changed_table_that_refuses_statements_is_one_finding(branch: ProjectFolder) -> None:
    """A changed table is read and written after the new files; all refusals are one finding of the statement that causes them."""
    copy = copy_with_view(drop=f" {TABLE}")
    [result] = reviewed(branch, copy)
    assert broken(result) == [("REPLAY_BROKEN_TABLE", 2, TABLE)]
    assert [table.breaks for table in result.tables] == [("SELECT", "INSERT", "DELETE")]
    assert result.error is not None


def test_a_table_that_is_not_changed_is_not_tried(branch: ProjectFolder) -> None:
    """The statement after the last change of the table breaks it in a way that the copy does not record."""
    branch.file("0002_drop.sql", "SELECT 2")
    [result] = reviewed(branch, copy_with_view(last=TABLE))
    assert broken(result) == []


def test_a_comment_allows_a_broken_view(branch: ProjectFolder) -> None:
    """The comment is above the statement that breaks it."""
    allows = "-- GLACIERBASE_ALLOW: REPLAY_BROKEN_VIEW nobody reads it\n-- GLACIERBASE_ALLOW: DS103 nor this"
    branch.file("0002_drop.sql", f"SELECT 1;\n{allows}\n{DROP}")
    [result] = reviewed(branch, copy_with_view(drop=VIEW))
    assert broken(result) == [("REPLAY_BROKEN_VIEW", 2, VIEW)]
    assert result.error is None


@pytest.mark.parametrize(
    "message", ["access denied (java.lang.RuntimePermission loadLibrary)", "no jar holds the class a.Codec"]
)
def test_what_only_the_copy_lacks_is_no_finding(message: str, branch: ProjectFolder) -> None:
    """A codec that loads a library or a class may work outside of the sandbox."""
    copy = copy_with_view(drop=TABLE)
    copy.trial_error = message
    [result] = reviewed(branch, copy)
    assert broken(result) == []


def test_views_that_a_statement_breaks_with_one_error_are_one_finding(branch: ProjectFolder) -> None:
    """The message names all of them, and so does the table that they read."""
    copy = copy_with_view(drop="LIMIT 0")
    names = [VIEW, "lake.sleep.x", "lake.sleep.y"]
    views = {name: CopiedView(name, 1, f"memory://{name}") for name in names}
    copy.views_after = dict.fromkeys(range(1, 9), views)
    [result] = reviewed(branch, copy)
    assert broken(result) == [("REPLAY_BROKEN_VIEW", 2, VIEW)]
    [message] = [finding.message for finding in result.findings if finding.code == "REPLAY_BROKEN_VIEW"]
    assert f"the views {', '.join(names)} can no longer be read: " in message
    assert result.tables[0].breaks == tuple(f"view {name}" for name in names)
