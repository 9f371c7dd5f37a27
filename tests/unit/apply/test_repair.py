"""`repair`: what it shows, which decision is possible for which version, and what the next run does after it."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from glacierbase.apply.evidence import Decision
from glacierbase.apply.repair import accept_environment, repair, repair_cases
from glacierbase.apply.results import RepairCase
from glacierbase.apply.transitions import WITHDRAWN, Resolution
from glacierbase.cli import apply as commands
from glacierbase.errors import GlacierbaseError, HistoryDisagrees, MigrationFailed, NeedsRepair
from glacierbase.executors import Evidence
from glacierbase.model.migration import State
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

THREE = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2);"


@pytest.fixture
def unknown(world: World) -> World:
    """A run that lost the answer to the second of three statements."""
    world.file("1_a.sql", THREE)
    world.file("2_b.sql", "INSERT INTO t VALUES (9)")
    world.break_at("VALUES (1)", lost_answer)
    with pytest.raises(NeedsRepair):
        world.migrate()
    return world


@pytest.fixture
def failed(world: World) -> World:
    """A run whose second of three statements the engine refused."""
    world.file("1_a.sql", THREE.replace("INTO t VALUES (1)", "INTO missing VALUES (1)"))
    world.file("2_b.sql", "CREATE TABLE u (a INT)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    return world


def decide(world: World, resolution: Resolution, version: int = 1, **options: Any) -> tuple[RepairCase, ...]:
    return repair(world.target(), [version], Decision(resolution, "seen by alice", **options))


def refused(world: World, resolution: Resolution, version: int = 1, **options: Any) -> GlacierbaseError:
    before = list(world.events)
    with pytest.raises(GlacierbaseError) as caught:
        decide(world, resolution, version, **options)
    assert world.events == before
    return caught.value


def test_the_command_line_offers_every_resolution() -> None:
    """The command line lists them without importing `repair`, so that its help stays quick."""
    [option] = [each for each in commands.repair.params if each.name == "as_"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == [*(resolution.value for resolution in Resolution), WITHDRAWN]


def test_it_shows_the_statement_its_run_and_the_choices(unknown: World) -> None:
    """Showing a case writes nothing."""
    before = list(unknown.events)
    [case] = repair_cases(unknown.target(), [])
    assert (case.version, case.state, case.statement_index, case.statements_total) == ("1", State.UNKNOWN, 2, 3)
    assert case.sql == "INSERT INTO t VALUES (1)"
    assert case.line == 5
    assert (case.run_id, case.os_user, case.host) == (before[-1].run_id, before[-1].os_user, before[-1].host)
    assert case.choices == ("done", "not-done", "abandoned")
    assert (case.evidence, case.suggests) == ((), None)
    assert unknown.events == before


@pytest.mark.parametrize(("took_effect", "suggests"), [(True, "done"), (False, "not-done"), (None, None)])
def test_evidence_of_the_engine_suggests_a_decision_and_makes_none(
    took_effect: bool | None, suggests: str | None, unknown: World
) -> None:
    """The person decides, whatever the evidence suggests."""
    unknown.engine.recorded = Evidence(("t: append",), took_effect)
    [case] = repair_cases(unknown.target(), [1])
    assert (case.evidence, case.suggests) == (("t: append",), suggests)
    with pytest.raises(NeedsRepair):
        unknown.migrate()


def test_done_continues_after_the_statement(unknown: World) -> None:
    """The event has the principal and the reason."""
    decide(unknown, Resolution.DONE)
    event = unknown.events[-1]
    assert (event.event, event.state, event.statement_index) == ("repaired", "interrupted", 2)
    assert (event.reason, event.principal) == ("seen by alice", "tester")
    assert json.loads(event.details or "")["resolution"] == "done"
    assert [file.resumed_at for file in unknown.migrate().applied] == [3, 1]
    assert unknown.values() == [2, 9]


def test_not_done_runs_the_statement_again_once_its_engine_is_gone(unknown: World) -> None:
    """Before that, the lost statement could still take effect."""
    error = refused(unknown, Resolution.NOT_DONE)
    assert (error.code, error.exit_code) == ("ENGINE_MAY_RUN", 6)
    assert "--engine-stopped" in error.hint
    decide(unknown, Resolution.NOT_DONE, engine_stopped=True)
    assert json.loads(unknown.events[-1].details or "")["engine_stopped"] is True
    assert [file.resumed_at for file in unknown.migrate().applied] == [2, 1]
    assert unknown.values() == [1, 2, 9]


def test_evidence_that_the_statement_has_ended_allows_not_done(unknown: World) -> None:
    """The engine's evidence replaces `--engine-stopped`."""
    unknown.engine.recorded = Evidence(("query: FAILED",), took_effect=False, has_ended=True)
    decide(unknown, Resolution.NOT_DONE)
    assert "engine_stopped" not in json.loads(unknown.events[-1].details or "")


