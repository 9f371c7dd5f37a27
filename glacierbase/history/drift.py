"""What the tables of a catalog are now, against what the history recorded of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from glacierbase.history.shapes import as_recorded
from glacierbase.history.tables import FileTables
from glacierbase.history.timeline import Timeline
from glacierbase.model.differences import Difference, compare
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Shape
from glacierbase.stores.live import LiveTables, Reading

# Properties that engines and catalogs set themselves.
_KEPT = (
    "transient_lastDdlTime", "last_modified_*", "numFiles", "numRows", "rawDataSize", "totalSize", "COLUMN_STATS_ACCURATE",
    "schema.name-mapping.default", "created-at", "bucketing_version",
)  # fmt: skip


def is_kept_by_engine(difference: Difference) -> bool:
    """Return whether an engine or a catalog sets what differs by itself."""
    return difference.what == "property" and any(fnmatchcase(difference.name, pattern) for pattern in _KEPT)


@dataclass(frozen=True, slots=True)
class TableDrift:
    """A table that is not as the last record says.

    Attributes:
        recorded: its shape by the last record.
        actual: its shape now, under another name where it was renamed; None where it is gone.
        differences: at least one.
        is_certain: whether no file is changing the table, or has touched it since without leaving a record of it.
    """

    recorded: Shape
    actual: Shape | None
    differences: tuple[Difference, ...]
    is_certain: bool

    @property
    def table(self) -> str:
        return self.recorded.table

    @property
    def is_renamed(self) -> bool:
        return self.actual is not None and self.actual.table != self.recorded.table

    @property
    def is_of_iceberg(self) -> bool:
        """Whether statements may settle it: they are written for Iceberg tables only."""
        return all(shape.format == "iceberg" for shape in (self.recorded, self.actual) if shape)


@dataclass(frozen=True, slots=True)
class ComparedTables:
    """All recorded tables, compared with what they are now.

    Attributes:
        tables: how many were compared.
        drifts: those that are not as recorded.
        unread: why a table could not be compared, by its name.
    """

    tables: int
    drifts: tuple[TableDrift, ...]
    unread: tuple[tuple[str, str], ...]


def look(timelines: Iterable[Timeline], tables: LiveTables, files: FileTables) -> ComparedTables:
    """Compare the tables that exist by the record with what they are now.

    Args:
        files: of the history.
    """
    recorded = {timeline.shape.table: timeline for timeline in timelines if timeline.shape}
    found = tables.read(recorded)
    gone = [each.shape for name, each in recorded.items() if found[name] == Reading()]
    renamed = _renamed(gone, recorded, tables)
    drifts = (
        drift_of(
            each.shape,
            now.shape or renamed.get(each.shape.uuid),
            is_certain=each.is_certain and not files.is_changing(name),
        )
        for name, each in recorded.items()
        if each.shape and (now := found[name]).unread is None
    )
    unread = tuple((name, each.unread) for name, each in found.items() if each.unread is not None)
    return ComparedTables(len(recorded) - len(unread), tuple(filter(None, drifts)), unread)


def _renamed(gone: Iterable[Shape | None], recorded: Collection[str], tables: LiveTables) -> Mapping[str | None, Shape]:
    """Return the tables that were recorded under other names, by their ids: those in the namespaces of recorded tables."""
    wanted = {shape.uuid for shape in gone if shape and shape.uuid}
    if not wanted:
        return {}
    beside = tables.names_beside({tuple(name_parts(name)[:-1]): name for name in recorded}.values())
    known = {name.casefold() for name in recorded}
    others = [name for names in beside.values() for name in names if name.casefold() not in known]
    shapes = (reading.shape for reading in tables.read(others).values())
    return {shape.uuid: shape for shape in shapes if shape and shape.uuid in wanted}


def drift_of(recorded: Shape, actual: Shape | None, *, is_certain: bool) -> TableDrift | None:
    """Return how a table differs from its record; None where it does not. Both without secrets, as a record is. Pure."""
    recorded, actual = as_recorded(recorded), actual and as_recorded(actual)
    changes = compare({recorded.table: recorded}, {actual.table: actual} if actual else {})
    differences = tuple(difference for change in changes for difference in change.diff)
    return TableDrift(recorded, actual, differences, is_certain) if differences else None
