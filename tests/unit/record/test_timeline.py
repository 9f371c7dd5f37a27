"""The timelines of tables, from what the events of a history record."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from glacierbase.errors import NeedsRepair
from glacierbase.history.details import Details, to_json
from glacierbase.history.records import fold
from glacierbase.model.migration import Event, EventType, State
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.record.shapes import TableRecord, table_records, to_document
from glacierbase.record.timeline import Timeline, timelines

ID = Column(1, "id", "bigint", required=True)
NAME = Column(2, "name", "string", comment="of the user", default='"none"')
SHAPE = Shape("lake.a.t", "u-1", "iceberg", 2, (ID,), metadata_location="s3://b/1.json", schema_id=0)
WIDER = replace(SHAPE, columns=(ID, NAME), metadata_location="s3://b/2.json", schema_id=1)
NOON = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)


def history(*files: tuple[TableRecord, ...] | None, tables: tuple[str, ...] = ("lake.a.t",)) -> tuple[Timeline, ...]:
    """Return the timelines after files 1, 2, …, each with its records; None for one that left none."""
    events: list[Event] = []
    for version, records in enumerate(files, start=1):
        start = Event(
            1, 2 * version - 1, "r", "lake", "dev", EventType.STARTED.value, State.RUNNING.value, str(version),
            statement_total=1, tables=json.dumps(tables), recorded_at=NOON + timedelta(hours=version),
        )  # fmt: skip
        details = to_json(Details(tables=tuple(map(to_document, records or ()))))
        end = {"event": EventType.APPLIED.value, "state": State.APPLIED.value, "details": details}
        events += [start, replace(start, sequence=2 * version, **end)]
    return timelines(fold(events))


def told(found: Timeline) -> list[tuple[str | None, list[str] | None, str]]:
    """Return version, columns and origin of each moment."""
    return [
        (each.event.version, [column.name for column in each.shape.columns] if each.shape else None, str(each.origin))
        for each in found.moments
    ]


def test_a_record_is_read_as_it_was_written() -> None:
    """All that a shape holds comes back from the details of an event."""
    shape = replace(
        WIDER,
        partitioning=(PartitionField(1000, "day", "at", "day"),),
        sorting=(SortField("id", "identity", "asc", "last"),),
        identifiers=("id",),
        properties={"a": "1", "empty": ""},
    )
    records = (
        TableRecord("lake.a.t", shape, SHAPE, True),
        TableRecord("x.y", None, None, True),
        TableRecord("z", unread="gone"),
    )
    event = Event(
        1, 1, "r", "lake", "dev", "applied", details=to_json(Details(tables=tuple(map(to_document, records))))
    )
    assert table_records(event) == records


@pytest.mark.parametrize(
    "tables",
    [[{"table": 1}], [{"table": "t", "after": {"table": "t"}}], [{"table": "t", "after": {"columns": 3}}], [3]],
)
def test_a_record_that_is_not_readable_is_a_damaged_history(tables: list[object]) -> None:
    """The error names the event, as for all other details."""
    event = Event(1, 7, "r", "lake", "dev", "applied", details=json.dumps({"tables": tables}))
    with pytest.raises(NeedsRepair, match="event 7") as caught:
        table_records(event)
    assert caught.value.code == "HISTORY_DAMAGED"


def test_each_change_names_the_file_that_made_it() -> None:
    """A file after which the table is the same is no moment of it."""
    same = replace(WIDER, metadata_location="s3://b/3.json")
    [found] = history(
        (TableRecord("lake.a.t", SHAPE),), (TableRecord("lake.a.t", WIDER),), (TableRecord("lake.a.t", same),)
    )
    assert told(found) == [("1", ["id"], "migration"), ("2", ["id", "name"], "migration")]


def test_a_change_that_no_file_made_is_one_from_outside() -> None:
    """The next file that touches the table sees it, and keeps its own change apart."""
    third = replace(WIDER, columns=(ID, NAME, Column(3, "x", "int")))
    [found] = history((TableRecord("lake.a.t", SHAPE),), (TableRecord("lake.a.t", third, WIDER, True),))
    assert told(found) == [
        ("1", ["id"], "migration"), ("2", ["id", "name"], "outside"), ("2", ["id", "name", "x"], "migration"),
    ]  # fmt: skip


def test_after_a_file_without_a_record_nobody_is_blamed() -> None:
    """The file may have made the change that the next one found: that is said, and nothing else."""
    [found] = history((TableRecord("lake.a.t", SHAPE),), None, (TableRecord("lake.a.t", WIDER, WIDER, True),))
    assert told(found) == [("1", ["id"], "migration"), ("3", ["id", "name"], "not recorded")]
    [found] = history((TableRecord("lake.a.t", SHAPE),), (TableRecord("lake.a.t", unread="no answer"),))
    assert [event.version for event in found.unrecorded] == ["2"]


def test_a_renamed_table_keeps_its_timeline() -> None:
    """The record of the old name says that there is no such table any more; the uuid is that of the new one."""
    new = replace(SHAPE, table="lake.a.u")
    for records in (
        (TableRecord("lake.a.t"), TableRecord("lake.a.u", new)),
        (TableRecord("lake.a.u", new), TableRecord("lake.a.t")),
    ):
        [found] = history((TableRecord("lake.a.t", SHAPE),), records, tables=("lake.a.t", "lake.a.u"))
        assert told(found) == [("1", ["id"], "migration"), ("2", ["id"], "migration")]
        assert found.table == "lake.a.u"


def test_a_table_that_was_published_by_a_rename_lives_on_under_its_later_names() -> None:
    """Files rename a new table to `events` twice, by short names. The former one is `events_old` until a statement drops it."""
    first, second = (replace(SHAPE, table="lake.a.events_new", uuid=uuid) for uuid in ("u-1", "u-2"))
    files = (
        (TableRecord("lake.a.events_new", first),),
        (TableRecord("lake.a.events_new"), TableRecord("events", replace(first, table="lake.a.events"))),
        (TableRecord("lake.a.events_new", second),),
        (TableRecord("lake.a.events"), TableRecord("events_old", replace(first, table="lake.a.events_old"))),
        (TableRecord("lake.a.events_new"), TableRecord("events", replace(second, table="lake.a.events"))),
    )
    old, new = history(*files)
    assert (old.table, old.shape is not None, new.table, new.shape is not None) == (
        "lake.a.events_old", True, "lake.a.events", True,
    )  # fmt: skip
    old, new = history(*files, (TableRecord("lake.a.events_old"),))
    assert (old.shape, old.moments[-1].event.version, new.table) == (None, "6", "lake.a.events")


def test_a_table_renamed_by_a_part_of_a_name_is_dropped_by_the_whole_one() -> None:
    """`RENAME TO a.u` leaves out the catalog, `DROP TABLE lake.a.u` does not."""
    new = replace(SHAPE, table="lake.a.u")
    renamed = (TableRecord("lake.a.t"), TableRecord("a.u", new))
    [found] = history((TableRecord("lake.a.t", SHAPE),), renamed, (TableRecord("lake.a.u"),))
    assert told(found) == [("1", ["id"], "migration"), ("2", ["id"], "migration"), ("3", None, "migration")]


@pytest.mark.parametrize("uuids", [("u-1", "u-2"), (None, None)])
def test_a_table_made_anew_under_its_name_is_another_one(uuids: tuple[str | None, str | None]) -> None:
    """The timeline of the first one ends; also where the format has no uuids."""
    first, second = (replace(SHAPE, uuid=uuid) for uuid in uuids)
    one, two = history(
        (TableRecord("lake.a.t", first),), (TableRecord("lake.a.t"),), (TableRecord("lake.a.t", second),)
    )
    assert told(one) == [("1", ["id"], "migration"), ("2", None, "migration")]
    assert told(two) == [("3", ["id"], "migration")]


def test_a_table_dropped_and_made_anew_by_one_file_is_another_one() -> None:
    """The record of the file shows the new one only, with another uuid."""
    one, two = history((TableRecord("lake.a.t", SHAPE),), (TableRecord("lake.a.t", replace(SHAPE, uuid="u-2")),))
    assert told(one) == [("1", ["id"], "migration"), ("2", None, "migration")]
    assert told(two) == [("2", ["id"], "migration")]


def test_a_table_that_was_recorded_without_an_id_keeps_its_timeline() -> None:
    """A former version gave none, or the metadata could not be read; nothing says that the table is another one."""
    [found] = history((TableRecord("lake.a.t", replace(SHAPE, uuid=None)),), (TableRecord("lake.a.t", WIDER),))
    assert told(found) == [("1", ["id"], "migration"), ("2", ["id", "name"], "migration")]


def test_a_history_without_records_has_no_timelines() -> None:
    """Such as one of a former version."""
    assert history(None, None) == ()


def lost(end: EventType | None, tables: str | None, *, is_recorded: bool = False) -> Timeline:
    """Return the timeline of a table after one file with a record, and a second one that ended so, or not at all.

    Args:
        is_recorded: whether the second one has a record of the table, too.
    """
    first = Event(
        1, 1, "r", "lake", "dev", EventType.STARTED.value, State.RUNNING.value, "1", statement_total=1,
        tables='["lake.a.t"]', recorded_at=NOON,
    )  # fmt: skip
    details = to_json(Details(tables=(to_document(TableRecord("lake.a.t", SHAPE)),)))
    events = [first, replace(first, sequence=2, event="applied", state="applied", details=details)]
    events.append(replace(first, sequence=3, version="2", tables=tables))
    if end:
        record = details if is_recorded else None
        events.append(replace(events[-1], sequence=4, event=end.value, state=end.value, details=record))
    [found] = timelines(fold(events))
    return found


@pytest.mark.parametrize("end", [EventType.UNKNOWN, EventType.INTERRUPTED])
def test_a_file_that_ended_without_a_record_leaves_doubts_about_its_table_only(end: EventType) -> None:
    """The file's statement may have taken effect; the record of the table may be outdated."""
    found = lost(end, '["lake.a.t"]')
    assert (found.is_certain, [event.version for event in found.unrecorded]) == (False, ["2"])
    assert lost(end, '["lake.a.u"]').is_certain


