"""Which tables a record is about, without their shapes: by these, the records of one table are found in a long history. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

# Of one record, with their kinds: the name as the file wrote it, and names and ids of the table before and after.
Mention = frozenset[tuple[str, str]]


def mention(document: Mapping[str, object]) -> Mention:
    """Return what the JSON of a record mentions."""
    return frozenset(_mentioned(document))


def may_be_about(found: Mention, names: Collection[str]) -> bool:
    """Return whether a record is about a table that a file wrote with one of these names; True also where it has no name."""
    written = [name for kind, name in found if kind == "written"]
    return not written or written[0] in names


def _mentioned(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if isinstance(written := document.get("table"), str):
        yield "written", written
    for shape in (document.get("before"), document.get("after")):
        if isinstance(shape, Mapping):
            yield "table", str(shape.get("table"))
            if "uuid" in shape:
                yield "uuid", str(shape["uuid"])
