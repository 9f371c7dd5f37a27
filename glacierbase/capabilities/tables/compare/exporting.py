"""Read the state of one catalog in one environment: its versions from files and history, its tables from their catalogs.

The state has the last change of each part of a table, and the statements about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import glacierbase
from glacierbase.capabilities.tables.compare.state import (
    PartChanges,
    PartStatements,
    StateResult,
    TableParts,
    TableState,
    VersionState,
)
from glacierbase.capabilities.tables.compare.tables import differences
from glacierbase.errors import MigrationFileError
from glacierbase.history.items import Item
from glacierbase.history.records import History, Record
from glacierbase.history.state import CatalogState, read_state
from glacierbase.history.target import CatalogRun
from glacierbase.inspect.status import statuses
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog, DriftRule
from glacierbase.model.differences import OF_ENGINE, partition_text, sort_text
from glacierbase.model.migration import EventType, Squashed, State
from glacierbase.model.names import name_parts
from glacierbase.model.result import Status
from glacierbase.model.shape import Shape
from glacierbase.record.about import COLUMN_FACTS, subjects_of
from glacierbase.record.lineage import LastChange
from glacierbase.record.live import LiveTables, TableRead
from glacierbase.record.points import place_of
from glacierbase.record.shapes import ChangeOrigin, as_recorded
from glacierbase.record.tables import FileTables
from glacierbase.record.timeline import Moment, Timeline, timelines
from glacierbase.sql.file import named
from glacierbase.sql.qualified import why_unmanaged

# How often tables are read again because a migration ran meanwhile.
_AGAIN = 3
# Digits of the digest of a statement; enough to distinguish two statements on the same part.
_DIGITS = 12
# What one statement declares about the parts of a table: subjects and texts.
_Said = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Read:
    """A history, and the tables, read after it.

    Attributes:
        files: the tables that the file of each version changes.
    """

    state: CatalogState
    files: Mapping[int, tuple[str, ...]]
    tables: Sequence[TableState]

    @classmethod
    def of(cls, target: CatalogRun, state: CatalogState, live: LiveTables) -> _Read:
        files = FileTables.of(target.catalog, state.history)
        return cls(state, files.by_version, _tables(target, state.history, files, live))


def export(target: CatalogRun, result: StateResult) -> StateResult:
    """Return the state of the catalog. Writes nothing; an engine is started only where history and lock need it."""
    with target.opened() as opened, LiveTables(target.catalog) as live:
        read = _Read.of(target, read_state(opened), live)
        for _ in range(_AGAIN):
            if not any(table.altered for table in read.tables):
                break
            # A migration may have altered the tables after its history was read.
            newer = read_state(opened)
            if newer.history.head == read.state.history.head:
                break
            read = _Read.of(target, newer, live)
        else:
            read = replace(read, tables=[replace(table, altered=()) for table in read.tables])
    return _completed(target, result, read)


def _completed(target: CatalogRun, result: StateResult, read: _Read) -> StateResult:
    state = read.state
    known = list(statuses(target, state.history))
    return replace(
        result,
        warnings=(*state.warnings, *(item.error.message for item, _ in known if item.error)),
        read_at=datetime.now(timezone.utc),
        tool_version=glacierbase.__version__,
        versions=tuple(_versions(known, read.files)),
        repeatables=tuple(_row(item, status, ()) for item, status in known if item.is_repeatable),
        tables=tuple(read.tables),
    )


def _versions(known: Sequence[tuple[Item, Status]], files: Mapping[int, tuple[str, ...]]) -> Iterator[VersionState]:
    """Yield the versions; with a squash, also the versions that it replaced, unless they have records or files."""
    versions = {item.number: (item, status) for item, status in known if not item.is_repeatable}
    rows: dict[int, VersionState] = {}
    for number, (item, status) in versions.items():
        row = _row(item, status, files.get(number, ()))
        rows[number] = replace(row, checksums=(*row.checksums, *_checksums(item.squashes, number)))
        for other in {old.number: old for old in item.squashes if old.number not in versions}.values():
            rows[other.number] = replace(
                row, version=other.version, checksums=_checksums(item.squashes, other.number), rendered_checksum=None,
                squash=item.version, tables=(),
            )  # fmt: skip
    yield from (rows[number] for number in sorted(rows))


def _checksums(squashed: Iterable[Squashed], number: int) -> tuple[str, ...]:
    return tuple(old.checksum for old in squashed if old.number == number)


def _row(item: Item, status: Status, tables: tuple[str, ...]) -> VersionState:
    """Return the state of a version or repeatable. A repeatable that is to run has no checksum: its file was not applied."""
    record, checksum, rendered = item.record, None, None
    if not (item.is_repeatable and item.state is State.PENDING):
        checksum = record.last.checksum if record else item.file.checksum if item.file else None
        rendered = record.last.rendered_checksum if record else None
    return VersionState(
        version=item.version,
        name=item.name,
        description=status.description,
        state=item.state,
        applied_at=status.applied_at,
        applied_by=status.applied_by,
        statements_done=status.statements_done,
        statements_total=status.statements_total,
        stopped_at=status.stopped_at,
        checksums=(checksum,) if checksum else (),
        rendered_checksum=rendered,
        has_file=item.file is not None,
        squash=None,
        tables=tables,
    )


def _tables(target: CatalogRun, history: History, files: FileTables, live: LiveTables) -> Sequence[TableState]:
    """Return the tables of the history, in the order of the versions that change them, each as it is now."""
    recorded: dict[str, Timeline] = {}
    for timeline in timelines(history):
        # If several tables have had the name, the one that has it now, or had it last.
        if timeline.table not in recorded or _last(timeline) >= _last(recorded[timeline.table]):
            recorded[timeline.table] = timeline
    by_version = files.by_version
    names = list(dict.fromkeys([*(name for number in sorted(by_version) for name in by_version[number]), *recorded]))
    unmanaged = {name: why for name in names if (why := why_unmanaged(target.catalog, name))}
    readings, rules = live.read(name for name in names if name not in unmanaged), target.catalog.drift_rules
    # While a statement may be changing a table, and after a file without a record, the last record may be outdated.
    known = {
        name: timeline for name, timeline in recorded.items() if timeline.is_certain and not files.is_changing(name)
    }
    ran = RanStatements(target.catalog, history)
    return [
        TableState(name, None, False, None, False, None, (), unmanaged=unmanaged[name])
        if name in unmanaged
        else _table(name, known.get(name), readings[name], rules, ran)
        for name in names
    ]


def _last(timeline: Timeline) -> tuple[int, int]:
    event = timeline.moments[-1].event
    return event.fence, event.sequence


def _table(
    name: str, record: Timeline | None, live: TableRead, rules: Sequence[DriftRule], ran: RanStatements
) -> TableState:
    shape_now = live.shape and as_recorded(live.shape)
    if record is None:
        return TableState(name, shape_now, False, None, False, live.unread, ())
    shape = record.shape and as_recorded(record.shape)
    altered = differences(shape, shape_now) if live.unread is None else ()
    return TableState(
        table=name,
        shape=shape,
        is_recorded=True,
        recorded_at=record.moments[-1].event.recorded_at,
        is_whole=_is_whole(record),
        unread=live.unread,
        altered=tuple(
            difference for difference in altered if not any(rule.matches(name, difference.subject) for rule in rules)
        ),
        parts=ran.parts_of(record),
    )


def _is_whole(record: Timeline) -> bool:
    """Return whether migrations alone made a table, recorded since its creation; `baseline` records a table later."""
    is_made = all(moment.origin is ChangeOrigin.MIGRATION for moment in record.moments)
    return is_made and record.moments[0].event.event != EventType.BASELINED


class RanStatements:
    """The statements of each version that ran, in the order in which the versions began."""

    def __init__(self, catalog: Catalog, history: History) -> None:
        self._catalog = catalog
        self._records = sorted(history.versions, key=lambda record: place_of(record.started))
        self._statements: dict[str, Sequence[tuple[tuple[str, ...], str, _Said]]] = {}

    def parts_of(self, table: Timeline) -> TableParts:
        """Return the origins of the parts of a table."""
        parts = _Parts(table.moments)
        for record in self._records:
            parts.enter(place_of(record.started))
            before = parts.name
            parts.enter(place_of(record.last))
            # A dropped table has its last name.
            name = parts.name or before
            said = tuple(self._on(name, record)) if name else ()
            if said:
                parts.said.append((record.version, _digests(said)))
        return parts.done()

    def _on(self, name: str, record: Record) -> Iterator[tuple[str, str]]:
        """Yield what a file declares about the table that has a name at its end, under each of its names in the file."""
        texts: list[tuple[str, str]] = []
        for names, operation, said in reversed(self._of(record)):
            if operation == "rename_table" and name == names[-1]:
                name = names[0]
            if name in names:
                texts[:0] = said
        yield from texts

    def _of(self, record: Record) -> Sequence[tuple[tuple[str, ...], str, _Said]]:
        if record.version not in self._statements:
            self._statements[record.version] = tuple(self._read(record))
        return self._statements[record.version]

    def _read(self, record: Record) -> Iterator[tuple[tuple[str, ...], str, _Said]]:
        """Yield the statements that ran: their tables, their operations, and their declarations."""
        dialect = self._catalog.dialect
        try:
            statements = split_statements(record.started.rendered_sql or "", dialect)
        except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
            return
        for named_statement in named(statements, dialect, self._catalog):
            names = tuple(whole for _, whole in named_statement.names if whole is not None)
            if names and named_statement.statement.index <= record.statements_done:
                said = subjects_of(named_statement.parsed, named_statement.statement.text, dialect)
                yield names, named_statement.parsed.operation, tuple(said)


class _Parts:
    """The parts of a table while its moments and the statements about it are read in order.

    A part has the name that `Difference.subject` gives it, in lower case; each partition field and each identifier field is a part.
    A renamed column keeps the changes of its facts, as in `blame`, and so do the partition fields on it.

    Attributes:
        name: the name of the table now; None where there is none.
        said: by version, what its statements declare, as digests by subject.
    """

    def __init__(self, moments: Sequence[Moment]) -> None:
        self._left = list(moments)
        self._last: dict[str, Moment] = {}
        self._shape: Shape | None = None
        self.name: str | None = None
        self.said: list[tuple[str, dict[str, str]]] = []

    def enter(self, place: tuple[int, int]) -> None:
        """Read the moments up to a place in the history."""
        while self._left and place_of(self._left[0].event) <= place:
            self._next(self._left.pop(0))

    def done(self) -> TableParts:
        for moment in self._left:  # Repeatables run after the last version.
            self._next(moment)
        changes: dict[int, tuple[Moment, list[str]]] = {}
        for subject, moment in self._last.items():
            if self._last.get(_around(subject)) is not moment:
                changes.setdefault(id(moment), (moment, []))[1].append(subject)
        ordered = sorted(changes.values(), key=lambda change: place_of(change[0].event))
        return TableParts(
            tuple(_changes(moment, subjects) for moment, subjects in ordered),
            tuple(PartStatements(version, parts) for version, parts in self.said),
        )

    def _next(self, moment: Moment) -> None:
        before, after = self._shape, moment.shape
        self._shape, self.name = after, after.table if after else None
        if after is None:
            self._last["table"] = moment
            return
        if before is not None:
            before = self._renamed(before, after, moment)
        earlier, later = (_facts(shape) if shape else {} for shape in (before, after))
        changed = sorted(_changed(earlier, later))
        if before is not None and _order(before, after) != _order(after, before):
            changed.append("order of columns")
        for subject in changed:
            if subject.startswith("column "):  # A new column starts without facts.
                for what in COLUMN_FACTS:
                    self._last.pop(_fact(what, subject), None)
        self._last |= dict.fromkeys(changed, moment)

    def _renamed(self, before: Shape, after: Shape, moment: Moment) -> Shape:
        """Return a shape with the column names of the next one, and move the changes and statements of renamed columns."""
        new = {column.id: column.name for column in after.columns if column.id is not None}
        ids = {column.name: column.id for column in before.columns if column.id in new}
        names = {name: new[id_] for name, id_ in ids.items() if id_ is not None and new[id_] != name}
        if not names:
            return before
        renamed = replace(
            before,
            columns=tuple(replace(column, name=names.get(column.name, column.name)) for column in before.columns),
            partitioning=tuple(
                replace(field, source=names.get(field.source, field.source)) for field in before.partitioning
            ),
            sorting=tuple(replace(field, source=names.get(field.source, field.source)) for field in before.sorting),
            identifiers=tuple(names.get(identifier, identifier) for identifier in before.identifiers),
        )
        subjects = {
            _fact(what, f"column {old}"): _fact(what, f"column {name}")
            for old, name in names.items()
            for what in ("identifiers", *COLUMN_FACTS)
        }
        subjects |= {
            f"partitioning {partition_text(old)}": f"partitioning {partition_text(new_field)}"
            for old, new_field in zip(before.partitioning, renamed.partitioning, strict=True)
        }
        folded = {old.casefold(): name.casefold() for old, name in subjects.items()}
        self._last = {folded.get(subject, subject): last for subject, last in self._last.items()}
        for _, parts in self.said:
            # Also under its former name: where the column was not renamed, the file declares the same.
            parts |= {name: parts[old] for old, name in folded.items() if old in parts}
        known = dict(self._last)
        for old, name in names.items():
            last = known.get(f"column {old}".casefold())
            # A field moves with the column around it, and remains another client's.
            is_moved = (
                name_parts(old)[-1] == name_parts(name)[-1] and last and last.origin is not ChangeOrigin.MIGRATION
            )
            change = last if is_moved and last else moment
            self._last |= {f"column {known_name}".casefold(): change for known_name in (old, name)}
        return renamed


def _facts(shape: Shape) -> dict[str, object]:
    """Return the parts of a shape with their values."""
    facts: dict[str, object] = {"table": shape.table, "format version": shape.format_version or 0}
    for column in shape.columns:
        name = column.name
        facts |= {
            f"column {name}": column.id,
            f"required {name}": column.required,
            f"comment {name}": column.comment or "",
        }
        facts |= {f"type {name}": column.type.partition("<")[0], f"default {name}": column.default or ""}
    facts |= {f"partitioning {partition_text(field)}": True for field in shape.partitioning}
    if shape.sorting:
        facts["sorting"] = ", ".join(map(sort_text, shape.sorting))
    facts |= {f"identifiers {identifier}": True for identifier in shape.identifiers}
    facts |= {f"property {key}": value for key, value in shape.properties.items() if key not in OF_ENGINE}
    return {subject.casefold(): value for subject, value in facts.items()}


def _changed(earlier: Mapping[str, object], later: Mapping[str, object]) -> Iterator[str]:
    """Yield the parts that are in one shape only, or have another value in the other."""
    yield from earlier.keys() ^ later.keys()
    for subject in earlier.keys() & later.keys():
        # A table whose columns gained or lost field ids has the same columns.
        if earlier[subject] != later[subject] and None not in (earlier[subject], later[subject]):
            yield subject


def _order(shape: Shape, other: Shape) -> list[str]:
    """Return the names of the columns that another shape has, too, in order."""
    names = {column.name for column in other.columns}
    return [column.name for column in shape.columns if column.name in names]


def _fact(what: str, column: str) -> str:
    """Return the name of a fact of a column: `type user_id` for `column user_id`."""
    return f"{what} {column.removeprefix('column ')}"


def _around(subject: str) -> str:
    """Return the column of a fact; empty for another part."""
    what, _, name = subject.partition(" ")
    return f"column {name}" if what in COLUMN_FACTS else ""


def _changes(moment: Moment, subjects: Sequence[str]) -> PartChanges:
    since = LastChange.of(moment)
    if moment.event.name is not None:  # The statements of a repeatable are not compared.
        return PartChanges(None, ChangeOrigin.NOT_RECORDED, tuple(subjects))
    return PartChanges(since.version or since.seen_by, since.origin, tuple(subjects))


def _digests(said: _Said) -> dict[str, str]:
    """Return a digest of all texts about each subject."""
    texts: dict[str, list[str]] = {}
    for subject, text in said:
        texts.setdefault(subject, []).append(text)
    return {
        subject: hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS] for subject, lines in texts.items()
    }
