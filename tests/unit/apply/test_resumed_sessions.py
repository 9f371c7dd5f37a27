"""A resumed file runs in the session that its statements wrote for it, or it is refused: sessions × statements × places to stop."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.apply.evidence import Decision
from glacierbase.apply.plan import Selection
from glacierbase.apply.repair import repair
from glacierbase.apply.session import FileSession
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import GlacierbaseError, MigrationFailed, NeedsRepair, StatementRefused
from glacierbase.executors import Session
from glacierbase.model.session import SessionContext
from glacierbase.secrets import register
from glacierbase.sql import file, read
from tests.support.fakes import FakeSession, lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

DEFAULT = "main"
# Statements that set the session, and one whose effect nobody can see from outside.
SETTING = ("USE a", "USE b", "SET k=1", "SET k=2", "RESET k", "CREATE TEMPORARY VIEW v AS SELECT 1", "DROP VIEW v")
HIDDEN = "EXECUTE IMMEDIATE 'USE b'"


class StatefulSession(FakeSession):
    """A session that has a state. An INSERT has the effect that the state gives it."""

    def __init__(self, effects: list[Any], before: Callable[[str], None]) -> None:
        super().__init__("file::memory:", before)
        self._effects = effects
        self._state: dict[str, Any] = {"namespace": DEFAULT}

    def query(self, sql: str, parameters: Any = ()) -> list[Any]:
        self._before(sql)
        state, words = self._state, sql.split()
        if words[0] == "USE":
            state["namespace"] = words[1]
        elif sql == HIDDEN:
            state["namespace"] = "b"
        elif words[0] == "SET":
            state.update([words[1].split("=")])
        elif words[0] == "RESET":
            state.pop(words[1], None)
        elif words[0] in ("CREATE", "DROP"):
            if ("v" in state) == (words[0] == "CREATE"):
                raise StatementRefused("VIEW", sql)
            state.update(v=True) if words[0] == "CREATE" else state.pop("v")
        elif words[0] == "INSERT":
            self._effects.append((words[-1], dict(state)))
        return []

    def context(self) -> SessionContext:
        return SessionContext("lake", self._state["namespace"])


@pytest.fixture
def effects(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the statements of the world did, each in the session that it ran in."""
    return engine_with_state(world, monkeypatch)


