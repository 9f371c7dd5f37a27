"""Settle a statement of a dead run where its table proves the outcome. `docs/how/crash-safety.md` has the argument.

The announcement of a statement records the version of its table. Once the engine has ended, no further commit is sent; a commit
that was sent before takes effect within a time that the store or the engine bounds, or never. All else is left to `repair`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glacierbase.apply.evidence import (
    Decision,
    ran_since_record,
    read_statements,
    resolution_entry,
    statement_of,
    table_shows,
)
from glacierbase.apply.failures import stopped_before
from glacierbase.apply.locked import LockedCatalog
from glacierbase.apply.progress import Progress
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import EngineError, Interrupted, OutcomeUnknown, StatementRefused
from glacierbase.executors import Session, type_of
from glacierbase.executors.direct.files import FileEngines
from glacierbase.history.details import details_of
from glacierbase.history.entries import Entry
from glacierbase.history.records import History, Record
from glacierbase.history.state import read_history
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import State, Statement
from glacierbase.model.shape import TableVersion
from glacierbase.model.text import as_clock
from glacierbase.run.activity import doing
from glacierbase.run.clock import awake, sleep
from glacierbase.run.processes import is_engine_gone
from glacierbase.run.run import statement_tag

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement

logger = logging.getLogger("glacierbase")

_POLL_SECONDS = 0.2
# How long a request to a file system or an object store may take effect after its process has ended.
_FILE_SECONDS = 60.0
# The column `principal` of an event that no person decided.
_PRINCIPAL = "glacierbase"


def with_version(
    announcement: Entry,
    held: LockedCatalog,
    engines: FileEngines,
    compiled: Compiled,
    statement: Statement,
    session: Session,
) -> Entry:
    """Return the announcement of a statement with the version of its table, where that can prove the outcome later.

    Args:
        engines: of the files of the catalog.
        session: in which the statement runs.
    """
    # An engine without a process on this machine is never shown to have ended.
    if not held.target.catalog.recovers or not held.engine.process.get("engine_pid") or held.engine.cancelled():
        return announcement
    named = statement_of(compiled.named, statement.index)
    table = engines.plain_name(named, compiled.text) if named else None
    table = table or held.engine.executor.proving_table(statement.text, compiled.text)
    before = _version(held, table, named, engines, session) if table else None
    return replace(announcement, details=replace(announcement.details, before=before)) if before else announcement


def _version(
    held: LockedCatalog, table: str, statement: FileStatement | None, engines: FileEngines, session: Session
) -> TableVersion | None:
    if table in held.unreadable:
        return None
    catalog = held.target.catalog
    # PyIceberg finds no table in a catalog that another format shares; the catalog of a plain statement has no other format.
    may_be_absent = statement is not None and engines.is_plain(statement)
    is_namespace = statement is not None and statement.parsed.namespace is not None
    try:
        version = held.engine.tables.version(table, is_namespace=is_namespace)
        if version and (version.exists or may_be_absent):
            return version
        return type_of(catalog).table_version(catalog, session, table)
    except EngineError as error:  # Without a version the statement runs as well.
        # Tried once per run: each failure may wait until a time limit.
        held.unreadable.add(table)
        logger.debug("%s: its version could not be read: %s", table, error.message)
        return None


def is_possible(catalog: Catalog, history: History) -> bool:
    """Return whether a table may prove the outcome of a statement that is unknown."""
    return any(_may_be_proven(catalog, record) for record in history.records.values())


def _may_be_proven(catalog: Catalog, record: Record) -> bool:
    is_recorded = catalog.recovers and record.state is State.UNKNOWN and record.before is not None
    return is_recorded and is_engine_gone(details_of(record.started).process)


def settle(held: LockedCatalog, progress: Progress) -> LockedCatalog:
    """Record what the tables prove, and return the catalog with its state afterwards. Each outcome becomes a warning.

    Raises:
        Interrupted: the run was cancelled while it waited for a late commit.
        LockLost: this run lost the lock meanwhile.
    """
    catalog, records = held.target.catalog, held.state.history.records.values()
    outcomes = [
        _settle(held, record, record.before) for record in records if record.before and _may_be_proven(catalog, record)
    ]
    if not outcomes:
        return held
    progress.warn(line for lines in outcomes for line in lines)
    return replace(held, state=read_history(catalog, held.store, held.lock.row))


def _settle(held: LockedCatalog, record: Record, before: TableVersion) -> Sequence[str]:
    """Record the outcome of the statement if its table proves it. Return lines that describe the outcome."""
    index = record.statements_done + 1
    what = f"statement {index} of {record.statements_total} of {record.what}"
    name, run_id, others = held.target.catalog.name, record.started.run_id, list[str]()
    statements = read_statements(held.target, record)
    statement = statement_of(statements, index)
    tag = statement_tag(run_id, record.label, index)
    took_effect, why = _outcome(held, before, tag, statement, f"{name}: {what}", held.lock.lease_seconds)
    if took_effect is not None:
        resolution = Resolution.DONE if took_effect else Resolution.NOT_DONE
        from glacierbase.record.table_records import TableRecords  # Commands that settle nothing do not need it.

        entry = resolution_entry(held.target, State.UNKNOWN, record, Decision(resolution, why))
        tables = TableRecords(held.target.catalog, held.engine, held.state.history)
        entry = entry.with_tables(tables.settled(statements, ran_since_record(record, entry, statements)))
        others = tables.warnings
        held.lock.prove()
        held.recorder.append(replace(entry, principal=_PRINCIPAL))
        why += f"; recorded as {resolution}"
    outcome = f"{what} was lost in run {run_id}: {why}"
    logger.info("%s: %s", name, outcome)
    return outcome, *others


def settle_lost(
    held: LockedCatalog, error: EngineError, before: TableVersion, tag: str, statement: FileStatement | None, what: str
) -> None:
    """Return if the table of a direct statement proves that it took effect, although its answer was lost.

    The statement ran in this process, which sends no further request of it.

    Args:
        error: in place of the answer.
        before: as the announcement recorded it.
        what: the statement, for messages.

    Raises:
        StatementRefused: it had no effect.
        OutcomeUnknown: the table proves nothing, or the run was cancelled while it waited for a late commit.
    """
    try:
        took_effect, why = _outcome(held, before, tag, statement, what, least=None)
    except Interrupted:
        raise error from None
    if not took_effect:
        kind = OutcomeUnknown if took_effect is None else StatementRefused
        raise kind(error.error_class, f"{error.message}; {why}", error.query_id, error.hint)
    logger.warning("%s: the answer was lost (%s); %s", what, error.message, why)


def _outcome(
    held: LockedCatalog,
    before: TableVersion,
    tag: str,
    statement: FileStatement | None,
    what: str,
    least: float | None,
) -> tuple[bool | None, str]:
    """Return whether the statement took effect, and why; reads the table a second time before it returns that it did not.

    Args:
        least: the seconds until the second read, if a late commit is not possible for longer; None for a lease, and no wait for
            a transaction that has ended.
    """

    def shown() -> tuple[bool | None, str]:
        return table_shows(held.target.catalog, held.engine, before, tag, statement)

    try:
        took_effect, why = shown()
        if took_effect is not False:
            return took_effect, why
        bound = _FILE_SECONDS if before.by_engine else held.engine.tables.commit_seconds(before.table)
        if bound is None:
            return None, f"{why} so far; the catalog sets no bound for a late commit"
        if least is None:
            least = held.lock.lease_seconds if bound else 0.0
        _wait(max(least, bound), held.engine.cancelled, f"{what}: {before.table}")
        return shown()
    except EngineError as error:
        return None, f"{before.table} could not be read: {error.message}"


def _wait(seconds: float, cancelled: Callable[[], bool], what: str) -> None:
    logger.info(
        "%s has had no commit; looking again in %.0f s, when no commit can be under way any more", what, seconds
    )
    deadline = awake() + seconds
    with doing(f"{what}: looking again", lambda: f"in {as_clock(deadline - awake())}", announce=False):
        while (left := deadline - awake()) > 0:
            if cancelled():
                raise stopped_before("the second read of a table", "nothing ran")
            sleep(min(_POLL_SECONDS, left))
