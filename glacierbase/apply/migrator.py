"""One catalog in one environment, and the one path on which its migrations run.

Files → history → plan → what is pending rendered and split → lock, while the engine starts → history and plan again → per
statement: record, prove the lock, run → release. The questions (`pending`, `plan`, `status`, `history`, `show`) are this path
cut short: they take no lock and write nothing.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.apply.lock import Lock, Terms, describe, free_row, is_held, living_fence, overdue, told
from glacierbase.apply.plan import Plan, Planned, Selection, make_plan
from glacierbase.apply.results import AppliedFile, FailedFile
from glacierbase.catalogs.catalog import Catalog
from glacierbase.errors import (
    ConfigurationError,
    EngineError,
    EngineUnavailable,
    GlacierbaseError,
    HistoryDisagrees,
    Interrupted,
    LockLost,
    MigrationFailed,
    NeedsRepair,
    StatementRefused,
    raise_all,
)
from glacierbase.executors import Executor, InFlight, Session, open_executor
from glacierbase.executors.cancel import cancelling
from glacierbase.executors.engine import Engine
from glacierbase.history.recorder import Recorder
from glacierbase.history.records import History, check_environment, check_head, check_renamed, fold
from glacierbase.migrations.compiled import Prepared, prepare_all, targets
from glacierbase.migrations.transactions import Step
from glacierbase.model.migration import EventType, Migration, State, Statement
from glacierbase.model.text import quoted
from glacierbase.run.run import Run, statement_tag
from glacierbase.secrets import mask
from glacierbase.stores import FORMAT_VERSION, LockRow, Store
from glacierbase.stores.choice import open_store

logger = logging.getLogger("glacierbase")

OpenExecutor = Callable[[Catalog, Run, Any], Executor]
OpenStore = Callable[[Catalog, Engine], Store]


@dataclass(frozen=True, slots=True)
class View:
    """What one look at a catalog's store shows."""

    history: History
    lock: LockRow | None
    warnings: tuple[str, ...]


@dataclass(slots=True)
class Progress:
    """What a run has done so far; whole also when the run ends in an error."""

    applied: list[AppliedFile] = field(default_factory=list)
    failed: FailedFile | None = None
    not_run: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def expect(self, plan: Plan) -> None:
        """What the run is about to do."""
        self.warnings = plan.warnings
        self.not_run = tuple(planned.migration.version for planned in plan.pending)

    def add(self, file: AppliedFile) -> None:
        """The next one of them is applied."""
        self.applied.append(file)
        self.not_run = self.not_run[1:]


