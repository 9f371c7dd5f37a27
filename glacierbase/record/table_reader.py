"""Snapshots of tables, read in threads and waited for with a time limit.

After a read without an answer, no read begins and no call waits: a catalog that hangs delays a run once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from glacierbase.errors import GlacierbaseError
from glacierbase.executors import Session
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import Past, Shape
from glacierbase.record.live import TableRead, TableShapes
from glacierbase.record.shapes import as_recorded
from glacierbase.run.waiting import Caller, NoAnswer, result
from glacierbase.secrets import mask

logger = logging.getLogger("glacierbase")

T = TypeVar("T")

# How long a run waits for the reads that begin together, and for how long after a signal.
READ_SECONDS, CANCELLED_SECONDS = 30.0, 2.0
# Tables that are read at the same time. Each thread has its own connections.
_THREADS = 4


@dataclass(frozen=True, slots=True)
class PendingSnapshot:
    """A snapshot that is being read.

    Attributes:
        deadline: the reading of the monotonic clock after which it is not waited for.
        needs_session: whether the read may use the session of the file.
    """

    answer: Future[Shape | None]
    deadline: float
    needs_session: bool = False

    @classmethod
    def of(cls, shape: Shape) -> PendingSnapshot:
        """Return the snapshot of a table that was just read."""
        answer: Future[Shape | None] = Future()
        answer.set_result(shape)
        return cls(answer, 0)


# The keys of both are qualified names of tables. The shapes are as the history records them.
Snapshots: TypeAlias = Mapping[str, TableRead]
PendingSnapshots: TypeAlias = Mapping[str, PendingSnapshot]


class TableReader:
    """Reads the tables of one catalog during one run."""

    def __init__(self, catalog: Catalog, cancelled: Callable[[], bool]) -> None:
        self._catalog = catalog
        self._cancelled = cancelled
        self._threads: list[tuple[Caller, TableShapes]] = []
        self._hangs = False

    def begin(self, tables: Iterable[str], session: Session | None) -> dict[str, PendingSnapshot]:
        """Begin to read each table once.

        Args:
            tables: qualified names.
            session: a session of the engine; without one, only tables that PyIceberg reads are read.
        """
        deadline = time.monotonic() + READ_SECONDS
        unique = enumerate(dict.fromkeys(tables))
        return {table: self._begin(number % _THREADS, table, session, deadline) for number, table in unique}

    def _begin(self, number: int, table: str, session: Session | None, deadline: float) -> PendingSnapshot:
        try:
            if self._hangs:
                raise NoAnswer
            return self._submitted(number, table, session, deadline)
        except Exception as error:  # Such as a machine that refuses a thread.
            answer: Future[Shape | None] = Future()
            answer.set_exception(error)
            return PendingSnapshot(answer, deadline)

    def _submitted(self, number: int, table: str, session: Session | None, deadline: float) -> PendingSnapshot:
        if number == len(self._threads):
            self._threads.append((Caller(), TableShapes(self._catalog)))
        caller, shapes = self._threads[number]
        if not shapes.may_need_engine(table):
            return PendingSnapshot(caller.submit(lambda: _guarded(lambda: shapes.read(table))), deadline)
        answer = caller.submit(lambda: _guarded(lambda: shapes.read(table, session)))
        return PendingSnapshot(answer, deadline, needs_session=True)

    def snapshots(self, pending: PendingSnapshots) -> Snapshots:
        """Wait for all of these snapshots, and return them.

        Raises:
            KeyboardInterrupt: no later call waits.
            Exception: the first error that is a defect, such as a panic of a library.
        """
        readings: dict[str, TableRead] = {}
        defects: list[Exception] = []
        for table, snapshot in pending.items():
            try:
                readings[table] = self._snapshot(snapshot)
            except Exception as error:  # The others are waited for: a read may use the session.
                defects.append(error)
        if defects:
            raise defects[0]
        return readings

    def _snapshot(self, pending: PendingSnapshot) -> TableRead:
        try:
            shape = self._result(pending.answer, pending.deadline - time.monotonic())
        except NoAnswer:
            return TableRead(unread=f"no answer within {READ_SECONDS:.0f} s")
        except GlacierbaseError as error:
            return TableRead(unread=error.message)
        return TableRead(as_recorded(shape) if shape else None)

    def wait_for_session(self, pending: PendingSnapshots) -> None:
        """Wait until no read uses the session any more."""
        self.snapshots({table: snapshot for table, snapshot in pending.items() if snapshot.needs_session})

    def renamed(self, table: Shape) -> Shape | None:
        """Return the shape of a table that another client has renamed in its namespace; None where none there has its UUID."""
        return self._beside(table.table, lambda shapes: shapes.renamed(table)) if table.uuid else None

    def created(self, table: str, proofs: frozenset[str]) -> Shape | None:
        """Return the table that statements have created under a name, and that another client has renamed in its namespace.

        Args:
            proofs: the UUIDs in the names of the metadata files that the statements wrote.
        """
        return self._beside(table, lambda shapes: shapes.created(table, proofs))

    def _beside(self, table: str, read: Callable[[TableShapes], Shape | None]) -> Shape | None:
        """Return what a read of the tables in the namespace of a table returns; None where they could not be read."""
        if self._hangs or not self._threads:
            return None
        caller, shapes = self._threads[0]
        try:
            shape = self._result(caller.submit(lambda: _guarded(lambda: read(shapes))), READ_SECONDS)
        except Exception as error:
            logger.debug("the tables beside %s could not be read: %s", table, mask(str(error)))
            return None
        return as_recorded(shape) if shape else None

    def commits(self, table: str, since: str | None, session: Session | None) -> Past | None:
        """Return the commits of a table that its metadata lists; None where it lists none, or could not be read.

        Args:
            since: the location of the metadata after which they are wanted.
            session: as for `begin`.
        """
        if self._hangs or not self._threads:
            return None
        caller, shapes = self._threads[0]
        try:
            return self._result(
                caller.submit(lambda: _guarded(lambda: shapes.past(table, since, session))), READ_SECONDS
            )
        except Exception as error:
            logger.debug("the commits of %s could not be read: %s", table, mask(str(error)))
            return None

    def close(self) -> None:
        """End the threads, and close their connections."""
        for caller, shapes in self._threads:
            caller.end()
            shapes.close()

    def _result(self, answer: Future[T], seconds: float) -> T:
        try:
            return result(answer, 0 if self._hangs else seconds, self._cancelled, CANCELLED_SECONDS)
        except (NoAnswer, KeyboardInterrupt):
            self._hangs = True
            raise


def _guarded(read: Callable[[], T]) -> T:
    """Return what a read returns. A panic of a native library, which is no `Exception`, is raised as one."""
    try:
        return read()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
