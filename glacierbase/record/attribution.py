"""Attribute the changes of a table to the statements that ran, or to another client. Pure.

Statements are replayed: what each does is applied to the table before it (`replay`). Where the metadata of the table lists its
commits, each commit is attributed as a whole, and dates the change: it is a statement's if the name of its metadata file proves
that, or if it is what the statement does. Elsewhere the parts that the statements do not make so are another client's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from glacierbase.model.differences import Change, Difference, compare
from glacierbase.model.partial_shape import PartialShape
from glacierbase.model.shape import Column, Past, Shape, Version
from glacierbase.model.text import time_of
from glacierbase.record.drift import is_kept_by_engine
from glacierbase.record.replay import ReplayedTable, TableStatement, completed, with_ids_of
from glacierbase.record.shapes import ChangeOrigin, RecordedChange, TableRecord, as_recorded
from glacierbase.record.timeline import differ

# Returns whether a statement made a commit to a table, which is called for one after the other.
_IsOwn: TypeAlias = Callable[[Shape | None, Shape], bool]

# One record keeps at most this many commits of other clients; older ones are merged.
_MOST = 16
_NUMBER = re.compile(r"(?:^|/)(\d+)(?:-[^/]*|\.json)$")
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
    # Delta's REPLACE makes another table with the same log.
    versions = tuple(version for version in versions if version.shape.uuid == until.uuid)
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
    before: Shape | None,
    after: Shape,
    statements: Sequence[TableStatement],
    proofs: Collection[str] | None = None,
    predecessor: Shape | None = None,
) -> bool:
    """Return whether the statements that ran explain every difference of a table, and as many commits.

    Args:
        predecessor: the table whose log it continues.
        proofs: the UUIDs in the names of the metadata files that the statements wrote; None where the names prove nothing.
    """
    begun = before or predecessor
    made_commits = _number(after) - (_number(begun) if begun else -1)
    # One commit has also the properties that a catalog sets in a new table.
    made = _replayed(before, statements, after, takes_properties=made_commits <= 1)
    if made is None or differences(made, after):
        return False
    if proofs is not None and (before is None or before.metadata_location != after.metadata_location):
        # Another client may have made a new table anew, to which the later statements were applied.
        is_proven = _is_proven(after, proofs) if before is not None else is_created(after, proofs)
        return is_proven and made_commits <= len(statements)
    return made_commits <= len(statements)


def _replayed(
    before: Shape | None, statements: Iterable[TableStatement], after: Shape, *, takes_properties: bool = True
) -> Shape | None:
    """Return what statements make of a table; None where they leave none. The present table has what they do not determine.

    Args:
        takes_properties: as for `completed`.
    """
    replay = ReplayedTable(before, after.format)
    for statement in statements:
        replay.apply(statement.changes, statement.name)
    return as_recorded(completed(replay.table, after, takes_properties=takes_properties)) if replay.table else None


def _number(shape: Shape) -> int:
    """Return the number of a table's version that begins the name of its metadata file or commit; 0 where it has none."""
    number = _NUMBER.search(shape.metadata_location or "")
    return int(number[1]) if number else 0


def _is_proven(shape: Shape, proofs: Iterable[str]) -> bool:
    """Return whether a statement wrote the metadata file of a shape."""
    return any(proof in (shape.metadata_location or "") for proof in proofs)


def is_created(shape: Shape, proofs: Collection[str]) -> bool:
    """Return whether a table is as a statement has created it, in its first metadata file."""
    return _is_proven(shape, proofs) and _number(shape) == 0


def made_meanwhile(
    before: Shape | None,
    after: Shape,
    statements: Sequence[TableStatement],
    versions: Sequence[Version] | None,
    proofs: Collection[str] | None = None,
) -> tuple[RecordedChange, ...]:
    """Return the changes of other clients while statements ran, among those of the statements; none where there are no others.

    Args:
        versions: the commits meanwhile; None where they are not known.
        proofs: as for `is_explained`.
    """
    if versions is not None:
        is_own = _proven(proofs) if proofs is not None else _by_statements(statements)
        return _newest(_by_commit(before, versions, is_own))
    made = _replayed(before, statements, after)
    if made is None:
        return (RecordedChange(after, ChangeOrigin.DURING),)
    if not differences(made, after):
        return ()
    return RecordedChange(made, ChangeOrigin.MIGRATION), RecordedChange(after, ChangeOrigin.DURING)


