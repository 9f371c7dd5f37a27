"""A lock and events as items of DynamoDB: an attribute for each column that has a value, under the column's name.

The partition key is the name of the catalog. The sort key is `lock`, or `event` with fence and sequence, which orders the history;
`event` alone is an item that names the table.
An item has at most 400 KB: the texts of a longer event continue in further items, whose sort keys have a number at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from datetime import datetime, timezone
from itertools import groupby, pairwise
from typing import Any

from glacierbase.errors import NeedsRepair
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow
from glacierbase.stores.tables import kind

# The two keys.
CATALOG, ENTRY = "catalog_name", "entry"
LOCK, ORIGIN, EVENT = "lock", "event", "event "
# Of an event of several items: their number, in the first of them. Of an append of several transactions: its last sort key.
_PIECES, _UNTIL = "pieces", "until"
_TABLE = "table_name"
_WIDTH = len(f"{EVENT}{0:019d} {0:019d}")
# The bytes of the texts of one item, and of one transaction. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
_ITEM_BYTES, _TRANSACTION_BYTES, _TRANSACTION_ITEMS = 300_000, 3_000_000, 100

Item = Mapping[str, Mapping[str, str]]


def item_key(catalog: str, entry: str) -> dict[str, Mapping[str, str]]:
    """Return the keys of an item."""
    return {CATALOG: {"S": catalog}, ENTRY: {"S": entry}}


def lock_item(catalog: str, row: LockRow) -> Item:
    """Return the item of a lock."""
    return {**item_key(catalog, LOCK), **_attributes(row)}


def origin_item(catalog: str, table: str) -> Item:
    """Return the item that names the table in which the history of a catalog was made. It is read with the events, before them."""
    return {**item_key(catalog, ORIGIN), _TABLE: {"S": table}}


def origin(items: Sequence[Item]) -> str | None:
    """Return the table that the first of the items names, if it is that of the origin."""
    return items[0].get(_TABLE, {}).get("S") if items and items[0][ENTRY]["S"] == ORIGIN else None


def lock_row(item: Item) -> LockRow:
    """Return the lock. A value that is not of the type of its column counts as absent."""
    values: dict[str, Any] = {}
    for field in fields(LockRow):
        try:
            values[field.name] = _value(item, field)
        except ValueError:
            values[field.name] = None
    return LockRow(**values)


def transactions(catalog: str, events: Sequence[Event]) -> list[list[Item]]:
    """Return the items of one append, in parts that a transaction can write.

    The first part alone shows nothing of an append of several parts: `history` leaves out events whose last part is missing.
    """
    items = [item for event in events for item in _items(catalog, event)]
    parts: list[list[Item]] = [[]]
    size = 0
    for item in items:
        length = sum(map(_length, item.values()))
        if len(parts[-1]) == _TRANSACTION_ITEMS or (parts[-1] and size + length > _TRANSACTION_BYTES):
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += length
    if len(parts) > 1:
        until = {_UNTIL: items[-1][ENTRY]}
        parts = [[{**item, **until} for item in part] for part in parts]
    return parts


def history(items: Sequence[Item]) -> Iterator[Event]:
    """Yield the events of items that are in the order of their sort keys.

    Raises:
        NeedsRepair: somebody changed or deleted an item.
    """
    for entry, group in groupby(_whole(items), lambda item: item[ENTRY]["S"][:_WIDTH]):
        first, *more = group
        try:
            if first.get(_PIECES, {"N": "1"}) != {"N": str(1 + len(more))}:
                raise ValueError(f"it has {1 + len(more)} of {first.get(_PIECES)} items")
            yield Event(**{field.name: _value(_joined(first, more), field) for field in fields(Event)})
        except ValueError as error:
            raise NeedsRepair(
                "HISTORY_DAMAGED",
                f"the history of {first[CATALOG]['S']} cannot be read: the item {entry!r} was changed: {error}",
                "restore that item from a backup of the table; nothing runs until then",
            ) from error


def _whole(items: Sequence[Item]) -> list[Item]:
    """Return the items of events whose append is there to its end.

    An append that is repeated may have more events than before: the last one of the first attempt is then not the last of all.
    """
    whole: dict[str, Item] = {}
    for item in reversed(items):
        entry = item[ENTRY]["S"]
        until = item.get(_UNTIL, item[ENTRY]).get("S")
        if entry != ORIGIN and (until == entry or until in whole):
            whole[entry] = item
    return list(reversed(whole.values()))


def is_partial(events: Sequence[Event]) -> bool:
    """Return whether an event is absent before or between others: it was deleted, or a transaction took effect during the read.

    A query returns each item as it is at that moment, so that it may miss the first items of a transaction and return the others.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-isolation
    """
    sequences = [0, *(event.sequence or 0 for event in events)]
    return any(after > before + 1 for before, after in pairwise(sequences))


def _items(catalog: str, event: Event) -> Iterator[Item]:
    """Yield the items of an event: one, or several if its texts are too long for one."""
    entry = f"{EVENT}{event.fence:019d} {event.sequence:019d}"
    pieces: list[dict[str, Mapping[str, str]]] = [{}]
    size = 0
    for name, attribute in _attributes(event).items():
        rest = attribute
        while size + _length(rest) > _ITEM_BYTES and "S" in rest:
            # A character is in one item whole.
            text = rest["S"].encode()
            begin = text[: _ITEM_BYTES - size].decode(errors="ignore")
            pieces[-1][name] = {"S": begin}
            rest = {"S": text[len(begin.encode()) :].decode()}
            pieces.append({})
            size = 0
        pieces[-1][name] = rest
        size += _length(rest)
    count = {_PIECES: {"N": str(len(pieces))}} if len(pieces) > 1 else {}
    for number, piece in enumerate(pieces):
        key = item_key(catalog, f"{entry} {number:04d}" if number else entry)
        yield {**key, **piece, **({} if number else count)}


def _joined(first: Item, more: Iterable[Item]) -> Item:
    """Return the attributes of several items, their texts put together."""
    joined: dict[str, Mapping[str, str]] = dict(first)
    for item in more:
        for name, attribute in item.items():
            text = joined[name].get("S", "") if name in joined else ""
            joined[name] = {"S": text + attribute["S"]} if "S" in attribute else attribute
    return joined


def _attributes(row: Event | LockRow) -> dict[str, Mapping[str, str]]:
    """Return the columns that have a value, each with its type."""
    values = ((field, getattr(row, field.name)) for field in fields(row))
    return {field.name: _attribute(field, value) for field, value in values if value is not None}


def _attribute(field: Field[Any], value: Any) -> Mapping[str, str]:
    if kind(field) == "int":
        return {"N": str(value)}
    return {"S": value.astimezone(timezone.utc).isoformat() if kind(field) == "datetime" else value}


def _value(item: Item, field: Field[Any]) -> Any:
    """Return the value of a column; None without one.

    Raises:
        ValueError: the attribute has another type.
    """
    attribute = item.get(field.name)
    if attribute is None:
        return None
    try:
        if kind(field) == "int":
            return int(attribute["N"])
        text = attribute["S"]
        return datetime.fromisoformat(text).astimezone(timezone.utc) if kind(field) == "datetime" else text
    except (KeyError, ValueError) as error:
        raise ValueError(f"{field.name} is {dict(attribute)}") from error


def _length(attribute: Mapping[str, str]) -> int:
    return sum(len(text.encode()) for text in attribute.values())
