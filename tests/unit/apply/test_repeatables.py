"""Repeatables on the path of `migrate`: when one runs, what is recorded, resumed and repaired, and what status says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.evidence import Decision
from glacierbase.apply.failures import session_not_restored
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.preview import pending_files
from glacierbase.apply.repair import repair, repair_cases
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFailed, NeedsRepair, SeveralErrors
from glacierbase.history.records import fold
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.status import status
from glacierbase.model.migration import Event, State
from glacierbase.secrets import register
from tests.support.fakes import lost_answer
from tests.support.world import World

VIEW = "DROP VIEW IF EXISTS v;\nCREATE VIEW v AS SELECT a FROM t WHERE a > {};"


@pytest.fixture
def shop(world: World) -> World:
    """A table with three rows, and a view of the rows above 1; nothing has run."""
    world.file("1_a.sql", "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2), (3)")
    world.file("repeatable/v.sql", VIEW.format(1))
    return world


@pytest.fixture
def applied(shop: World) -> World:
    """The same after a run."""
    shop.migrate()
    return shop


def labels(world: World, selection: Selection = Selection()) -> list[str]:  # noqa: B008 (frozen)
    """Return what is pending."""
    return [file.label for file in pending_files(world.migrator().plan(selection))]


def states(world: World) -> dict[str, str]:
    found = status(world.target(), StatusResult("shop", "default"))
    return {each.name or "": each.state.value for each in found.repeatables}


def warnings(world: World) -> tuple[str, ...]:
    return world.migrator().plan(Selection()).warnings


def fail(world: World, sql: str) -> GlacierbaseError:
    world.file("repeatable/v.sql", sql)
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    return caught.value


def test_the_first_run_comes_after_the_versions(shop: World) -> None:
    """The result has the name in place of a version."""
    assert states(shop) == {"v": "pending"}
    progress = shop.migrate()
    assert [(file.version, file.name) for file in progress.applied] == [("1", None), (None, "v")]
    assert shop.values("v") == [2, 3]
    assert states(shop) == {"v": "applied"}


def test_what_is_unchanged_does_not_run_again(applied: World) -> None:
    """Nothing is pending, and no event is appended."""
    before = list(applied.events)
    assert labels(applied) == []
    assert applied.migrate().applied == []
    assert applied.events == before


def test_what_changed_runs_again(applied: World) -> None:
    """The statements of the file run from the first one on."""
    applied.file("repeatable/v.sql", VIEW.format(2))
    assert (states(applied), labels(applied)) == ({"v": "pending"}, ["v"])
    [file] = applied.migrate().applied
    assert (file.name, file.resumed_at, file.ran) == ("v", 1, 2)
    assert applied.values("v") == [3]
    assert states(applied) == {"v": "applied"}


def test_a_variable_that_changes_runs_it_in_that_environment(applied: World) -> None:
    """The file is the same: what it renders decides."""
    applied.file("repeatable/v.sql", VIEW.format("{{ variables.size }}"))
    applied.migrate()
    assert labels(applied) == []
    applied.variables = "variables: {size: 2}\n"
    assert labels(applied) == ["v"]
    applied.migrate()
    assert applied.values("v") == [3]


def test_they_run_in_the_order_of_their_headers(shop: World) -> None:
    """`a` reads what `z` makes."""
    shop.file("repeatable/a.sql", "DROP VIEW IF EXISTS a;\nCREATE VIEW a AS SELECT * FROM z")
    path = shop.file("repeatable/z.sql", "DROP VIEW IF EXISTS z;\nCREATE VIEW z AS SELECT * FROM v")
    head = (shop.project.root / "migrations/shop/repeatable/a.sql").read_text()
    (path.parent / "a.sql").write_text(head.replace("\n\n", "\n-- MIGRATION_AFTER: z\n\n", 1))
    path.write_text(path.read_text().replace("\n\n", "\n-- MIGRATION_AFTER: v\n\n", 1))
    assert labels(shop) == ["1", "v", "z", "a"]
    shop.migrate()
    assert shop.values("a") == [2, 3]


def test_none_runs_while_a_version_is_left_out(shop: World) -> None:
    """With `--to` below the newest file the tables are not yet those that the repeatables expect; `--only` runs one file."""
    shop.file("2_b.sql", "INSERT INTO t VALUES (9)")
    assert labels(shop, Selection(to="1")) == ["1"]
    assert labels(shop, Selection(to="2")) == ["1", "2", "v"]
    assert labels(shop, Selection(only="2", reason="now")) == ["2"]
    shop.migrate(Selection(to="1"))
    assert labels(shop, Selection(only="2", reason="now")) == ["2"]


def test_a_deleted_one_is_a_warning_until_a_person_accepts_it(applied: World) -> None:
    """What it made stays, and other files run."""
    (applied.project.root / "migrations/shop/repeatable/v.sql").unlink()
    applied.file("2_b.sql", "INSERT INTO t VALUES (9)")
    assert states(applied) == {"v": "missing"}
    [warning] = warnings(applied)
    assert "repeatable v" in warning
    assert "repair v --as removed" in warning
    applied.migrate()
    assert applied.values("v") == [2, 3, 9]
    [case] = repair_cases(applied.target(), ["v"])
    assert (case.name, case.version, case.state, case.choices) == ("v", None, State.MISSING, ("removed",))
    repair(applied.target(), ["v"], Decision(Resolution.REMOVED, "no reader"))
    assert warnings(applied) == ()
    assert states(applied) == {"v": "applied"}


def test_a_file_that_returns_after_its_removal_was_accepted_runs(applied: World) -> None:
    """What it made may be gone."""
    path = applied.project.root / "migrations/shop/repeatable/v.sql"
    text = path.read_text()
    path.unlink()
    repair(applied.target(), ["v"], Decision(Resolution.REMOVED, "no reader"))
    path.write_text(text)
    assert labels(applied) == ["v"]
    [case] = repair_cases(applied.target(), ["v"])
    assert (case.state, case.choices) == (State.APPLIED, ())
    applied.migrate()
    assert (labels(applied), states(applied)) == ([], {"v": "applied"})


def test_a_failed_one_resumes_at_the_statement_that_failed(applied: World) -> None:
    """The cause was outside of the file: its text is as it was."""
    error = fail(applied, "DROP VIEW IF EXISTS v;\nCREATE VIEW v AS SELECT a FROM t;\nINSERT INTO missing VALUES (1);")
    assert error.data["name"] == "v"
    assert error.data["version"] is None
    assert states(applied) == {"v": "failed"}
    applied.engine.rows("CREATE TABLE missing (a INT)")
    [file] = applied.migrate().applied
    assert (file.resumed_at, file.ran) == (3, 1)
    assert applied.values("missing") == [1]


@pytest.mark.parametrize("done", ["DROP VIEW IF EXISTS v", "DROP VIEW  IF EXISTS v"])
def test_a_failed_one_that_was_edited_begins_again(done: str, applied: World) -> None:
    """The statements that are done run again, also where they are as they were: that is safe by contract."""
    fail(applied, "DROP VIEW IF EXISTS v;\nINSERT INTO missing VALUES (1);")
    applied.file("repeatable/v.sql", f"{done};\nCREATE VIEW v AS SELECT a FROM t;")
    assert states(applied) == {"v": "failed"}
    assert [file.resumed_at for file in applied.migrate().applied] == [1]
    assert applied.values("v") == [1, 2, 3]


def test_a_failed_one_whose_session_cannot_be_set_again_begins_again(applied: World) -> None:
    """A versioned file would be refused."""
    fail(applied, "CREATE TEMPORARY TABLE x AS SELECT 1 AS a;\nINSERT INTO missing VALUES (1);")
    applied.engine.rows("CREATE TABLE missing (a INT)")
    assert [file.resumed_at for file in applied.migrate().applied] == [1]


def test_a_failed_one_that_is_abandoned_runs_again_once_it_changes(applied: World) -> None:
    """An abandoned repeatable does not stop the next runs."""
    broken = "INSERT INTO missing VALUES (1)"
    fail(applied, broken)
    repair(applied.target(), ["v"], Decision(Resolution.ABANDONED, "later"))
    assert (labels(applied), states(applied)) == ([], {"v": "abandoned"})
    applied.file("repeatable/v.sql", VIEW.format(2))
    applied.migrate()
    assert applied.values("v") == [3]


@pytest.mark.parametrize(("resolution", "resumes_at"), [(Resolution.DONE, 2), (Resolution.NOT_DONE, 1)])
def test_an_unknown_outcome_is_left_to_repair(resolution: Resolution, resumes_at: int, applied: World) -> None:
    """Nothing runs before; then it resumes."""
    applied.file("repeatable/v.sql", "INSERT INTO t VALUES (7);\n" + VIEW.format(1))
    applied.break_at("VALUES (7)", lost_answer)
    with pytest.raises(NeedsRepair) as caught:
        applied.migrate()
    assert caught.value.data["name"] == "v"
    assert states(applied) == {"v": "unknown"}
    applied.file("2_b.sql", "INSERT INTO t VALUES (9)")
    with pytest.raises(NeedsRepair) as caught:
        labels(applied)
    assert (caught.value.code, caught.value.data["name"]) == ("OUTCOME_UNKNOWN", "v")
    assert "repair v" in caught.value.hint
    [case] = repair_cases(applied.target(), [])
    assert (case.name, case.statement_index, case.sql) == ("v", 1, "INSERT INTO t VALUES (7)")
    repair(applied.target(), ["v"], Decision(resolution, "observed", engine_stopped=True))
    assert [(file.label, file.resumed_at) for file in applied.migrate().applied] == [("2", 1), ("v", resumes_at)]


def test_an_unknown_outcome_is_settled_before_a_deleted_file_is_accepted(applied: World) -> None:
    """Without its file it is still unknown, and stops every run."""
    path = applied.file("repeatable/v.sql", "INSERT INTO t VALUES (7);\n" + VIEW.format(1))
    applied.break_at("VALUES (7)", lost_answer)
    with pytest.raises(NeedsRepair):
        applied.migrate()
    path.unlink()
    assert states(applied) == {"v": "unknown"}
    with pytest.raises(ConfigurationError, match="settled first"):
        repair(applied.target(), ["v"], Decision(Resolution.REMOVED, "why"))
    with pytest.raises(NeedsRepair):
        applied.migrate()
    repair(applied.target(), ["v"], Decision(Resolution.DONE, "observed"))
    assert states(applied) == {"v": "missing"}
    repair(applied.target(), ["v"], Decision(Resolution.REMOVED, "why"))
    assert (labels(applied), warnings(applied)) == ([], ())


def test_a_name_that_the_history_does_not_have_cannot_be_repaired(applied: World) -> None:
    """Neither as a name nor as a version."""
    for key in ("w", 7):
        with pytest.raises(ConfigurationError) as caught:
            repair_cases(applied.target(), [key])
        assert caught.value.code == "NOT_REPAIRABLE"


def test_one_that_is_applied_or_pending_is_not_repaired(applied: World) -> None:
    """There is nothing to decide about it."""
    applied.file("repeatable/v.sql", VIEW.format(2))
    with pytest.raises(ConfigurationError) as caught:
        repair(applied.target(), ["v"], Decision(Resolution.DONE, "why"))
    assert caught.value.code == "NOT_REPAIRABLE"


def test_events_about_a_repeatable_have_their_kind_in_the_table(applied: World) -> None:
    """A query of `event = 'applied'` finds repeatables as it finds versions; their version is null, and `path` has the name."""
    stored = [event for event in applied.events if event.version is None]
    assert [(event.event, event.state) for event in stored] == [
        ("started", "running"), ("statement_done", "running"), ("applied", "applied"),
    ]  # fmt: skip
    assert {event.path for event in stored} == {"migrations/shop/repeatable/v.sql"}
    assert {event.label for event in applied.events if event.event == "applied"} == {"1", "v"}
    history = applied.state.history
    assert fold(history.events) == history
    assert (set(history.records), [record.version for record in history.versions]) == ({1, "v"}, ["1"])
    assert history.newest == 1


@pytest.mark.parametrize("secret", ["grants", "repeatable", "started"])
def test_a_secret_that_occurs_in_its_path_leaves_the_history_readable(secret: str, world: World) -> None:
    """The path identifies the repeatable, and the kind of an event is the tool's: neither is masked in the history."""
    register(secret)
    world.file("repeatable/grants.sql", "SELECT 1")
    world.migrate()
    assert (labels(world), states(world)) == ([], {"grants": "applied"})


