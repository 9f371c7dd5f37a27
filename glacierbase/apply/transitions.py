"""The transitions of `repair`: what each `--as` records for a version in each state, or why it is refused. Pure.

The help of `repair` shows the same table; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from glacierbase.history.records import Record
from glacierbase.model.migration import State
from glacierbase.model.text import counted

# The decision that is recorded in every environment, which the table below does not have: it depends on the history of each.
WITHDRAWN = "withdrawn"


class Resolution(str, Enum):
    """What a person may decide about a version (`--as`)."""

    DONE = "done"
    NOT_DONE = "not-done"
    ABANDONED = "abandoned"
    EDITED = "edited"
    REMOVED = "removed"

    __str__ = str.__str__


class NewState(Enum):
    """The state of a version after a decision; the value describes it for people."""

    CONTINUED = "applied after its last statement, else interrupted"
    RESUMED = "interrupted, once the engine has stopped"
    ENDED = "abandoned"
    ACCEPTED = "what it was, with the checksum of the file"
    CLOSED = "applied if it was, else abandoned"

    def state(self, recorded: State, *, is_last: bool) -> State:
        """Return the state of the version after the decision.

        Args:
            recorded: its state in the history.
            is_last: whether all its statements are done then.
        """
        if self is NewState.ACCEPTED:
            return recorded
        if self is NewState.CLOSED:
            return recorded if recorded is State.APPLIED else State.ABANDONED
        if self is NewState.CONTINUED and is_last:
            return State.APPLIED
        return State.ABANDONED if self is NewState.ENDED else State.INTERRUPTED


_SETTLE_FIRST = "the outcome of its statement is to be settled first"
_NO_EFFECT = "the engine proved already that the statement had no effect"
_NO_STATEMENT = "no statement of it is in question"
_EDITABLE = "its remaining statements may be edited without it"
_HAS_FILE = "its file is here"
_NO_FILE = "its file is not here"
_SETTLED = "nothing about it is in question"
_RUNNING = "a run is applying it"
_NEVER_STARTED = "it was never started"

# The keys are states as `status` shows them, the columns follow `Resolution`; a text is the reason of a refusal.
_TABLE: Mapping[State, tuple[NewState | str, ...]] = {
    State.UNKNOWN: (NewState.CONTINUED, NewState.RESUMED, NewState.ENDED, _SETTLE_FIRST, _SETTLE_FIRST),
    State.FAILED: (NewState.CONTINUED, _NO_EFFECT, NewState.ENDED, _EDITABLE, _HAS_FILE),
    State.INTERRUPTED: (_NO_STATEMENT, _NO_STATEMENT, NewState.ENDED, _EDITABLE, _HAS_FILE),
    State.WAITING: (_NO_STATEMENT, _NO_STATEMENT, NewState.ENDED, _EDITABLE, _HAS_FILE),
    State.CHANGED: (_NO_STATEMENT, _NO_STATEMENT, _NO_STATEMENT, NewState.ACCEPTED, _HAS_FILE),
    State.MISSING: (_NO_FILE, _NO_FILE, _NO_FILE, _NO_FILE, NewState.CLOSED),
    State.AHEAD: (_NO_FILE, _NO_FILE, _NO_FILE, _NO_FILE, NewState.CLOSED),
    State.APPLIED: (_SETTLED,) * len(Resolution),
    State.ABANDONED: (_SETTLED,) * len(Resolution),
    State.RUNNING: (_RUNNING,) * len(Resolution),
    State.PENDING: (_NEVER_STARTED,) * len(Resolution),
    State.OUT_OF_ORDER: (_NEVER_STARTED,) * len(Resolution),
}


def after(state: State, resolution: Resolution) -> NewState | str:
    """Return the state of a version in `state` after the decision, or why the decision is refused."""
    return _TABLE[state][list(Resolution).index(resolution)]


def choices(state: State) -> tuple[Resolution, ...]:
    """Return the decisions that are possible for a version in this state."""
    return tuple(resolution for resolution in Resolution if isinstance(after(state, resolution), NewState))


def why_not_withdrawn(record: Record) -> str | None:
    """Return why a version cannot be withdrawn, because of its history in one environment; None where it can be."""
    if record.state is State.UNKNOWN:
        return _SETTLE_FIRST
    if record.state is State.RUNNING:
        return _RUNNING
    if record.state is State.APPLIED:
        return "it is applied"
    if record.may_have_effect:
        return "it was abandoned while the outcome of a statement was unknown"
    done = record.statements_done
    return f"{counted(done, 'statement')} of {record.statements_total} took effect" if done else None


def table() -> list[tuple[str, str, str]]:
    """Return state, decision and new state, for each decision that is possible."""
    return [
        (state.value, resolution.value, new_state.value)
        for state in _TABLE
        for resolution in Resolution
        if isinstance(new_state := after(state, resolution), NewState)
    ]
