"""The port to the history and lock tables: two tables per catalog, one append and one compare-and-set.

A store decides nothing: `glacierbase.history.records` defines the meaning of an event, `glacierbase.apply.lock` who may take the
lock. Every implementation passes `tests/engines/contract/`.

- `choice`: choose the store of a catalog, and open it.
- `sql`: through the SQL of an executor.
- `iceberg/`: through PyIceberg, without an engine.
- `dynamodb/`: in a table of DynamoDB, without an engine.
- `tables`: names, columns and properties of the two tables; checks that they are readable.
- `origin`: the catalog to which the two tables belong, without which no file of them is deleted.
- `bounded`: a store whose calls end within a time limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from glacierbase.executors.engine import Engine
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class LockRow:
    """The one row of a catalog's lock table.

    Attributes:
        owner: id of the run that holds the lock, empty when it is free.
        fence: grows by at least one with every acquisition; a run with a lower one has lost the lock.
        beat: grows by one with every renewal.
        head_fence, head_sequence: the last event that the history acknowledged; a history that ends before it is incomplete.
        holder: JSON, the lock holder (`glacierbase.run.run.Run.holder`).
    """

    catalog: str
    environment: str
    owner: str
    fence: int
    beat: int
    acquired_at: datetime | None
    expires_at: datetime | None
    head_fence: int
    head_sequence: int
    holder: str | None
    format_version: int

    @property
    def claim(self) -> tuple[str, int, int]:
        """The values that a compare-and-set compares."""
        return (self.owner, self.fence, self.beat)


class Store(Protocol):
    """History and lock of one catalog. Every read is uncached: it returns what was committed before it began.

    All methods but `now` raise `EngineError` where the tables cannot be read or written.

    Attributes:
        proves_by_lease: whether a lease renewed in time proves the lock, because a read is as slow as a statement.
        has_clock: whether `now` is the time of a server that all runs share.
        compacts_every: the number of events after which a compaction saves more than it costs. Each event is a file to read.
    """

    compacts_every: int

    @property
    def proves_by_lease(self) -> bool: ...

    @property
    def has_clock(self) -> bool: ...

    def now(self) -> datetime:
        """Return the time of the lease clock: the server's if all runs share one and the lock was read, else this machine's."""

    def read_history(self) -> tuple[Event, ...]:
        """Return all events; none if there is no history table."""

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        """Return the events of the other catalogs in the same namespace, by catalog name."""

    def read_lock(self) -> LockRow | None:
        """Return the lock's row; None if there is no lock table, or no row in it.

        Raises:
            NeedsRepair: the table holds several rows, or one that lacks a value.
        """

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        """Return what `read_lock` and then `read_history` return: the history holds at least what the row acknowledges."""

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        """Return the rows of the lock table, unchecked, or None if there is no lock table."""

    def other_catalog(self) -> str | None:
        """Return the catalog in which history or lock was made, if that is another one: it may need the same files.

        Where a read of a table shows its properties, it is that of the tables which this store has read.

        Until `own_files` was called, no file of the tables is then deleted, whatever is written or compacted.
        """

    def own_files(self) -> None:
        """Let history and lock share no file with tables of other catalogs. No event is lost or changed.

        Called under the lock. Where the files cannot be replaced, none of them is ever deleted.
        """

    def has_namespace(self) -> bool:
        """Return whether the namespace of the tables exists."""

    def create(self, free: LockRow) -> None:
        """Create what is missing: the namespace, the history table, the lock table, and the row `free` of a new lock table.

        Several first runs may call this at the same time: afterwards both tables exist once, the lock with one row. A call
        completes what an earlier one left incomplete when its process ended.
        """

    def drop(self, *, namespace: bool) -> None:
        """Remove both tables, which this process made, and their files; with `namespace` also the namespace, then empty."""

    def append(self, events: Sequence[Event]) -> None:
        """Append the events in one commit."""

    def compact(self) -> None:
        """Compact both tables, one commit each, and delete the files that only their older snapshots reference.

        Files of tables that belong to another catalog are left: see `other_catalog`.

        Called under the lock. No event is lost or changed, wherever it is interrupted and whatever is written meanwhile.
        """

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        """Replace the row by `new` if its claim is still that of `expected`; return whether the row is `new` now.

        Of several callers with the same `expected`, exactly one gets True.
        """

    def replace_rows(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        """Replace all rows of the lock table by `new` if they are still those in `expected`; return whether `new` is the only row.

        The fence of `new` is above those of all rows. Of several callers with the same `expected`, at least one gets False, unless
        they have the same `new`. Where the engine compares nothing for an INSERT (Snowflake), several may add a row to an empty
        table: no run acquires the lock of a table with several rows.
        """


class Closable(Store, Protocol):
    """A store that holds connections or sessions."""

    def close(self) -> None:
        """Close the connections. Never raises."""


class StoreType:
    """A kind of store, which catalog files name as `store.type`. A package derives a class from this one.

    An entry point of the group `glacierbase.stores` names an object of that class. A store with the name of a package's type of
    engine holds history and lock of that engine's catalogs, unless `store.type` names another store.

    Attributes:
        name: the name of the entry point.
        needs_engine: whether the store works through the engine; else read-only commands run without it.
    """

    name: str
    needs_engine = False

    def open(self, catalog: Catalog, engine: Engine) -> Closable:
        """Open the history and lock of a catalog.

        Args:
            engine: started, if `needs_engine`.

        Raises:
            ConfigurationError, EngineUnavailable, EngineError: the tables cannot be reached.
        """
        raise NotImplementedError

    def ddl(self, catalog: Catalog, free: LockRow) -> str:  # noqa: ARG002 (the port's)
        """Return the SQL or the commands that create the tables and grant the least rights on them; empty without any.

        Args:
            free: the row of the lock.
        """
        return ""