@pytest.mark.parametrize("end", [None, EventType.UNKNOWN, EventType.APPLIED])
def test_a_file_that_is_not_understood_leaves_doubts_about_every_table(end: EventType | None) -> None:
    """The file names none of them, and its run may have been lost."""
    found = lost(end, None)
    assert (found.is_certain, found.unrecorded) == (False, ())


@pytest.mark.parametrize(("end", "is_certain"), [(EventType.APPLIED, True), (EventType.UNKNOWN, False)])
def test_a_record_at_an_unknown_outcome_leaves_doubts_about_every_table(end: EventType, is_certain: bool) -> None:
    """The statement, which may change any table, may take effect after the record."""
    assert lost(end, None, is_recorded=True).is_certain is is_certain


def test_a_table_that_another_record_finds_under_a_new_name_was_renamed() -> None:
    """The record that did not find it under its old name does not mean that it was dropped."""
    moved = replace(WIDER, table="lake.a.u")
    gone = TableRecord("lake.a.t", None, None, True)
    found = TableRecord("lake.a.u", moved, replace(SHAPE, table="lake.a.u"), True)
    [timeline] = history((TableRecord("lake.a.t", SHAPE),), (gone,), (found,), tables=("lake.a.t", "lake.a.u"))
    assert told(timeline) == [
        ("1", ["id"], "migration"),
        ("3", ["id"], "not recorded"),
        ("3", ["id", "name"], "migration"),
    ]


def test_a_history_holds_no_shapes_until_they_are_asked_for() -> None:
    """The memory that reading a history takes beside its events does not grow with the columns of the recorded tables."""

    def taken(columns: int) -> int:
        wide = replace(SHAPE, columns=tuple(Column(each, f"column_{each}", "bigint") for each in range(columns)))
        details = to_json(Details(tables=(to_document(TableRecord("lake.a.t", wide)),)))
        event = Event(1, 1, "r", "lake", "dev", "applied", "applied", "1", details=details)
        events = [replace(event, sequence=number) for number in range(1, 51)]
        tracemalloc.start()
        try:
            history = fold(events)
            assert len(history.mentions) == 50
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    taken(1)  # What is made once.
    # One record of 500 columns takes more than twice that.
    assert taken(500) < taken(1) + 50_000


def test_a_record_without_a_name_is_not_passed_by() -> None:
    """The timelines of one table fail where a record does not say which table it is about: it may be that one."""
    [event] = [Event(1, 1, "r", "lake", "dev", "applied", "applied", "1", details='{"tables": [{"table": 7}]}')]
    with pytest.raises(NeedsRepair):
        timelines(fold([event]), {"lake.a.t"})
