"""The transitions of `repair`: what each `--as` records for a version in each state, or why it is refused. Pure.

The help of `repair` shows the same table; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from glacierbase.model.migration import State


class Resolution(str, Enum):
    """What a person may decide about a version (`--as`)."""

    DONE = "done"
    NOT_DONE = "not-done"
    ABANDONED = "abandoned"
    EDITED = "edited"
    REMOVED = "removed"

    __str__ = str.__str__


class Becomes(Enum):
    """What a version becomes by a decision; the value describes it for people."""

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
        if self is Becomes.ACCEPTED:
            return recorded
        if self is Becomes.CLOSED:
            return recorded if recorded is State.APPLIED else State.ABANDONED
        if self is Becomes.CONTINUED and is_last:
            return State.APPLIED
        return State.ABANDONED if self is Becomes.ENDED else State.INTERRUPTED


_SETTLE_FIRST = "the outcome of its statement is to be settled first"
_NO_EFFECT = "the engine proved already that the statement had no effect"
_NO_STATEMENT = "no statement of it is in question"
_EDITABLE = "its remaining statements may be edited without it"
_HAS_FILE = "its file is here"
_NO_FILE = "its file is not here"
_SETTLED = "nothing about it is in question"
_RUNNING = "a run is applying it"
_NEVER_STARTED = "it was never started"

# By the state that `status` shows; columns in the order of `Resolution`. A text is the reason of a refusal.
_TABLE: Mapping[State, tuple[Becomes | str, ...]] = {
    State.UNKNOWN: (Becomes.CONTINUED, Becomes.RESUMED, Becomes.ENDED, _SETTLE_FIRST, _SETTLE_FIRST),
    State.FAILED: (Becomes.CONTINUED, _NO_EFFECT, Becomes.ENDED, _EDITABLE, _HAS_FILE),
    State.INTERRUPTED: (_NO_STATEMENT, _NO_STATEMENT, Becomes.ENDED, _EDITABLE, _HAS_FILE),
    State.CHANGED: (_NO_STATEMENT, _NO_STATEMENT, _NO_STATEMENT, Becomes.ACCEPTED, _HAS_FILE),
    State.MISSING: (_NO_FILE, _NO_FILE, _NO_FILE, _NO_FILE, Becomes.CLOSED),
    State.AHEAD: (_NO_FILE, _NO_FILE, _NO_FILE, _NO_FILE, Becomes.CLOSED),
    State.APPLIED: (_SETTLED,) * len(Resolution),
    State.ABANDONED: (_SETTLED,) * len(Resolution),
    State.RUNNING: (_RUNNING,) * len(Resolution),
    State.PENDING: (_NEVER_STARTED,) * len(Resolution),
    State.OUT_OF_ORDER: (_NEVER_STARTED,) * len(Resolution),
}


def after(state: State, resolution: Resolution) -> Becomes | str:
    """Return what a version in this state becomes by the decision, or why the decision is refused."""
    return _TABLE[state][list(Resolution).index(resolution)]


def choices(state: State) -> tuple[Resolution, ...]:
    """Return the decisions that are possible for a version in this state."""
    return tuple(resolution for resolution in Resolution if isinstance(after(state, resolution), Becomes))


def table() -> list[tuple[str, str, str]]:
    """Return state, decision and what the version becomes, for each decision that is possible."""
    return [
        (state.value, resolution.value, becomes.value)
        for state in _TABLE
        for resolution in Resolution
        if isinstance(becomes := after(state, resolution), Becomes)
    ]