class Migrator:
    """The migrations of one catalog in one environment."""

    def __init__(
        self,
        catalog: Catalog,
        migrations: Sequence[Migration],
        run: Run,
        siblings: Collection[str] = (),
        open_executor: OpenExecutor = open_executor,
        open_store: OpenStore = open_store,
    ) -> None:
        """Args:
        siblings: names of the project's other catalogs, whose histories may stand beside this one's.
        """
        self.catalog = catalog
        self.migrations = migrations
        self.dialect = catalog.executor_type
        self.run = run
        self._siblings = frozenset(siblings)
        self._open_executor = open_executor
        self._open_store = open_store
        self._prepared: dict[int, Prepared] = {}

    def prepare(self, migrations: Iterable[Migration]) -> Mapping[int, Prepared]:
        """Files by version number, rendered and split, each of them once. Contacts nothing.

        Raises:
            MigrationFileError, SeveralErrors: all that is wrong in them.
        """
        new = [migration for migration in migrations if migration.number not in self._prepared]
        self._prepared.update(prepare_all(new, self.catalog, self.dialect))
        return self._prepared

    def view(self, session: Any = None) -> View:
        """Look at history and lock. Writes nothing."""
        with self.opened(session) as (_, store):
            return self.look(store)

    def plan(self, selection: Selection, session: Any = None) -> Plan:
        """What `migrate` would run. Writes nothing."""
        view = self.view(session)
        plan = self._plan(selection, view)
        self._files(plan)
        return plan

    def migrate(
        self,
        selection: Selection,
        progress: Progress,
        lock_timeout: float = 0,
        stopped: Callable[[], bool] = lambda: False,
        session: Any = None,
    ) -> None:
        """Apply what is pending, and tell `progress` of it.

        Args:
            lock_timeout: seconds to wait for another run's lock.
            stopped: asked before every statement and while it runs; True ends the run there.

        Raises:
            GlacierbaseError: the first thing that stopped it; what ran before is recorded.
        """
        if stopped():
            raise _interrupted(f"stopped before catalog {self.catalog.name}; nothing of it ran")
        with self.opened(session, stopped) as (engine, store):
            view = self.look(store)
            plan = self._plan(selection, view)
            progress.expect(plan)
            if not plan.pending:
                return
            self._files(plan)
            if view.lock is None:
                engine.start()  # Where it does not start, no tables are made.
            elif not is_held(view.lock):
                engine.begin()  # Beside the lock, which takes its time as well.
            with self.locked(engine, store, view, lock_timeout, stopped) as (lock, view, recorder):
                plan = self._plan(selection, view, progress.warnings)
                progress.expect(plan)
                prepared = self._files(plan)
                if plan.pending:
                    engine.start()
                    lock.name_engine(engine.process)
                _Files(engine, self.run, recorder, lock, stopped, prepared, progress, selection).run(plan)

    def lock(self, engine: Engine, store: Store) -> Lock:
        """The catalog's lock, its tables created where they are missing; not held yet."""
        terms = Terms(self.catalog.name, self.catalog.environment, self.catalog.store.lease_seconds)
        store.create(free_row(terms))
        return Lock(store, terms, self.run, engine.process)

    @contextmanager
    def locked(
        self,
        engine: Engine,
        store: Store,
        seen: View,
        lock_timeout: float,
        stopped: Callable[[], bool] = lambda: False,
        environment: str | None = None,
    ) -> Iterator[tuple[Lock, View, Recorder]]:
        """Win the lock, waiting for it, and be `holding` it.

        Args:
            seen: what the look before showed.
        """
        lock = self.lock(engine, store)
        lock.acquire(seen.lock, seen.history.fence, lock_timeout, stopped)
        with self.holding(lock, engine, environment) as (view, recorder):
            yield lock, view, recorder

    @contextmanager
    def holding(
        self,
        lock: Lock,
        engine: Engine,
        environment: str | None = None,
        taken: EventType = EventType.TAKEN_OVER,
        reason: str | None = None,
    ) -> Iterator[tuple[View, Recorder]]:
        """Under a lock that was won: the history as it is now, and who writes to it. Released at the end, whatever happens.

        Args:
            environment: what the history must say; default the catalog's.
            taken: what is recorded, with `reason`, where the lock was taken from another run.
        """
        try:
            lock.start_heartbeat(lambda: self._open_store(self.catalog, engine))
            # A session that began before the lock was won may not see yet what its last holder committed.
            fresh = self._open_store(self.catalog, engine)
            view = self._look(fresh, lock.row, environment)
            recorder = Recorder(fresh, lock, self.run, engine, view.history)
            former = lock.taken_from
            if former is not None:
                recorder.defer(recorder.event(taken, None, reason=reason, details=json.dumps(told(former))))
            yield view, recorder
            recorder.compact()
            lock.finish()
        except BaseException:
            lock.release()
            raise

    @contextmanager
    def opened(self, session: Any, stopped: Callable[[], bool] = lambda: False) -> Iterator[tuple[Engine, Store]]:
        """The engine, to be started, and the store; ended afterwards.

        Args:
            stopped: once it answers True, nothing is waited for much longer.

        Raises:
            EngineUnavailable: also for what the store refuses inside.
        """
        with closing(Engine(lambda: self._open_executor(self.catalog, self.run, session), stopped)) as engine:
            try:
                yield engine, self._open_store(self.catalog, engine)
            except EngineError as error:
                where = f"{self.catalog.store.catalog}.{self.catalog.store.namespace}"
                raise EngineUnavailable(
                    "STORE_UNAVAILABLE",
                    f"catalog {self.catalog.name}: history and lock in {where} cannot be used: {error.message}",
                    error.hint
                    or "check the catalog file, its server and the rights on that namespace; `glacierbase doctor` looks closer",
                ) from error

    def look(self, store: Store, environment: str | None = None) -> View:
        """Read lock and history; where there is none yet, whether that is because it stands under another name.

        Args:
            environment: what the history must say; default the catalog's.
        """
        view = self._look(store, store.read_lock(), environment)
        while view.history.fence > _fence(view.lock):
            # Its newest run took the lock after we looked at it, and may hold it still: what it has begun is not unknown.
            row = store.read_lock()
            if _fence(row) == _fence(view.lock):
                break
            view = self._look(store, row, environment)
        if not view.history.events:
            others = store.read_other_histories()
            check_renamed(
                self.catalog.name,
                self.migrations,
                {name: events for name, events in others.items() if name not in self._siblings},
            )
        return view

    def _look(self, store: Store, row: LockRow | None, environment: str | None) -> View:
        """Read the history, after the lock's row was read: it then holds at least all that the row acknowledges."""
        if row is not None and row.format_version > FORMAT_VERSION:
            raise ConfigurationError(
                "FORMAT_TOO_NEW",
                f"the history of {self.catalog.name} has format {row.format_version}; this glacierbase knows formats up to"
                f" {FORMAT_VERSION}",
                "pip install --upgrade glacierbase",
            )
        history = fold(store.read_history(), living_fence(row, self.catalog.store.lease_seconds, store))
        check_environment(history, self.catalog.name, environment or self.catalog.environment)
        if row is not None:
            check_head(history, self.catalog.name, (row.head_fence, row.head_sequence))
        return View(history, row, tuple(self._lock_warnings(history, row, store)))

    def _lock_warnings(self, history: History, row: LockRow | None, store: Store) -> Iterator[str]:
        lease = self.catalog.store.lease_seconds
        if living_fence(row, lease, store) and row is not None and overdue(row, lease, store) > timedelta(0):
            yield (
                f"the lease of the run that holds the lock of {self.catalog.name} is over by this machine's clock, which may"
                f" differ from its own: {describe(row)}; the next migrate watches whether it is renewed"
            )
        if history.events and row is None:
            yield f"the lock table of {self.catalog.name} is gone; the next run makes it again"
        if row is not None and row.fence < history.fence:
            yield (
                f"the lock table of {self.catalog.name} is older than its history (fence {row.fence} against"
                f" {history.fence}): it was restored or made again; the next run goes on above the history's"
            )

    def _plan(self, selection: Selection, view: View, warnings: Sequence[str] = ()) -> Plan:
        """What would run, with all `warnings` once."""
        plan = make_plan(self.migrations, view.history, selection)
        return replace(plan, warnings=tuple(dict.fromkeys((*warnings, *view.warnings, *plan.warnings))))

    def _files(self, plan: Plan) -> Mapping[int, Prepared]:
        """The files of the plan, made ready and checked against what is done of them."""
        prepared = self.prepare(planned.migration for planned in plan.pending)
        _check_resumes(plan, prepared)
        return prepared


