"""Events that no run can have written: a row of the history table that was changed. Pure."""

from __future__ import annotations

from glacierbase.errors import NeedsRepair
from glacierbase.model.migration import Event, EventType, State, version_number
from glacierbase.stores.damaged import without_value

_KINDS = frozenset(EventType)
_STATES = frozenset({State.RUNNING, State.APPLIED, State.FAILED, State.ABANDONED, State.INTERRUPTED, State.UNKNOWN})
# Of the statement that they name, it follows how many are done.
_COUNTS = frozenset({EventType.STATEMENT_DONE, EventType.REPAIRED})
# They have no version where they are about the whole catalog.
_OF_CATALOG = frozenset({EventType.TAKEN_OVER, EventType.UNLOCKED, EventType.REPAIRED})


def check_event(event: Event) -> None:
    """Check the columns from which the state of a version follows.

    Raises:
        NeedsRepair: one has no value, or one that no run writes.
    """
    column = without_value(event)
    if column is not None:
        raise damaged(event, column, "null")
    if event.event not in _KINDS:
        raise damaged(event, "event", f"{event.event!r}, which is no event")
    if event.version is None:
        if event.event not in _OF_CATALOG:
            raise damaged(event, "version", "null")
        return
    if version_number(event.version) is None:
        raise damaged(event, "version", f"{event.version!r}, which is no version")
    if event.state not in _STATES:
        raise damaged(
            event, "state", "null" if event.state is None else f"{event.state!r}, which is no state of a version"
        )
    _check_place(event)


def _check_place(event: Event) -> None:
    """Check the number of a statement: the next run resumes behind it."""
    index, total = event.statement_index, event.statement_total
    if index is None and event.event in _COUNTS:
        raise damaged(event, "statement_index", "null")
    # The start of a file without statements names the first one.
    last = total if total is not None and event.event != EventType.STARTED else index
    if index is not None and last is not None and not 0 <= index <= last:
        raise damaged(event, "statement_index", f"{index}, which is no statement of {total}")


def damaged(event: Event, column: str, problem: str) -> NeedsRepair:
    """Return the error for an event with a column that cannot be read.

    Args:
        problem: what the column is.
    """
    return NeedsRepair(
        "HISTORY_DAMAGED",
        f"the history of {event.catalog}: the column `{column}` of event {event.sequence} (fence {event.fence}) of run"
        f" {event.run_id} is {problem}; nothing ran",
        "restore the history table from a snapshot or backup in which the column is intact; nothing runs until then",
        fence=event.fence,
        sequence=event.sequence,
        column=column,
    )
