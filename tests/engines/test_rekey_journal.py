"""The journal of a re-key, in a file and in DynamoDB: what is written is read, in order, by another one on the same place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import boto3
import pytest

from glacierbase.capabilities.rekey.journal import Journal, journal_path, open_journal, state
from glacierbase.errors import StatementRefused
from tests.support.dynamodb import make_journal

ADDRESS = "s3://shop/events ü/"
Open = Callable[[str], Journal]


@pytest.fixture(params=["file", "dynamodb"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a journal of one place, by the address of its objects."""
    place = ""
    if request.param == "dynamodb":
        address, place = request.getfixturevalue("dynamodb"), f"dynamodb:journal{tmp_path.name[-3:]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", address)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        make_journal(boto3.client("dynamodb"), place.partition(":")[2])
    return lambda objects: open_journal(objects, place, tmp_path)


def test_entries_are_read_in_order_by_kind_and_data_set(opened: Open) -> None:
    """An entry of the same name replaces the former one; other kinds and data sets are apart."""
    with closing(opened(ADDRESS)) as journal:
        journal.put("copied", {"b": {"bytes": 2}, "a": {"bytes": 1}})
        journal.put("state", {"manifest": {"digest": "1"}})
        journal.put("state", {"manifest": {"digest": "2"}})
    with closing(opened(ADDRESS)) as journal:
        assert list(journal.rows("copied")) == [("a", {"bytes": 1}), ("b", {"bytes": 2})]
        assert state(journal, "manifest") == {"digest": "2"}
        assert state(journal, "approved") == {}
    with closing(opened("s3://shop/others/")) as journal:
        assert list(journal.rows("copied")) == []


def test_a_journal_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Whatever is in its place, with its name."""
    path = journal_path(ADDRESS, tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(StatementRefused, match="cannot be read"):
        open_journal(ADDRESS, "", tmp_path)
    with pytest.raises(StatementRefused, match="is not 'dynamodb:TABLE'"):
        open_journal(ADDRESS, "s3://elsewhere", tmp_path)
