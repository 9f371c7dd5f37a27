"""The outcome of a statement whose answer was lost, or whose run died, on the fakes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.errors import (
    GlacierbaseError,
    NeedsRepair,
    OutcomeUnknown,
)
from glacierbase.executors import Evidence
from tests.support.fakes import lost_answer
from tests.support.world import World


def test_a_lost_answer_is_unknown_and_nothing_runs_until_it_is_settled(world: World) -> None:
    """The outcome is not guessed, and the statement is not run again until `repair` settles it."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.break_at("INSERT", lost_answer)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "OUTCOME_UNKNOWN"
    assert world.kinds[-1] == ("unknown", "1")
    for verb in (world.migrate, lambda: world.migrator().plan(Selection())):
        with pytest.raises(NeedsRepair) as caught:
            verb()
        assert "statement 2 of 2" in caught.value.message
    assert world.values() == []
    assert world.tables.locks["shop"].owner == ""


def lose_answer(sql: str) -> None:
    """Lose the answer after the engine gave the statement an id."""
    raise OutcomeUnknown("ConnectionReset", "the connection was reset", "query-7")


@pytest.mark.parametrize(
    ("evidence", "kinds", "code"),
    [
        (Evidence(("query-7: SUCCESS",), True, True, is_proof=True), ["started", "statement_done", "applied"], None),
        (Evidence(("query-7: FAILED",), False, True, is_proof=True), ["started", "failed"], "STATEMENT_FAILED"),
        (Evidence(("a snapshot",), True, True), ["started", "unknown"], "OUTCOME_UNKNOWN"),
        (Evidence(), ["started", "unknown"], "OUTCOME_UNKNOWN"),
    ],
)
def test_a_lost_answer_is_what_the_engines_own_record_proves(
    evidence: Evidence, kinds: list[str], code: str | None, world: World
) -> None:
    """The query's id is looked up before a person has to decide; a suggestion without proof settles nothing."""
    world.engine.rows("CREATE TABLE t (a INT)")
    world.file("1_a.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    world.break_at("VALUES (1)", lose_answer)
    world.engine.recorded = evidence
    caught = None
    try:
        world.migrate()
    except GlacierbaseError as error:
        caught = error.code
    assert caught == code
    assert [kind for kind, _ in world.kinds] == kinds
    assert world.values() == ([2] if code is None else [])


def test_a_run_that_died_inside_a_statement_is_unknown(world: World) -> None:
    """The last event of such a run announces the statement."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.migrate()
    del world.events[2:]
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], head_sequence=2)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.data["statement_index"] == 2
    assert caught.value.exit_code == 6


def test_an_exception_of_the_caller_inside_a_statement_is_recorded_as_unknown(world: World) -> None:
    """A KeyboardInterrupt passes through after the outcome is recorded as unknown."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.break_at("CREATE", interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert world.kinds == [("started", "1"), ("unknown", "1")]
    assert world.tables.locks["shop"].owner == ""
