"""The short form of the history: one line per migration and outcome."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from glacierbase.apply.evidence import Decision
from glacierbase.apply.plan import Selection
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import MigrationFailed
from glacierbase.inspect.history import HistoryResult, Outcome, outcomes
from glacierbase.model.migration import Event
from glacierbase.output.documents import text_document
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

AT = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)


def events(*kinds: tuple[str, str | None, str | None]) -> list[Event]:
    """Return events of one run: what happened, the version, and the state after it."""
    number = itertools.count(1)
    return [
        Event(
            1, next(number), "run", "shop", "dev", kind, state, version, f"about {version}", "Ann", recorded_at=AT,
            os_user="ann", host="ci-7",
        )
        for kind, version, state in kinds
    ]  # fmt: skip


def named(found: tuple[Outcome, ...]) -> list[tuple[str, str]]:
    return [(each.version, each.outcome) for each in found]


def test_an_applied_file_is_one_outcome() -> None:
    """The start and the statements of an applied file are no outcomes."""
    found = outcomes(
        events(("started", "1", "running"), ("statement_done", "1", "running"), ("applied", "1", "applied"))
    )
    assert found == (Outcome("1", "applied", AT, "Ann", "about 1", "ann@ci-7"),)


def test_each_attempt_has_its_own_outcome() -> None:
    """In the order of the history, not of the versions."""
    found = outcomes(
        events(
            ("baselined", "1", "applied"),
            ("started", "3", "running"),
            ("failed", "3", "failed"),
            ("started", "2", "running"),
            ("interrupted", "2", "interrupted"),
            ("started", "3", "running"),
            ("applied", "3", "applied"),
        )
    )
    assert named(found) == [
        ("1", "baselined"), ("3", "failed"), ("2", "interrupted"), ("3", "applied"),
    ]  # fmt: skip


@pytest.mark.parametrize("last", ["started", "statement_done"])
def test_an_attempt_without_an_outcome_is_started(last: str) -> None:
    """The lock tells whether it is still running; `status` reads both."""
    found = outcomes(
        events(
            ("started", "1", "running"), ("failed", "1", "failed"), ("started", "1", "running"), (last, "1", "running")
        )
    )
    assert named(found) == [("1", "failed"), ("1", "started")]


@pytest.mark.parametrize(
    ("resolution", "state", "outcome"),
    [
        ("done", "applied", "repaired as done: applied"),
        ("not-done", "interrupted", "repaired as not-done: interrupted"),
        ("edited", "applied", "repaired as edited: applied"),
        ("removed", "abandoned", "repaired as removed: abandoned"),
        ("abandoned", "abandoned", "abandoned"),
    ],
)
def test_a_repair_is_an_outcome_of_its_own_with_the_state_after_it(resolution: str, state: str, outcome: str) -> None:
    """The outcome of the run before it stays as it was."""
    run, repair = events(("unknown", "1", "unknown"), ("repaired", "1", state))
    found = outcomes([run, replace(repair, details=f'{{"resolution": "{resolution}"}}')])
    assert named(found) == [("1", "unknown"), ("1", outcome)]


def test_events_without_a_version_are_no_outcomes() -> None:
    """A lock that was taken over or released, and an environment that was renamed, belong to no migration."""
    found = events(("taken_over", None, None), ("unlocked", None, None), ("repaired", None, None))
    assert outcomes(found) == ()
    text = text_document([HistoryResult("shop", "dev", events=tuple(found), total=len(found))])
    assert text.splitlines() == ["shop (dev)", "  no outcomes: no event is about a migration"]


def test_an_event_of_a_lost_lock_does_not_count_as_an_outcome() -> None:
    """The next holder of the lock had not read it, and the history does not count it."""
    kept = events(("started", "1", "running"), ("applied", "1", "applied"))
    late = replace(kept[1], sequence=2, event="failed", state="failed")
    newer = replace(kept[1], fence=2, sequence=2, run_id="another")
    assert named(outcomes([kept[0], late, newer])) == [("1", "applied")]


def test_history_reads_as_a_line_per_outcome_and_event_by_event_on_request(project: ProjectFolder) -> None:
    """With version, outcome, time, author, description, and user and host of the run."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.file("2_b.sql", "INSERT INTO nowhere VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    repair(world.target(), [2], Decision(Resolution.ABANDONED, "a test"))
    world.migrate(Selection())
    result = HistoryResult(
        "shop", "default", events=tuple(world.events), outcomes=outcomes(world.events), total=len(world.events)
    )
    title, header, *rows = text_document([result]).splitlines()
    assert (title, header.split()) == (
        "shop (default)", ["version", "outcome", "at", "author", "description", "run", "by"],
    )  # fmt: skip
    assert [row.split()[:2] for row in rows] == [["1", "applied"], ["2", "failed"], ["2", "abandoned"]]
    assert all("Test Team  A test's change" in row and "@" in row for row in rows)
    assert len(text_document([result], HistoryResult.event_lines).splitlines()) == 2 + len(world.events)


def test_an_empty_history_is_printed_as_empty_in_both_forms() -> None:
    """No table is printed."""
    empty = HistoryResult("shop", "dev")
    assert empty.lines() == empty.event_lines() == ["no events: nothing was ever applied"]
