"""The files that give the objects of a data set other keys: one for each phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.declared.render import literal
from glacierbase.errors import StatementRefused
from glacierbase.migrations.new_files import as_template

# Of what a plan writes; each can be edited.
_LAG_SECONDS, _WINDOW_SECONDS = 900, 3600
_HOLD_SECONDS, _SOAK_SECONDS = 86_400, 604_800
_TASKS = 8
_STEPS = (1, 10, 50, 100)


@dataclass(frozen=True, slots=True)
class Readers:
    """How the readers of a data set of objects are switched: by a view of two tables, or by the partitions of one table.

    Attributes:
        view: the view, which `old_table` and `new_table` replace in turns.
        by: the column by which rows are divided between the two.
        table: the table whose partitions get other locations.
    """

    view: str | None = None
    old_table: str | None = None
    new_table: str | None = None
    by: str | None = None
    table: str | None = None

    def arguments(self) -> dict[str, str]:
        """Return the arguments of `rekey_cutover` for them.

        Raises:
            StatementRefused: `CANNOT_REKEY`: they are neither one nor the other.
        """
        names = ("view", "old_table", "new_table", "by") if self.table is None else ("table",)
        given = {name: getattr(self, name) for name in ("view", "old_table", "new_table", "by", "table")}
        present = {name: value for name, value in given.items() if value}
        if tuple(present) != names:
            raise StatementRefused(
                "CANNOT_REKEY",
                "readers are switched by a view (--view, --old-table, --new-table and --by), or by the partitions of a table"
                " (--table)",
            )
        return present


def phases(objects: RekeyedObjects, readers: Readers) -> Iterator[tuple[str, str]]:
    """Yield the description and the statements of each file.

    Raises:
        StatementRefused: `CANNOT_REKEY`.
    """
    lag = {"lag_seconds": _LAG_SECONDS}
    tasks = {"tasks": _TASKS}
    switched = {name: literal(value) for name, value in readers.arguments().items()}
    yield (
        "writers write twice",
        "-- Let all writers write each object with both keys, the old one first. This file waits until an hour shows it.\n"
        + _call("verify_dual_write", objects, {**lag, "window_seconds": _WINDOW_SECONDS, **tasks}),
    )
    yield (
        "copy the other objects",
        "-- Copies within the bucket, with metadata, tags, storage class and checksum. A run that stopped continues.\n"
        + _call("backfill", objects, {**lag, **tasks}),
    )
    yield (
        "validate",
        "-- Each object has a twin with the same content. Writes the manifest, by which the old objects are deleted later.\n"
        + _call("validate", objects, {**lag, **tasks}),
    )
    steps = (_call("cutover", objects, {**switched, "percent": step, "hold_seconds": _HOLD_SECONDS}) for step in _STEPS)
    way_back = _call("cutover", objects, {**switched, "percent": 0, "hold_seconds": 0}).rstrip()
    yield (
        "switch readers",
        "-- The way back, in place of the statements that did not run yet, or in a new file after the last one:\n-- "
        + way_back.replace("\n", "\n-- ")
        + "\n"
        + "".join(steps),
    )
    yield (
        "delete the objects with old keys",
        "-- Let writers write only new keys first. This file waits until the old objects did not change for the soak time, and\n"
        "-- somebody approved the manifest. In a bucket with versions, those stay.\n"
        + _call("clean_up", objects, {**lag, "soak_seconds": _SOAK_SECONDS, **tasks}),
    )


def _call(action: str, objects: RekeyedObjects, more: dict[str, object]) -> str:
    own = {"objects": objects.address, "old_keys": objects.old_keys, "new_keys": objects.new_keys}
    arguments = {**{name: as_template(literal(value)) for name, value in own.items()}, **more}
    lines = ",\n  ".join(f"{name} => {value}" for name, value in arguments.items())
    return f"CALL glacierbase.rekey_{action}(\n  {lines}\n);\n"
