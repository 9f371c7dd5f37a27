"""The differences of tables of the copy that their shapes do not show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from glacierbase.capabilities.review.copied_tables import CopiedTable, CopyReader, compare_copied
from glacierbase.errors import StatementRefused
from tests.unit.capabilities.review.copies import metadata

NAME = "lake.a.t"
SUMMARY = {"operation": "append", "total-records": "3", "total-position-deletes": "1"}
FIELD = {"source-id": 1, "field-id": 1000, "name": "id_bucket_4", "transform": "bucket[4]"}

SHARD = {**FIELD, "name": "shard"}


def table(**changes: Any) -> CopiedTable:
    return CopiedTable.of(NAME, "place", json.dumps({**json.loads(metadata("id")), **changes}))


def snapshots(*summaries: Mapping[str, str]) -> dict[str, Any]:
    """Return the keys of metadata with a snapshot for each summary; the last one is current."""
    entries = [
        {
            "snapshot-id": number,
            "sequence-number": number,
            "timestamp-ms": 1795379254776,
            "manifest-list": "s3://x",
            "summary": summary,
        }
        for number, summary in enumerate(summaries, start=1)
    ]
    refs = {"main": {"type": "branch", "snapshot-id": len(entries)}, "old": {"type": "tag", "snapshot-id": 1}}
    return {
        "snapshots": entries,
        "current-snapshot-id": len(entries),
        "refs": refs,
        "last-sequence-number": len(entries),
    }


def specs(*fields: Mapping[str, object], last: int = 1) -> dict[str, Any]:
    """Return the keys of metadata with a partitioning beside none."""
    every = [{"spec-id": 0, "fields": []}, {"spec-id": last, "fields": list(fields)}]
    return {"partition-specs": every, "default-spec-id": last, "last-partition-id": 1000}


def compared(before: CopiedTable, after: CopiedTable, *rewritten: str) -> tuple[list[str], str | None, int]:
    """Return the differences as text, what happens to files, and the count of new snapshots."""
    [change] = compare_copied({NAME: before}, {NAME: after}, (), rewritten) or [None]
    return (
        ([difference.line() for difference in change.diff], change.files, change.snapshots) if change else ([], None, 0)
    )


ONE = snapshots(SUMMARY)
DELETED = {"operation": "delete", "deleted-data-files": "1", "total-records": "0"}
OVERWRITTEN = {"operation": "overwrite", "deleted-data-files": "1", "added-data-files": "1", "total-records": "2"}


@pytest.mark.parametrize(
    ("before", "after", "rewritten", "expected"),
    [
        (ONE, ONE, (), ([], None, 0)),
        ({}, {"location": "s3://new"}, (), (["~ location: s3://lake/event -> s3://new"], "untouched", 0)),
        (ONE, snapshots(SUMMARY, DELETED), (), (["~ rows of the copy: 2 -> 0"], "removed", 1)),
        (ONE, snapshots(SUMMARY, OVERWRITTEN), (), ([], "rewritten", 1)),
        (ONE, snapshots(SUMMARY, SUMMARY), (), ([], "untouched", 1)),
        (ONE, {**ONE, "refs": {}}, (), (["- tag old: snapshot 1"], "untouched", 0)),
        ({}, {"location": "s3://new"}, (NAME,), (["~ location: s3://lake/event -> s3://new"], "rewritten", 0)),
        ({}, specs(FIELD), (), (["+ partitioning: bucket(4, id)"], "left in spec 0", 0)),
        ({}, specs(SHARD), (), (["+ partitioning: bucket(4, id)", "+ partition field bucket(4, id): shard"], "left in spec 0", 0)),
        (specs(FIELD), specs(SHARD), (), (["~ partition field bucket(4, id): id_bucket_4 -> shard"], "untouched", 0)),
        (specs(FIELD), specs(FIELD, last=2), (), (["~ spec id: 1 -> 2"], "left in spec 1", 0)),
        (specs(FIELD), {}, (), (["- partitioning: bucket(4, id)"], "left in spec 1", 0)),
    ],
)  # fmt: skip
def test_what_a_shape_does_not_show_is_compared(
    before: dict[str, Any],
    after: dict[str, Any],
    rewritten: tuple[str, ...],
    expected: tuple[list[str], str | None, int],
) -> None:
    """Location, refs, rows, and names of partition fields; statements show what is rewritten where the copy has no files."""
    assert compared(table(**before), table(**after), *rewritten) == expected


def test_metadata_is_read_once_for_a_location_and_an_unsupported_table_is_left_out() -> None:
    """PyIceberg refuses invalid metadata; the engine does not describe a table whose files are gone."""

    class Engine:
        def __init__(self) -> None:
            self.places = {"lake.a.t": "first", "lake.a.v": "invalid", "lake.a.w": "gone"}
            self.reads: list[str] = []

        def locations(self) -> dict[str, str]:
            return dict(self.places)

        def metadata(self, location: str) -> str:
            self.reads.append(location)
            if location == "gone":
                raise StatementRefused("X", "its files are gone")
            text = metadata("id")
            return text.replace('"type": "string"', '"type": []') if location == "invalid" else text

    engine = Engine()
    reader = CopyReader(engine)  # type: ignore[arg-type]
    assert list(reader.read()) == ["lake.a.t"]
    assert reader.unread == ("lake.a.v", "lake.a.w")
    engine.places["lake.a.t"] = "second"
    assert reader.read()["lake.a.t"].metadata == "second"
    assert engine.reads == ["first", "invalid", "gone", "second"]
