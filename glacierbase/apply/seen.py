"""What a run sees of the tables that its files touch: their shapes, for the record in the history.

The looks run in threads beside the appends and are bounded in time. They never fail a run: a table that cannot be read is
recorded as such. `docs/how/history.md` describes what is recorded, and when.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from glacierbase.apply import attribution
from glacierbase.apply.holding import LockedCatalog
from glacierbase.apply.table_ids import TableIds, origins
from glacierbase.apply.touched import claims_on, dropped_namespaces, may_be_within, touched_tables
from glacierbase.errors import GlacierbaseError
from glacierbase.executors import Session
from glacierbase.history.entries import Entry
from glacierbase.history.mentions import written
from glacierbase.history.shapes import Step, TableRecord, as_recorded, last_shapes, to_document
from glacierbase.history.timeline import differ, is_lost
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.migration import EventType
from glacierbase.model.shape import Shape
from glacierbase.model.tableversion import TableVersion
from glacierbase.run.waiting import Caller, NoAnswer, result
from glacierbase.secrets import mask
from glacierbase.sql.file import Named
from glacierbase.sql.qualified import qualified
from glacierbase.stores.iceberg.past import Past
from glacierbase.stores.shapes import TableShapes

logger = logging.getLogger("glacierbase")

T = TypeVar("T")

# How long a run waits for the looks that begin together, and for how long after a signal.
LOOK_SECONDS, CANCELLED_SECONDS = 30.0, 2.0
# Tables that are read at the same time; each thread has connections of its own.
_THREADS = 4
_DEPENDS = "its name depends on another statement of the file, such as USE"
_LESS = "less of it could be read than before"


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at one table, which may not have been answered yet."""

    answer: Future[Shape | None]
    deadline: float
    needs_session: bool = False