def _fence(row: LockRow | None) -> int:
    return row.fence if row is not None else 0


def _check_resumes(plan: Plan, prepared: Mapping[int, Prepared]) -> None:
    """What a failed file has done must stand in it unchanged; the rest of it may be edited."""
    errors: list[GlacierbaseError] = []
    for planned in plan.pending:
        if planned.record is None:
            continue
        done = planned.record.statement_checksums[: planned.resumes_at - 1]
        now = prepared[planned.migration.number].statement_checksums
        edited = [index for index, each in enumerate(done, start=1) if now[index - 1 : index] != (each,)]
        if edited:
            errors.append(
                HistoryDisagrees(
                    "DONE_STATEMENT_CHANGED",
                    f"{planned.migration.location}: statement {edited[0]} was edited, or renders otherwise, since it took"
                    f" effect; {len(done)} statements of this file are done; nothing ran",
                    f"restore statements 1 to {len(done)} (`glacierbase show {planned.migration.version}` has them); only the"
                    " statements behind them may change",
                    version=planned.migration.version,
                    path=planned.migration.location,
                    statement_index=edited[0],
                )
            )
    raise_all(errors)


class _Files:
    """Runs the planned files, one statement at a time, under a lock that is held."""

    def __init__(
        self,
        engine: Engine,
        run: Run,
        recorder: Recorder,
        lock: Lock,
        stopped: Callable[[], bool],
        prepared: Mapping[int, Prepared],
        progress: Progress,
        selection: Selection,
    ) -> None:
        self._engine = engine
        self._run = run
        self._recorder = recorder
        self._lock = lock
        self._stopped = stopped
        self._prepared = prepared
        self._progress = progress
        self._selection = selection

    def run(self, plan: Plan) -> None:
        """All files of the plan, in order, up to the first that stops the run."""
        try:
            self._run_all(plan)
        except LockLost:
            self._recorder.append_without_lock()
            raise

    def _run_all(self, plan: Plan) -> None:
        for planned in plan.pending:
            prepared = self._prepared[planned.migration.number]
            self._check_stop(prepared)
            started = time.monotonic()
            self._run_file(planned, prepared, plan.jumped_over)
            self._applied(planned, prepared, _since(started))
            self._recorder.compact()
        self._recorder.append()

    def _run_file(self, planned: Planned, prepared: Prepared, jumped_over: Sequence[str]) -> None:
        remaining = [step for step in prepared.steps if step[0].index >= planned.resumes_at]
        started_at = datetime.now(timezone.utc)
        announcement = self._recorder.event(
            EventType.STARTED,
            State.RUNNING,
            prepared,
            rendered_sql=prepared.text,
            statement_index=planned.resumes_at,
            tables=targets(prepared.statements),
            started_at=started_at,
            reason=self._selection.reason,
            details=json.dumps(
                {
                    "statement_checksums": prepared.statement_checksums,
                    "process": self._run.holder(self._engine.process),
                    **({"jumped_over": jumped_over} if jumped_over else {}),
                }
            ),
        )
        with closing(self._open_session()) as session:
            for step in remaining:
                self._announce(announcement, prepared, step[0])
                started = time.monotonic()
                for statement in step:
                    if statement is not step[0]:
                        self._prove(prepared, step[0])
                    query_id = self._execute(session, prepared, step, statement)
                announcement = self._done(prepared, step[-1], started_at, _since(started), query_id)
        if not remaining:
            self._recorder.defer(announcement)
            announcement = self._done(prepared, None, started_at, 0, None)
        # Goes with the next file's start: nothing happens in between.
        self._recorder.defer(announcement)

    def _open_session(self) -> Session:
        try:
            return self._engine.start().open_session()
        except EngineUnavailable:
            self._recorder.append()  # The file before is applied, whatever becomes of this one.
            raise

    def _done(
        self,
        prepared: Prepared,
        statement: Statement | None,
        started_at: datetime,
        duration_ms: int,
        query_id: str | None,
    ) -> Any:
        """The event that a statement took effect; that of the last one says that the file is applied."""
        last = statement is None or statement.index == len(prepared.statements)
        return self._recorder.event(
            EventType.APPLIED if last else EventType.STATEMENT_DONE,
            State.APPLIED if last else State.RUNNING,
            prepared,
            statement_index=statement.index if statement else 0,
            statement_checksum=statement.checksum if statement else None,
            tables=targets([statement]) if statement else None,
            started_at=started_at,
            duration_ms=duration_ms,
            query_id=query_id,
        )

    def _announce(self, announcement: Any, prepared: Prepared, statement: Statement) -> None:
        """Record that the statement is about to start, wait for the answer, then prove the lock."""
        if self._stopped():
            self._end_between(announcement, prepared, statement.index)
        # Whatever becomes of the lock, what has been done is told.
        self._recorder.defer(announcement)
        self._prove(prepared, statement)

    def _prove(self, prepared: Prepared, first: Statement) -> None:
        """Append what waits to be told, and prove the lock: nothing of the step that begins with `first` runs without."""
        try:
            self._lock.check()
            self._recorder.append()
            self._lock.prove()
        except LockLost:
            self._recorder.defer(self._interrupted(prepared, first.index - 1))
            raise

    def _end_between(self, announcement: Any, prepared: Prepared, index: int) -> None:
        """Stop before statement `index`, on request: record what is done, and that nothing is in flight."""
        if announcement.event == EventType.STARTED:
            self._recorder.append()
        else:
            self._recorder.append(announcement, self._interrupted(prepared, index - 1))
        done = f"stopped before statement {index} of {prepared.migration.location}"
        raise _interrupted(f"{done}; what ran before is recorded")

    def _interrupted(self, prepared: Prepared, done: int) -> Any:
        return self._recorder.event(EventType.INTERRUPTED, State.INTERRUPTED, prepared, statement_index=done)

    def _check_stop(self, prepared: Prepared) -> None:
        if self._stopped():
            self._recorder.append()
            raise _interrupted(f"stopped before {prepared.migration.location}; what ran before is recorded")

    def _execute(self, session: Session, prepared: Prepared, step: Step, statement: Statement) -> str | None:
        started = time.monotonic()
        where, total = prepared.migration.location, len(prepared.statements)
        logger.debug("%s: statement %d of %d starts", where, statement.index, total)
        tag = statement_tag(self._run.id, prepared.migration.version, statement.index)
        began = datetime.now(timezone.utc)
        try:
            with cancelling(session, self._stopped, self._engine.end):
                return session.execute(statement.text, tag=tag)
        except EngineError as lost:
            error = self._looked_up(lost, InFlight((), began, tag, statement.text, None))
            if error is None:
                return lost.query_id
            # Before its last statement, the end of the session takes a transaction back, whatever happened.
            if isinstance(error, StatementRefused) or statement is not step[-1]:
                self._fail(prepared, statement, error, EventType.FAILED, _since(started))
                raise _failed(prepared, step, statement, error) from lost
            self._fail(prepared, statement, error, EventType.UNKNOWN, _since(started))
            raise _unknown(prepared, statement, error) from lost
        except BaseException:
            # The caller's KeyboardInterrupt, say: the engine was left in the middle of the statement.
            self._recorder.append(self._ended(prepared, statement, EventType.UNKNOWN, _since(started)))
            raise

    def _looked_up(self, error: EngineError, statement: InFlight) -> EngineError | None:
        """The error as the engine's own record of the statement has it; None where that proves that it took effect.

        An engine that gave the statement an id keeps such a record. A cancelled statement is left to `repair`.
        """
        if isinstance(error, StatementRefused) or error.query_id is None or self._stopped():
            return error
        try:
            evidence = self._engine.start().evidence(statement)
        except GlacierbaseError as failed:
            logger.debug("the engine's record of query %s could not be read: %s", error.query_id, failed.message)
            return error
        if not evidence.is_proof:
            return error
        logger.warning("the answer to query %s was lost; by the engine's record: %s", error.query_id, evidence.found[0])
        if evidence.took_effect:
            return None
        return StatementRefused(error.error_class, f"{error.message}; {evidence.found[0]}", error.query_id)

    def _fail(
        self, prepared: Prepared, statement: Statement, error: EngineError, kind: EventType, duration_ms: int
    ) -> None:
        location = prepared.migration.location
        version = prepared.migration.version
        self._progress.failed = FailedFile(version, location, statement.index, statement.line, error.message)
        self._recorder.append(
            self._ended(
                prepared,
                statement,
                kind,
                duration_ms,
                error_class=error.error_class,
                error_message=error.message,
                query_id=error.query_id,
            )
        )

    def _ended(self, prepared: Prepared, statement: Statement, kind: EventType, duration_ms: int, **values: Any) -> Any:
        return self._recorder.event(
            kind,
            State(kind.value),
            prepared,
            statement_index=statement.index,
            statement_checksum=statement.checksum,
            tables=targets([statement]),
            duration_ms=duration_ms,
            **values,
        )

    def _applied(self, planned: Planned, prepared: Prepared, duration_ms: int) -> None:
        migration, total = planned.migration, len(prepared.statements)
        self._progress.add(AppliedFile(migration.version, migration.location, total, duration_ms, planned.resumes_at))
        logger.info("%s: applied %s", prepared.migration.location, _counted(total, duration_ms))