def test_a_secret_that_occurs_in_a_version_leaves_the_history_readable(world: World) -> None:
    """The version identifies the file. The other texts of the event are masked."""
    register("20260724")
    world.file("20260724101500_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    assert labels(world) == []
    assert {event.version for event in world.events} == {"20260724101500"}
    assert {event.path for event in world.events} == {"migrations/shop/***101500_a.sql"}


def damaged(stored: Event, **columns: object) -> GlacierbaseError:
    with pytest.raises(NeedsRepair) as caught:
        fold([replace(stored, sequence=1, **columns)])
    return caught.value


def test_an_event_of_a_repeatable_that_no_run_writes_is_damage(applied: World) -> None:
    """Nothing is derived from it."""
    event = next(event for event in applied.events if event.version is None)
    assert damaged(event, state=None).data["column"] == "state"
    assert damaged(event, event="no kind").data["column"] == "event"
    assert damaged(event, path="migrations/shop/1_a.sql").data["column"] == "version"


def test_a_broken_template_of_an_unchanged_one_is_an_error_of_the_plan(applied: World) -> None:
    """Whether it is to run cannot be known; `status` works and says so."""
    applied.file("repeatable/v.sql", "SELECT {{ variables.none }}")
    with pytest.raises((GlacierbaseError, SeveralErrors)):
        labels(applied)
    found = status(applied.target(), StatusResult("shop", "default"))
    assert [each.state for each in found.repeatables] == [State.APPLIED]
    assert "no longer renders" in (found.repeatables[0].note or "")


def test_headers_that_the_catalog_requires_are_required_of_new_ones(shop: World) -> None:
    """As of versioned files."""
    shop.variables += "headers: {TICKET: required}\n"
    with pytest.raises((GlacierbaseError, SeveralErrors)) as caught:
        shop.migrate()
    assert "repeatable/v.sql" in str(caught.value)


def test_another_run_that_applied_it_meanwhile_is_not_repeated(shop: World) -> None:
    """The plan is made again under the lock."""
    other = Migrator(shop.target())
    shop.store_before = lambda verb: None
    plan = other.plan(Selection())
    assert [planned.migration.label for planned in plan.pending] == ["1", "v"]
    shop.migrate()
    assert shop.migrate().applied == []
    assert Path(shop.project.root / "migrations/shop/repeatable/v.sql").exists()


def test_a_session_that_cannot_be_restored_is_left_by_an_edit(shop: World) -> None:
    """The hint sends nobody to a new file: a repeatable that was edited begins again."""
    [compiled] = shop.target().compile(shop.target().repeatables)
    error = session_not_restored(compiled, 2, "the session is elsewhere", compiled.statements[0])
    assert "edit the file" in error.hint
    assert (error.data["version"], error.data["name"]) == (None, "v")


def test_what_a_repeatable_creates_is_no_sign_of_a_lost_history(world: World) -> None:
    """A first run asks no table about it: the repeatable may replace what exists."""
    world.file("repeatable/v.sql", "CREATE TABLE IF NOT EXISTS t (a INT)")
    world.engine.rows("CREATE TABLE t (a INT)")
    progress = world.migrate()
    assert ([file.name for file in progress.applied], progress.warnings) == (["v"], ())


def test_baseline_records_versions_only_and_the_next_run_runs_repeatables(shop: World) -> None:
    """What exists is replaced by the same."""
    for sql in ("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2), (3)", "CREATE VIEW v AS SELECT 7 AS a"):
        shop.engine.rows(sql)
    done = baseline(shop.target(), 1, "they exist", accept=["*"])
    assert [file.migration.label for file in done.files] == ["1"]
    assert (states(shop), labels(shop)) == ({"v": "pending"}, ["v"])
    shop.migrate()
    assert shop.values("v") == [2, 3]
