"""Attribute the changes of a table to the statements that ran, or to another client. Pure.

A change is attributed to a statement only if the statement is about the part that changed (`about`). Where the metadata of the
table lists its commits, each commit is attributed as a whole, and dates the change; elsewhere each part is attributed separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from glacierbase.model.differences import Change, Difference, compare
from glacierbase.model.shape import Column, PartitionField, Past, Shape, SortField, Version
from glacierbase.model.text import time_of
from glacierbase.record.about import Explanation, StatementChanges
from glacierbase.record.drift import is_kept_by_engine
from glacierbase.record.shapes import ChangeOrigin, RecordedChange, TableRecord, as_recorded
from glacierbase.record.timeline import differ

_F = TypeVar("_F", PartitionField, SortField)

# One record keeps at most this many commits of other clients; older ones are merged.
_MOST = 16
_NUMBER = re.compile(r"(?:^|/)(\d+)-[^/]*$")
_WHO = {ChangeOrigin.OUTSIDE: "not from a migration", ChangeOrigin.DURING: "during {}, not by it"}


def commits(past: Past | None, since: Shape | None, until: Shape) -> tuple[Version, ...] | None:
    """Return the commits between two shapes of a table, oldest first, by its metadata; None where it does not list them all."""
    if past is None or not (past.is_whole or since is None) or not until.metadata_location:
        return None
    places = [version.shape.metadata_location for version in past.versions]
    if until.metadata_location not in places:
        return None
    begin = places.index(since.metadata_location) + 1 if since and since.metadata_location in places else 0
    versions = past.versions[begin : places.index(until.metadata_location) + 1]
    # A rename is not a commit to the table.
    name = (since or until).table
    return tuple(replace(version, shape=replace(as_recorded(version.shape), table=name)) for version in versions)


def made_outside(known: Shape | None, versions: Sequence[Version] | None) -> tuple[RecordedChange, ...]:
    """Return the changes of a table since its last record, by its commits; none where these are not known."""
    steps, before = [], known
    for version in versions or ():
        if differ(before, version.shape):
            steps.append(RecordedChange(version.shape, ChangeOrigin.OUTSIDE, version.at))
        before = version.shape
    return _newest(steps)


def is_explained(
    before: Shape | None, after: Shape, claims: StatementChanges, proofs: Collection[str] | None = None
) -> bool:
    """Return whether the statements that ran explain every difference of a table, and as many commits.

    Args:
        proofs: the UUIDs in the names of the metadata files that the statements wrote; None where the names prove nothing.
    """
    if before is None and not claims.creates:
        return False
    if any(claims.fit(difference, before, after) is not Explanation.SAME for difference in _differences(before, after)):
        return False
    location, made = after.metadata_location, _number(after) - (_number(before) if before else -1)
    is_same = before is not None and before.metadata_location == location
    return (proofs is None or is_same or _is_proven(after, proofs)) and made <= claims.count


def _number(shape: Shape) -> int:
    """Return the number of a table's version that begins the name of its metadata file; 0 where it has none."""
    number = _NUMBER.search(shape.metadata_location or "")
    return int(number[1]) if number else 0


def _is_proven(shape: Shape, proofs: Iterable[str]) -> bool:
    """Return whether a statement wrote the metadata file of a shape."""
    return any(proof in (shape.metadata_location or "") for proof in proofs)


def made_meanwhile(
    before: Shape | None,
    after: Shape,
    claims: StatementChanges,
    versions: Sequence[Version] | None,
    proofs: Collection[str] | None = None,
) -> tuple[RecordedChange, ...]:
    """Return the changes of other clients while statements ran, with the statements' changes before them.

    Args:
        versions: the commits meanwhile; None where they are not known.
        proofs: as for `is_explained`.
    """
    if versions is not None and proofs is not None:
        return _newest(_proven(before, versions, proofs))
    if versions is not None:
        return _newest(_by_commit(before, claims, versions))
    if before is None and not claims.creates:
        return (RecordedChange(after, ChangeOrigin.DURING),)
    differences = _differences(before, after)
    others = [difference for difference in differences if claims.fit(difference, before, after) is Explanation.NONE]
    return (RecordedChange(with_only(before, after, others), ChangeOrigin.DURING),) if others else ()


