"""Whether PyIceberg writes the metadata of a table again as it is: a table that it would change is left to the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticSerializationError

from glacierbase.errors import NotPlain
from glacierbase.executors.pyiceberg.guard import complete
from glacierbase.executors.pyiceberg.metadata import kept_types

# What means nothing in the metadata of a table, and may be left out. -1 is no snapshot.
_NOTHING: tuple[object, ...] = (None, [], {}, -1)


def check_preserved(table: Any) -> None:
    """Compare the metadata file of a table that PyIceberg has just loaded with what PyIceberg would write.

    Raises:
        NotPlain: a part would be lost or changed, or the file is compressed, which PyIceberg would not repeat; or a column has a
            type that PyIceberg does not know.
    """
    if kept := kept_types(table.metadata):
        raise NotPlain(f"PyIceberg does not know the type {' and '.join(kept)}")
    location = table.metadata_location
    if not location or ".gz." in location or location.endswith(".gz"):
        raise NotPlain(f"PyIceberg does not write metadata as in {location or 'its catalog'}")
    raw = table.catalog.raw_metadata(table)
    try:
        written = json.loads(complete(table.metadata).model_dump_json())
    except PydanticSerializationError as error:  # A default of a type without such defaults in PyIceberg.
        raise NotPlain(f"PyIceberg does not write the metadata {location.rpartition('/')[2]}: {error}") from error
    if place := next(lost("", raw, written), None):
        raise NotPlain(
            f"PyIceberg would not preserve {place.lstrip('/')} of the metadata {location.rpartition('/')[2]}"
        )


def lost(place: str, raw: Any, written: Any) -> Iterator[str]:
    """Yield the place of each value of a document that another lacks or has differently. What only the other has is ignored."""
    if isinstance(raw, dict) and isinstance(written, dict):
        for key, value in raw.items():
            yield from lost(f"{place}/{key}", value, written.get(key))
    elif isinstance(raw, list) and isinstance(written, list) and len(raw) == len(written):
        for number, pair in enumerate(zip(raw, written, strict=True)):
            yield from lost(f"{place}/{number}", *pair)
    elif not _is_same(raw, written):
        yield place


def _is_same(raw: Any, written: Any) -> bool:
    if isinstance(raw, str) and isinstance(written, str):
        return raw.replace(" ", "") == written.replace(" ", "")  # decimal(10,2) and decimal(10, 2).
    return (raw == written and type(raw) is type(written)) or (raw in _NOTHING and written in _NOTHING)
