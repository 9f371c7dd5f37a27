"""Where each part of a recorded table is from: its last change, and the statements about it. Pure.

A part has the name that `Difference.subject` gives it, in lower case; each partition field and each identifier field is a part.
A renamed column keeps the changes of its facts, as in `blame`, and so do the partition fields on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.errors import MigrationFileError
from glacierbase.history.records import History, Record
from glacierbase.history.timeline import Moment, Timeline
from glacierbase.inspect.compare.state import PartChanges, PartStatements, TableParts
from glacierbase.inspect.tables.points import place_of
from glacierbase.inspect.tables.since import Since
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog
from glacierbase.model.differences import OF_ENGINE, partition_text, sort_text
from glacierbase.model.shape import Shape
from glacierbase.sql.about import COLUMN_FACTS, said_of
from glacierbase.sql.file import named

# Of a digest of what a statement says; enough to tell two statements on the same part apart.
_DIGITS = 12

# What is said about the parts of a table by one statement: subjects and texts.
_Said = Sequence[tuple[str, str]]


class Ran:
    """The statements of each version that ran, in the order in which the versions began."""

    def __init__(self, catalog: Catalog, history: History) -> None:
        self._catalog = catalog
        self._records = sorted(history.records.values(), key=lambda each: place_of(each.started))
        self._statements: dict[str, Sequence[tuple[tuple[str, ...], str, _Said]]] = {}

    def parts_of(self, table: Timeline) -> TableParts:
        """Return where the parts of a table are from."""
        found = _Parts(table.moments)
        for record in self._records:
            found.enter(place_of(record.started))
            before = found.name
            found.enter(place_of(record.last))
            # Of a dropped table, the name that it had before.
            name = found.name or before
            said = tuple(self._on(name, record)) if name else ()
            if said:
                found.said.append((record.version, _digests(said)))
        return found.done()

    def _on(self, name: str, record: Record) -> Iterator[tuple[str, str]]:
        """Yield what a file says about the table that has a name after it, under each name that it had in the file."""
        found: list[tuple[str, str]] = []
        for names, operation, said in reversed(self._of(record)):
            if operation == "rename_table" and name == names[-1]:
                name = names[0]
            if name in names:
                found[:0] = said
        yield from found

    def _of(self, record: Record) -> Sequence[tuple[tuple[str, ...], str, _Said]]:
        if record.version not in self._statements:
            self._statements[record.version] = tuple(self._read(record))
        return self._statements[record.version]

    def _read(self, record: Record) -> Iterator[tuple[tuple[str, ...], str, _Said]]:
        """Yield the statements that ran: their tables, their operations, and what they say."""
        dialect = self._catalog.dialect
        try:
            statements = split_statements(record.started.rendered_sql or "", dialect)
        except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
            return
        for each in named(statements, dialect, self._catalog):
            names = tuple(whole for _, whole in each.names if whole is not None)
            if names and each.statement.index <= record.statements_done:
                said = said_of(each.parsed, each.statement.text, dialect)
                yield names, each.parsed.operation, tuple(said)


class _Parts:
    """The parts of a table while its moments and the statements about it are read in order.

    Attributes:
        name: of the table now; None where there is none.
        said: by version, what its statements say, as digests by subject.
    """

    def __init__(self, moments: Sequence[Moment]) -> None:
        self._left = list(moments)
        self._last: dict[str, Moment] = {}
        self._shape: Shape | None = None
        self.name: str | None = None
        self.said: list[tuple[str, dict[str, str]]] = []

    def enter(self, place: tuple[int, int]) -> None:
        """Read the moments up to a place in the history."""
        while self._left and place_of(self._left[0].event) <= place:
            self._next(self._left.pop(0))

    def done(self) -> TableParts:
        changes: dict[int, tuple[Moment, list[str]]] = {}
        for subject, moment in self._last.items():
            if self._last.get(_around(subject)) is not moment:
                changes.setdefault(id(moment), (moment, []))[1].append(subject)
        ordered = sorted(changes.values(), key=lambda each: place_of(each[0].event))
        return TableParts(
            tuple(_changes(moment, subjects) for moment, subjects in ordered),
            tuple(PartStatements(version, parts) for version, parts in self.said),
        )

    def _next(self, moment: Moment) -> None:
        before, after = self._shape, moment.shape
        self._shape, self.name = after, after.table if after else None
        if after is None:
            self._last["table"] = moment
            return
        if before is not None:
            before = self._renamed(before, after, moment)
        earlier, later = (_facts(each) if each else {} for each in (before, after))
        changed = sorted(_changed(earlier, later))
        if before is not None and _order(before, after) != _order(after, before):
            changed.append("order of columns")
        for subject in changed:
            if subject.startswith("column "):  # Its facts begin anew.
                for what in COLUMN_FACTS:
                    self._last.pop(_fact(what, subject), None)
        self._last |= dict.fromkeys(changed, moment)

    def _renamed(self, before: Shape, after: Shape, moment: Moment) -> Shape:
        """Return a shape with the names that its columns have in the next one. What was recorded and said of them follows."""
        new = {each.id: each.name for each in after.columns if each.id is not None}
        ids = {each.name: each.id for each in before.columns if each.id in new}
        names = {name: new[id_] for name, id_ in ids.items() if id_ is not None and new[id_] != name}
        if not names:
            return before
        found = replace(
            before,
            columns=tuple(replace(each, name=names.get(each.name, each.name)) for each in before.columns),
            partitioning=tuple(
                replace(each, source=names.get(each.source, each.source)) for each in before.partitioning
            ),
            sorting=tuple(replace(each, source=names.get(each.source, each.source)) for each in before.sorting),
            identifiers=tuple(names.get(each, each) for each in before.identifiers),
        )
        subjects = {
            _fact(what, f"column {old}"): _fact(what, f"column {name}")
            for old, name in names.items()
            for what in ("identifiers", *COLUMN_FACTS)
        }
        subjects |= {
            f"partitioning {partition_text(old)}": f"partitioning {partition_text(renamed)}"
            for old, renamed in zip(before.partitioning, found.partitioning, strict=True)
        }
        folded = {old.casefold(): name.casefold() for old, name in subjects.items()}
        self._last = {folded.get(subject, subject): each for subject, each in self._last.items()}
        for _, parts in self.said:
            # Under its former name, too: where the column was not renamed, the file says the same.
            parts |= {name: parts[old] for old, name in folded.items() if old in parts}
        for old, name in names.items():
            self._last |= {f"column {each}".casefold(): moment for each in (old, name)}
        return found


def _facts(shape: Shape) -> dict[str, object]:
    """Return the parts of a shape with their values."""
    found: dict[str, object] = {"table": shape.table, "format version": shape.format_version or 0}
    for each in shape.columns:
        name = each.name
        found |= {f"column {name}": each.id, f"required {name}": each.required, f"comment {name}": each.comment or ""}
        found |= {f"type {name}": each.type.partition("<")[0], f"default {name}": each.default or ""}
    found |= {f"partitioning {partition_text(each)}": True for each in shape.partitioning}
    if shape.sorting:
        found["sorting"] = ", ".join(map(sort_text, shape.sorting))
    found |= {f"identifiers {each}": True for each in shape.identifiers}
    found |= {f"property {key}": value for key, value in shape.properties.items() if key not in OF_ENGINE}
    return {subject.casefold(): value for subject, value in found.items()}


def _changed(earlier: Mapping[str, object], later: Mapping[str, object]) -> Iterator[str]:
    """Yield the parts that are in one shape only, or have another value in the other."""
    yield from earlier.keys() ^ later.keys()
    for subject in earlier.keys() & later.keys():
        # A table whose columns gained or lost field ids has the same columns.
        if earlier[subject] != later[subject] and None not in (earlier[subject], later[subject]):
            yield subject


def _order(shape: Shape, other: Shape) -> list[str]:
    """Return the names of the columns that another shape has, too, in order."""
    names = {each.name for each in other.columns}
    return [each.name for each in shape.columns if each.name in names]


def _fact(what: str, column: str) -> str:
    """Return the name of a fact of a column: `type user_id` for `column user_id`."""
    return f"{what} {column.removeprefix('column ')}"


def _around(subject: str) -> str:
    """Return the column that a fact is one of; empty for another part."""
    what, _, name = subject.partition(" ")
    return f"column {name}" if what in COLUMN_FACTS else ""


def _changes(moment: Moment, subjects: Sequence[str]) -> PartChanges:
    since = Since.of(moment)
    return PartChanges(since.version or since.seen_by, since.origin, tuple(subjects))


def _digests(said: _Said) -> dict[str, str]:
    """Return a digest of all that is said about each subject."""
    texts: dict[str, list[str]] = {}
    for subject, text in said:
        texts.setdefault(subject, []).append(text)
    return {subject: hashlib.sha256("\n".join(each).encode()).hexdigest()[:_DIGITS] for subject, each in texts.items()}
