"""Whether all that a migration needs is there: connection, history, rights, and a lock that only one can win.

What it creates belongs to a catalog that is made up for the purpose, and is gone when it ends.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from threading import Barrier
from typing import Any

from glacierbase.apply.lock import Terms, describe, free_row, is_held
from glacierbase.apply.migrator import Migrator
from glacierbase.catalogs.catalog import Catalog
from glacierbase.errors import EngineError, EngineUnavailable, GlacierbaseError
from glacierbase.executors import open_executor
from glacierbase.executors.engine import Engine
from glacierbase.model.results import Check
from glacierbase.run.waiting import in_context
from glacierbase.stores import LockRow, Store
from glacierbase.stores.choice import open_store
from glacierbase.stores.sql import ddl

_SESSIONS, _ROUNDS = 4, 3


def examine(migrator: Migrator, session: Any = None) -> Iterator[Check]:
    """Look at one catalog, from the files to the lock; what cannot be looked at any more is left out."""
    catalog = migrator.catalog
    yield Check("configuration", f"catalogs/{catalog.file.name}, environment {catalog.environment}")
    yield _checked("files", lambda: f"{len(migrator.prepare(migrator.migrations))} migrations render and split")
    with closing(Engine(lambda: open_executor(catalog, migrator.run, session))) as engine:
        started = time.monotonic()
        try:
            engine.start()
        except GlacierbaseError as error:
            yield Check("connection", error=error)
            return
        took = time.monotonic() - started
        yield Check("connection", f"{engine.name} as {engine.principal}, in {took:.1f} s")
        history = _checked("history", lambda: _history(open_store(catalog, engine)))
        yield history
        if history.error is None:
            yield from _examine_store(catalog, engine)


def print_ddl(catalog: Catalog) -> str:
    """The statements by which somebody with the rights creates what the migrating role may not."""
    return "".join(f"{statement};\n\n" for statement in ddl(catalog, free_row(_terms(catalog))))


def _history(store: Store) -> str:
    row = store.read_lock()
    events = store.read_history()
    lock = "no lock yet" if row is None else describe(row) if is_held(row) else "the lock is free"
    return f"{len(events)} events, {lock}" if events or row else "none yet; the first migrate creates it"


def _examine_store(catalog: Catalog, engine: Engine) -> Iterator[Check]:
    name = f"doctor_{uuid.uuid4().hex[:8]}"
    has_namespace = open_store(catalog, engine).has_namespace()
    # Where there is no namespace yet, one is made up, too: what goes with it is ours alone, whatever happens meanwhile.
    namespace = catalog.store.namespace if has_namespace else name
    made_up = replace(catalog, name=name, store=replace(catalog.store, namespace=namespace))
    store = open_store(made_up, engine)
    where = catalog.store.catalog + (f".{namespace}" if has_namespace else ", in a namespace of their own")
    row = free_row(_terms(made_up))
    try:
        rights = _checked("rights", lambda: _create(store, row, where), hint=_RIGHTS.format(catalog.name))
        if rights.error and open_store(catalog, engine).read_lock():
            yield Check("rights", f"tables cannot be created in {where}, but both are there; the lock was not tried")
            return
        yield rights
        if rights.error is None:
            yield _checked("lock", lambda: _race(made_up, engine, row))
    finally:
        with suppress(EngineError):  # Who may not create finds nothing to drop.
            store.drop(namespace=not has_namespace)


_RIGHTS = "grant them, or have somebody who has them run what `glacierbase doctor --catalog {} --print-ddl` prints"


def _create(store: Store, row: LockRow, where: str) -> str:
    store.create(row)
    return f"tables can be created, written and dropped in {where}"


def _race(catalog: Catalog, engine: Engine, row: LockRow) -> str:
    """Let several sessions set the same row at once, some rounds long.

    Raises:
        EngineUnavailable: a round had another number of winners than one.
    """
    stores = [open_store(catalog, engine) for _ in range(_SESSIONS)]
    rounds = []
    with ThreadPoolExecutor(_SESSIONS) as threads:
        for _ in range(_ROUNDS):
            barrier = Barrier(_SESSIONS)
            claims = [replace(row, owner=f"session{number}", fence=row.fence + 1) for number in range(_SESSIONS)]
            won = list(threads.map(in_context(_compete), stores, [row] * _SESSIONS, claims, [barrier] * _SESSIONS))
            rounds.append(sum(won))
            row = stores[0].read_lock() or row
    if set(rounds) != {1}:
        raise EngineUnavailable(
            "LOCK_NOT_EXCLUSIVE",
            f"{_SESSIONS} sessions raced for the lock: {_winners(rounds)}; two runs could hold it at once",
            "do not migrate here: point `store:` at a catalog with atomic commits",
            winners=rounds,
        )
    return f"{_SESSIONS} sessions raced for it, {_ROUNDS} rounds: {_winners(rounds)}"


def _compete(store: Store, row: LockRow, claim: LockRow, barrier: Barrier) -> bool:
    barrier.wait()
    return store.compare_and_set(row, claim)


def _winners(rounds: Sequence[int]) -> str:
    return ", ".join(f"{count} × {number} winners" for number, count in sorted(Counter(rounds).items()))


def _terms(catalog: Catalog) -> Terms:
    return Terms(catalog.name, catalog.environment, catalog.store.lease_seconds)


def _checked(
    name: str, look: Callable[[], str], hint: str = "check the server, and the rights on the tables of history and lock"
) -> Check:
    try:
        return Check(name, look())
    except EngineError as error:
        return Check(name, error=EngineUnavailable("STORE_UNAVAILABLE", error.message, error.hint or hint))
    except GlacierbaseError as error:
        return Check(name, error=error)
