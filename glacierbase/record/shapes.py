"""What a run recorded of the tables that a file changes: typed values, and their JSON in the details of an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from glacierbase.errors import NeedsRepair
from glacierbase.history.details import damaged, details_of
from glacierbase.history.records import History, may_be_about
from glacierbase.model.codec import from_stored, to_stored
from glacierbase.model.migration import Event
from glacierbase.model.shape import Shape
from glacierbase.secrets import MASK, is_secret, mask, masked


class ChangeOrigin(str, Enum):
    """The origin of a table's shape."""

    # A statement of the file is about the changed part.
    MIGRATION = "migration"
    # Observed before a file ran; no migration of this history made the change.
    OUTSIDE = "outside"
    # Made while a file ran; none of its statements is about the changed part.
    DURING = "during"
    # Observed when `baseline` recorded the files; none of their statements is about the part.
    BASELINE = "baseline"
    # Observed after a file that left no record, or when the outcome of a file was settled after its run: whether the file made the
    # change is unknown.
    NOT_RECORDED = "not recorded"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of a table.

    Attributes:
        shape: the table after the change; None where there was none.
        at: when it was committed, by the metadata of the table; None where that is not known.
        version: the version of the file that made it, where that is not the file of the record.
    """

    shape: Shape | None
    origin: ChangeOrigin
    at: datetime | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TableRecord:
    """What a run recorded of one table.

    Attributes:
        table: its name as the history records names.
        after: its shape when the file ended; None where there was no such table.
        before: its shape before the first statement, where it differs from the last record.
        is_changed: whether it differs: then None as `before` means that there was no such table.
        unread: why the table could not be read, so that its shapes are unknown.
        steps: further known changes, in order: those up to `before`, which are from outside, and those from `before` to `after`.
            Their shapes may lack parts that other clients changed meanwhile.
        whole: its qualified name, where there is no table of that name and a file wrote the name differently.
    """

    table: str
    after: Shape | None = None
    before: Shape | None = None
    is_changed: bool = False
    unread: str | None = None
    steps: tuple[RecordedChange, ...] = ()
    whole: str = ""

    def is_about(self, name: str, whole: str | None) -> bool:
        """Return whether the record is of the table with this name, or with this qualified name if files spell it differently."""
        return self.table == name or (whole is not None and whole in self.names)

    @property
    def names(self) -> frozenset[str]:
        """The qualified names that the table had."""
        names = (shape.table for shape in (self.before, self.after) if shape)
        return frozenset(filter(None, (*names, self.whole)))

    def changes(self) -> Iterator[RecordedChange]:
        """Yield the changes since the previous record, in order; the last one is that of the file."""
        yield from (change for change in self.steps if change.origin is ChangeOrigin.OUTSIDE)
        if self.is_changed:
            yield RecordedChange(self.before, ChangeOrigin.OUTSIDE)
        yield from (change for change in self.steps if change.origin is not ChangeOrigin.OUTSIDE)
        yield RecordedChange(self.after, ChangeOrigin.MIGRATION)


def to_document(record: TableRecord) -> Mapping[str, object]:
    """Return the record as JSON."""
    document: dict[str, object] = {"table": record.table, "after": to_stored(record.after)}
    if record.is_changed:
        document["before"] = to_stored(record.before)
    if record.unread is not None:
        document["unread"] = record.unread
    if record.whole and record.whole != record.table:
        document["whole"] = record.whole
    if record.steps:
        document["steps"] = to_stored(record.steps)
    return document


def table_records(event: Event) -> tuple[TableRecord, ...]:
    """Read the records of an event.

    Raises:
        NeedsRepair: one is not readable.
    """
    if '"tables"' not in (event.details or ""):  # Most events have none.
        return ()
    return read_records(event, details_of(event).tables)


def read_records(event: Event, documents: Iterable[Mapping[str, object]]) -> tuple[TableRecord, ...]:
    """Return the records of an event from what its details hold.

    Raises:
        NeedsRepair: one is not readable.
    """
    try:
        return tuple(map(_record, documents))
    except ValueError as error:
        raise damaged(event, "details", f"not readable: {error}") from error


def as_recorded(shape: Shape) -> Shape:
    """Return a shape as a history holds it: without secrets."""
    return _without_secrets(from_stored(Shape, masked(to_stored(shape))))


def last_shape(history: History, uuid: str) -> Shape | None:
    """Return the shape of the table with a UUID by its last record, under whichever name; None where there is none."""
    for event in reversed(history.events):
        mentions = history.mentions.get((event.fence, event.sequence), ())  # Late events have none.
        if not any(("uuid", uuid) in mention for mention in mentions):
            continue
        with suppress(NeedsRepair):  # The next command that reads it reports it.
            shapes = [change.shape for record in table_records(event) for change in record.changes()]
            return next((shape for shape in reversed(shapes) if shape and shape.uuid == uuid), None)
    return None


def last_shapes(history: History, tables: Mapping[str, str | None]) -> dict[str, Shape | None]:
    """Return the shape of each table by its last record; None where there is none, or where there was no such table.

    Args:
        tables: the names that the history records, each with the qualified name where that is known: another file may have written
            the name differently.
    """
    left = {mask(name): (name, whole and mask(whole)) for name, whole in tables.items()}
    shapes: dict[str, Shape | None] = dict.fromkeys(tables)
    for event in reversed(history.events):
        if not left:
            break
        mentions = history.mentions.get((event.fence, event.sequence), ())  # Late events have none.
        wholes = {("table", whole) for _, whole in left.values()}
        if not any(may_be_about(mention, left) or mention & wholes for mention in mentions):
            continue
        try:
            records = table_records(event)
        except NeedsRepair:  # The next command that reads it reports it.
            continue
        for key, (name, whole) in list(left.items()):
            about = [record for record in records if record.unread is None and record.is_about(key, whole)]
            if about:
                # One record may be of a table renamed to this name, another of the table that had it.
                shapes[name] = next((record.after for record in about if record.after), None)
                del left[key]
    return shapes


def _record(document: Mapping[str, object]) -> TableRecord:
    present = {key: value for key, value in document.items() if value is not None}
    record = from_stored(TableRecord, present, "tables")
    return replace(
        record,
        after=record.after and _without_secrets(record.after),
        before=record.before and _without_secrets(record.before),
        is_changed="before" in document,
        steps=tuple(replace(step, shape=step.shape and _without_secrets(step.shape)) for step in record.steps),
    )


def _without_secrets(shape: Shape) -> Shape:
    """Return a shape without the values of secret properties."""
    hidden = {key: MASK for key in shape.properties if is_secret(key)}
    return replace(shape, properties={**shape.properties, **hidden}) if hidden else shape