def _failed(prepared: Prepared, step: Step, statement: Statement, error: EngineError) -> MigrationFailed:
    total, first, where = len(prepared.statements), step[0].index, prepared.migration.location
    done = f"statements 1 to {first - 1} are done and recorded" if first > 1 else "nothing of this file is done"
    back = f"; the transaction that began with statement {first} was taken back" if len(step) > 1 else ""
    rest = f"statement {first}" if first == total else f"statements {first} to {total}"
    return MigrationFailed(
        "STATEMENT_FAILED",
        (
            f"{where}, line {statement.line}: statement {statement.index} of {total} failed: [{error.error_class}]"
            f" {error.message}",
            *_beginning(statement.text),
            f"{done}{back}",
        ),
        f"remove the cause and run `glacierbase migrate` again: it goes on at statement {first}; or `glacierbase repair"
        f" {prepared.migration.version} --as done` (somebody completed it by hand) or `--as abandoned` (the file ends here, the"
        f" fix is a new one); or correct {rest} where no other environment has applied the file",
        **_place(prepared, statement),
        error_class=error.error_class,
    )


def _unknown(prepared: Prepared, statement: Statement, error: EngineError) -> NeedsRepair:
    return NeedsRepair(
        "OUTCOME_UNKNOWN",
        (
            f"{prepared.migration.location}, line {statement.line}: the answer to statement {statement.index} of"
            f" {len(prepared.statements)} was lost or proves nothing: [{error.error_class}] {error.message}",
            *_beginning(statement.text),
            "whether it took effect is unknown",
        ),
        f"`glacierbase repair {prepared.migration.version}` shows what the engine remembers of it; nothing runs on this catalog"
        " until that is settled",
        **_place(prepared, statement),
        error_class=error.error_class,
    )


def _place(prepared: Prepared, statement: Statement) -> dict[str, Any]:
    migration = prepared.migration
    return {
        "version": migration.version,
        "path": migration.location,
        "line": statement.line,
        "statement_index": statement.index,
    }


def _beginning(sql: str) -> list[str]:
    lines = quoted(mask(sql))
    return [*lines[:10], *quoted("…")] if len(lines) > 10 else lines


def _interrupted(message: str) -> Interrupted:
    return Interrupted("INTERRUPTED", message, "run `glacierbase migrate` again: it goes on where this run stopped")


def _counted(statements: int, duration_ms: int) -> str:
    return f"{statements} statement{'' if statements == 1 else 's'} in {duration_ms / 1000:.1f} s"


def _since(started: float) -> int:
    """Milliseconds since `started` of the monotonic clock."""
    return round((time.monotonic() - started) * 1000)
