"""What the table of a lost statement proves: that no commit has happened, or a single one, that of the statement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.apply.verdict import verdict
from glacierbase.model.shape import TableVersion
from glacierbase.run.run import tag_uuid

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
def test_a_table_that_was_to_be_dropped_or_renamed_proves_it_by_its_uuid(
    now: TableVersion, took_effect: bool | None
) -> None:
    """Who dropped a table that is gone is not proven: another writer may have dropped or renamed it."""
    assert verdict(BEFORE, now, TAG, ends_name=True)[0] is took_effect
