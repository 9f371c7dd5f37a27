"""A repair and a baseline are facts beside the run: they change neither its time, nor its id, nor its engine."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.evidence import Decision
from glacierbase.apply.repair import repair, repair_cases
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import GlacierbaseError
from glacierbase.history.records import fold
from glacierbase.inspect import status as statuses
from glacierbase.inspect.history import Filters, HistoryResult, history
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.show import ShowResult, show
from glacierbase.model.migration import Event
from glacierbase.model.result import Status
from glacierbase.output.documents import json_document, text_document
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

TWO = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)"
AT = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)
LATER = datetime(2026, 11, 22, 18, 0, tzinfo=timezone.utc)


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project whose engine and tables are in memory."""
    return World(project)


def decide(world: World, resolution: Resolution) -> None:
    """Record a decision without an engine, as through a store that needs none, two days after the run."""
    world.tables.histories["shop"][:] = [replace(event, recorded_at=AT) for event in world.events]
    repair(world.target(), [1], Decision(resolution, "seen by alice", engine_stopped=True))
    world.events[-1] = replace(world.events[-1], recorded_at=LATER, os_user="alice", principal="etl", engine=None)


def status(world: World) -> StatusResult:
    return statuses.status(world.target(), StatusResult("shop", "default"))


def only(world: World) -> Status:
    [found] = status(world).migrations
    return found


def shown(world: World) -> ShowResult:
    return show(world.target(), ShowResult("shop", "default"), key=1)


def test_an_accepted_edit_leaves_the_run_that_applied_the_version(world: World) -> None:
    """Time, run, engine and user are those of that run in `status`, `show` and JSON; the repair is a note with its own."""
    path = world.file("1_a.sql", TWO)
    world.migrate()
    applied = world.events[-1]
    path.write_text(path.read_text() + "\n")
    decide(world, Resolution.EDITED)
    found = only(world)
    assert (found.state, found.applied_at, found.run_id, found.applied_by) == ("applied", AT, applied.run_id, "run")
    assert found.repaired is not None
    assert (found.repaired.resolution, found.repaired.at, found.repaired.reason) == ("edited", LATER, "seen by alice")
    assert found.repaired.run_id == world.events[-1].run_id != applied.run_id
    note = f"repaired as edited at 2026-11-22 18:00:00 UTC by alice@{applied.host} as etl: seen by alice"
    assert found.note == note
    assert f"1 note: {note}" in text_document([status(world)])
    text = text_document([shown(world)])
    assert f"run         {applied.run_id} of {applied.os_user}@{applied.host} as tester, sqlite" in text
    assert "applied at  2026-11-20 10:30:00" in text
    assert f"note: {note}" in text
    assert ", None" not in text
    entry = json.loads(json_document("show", [shown(world)], None))["catalogs"][0]
    assert (entry["run"]["run_id"], entry["run"]["engine"]) == (applied.run_id, "sqlite")
    assert entry["migration"]["repaired"]["resolution"] == "edited"


def test_a_baselined_version_says_so(world: World) -> None:
    """A baselined version's state stays `applied` for programs, which read `applied_by`."""
    world.file("1_a.sql", TWO)
    world.engine.open_session().execute("CREATE TABLE t (a INT)")
    baseline(world.target(), 1, "made by hand in 2024")
    found = only(world)
    assert (found.state, found.applied_by, found.repaired) == ("applied", "baseline", None)
    assert text_document([status(world)]).splitlines()[2].split()[:2] == ["1", "baselined"]
    assert "state       baselined\n" in text_document([shown(world)])
    entry = json.loads(json_document("status", [status(world)], None))["catalogs"][0]
    assert (entry["migrations"][0]["state"], entry["migrations"][0]["applied_by"]) == ("applied", "baseline")


def test_a_baselined_version_stays_one_after_a_repair(world: World) -> None:
    """An accepted edit of it does not make a run of it."""
    path = world.file("1_a.sql", TWO)
    world.engine.open_session().execute("CREATE TABLE t (a INT)")
    baseline(world.target(), 1, "made by hand in 2024")
    path.write_text(path.read_text() + "\n")
    decide(world, Resolution.EDITED)
    assert (only(world).applied_by, only(world).applied_at) == ("baseline", AT)


