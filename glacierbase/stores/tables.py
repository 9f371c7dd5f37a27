"""The common part of all stores: names, columns and properties of the two tables, and checks that they are readable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import CommitConflict, ConfigurationError, EngineError, NeedsRepair, StatementRefused
from glacierbase.model.command import command
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow

# The numbers of attempts: after refusals, and without an answer.
_TRIES, _UNANSWERED_TRIES = 5, 8
# The pause after the first attempt without an answer; it doubles each time. 13 s in all.
_PAUSE_SECONDS = 0.1
# An error that takes longer is a time-out. A retry would outlast the default lease, which is three times as long.
_RETRY_SECONDS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Copy-on-write, serializable isolation and no retries: of two updates based on one snapshot, one is refused.
# https://iceberg.apache.org/docs/latest/configuration/#write-properties
ICEBERG_PROPERTIES = {
    "format-version": "2",
    "write.update.mode": "copy-on-write",
    "write.update.isolation-level": "serializable",
    "commit.retry.num-retries": "0",
    "write.distribution-mode": "none",
    "write.update.distribution-mode": "none",
}

_HISTORY, _LOCK = "history_", "lock_"
# The columns that have a value in every row.
_REQUIRED: Mapping[type, Sequence[str]] = {
    kind: [field.name for field in fields(kind) if "None" not in str(field.type)] for kind in (Event, LockRow)
}


def history_name(catalog: str) -> str:
    """Return the name of a catalog's history table."""
    return f"{_HISTORY}{catalog}"


def is_own_name(table: str) -> bool:
    """Return whether a table may be the history or the lock of a catalog."""
    return table.startswith((_HISTORY, _LOCK))


def lock_name(catalog: str) -> str:
    """Return the name of a catalog's lock table."""
    return f"{_LOCK}{catalog}"


def catalog_of(history: str) -> str | None:
    """Return the catalog whose history table has this name; None for another table."""
    return history.removeprefix(_HISTORY) if history.startswith(_HISTORY) else None


def kind(field: Field[Any]) -> str:
    """Return the type of a column's values: `int`, `str` or `datetime`."""
    return str(field.type).partition(" ")[0]


def instant(micros: int) -> datetime:
    """Return the instant of a number of microseconds since the epoch, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events by fence and sequence. Events of a damaged table may lack them, and come first."""
    return tuple(sorted(events, key=lambda event: (event.fence or 0, event.sequence or 0)))


def check_properties(table: str, must: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Check the properties of a table.

    Raises:
        ConfigurationError: a catalog's default or an ALTER TABLE changed a property that the lock depends on.
    """
    # The format version is part of the table's metadata, and not always listed among its properties.
    wrong = {key: value for key, value in must.items() if key != "format-version" and properties.get(key) != value}
    if wrong:
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in wrong.items())
        raise ConfigurationError(
            "STORE_PROPERTIES",
            f"{table.replace('`', '')} lacks properties that history and lock require: {', '.join(wrong)}",
            f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})",
        )


def ensure(make: Callable[[], object], exists: Callable[[], bool]) -> None:
    """Create an object that another first run may create at the same time: an error counts only if it does not exist then."""
    started = time.monotonic()
    for attempt in range(_UNANSWERED_TRIES):
        try:
            make()
            return
        except EngineError as error:
            if exists():
                return
            if _is_final(error, attempt, started):
                raise
            _pause(error, attempt)


def settle(change: Callable[[], bool], read: Callable[[], LockRow | None], expected: LockRow, new: LockRow) -> bool:
    """Change the lock's row to `new`; return whether the row is `new` now.

    Args:
        change: writes `new` if the row's claim is still that of `expected`; returns True if the row is known to be `new`.
    """
    started = time.monotonic()
    for attempt in range(_UNANSWERED_TRIES):
        problem: EngineError | None = None
        try:
            if change():
                return True
        except EngineError as error:  # After a conflict, only the row shows the outcome.
            problem = error
        row = read()
        if row == new:
            return True
        # The heartbeat thread of the same run may have written another row with the same claim.
        if row is None or row.claim != expected.claim:
            return False
        if problem and _is_final(problem, attempt, started):
            raise problem
        if problem:
            _pause(problem, attempt)
    return False


def _is_final(error: EngineError, attempt: int, started: float) -> bool:
    """Return whether to give up. A conflict proves that the catalog answers, so its duration does not count."""
    is_over = time.monotonic() - started > _RETRY_SECONDS and not isinstance(error, CommitConflict)
    return is_over or attempt == (_TRIES if isinstance(error, StatementRefused) else _UNANSWERED_TRIES) - 1


def _pause(error: EngineError, attempt: int) -> None:
    """Wait before the next attempt, unless the catalog answered that this one had no effect."""
    if not isinstance(error, StatementRefused):
        time.sleep(_PAUSE_SECONDS * 2**attempt)


def the_row(rows: Sequence[LockRow] | None, table: str) -> LockRow | None:
    """Return the one row of a lock table; None if the table does not exist or is empty.

    Args:
        rows: the rows of the table.
        table: its name, for the message.

    Raises:
        NeedsRepair: the table holds several rows, or the row lacks a value that every row has.
    """
    if not rows:
        return None
    if len(rows) > 1:
        raise _lock_damaged(table, f"holds {len(rows)} rows instead of one")
    lacking = without_value(rows[0])
    if lacking:
        raise _lock_damaged(table, f"has no value in {lacking}")
    return rows[0]


def without_value(row: LockRow | Event) -> str | None:
    """Return the first column that is null although it is always written with a value; None without one."""
    return next((name for name in _REQUIRED[type(row)] if getattr(row, name) is None), None)


def check_columns(table: str, row: type, columns: Iterable[str]) -> None:
    """Check that a table has all columns of its rows.

    Args:
        row: `Event` or `LockRow`.
        columns: the names of the columns that the table has.

    Raises:
        NeedsRepair: a column was dropped or renamed, or a version that did not have the column created the table.
    """
    names = {name.lower() for name in columns}
    lacking = ", ".join(field.name for field in fields(row) if field.name not in names)
    if not lacking:
        return
    what = f"{table.replace('`', '')} lacks columns: {lacking}"
    if row is LockRow:
        hint = f"while no run is at work: DROP TABLE {table}; the next run creates it again, with a fence above the history's"
        raise NeedsRepair("LOCK_DAMAGED", f"the lock table {what}; nothing ran", hint, columns=lacking.split(", "))
    raise NeedsRepair(
        "HISTORY_DAMAGED",
        f"the history table {what}; nothing ran",
        "restore the history table from a backup, or register its newest metadata file that has them; nothing runs until then",
        columns=lacking.split(", "),
    )


def _lock_damaged(table: str, what: str) -> NeedsRepair:
    return NeedsRepair(
        "LOCK_DAMAGED",
        f"the lock table {table.replace('`', '')} {what}; no run can acquire the lock",
        f"`{command('unlock', '--rebuild', reason=True)}` replaces what it holds by one row, with a fence above all of them",
    )