def engine_with_state(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    effects: list[Any] = []

    def open_session(*, bookkeeping: bool = False) -> Session:
        return StatefulSession(effects, lambda sql: world.engine.before(sql))

    monkeypatch.setattr(world.engine, "open_session", open_session)
    return effects


def files() -> Iterator[tuple[str, ...]]:
    """Yield files of two settings in each order, then files of three at random, each with an INSERT after it."""
    yield from itertools.product(SETTING[:5], repeat=2)
    chance, view = random.Random(22), SETTING[5]
    while True:
        found = tuple(chance.choices([*SETTING, HIDDEN], k=3))
        drops = found.count(SETTING[6])
        if found.count(view) == drops < 2 and (not drops or found.index(view) < found.index(SETTING[6])):
            yield found


def statements(settings: tuple[str, ...]) -> list[str]:
    return [each for n, setting in enumerate(settings) for each in (setting, f"INSERT INTO t VALUES ({n})")]


def refused(_: str) -> None:
    raise StatementRefused("X", "no")


def stopped(world: World, text: str, how: str, effects: list[Any]) -> None:
    """Migrate up to a statement that is refused, or whose answer is lost before or after it took effect; settle that."""
    counts = len(effects)
    world.engine.before = once(text, refused if how == "failed" else lost_answer)
    with pytest.raises((MigrationFailed, NeedsRepair)):
        world.migrate()
    assert len(effects) >= counts
    world.engine.before = lambda sql: None
    if how != "failed":
        resolution = Resolution.DONE if how == "done by hand" else Resolution.NOT_DONE
        repair(world.target(), [1], Decision(resolution, "seen", engine_stopped=True))


def once(text: str, action: Callable[[str], None]) -> Callable[[str], None]:
    """Call the action at the statement with this number in its text."""
    seen: list[str] = []

    def before(sql: str) -> None:
        if sql == text and not seen:
            seen.append(sql)
            action(sql)

    return before


CASES = [(file, stop) for file in itertools.islice(files(), 225) for stop in range(2, len(statements(file)) + 1)]


@pytest.mark.parametrize("how", ["not done", *(how for how in ("failed", "done by hand"))])
@pytest.mark.parametrize("part", [0, *(part for part in range(1, 25))])
def test_a_resumed_file_has_the_effects_of_one_that_did_not_stop(
    part: int, how: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each effect is the one that the file has without a stop; a file with a hidden change before the stop is refused."""
    refusals = 0
    for number, (settings, stop) in enumerate(CASES[part::25]):
        text = statements(settings)
        if text.index(text[stop - 1]) != stop - 1:
            continue  # The fake stops at a text.
        world = World(ProjectFolder(project.root / str(number)))
        world.file("1_a.sql", ";\n".join(text))
        wanted = [each for each in oracle(text) if how != "done by hand" or each[0] != text[stop - 1].split()[-1]]
        effects = engine_with_state(world, monkeypatch)
        stopped(world, text[stop - 1], how, effects)
        done = text[: stop if how == "done by hand" else stop - 1]
        if HIDDEN in done and len(done) < len(text):
            before = list(effects)
            with pytest.raises(NeedsRepair) as caught:
                world.migrate()
            assert (caught.value.code, effects) == ("SESSION_NOT_RESTORED", before)
            refusals += 1
        else:
            world.migrate()
            assert effects == wanted, (text, stop, how)
    assert refusals or part


def oracle(text: list[str]) -> list[Any]:
    """Return the effects of the statements in one session."""
    effects: list[Any] = []
    session = StatefulSession(effects, lambda sql: None)
    for sql in text:
        session.query(sql)
    return effects


def test_a_session_that_begins_elsewhere_now_is_refused(
    world: World, effects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog file named another default namespace meanwhile; with the first one the file continues."""
    world.file("1_a.sql", "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")
    stopped(world, "INSERT INTO t VALUES (2)", "failed", effects)
    with monkeypatch.context() as patch:
        patch.setattr(StatefulSession, "context", lambda _: SessionContext("lake", "other"))
        with pytest.raises(NeedsRepair, match=r"ran in lake\.main; the session is in lake\.other now") as caught:
            world.migrate()
    assert (caught.value.code, caught.value.exit_code, len(effects)) == ("SESSION_NOT_RESTORED", 6, 1)
    assert [file.resumed_at for file in world.migrate().applied] == [2]
    assert [value for value, _ in effects] == ["(1)", "(2)"]


def test_a_statement_that_cannot_set_the_session_again_stops_the_file(world: World, effects: list[Any]) -> None:
    """The namespace of USE is gone: nothing is recorded, the file before is applied, and the next run tries again."""
    world.file("1_a.sql", "USE a;\nINSERT INTO t VALUES (1)")
    stopped(world, "INSERT INTO t VALUES (1)", "failed", effects)
    kinds = list(world.kinds)
    world.engine.before = once("USE a", refused)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "SESSION_NOT_RESTORED"
    assert caught.value.data["statement_index"] == 1
    assert (world.kinds, effects) == (kinds, [])
    world.migrate()
    assert effects == [("(1)", {"namespace": "a"})]


def test_a_refused_session_leaves_the_file_before_applied(world: World, effects: list[Any]) -> None:
    """What the run did before the refusal is in the history."""
    world.file("2_b.sql", "USE a;\nINSERT INTO t VALUES (1)")
    stopped(world, "INSERT INTO t VALUES (1)", "failed", effects)
    world.file("1_a.sql", "INSERT INTO t VALUES (0)")
    world.engine.before = once("USE a", refused)
    with pytest.raises(NeedsRepair):
        world.migrate(Selection(out_of_order=None))
    assert world.kinds[-2:] == [("started", "1"), ("applied", "1")]


def test_an_announcement_records_the_session(world: World, effects: list[Any]) -> None:
    """The history has, for each statement, where the session was and which statements had set it."""
    world.file("1_a.sql", "INSERT INTO t VALUES (0);\nUSE a;\nSET k=1;\nINSERT INTO t VALUES (1)")
    world.migrate()
    found = [json.loads(event.details or "{}").get("session") for event in world.events]
    at_first, after_use = {"catalog": "lake", "namespace": "main"}, {"catalog": "lake", "namespace": "a"}
    assert found == [at_first, at_first, {**after_use, "statements": [2]}, {**after_use, "statements": [2, 3]}, None]


def test_a_record_without_a_session_is_resumed_by_the_text_of_its_file(world: World, effects: list[Any]) -> None:
    """An earlier version of glacierbase recorded no session: what sets one is run again, and nothing is compared."""
    world.file("1_a.sql", "USE a;\nINSERT INTO t VALUES (1)")
    stopped(world, "INSERT INTO t VALUES (1)", "failed", effects)
    events = world.tables.histories["shop"]
    events[:] = [replace(event, details=(event.details or "").replace('"session"', '"later"')) for event in events]
    world.migrate()
    assert effects == [("(1)", {"namespace": "a"})]


def test_the_plan_names_a_file_whose_session_cannot_be_set_again(world: World, effects: list[Any]) -> None:
    """`plan` refuses it as `migrate` does, before anything starts; `--as abandoned` ends the file."""
    world.file("1_a.sql", f"{HIDDEN};\nINSERT INTO t VALUES (1)")
    stopped(world, "INSERT INTO t VALUES (1)", "failed", effects)
    with pytest.raises(GlacierbaseError) as caught:
        world.migrator().plan(Selection())
    assert caught.value.code == "SESSION_NOT_RESTORED"
    repair(world.target(), [1], Decision(Resolution.ABANDONED, "a new file does the rest"))
    world.file("2_b.sql", "USE b;\nINSERT INTO t VALUES (1)")
    world.migrate()
    assert effects == [("(1)", {"namespace": "b"})]


def test_the_failure_of_such_a_file_does_not_promise_that_it_continues(world: World, effects: list[Any]) -> None:
    """The hint names the way that is left."""
    world.file("1_a.sql", f"{HIDDEN};\nINSERT INTO t VALUES (1)")
    world.engine.before = once("INSERT INTO t VALUES (1)", refused)
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    assert "it continues" not in caught.value.hint
    assert caught.value.hint.startswith("`glacierbase repair 1 --as abandoned")


def test_a_secret_in_the_name_of_a_namespace_stops_no_file(world: World, effects: list[Any]) -> None:
    """The history has the name masked, and a masked one is compared with it."""
    register(DEFAULT)
    world.file("1_a.sql", "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")
    stopped(world, "INSERT INTO t VALUES (2)", "failed", effects)
    assert DEFAULT not in "".join(event.details or "" for event in world.events)
    assert [file.resumed_at for file in world.migrate().applied] == [2]


@pytest.mark.parametrize("at", ["__init__", "restore"])
def test_an_interrupt_while_a_session_is_set_loses_no_outcome(
    at: str, world: World, effects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file before is applied, and nothing of this one has begun."""
    world.file("1_a.sql", "INSERT INTO t VALUES (1)")
    world.file("2_b.sql", "INSERT INTO t VALUES (2)")
    original = getattr(FileSession, at)

    def interrupt(session: FileSession, *arguments: Any) -> None:
        if effects:
            raise KeyboardInterrupt
        original(session, *arguments)

    monkeypatch.setattr(FileSession, at, interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.migrate()
    assert world.kinds == [("started", "1"), ("applied", "1")]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_schema_that_may_have_been_selected_unseen_stops_the_file(
    is_recorded: bool, world: World, effects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CREATE SCHEMA of Snowflake selects it; the outcome was settled by a person, or an earlier version recorded no session."""
    world.file("1_a.sql", "CREATE SCHEMA s;\nINSERT INTO t VALUES (1)")
    monkeypatch.setattr(world.engine, "dialect", "snowflake")
    monkeypatch.setattr(file, "read", lambda sql, _: read(sql, "snowflake"))
    if is_recorded:
        stopped(world, "CREATE SCHEMA s", "done by hand", effects)
    else:
        monkeypatch.setattr(FileSession, "at", lambda *_: None)
        stopped(world, "INSERT INTO t VALUES (1)", "failed", effects)
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert (caught.value.code, effects) == ("SESSION_NOT_RESTORED", [])