def test_a_lost_last_statement_was_applied_by_its_run_and_settled_by_a_repair(world: World) -> None:
    """`status` shows the run with its time, and who settled the statement when."""
    world.file("1_a.sql", TWO)
    world.break_at("VALUES (1)", lost_answer)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    run_id = world.events[-1].run_id
    decide(world, Resolution.DONE)
    found = only(world)
    assert (found.state, found.applied_by, found.applied_at, found.run_id) == ("applied", "run", AT, run_id)
    assert "repaired as done at 2026-11-22 18:00:00 UTC by alice@" in (found.note or "")


def test_a_failed_last_statement_that_was_completed_by_hand_is_applied_by_the_repair(world: World) -> None:
    """The engine proved that the run did not apply it; the run is still the one that ran the other statements."""
    world.file("1_a.sql", TWO.replace("INTO t", "INTO nowhere"))
    with pytest.raises(GlacierbaseError):
        world.migrate()
    run_id = world.events[-1].run_id
    decide(world, Resolution.DONE)
    found = only(world)
    assert (found.state, found.applied_by, found.applied_at, found.run_id) == ("applied", "repair", LATER, run_id)


@pytest.mark.parametrize("resolution", [Resolution.NOT_DONE, Resolution.ABANDONED])
def test_a_version_that_is_not_applied_keeps_the_run_that_ran_it(resolution: Resolution, world: World) -> None:
    """A failed and an interrupted version have no time of application."""
    world.file("1_a.sql", TWO)
    world.break_at("VALUES (1)", lost_answer)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    run_id = world.events[-1].run_id
    decide(world, resolution)
    found = only(world)
    assert (found.run_id, found.applied_at, found.applied_by) == (run_id, None, None)
    assert shown(world).run is not None
    assert "sqlite" in text_document([shown(world)])


def test_a_run_after_the_repair_is_the_one_that_applied_the_version(world: World) -> None:
    """The repair is part of the events, and no note any more."""
    world.file("1_a.sql", TWO.replace("INTO t VALUES (1)", "INTO nowhere VALUES (1)") + "; SELECT 1")
    with pytest.raises(GlacierbaseError):
        world.migrate()
    decide(world, Resolution.DONE)
    world.migrate()
    found = only(world)
    assert (found.applied_by, found.run_id, found.repaired) == ("run", world.events[-1].run_id, None)


def test_repair_shows_the_run_of_the_version_and_not_an_earlier_repair(world: World) -> None:
    """An edit after an accepted edit is a case about the run that applied the file."""
    path = world.file("1_a.sql", TWO)
    world.migrate()
    run_id = world.events[-1].run_id
    path.write_text(path.read_text() + "\n")
    decide(world, Resolution.EDITED)
    path.write_text(path.read_text() + "\n")
    [case] = repair_cases(world.target(), [])
    assert (case.run_id, case.choices) == (run_id, ("edited",))
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate()
    assert caught.value.code == "CHECKSUM_MISMATCH"
    assert "2026-11-20 10:30 UTC" in caught.value.message


def test_the_history_lists_run_and_repair_as_two_outcomes(world: World) -> None:
    """Each line has its own time and user."""
    path = world.file("1_a.sql", TWO)
    world.migrate()
    path.write_text(path.read_text() + "\n")
    decide(world, Resolution.EDITED)
    result = history(world.target(), HistoryResult("shop", "default"), filters=Filters())
    run, fact = text_document([result]).splitlines()[2:]
    assert run.split()[:3] == ["1", "applied", "2026-11-20"]
    assert fact.split()[:6] == ["1", "repaired", "as", "edited:", "applied", "2026-11-22"]
    assert "alice@" in fact
    assert "alice@" not in run


def test_a_history_of_an_earlier_version_reads_alike() -> None:
    """The events of an earlier version have the same columns; derived values are not stored."""

    def event(sequence: int, kind: str, state: str, run_id: str, details: str | None = None) -> Event:
        return Event(
            1, sequence, run_id, "shop", "dev", kind, state, "1", checksum=f"v1:sha256:{sequence}",
            statement_index=1, statement_total=1, recorded_at=AT if run_id == "run" else LATER, details=details,
        )  # fmt: skip

    found = fold(
        [
            event(1, "started", "running", "run"),
            event(2, "applied", "applied", "run"),
            event(3, "repaired", "applied", "mended", '{"resolution": "edited"}'),
            event(4, "repaired", "applied", "mended", '{"resolution": "removed"}'),
        ]
    ).records[1]
    assert (found.applied_at, found.applied_by, found.outcome.run_id) == (AT, "run", "run")
    assert found.repair is not None
    assert (found.repair.sequence, found.is_removed, found.last.checksum) == (4, True, "v1:sha256:4")
