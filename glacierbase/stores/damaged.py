"""What makes the tables of history and lock unreadable, and the errors that name it: lacking columns, no values, several rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from glacierbase.errors import NeedsRepair
from glacierbase.model.command import command
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow

# The columns that every row has a value in.
_REQUIRED: Mapping[type, Sequence[str]] = {
    kind: [field.name for field in fields(kind) if "None" not in str(field.type)] for kind in (Event, LockRow)
}


def the_row(rows: Sequence[LockRow] | None, table: str) -> LockRow | None:
    """Return the one row of a lock table; None where there is no table, or no row in it.

    Args:
        rows: what the table holds.
        table: its name, for the message.

    Raises:
        NeedsRepair: it holds several rows, or one without a value that every row has.
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
    """Return the first column that is null and never written so; None where there is none."""
    return next((name for name in _REQUIRED[type(row)] if getattr(row, name) is None), None)


def check_columns(table: str, row: type, found: Iterable[str]) -> None:
    """Check that a table has all columns of its rows.

    Args:
        row: `Event` or `LockRow`.
        found: the names of the columns that it has.

    Raises:
        NeedsRepair: one of them was dropped or renamed.
    """
    names = {name.lower() for name in found}
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
