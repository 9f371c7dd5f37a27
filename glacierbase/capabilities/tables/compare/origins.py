"""The changes of the parts of a table in one environment, each with the version that made or observed it.

A part has the name that `Difference.subject` gives it, in lower case; each fact of a column, each partition field and each
identifier field is a part. The facts of a renamed column keep their changes, as in `blame`, and so do the partition fields on it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from glacierbase.capabilities.tables.compare.state import PartChanges
from glacierbase.errors import MigrationFileError
from glacierbase.history.records import History
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Key
from glacierbase.model.names import name_parts
from glacierbase.model.partial_shape import COLUMNS, FORMAT_VERSION, IDENTIFIERS, PARTITIONING, SORTING, PartialShape
from glacierbase.model.shape import Shape
from glacierbase.record.lineage import Key as PartKey
from glacierbase.record.lineage import LastChange, TablePart, matched, parts
from glacierbase.record.replay import ReplayedTable, ends, statements_on
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import Moment
from glacierbase.sql.file import FileStatement, named

TABLE, ORDER = "table", "order of columns"
# What a `PartialShape` calls the parts of these kinds.
_KINDS = {"partition": PARTITIONING, "sort order": SORTING, "identifiers": IDENTIFIERS, "format": FORMAT_VERSION}
# Digits of the digest of a value; enough to distinguish two values of one part.
_DIGITS = 12
# The changes of a part, oldest first: the place of the moment, and a digest of the value; None where it is not determined.
_Changes: TypeAlias = tuple[tuple[int, str | None], ...]
# A part before and after a moment; None where there is none.
_Pair: TypeAlias = tuple[TablePart | None, TablePart | None]


class RanStatements:
    """The statements of the versions of a history that ran."""

    def __init__(self, catalog: Catalog, history: History) -> None:
        self._catalog = catalog
        self._records = {record.key: record for record in history.versions}
        self._read: dict[Key, Sequence[FileStatement]] = {}

    def origins(self, moments: Sequence[Moment]) -> tuple[PartChanges, ...]:
        """Return the changes of the parts of a table, oldest first."""
        made: dict[Key, PartialShape | None] = {}
        table, before = _Origins(), None
        for moment in moments:
            key = moment.event.key or 0
            is_made = moment.origin is ChangeOrigin.MIGRATION
            if is_made and key not in made:
                made[key] = self._made(before, moment.shape, key)
            table.enter(moment, made[key] if is_made else None)
            before = moment.shape
        return tuple(table.done())

    def _made(self, before: Shape | None, after: Shape | None, key: Key) -> PartialShape | None:
        """Return what the statements of a version make of a table, or drop; None where none is about it."""
        if after is None:
            return PartialShape(before) if before and ends(before, self._of(key)) else None
        replay, statements = ReplayedTable(before, after.format), statements_on(after.table, self._of(key))
        for statement in statements:
            replay.apply(statement.changes, statement.name)
        return replay.table if statements else None

    def _of(self, key: Key) -> Sequence[FileStatement]:
        if key not in self._read:
            self._read[key] = tuple(self._statements(key))
        return self._read[key]

    def _statements(self, key: Key) -> Iterator[FileStatement]:
        if (record := self._records.get(key)) is None:
            return
        try:
            statements = split_statements(record.started.rendered_sql or "", self._catalog.dialect)
        except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
            return
        for statement in named(statements, self._catalog.dialect, self._catalog):
            if statement.statement.index <= record.statements_done:
                yield statement


class _Origins:
    """The changes of the parts of a table, while its moments are read in order."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []
        self._parts: tuple[TablePart, ...] = ()
        # Of the facts of its parts; of those that it has no more, by subject; of the names and the order of columns, by subject.
        self._facts: dict[tuple[PartKey, str], _Changes] = {}
        self._gone: dict[str, _Changes] = {}
        self._names: dict[str, _Changes] = {}

    def enter(self, moment: Moment, made: PartialShape | None) -> None:
        """Read the next moment.

        Args:
            made: the table as a version makes it, if one made the change.
        """
        self._moments.append(moment)
        new = tuple(_parts(moment.shape)) if moment.shape else ()
        pairs = list(_pairs(self._parts, new))
        for before, after in pairs:
            self._enter_facts(before, after, made)
        columns = [pair for pair in pairs if "column" in {part.kind for part in pair if part}]
        is_certain = made is not None and made.knows(COLUMNS)
        self._enter_names(columns, is_certain=is_certain)
        if not self._parts or _is_reordered(columns, self._parts):
            names = (after.name for _, after in columns if after and self._is_made(_subject(after, "column")))
            self._names[ORDER] = self._with(self._names.get(ORDER, ()), _digest(tuple(names)) if is_certain else None)
        self._parts = new

    def done(self) -> Iterator[PartChanges]:
        """Yield the changes of each moment."""
        subjects = {(part.key, fact): _subject(part, fact) for part in self._parts for fact in part.facts}
        facts = {subjects[fact]: changes for fact, changes in self._facts.items()}
        # A dropped table has no parts.
        changes = {**self._gone, **self._names, **facts} if self._parts else {TABLE: self._gone[TABLE]}
        by_place: dict[int, dict[str, str | None]] = defaultdict(dict)
        for subject, of_part in changes.items():
            for place, digest in of_part:
                by_place[place][subject] = digest
        for place, changed in sorted(by_place.items()):
            moment, since = self._moments[place], LastChange.of(self._moments[place])
            if moment.event.name is not None:  # The statements of a repeatable are not compared.
                yield PartChanges(None, ChangeOrigin.NOT_RECORDED, changed)
            else:
                yield PartChanges(since.version or since.seen_by, since.origin, changed)

    def _enter_facts(self, before: TablePart | None, after: TablePart | None, made: PartialShape | None) -> None:
        part = after or before
        assert part is not None
        for fact in part.facts:
            if part.kind == "column" and fact == "name":  # It is a part itself.
                continue
            subject = _subject(part, fact)
            known = self._facts.pop((before.key, fact)) if before else self._gone.pop(subject, ())
            is_same = before is not None and after is not None and before.facts[fact][0] == after.facts[fact][0]
            if not is_same:
                value = "" if after is None else _digest(after.facts[fact][0] if part.kind == "column" else after.text)
                known = self._with(known, value if made is not None and _determines(made, part, fact) else None)
            if after is None:
                self._gone[subject] = known
            else:
                self._facts[after.key, fact] = known

    def _enter_names(self, columns: Sequence[_Pair], *, is_certain: bool) -> None:
        values: dict[str, str] = {}
        for before, after in columns:
            if before and not (after and after.name == before.name):
                values.setdefault(_subject(before, "column"), "")
            if after and not (before and after.name == before.name):
                values[_subject(after, "column")] = "present"
        moved = dict(self._moved(columns))
        known = {subject: self._names.get(moved.get(subject, subject), ()) for subject in values}
        for subject, value in values.items():
            is_same = subject in moved or subject in moved.values()
            self._names[subject] = (
                known[subject] if is_same else self._with(known[subject], value if is_certain else None)
            )

    def _moved(self, columns: Sequence[_Pair]) -> Iterator[tuple[str, str]]:
        """Yield the fields of other clients that move with the column around them, each with its former subject."""
        for before, after in columns:
            if before and after and before.name != after.name:
                earlier, later = _subject(before, "column"), _subject(after, "column")
                if name_parts(before.name)[-1] == name_parts(after.name)[-1] and not self._is_made(earlier):
                    yield later, earlier

    def _is_made(self, subject: str) -> bool:
        """Return whether a migration changed the name of a column last."""
        place, _ = self._names[subject][-1]
        return self._moments[place].origin is ChangeOrigin.MIGRATION

    def _with(self, changes: _Changes, digest: str | None) -> _Changes:
        return *changes, (len(self._moments) - 1, digest)


