"""Trace the parts of a table through its moments: the last change and the creation of each. Pure.

The *since* of a part is its last change:

- a column, or a field inside one: its own name, type, whether it refuses nulls, comment or default. A rename of the column around a
  field, and a change of other fields inside a column, do not count. A column is followed by its field id; where the table's
  format has no ids, by its name, so that a renamed column is a new one.
- a partition field: its transform; one that replaced another on the same column is a change of that one
- the sort order and the identifier fields: each as a whole; a rename of their columns does not count
- a property: its value; the table: its name; the format: its version
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from glacierbase.model.differences import OF_ENGINE, partition_text, sort_text
from glacierbase.model.migration import EventType
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Column, PartitionField, Shape
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import Moment

Key = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class LastChange:
    """The origin of a change.

    Attributes:
        version, author, description: of the migration; None where no migration is known to have made the change. The version of
            a repeatable is its name.
        at: when it was recorded: after the file had ended. Of a change that no migration made, when it was committed, if the
            metadata of the table shows that.
        at_most: whether the change may be older: the file observed it, but did not make it, or `baseline` recorded the file.
        seen_by: the version that observed a change that it did not make; else None.
        is_first: whether the first record of the table shows the change.
    """

    version: str | None
    at: datetime | None
    author: str | None
    description: str | None
    origin: ChangeOrigin
    at_most: bool = False
    seen_by: str | None = None
    is_first: bool = False

    @classmethod
    def of(cls, moment: Moment, *, is_first: bool = False) -> LastChange:
        """Return the origin of the changes at a moment.

        Args:
            is_first: whether the table has no earlier moment.
        """
        event = moment.event
        if moment.origin is not ChangeOrigin.MIGRATION:
            at_most, is_first = not moment.is_exact, is_first and not moment.has_predecessor
            return cls(None, event.recorded_at, None, None, moment.origin, at_most, event.label or None, is_first)
        is_late = event.event in (EventType.BASELINED, EventType.REPAIRED)
        why = event.description
        if event.event == EventType.REPAIRED:
            why = f"{why or ''}; recorded as done: {event.reason}"
        return cls(event.label or None, event.recorded_at, event.author, why, moment.origin, is_late)

    @property
    def is_outside(self) -> bool:
        """Whether another client is known to have made the change."""
        return self.origin in (ChangeOrigin.OUTSIDE, ChangeOrigin.DURING)

    @property
    def day(self) -> str:
        """`2026-11-20`, or `<= 2026-11-20` where the change may be older; in UTC."""
        day = f"{self.at.astimezone(timezone.utc):%Y-%m-%d}" if self.at else ""
        return f"<= {day}" if self.at_most and day else day

    @property
    def why(self) -> str:
        """The description of the migration, or why there is none."""
        if self.origin is ChangeOrigin.MIGRATION:
            return self.description or ""
        if self.origin is ChangeOrigin.BASELINE:
            return f"found at baseline of {self.seen_by}"
        if self.origin is ChangeOrigin.DURING:
            return f"during {self.seen_by}, not by it"
        if self.is_first:
            return f"before the first record, observed by {self.seen_by}"
        what = "not from a migration" if self.origin is ChangeOrigin.OUTSIDE else "not recorded"
        return f"{what}, first observed by {self.seen_by}" if self.seen_by else what

    @property
    def line(self) -> str:
        """`0003 on 2026-11-20, Ann: why`."""
        if self.version is None:
            return f"{self.why} on {self.day.removeprefix('<= ')}"
        return f"{self.version} on {self.day}, {self.author}: {self.why}"


@dataclass(frozen=True, slots=True)
class TablePart:
    """A part of a table.

    Attributes:
        kind: `table`, `format`, `column`, `partition`, `sort order`, `identifiers` or `property`.
        key: identifies the part in another shape of the table.
        name: the name of the column, the partition field, the property or the table; empty for the others.
        text: the type, the transform, the value.
        facts: the values of which a change is a change of the part, each with its text as a former value.
        near: identifies a part of another key that it may replace; None if it never does.
        required: whether a column refuses nulls.
    """

    kind: str
    key: Key
    name: str
    text: str
    facts: Mapping[str, tuple[object, str]] = field(hash=False)
    near: Key | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class PartOrigin:
    """A part of a table and its origin.

    Attributes:
        since: the origin of its last change.
        created: the origin of its creation.
        change: its last change, by the former value: `was float`; empty if it never changed.
        former_names: in order, without the current name.
    """

    part: TablePart
    since: LastChange
    created: LastChange
    change: str = ""
    former_names: tuple[str, ...] = ()


def how_it_was(change: str, former_names: Sequence[str]) -> str:
    """Return the last change and the earlier names as a phrase."""
    earlier = former_names[:-1] if change.startswith("renamed from") else former_names
    return ", ".join(filter(None, (change, f"formerly {', '.join(earlier)}" if earlier else "")))


def trace(moments: Sequence[Moment], before: Sequence[Moment] = ()) -> tuple[PartOrigin, ...]:
    """Return the parts that a table has after the last of its moments, with their origins; none where it was dropped.

    The parts of another table with the same name have no earlier changes.

    Args:
        before: the moments up to its first record; the last of them is equal to that record.
    """
    origins: tuple[PartOrigin, ...] = ()
    uuid: str | None = None
    for index, moment in enumerate((*before, *moments)):
        since = LastChange.of(moment, is_first=index <= len(before))
        earlier, uuid = uuid, moment.shape.uuid if moment.shape else None
        known = origins if earlier is None or uuid is None or uuid == earlier else ()
        origins = tuple(_next(known, moment.shape, since)) if moment.shape else ()
    return origins


def parts(shape: Shape) -> Iterator[TablePart]:
    """Yield the parts of a shape: the columns first, in order, and the table itself last."""
    ids = {column.name: column.name if column.id is None else column.id for column in shape.columns}
    yield from map(_column, shape.columns)
    yield from (_partition(field, ids) for field in shape.partitioning)
    if shape.sorting:
        order = tuple(replace(field, source=str(ids.get(field.source, field.source))) for field in shape.sorting)
        yield _whole("sort order", ", ".join(map(sort_text, shape.sorting)), order)
    if shape.identifiers:
        fields = tuple(ids.get(identifier, identifier) for identifier in shape.identifiers)
        yield _whole("identifiers", ", ".join(shape.identifiers), fields)
    for key, value in sorted(shape.properties.items()):
        if key not in OF_ENGINE:
            yield TablePart("property", ("property", key), key, value, {"value": (value, f"was {value}")})
    version = "" if shape.format_version is None else str(shape.format_version)
    yield TablePart("format", ("format", ""), shape.format, version, {"version": (version, f"was {version}")})
    yield TablePart("table", ("table", ""), shape.table, "", {"name": (shape.table, f"renamed from {shape.table}")})


def _next(before: Sequence[PartOrigin], shape: Shape, since: LastChange) -> Iterator[PartOrigin]:
    """Yield the parts of the next shape."""
    known = {part.part.key: part for part in before}
    for earlier, part in matched([part.part for part in before], tuple(parts(shape))):
        if part is not None:
            yield _changed(known[earlier.key], part, since) if earlier else PartOrigin(part, since, since)


def matched(
    before: Iterable[TablePart], after: Sequence[TablePart]
) -> Iterator[tuple[TablePart | None, TablePart | None]]:
    """Yield each part of a shape with its earlier form; then those that are removed. None where a part is in one shape only."""
    kept = {part.key for part in after}
    known = {part.key: part for part in before}
    removed = [part for part in known.values() if part.key not in kept]
    for part in after:
        earlier = known.get(part.key) or next((other for other in removed if _replaces(part, other)), None)
        if earlier in removed:
            removed.remove(earlier)
        yield earlier, part
    yield from ((part, None) for part in removed)


def _replaces(part: TablePart, removed: TablePart) -> bool:
    """Return whether a part replaces a removed one: on the same column, or of a table whose columns gained or lost ids."""
    if part.near is None or part.near != removed.near:
        return False
    return part.kind != "column" or type(part.key[1]) is not type(removed.key[1])


def _changed(earlier: PartOrigin, part: TablePart, since: LastChange) -> PartOrigin:
    changes = [text for fact, (value, text) in earlier.part.facts.items() if part.facts[fact][0] != value]
    former = earlier.former_names
    if "name" in part.facts and part.facts["name"][0] != earlier.part.facts["name"][0]:
        former = tuple(name for name in (*former, earlier.part.name) if name != part.name)
    if not changes:
        return replace(earlier, part=part)
    return PartOrigin(part, since, earlier.created, ", ".join(changes), former)


def _column(column: Column) -> TablePart:
    name = name_parts(column.name)[-1]
    kind = column.type.partition("<")[0]  # The fields inside are parts themselves.
    facts: dict[str, tuple[object, str]] = {
        "name": (name, f"renamed from {column.name}"),
        "type": (kind, f"was {column.type}"),
        "required": (column.required, "was required" if column.required else "was nullable"),
        "comment": (column.comment or None, "another comment"),
        "default": (column.default, "another default"),
    }
    # If the columns gain ids, their names connect them.
    key = column.name if column.id is None else column.id
    return TablePart(
        "column", ("column", key), column.name, column.type, facts, ("column named", column.name), column.required
    )


def _partition(by: PartitionField, ids: Mapping[str, int | str]) -> TablePart:
    source = ids.get(by.source, by.source)
    transform = partition_text(replace(by, source=str(source)))
    facts = {"transform": (transform, f"was {partition_text(by)}")}
    key = transform if by.id is None else by.id
    return TablePart("partition", ("partition", key), by.name, partition_text(by), facts, ("partitioned by", source))


def _whole(kind: str, text: str, value: object) -> TablePart:
    return TablePart(kind, (kind, ""), "", text, {"value": (value, f"was {text}")})
