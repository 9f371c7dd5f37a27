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
    return all(name in names for name in written(found))


def written(found: Mention) -> tuple[str, ...]:
    """Return the name as the file wrote it; none where the record has no name."""
    return tuple(name for kind, name in found if kind == "written")


def _mentioned(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if isinstance(name := document.get("table"), str):
        yield "written", name
    for shape in (document.get("before"), document.get("after")):
        if isinstance(shape, Mapping):
            yield "table", str(shape.get("table"))
            if "uuid" in shape:
                yield "uuid", str(shape["uuid"])
