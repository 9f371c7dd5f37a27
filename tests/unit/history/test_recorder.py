"""The recorder: which events it appends, when, and what every event of a run has in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from glacierbase.apply.locked import LockedCatalog, locked
from glacierbase.history.details import Details
from glacierbase.history.entries import Entry, FileColumns, environment_accepted
from glacierbase.history.state import read_state
from glacierbase.model.migration import EventType, State
from glacierbase.secrets import register
from tests.support.world import World


@contextmanager
def holding(world: World) -> Iterator[LockedCatalog]:
    with world.target().opened() as opened, locked(opened, read_state(opened), 0) as held:
        yield held


def test_a_deferred_entry_is_appended_with_the_next_one(world: World) -> None:
    """One append holds both, in order and numbered without a gap."""
    with holding(world) as held:
        held.recorder.defer(environment_accepted("a", "first"))
        assert world.events == []
        held.recorder.append(environment_accepted("b", "second"))
    assert [(event.sequence, event.reason) for event in world.events] == [(1, "first"), (2, "second")]
    assert world.tables.appends == 1


def test_a_flush_without_entries_writes_nothing(world: World) -> None:
    """A run calls `flush` wherever something may be deferred."""
    with holding(world) as held:
        held.recorder.flush()
    assert world.tables.appends == 0


def test_only_the_first_event_of_a_run_names_the_fence_that_was_read(world: World) -> None:
    """A later reader needs it once, to find events that came too late."""
    for _ in range(2):
        with holding(world) as held:
            held.recorder.append(environment_accepted("a", "one"))
            held.recorder.append(environment_accepted("a", "two"))
    assert [event.details and '"read_fence"' in event.details for event in world.events] == [True, False, True, False]
    assert '"read_fence": 1' in (world.events[2].details or "")


def test_a_text_that_is_not_utf_8_is_recorded_with_escapes(world: World) -> None:
    """A byte of an argument or a path that cannot be decoded does not keep the event from being stored."""
    with holding(world) as held:
        held.recorder.append(environment_accepted("a", "caf\udce9"))
    assert world.events[0].reason == r"caf\udce9"


def test_every_text_of_an_entry_is_masked(world: World) -> None:
    """The history table is readable by people who may not see the secret."""
    secret = "canary-of-the-recorder"
    register(secret)
    file = FileColumns("1", secret, secret, secret, secret, secret, 1)
    entry = Entry(
        event=EventType.FAILED, state=State.FAILED, file=file, rendered_sql=secret, statement_index=1,
        statement_checksum=secret, tables=f'["{secret}"]', duration_ms=1, error_class=secret, error_message=secret,
        reason=secret, query_id=secret, details=Details(environment_was=secret),
    )  # fmt: skip
    with holding(world) as held:
        held.recorder.append(entry)
    [event] = world.events
    assert secret not in str(event)
    assert (event.version, event.author, event.error_message, event.tables) == ("1", "***", "***", '["***"]')


def test_every_event_has_the_columns_that_identify_the_run(world: World) -> None:
    """The run, the person, the machine and the tool are the same in all of them."""
    with holding(world) as held:
        held.recorder.append(environment_accepted("a", "one"), environment_accepted("a", "two"))
    run = held.target.run
    assert len(world.events) == 2
    for event in world.events:
        assert (event.run_id, event.os_user, event.host, event.tool_version) == (
            run.id, run.os_user, run.host, run.tool_version,
        )  # fmt: skip
        assert (event.catalog, event.environment, event.fence) == ("shop", "default", 1)
        assert event.principal == run.os_user