def _by_commit(before: Shape | None, versions: Sequence[Version], is_own: _IsOwn) -> list[RecordedChange]:
    steps = []
    for version in versions:
        if differ(before, version.shape):
            made = (
                (ChangeOrigin.MIGRATION, None) if is_own(before, version.shape) else (ChangeOrigin.DURING, version.at)
            )
            steps.append(RecordedChange(version.shape, *made))
        before = version.shape
    return steps if any(step.origin is ChangeOrigin.DURING for step in steps) else []


def _proven(proofs: Collection[str]) -> _IsOwn:
    """Return what attributes a commit by the name of its metadata file."""
    return lambda _, shape: _is_proven(shape, proofs)


def _by_statements(statements: Sequence[TableStatement]) -> _IsOwn:
    """Return what attributes each commit by what the statements do, one after another, to the table before the commit."""
    left = list(statements)

    def is_own(before: Shape | None, after: Shape) -> bool:
        for explains in (_is_made, _is_begun, _may_be_made):
            for index, statement in enumerate(left):
                if explains(before, statement, after):
                    # A statement may make several commits.
                    del left[: index + (explains is _is_made)]
                    return True
        return not differences(before, after) and before is not None

    return is_own


def _is_made(before: Shape | None, statement: TableStatement, after: Shape) -> bool:
    """Return whether a statement makes the later shape of the earlier one."""
    replay = ReplayedTable(before, after.format)
    is_clear = replay.apply(statement.changes, statement.name) and replay.table is not None and replay.table.knows()
    return is_clear and replay.table is not None and not differences(completed(replay.table, after), after)


def _is_begun(before: Shape | None, statement: TableStatement, after: Shape) -> bool:
    """Return whether each difference is one that the statement makes."""
    replay = ReplayedTable(before, after.format)
    if not replay.apply(statement.changes, statement.name) or replay.table is None or not replay.table.knows():
        return False
    left = {difference.subject for difference in differences(completed(replay.table, after), after)}
    return left.isdisjoint(difference.subject for difference in differences(before, after))


def _may_be_made(before: Shape | None, statement: TableStatement, after: Shape) -> bool:
    """Return whether a statement may change any part."""
    del before, after
    return statement.may_be_all


def made_before_baseline(
    known: Shape | None, after: Shape, files: Sequence[tuple[str, Sequence[TableStatement]]]
) -> tuple[RecordedChange, ...]:
    """Attribute each part of a table to a file that `baseline` records, or to none.

    Args:
        files: those that change the table, oldest first, each with its version. The last one has the record.
    """
    replay, made = ReplayedTable(known, after.format), list[tuple[str, PartialShape]]()
    for version, statements in files:
        for statement in statements:
            replay.apply(statement.changes, statement.name)
        if replay.table:
            made.append((version, replay.table))
    tables = with_ids_of([table for _, table in made], after)
    shapes = [as_recorded(completed(table, after, takes_properties=False)) for table in tables]
    steps = list(_with_sources(made, shapes, after))
    if not steps or differences(steps[-1].shape, after):
        steps.append(RecordedChange(after, ChangeOrigin.BASELINE))
    return tuple(steps) if any(step.version != files[-1][0] for step in steps) else ()


def _with_sources(
    made: Sequence[tuple[str, PartialShape]], shapes: Sequence[Shape], after: Shape
) -> Iterator[RecordedChange]:
    """Yield the changes by files, and before one that partitions or sorts by columns which no file makes, these columns.

    Args:
        made: the versions, each with the replayed table.
        shapes: the same tables with the ids of the existing one, without the columns that this does not have.
    """
    before, others = None, list[Column]()
    for (version, table), shape in zip(made, shapes, strict=True):
        names = {column.name for column in (*table.shape.columns, *shape.columns)}
        sources = {by.source for by in shape.partitioning} | {by.source for by in shape.sorting} | {*shape.identifiers}
        new = [column for column in after.columns if column.name in sources - names and column not in others]
        others += new
        if before and new:
            yield RecordedChange(replace(before, columns=(*before.columns, *new)), ChangeOrigin.BASELINE)
        before = replace(shape, columns=(*shape.columns, *(column for column in others if column.name not in names)))
        yield RecordedChange(before, ChangeOrigin.MIGRATION, version=version)


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


def _newest(steps: Sequence[RecordedChange]) -> tuple[RecordedChange, ...]:
    if len(steps) <= _MOST:
        return tuple(steps)
    first, *rest = steps[-_MOST:]
    return (replace(first, at=None), *rest)


def differences(before: Shape | None, after: Shape) -> tuple[Difference, ...]:
    """Return the differences between two shapes of a table, without those that an engine or a catalog makes on its own."""
    changes = compare({before.table: before} if before else {}, {after.table: after})
    return tuple(difference for change in changes for difference in change.diff if not is_kept_by_engine(difference))
