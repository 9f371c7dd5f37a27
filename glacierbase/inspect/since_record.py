"""What became of a table after its last record: changes that no migration of this history made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone

from glacierbase.errors import GlacierbaseError
from glacierbase.history.timeline import Moment, Origin, differ
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Shape
from glacierbase.stores.shapes import TableShapes


def with_changes_since(
    catalog: Catalog, moments: tuple[Moment, ...], *, is_whole: bool
) -> tuple[tuple[Moment, ...], str]:
    """Return the moments of a table with those after its last record, and why the table could not be read.

    The table is read where no engine is needed. Its metadata files say when it changed, as far as they are left.

    Args:
        moments: by the records, at least one.
        is_whole: whether every file that touched the table has left a record; one that has not may have made the changes.
    """
    last = moments[-1]
    if last.shape is None:
        return moments, ""
    try:
        with closing(TableShapes(catalog)) as shapes:
            if shapes.needs_engine(last.shape.table):
                return moments, ""
            found = list(_versions(shapes, last.shape))
    except GlacierbaseError as error:
        return moments, f"{last.shape.table} was not read, so what follows is its record: {error.message}"
    origin = Origin.OUTSIDE if is_whole else Origin.NOT_RECORDED
    return (*moments, *(_moment(last, at, shape, origin) for at, shape in found)), ""


def _versions(shapes: TableShapes, recorded: Shape) -> Iterator[tuple[datetime, Shape | None]]:
    """Yield each shape since the record that differs from the one before, and when it came about; None before another table."""
    now = shapes.read(recorded.table)
    if not differ(recorded, now):
        return
    past = shapes.past(recorded.table, recorded.metadata_location) if now else None
    seen: list[tuple[datetime, Shape | None]] = [(each.at, each.shape) for each in past.versions] if past else []
    before: Shape | None = recorded
    for at, shape in (*seen, (datetime.now(timezone.utc), now)):
        if differ(before, shape):
            if before and shape and before.uuid != shape.uuid:
                yield at, None
            yield at, shape
            before = shape


def _moment(last: Moment, at: datetime, shape: Shape | None, origin: Origin) -> Moment:
    return Moment(shape, replace(last.event, version=None, author=None, description=None, recorded_at=at), origin)
