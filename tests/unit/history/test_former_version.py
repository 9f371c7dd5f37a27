"""Documents of a former version (commit ad96f15): histories, details of events, a plan file and a state file.

The histories, the plan and the state are those of runs on Spark and Iceberg; `details.json` has what these runs did not record.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.planfile import read_plan
from glacierbase.apply.results import HistoryHead, PlanOptions
from glacierbase.history.details import details_of, to_json
from glacierbase.history.records import History, fold
from glacierbase.history.shapes import ChangeOrigin, TableRecord, table_records, to_document
from glacierbase.history.status import make_status
from glacierbase.history.timeline import timelines
from glacierbase.inspect.compare.state import read_states
from glacierbase.migrations.allows import Allow
from glacierbase.model.migration import AppliedBy, Event, Squashed, State
from glacierbase.model.result import document, json_text
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

FORMER = Path(__file__).parent / "former"
HISTORIES = ["adopted", "baselined", "changed_by_hand", "squashed"]


def events(name: str) -> list[Event]:
    rows: list[dict[str, Any]] = json.loads((FORMER / f"{name}.json").read_text())
    times = {"started_at", "recorded_at"}
    return [
        Event(**{key: datetime.fromisoformat(value) if key in times else value for key, value in row.items()})
        for row in rows
    ]


def history(name: str) -> History:
    return fold(events(name))


def states(name: str) -> list[tuple[str, str, AppliedBy | None]]:
    return [(status.version, status.state_name, status.applied_by) for status in make_status((), history(name))]


def test_the_versions_of_a_former_history_have_their_states() -> None:
    """A file that failed and was resumed, an adopted change, and a run of one version that passed another by."""
    found = history("adopted")
    assert {record.version: (record.state.value, record.statements_done) for record in found.records.values()} == {
        "0001": ("applied", 2),
        "0002": ("applied", 3),
        "0003": ("applied", 2),
        "20261124022408": ("applied", 1),
        "20261124022409": ("applied", 2),
        "20261124022410": ("applied", 1),
    }
    assert found.records[20261124022408].applied_by is AppliedBy.BASELINE
    assert found.jumped_over == {20261124022409}
    assert (found.fence, found.sequence, found.late) == (6, 18, frozenset())


def test_the_details_of_a_former_history_are_read() -> None:
    """Headers, allowed findings, the process, the plan file, and the version of the table before a statement."""
    started = {event.version: details_of(event) for event in events("adopted") if event.event == "started"}
    assert started["0001"].headers == {"TICKET": "OPS-1"}
    assert started["0001"].application == "local-1795487012950"
    assert started["0001"].read_fence == 0
    assert len(started["0001"].statement_checksums or ()) == 2
    assert started["0002"].allows == (Allow(2, "DS102", "no readers"),)
    assert (started["20261124022409"].plan or "").startswith("sha256:")
    before = started["0003"].before
    assert before is not None
    assert (before.table, before.sequence, before.shape) == ("lake.web.events", 0, None)


def test_the_tables_of_a_former_history_have_their_shapes() -> None:
    """The last record of the table: every part of its shape."""
    last = table_records(events("adopted")[-1])[-1].after
    assert last is not None
    assert [column.name for column in last.columns] == [
        "id", "at", "place", "place.city", "kind", "more", "legacy", "late",
    ]  # fmt: skip
    assert last.columns[0] == Column(1, "id", "bigint", required=True)
    assert last.partitioning == (PartitionField(1000, "at_day", "at", "day"),)
    assert last.sorting == (SortField("id", "identity", "asc", "first"),)
    assert last.properties["commit.retry.num-retries"] == "7"
    assert (last.format, last.format_version, last.spec_id) == ("iceberg", 2, 0)


def test_a_change_by_hand_in_a_former_history_is_one_from_outside() -> None:
    """The record of the next file has the table as it was before that file."""
    [timeline] = timelines(history("changed_by_hand"))
    assert [(moment.event.version, moment.origin) for moment in timeline.moments] == [
        ("0001", ChangeOrigin.MIGRATION),
        ("0002", ChangeOrigin.OUTSIDE),
        ("0002", ChangeOrigin.MIGRATION),
    ]


def test_a_former_squash_names_the_files_that_it_replaced() -> None:
    """A later file failed and was abandoned."""
    found = history("squashed")
    assert [file[0::2] for file in found.records[2].squashes] == [("0001", False), ("0002", False)]
    assert all(isinstance(file, Squashed) for file in found.records[2].squashes)
    assert states("squashed") == [("0002", "ahead", AppliedBy.RUN), ("0003", "ahead", None)]
    assert found.records[3].state is State.ABANDONED
    repair = found.records[3].repair
    assert repair is not None
    assert details_of(repair).resolution == "abandoned"


def test_a_difference_that_a_former_version_accepted_is_of_a_column_or_a_type() -> None:
    """The former version did not write which of both it was."""
    [event] = events("baselined")
    assert {(found.column, found.declared, found.what) for found in details_of(event).differences} == {
        ("name", "string", "column"),
        ("at", "timestamp", "column"),
        ("place", "struct<city:string>", "column"),
        ("other", None, "column"),
    }


@pytest.mark.parametrize("name", HISTORIES)
def test_former_details_are_written_again_byte_for_byte(name: str) -> None:
    """What this version writes is what the former version can read."""
    for event in events(name):
        if not details_of(event).differences:  # This version also writes what differs.
            assert to_json(details_of(event)) == event.details
        for record, written in zip(table_records(event), details_of(event).tables, strict=True):
            assert json.dumps(to_document(record)) == json.dumps(written)


def test_details_of_every_kind_are_written_again_byte_for_byte() -> None:
    """Lock holder, settled outcome, environment, CI user, tables."""
    texts = json.loads((FORMER / "details.json").read_text())
    found = [details_of(Event(1, 1, "run", "lake", "dev", "applied", details=text)) for text in texts]
    assert [to_json(details) for details in found] == texts
    former, unknown, resolution, environment, actor, _ = found
    assert (former.former_owner, former.former_fence) == ("run-1", 4)
    assert former.former_process == {"host": "ci-7", "pid": 12}
    assert unknown.former_process == {}
    assert (resolution.resolution, resolution.engine_stopped) == ("not-done", True)
    assert (environment.environment_was, actor.ci_actor) == ("dev", "octocat")


def test_former_records_of_tables_are_read() -> None:
    """A table with all values, one of a format without ids, one that was dropped, one that was not readable."""
    text = json.loads((FORMER / "details.json").read_text())[-1]
    identifier = Column(1, "id", "bigint", required=True)
    shape = Shape(
        "lake.web.t", "u-1", "iceberg", 2, (identifier,), identifiers=("id",),
        properties={"a": "b", "s3.session-token": "***"},
    )  # fmt: skip
    wider = Shape(
        "lake.web.t", "u-1", "iceberg", 2, (identifier, Column(2, "name", "string", comment="why", default='"x"')),
        identifiers=("id",), properties=shape.properties,
    )  # fmt: skip
    hudi = Shape(
        "lake.web.h", None, "hudi", None, (Column(None, "id", "int"),), (PartitionField(None, "id", "id", "identity"),)
    )
    assert table_records(Event(1, 1, "run", "lake", "dev", "applied", details=text)) == (
        TableRecord("t", wider, shape, True),
        TableRecord("h", hudi, None, True),
        TableRecord("gone", None, shape, True),
        TableRecord("z", unread="the catalog does not answer"),
    )


def test_a_former_plan_file_is_read() -> None:
    """All that is compared before it is applied."""
    [plan] = read_plan(FORMER / "plan.json").plans
    assert (plan.catalog, plan.environment, plan.error) == ("lake", "dev", None)
    [file] = plan.plan
    assert (file.version, file.resumes_at) == ("20261124022409", 1)
    assert [(statement.index, statement.line) for statement in file.statements] == [(1, 5), (2, 7)]
    assert file.statements[1].sql == "ALTER TABLE lake.web.events ADD COLUMN late INT"
    assert file.statements[1].allows == (Allow(2, "PR101", "for a test"),)
    assert plan.options == PlanOptions(to="20261124022410")
    assert plan.head == HistoryHead(5, 15, "4a4b11a5b1ae48ad882f12a40415bf30")
    assert {value.key for value in plan.place} >= {"store.catalog", "spark.sql.catalog.lake.uri"}


def test_a_former_exported_state_is_read() -> None:
    """Versions, tables and where their parts are from."""
    [state] = read_states(FORMER / "state.json")
    assert state.read_at == datetime(2026, 11, 24, 2, 26, 38, 733000, timezone.utc)
    assert [version.state for version in state.versions] == [State.APPLIED] * 6
    assert state.versions[3].applied_by is AppliedBy.BASELINE
    tables = {table.table: table for table in state.tables}
    events = tables["lake.web.events"]
    assert (events.is_recorded, events.unread, events.altered) == (True, None, ())
    assert events.shape is not None
    assert events.shape.columns[-1] == Column(9, "late", "int")


def test_former_files_are_written_again_byte_for_byte() -> None:
    """What this version writes is what the former version can read. Fields were only added."""
    plans = json_text(document("plan", read_plan(FORMER / "plan.json").plans, None))
    for added in ("name", "engine", "needs_engine"):
        plans = plans.replace(f',\n          "{added}": null', "")
    assert plans + "\n" == (FORMER / "plan.json").read_text()
    states = json_text(document("export-state", read_states(FORMER / "state.json"), None))
    for added in (
        ',\n          "parts": null',
        ',\n          "unmanaged": null',
        ',\n          "name": null',
        ',\n      "repeatables": []',
    ):
        states = states.replace(added, "")
    assert states + "\n" == (FORMER / "state.json").read_text()
