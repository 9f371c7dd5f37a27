"""The record of tables: what a run observes of the tables that its files change, for the history.

When snapshots of the tables are taken:
1. before the first statement of a file, during the append that announces it; the statement starts once they are complete. A
   table of the previous file is not read again: the snapshot after one file is the snapshot before the next;
2. after the last statement that ran, during the start of the next file. The outcome of the file is appended once they are complete;
3. once, by `repair`, `baseline` and the recovery of a lost run, which record an outcome later.

What is recorded of each table: its shape after the file; its shape before, if that is not the shape of its last record; and the
changes since then that no statement of the file is about (`attribution`), by the commits in its metadata where there are any.
A record never fails a run: a table that cannot be read is recorded as such, and a defect leaves out the record of the file.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from glacierbase.errors import GlacierbaseError
from glacierbase.executors import Session
from glacierbase.executors.engine import Engine
from glacierbase.formats import DELTA
from glacierbase.history.records import History, written
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Past, Shape, TableVersion
from glacierbase.record import attribution
from glacierbase.record.live import TableRead
from glacierbase.record.replay import TableStatement, ends, renamed_to, statements_naming, statements_on
from glacierbase.record.shapes import ChangeOrigin, RecordedChange, TableRecord, last_shape, last_shapes, to_document
from glacierbase.record.table_reader import PendingSnapshot, PendingSnapshots, Snapshots, TableReader
from glacierbase.record.timeline import differ, is_lost
from glacierbase.run.run import tag_uuid
from glacierbase.secrets import mask
from glacierbase.sql.file import FileStatement
from glacierbase.sql.statement import DroppedNamespace, ParsedStatement

logger = logging.getLogger("glacierbase")

# The tables of a file as the history records their names, each with its qualified name; None where that is not certain.
Names: TypeAlias = Mapping[str, str | None]
# Records as the details of an event hold them.
Documents: TypeAlias = tuple[Mapping[str, object], ...]

_DEPENDS = "its name depends on another statement of the file, such as USE"
_LESS = "less of it could be read than before"
# A format that has ids; where a table of it was read without them, no other id takes their place.
_HAS_IDS = "iceberg"


class TableRecords:
    """The records of the tables of one catalog that one run makes.

    Attributes:
        warnings: a line for each recorded change that the file of the record did not make.
    """

    def __init__(self, catalog: Catalog, engine: Engine, history: History) -> None:
        self.warnings: list[str] = []
        self.reader = TableReader(catalog, engine.cancelled)
        engine.at_close(self.reader.close)
        self._catalog = catalog
        self._engine = engine
        self._history = history
        # The last file that ran: the snapshots after it are those before the next file.
        self._last: FileRecord | None = None
        # The qualified names, by names as the history records them; the shapes of the last records, by qualified names.
        self._wholes: dict[str, str | None] = {}
        self._known: dict[str, Shape | None] = {}
        self._by_uuid: dict[str, Shape | None] = {}
        # Tables that this run has recorded although it ran no statement, by qualified names where these are certain; and those of
        # which a file of it has left no record.
        self._settled: set[str] = set()
        self._gaps: set[str] = set()

    def of_file(
        self, compiled: Compiled, first: int, session: Session | None, tag: Callable[[int], str] | None = None
    ) -> FileRecord:
        """Return the record of a file, for which nothing is read yet.

        Args:
            first: the index of the first statement that runs.
            session: the one in which the file runs; without one, only tables that PyIceberg reads are read.
            tag: returns the tag of a statement, by which the names of the metadata files prove who wrote them; None where these
                prove nothing.
        """
        return FileRecord(self, compiled, self._names(compiled.named), first, session, tag)

    def before(self, names: Names, session: Session | None, version: TableVersion | None) -> PendingSnapshots:
        """Begin the snapshots before a file, of the tables that were not read just now.

        Args:
            version: the version of a table that was just read.
        """
        tables = _whole(names)
        pending = self._last.pending_after if self._last else {}
        snapshots = {table: snapshot for table, snapshot in pending.items() if table in tables}
        table = names.get(version.table) if version else None
        if version and version.shape and table and table not in snapshots:
            snapshots[table] = PendingSnapshot.of(replace(version.shape, table=table))
        return snapshots | self.reader.begin((table for table in tables if table not in snapshots), session)

    def after(self, file: FileRecord, session: Session | None) -> PendingSnapshots:
        """Begin the snapshots after a file."""
        self._last = file
        return self.reader.begin(_whole(file.names), session)

    def settled(self, statements: Sequence[FileStatement], ran: Sequence[FileStatement]) -> Documents:
        """Return the records of a file whose outcome is recorded after its run, with its tables as they are now.

        A change since the last record that the statements do not make may be that of another file, or of another client. A table
        is recorded with the first of several files only: begin with the newest one.

        Args:
            statements: all of the file.
            ran: those that ran since its last record, or that a person has completed.
        """

        def records(names: Names, after: Snapshots) -> list[TableRecord]:
            known = self.known(names)
            before = {table: TableRead(known.by_name.get(table)) for table in after}
            return self.attributed(observed(names, known, before, after, ran), version="", is_late=True)

        return self._now(self._names(statements), records)

    def baselined(self, files: Sequence[Compiled]) -> Documents:
        """Return the records of the last of these files, which `baseline` records, with its tables as they are now.

        Each part of a table is attributed to the last file that is about it. Begin with the newest file, as for `settled`.
        """

        def records(names: Names, after: Snapshots) -> list[TableRecord]:
            return list(baseline_records(names, self.known(names).by_name, after, files))

        return self._now(self._names(files[-1].named), records)

    def _now(self, names: Names, records: Callable[[Names, Snapshots], list[TableRecord]]) -> Documents:
        names = {name: table for name, table in names.items() if (table or name) not in self._settled}
        self._settled |= {table or name for name, table in names.items()}
        if not names:
            return ()
        with self._session() as session:
            pending = self.reader.begin(_whole(names), session)
            return self.documents(lambda: records(names, self.reader.snapshots(pending)))

    @contextmanager
    def _session(self) -> Iterator[Session | None]:
        """Open a session of the executor that is open, if one is: none is started for a snapshot."""
        session = None
        if self._engine.name is not None:
            with suppress(GlacierbaseError):
                session = self._engine.executor.open_session()
        with closing(session) if session else nullcontext():
            yield session

    def documents(self, records: Callable[[], Sequence[TableRecord]]) -> Documents:
        """Make records and return their documents; none after a defect."""
        try:
            made = records()
            self._add(made)
            return tuple(map(to_document, made))
        except Exception as error:  # A record is evidence; it stops no run.
            logger.warning("the tables of a file were not recorded: %s: %s", type(error).__name__, mask(str(error)))
            return ()

    def attributed(
        self, changes: Sequence[ObservedTable | TableRecord], version: str, *, is_late: bool
    ) -> list[TableRecord]:
        """Return the records of changes, and warn of the changes of other clients. Reads the commits of a table where needed.

        Args:
            version: the version of the file.
            is_late: whether the outcome of the file is recorded after its run.
        """
        observed_tables = [change for change in changes if isinstance(change, ObservedTable)]
        tables = [*observed_tables, *(table.displaced for table in observed_tables if table.displaced)]
        needed = [table for table in tables if table.needs_commits]
        with self._session() if needed else nullcontext() as session:
            pasts = {
                table.after.table: self.reader.commits(table.after.table, table.since, session) for table in needed
            }
        records = []
        for change in changes:
            if isinstance(change, ObservedTable):
                change = change.record(pasts)
            self._warn(change, version, is_late=is_late)
            records.append(change)
        return records

    def _warn(self, record: TableRecord, version: str, *, is_late: bool) -> None:
        """Add a warning for each change in a record that its file did not make."""
        if attribution.has_others(record):
            may_be_lost = is_late or record.table in self._gaps
            is_certain = not may_be_lost and not is_lost(self._history, record)
            before = self._known.get(self._wholes.get(record.table) or record.table)
            if before is None and record.before and not self._last_of(record.before.uuid or ""):
                before = record.before  # What a table had before its first record is no change.
            lines = attribution.lines_of_others(record, before, self._last_of, version, is_certain=is_certain)
            self.warnings += lines

    def known(self, names: Names) -> LastRecords:
        """Return the tables by their last records."""
        tables = {whole or name: (name, whole) for name, whole in names.items()}
        unknown = dict(tables[table] for table in tables.keys() - self._known.keys())
        if unknown:
            shapes = last_shapes(self._history, unknown)
            self._known |= {whole or name: shapes[name] for name, whole in unknown.items()}
        known = {table: self._known[table] for table in tables}
        # The last record of a name may be of a table that has another name since.
        named = {table: shape if shape and shape.table == table else None for table, shape in known.items()}
        return LastRecords(
            {table: named[table] if tables[table][1] else known[table] for table in tables}, self._last_of
        )

    def _last_of(self, uuid: str) -> Shape | None:
        """Return the shape of a table by its last record, under whichever name; None where there is none."""
        if uuid not in self._by_uuid:
            self._by_uuid[uuid] = last_shape(self._history, uuid)
        return self._by_uuid[uuid]

    def _add(self, records: Iterable[TableRecord]) -> None:
        """Add records that are appended now to what is known."""
        for record in records:
            if record.unread is None:
                table = self._wholes.get(record.table) or record.table
                self._known |= dict.fromkeys((table, *record.names), record.after)
                shapes = (change.shape for change in record.changes())
                self._by_uuid |= {shape.uuid: shape for shape in shapes if shape and shape.uuid}
            else:
                self._gaps.add(record.table)

    def _names(self, statements: Sequence[FileStatement]) -> Names:
        """Return the tables that statements change or may change; none where the catalog file turns the record off."""
        if not self._catalog.records_tables:
            return {}
        changed = changed_tables(statements)
        self._wholes |= changed
        return {**changed, **self._dropped_with_namespaces(statements)}

    def _dropped_with_namespaces(self, statements: Sequence[FileStatement]) -> Names:
        """Return the recorded tables that statements such as DROP SCHEMA may drop: no statement names them."""
        namespaces = dropped_namespaces(statements)
        if not namespaces:
            return {}
        mentions = (mention for mentions in self._history.mentions.values() for mention in mentions)
        recorded = {name for mention in mentions for name in written(mention)} | self._known.keys()
        names = {name: self._wholes.get(name) for name in recorded}
        known = self.known(names).by_name
        tables = {name: shape.table for name, whole in names.items() if (shape := known[whole or name])}
        if self._last:  # Its tables may not be recorded yet.
            tables |= {name: table for name, table in self._last.names.items() if table}
        return {name: table for name, table in sorted(tables.items()) if may_be_within(table, namespaces)}


@dataclass(frozen=True, slots=True)
class LastRecords:
    """Tables by their last records.

    Attributes:
        by_name: by qualified name where that is known, else as files wrote it; None if there is no record, or was no such table.
        by_uuid: returns a table by its UUID, under whichever name it was recorded last.
    """

    by_name: Mapping[str, Shape | None]
    by_uuid: Callable[[str], Shape | None] = lambda _: None

    def of(self, shape: Shape) -> Shape | None:
        """Return the table of a shape by its last record; of one without an id, the table of its name."""
        if shape.uuid and (known := self.by_uuid(shape.uuid)):
            return known
        named = self.by_name.get(shape.table)
        return named if named and None in (named.uuid, shape.uuid) else None


class FileRecord:
    """The record of one file that runs: its snapshots, and what they show.

    Attributes:
        names: the tables of the file.
        pending_after: the snapshots after the file.
    """

    def __init__(
        self, run: TableRecords, compiled: Compiled, names: Names, first: int, session: Session | None,
        tag: Callable[[int], str] | None,
    ) -> None:  # fmt: skip
        self.names = names
        self.pending_after: PendingSnapshots = {}
        self._run = run
        self._label = compiled.migration.label
        self._statements = [named for named in compiled.named if named.statement.index >= first]
        self._session = session
        self._tag = tag
        self._pending_before: PendingSnapshots | None = None
        self._before: Snapshots | None = None

    def begin_before(self, version: TableVersion | None) -> None:
        """Begin the snapshots before the first statement that runs; later calls do nothing.

        Args:
            version: the version of a table that was just read.
        """
        if self._pending_before is None:
            self._pending_before = self._run.before(self.names, self._session, version)

    def wait_before(self) -> None:
        """Complete the snapshots before the first statement: none shows the effect of a statement that starts now."""
        if self._before is None and self._pending_before is not None:
            with suppress(Exception):  # `complete` reports it.
                self._before = self._run.reader.snapshots(self._pending_before)

    def begin_after(self, statements_done: int) -> None:
        """Begin the snapshots after the last statement that ran."""
        self._statements = [named for named in self._statements if named.statement.index <= statements_done]
        self.pending_after = self._run.after(self, self._session)

    def wait_for_session(self) -> None:
        """Wait until no snapshot needs the session any more."""
        for pending in (self._pending_before or {}, self.pending_after):
            with suppress(Exception):  # `complete` reports it.
                self._run.reader.wait_for_session(pending)

    def complete(self) -> Documents:
        """Complete the snapshots after the file, and return its records; none after a defect.

        Raises:
            KeyboardInterrupt: another call returns at once.
        """
        return self._run.documents(self._records)

    def _records(self) -> Sequence[TableRecord]:
        run = self._run
        after = run.reader.snapshots(self.pending_after)
        # Without a statement that was left to run, nothing lies between.
        before = after if self._pending_before is None else self._before
        if before is None:
            before = run.reader.snapshots(self._pending_before or {})
        tag = self._tag
        proof = (lambda statement: tag_uuid(tag(statement.statement.index))) if tag else None
        known, find, created = run.known(self.names), run.reader.renamed, run.reader.created
        changes = observed(self.names, known, before, after, self._statements, proof, find, created)
        return run.attributed(changes, self._label, is_late=False)


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """A table around the statements of a file that ran.

    Attributes:
        name: as the history records it.
        table: its qualified name.
        ended: what became of other tables that had the name, in order.
        known: the table by its last record; None where there is none, or was no table.
        before: the table before the statements, under the name that it had then; None where there was none.
        after: its shape after them.
        is_named: whether it has its name by the statements, or had it before.
        own_name: its name before another client renamed it; or before the statements did, if another client made it meanwhile.
        statements: those that ran, as they change it.
        proofs: the UUIDs in the names of the metadata files that the statements wrote; None where the names prove nothing.
        predecessor: the table whose log it continues: Delta's REPLACE makes another table with the same log.
        displaced: the table that had the name before, and that another client has renamed, so that a statement could make this one.
    """

    name: str
    table: str
    ended: tuple[RecordedChange, ...]
    known: Shape | None
    before: Shape | None
    after: Shape
    is_named: bool
    own_name: str
    statements: Sequence[TableStatement]
    proofs: frozenset[str] | None
    predecessor: Shape | None = None
    displaced: ObservedTable | None = None

    @property
    def is_changed_before(self) -> bool:
        """Whether the table was changed between its last record and the file."""
        return differ(self.known, self.before)

    @property
    def is_explained(self) -> bool:
        """Whether the statements explain every difference, and as many commits."""
        return attribution.is_explained(self.before, self._unrenamed, self.statements, self.proofs, self.predecessor)

    @property
    def _unrenamed(self) -> Shape:
        """The table after the statements without the rename by another client, or of a table that another client made."""
        return replace(self.after, table=self.own_name)

    @property
    def needs_commits(self) -> bool:
        """Whether the commits of the table may show more than its shapes."""
        return not (self.is_explained and self._known_before is None)

    @property
    def since(self) -> str | None:
        """The location of the metadata after which commits are needed."""
        start = self._known_before or self.before
        return start.metadata_location if start else None

    @property
    def _known_before(self) -> Shape | None:
        """The last record, if the table was changed between that and the file."""
        return self.known if self.is_changed_before else None

    def record(self, pasts: Mapping[str, Past | None]) -> TableRecord:
        """Return the record.

        Args:
            pasts: by the name of a table, its commits since `since`, where they are needed and known.
        """
        before = (self.before, True) if self.is_changed_before else (None, False)
        past, displaced = pasts.get(self.after.table), self.displaced
        others = displaced._meanwhile(pasts.get(displaced.after.table)) if displaced else ()
        steps = (*self._outside(past), *self.ended, *others, *self._meanwhile(past))
        return TableRecord(self.name, self.after, *before, steps=steps)

    def _outside(self, past: Past | None) -> tuple[RecordedChange, ...]:
        if self._known_before is None or self.before is None:
            return ()
        commits = attribution.commits(past, self._known_before, self.before)
        return attribution.made_outside(self._known_before, commits)

    def _meanwhile(self, past: Past | None) -> tuple[RecordedChange, ...]:
        steps: tuple[RecordedChange, ...] = ()
        if not self.is_explained:
            commits = attribution.commits(past, self.before, self._unrenamed)
            steps = attribution.made_meanwhile(self.before, self._unrenamed, self.statements, commits, self.proofs)
        if self.is_named:
            return steps
        own = RecordedChange(self._unrenamed, ChangeOrigin.MIGRATION)
        return (*steps, own, RecordedChange(self.after, ChangeOrigin.DURING))


def observed(
    names: Names,
    known: LastRecords,
    before: Snapshots,
    after: Snapshots,
    statements: Sequence[FileStatement],
    proof: Callable[[FileStatement], str] | None = None,
    find: Callable[[Shape], Shape | None] = lambda _: None,
    created: Callable[[str, frozenset[str]], Shape | None] = lambda *_: None,
) -> list[ObservedTable | TableRecord]:
    """Return what snapshots show of each table; a record where there is nothing to attribute.

    Args:
        known: the last records.
        statements: those that ran between the snapshots.
        proof: returns the UUID in the names of the metadata files that a statement writes; None where the names prove nothing.
        find: returns the shape that a table has now that another client may have renamed; None where it was dropped.
        created: returns the table that the statements have created under a name, where another client has renamed it.
    """
    observation = _Observation(known, before, after, statements, proof, find, created)
    changes: dict[str, ObservedTable | TableRecord] = {}
    for name, table in names.items():
        if table is None:
            changes[name] = TableRecord(name, unread=_DEPENDS)
        elif unread := observation.why_unread(table):
            changes[name] = TableRecord(name, unread=unread)
        elif any(names[other] == table for other in changes):
            changes[name] = TableRecord(name, observation.are[table])  # The file has written another name of it before.
        else:
            changes[name] = observation.of(name, table)
    return list(changes.values())


class _Observation:
    """The tables around the statements of a file, by qualified name.

    Attributes:
        are: after the statements; a table that another client has renamed again has the name that they gave it.
    """

    def __init__(
        self, known: LastRecords, before: Snapshots, after: Snapshots, statements: Sequence[FileStatement],
        proof: Callable[[FileStatement], str] | None, find: Callable[[Shape], Shape | None],
        created: Callable[[str, frozenset[str]], Shape | None],
    ) -> None:  # fmt: skip
        """Args: as for `observed`."""
        self._known, self._before, self._after, self._statements = known, before, after, statements
        self._proof, self._find, self._created = proof, find, created
        self._proofs = frozenset(map(proof, statements)) if proof else None
        self._sources = origins(statements)
        ids = TableIds(known.by_name, self._sources)
        self._were = {table: ids.before(table, snapshot.shape) for table, snapshot in before.items()}
        self.are = {table: ids.after(table, snapshot.shape) for table, snapshot in after.items()}
        self._present = _ids(self._were) | _ids(self.are)
        renames = [named.names for named in statements if named.parsed.operation == "rename_table"]
        self._renamed, self._moved = {names[-1][1] for names in renames}, {names[0][1] for names in renames}
        for table, source in self._sources.items():
            was = self._were.get(source or "")
            if was and table in self._renamed and table in self.are and _ends(was, self.are[table], _ids(self.are)):
                self.are[table] = self.are[table] or find(was)

    def why_unread(self, table: str) -> str | None:
        """Return why nothing can be attributed of a table; None where it was read."""
        if unread := self._after[table].unread or self._before[table].unread:
            return unread
        shows_less = _shows_less(self._known.by_name[table], self._were[table], self.are[table])
        return _LESS if shows_less else None

    def of(self, name: str, table: str) -> ObservedTable | TableRecord:
        """Return what the snapshots show of a table, by its name as the history records it and its qualified name."""
        was, now, statements = self._were[table], self.are[table], self._statements
        ended, elsewhere, displaced = self._former(name, table)
        shape = now or elsewhere
        if shape is None and self._proof and (made := statements_on(table, statements)):
            shape = self._created(table, frozenset(self._proof(statement.statement) for statement in made))
        if shape is None:
            return TableRecord(name, steps=ended, whole=table)
        last, named = self._known.of(shape), statements_on(table if now else renamed_to(table, statements), statements)
        # Another client may have renamed a table to this name, or this one to another name.
        origin = _same_table(shape, self._were.values()) or (last if shape.uuid else was)
        is_given = origin is None or origin.table == table or table in self._renamed
        is_named = shape.table == table and (is_given or any(statement.may_be_all for statement in named))
        if is_named:
            own_name = self._made_as(table, shape, named) if origin is None else table
        else:
            own_name = origin.table if origin and shape.table == table else table
        predecessor = was if origin is None and was and shape.format == DELTA.name else None
        return ObservedTable(
            name, table, ended, last, origin, shape, is_named, own_name, named, self._proofs, predecessor, displaced
        )

    def _former(self, name: str, table: str) -> tuple[tuple[RecordedChange, ...], Shape | None, ObservedTable | None]:
        """Return what became of the tables that had a name.

        These are the changes that ended them; the table itself, if another client has renamed it and no other one has the name;
        and what the snapshots show of it, if another one has the name.
        """
        recorded, was, now = self._known.by_name[table], self._were[table], self.are[table]
        ended: list[RecordedChange] = []
        if recorded and _ends(recorded, was, self._present):
            ended.append(RecordedChange(self._find(recorded), ChangeOrigin.OUTSIDE))
        if not was or not _ends(was, now, _ids(self.are)):
            return tuple(ended), None, None
        is_own = ends(was, self._statements)
        renamed = None if is_own and (now or table not in self._moved) else self._find(was)
        if renamed and not now:
            return tuple(ended), renamed, None
        if differ(self._known.of(was), was):
            ended.append(RecordedChange(was, ChangeOrigin.OUTSIDE))
        if renamed:
            about = statements_naming(table, self._statements)
            displaced = ObservedTable(name, table, (), was, was, renamed, False, table, about, self._proofs)
            return tuple(ended), None, displaced
        return (*ended, RecordedChange(None, ChangeOrigin.MIGRATION if is_own else ChangeOrigin.DURING)), None, None

    def _made_as(self, table: str, shape: Shape, statements: Sequence[TableStatement]) -> str:
        """Return the name under which a new table was made, if another client may have made it; else the one that it has."""
        # REPLACE keeps a table that another client has made; CREATE leaves its name to one if that drops the new table.
        kinds = ["replace_table"]
        if self._proofs is not None and not attribution.is_created(shape, self._proofs):
            kinds += ["create_table", "create_table_as"]
        first = next((first.name for first in statements[:1] if first.statement.parsed.operation in kinds), None)
        source = self._sources.get(table) or first
        return source if source and _is_at(shape, source) else table


def _is_at(shape: Shape, table: str) -> bool:
    """Return whether the metadata of a table is where a catalog puts that of a new table with this name."""
    *_, folder, _, _ = ("", "", "", *(shape.metadata_location or "").split("/"))
    return folder == name_parts(table)[-1]


def _ids(shapes: Mapping[str, Shape | None]) -> frozenset[str]:
    return frozenset(shape.uuid for shape in shapes.values() if shape and shape.uuid)


def _ends(shape: Shape, later: Shape | None, present: frozenset[str]) -> bool:
    """Return whether a table has lost its name to another one, or to none, and no name of the file has it."""
    if shape.uuid in present:
        return False
    return later is None or (None not in (shape.uuid, later.uuid) and shape.uuid != later.uuid)


def baseline_records(
    names: Names,
    known: Mapping[str, Shape | None],
    after: Snapshots,
    files: Sequence[Compiled],
) -> Iterator[TableRecord]:
    """Yield the record of each table for the last of the files, which did not run here.

    Args:
        known: the last records, by qualified name.
    """
    statements = [statement for file in files for statement in file.named]
    versions = {id(statement): file.migration.version for file in files for statement in file.named}
    ids = TableIds(known, {})
    for name, table in names.items():
        if table is None or after[table].unread:
            yield TableRecord(name, unread=after[table].unread if table else _DEPENDS)
        else:
            shape = ids.after(table, after[table].shape)
            named = groupby(statements_on(table, statements), lambda statement: versions[id(statement.statement)])
            about = [(version, list(made)) for version, made in named]
            steps = attribution.made_before_baseline(known[table], shape, about) if shape and about else ()
            yield TableRecord(name, shape, steps=steps, whole="" if shape else table)


class TableIds:
    """Ids for tables whose format has none, such as those of Snowflake and Hudi.

    They distinguish a renamed table from a dropped one, and a new table from the one that had its name before. The statements
    that ran determine which table has a name; otherwise a table of the same name and format is the same table.
    """

    def __init__(self, known: Mapping[str, Shape | None], origins: Mapping[str, str | None]) -> None:
        """Args:
        known: the last records of the tables.
        origins: the names of tables before the statements that ran, as the function `origins` returns them.
        """
        self._known = known
        self._origins = origins
        self._ids: dict[tuple[str, str], str | None] = {}

    def before(self, table: str, shape: Shape | None) -> Shape | None:
        """Return the shape that a table had before the statements, with an id."""
        return replace(shape, uuid=self._id(table, shape.format)) if shape and _lacks_id(shape) else shape

    def after(self, table: str, shape: Shape | None) -> Shape | None:
        """Return the shape that a table has after the statements, with an id."""
        if shape is None or not _lacks_id(shape):
            return shape
        origin = self._origins.get(table, table)
        return replace(shape, uuid=str(uuid.uuid4()) if origin is None else self._id(origin, shape.format))

    def _id(self, table: str, table_format: str) -> str | None:
        """Return the id of the table that had the name before the statements; None where it is recorded without one."""
        if (table, table_format) not in self._ids:
            known = self._known.get(table)
            new = str(uuid.uuid4())
            self._ids[table, table_format] = known.uuid if known and known.format == table_format else new
        return self._ids[table, table_format]


def _lacks_id(shape: Shape) -> bool:
    return shape.uuid is None and shape.format != _HAS_IDS


def _whole(names: Names) -> list[str]:
    """Return the tables whose qualified names are certain, each once."""
    return list(dict.fromkeys(table for table in names.values() if table is not None))


def _same_table(shape: Shape | None, shapes: Iterable[Shape | None]) -> Shape | None:
    """Return the shape with the same table id, possibly under another name; None without an id."""
    same = (other for other in shapes if other and shape and shape.uuid and other.uuid == shape.uuid)
    return next(same, None)


def _shows_less(known: Shape | None, before: Shape | None, after: Shape | None) -> bool:
    """Return whether an Iceberg table was read through its engine in one snapshot and from its metadata in another.

    The shape from the engine has no ids, so a comparison would report a change that nobody made.
    """
    has_ids = (bool(shape.uuid) if shape and shape.format == "iceberg" else None for shape in (known, before, after))
    earlier, *now = has_ids
    return False in now and True in (earlier, *now)


def changed_tables(statements: Iterable[FileStatement]) -> Mapping[str, str | None]:
    """Return the tables that the statements change or may change, as the history records their names.

    The value is the qualified name of the table; None where it is not certain, such as after a USE of a computed name. Views, and
    tables that end with their session, are left out.
    """
    tables: dict[str, str | None] = {}
    temporary: set[str] = set()
    for statement in statements:
        kind = statement.parsed.options.kind
        if kind and not kind.endswith("table"):
            continue
        for name, whole in statement.names:
            tables.setdefault(name, whole)
            if statement.parsed.options.temporary:
                temporary.add(name)
    return {name: whole for name, whole in tables.items() if name not in temporary}


def dropped_namespaces(statements: Sequence[FileStatement]) -> tuple[tuple[str, ...], ...]:
    """Return the names of the namespaces that the statements drop, or replace by empty ones."""
    parts = (part for statement in statements for part in statement.parsed.parts)
    return tuple(part.name for part in parts if isinstance(part, DroppedNamespace))


def may_be_within(table: str, namespaces: Sequence[Sequence[str]]) -> bool:
    """Return whether a table may be in one of the namespaces, by its qualified name. Their first parts may be left out."""
    return any(_folded(namespace) in _folded(name_parts(table)[:-1]) for namespace in namespaces)


def _folded(parts: Sequence[str]) -> str:
    """Return the parts of a name as one text, which contains the text of each run of its parts."""
    return "".join(f"\0{part.casefold()}\0" for part in parts)


def origins(statements: Iterable[FileStatement]) -> Mapping[str, str | None]:
    """Return for names the name that their table had before the statements; None where the statements made it.

    Names are whole where that is certain. A name that no statement gives to another table is left out.
    """
    by_name: dict[str, str | None] = {}
    for statement in statements:
        names = [whole or name for name, whole in statement.names]
        if statement.parsed.operation == "rename_table" and len(names) == 2:
            old, new = names
            by_name[new] = by_name.pop(old, old)
        elif _ends_or_begins(statement.parsed):
            by_name |= dict.fromkeys(names)
    return by_name


def _ends_or_begins(statement: ParsedStatement) -> bool:
    """Return whether a table that has the name after the statement did not exist before it."""
    if statement.operation in ("create_table", "create_table_as"):
        return not statement.options.if_not_exists and not statement.options.or_alter
    return statement.operation in ("replace_table", "drop_table")