def _parts(shape: Shape) -> Iterator[TablePart]:
    """Yield the parts of a shape, each identifier field by itself."""
    columns = {part.name: part.key for part in parts(shape) if part.kind == "column"}
    for name in shape.identifiers:
        yield TablePart("identifiers", ("identifiers", str(columns.get(name, name))), name, "", {"value": (True, "")})
    yield from (part for part in parts(shape) if part.kind != "identifiers")


def _pairs(before: Sequence[TablePart], after: Sequence[TablePart]) -> Iterator[_Pair]:
    """Yield the parts of two shapes; a partition field that replaces another one is another part."""
    for earlier, later in matched(before, after):
        if earlier and later and earlier.kind == "partition" and earlier.key != later.key:
            yield from ((earlier, None), (None, later))
        else:
            yield earlier, later


def _subject(part: TablePart, fact: str) -> str:
    """Return the name of a fact as `Difference.subject` has it, in lower case; of a column itself for the fact `column`."""
    match part.kind:
        case "column":
            subject = f"{fact} {part.name}"
        case "partition":
            subject = f"partitioning {part.text}"
        case "sort order":
            subject = "sorting"
        case "format":
            subject = "format version"
        case "table":
            subject = TABLE
        case kind:
            subject = f"{kind} {part.name}"
    return subject.casefold()


def _determines(made: PartialShape, part: TablePart, fact: str) -> bool:
    """Return whether the statements that make a table determine a part of it."""
    match part.kind:
        case "column":
            return made.knows(COLUMNS, f"{fact} {part.name}")
        case "property":
            return made.knows_property(part.name)
        case "table":
            return made.knows()
    return made.knows(_KINDS[part.kind])


def _is_reordered(columns: Sequence[_Pair], earlier: Sequence[TablePart]) -> bool:
    """Return whether columns changed their order, or new ones came before others."""
    places = {part.key: place for place, part in enumerate(earlier)}
    siblings: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for before, after in columns:
        if after:
            around = tuple(name_parts(after.name)[:-1])
            siblings[around].append(places[before.key] if before else len(places))
    return any(earlier_places != sorted(earlier_places) for earlier_places in siblings.values())


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:_DIGITS]
