"""Read the state of a catalog from its store: history and lock, read together and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from glacierbase.errors import ConfigurationError
from glacierbase.history.lockrow import describe_holder, fence_of, living_fence, overdue_by
from glacierbase.history.records import History, check_environment, check_head, check_renamed, fold
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Event
from glacierbase.stores import FORMAT_VERSION, LockRow, Store


@dataclass(frozen=True, slots=True)
class CatalogState:
    """History and lock of a catalog at one moment, and warnings about them."""

    history: History
    lock: LockRow | None
    warnings: tuple[str, ...]


def current_state(target: CatalogRun) -> CatalogState:
    """Open the store of the target and read its state. Writes nothing."""
    with target.opened() as opened:
        return read_state(opened)


def read_state(opened: OpenCatalog, environment: str | None = None) -> CatalogState:
    """Read lock and history. Where there is no history, check that it is not stored under another name. Writes nothing.

    Args:
        environment: the one that the history must belong to; default the catalog's.
    """
    target, store = opened.target, opened.store
    row, events = store.read_lock_and_history()
    state = _checked(target.catalog, store, row, events, environment)
    while state.history.fence > fence_of(state.lock):
        # The newest run took the lock after the row was read, and may still hold it: its open statement is not unknown.
        row = store.read_lock()
        if fence_of(row) == fence_of(state.lock):
            break
        state = read_history(target.catalog, store, row, environment)
    if not state.history.events:
        _check_other_histories(target, store)
    return state


def read_history(catalog: Catalog, store: Store, row: LockRow | None, environment: str | None = None) -> CatalogState:
    """Read and check the history. It is read after the row, so it holds at least the events that the row acknowledges.

    Args:
        environment: the one that the history must belong to; default the catalog's.
    """
    return _checked(catalog, store, row, store.read_history(), environment)


def _checked(
    catalog: Catalog, store: Store, row: LockRow | None, events: Sequence[Event], environment: str | None
) -> CatalogState:
    _check_format(catalog, row)
    history = fold(events, living_fence(row, catalog.store.lease_seconds, store))
    check_environment(history, catalog.name, environment or catalog.environment)
    if row is not None:
        check_head(history, catalog.name, (row.head_fence, row.head_sequence))
    return CatalogState(history, row, tuple(_warnings(catalog, history, row, store)))


def _check_format(catalog: Catalog, row: LockRow | None) -> None:
    if row is not None and row.format_version > FORMAT_VERSION:
        raise ConfigurationError(
            "FORMAT_TOO_NEW",
            f"the history of {catalog.name} has format {row.format_version}; this glacierbase supports formats up to"
            f" {FORMAT_VERSION}",
            "pip install --upgrade glacierbase",
        )


def _check_other_histories(target: CatalogRun, store: Store) -> None:
    others = {name: events for name, events in store.read_other_histories().items() if name not in target.siblings}
    check_renamed(target.catalog.name, target.migrations, others)


def _warnings(catalog: Catalog, history: History, row: LockRow | None, store: Store) -> Iterator[str]:
    lease = catalog.store.lease_seconds
    if history.events and (other := store.other_catalog()):
        accept = command("repair", "--environment-was", history.events[-1].environment, reason=True)
        yield (
            f"history and lock of {catalog.name} were made in {other}: this table is a copy of it, or was restored from it, and has"
            f" no record of what ran there since; `{accept}` accepts it as it is"
            if catalog.store.aws
            else f"history and lock of {catalog.name} were made in another catalog ({other}), which may need the same files: none"
            f" is deleted until `{accept}` gives them files of their own"
        )
    if row is not None and living_fence(row, lease, store) and overdue_by(row, lease, store) > timedelta(0):
        yield (
            f"the lease of the run that holds the lock of {catalog.name} is over by this machine's clock, which may"
            f" differ from the clock of that run: {describe_holder(row)}; the next migrate watches whether it is renewed"
        )
    if history.events and row is None:
        lost, made = ("is gone", "creates") if store.lock_rows() is None else ("has no row", "adds")
        yield f"the lock table of {catalog.name} {lost}; the next run {made} it again, with a fence above the history's"
    if row is not None and row.fence < history.fence:
        yield (
            f"the lock table of {catalog.name} is older than its history (fence {row.fence} against"
            f" {history.fence}): it was restored or created again; the next run uses a fence above the history's"
        )
