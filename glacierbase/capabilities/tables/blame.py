"""`blame`: who last changed each column, partition field and property of a table, when, and why.

Iceberg's metadata files complete the record, as far as they exist: with the table before its first record, and with the changes
after its last one, which no migration of this history made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from glacierbase.errors import ConfigurationError
from glacierbase.history.records import History
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.model.arguments import key_given
from glacierbase.model.command import command
from glacierbase.model.migration import RESUMED, State
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape, Version
from glacierbase.model.text import Cell, Line, Mark, did_you_mean, table
from glacierbase.record.lineage import LastChange, PartOrigin, how_it_was, trace
from glacierbase.record.live import LiveTables
from glacierbase.record.shapes import ChangeOrigin, as_recorded
from glacierbase.record.table_search import TableAtPoint, TableSearch
from glacierbase.record.timeline import Moment, differ
from glacierbase.record.unrecorded import with_changes_since

# States of a version whose file has not ended.
_STOPPED = RESUMED | {State.RUNNING, State.UNKNOWN}
_LABELS = {"partition": "partitioned by", "sort order": "sorted by", "identifiers": "identified by"}


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """What is known of one part of a table.

    Attributes:
        kind: `column`, `partition`, `sort order`, `identifiers`, `property`, `format` or `table`.
        type: the type of a column, the transform of a partition field, or the value of a property.
        version, author, description: of the migration that changed it last; None where no migration is known to have done so.
        at: when that was recorded.
        outside: whether another client changed it.
        required: whether a column refuses nulls.
        change: how it was before, such as `was float`; empty if it never changed.
        former_names: the former names of a column or the table, in order.
        since: the origin of its last change.
        created: the origin of its creation, if that is older; else None.
    """

    kind: str
    name: str
    type: str
    version: str | None
    at: datetime | None
    author: str | None
    description: str | None
    outside: bool
    required: bool
    change: str
    former_names: tuple[str, ...]
    since: LastChange
    created: LastChange | None

    @classmethod
    def of(cls, origin: PartOrigin) -> BlamedLine:
        """Return the line of a part."""
        part, since = origin.part, origin.since
        return cls(
            part.kind, part.name, part.text, since.version, since.at, since.author, since.description,
            since.is_outside, part.required, origin.change, origin.former_names, since,
            None if origin.created == since else origin.created,
        )  # fmt: skip

    def row(self) -> tuple[Cell, ...]:
        """Return the line as a row of a table."""
        label = _LABELS.get(self.kind)
        what = self.name if self.kind == "column" else label or f"{self.kind} {self.name}"
        text = f"{self.type}{' required' if self.required else ''}"
        why = ": ".join(filter(None, (how_it_was(self.change, self.former_names), self.since.why)))
        return Mark(what), text, self.since.day, self.version or "-", self.author, why


@dataclass(frozen=True, slots=True)
class BlameResult(Result):
    """A line per part of a table.

    Attributes:
        table: its name; None where the history has no such table.
        dropped: what dropped the table, if it was dropped; it has no lines then.
        not_recorded: the versions that changed it after the last record, and recorded nothing.
        next: how to record what those changed, or to settle changes that no migration made; may be empty.
    """

    table: str | None = None
    lines_: tuple[BlamedLine, ...] = ()
    dropped: LastChange | None = None
    not_recorded: tuple[str, ...] = ()
    next: str = ""

    def lines(self) -> Sequence[Line]:
        if self.table is None:
            return ["no such table"]
        rows = table(("", "type", "since", "version", "author", "why"), (line.row() for line in self.lines_))
        return [Mark(self.table), *rows, *state_lines(self.dropped, bool(rows), self.not_recorded, self.next)]


def state_lines(
    dropped: LastChange | None, is_recorded: bool, not_recorded: Sequence[str], next_: str
) -> Iterator[Line]:
    """Yield what the history does not hold of a table, and the next step."""
    if dropped:
        yield f"dropped: {dropped.line}"
    elif not is_recorded and not not_recorded:
        yield "not recorded: no file had created or changed it"
    if not_recorded:
        yield f"not recorded: {', '.join(not_recorded)} changed it and left no record; what it changed is not shown"
    if next_:
        yield f"next: {next_}"


def next_after(history: History, not_recorded: Iterable[str]) -> str:
    """Return the step that records the changes of versions without a record; empty where there are none."""
    gaps = tuple(not_recorded)
    stopped = (
        gap for gap in gaps if gap and (record := history.records.get(key_given(gap))) and record.state in _STOPPED
    )
    if version := next(stopped, None):
        return f"`{command('show', version)}` prints the next step for its run"
    return "the next file that changes the table records it; a view has no record" if gaps else ""


def blame(target: CatalogRun, result: BlameResult, search: TableSearch) -> BlameResult:
    """Return the lines of a table, or of one of its columns.

    Raises:
        ConfigurationError: the name of the table is ambiguous, or it has no such column.
    """
    state = current_state(target)
    result = replace(result, warnings=state.warnings)
    chosen = search.find_with_column(state.history)
    if chosen is None:
        return result
    table_, column = chosen
    then = table_.at()
    with LiveTables(target.catalog) as tables:
        if then.moments:
            moments, unread = with_changes_since(tables, then.moments, is_whole=not then.gaps and not then.is_doubtful)
            if len(moments) > len(then.moments) and current_state(target).history.head != state.history.head:
                # A file that has begun since the history was read may have made the changes.
                moments, unread = with_changes_since(tables, then.moments, is_whole=False)
            then = replace(then, moments=moments)
            result = replace(result, warnings=(*result.warnings, *filter(None, [unread])))
        lines = tuple(map(BlamedLine.of, trace(then.moments, moments_before(tables, then.moments))))
    name = current_name(then, table_.name)
    if column is not None and then.moments and then.moments[-1].shape:
        lines = of_column(lines, column, name)
    dropped = dropped_by(then)
    next_ = next_after(state.history, then.gaps) or _way_out(
        name, [*(line.since for line in lines), *([dropped] if dropped else [])]
    )
    return replace(result, table=name, lines_=lines, dropped=dropped, not_recorded=then.gaps, next=next_)


def _way_out(name: str, origins: Iterable[LastChange]) -> str:
    """Return the step for changes that no migration made, and no later one observed; empty where there are none."""
    is_drift = any(part.origin is ChangeOrigin.OUTSIDE and part.seen_by is None for part in origins)
    return f"keep, undo or ignore what no migration made: `{command('drift', '--table', name)}`" if is_drift else ""


def current_name(then: TableAtPoint, name: str) -> str:
    """Return the name that a table has at this point, or had last."""
    return next((moment.shape.table for moment in reversed(then.moments) if moment.shape), name)


def dropped_by(then: TableAtPoint) -> LastChange | None:
    """Return what dropped the table; None where it was not dropped."""
    last = then.moments[-1] if then.moments else None
    return LastChange.of(last) if last and last.shape is None else None


def of_column(lines: Iterable[BlamedLine], name: str, table_: str) -> tuple[BlamedLine, ...]:
    """Return the lines of a column and of the fields inside it; by a former name if no column has that name.

    Raises:
        ConfigurationError: `UNKNOWN_COLUMN`.
    """
    columns = [line for line in lines if line.kind == "column"]
    wanted = name.casefold()
    if not any(line.name.casefold() == wanted for line in columns):
        renamed = (line.name for line in columns if wanted in map(str.casefold, line.former_names))
        wanted = next(renamed, "").casefold()
    chosen = tuple(line for line in columns if f"{line.name.casefold()}.".startswith(f"{wanted}."))
    if not wanted or not chosen:
        hint = did_you_mean(
            name,
            [line.name for line in columns],
            f"`{command('history', '--table', table_, '--column', name)}` lists its changes, if it was dropped",
        )
        raise ConfigurationError("UNKNOWN_COLUMN", f"{table_} has no column {name}", hint, table=table_, column=name)
    return chosen


def moments_before(tables: LiveTables, moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """Return the moments of a table that its metadata lists up to its first record, oldest first.

    None where a migration made the table, where it no longer exists, or where only an engine can read it. Their event is
    that of the first record, with the time of the metadata file.
    """
    if not moments or not LastChange.of(moments[0]).at_most or moments[0].shape is None or moments[-1].shape is None:
        return ()
    name = moments[-1].shape.table
    past = tables.past({name: None}).get(name)
    return tuple(_moments(past.versions if past else (), moments[0], moments[0].shape))


def _moments(versions: Sequence[Version], first: Moment, recorded: Shape) -> Iterator[Moment]:
    files = [version.shape.metadata_location for version in versions]
    if recorded.metadata_location is None or recorded.metadata_location not in files:
        return
    before: Shape | None = None
    for version in versions[: files.index(recorded.metadata_location) + 1]:
        shape = as_recorded(version.shape)
        if shape.uuid == recorded.uuid and differ(before, shape):
            yield replace(first, shape=shape, event=replace(first.event, recorded_at=version.at))
            before = shape