def made_before_baseline(
    known: Shape | None, after: Shape, files: Sequence[tuple[str, StatementChanges]]
) -> tuple[RecordedChange, ...]:
    """Attribute each part of a table to a file that `baseline` records, or to none.

    Args:
        files: those that change the table, oldest first, each with its version. The last one has the record.
    """
    by_version: dict[str | None, list[Difference]] = {version: [] for version, _ in files}
    others: list[Difference] = []
    for difference in _differences(known, after):
        about = (version for version, claims in reversed(files) if claims.is_about(difference, known, after))
        by_version.get(next(about, None), others).append(difference)
    parts = [(ChangeOrigin.MIGRATION, version, differences) for version, differences in by_version.items()]
    # Where one of the files creates the table, the other parts come after that.
    first = next((index for index, (_, claims) in enumerate(files, start=1) if claims.creates), 0)
    parts.insert(first, (ChangeOrigin.BASELINE, None, others))
    steps, kept = [], list[Difference]()
    for origin, version, differences in parts:
        kept += differences
        if differences:
            steps.append(RecordedChange(with_only(known, after, kept), origin, version=version))
    return tuple(steps) if any(step.version != files[-1][0] for step in steps) else ()


def has_others(record: TableRecord) -> bool:
    """Return whether a record has changes that its file did not make."""
    return any(change.origin in _WHO for change in record.changes())


def lines_of_others(
    record: TableRecord,
    before: Shape | None,
    last: Callable[[str], Shape | None],
    version: str,
    *,
    is_certain: bool,
) -> Iterator[str]:
    """Yield a line for each change in a record that its file did not make.

    Args:
        before: the table of that name by its last record.
        last: returns a table by its UUID, as it was recorded last.
        is_certain: whether every earlier file has left its record.
    """
    for step in record.changes():
        shape = step.shape
        if shape and before and None not in (shape.uuid, before.uuid) and shape.uuid != before.uuid:
            before = None
        if before is None and shape and shape.uuid:
            before = last(shape.uuid)
        if step.origin in _WHO:
            who = _WHO[step.origin].format(version) if is_certain else "not recorded who changed it"
            when = f", {time_of(step.at)}" if step.at else ""
            yield from (f"{line}: {who}{when}" for line in _lines(before, shape))
        before = shape


def _lines(before: Shape | None, after: Shape | None) -> Iterator[str]:
    for change in compare(*({shape.table: shape} if shape else {} for shape in (before, after))):
        if change.change is Change.CREATED:
            yield f"{change.table}: + table: {len(after.columns) if after else 0} columns"
        else:
            yield from (
                f"{change.table}: {difference.line()}"
                for difference in change.diff
                if not is_kept_by_engine(difference)
            )


def with_only(before: Shape | None, after: Shape, kept: Collection[Difference]) -> Shape:
    """Return a shape with some of its differences from an earlier one, and without the others."""
    nothing = replace(
        after, columns=(), partitioning=(), sorting=(), identifiers=(), properties={}, format_version=None
    )
    base, subjects = before or nothing, {difference.subject for difference in kept}
    columns = _columns(base, after, kept)
    ids = {column.id: column.name for column in columns if column.id is not None}
    names = {column.name: ids.get(column.id or 0, column.name) for column in base.columns}
    is_renamed = any(difference.subject == "table" and not difference.destructive for difference in kept)
    is_replaced = any(difference.subject == "table" and difference.destructive for difference in kept)
    keys = {difference.name for difference in kept if difference.what == "property"}
    properties = {key: value for key, value in base.properties.items() if key not in keys}
    return replace(
        after,
        table=after.table if is_renamed else base.table,
        uuid=after.uuid if is_replaced else base.uuid,
        format_version=after.format_version if "format version" in subjects else base.format_version,
        columns=columns,
        partitioning=after.partitioning if "partitioning" in subjects else _named(base.partitioning, names),
        sorting=after.sorting if "sorting" in subjects else _named(base.sorting, names),
        identifiers=after.identifiers
        if "identifiers" in subjects
        else tuple(names.get(identifier, identifier) for identifier in base.identifiers),
        properties=properties | {key: after.properties[key] for key in keys if key in after.properties},
    )