class TablesSeen:
    """The looks of one run on one catalog, and what its history says of the tables.

    After one look without an answer there is no other: a catalog that hangs delays a run once.
    """

    def __init__(self, held: LockedCatalog) -> None:
        self._held = held
        self._catalog = held.target.catalog
        self.dialect = self._catalog.dialect
        self._known: dict[str, Shape | None] = {}
        self._wholes: dict[str, str | None] = {}
        self._threads: list[tuple[Caller, TableShapes]] = []
        self._hangs = False
        self._settled: set[str] = set()
        # Whether a file of this run has left no record of a table, or of some.
        self._gaps: set[str] = set()
        # What this run records of changes that it did not make, a line each.
        self.found: list[str] = []
        # The looks after the last file, which are those before the next one.
        self.newest: Mapping[str, _Look] = {}
        held.engine.at_close(self._close)

    def of_file(self, compiled: Compiled, first: int, session: Session | None) -> FileLooks:
        """Return the looks at the tables of a file, none begun.

        Args:
            first: the index of the first statement that runs.
            session: in which the file runs; without one, only tables that PyIceberg reads are read.
        """
        runs = [each for each in compiled.named if each.statement.index >= first]
        return FileLooks(self, self._touched(compiled.named), session, runs)

    def settled(self, entry: Entry, statements: Sequence[Named], *, files: Sequence[Compiled] = ()) -> Entry:
        """Return the entry of a file whose outcome is recorded after its run, with its tables as they are now.

        A table is recorded with the first of several entries only: call it with the newest file first.

        Args:
            files: those that are recorded as a baseline, up to this one: each part of a table is that of the last of them which is
                about it. Without them, what changed since the last record is one that another one may have made.
        """
        touched = self._touched(statements)
        tables = {name: table for name, table in touched.items() if name not in self._settled}
        self._settled |= tables.keys()
        if not tables:
            return entry
        with self._session() as session:
            documents = FileLooks(self, tables, session).now(files)
        return replace(entry, details=replace(entry.details, tables=documents))

    @contextmanager
    def _session(self) -> Iterator[Session | None]:
        """Open a session if the engine is open: none is started for a look."""
        session = None
        if self._held.engine.name is not None:
            with suppress(GlacierbaseError):
                session = self._held.engine.start().open_session()
        with closing(session) if session else nullcontext():
            yield session

    def _touched(self, statements: Sequence[Named]) -> Mapping[str, str | None]:
        if not self._catalog.records_tables:
            return {}
        touched = touched_tables(statements)
        self._wholes |= touched
        return {**touched, **self._dropped_with_namespaces(statements)}

    def _dropped_with_namespaces(self, statements: Sequence[Named]) -> Mapping[str, str]:
        """Return the recorded tables that statements such as DROP SCHEMA may drop: no statement names them."""
        namespaces = dropped_namespaces(statements)
        if not namespaces:
            return {}
        mentions = self._held.state.history.mentions.values()
        names = {name for found in mentions for each in found for name in written(each)} | self._known.keys()
        tables = {name: each.table for name, each in self.known(names).items() if each}
        tables |= {name: qualified(self._catalog, name) for name in self.newest}  # Of the last file, not recorded yet.
        return {name: table for name, table in sorted(tables.items()) if may_be_within(table, namespaces)}

    def begin(self, tables: Mapping[str, str | None], session: Session | None) -> dict[str, _Look]:
        """Begin a look at each table, however many names it has; names that are not whole are left out."""
        deadline = time.monotonic() + LOOK_SECONDS
        whole = {name: each for name, each in tables.items() if each is not None}
        begun = {
            table: self._begin(number % _THREADS, table, session, deadline)
            for number, table in enumerate(dict.fromkeys(whole.values()))
        }
        return {name: begun[table] for name, table in whole.items()}

    def _begin(self, number: int, table: str, session: Session | None, deadline: float) -> _Look:
        try:
            if self._hangs:
                raise NoAnswer
            return self._submitted(number, table, session, deadline)
        except Exception as error:  # Such as a machine that refuses a thread.
            answer: Future[Shape | None] = Future()
            answer.set_exception(error)
            return _Look(answer, deadline)

    def _submitted(self, number: int, table: str, session: Session | None, deadline: float) -> _Look:
        if number == len(self._threads):
            self._threads.append((Caller(), TableShapes(self._catalog)))
        caller, shapes = self._threads[number]
        if not shapes.may_need_engine(table):
            return _Look(caller.submit(lambda: _looked(lambda: shapes.read(table))), deadline)
        return _Look(caller.submit(lambda: _looked(lambda: shapes.read(table, session))), deadline, needs_session=True)

    def answer(self, look: _Look) -> Shape | None:
        """Wait for a look, and return its shape as the history records it, or raise its error.

        Raises:
            NoAnswer: there was none in time.
        """
        seconds = 0 if self._hangs else look.deadline - time.monotonic()
        try:
            shape = result(look.answer, seconds, self._held.engine.cancelled, CANCELLED_SECONDS)
        except (NoAnswer, KeyboardInterrupt):
            self._hangs = True
            raise
        return as_recorded(shape) if shape else None

    def past(self, table: str, since: str | None) -> Past | None:
        """Return the commits of a table since one, by its metadata; None where nothing tells."""
        if self._hangs or not self._threads:
            return None
        caller, shapes = self._threads[0]
        try:
            found = caller.submit(lambda: _looked(lambda: shapes.past(table, since)))
            return result(found, LOOK_SECONDS, self._held.engine.cancelled, CANCELLED_SECONDS)
        except Exception as error:
            self._hangs = self._hangs or isinstance(error, NoAnswer)
            logger.debug("the commits of %s could not be read: %s", table, mask(str(error)))
            return None

    def wait(self, looks: Iterable[_Look]) -> None:
        """Wait for looks, whatever comes of them."""
        for look in looks:
            with suppress(Exception):
                self.answer(look)

    def known(self, names: Iterable[str]) -> Mapping[str, Shape | None]:
        """Return the shapes of tables by the last record of each; None where there is none, or was no table."""
        wholes = {name: self._whole(name) for name in names}
        if unknown := {name: self._wholes.get(name) for name, whole in wholes.items() if whole not in self._known}:
            found = last_shapes(self._held.state.history, unknown)
            self._known |= {wholes[name]: shape for name, shape in found.items()}
        return {name: self._known[whole] for name, whole in wholes.items()}

    def _whole(self, name: str) -> str:
        """Return the whole name of a table as far as it is known: files may write it in several ways."""
        return self._wholes.get(name) or name

    def recorded(self, records: Iterable[TableRecord]) -> None:
        """Remember records that are appended now."""
        for each in records:
            if each.unread is None:
                self._known |= dict.fromkeys((self._whole(each.table), *each.names), each.after)
        self._gaps |= {each.table for each in records if each.unread is not None}

    def tell(self, record: TableRecord, before: Shape | None, version: str, *, is_late: bool) -> None:
        """Add to what was found the changes in a record that its file did not make.

        Args:
            before: the table by the last record.
            is_late: whether the outcome of the file is settled after its run.
        """
        if attribution.has_others(record):
            may_be_lost = is_late or record.table in self._gaps
            is_certain = not may_be_lost and not is_lost(self._held.state.history, record)
            self.found += attribution.told(record, before, version, is_certain=is_certain)

    def _close(self) -> None:
        for caller, shapes in self._threads:
            caller.end()
            shapes.close()


