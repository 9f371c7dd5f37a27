"""What every store knows of the two tables: their names, the kinds of their columns, the properties of an Iceberg one, and how
several runs at once create and change them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import Field
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import CommitConflict, ConfigurationError, EngineError
from glacierbase.stores import LockRow

_TRIES = 5
# An error that takes longer is a time-out. Repeating it would outlast a lease of the usual length, which is three times this.
_RETRY_SECONDS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Copy-on-write under serializable isolation without retries: of two updates from one snapshot, one is refused.
# https://iceberg.apache.org/docs/latest/configuration/#write-properties
ICEBERG_PROPERTIES = {
    "format-version": "2",
    "write.update.mode": "copy-on-write",
    "write.update.isolation-level": "serializable",
    "commit.retry.num-retries": "0",
    "write.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}

_HISTORY, _LOCK = "history_", "lock_"


def history_name(catalog: str) -> str:
    """What the history table of a catalog is called."""
    return f"{_HISTORY}{catalog}"


def lock_name(catalog: str) -> str:
    """What the lock table of a catalog is called."""
    return f"{_LOCK}{catalog}"


def catalog_of(history: str) -> str | None:
    """Whose history the table of this name is; None where it is none."""
    return history.removeprefix(_HISTORY) if history.startswith(_HISTORY) else None


def kind(field: Field[Any]) -> str:
    """The kind of a column's values: `int`, `str` or `datetime`."""
    return str(field.type).partition(" ")[0]


def instant(micros: int) -> datetime:
    """The instant so many microseconds after the epoch, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def check_properties(table: str, must: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Let a table pass that has the properties which it must have.

    Raises:
        ConfigurationError: a catalog's defaults or somebody's ALTER TABLE took away what makes the lock a lock.
    """
    # The format version is part of the table's metadata, and not always shown among its properties.
    wrong = {key: value for key, value in must.items() if key != "format-version" and found.get(key) != value}
    if wrong:
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in wrong.items())
        raise ConfigurationError(
            "STORE_PROPERTIES",
            f"{table.replace('`', '')} has other properties than the lock and the history need: {', '.join(wrong)}",
            f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})",
        )


def ensure(make: Callable[[], object], exists: Callable[[], bool]) -> None:
    """Create something that another first run may be creating at this moment: an error counts only if it is still absent."""
    started = time.monotonic()
    for attempt in range(_TRIES):
        try:
            make()
            return
        except EngineError as error:
            if exists():
                return
            if _is_final(error, attempt, started):
                raise


def settle(change: Callable[[], bool], read: Callable[[], LockRow | None], expected: LockRow, new: LockRow) -> bool:
    """Whether the row of the lock is `new` now.

    Args:
        change: make it `new` if its claim is still `expected`'s; True if it is known to be `new` then.
    """
    started = time.monotonic()
    for attempt in range(_TRIES):
        problem: EngineError | None = None
        try:
            if change():
                return True
        except EngineError as error:  # A conflict decides nothing: the row does.
            problem = error
        row = read()
        if row == new:
            return True
        # The heartbeat thread of the same run may have written another row with the same claim.
        if row is None or row.claim != expected.claim:
            return False
        if problem and _is_final(problem, attempt, started):
            raise problem
    return False


def _is_final(error: EngineError, attempt: int, started: float) -> bool:
    """Whether to give up; a conflict proves that the catalog answers, however slow the machine is."""
    is_over = time.monotonic() - started > _RETRY_SECONDS and not isinstance(error, CommitConflict)
    return is_over or attempt == _TRIES - 1