def _columns(base: Shape, after: Shape, kept: Collection[Difference]) -> tuple[Column, ...]:
    """Return the columns of `with_only`."""
    subjects = {difference.subject for difference in kept if difference.what != "column"}
    added, dropped, renamed = (
        {name for difference in kept if difference.what == "column" for name in [of(difference)] if name}
        for of in (_added, _dropped, _renamed)
    )
    known, new = ({_key(column): column for column in shape.columns} for shape in (base, after))
    columns = {key: column for key, column in known.items() if key in new or column.name not in dropped}
    for key in known.keys() & new.keys():
        now, column = new[key], known[key]
        facts = ("type", "required", "comment", "default")
        changed = {fact: getattr(now, fact) for fact in facts if f"{fact} {now.name}" in subjects}
        is_renamed = any(f"{column.name}.".startswith(f"{name}.") for name in renamed)
        columns[key] = replace(column, name=now.name if is_renamed else column.name, **changed)
    order, before = list(columns), 0
    for key, column in new.items():  # An added column keeps its predecessor.
        if key not in known and column.name in added:
            columns[key] = column
            order.insert(before, key)
        before = order.index(key) + 1 if key in columns else before
    if "order of columns" in subjects:
        places = {key: place for place, key in enumerate(new)}
        order.sort(key=lambda key: places.get(key, len(places)))
    return tuple(columns[key] for key in order)


def _added(difference: Difference) -> str | None:
    return difference.name if difference.name and difference.before is None else None


def _dropped(difference: Difference) -> str | None:
    return difference.name if difference.name and difference.after is None else None


def _renamed(difference: Difference) -> str | None:
    return None if difference.name else difference.before


def _key(column: Column) -> int | str:
    return column.name if column.id is None else column.id


def _named(fields: tuple[_F, ...], names: Mapping[str, str]) -> tuple[_F, ...]:
    return tuple(replace(field, source=names.get(field.source, field.source)) for field in fields)


def _proven(before: Shape | None, versions: Sequence[Version], proofs: Collection[str]) -> list[RecordedChange]:
    """Attribute each commit by the name of its metadata file."""
    steps = []
    for version in versions:
        if differ(before, version.shape):
            is_own = _is_proven(version.shape, proofs)
            made = (ChangeOrigin.MIGRATION, None) if is_own else (ChangeOrigin.DURING, version.at)
            steps.append(RecordedChange(version.shape, *made))
        before = version.shape
    return steps if any(step.origin is ChangeOrigin.DURING for step in steps) else []


def _by_commit(before: Shape | None, claims: StatementChanges, versions: Sequence[Version]) -> list[RecordedChange]:
    rated: list[tuple[Version, frozenset[str], Explanation]] = []
    for version in versions:
        differences, shape = _differences(before, version.shape), version.shape
        if differ(before, shape):
            fit = min((claims.fit(difference, before, shape) for difference in differences), default=Explanation.SAME)
            if before is None and not claims.creates:
                fit = Explanation.NONE
            if fit is Explanation.SAME:
                claims.use(differences, before, shape)
            rated.append((version, frozenset(difference.subject for difference in differences), fit))
        before = shape
    said = {subject for _, subjects, fit in rated if fit is Explanation.SAME for subject in subjects}
    own = [fit is Explanation.SAME or (fit is Explanation.ABOUT and not subjects & said) for _, subjects, fit in rated]
    steps = [
        RecordedChange(version.shape, ChangeOrigin.MIGRATION)
        if is_own
        else RecordedChange(version.shape, ChangeOrigin.DURING, version.at)
        for is_own, (version, _, _) in zip(own, rated, strict=True)
    ]
    return steps if not all(own) else []


def _newest(steps: Sequence[RecordedChange]) -> tuple[RecordedChange, ...]:
    if len(steps) <= _MOST:
        return tuple(steps)
    first, *rest = steps[-_MOST:]
    return (replace(first, at=None), *rest)


def _differences(before: Shape | None, after: Shape) -> tuple[Difference, ...]:
    """Return the differences between two shapes of a table, without those that an engine or a catalog makes on its own."""
    changes = compare({before.table: before} if before else {}, {after.table: after})
    return tuple(difference for change in changes for difference in change.diff if not is_kept_by_engine(difference))