class FileLooks:
    """The looks at the tables of one file: before its first statement, and after its last."""

    def __init__(
        self, seen: TablesSeen, tables: Mapping[str, str | None], session: Session | None, runs: Sequence[Named] = ()
    ) -> None:  # fmt: skip
        self._seen = seen
        self._tables = tables
        self._session = session
        self._runs = runs
        self._version = ""
        self._ids = TableIds(lambda name: seen.known([*tables, name])[name])
        self._before: dict[str, _Look] = {}
        self._after: dict[str, _Look] = {}
        self._has_begun = False
        self._is_late = False

    def begin(self, version: TableVersion | None) -> None:
        """Begin the looks before the first statement, unless that was done before.

        Args:
            version: of a table that was just read.
        """
        if self._has_begun:
            return
        self._has_begun = True
        newest = {name: look for name, look in self._seen.newest.items() if name in self._tables}
        read = self._read(version)
        left = {name: table for name, table in self._tables.items() if name not in newest and name not in read}
        self._before = self._seen.begin(left, self._session) | read | newest

    def _read(self, version: TableVersion | None) -> dict[str, _Look]:
        table = self._tables.get(version.table) if version else None
        if version is None or version.shape is None or table is None:
            return {}
        answer: Future[Shape | None] = Future()
        answer.set_result(replace(version.shape, table=table))
        return {version.table: _Look(answer, 0)}

    def wait(self) -> None:
        """Wait until no look can see the effect of a statement that starts now."""
        self._seen.wait(self._before.values())

    def ended(self, entry: Entry) -> Entry:
        """Begin the looks after the last statement that ran. Return the entry of its outcome, with what they show once it is
        appended."""
        self._after = self._seen.begin(self._tables, self._session)
        self._seen.newest = self._after
        done = (entry.statement_index or 0) - (entry.event is EventType.FAILED)
        self._runs = [each for each in self._runs if each.statement.index <= done]
        self._version = entry.file.version if entry.file else ""
        self._ids.origins = cache(lambda: origins(self._runs))
        if not self._has_begun:  # No statement was left to run.
            self._before = self._after
        # Once: after it, what the file did is what the last record says.
        return replace(entry, tables_seen=cache(self._documents))

    def wait_for_session(self) -> None:
        """Wait until no look needs the session any more."""
        self._seen.wait(look for look in self._after.values() if look.needs_session)

    def now(self, files: Sequence[Compiled]) -> tuple[Mapping[str, object], ...]:
        """Return the records of the tables as they are now, as `TablesSeen.settled` describes it."""
        self._is_late = True
        self._after = self._seen.begin(self._tables, self._session)
        self._before = {} if files else self._after
        return self._documents(files)

    def _documents(self, files: Sequence[Compiled] = ()) -> tuple[Mapping[str, object], ...]:
        try:
            records: list[TableRecord] = []
            for name in self._tables:
                records.append(self._record(name, files, records))
            self._seen.recorded(records)
            return tuple(map(to_document, records))
        except Exception as error:  # A record is evidence; it stops no run.
            logger.warning("the tables of a file were not recorded: %s: %s", type(error).__name__, mask(str(error)))
            return ()

    def _record(self, name: str, files: Sequence[Compiled], others: Sequence[TableRecord]) -> TableRecord:
        if name not in self._after:
            return TableRecord(name, unread=_DEPENDS)
        # The file has written another name of the table before: the record of that name tells what it was.
        first = next((each for each in others if self._tables[each.table] == self._tables[name]), None)
        if first is not None and first.unread is not None:
            return TableRecord(name, unread=first.unread)
        known = self._seen.known(self._tables)[name]
        try:
            after = self._ids.after(name, self._seen.answer(self._after[name]))
            if name not in self._before or first is not None:
                steps = self._steps_of_baseline(name, known, after, files) if files and after else ()
                return TableRecord(name, after, steps=steps)
            before = self._ids.before(name, self._seen.answer(self._before[name]))
        except NoAnswer:
            return TableRecord(name, unread=f"no answer within {LOOK_SECONDS:.0f} s")
        except GlacierbaseError as error:
            return TableRecord(name, unread=error.message)
        if _shows_less(known, before, after):
            return TableRecord(name, unread=_LESS)
        was = self._renamed(after) or before
        found = TableRecord(name, after, before, True) if differ(known, before) else TableRecord(name, after)
        found = replace(found, steps=self._steps(name, known, was, found))
        self._seen.tell(found, known or was, self._version, is_late=self._is_late)
        return found

    def _steps(self, name: str, known: Shape | None, before: Shape | None, found: TableRecord) -> tuple[Step, ...]:
        """Return the changes that others made, as far as they can be told from those of the file."""
        after, claims = found.after, claims_on(self._tables[name], self._runs, self._seen.dialect)
        is_explained = attribution.is_explained(before, after, claims)
        if is_explained and not (found.is_changed and known):
            return ()
        start = known if found.is_changed and known else before
        past = (
            self._seen.past(self._tables[name] or name, start.metadata_location if start else None) if after else None
        )
        steps: tuple[Step, ...] = ()
        if found.is_changed and known and before:
            steps = attribution.made_outside(known, attribution.commits(past, known, before))
        if is_explained:
            return steps
        meanwhile = attribution.commits(past, before, after) if after else None
        return (*steps, *attribution.made_meanwhile(before, after, claims, meanwhile))

    def _steps_of_baseline(
        self, name: str, known: Shape | None, after: Shape, files: Sequence[Compiled]
    ) -> tuple[Step, ...]:
        every = [each for file in files for each in file.named]
        claims = [
            (file.migration.version, claims_on(self._tables[name], file.named, self._seen.dialect, every))
            for file in files
        ]
        return attribution.made_before_baseline(known, after, [each for each in claims if each[1].are_any])

    def _renamed(self, after: Shape | None) -> Shape | None:
        """Return what a table was before the file, maybe under another name; None without an id or a look."""
        for name, look in self._before.items() if after and after.uuid else ():
            with suppress(Exception):
                shape = self._ids.before(name, self._seen.answer(look))
                if shape and after and shape.uuid == after.uuid:
                    return shape
        return None


def _looked(look: Callable[[], T]) -> T:
    """Return what a look returns. A panic of a native library, which is no `Exception`, is raised as one."""
    try:
        return look()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _shows_less(known: Shape | None, before: Shape | None, after: Shape | None) -> bool:
    """Return whether a table of Iceberg was read by its engine alone although its metadata was read at other times.

    Its shape has no ids then, which is no change of the table.
    """
    earlier, *now = (bool(each.uuid) if each and each.format == "iceberg" else None for each in (known, before, after))
    return False in now and True in (earlier, *now)
