"""What the table of a lost statement proves: that no commit has happened, or a single one, that of the statement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.apply.verdict import may_run_again, verdict
from glacierbase.model.shape import TableVersion
from glacierbase.run.run import tag_uuid
from glacierbase.sql import read
from glacierbase.sql.statement import Options, ParsedStatement

TABLE = "lake.a.t"
BEFORE = TableVersion(
    TABLE, "uuid-1", "file:///t/metadata/00003-c.metadata.json", 7, "file:///t/metadata/00002-b.metadata.json"
)
ABSENT = TableVersion.absent(TABLE)
TAG = "glacierbase;run;0007;2"
OF_STATEMENT = f"file:///t/metadata/00004-{tag_uuid(TAG)}.metadata.json"
OWN = replace(
    BEFORE, metadata="file:///t/metadata/00004-d.metadata.json", sequence=8, previous=BEFORE.metadata, tag=TAG
)

VERDICTS = [
    ("unchanged", BEFORE, False),
    ("one commit of its own", OWN, True),
    ("a commit of another statement of the same run", replace(OWN, tag="glacierbase;run;0007;1"), None),
    ("a commit of another application", replace(OWN, tag=None), None),
    ("an ALTER of whoever", replace(OWN, sequence=7, tag=None), None),
    # The last snapshot may be its own and older than the announcement, of an earlier run that used its tag.
    ("a change of metadata after a snapshot with its tag", replace(OWN, sequence=7), None),
    ("its own commit, then another one", replace(OWN, metadata="e", previous=OWN.metadata, sequence=9, tag=None), None),
    ("another commit, then its own", replace(OWN, metadata="e", previous="d", sequence=9), None),
    ("its own commit beside another in one commit", replace(OWN, sequence=9), None),
    ("rolled back to its snapshot before", replace(OWN, metadata="e", previous=OWN.metadata, sequence=8), None),
    ("its log does not reach back", replace(OWN, previous=None), None),
    ("an ALTER of its own without an engine", replace(OWN, metadata=OF_STATEMENT, sequence=7, tag=None), True),
    ("its own without an engine, then another one", replace(OWN, metadata="e", previous=OF_STATEMENT, sequence=7), True),
    ("another commit, then its own without an engine", replace(OWN, metadata=OF_STATEMENT, previous="d"), True),
    ("created by the statement after another writer dropped it", replace(OWN, uuid="uuid-2", metadata=OF_STATEMENT), True),
    ("gone", None, None),
    ("dropped", ABSENT, None),
    ("dropped and created again", replace(OWN, uuid="uuid-2", previous=None, sequence=1), None),
    ("dropped, and another one registered at the same place", replace(BEFORE, uuid="uuid-2"), None),
    ("format version 1", replace(OWN, sequence=0, tag=None), None),
]  # fmt: skip


@pytest.mark.parametrize(("now", "took_effect"), [case[1:] for case in VERDICTS], ids=[case[0] for case in VERDICTS])
def test_the_table_proves_only_no_commit_at_all_and_a_single_commit_of_the_statement(
    now: TableVersion | None, took_effect: bool | None
) -> None:
    """Everything else in between proves nothing."""
    found, why = verdict(BEFORE, now, TAG)
    assert found is took_effect
    assert TABLE in why


@pytest.mark.parametrize(
    ("now", "took_effect"),
    [
        (ABSENT, False),
        (replace(OWN, metadata=OF_STATEMENT, previous=None), True),
        (replace(OWN, metadata="e", previous=OF_STATEMENT), True),
        (replace(OWN, previous=None), None),
    ],
    ids=["still absent", "created by the statement", "created by it and changed", "created by another"],
)
def test_a_table_that_did_not_exist_proves_its_creation_by_the_name_of_its_metadata_file(
    now: TableVersion, took_effect: bool | None
) -> None:
    """Another writer may have created a table of that name."""
    assert verdict(ABSENT, now, TAG)[0] is took_effect


@pytest.mark.parametrize(
    ("now", "took_effect"),
    [
        (BEFORE, False),
        (replace(OWN, tag=None), False),
        (ABSENT, None),
        (replace(BEFORE, uuid="uuid-2"), None),
        (replace(OWN, table="lake.a.new"), True),
    ],
    ids=["unchanged", "changed by another", "gone", "another table", "under its new name"],
)
def test_a_table_that_was_to_be_renamed_proves_it_by_its_uuid(now: TableVersion, took_effect: bool | None) -> None:
    """A renamed table has its UUID under its new name."""
    assert verdict(BEFORE, now, TAG, ParsedStatement("rename_table"))[0] is took_effect


NAMESPACE = TableVersion("lake.a", "", "digest-1", 0, is_namespace=True)
CHANGED = replace(NAMESPACE, metadata="digest-2")
NO_NAMESPACE = TableVersion.absent("lake.a", is_namespace=True)
CONDITIONAL = Options(if_exists=True, if_not_exists=True)
EXISTENCE = [
    ("a table was dropped", "DROP TABLE", BEFORE, ABSENT, True),
    ("a table that was to be dropped is there", "DROP TABLE", BEFORE, replace(OWN, tag=None), False),
    ("another table has the name of the dropped one", "DROP TABLE", BEFORE, replace(BEFORE, uuid="uuid-2"), None),
    ("another client created a table that was to be dropped", "DROP TABLE IF", ABSENT, BEFORE, None),
    ("there is no table to drop", "DROP TABLE IF", ABSENT, ABSENT, False),
    ("a table cannot be read any more", "DROP TABLE", BEFORE, None, None),
    ("a table exists, whoever created it", "CREATE TABLE IF", ABSENT, BEFORE, True),
    ("a table existed before", "CREATE TABLE IF", BEFORE, OWN, True),
    ("another client may have created a table", "CREATE TABLE", ABSENT, BEFORE, None),
    ("a namespace was created", "CREATE NAMESPACE", NO_NAMESPACE, NAMESPACE, True),
    ("no namespace was created", "CREATE NAMESPACE IF", NO_NAMESPACE, NO_NAMESPACE, False),
    ("a namespace existed before", "CREATE NAMESPACE", NAMESPACE, NAMESPACE, False),
    ("a namespace may exist", "CREATE NAMESPACE IF", NAMESPACE, NAMESPACE, True),
    ("a namespace was dropped", "DROP NAMESPACE", NAMESPACE, NO_NAMESPACE, True),
    ("a namespace is there", "DROP NAMESPACE IF", NAMESPACE, NAMESPACE, False),
    ("another client created a namespace that was to be dropped", "DROP NAMESPACE IF", NO_NAMESPACE, NAMESPACE, None),
    ("a namespace has the same properties", "ALTER NAMESPACE", NAMESPACE, NAMESPACE, False),
    ("a namespace has other properties", "ALTER NAMESPACE", NAMESPACE, CHANGED, None),
    ("a namespace that was to be changed is gone", "ALTER NAMESPACE", NAMESPACE, NO_NAMESPACE, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "before", "now", "took_effect"), [case[1:] for case in EXISTENCE], ids=[case[0] for case in EXISTENCE]
)
def test_existence_proves_that_a_table_or_a_namespace_was_created_or_dropped(
    what: str, before: TableVersion, now: TableVersion | None, took_effect: bool | None
) -> None:
    """A statement with IF NOT EXISTS took effect wherever the name exists."""
    verb, kind, *conditional = what.lower().split()
    statement = ParsedStatement(f"{verb}_{kind}", options=CONDITIONAL if conditional else Options())
    found, why = verdict(before, now, TAG, statement)
    assert found is took_effect
    assert before.table in why


@pytest.mark.parametrize(
    ("sql", "may"),
    [
        ("CREATE TABLE IF NOT EXISTS lake.a.t (a INT) USING iceberg", True),
        ("ALTER TABLE lake.a.t DROP COLUMN IF EXISTS a", True),
        ("ALTER TABLE lake.a.t CREATE BRANCH IF NOT EXISTS b", True),
        ("ALTER TABLE lake.a.t DROP TAG IF EXISTS b", True),
        ("ALTER TABLE lake.a.t DROP COLUMN a", False),
        ("DROP TABLE IF EXISTS lake.a.t", False),
        ("DROP NAMESPACE IF EXISTS lake.a", False),
    ],
)
def test_a_conditional_statement_may_run_again_unless_it_drops_the_name(sql: str, may: bool) -> None:
    """Another client may have created a table of the dropped name meanwhile."""
    assert may_run_again(read(sql, "spark")) is may
