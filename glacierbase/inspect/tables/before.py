"""What a table was before its first record, by the metadata files of Iceberg that are left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from glacierbase.history.shapes import as_recorded
from glacierbase.history.timeline import Moment, differ
from glacierbase.inspect.tables.since import Since
from glacierbase.model.shape import Shape
from glacierbase.stores.iceberg.past import Version
from glacierbase.stores.live import LiveTables


def moments_before(tables: LiveTables, moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """Return the moments of a table that its metadata lists up to its first record, oldest first.

    None where a migration made the table, where it is not there any more, or where only an engine could read it. Their event is
    that of the first record, with the time of the metadata file.
    """
    if not moments or not Since.of(moments[0]).at_most or moments[0].shape is None or moments[-1].shape is None:
        return ()
    name = moments[-1].shape.table
    past = tables.past({name: None}).get(name)
    return tuple(_moments(past.versions if past else (), moments[0], moments[0].shape))


def _moments(versions: Sequence[Version], first: Moment, recorded: Shape) -> Iterator[Moment]:
    files = [each.shape.metadata_location for each in versions]
    if recorded.metadata_location is None or recorded.metadata_location not in files:
        return
    before: Shape | None = None
    for each in versions[: files.index(recorded.metadata_location) + 1]:
        shape = as_recorded(each.shape)
        if shape.uuid == recorded.uuid and differ(before, shape):
            yield Moment(shape, replace(first.event, recorded_at=each.at), first.origin)
            before = shape
