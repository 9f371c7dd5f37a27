"""The path of `migrate` on the fakes: what runs, what is recorded, and what stops it. `test_migrate_iceberg` uses a real engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.errors import (
    EngineUnavailable,
    GlacierbaseError,
    HistoryDisagrees,
    LockHeld,
    LockLost,
    MigrationFailed,
    NeedsRepair,
    StatementRefused,
)
from tests.support.fakes import lost_answer
from tests.support.world import FIVE, World


def test_pending_files_run_in_order_and_only_once(world: World) -> None:
    """Versions are ordered as numbers, not as text."""
    world.file("10_b.sql", "INSERT INTO t VALUES (2)")
    world.file("9_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    assert [file.version for file in world.migrate().applied] == ["9", "10"]
    assert world.values() == [1, 2]
    assert world.migrate().applied == []
    assert world.values() == [1, 2]


def test_once_in_a_hundred_events_the_tables_are_compacted_between_two_files(world: World) -> None:
    """Nothing is in flight then: a run that is killed during a compaction leaves no unknown outcome."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    for number in range(2, 82):
        world.file(f"{number}_row.sql", f"INSERT INTO t VALUES ({number}); INSERT INTO t VALUES ({number})")
    seen: list[str | None] = []
    world.store_before = lambda verb: seen.append(world.events[-1].state) if verb == "compact" else None
    world.migrate()
    assert [events // 100 for events in world.tables.compactions] == [1, 2]
    assert seen == ["applied", "applied"]
    world.file("82_row.sql", "INSERT INTO t VALUES (82)")
    world.migrate()
    assert len(world.tables.compactions) == 2
    assert len(world.values()) == 161


def test_a_compaction_that_fails_fails_no_run(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged, and the run applies its files."""
    for number in range(1, 101):
        world.file(f"{number}_nothing.sql", "SELECT 1")
    world.store_before = lambda verb: lost_answer() if verb == "compact" else None
    assert len(world.migrate().applied) == 100
    assert "shop: history and lock were not compacted" in caplog.text
    assert world.tables.compactions == []
    assert world.tables.locks["shop"].owner == ""


def test_a_file_of_n_statements_costs_n_appends_and_the_last_one(world: World) -> None:
    """“Applied” of one file and “started” of the next are one append."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    world.migrate()
    assert world.tables.appends == 4
    assert world.kinds == [
        ("started", "1"), ("statement_done", "1"), ("applied", "1"), ("started", "2"), ("applied", "2"),
    ]  # fmt: skip


def test_every_event_names_author_file_and_run(world: World) -> None:
    """Each row of the history has author, description, path, run and user."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    started, applied = world.events
    assert (started.description, started.author, started.path) == (
        "A test's change",
        "Test Team",
        "migrations/shop/1_a.sql",
    )
    assert started.rendered_sql is not None
    assert "CREATE TABLE t" in started.rendered_sql
    assert started.tables == '["t"]'
    assert json.loads(started.details or "")["statement_checksums"] == [applied.statement_checksum]
    assert [event.sequence for event in world.events] == [1, 2]
    assert {(e.fence, e.run_id, e.os_user, e.environment) for e in world.events} == {
        (1, started.run_id, started.os_user, "default")
    }
    assert applied.duration_ms is not None
    assert applied.recorded_at is not None


def test_a_statement_is_announced_before_it_runs(world: World) -> None:
    """After a crash inside the statement, the history shows that it was started."""
    seen: list[list[tuple[str, str | None]]] = []
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.engine.before = lambda sql: seen.append(list(world.kinds))
    world.migrate()
    assert seen == [[("started", "1")], [("started", "1"), ("statement_done", "1")]]


def test_a_file_without_statements_is_applied(world: World) -> None:
    """A template may render to nothing in one environment."""
    world.file("1_a.sql", "{% if environment == 'prod' %}DROP TABLE t{% endif %}")
    world.file("2_b.sql", "CREATE TABLE t (a INT)")
    assert [file.statements for file in world.migrate().applied] == [0, 1]
    assert world.kinds[:2] == [("started", "1"), ("applied", "1")]
    assert world.migrate().applied == []


def test_a_refused_statement_stops_the_run_and_is_resumed_there(world: World) -> None:
    """Statement 3 of 5 fails: two take effect, the other three after the file is corrected, each exactly once."""
    file = world.file("1_a.sql", FIVE.format("nowhere"))
    world.file("2_b.sql", "INSERT INTO t VALUES (5)")
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    assert caught.value.code == "STATEMENT_FAILED"
    assert "migrations/shop/1_a.sql, line 6: statement 3 of 5" in caught.value.message
    assert "nowhere" in caught.value.message
    assert caught.value.lines[-1] == "done and recorded: statements 1 to 2"
    assert world.values() == [1]
    assert world.tables.locks["shop"].owner == ""
    file.write_text(file.read_text().replace("nowhere", "t"))
    applied = world.migrate().applied
    assert [(each.version, each.resumed_at) for each in applied] == [("1", 3), ("2", 1)]
    assert world.values() == [1, 2, 3, 4, 5]


def test_messages_about_one_done_statement_are_singular(world: World) -> None:
    """The messages say `statement 1`, not `statements 1 to 1`."""
    file = world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(MigrationFailed) as failed:
        world.migrate()
    assert failed.value.lines[-1] == "done and recorded: statement 1"
    file.write_text(file.read_text().replace("INT", "BIGINT"))
    with pytest.raises(HistoryDisagrees) as changed:
        world.migrate()
    assert "done in this file: 1 statement;" in changed.value.message
    assert changed.value.hint.startswith("restore statement 1 (")


@pytest.mark.parametrize("old", ["(a INT)", "VALUES (1)"])
def test_a_done_statement_of_a_failed_file_must_stay(world: World, old: str) -> None:
    """A statement that took effect cannot be changed by an edit of the file."""
    file = world.file("1_a.sql", FIVE.format("nowhere"))
    with pytest.raises(MigrationFailed):
        world.migrate()
    file.write_text(file.read_text().replace("nowhere", "t").replace(old, old.upper().replace("1", "9") + " "))
    file.write_text(file.read_text().replace("(A INT) ", "(a BIGINT)"))
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "DONE_STATEMENT_CHANGED"
    assert world.values() == [1]


def test_an_engine_that_gives_no_session_for_the_next_file_leaves_the_one_before_applied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example is a login that is refused in the middle of a run."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    open_session, opened = world.engine.open_session, []

    def once(**options: Any) -> Any:
        if len(opened) == 2:  # The first one is for the look at the table, before there is a history.
            raise EngineUnavailable("SPARK_UNAVAILABLE", "no session")
        opened.append(options)
        return open_session(**options)

    monkeypatch.setattr(world.engine, "open_session", once)
    with pytest.raises(EngineUnavailable):
        world.migrate()
    assert world.kinds == [("started", "1"), ("applied", "1")]
    monkeypatch.undo()
    assert [file.version for file in world.migrate().applied] == ["2"]


def test_only_takes_one_file_and_those_it_passes_by_run_later(world: World) -> None:
    """After a hotfix, the versions that it jumped over are not out of order."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    world.file("3_c.sql", "INSERT INTO t VALUES (3)")
    world.migrate(Selection(only="3", reason="an incident"))
    assert world.values() == [3]
    assert world.events[-1].reason is None
    assert world.events[-2].reason == "an incident"
    assert [file.version for file in world.migrate().applied] == ["2"]
    assert world.values() == [2, 3]


def test_each_kind_of_error_has_its_exit_code() -> None:
    """The codes are those in the help of the command line."""
    codes = {kind: kind.exit_code for kind in (LockHeld, LockLost, MigrationFailed, NeedsRepair, HistoryDisagrees)}
    assert list(codes.values()) == [4, 4, 1, 6, 3]
    assert GlacierbaseError.exit_code == 70


def test_a_file_that_fails_in_one_environment_only_goes_on_there_once_the_cause_is_gone(world: World) -> None:
    """The file is not edited, because the other environment has applied it."""
    world.file("1_a.sql", FIVE.format("t"))
    dev = World(world.project)
    dev.migrate()

    def refuse(sql: str) -> None:
        raise StatementRefused("Denied", "no right to create a table")

    world.break_at("CREATE TABLE", refuse)
    with pytest.raises(MigrationFailed, match="statement 1 of 5"):
        world.migrate()
    assert [file.resumed_at for file in world.migrate().applied] == [1]
    assert world.values() == dev.values() == [1, 2, 3, 4]
    assert dev.migrate().applied == []
