"""The changes of a table after its last record, by the table itself and its metadata files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone

from glacierbase.model.shape import Past, Shape
from glacierbase.record.live import LiveTables
from glacierbase.record.shapes import ChangeOrigin, as_recorded
from glacierbase.record.timeline import Moment, differ


def with_changes_since(
    tables: LiveTables, moments: tuple[Moment, ...], *, is_whole: bool
) -> tuple[tuple[Moment, ...], str]:
    """Return the moments of a table with those after its last record, and why the table could not be read.

    The table is read where no engine is needed. Its metadata files date the changes, as far as they exist.

    Args:
        moments: by the records, at least one.
        is_whole: whether every file that changed the table left a record; one that did not may have made the changes.
    """
    last = moments[-1]
    if last.shape is None or not tables.is_near(last.shape.table):
        return moments, ""
    now = tables.read([last.shape.table])[last.shape.table]
    if now.unread is not None:
        return moments, f"{last.shape.table} was not read, so what follows is its record: {now.unread}"
    if now.shape is None:  # Another client may have renamed it.
        now = replace(now, shape=tables.renamed([last.shape], [last.shape.table]).get(last.shape.uuid))
    recorded, current = as_recorded(last.shape), now.shape and as_recorded(now.shape)
    if not differ(recorded, current):
        return moments, ""
    name = current.table if current else last.shape.table
    past = tables.past({name: last.shape.metadata_location}).get(name)
    origin = ChangeOrigin.OUTSIDE if is_whole else ChangeOrigin.NOT_RECORDED
    nobody = replace(last.event, version=None, path=None, author=None, description=None)
    return (
        *moments,
        *(
            Moment(shape, replace(nobody, recorded_at=at), origin, is_exact)
            for at, shape, is_exact in _versions(recorded, current, past)
        ),
    ), ""


def _versions(recorded: Shape, now: Shape | None, past: Past | None) -> Iterator[tuple[datetime, Shape | None, bool]]:
    """Yield each shape since the record that differs from its predecessor, with its time, and whether that is exact."""
    before: Shape | None = recorded
    is_exact = past is not None and past.is_whole
    for version in past.versions if past and now else ():
        shape = as_recorded(version.shape)
        if differ(before, shape):
            yield version.at, shape, is_exact
            before = shape
        is_exact = True
    if differ(before, now):
        yield datetime.now(timezone.utc), now, False
