"""`doctor`: check what a migration needs: files, connection, history, rights, an exclusive lock; show who else may change tables.

The tables that it creates belong to a catalog name of the check alone, and are dropped at the end.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from threading import Barrier

from glacierbase.errors import EngineError, EngineUnavailable, GlacierbaseError
from glacierbase.executors import Executor, check_installed, type_of
from glacierbase.executors.engine import Engine
from glacierbase.history.lockrow import describe_holder, free_row, is_held
from glacierbase.history.state import read_history
from glacierbase.history.target import CatalogRun, OpenCatalog, embedded_hint
from glacierbase.inspect.results import Check, DoctorResult
from glacierbase.model.access import NamespaceAccess
from glacierbase.model.command import command
from glacierbase.model.names import name_of
from glacierbase.record.tables import FileTables
from glacierbase.run.waiting import in_context
from glacierbase.sql.qualified import place_of
from glacierbase.stores import LockRow, Store
from glacierbase.stores.choice import ddl, described, files_described, opens_without_engine, store_warnings
from glacierbase.stores.iceberg.probe import namespace_access

# The race for the lock: sessions, and rounds.
_SESSIONS, _ROUNDS = 4, 3
_STORE_HINT = "check the server, and the rights on the tables of history and lock"


def doctor(target: CatalogRun, result: DoctorResult, *, print_ddl: bool) -> DoctorResult:
    """Return the checks of the catalog and the first error; or the DDL of its tables, without contacting anything."""
    if print_ddl:
        return replace(result, ddl=ddl(target.catalog, free_row(target.terms)))
    access: list[NamespaceAccess] = []
    checks = tuple(examine(target, access.append))
    error = next((check.error for check in checks if check.error), None)
    return replace(result, checks=checks, access=tuple(access), warnings=store_warnings(target.catalog), error=error)


def examine(target: CatalogRun, report: Callable[[NamespaceAccess], object] = lambda _: None) -> Iterator[Check]:
    """Check one catalog, from the files to the lock. A check that needs a failed one is left out.

    Args:
        report: called at the end with who besides the migrator may change the tables, for each namespace.
    """
    catalog = target.catalog
    yield Check("configuration", f"catalogs/{catalog.file.name}, environment {catalog.environment}")
    yield _checked("store", lambda: described(catalog))
    yield _checked("files", lambda: f"{len(target.compile(target.files))} migrations render and split")
    if open_direct := target.file_engines().opener():
        yield _checked("direct", lambda: _direct(target, open_direct))
    with closing(target.engine()) as engine:
        # A store that needs no engine answers in a second, and starting Spark takes many.
        without_engine = opens_without_engine(catalog)
        unneeded = _unneeded(target) if open_direct and without_engine else None
        steps = [partial(_checked_connection, engine, unneeded), partial(_checked_history, target, engine)]
        for step in reversed(steps) if without_engine else steps:
            check = step()
            yield check
            if check.error:
                return
        files = _checked("file access", lambda: files_described(catalog))
        if files.error or files.detail:
            yield files
        opened = OpenCatalog(target, engine, target.open_store(catalog, engine))
        yield from _examine_store(opened)
        if unneeded is None:
            for access in namespaces_access(opened):
                report(access)


def _direct(target: CatalogRun, open_direct: Callable[[], Executor]) -> str:
    """Return in which catalogs plain files run without the engine, each of which has just answered, and why not in the others."""
    reasons = dict(target.file_engines().catalogs())
    names = [name for name, why in reasons.items() if why is None]
    if names:
        with closing(open_direct()) as executor, closing(executor.open_session()) as session:
            for name in names:
                session.shape(name_of((name, target.catalog.store.namespace, "doctor")))
    others = (f"not in {name}: {why}" for name, why in reasons.items() if why)
    return "; ".join((f"plain files run without the engine in {', '.join(names) or 'no catalog'}", *others))


def _unneeded(target: CatalogRun) -> GlacierbaseError | None:
    """Return why the engine, as installed, would not start, if no file needs it; else None."""
    try:
        check_installed(target.catalog, target.run)
    except GlacierbaseError as error:
        engines = target.file_engines()
        with suppress(GlacierbaseError):  # The check of the files reports it.
            if all(engines.of(compiled).is_direct for compiled in target.compile(target.files)):
                return error
    return None


def _checked_connection(engine: Engine, unneeded: GlacierbaseError | None) -> Check:
    if unneeded:
        why = Check("connection", error=unneeded).text()
        return Check("connection", f"no file needs the engine, which would not start: {why}")
    started = time.monotonic()
    try:
        engine.start()
    except GlacierbaseError as error:
        return Check("connection", error=error)
    return Check("connection", f"{engine.name} as {engine.principal}, in {time.monotonic() - started:.1f} s")


def _checked_history(target: CatalogRun, engine: Engine) -> Check:
    hint = embedded_hint(target.catalog) or _STORE_HINT
    return _checked("history", lambda: _summary(target, target.open_store(target.catalog, engine)), hint)


def _summary(target: CatalogRun, store: Store) -> str:
    state = read_history(target.catalog, store, store.read_lock())
    events, row = state.history.events, state.lock
    if row is None and not events:
        return "none yet; the first migrate creates it"
    lock = "" if row is None else f", {describe_holder(row) if is_held(row) else 'the lock is free'}"
    return "; ".join((f"{len(events)} events{lock}", *state.warnings))


def _examine_store(opened: OpenCatalog) -> Iterator[Check]:
    catalog, name = opened.target.catalog, f"doctor_{uuid.uuid4().hex[:8]}"
    has_namespace = opened.store.has_namespace()
    # A namespace that does not exist yet is made up as well, so that dropping it removes nothing else.
    namespace = catalog.store.namespace if has_namespace else name
    made_up = replace(catalog, name=name, store=replace(catalog.store, namespace=namespace))
    scratch = replace(opened.target, catalog=made_up)
    store = scratch.open_store(made_up, opened.engine)
    where = catalog.store.catalog + (f".{namespace}" if has_namespace else ", in a namespace made up for this check")
    if catalog.store.aws:
        where = made_up.store.place + ("" if has_namespace else ", made up for this check")
    try:
        ddl_command = command("doctor", "--print-ddl")
        hint = f"grant them, or let a role that has them run the output of `{ddl_command}`"
        rights = _checked("rights", lambda: _create(store, scratch, where), embedded_hint(catalog) or hint)
        # Whoever may not make files in the folder of an embedded store cannot commit to its tables.
        if rights.error and catalog.store.is_in_catalog and opened.store.read_lock():
            yield Check("rights", f"tables cannot be created in {where}, but both exist; the lock was not tried")
            return
        yield rights
        if rights.error is None:
            yield _checked("lock", lambda: _race(OpenCatalog(scratch, opened.engine, store)))
    finally:
        left = _checked("drop", lambda: _drop(store, namespace=not has_namespace))
    # Without the right to create there may be nothing to drop.
    if left.error and rights.error is None:
        yield replace(left, error=_left_behind(name, where, left.error))


def _drop(store: Store, *, namespace: bool) -> str:
    store.drop(namespace=namespace)
    return ""


def _left_behind(name: str, where: str, error: GlacierbaseError) -> GlacierbaseError:
    """Return the error that names what the check made and could not drop."""
    return EngineUnavailable(
        error.code, f"what this check made as {name} in {where} was not dropped: {error.message}", error.hint
    )


def _create(store: Store, scratch: CatalogRun, where: str) -> str:
    store.create(free_row(scratch.terms))
    return f"tables can be created and written in {where}"


def _race(opened: OpenCatalog) -> str:
    """Let several sessions set the same row at once, in several rounds.

    Raises:
        EngineUnavailable: in one round, not exactly one session succeeded.
    """
    stores = [opened.open_another_store() for _ in range(_SESSIONS)]
    row, rounds = free_row(opened.target.terms), []
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


def _checked(name: str, check: Callable[[], str], hint: str = _STORE_HINT) -> Check:
    try:
        return Check(name, check())
    except EngineError as error:
        return Check(name, error=EngineUnavailable("STORE_UNAVAILABLE", error.message, error.hint or hint))
    except GlacierbaseError as error:
        return Check(name, error=error)


def namespaces_access(opened: OpenCatalog) -> Iterator[NamespaceAccess]:
    """Yield what the catalog shows for each namespace of recorded tables, and for that of history and lock."""
    catalog = opened.target.catalog
    for (name, namespace), tables in _places(opened).items():
        access = type_of(catalog).access(opened.engine.start(), name, namespace, tables)
        yield access or namespace_access(catalog, name, namespace)


def _places(opened: OpenCatalog) -> dict[tuple[str, str], Collection[str]]:
    """Return the recorded tables by catalog and namespace, that of history and lock first."""
    catalog, store = opened.target.catalog, opened.store
    history = read_history(catalog, store, store.read_lock()).history
    names = dict.fromkeys(name for names in FileTables.of(catalog, history).by_version.values() for name in names)
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    if catalog.store.is_in_catalog:
        places[catalog.store.catalog, catalog.store.namespace] = []
    for name in names:
        if place := place_of(catalog, name):
            places[place].append(name)
    return dict(places)
