"""Compare the tables of a catalog with their records in the history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from glacierbase.declared.between import ALTERATIONS
from glacierbase.errors import EngineUnavailable
from glacierbase.formats import FORMATS
from glacierbase.history.records import History
from glacierbase.model.catalog import Catalog, DriftRule
from glacierbase.model.command import command
from glacierbase.model.differences import Difference, compare
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted, quoted
from glacierbase.record.live import LiveTables, TableRead
from glacierbase.record.shapes import as_recorded
from glacierbase.record.tables import FileTables
from glacierbase.record.timeline import Timeline, timelines
from glacierbase.sql.qualified import why_unmanaged

# Properties that engines and catalogs set themselves.
_KEPT = (
    "transient_lastDdlTime", "last_modified_*", "numFiles", "numRows", "rawDataSize", "totalSize", "COLUMN_STATS_ACCURATE",
    "schema.name-mapping.default", "created-at", "bucketing_version",
    *(pattern for known in FORMATS.values() for pattern in known.kept),
)  # fmt: skip


def is_kept_by_engine(difference: Difference) -> bool:
    """Return whether an engine or a catalog sets the differing property on its own."""
    return difference.what == "property" and any(fnmatchcase(difference.name, pattern) for pattern in _KEPT)


@dataclass(frozen=True, slots=True)
class TableDrift:
    """A table that differs from its last record.

    Attributes:
        recorded: its shape by the last record.
        actual: its shape now, under another name where it was renamed; None where it does not exist.
        differences: at least one.
        is_certain: whether no file is changing the table, or has changed it since the record without leaving another.
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
    def has_statements(self) -> bool:
        """Whether statements may settle it: they are written for tables of one format in `ALTERATIONS`."""
        formats = {shape.format for shape in (self.recorded, self.actual) if shape}
        return len(formats) == 1 and formats <= ALTERATIONS.keys()


@dataclass(frozen=True, slots=True)
class ComparedTables:
    """All recorded tables, compared with the existing ones.

    Attributes:
        tables: how many were compared.
        drifts: those that differ from their records.
        unread: why a table could not be compared, by its name.
    """

    tables: int
    drifts: tuple[TableDrift, ...]
    unread: tuple[tuple[str, str], ...]


def compare_tables(timelines: Iterable[Timeline], tables: LiveTables, files: FileTables) -> ComparedTables:
    """Compare the tables that exist by their records with the existing ones.

    Args:
        files: the files of the history.
    """
    recorded = {timeline.shape.table: timeline for timeline in timelines if timeline.shape}
    readings = tables.read(recorded)
    missing = [timeline.shape for name, timeline in recorded.items() if readings[name] == TableRead()]
    renamed = tables.renamed(filter(None, missing), recorded)
    drifts = (
        drift_of(
            timeline.shape,
            now.shape or renamed.get(timeline.shape.uuid),
            is_certain=timeline.is_certain and not files.is_changing(name),
        )
        for name, timeline in recorded.items()
        if timeline.shape and (now := readings[name]).unread is None
    )
    unread = tuple((name, reading.unread) for name, reading in readings.items() if reading.unread is not None)
    return ComparedTables(len(recorded) - len(unread), tuple(filter(None, drifts)), unread)


def drift_of(recorded: Shape, actual: Shape | None, *, is_certain: bool) -> TableDrift | None:
    """Return how a table differs from its record, secrets aside; None where it does not. Pure."""
    recorded, actual = as_recorded(recorded), actual and as_recorded(actual)
    changes = compare({recorded.table: recorded}, {actual.table: actual} if actual else {})
    differences = tuple(difference for change in changes for difference in change.diff)
    return TableDrift(recorded, actual, differences, is_certain) if differences else None


def changed_from_outside(catalog: Catalog, history: History, shapes: Iterable[Shape]) -> tuple[TableDrift, ...]:
    """Return the managed tables that differ from their certain records, without what is ignored."""
    recorded = {timeline.table: timeline.shape for timeline in timelines(history) if timeline.is_certain}
    drifts = (
        drift_of(before, shape, is_certain=True)
        for shape in shapes
        if (before := recorded.get(shape.table)) is not None and why_unmanaged(catalog, shape.table) is None
    )
    return tuple(left for drift in drifts if drift and (left := without_ignored(drift, catalog.drift_rules)))


def without_ignored(drift: TableDrift, rules: Sequence[DriftRule]) -> TableDrift | None:
    """Return the drift without what is ignored; None where nothing else differs."""
    ignored = set(_ignored(drift, rules))
    left = tuple(difference for difference in drift.differences if difference not in ignored)
    if not left:
        return None
    keys = {difference.name for difference in ignored if difference.what == "property"}
    return replace(drift, recorded=_with_properties(drift, keys), differences=left)


def _ignored(drift: TableDrift, rules: Sequence[DriftRule]) -> Iterator[Difference]:
    for difference in drift.differences:
        if is_kept_by_engine(difference) or any(rule.matches(drift.table, difference.subject) for rule in rules):
            yield difference


def _with_properties(drift: TableDrift, keys: Collection[str]) -> Shape:
    """Return the recorded shape with these properties as the table has them."""
    actual = drift.actual.properties if drift.actual else {}
    kept = {key: value for key, value in drift.recorded.properties.items() if key not in keys}
    return replace(drift.recorded, properties={**kept, **{key: actual[key] for key in keys if key in actual}})


def not_read(catalog: str, unread: Sequence[tuple[str, str]], compared: int) -> EngineUnavailable:
    """Return the error for tables that cannot be read, each with the reason: they must not count as recorded."""
    what = (
        f"catalog {catalog}: {len(unread)} of {counted(compared + len(unread), 'table')} not compared with the record"
    )
    hint = f"remove the cause, and run `{command('drift')}` again; --table chooses other tables"
    table, why = unread[0]
    return EngineUnavailable("TABLES_NOT_READ", (what, *quoted(f"{table}: {why}")), hint)
