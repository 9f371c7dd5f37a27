"""What a run saw of the tables that a file touches: a typed value, and the JSON that the details of an event hold of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from glacierbase.errors import NeedsRepair
from glacierbase.history.checked import checked, optional, texts
from glacierbase.history.details import damaged, details_of
from glacierbase.history.mentions import may_be_about
from glacierbase.history.records import History
from glacierbase.model.migration import Event
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.secrets import MASK, is_secret, mask, masked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableRecord:
    """What a run saw of one table.

    Attributes:
        table: its name as the history records names.
        after: its shape when the file ended; None where there was no such table.
        before: its shape before the first statement, where that is not what the record before says.
        is_changed: whether that is so: None as `before` then means that there was no such table.
        unread: why the table could not be read; its shapes are not known then.
    """

    table: str
    after: Shape | None = None
    before: Shape | None = None
    is_changed: bool = False
    unread: str | None = None


def to_document(record: TableRecord) -> Mapping[str, object]:
    """Return the record as JSON."""
    document: dict[str, object] = {"table": record.table, "after": record.after and _compact(asdict(record.after))}
    if record.is_changed:
        document["before"] = record.before and _compact(asdict(record.before))
    if record.unread is not None:
        document["unread"] = record.unread
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
        raise damaged(event, error) from error


def as_recorded(shape: Shape) -> Shape:
    """Return a shape as it is read from a history that holds it: without secrets."""
    found = _shape(masked(json.loads(json.dumps(_compact(asdict(shape))))))
    assert found
    return found


def last_shapes(history: History, tables: Collection[str]) -> dict[str, Shape | None]:
    """Return the shape of each table by its last record; None where there is none, or where there was no such table."""
    left = {mask(table): table for table in tables}
    found: dict[str, Shape | None] = dict.fromkeys(tables)
    for event in reversed(history.events):
        if not left:
            break
        mentions = history.mentions.get((event.fence, event.sequence), ())  # Late events have none.
        if not any(may_be_about(each, left) for each in mentions):
            continue
        try:
            records = table_records(event)
        except NeedsRepair:  # The next command that reads it reports it.
            continue
        found |= {left.pop(each.table): each.after for each in records if each.unread is None and each.table in left}
    return found


def _compact(value: object) -> object:
    """Return a document without what is empty, which is read as empty again."""
    if isinstance(value, Mapping):
        return {key: _compact(each) for key, each in value.items() if not _is_empty(each)}
    return [_compact(each) for each in value] if isinstance(value, tuple) else value


def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ((), {})


def _record(document: Mapping[str, object]) -> TableRecord:
    return TableRecord(
        table=checked(document.get("table"), str, "table"),
        after=_shape(optional(document, "after", dict)),
        before=_shape(optional(document, "before", dict)),
        is_changed="before" in document,
        unread=optional(document, "unread", str),
    )


def _shape(values: Mapping[str, object] | None) -> Shape | None:
    if values is None:
        return None
    properties = optional(values, "properties", dict) or {}
    return Shape(
        table=checked(values.get("table"), str, "table"),
        uuid=optional(values, "uuid", str),
        format=checked(values.get("format"), str, "format"),
        format_version=optional(values, "format_version", int),
        columns=tuple(map(_column, _listed(values, "columns"))),
        partitioning=tuple(map(_partition, _listed(values, "partitioning"))),
        sorting=tuple(map(_sort, _listed(values, "sorting"))),
        identifiers=texts(optional(values, "identifiers", list) or [], "identifiers"),
        properties={key: _unless_secret(key, checked(value, str, "properties")) for key, value in properties.items()},
        metadata_location=optional(values, "metadata_location", str),
        schema_id=optional(values, "schema_id", int),
        spec_id=optional(values, "spec_id", int),
        sort_order_id=optional(values, "sort_order_id", int),
    )


def _unless_secret(key: str, value: str) -> str:
    return MASK if is_secret(key) else value


def _column(values: Mapping[str, object]) -> Column:
    return Column(
        id=optional(values, "id", int),
        name=checked(values.get("name"), str, "name"),
        type=checked(values.get("type"), str, "type"),
        required=optional(values, "required", bool) or False,
        comment=optional(values, "comment", str),
        default=optional(values, "default", str),
    )


def _partition(values: Mapping[str, object]) -> PartitionField:
    name, source, transform = (checked(values.get(key), str, key) for key in ("name", "source", "transform"))
    return PartitionField(optional(values, "id", int), name, source, transform)


def _sort(values: Mapping[str, object]) -> SortField:
    return SortField(*(checked(values.get(key), str, key) for key in ("source", "transform", "direction", "nulls")))


def _listed(values: Mapping[str, object], key: str) -> list[dict[str, object]]:
    return [checked(each, dict, key) for each in optional(values, key, list) or []]
