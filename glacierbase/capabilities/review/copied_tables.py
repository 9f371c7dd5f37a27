"""Tables of the throw-away copy: their shapes and what else a review compares: locations, branches and tags, snapshots, rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from glacierbase.errors import EngineError
from glacierbase.executors import CopyExecutor
from glacierbase.executors.pyiceberg.shape import shape_from_json
from glacierbase.model.codec import from_json
from glacierbase.model.differences import Change, Difference, TableChange, compare, partition_text
from glacierbase.model.shape import PartitionField, Shape
from glacierbase.model.transforms import given_name

_MAIN = "main"


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table of the copy at one moment.

    Attributes:
        metadata: the location of its metadata.
        refs: the kind of each branch and tag (`branch`, `tag`), and the id of its snapshot.
        snapshots: the summary of each snapshot by its id.
        rows: as the summary of the current snapshot counts them.
    """

    shape: Shape
    metadata: str
    location: str
    refs: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    snapshots: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    rows: int = 0

    @classmethod
    def of(cls, name: str, place: str, metadata: str) -> CopiedTable:
        """Return a table from its metadata, which is JSON as `CopyExecutor.metadata` returns it. Raises as `shape_from_json` does.

        Args:
            place: the location of the metadata.
        """
        document: dict[str, Any] = json.loads(metadata)
        if "shape" in document:
            shape = from_json(Shape, document["shape"], "shape")
            commits = {int(number): summary for number, summary in document["snapshots"].items()}
            return cls(shape, place, document["location"], {}, commits, document["rows"])
        snapshots = {entry["snapshot-id"]: entry.get("summary", {}) for entry in document.get("snapshots", ())}
        current = snapshots.get(document.get("current-snapshot-id"), {})
        return cls(
            shape_from_json(name, metadata),
            place,
            document["location"],
            {ref: (value["type"], value["snapshot-id"]) for ref, value in document.get("refs", {}).items()},
            snapshots,
            _number(current, "total-records") - _number(current, "total-position-deletes"),
        )


def _number(summary: Mapping[str, str], key: str) -> int:
    return int(summary.get(key, "0"))


class CopyReader:
    """Read the tables of a copy. The metadata at a location is read once, because it never changes.

    Attributes:
        unread: the tables that the copy cannot describe, or that PyIceberg does not support.
    """

    def __init__(self, engine: CopyExecutor) -> None:
        self._engine = engine
        self._tables: dict[str, CopiedTable | None] = {}
        self._places: dict[str, str] = {}

    @property
    def unread(self) -> tuple[str, ...]:
        return tuple(name for name, table in self._tables.items() if table is None)

    def read(self) -> Mapping[str, CopiedTable]:
        """Return the tables by name, without the unread ones."""
        places = self._engine.locations()
        self._tables = {name: self._table(name, place) for name, place in places.items()}
        self._places = places
        return {name: table for name, table in self._tables.items() if table}

    def _table(self, name: str, place: str) -> CopiedTable | None:
        if self._places.get(name) == place:
            return self._tables[name]
        # Its files may be gone, or be of a class that Spark does not accept; its metadata may be invalid.
        with suppress(EngineError, ValueError):
            return CopiedTable.of(name, place, self._engine.metadata(place))
        return None


def shapes(tables: Mapping[str, CopiedTable]) -> dict[str, Shape]:
    """Return the shapes of tables."""
    return {name: table.shape for name, table in tables.items()}


def compare_copied(
    before: Mapping[str, CopiedTable],
    after: Mapping[str, CopiedTable],
    replaced: Collection[str],
    rewritten: Collection[str],
) -> tuple[TableChange, ...]:
    """Return what happened to each table, by name.

    Args:
        replaced: as for `compare`.
        rewritten: the tables afterwards on which statements rewrite data files, if there are any.
    """
    changes = {change.table: change for change in compare(shapes(before), shapes(after), replaced)}
    by_uuid = {table.shape.uuid: table for table in before.values()}
    for name, table in after.items():
        if earlier := by_uuid.get(table.shape.uuid):
            change = changes.get(name, TableChange(name, Change.ALTERED, earlier.shape, table.shape))
            diff = (*change.diff, *_differences(earlier, table))
            files = "removed" if name in replaced else _files(earlier, table, name in rewritten)
            snapshots = len(table.snapshots.keys() - earlier.snapshots.keys())
            if diff or snapshots:
                changes[name] = replace(change, diff=diff, files=files, snapshots=snapshots)
        elif name in changes:
            changes[name] = replace(changes[name], snapshots=len(table.snapshots))
    return tuple(changes[name] for name in sorted(changes))


def _files(before: CopiedTable, after: CopiedTable, is_rewritten: bool) -> str:
    """Return what happens to the existing data files: by the snapshots added, and by the statements if the copy has no files."""
    added = [summary for id_, summary in after.snapshots.items() if id_ not in before.snapshots]
    removing = [summary for summary in added if _number(summary, "deleted-data-files")]
    if removing:
        return "rewritten" if any(_number(summary, "added-data-files") for summary in removing) else "removed"
    if is_rewritten and not before.rows:
        return "rewritten"
    if before.shape.spec_id != after.shape.spec_id:
        return f"left in spec {before.shape.spec_id}"
    return "untouched"


def _differences(before: CopiedTable, after: CopiedTable) -> Iterator[Difference]:
    """Yield the differences that the shapes do not show, or that are none of a shape."""
    yield from _partitioning(before.shape, after.shape)
    if before.location != after.location:
        yield Difference("location", "", before.location, after.location)
    for ref in sorted({*before.refs, *after.refs} - {_MAIN}):
        was, is_now = before.refs.get(ref), after.refs.get(ref)
        if was != is_now:
            kind, _ = was or is_now or ("", 0)
            yield Difference(kind, ref, _snapshot(was), _snapshot(is_now))
    if before.rows != after.rows:
        yield Difference("rows of the copy", "", str(before.rows), str(after.rows))


def _snapshot(ref: tuple[str, int] | None) -> str | None:
    return ref and f"snapshot {ref[1]}"


def _partitioning(before: Shape, after: Shape) -> Iterator[Difference]:
    """Yield the differences of the names of partition fields; names that Spark gives itself are left out for new fields."""
    earlier = {partition_text(field): field.name for field in before.partitioning}
    later = {partition_text(field): field for field in after.partitioning}
    for text, field_ in later.items():
        was = earlier.get(text)
        if was != field_.name and (was is not None or _is_custom(field_)):
            yield Difference("partition field", text, was, field_.name)
    if list(earlier) == list(later) and before.spec_id != after.spec_id:
        yield Difference("spec id", "", str(before.spec_id), str(after.spec_id))


def _is_custom(part: PartitionField) -> bool:
    """Return whether a partition field has another name than CREATE (`id_bucket`) and ALTER (`id_bucket_16`) give it."""
    return part.name not in (given_name(part.source, part.transform, with_width=added) for added in (False, True))
