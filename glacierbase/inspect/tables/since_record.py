"""What became of a table after its last record: changes that no migration of this history made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from glacierbase.history.shapes import as_recorded
from glacierbase.history.timeline import Moment, Origin, differ
from glacierbase.model.shape import Shape
from glacierbase.stores.iceberg.past import Version
from glacierbase.stores.live import LiveTables


def with_changes_since(
    tables: LiveTables, moments: tuple[Moment, ...], *, is_whole: bool
) -> tuple[tuple[Moment, ...], str]:
    """Return the moments of a table with those after its last record, and why the table could not be read.

    The table is read where no engine is needed. Its metadata files say when it changed, as far as they are left.

    Args:
        moments: by the records, at least one.
        is_whole: whether every file that touched the table has left a record; one that has not may have made the changes.
    """
    last = moments[-1]
    if last.shape is None or not tables.is_near(last.shape.table):
        return moments, ""
    now = tables.read([last.shape.table])[last.shape.table]
    if now.unread is not None:
        return moments, f"{last.shape.table} was not read, so what follows is its record: {now.unread}"
    recorded, current = as_recorded(last.shape), now.shape and as_recorded(now.shape)
    if not differ(recorded, current):
        return moments, ""
    past = tables.past({last.shape.table: last.shape.metadata_location}).get(last.shape.table)
    origin = Origin.OUTSIDE if is_whole else Origin.NOT_RECORDED
    found = _versions(recorded, current, past.versions if past else ())
    return (*moments, *(_moment(last, at, shape, origin) for at, shape in found)), ""


def _versions(recorded: Shape, now: Shape | None, since: Sequence[Version]) -> Iterator[tuple[datetime, Shape | None]]:
    """Yield each shape since the record that differs from the one before, and when it came about."""
    before: Shape | None = recorded
    for version in since if now else ():
        shape = as_recorded(version.shape)
        if differ(before, shape):
            yield version.at, shape
            before = shape
    if differ(before, now):
        yield datetime.now(timezone.utc), now


def _moment(last: Moment, at: datetime, shape: Shape | None, origin: Origin) -> Moment:
    return Moment(shape, replace(last.event, version=None, author=None, description=None, recorded_at=at), origin)