def test_abandoned_ends_the_file_and_the_next_ones_run(unknown: World) -> None:
    """Statements that ran stay, and the others never run."""
    decide(unknown, Resolution.ABANDONED)
    assert [file.version for file in unknown.migrate().applied] == ["2"]
    assert unknown.values() == [9]
    assert refused(unknown, Resolution.DONE).code == "NOT_REPAIRABLE"


def test_the_last_statement_done_applies_the_file(world: World) -> None:
    """No statement of the file is left to run."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.break_at("CREATE", lost_answer)
    with pytest.raises(NeedsRepair):
        world.migrate()
    decide(world, Resolution.DONE)
    assert world.events[-1].state == "applied"
    assert world.migrate().applied == []


def test_a_failed_statement_completed_by_hand_is_done(failed: World) -> None:
    """The cause need not be removed from the file."""
    [case] = repair_cases(failed.target(), [])
    assert (case.state, case.choices, case.statement_index) == (State.FAILED, ("done", "abandoned"), 2)
    assert case.error_message
    decide(failed, Resolution.DONE)
    assert [file.resumed_at for file in failed.migrate().applied] == [3, 1]
    assert failed.values() == [2]


def test_a_failed_file_can_be_abandoned_but_not_recorded_as_not_done(failed: World) -> None:
    """`--as not-done` is refused, because the history already has that outcome."""
    assert refused(failed, Resolution.NOT_DONE).code == "NOT_REPAIRABLE"
    decide(failed, Resolution.ABANDONED)
    assert [file.version for file in failed.migrate().applied] == ["2"]


def test_an_edit_that_is_meant_to_stay_is_accepted(world: World) -> None:
    """The checksum of the edited file is recorded; the next edit is refused."""
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    path.write_text(path.read_text().replace("A test's change", "A better description"))
    with pytest.raises(HistoryDisagrees):
        world.migrate()
    [case] = repair_cases(world.target(), [])
    assert (case.state, case.choices) == (State.CHANGED, ("edited",))
    decide(world, Resolution.EDITED)
    assert (world.events[-1].description, world.events[-1].state) == ("A better description", "applied")
    assert world.migrate().applied == []
    path.write_text(path.read_text() + "\n")
    with pytest.raises(HistoryDisagrees):
        world.migrate()


def test_a_file_that_is_gone_on_purpose_is_accepted(world: World) -> None:
    """The file's version stays applied, and is shown as such."""
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.migrate()
    path.unlink()
    with pytest.raises(HistoryDisagrees):
        world.migrate()
    decide(world, Resolution.REMOVED)
    assert world.migrate().applied == []
    assert repair_cases(world.target(), []) == ()


def test_an_applied_version_or_an_absent_one_is_not_repairable(world: World) -> None:
    """The history is correct, so there is no decision to record."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    for resolution in Resolution:
        assert refused(world, resolution).code == "NOT_REPAIRABLE"
    assert refused(world, Resolution.DONE, version=7).code == "NOT_REPAIRABLE"


def test_a_history_of_a_renamed_environment_is_accepted_once(world: World) -> None:
    """An event records the new environment; a third environment is still refused."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.environment = "production"
    with pytest.raises(HistoryDisagrees):
        world.migrate()
    with pytest.raises(HistoryDisagrees):
        accept_environment(world.target(), "staging", "renamed")
    accept_environment(world.target(), "default", "renamed")
    assert (world.events[-1].event, world.events[-1].environment) == ("repaired", "production")
    assert world.migrate().applied == []
    world.environment = "default"
    with pytest.raises(HistoryDisagrees):
        world.migrate()


def test_a_repair_acquires_and_releases_the_lock(unknown: World) -> None:
    """`repair` acquires the lock as `migrate` does, and releases it."""
    decide(unknown, Resolution.DONE)
    row = unknown.tables.locks["shop"]
    assert (row.owner, row.fence) == ("", 2)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--as", "done"], "REASON_MISSING"),
        (["--as", "done", "--reason", " "], "REASON_MISSING"),
        (["--as", "done", "--reason", "x"], "CONFIRMATION_MISSING"),
        (["--environment-was", "dev", "--reason", "x"], "CONFIRMATION_MISSING"),
    ],
)
def test_a_repair_is_never_made_by_accident(arguments: list[str], code: str, lake_project: ProjectFolder) -> None:
    """A reason and a confirmation are required before anything is contacted."""
    lake_project.file("1_a.sql", "SELECT 1")
    version = [] if "--environment-was" in arguments else ["1"]
    done = lake_project.ask("repair", *version, *arguments, *(["--yes"] if code == "REASON_MISSING" else []))
    assert (done.code, done.document["error"]["code"]) == (2, code)
    assert not (lake_project.root / "warehouse").exists()
