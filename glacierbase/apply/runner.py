"""Run the files of a plan, one statement at a time, under a lock that is held."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from glacierbase.apply import recover
from glacierbase.apply.evidence import statement_of
from glacierbase.apply.failures import outcome_unknown, statement_failed, stopped_before
from glacierbase.apply.locked import LockedCatalog
from glacierbase.apply.plan import Plan, Planned
from glacierbase.apply.progress import Progress
from glacierbase.apply.results import AppliedFile, FailedFile, WaitingFile
from glacierbase.apply.session import FileSession
from glacierbase.errors import (
    EngineError,
    GlacierbaseError,
    Interrupted,
    LockLost,
    NotPlain,
    OutcomeUnknown,
    StatementRefused,
)
from glacierbase.executors import InFlight, Session
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.executors.cancel import cancelling
from glacierbase.executors.direct.files import FileEngine
from glacierbase.history import entries
from glacierbase.history.entries import Entry
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.statements import Step
from glacierbase.model.migration import EventType, State, Statement, Waiting
from glacierbase.model.shape import TableVersion
from glacierbase.record.live import TableShapes
from glacierbase.record.table_records import FileRecord, TableRecords
from glacierbase.run.activity import doing
from glacierbase.run.run import statement_tag

if TYPE_CHECKING:
    from glacierbase.sql.actions import ActionCall

logger = logging.getLogger("glacierbase")
# Its records are the lines that the result repeats.
applied_logger = logging.getLogger("glacierbase.applied")


@dataclass(frozen=True, slots=True)
class _RunningFile:
    """A file that runs.

    Attributes:
        engine: the one that runs it.
        session: the one in which its statements run.
        context: what announcements record of the session.
        tables: the record of its tables.
        started_at: when the run began the file.
        has_plan_file: whether the run applies a plan file.
        planned: the file in the plan.
    """

    compiled: Compiled
    engine: FileEngine
    session: Session
    context: FileSession
    tables: FileRecord
    started_at: datetime
    has_plan_file: bool
    planned: Planned

    def close(self) -> None:
        """Close the session once no read uses it: where the lock is lost, one may still run, and a library may crash."""
        with closing(self.session):
            self.tables.wait_for_session()


class _OtherEngine(Exception):
    """A statement needs another engine than the one in which its file runs. It had no effect.

    Attributes:
        engine: the one that it needs.
        statement: its index.
    """

    def __init__(self, engine: FileEngine, statement: int) -> None:
        self.engine = engine
        self.statement = statement
        super().__init__()


class _FileWaits(Exception):
    """The gate of an action is shut. That is recorded; the files after this one do not run."""


class Runner:
    """Runs the files of one plan on one locked catalog."""

    def __init__(self, held: LockedCatalog, progress: Progress) -> None:
        self._held = held
        self._recorder = held.recorder
        self._progress = progress
        self._tables = TableRecords(held.target.catalog, held.engine, held.state.history)
        self._engines = held.target.file_engines()
        # The name of the engine of the last file.
        self._engine: str | None = None
        # The version of the table before the statement that was announced last, and whether `migrate` may settle its outcome.
        self._before: TableVersion | None = None
        self._may_settle = False
        # Deferred outcomes of files, to which the records of their tables are to be added before they are appended.
        self._outcomes: list[tuple[Entry, FileRecord]] = []

    def run(self, plan: Plan) -> None:
        """Run the files in order, up to the first error, or to the first one that waits."""
        try:
            for planned, compiled in zip(plan.pending, plan.files, strict=True):
                self._run_file(planned, compiled, plan)
                if self._recorder.is_compaction_due:
                    self._flush()
                    self._recorder.compact()
            self._flush()
        except _FileWaits:
            self._flush()
        except LockLost:
            self._recorder.flush_without_lock()
            raise
        finally:
            self._progress.warn(self._tables.warnings)

    def _run_file(self, planned: Planned, compiled: Compiled, plan: Plan) -> None:
        if self._held.engine.cancelled():
            self._flush()
            raise stopped_before(compiled.migration.location)
        started = time.monotonic()
        engine = self._engines.of(compiled)
        try:
            self._run_in(engine, planned, compiled, plan)
        except _OtherEngine as needed:
            engine = needed.engine
            self._run_in(engine, replace(planned, resumes_at=needed.statement), compiled, plan)
        migration, total, duration_ms = planned.migration, len(compiled.statements), _milliseconds_since(started)
        name = migration.identity.get("name")
        applied = AppliedFile(
            migration.version or None, migration.location, total, duration_ms, planned.resumes_at, name, engine.name
        )
        self._progress.add_applied(applied)
        applied_logger.info("%s", applied.line())

    def _run_in(self, engine: FileEngine, planned: Planned, compiled: Compiled, plan: Plan) -> None:
        """Run what is left of a file in an engine.

        Raises:
            _OtherEngine: a statement needs another engine. It had no effect, and the stop before it is recorded.
        """
        self._use(engine)
        remaining = [step for step in compiled.steps if step[0].index >= planned.resumes_at]
        started_at = datetime.now(timezone.utc)
        process = self._held.target.run.holder(self._held.engine.process)
        why = (plan.jumped_over, plan.selection.reason, plan.digest)
        announcement = entries.started(compiled, planned.resumes_at, started_at, process, *why)
        file = self._begin(engine, planned, compiled, started_at, has_plan_file=plan.selection.has_file)
        with closing(file):
            for step in remaining:
                self._announce(announcement, file, step[0])
                announcement = self._run_step(file, step)
            if not remaining:
                self._recorder.defer(announcement)
                announcement = entries.took_effect(compiled, None, started_at)
            self._end(announcement, file)

    def _use(self, engine: FileEngine) -> None:
        """Open an engine, unless the last file ran in it. The lock row names its process before it is used."""
        if engine.name == self._engine:
            return
        if self._engine is not None:
            self._flush()  # Events have the name of the engine that is open when they are appended.
        self._held.engine.use(engine.name)
        # A direct file runs in the process of the run, which the row names; an engine that is open may still write to the store.
        if not engine.is_direct:
            self._held.lock.name_engine(self._held.engine.process)
        self._engine = engine.name

    def _end(self, applied: Entry, file: _RunningFile) -> None:
        """Record that the file is applied, together with the start of the next one: nothing happens in between."""
        self._defer_outcome(applied, file, len(file.compiled.statements))
        try:
            file.tables.wait_for_session()
        except BaseException:
            self._flush()
            raise

    def _defer_outcome(self, outcome: Entry, file: _RunningFile, statements_done: int) -> None:
        """Defer the outcome of a file, and begin the snapshots of its tables after it."""
        self._recorder.defer(outcome)
        file.tables.begin_after(statements_done)
        self._outcomes.append((outcome, file.tables))

    def _add_tables(self) -> None:
        """Add the table records to the deferred outcomes of their files."""
        while self._outcomes:
            outcome, record = self._outcomes[0]
            documents = record.complete()
            del self._outcomes[0]
            self._recorder.add_tables(outcome, documents)

    def _flush(self) -> None:
        """Append what is deferred, with the records of tables."""
        try:
            self._add_tables()
        except KeyboardInterrupt:
            self._add_tables()  # Without a wait.
            raise
        finally:  # An interrupt loses no outcome.
            self._recorder.flush()

    def _begin(
        self, engine: FileEngine, planned: Planned, compiled: Compiled, started_at: datetime, *, has_plan_file: bool
    ) -> _RunningFile:
        """Open the session of a file, and restore what its completed statements set."""
        with ExitStack() as opened:
            try:
                session = self._held.engine.executor.open_session()
                opened.callback(session.close)
                context = FileSession(session, planned, compiled)
                context.restore()
                tag = partial(statement_tag, self._held.target.run.id, compiled.migration.label)
                is_proof = engine.is_direct and self._engines.names_metadata(compiled)
                tables = self._tables.of_file(compiled, planned.resumes_at, session, tag if is_proof else None)
            except BaseException:
                self._flush()  # The previous file is applied, and nothing of this one is in flight.
                raise
            opened.pop_all()
        return _RunningFile(compiled, engine, session, context, tables, started_at, has_plan_file, planned)

    def _announce(self, announcement: Entry, file: _RunningFile, statement: Statement) -> None:
        """Record that the statement is about to start, wait for the answer, then prove the lock."""
        try:
            is_action = file.compiled.action(statement) is not None
            at = file.context.at(statement.index)
            in_session = replace(announcement.details, session=at, is_action=is_action)
            announcement = replace(announcement, details=in_session)
            versioned = recover.with_version(
                announcement, self._held, self._engines, file.compiled, statement, file.session
            )
            file.tables.begin_before(versioned.details.before)
            self._add_tables()
            # After the catalog was read, which takes as long as it takes to answer.
            if self._held.engine.cancelled():
                raise stopped_before(f"statement {statement.index} of {file.compiled.migration.location}")
        except BaseException:
            self._record_stop(announcement, file, statement.index)
            raise
        has_file = self._held.target.catalog.plan_required or file.has_plan_file
        self._before = versioned.details.before
        self._may_settle = self._before is not None and not has_file
        # Deferred first, so that it is recorded even if the lock is lost.
        self._recorder.defer(versioned)
        self._flush_and_prove(file, statement)

    def _record_stop(self, announcement: Entry, file: _RunningFile, index: int) -> None:
        """Record what is done, and that no statement is in flight."""
        if announcement.event is not EventType.STARTED:
            self._recorder.defer(announcement)
            self._defer_outcome(entries.interrupted(file.compiled, index - 1), file, index - 1)
        self._flush()

    def _flush_and_prove(self, file: _RunningFile, first: Statement) -> None:
        """Append the deferred entries and prove the lock. Nothing of the step that begins with `first` runs before that."""
        try:
            self._held.lock.renew_if_expired()
            self._recorder.flush()
            file.tables.wait_before()
            self._held.lock.prove()
        except LockLost:
            self._recorder.defer(entries.interrupted(file.compiled, first.index - 1))
            raise

    def _run_step(self, file: _RunningFile, step: Step) -> Entry:
        """Run statements that take effect together, and return the entry that records it."""
        started = time.monotonic()
        query_id = None
        for statement in step:
            if statement is not step[0]:
                self._flush_and_prove(file, step[0])
            query_id = self._execute(file, step, statement)
        return entries.took_effect(file.compiled, step[-1], file.started_at, _milliseconds_since(started), query_id)

    def _execute(self, file: _RunningFile, step: Step, statement: Statement) -> str | None:
        """Run one statement and return the engine's id of it."""
        session, compiled = file.session, file.compiled
        started, began = time.monotonic(), datetime.now(timezone.utc)
        migration, total = compiled.migration, len(compiled.statements)
        logger.debug("%s: statement %d of %d starts", migration.location, statement.index, total)
        tag = statement_tag(self._held.target.run.id, migration.label, statement.index)
        where = f"{migration.label} {statement.index}/{total} (line {statement.line})"
        what = f"{self._held.target.catalog.name}: running {where}"
        if call := compiled.action(statement):
            self._act(file, statement, call, tag, what)
            return None
        try:
            with (
                doing(what, session.progress),
                cancelling(session, self._held.engine.cancelled, self._held.engine.close_executor),
            ):
                return self._answer(file, statement, tag, what)
        except EngineError as lost:
            if isinstance(lost, NotPlain) and (other := self._engines.instead(lost.message)):
                self._defer_outcome(entries.interrupted(compiled, statement.index - 1), file, statement.index - 1)
                raise _OtherEngine(other, statement.index) from lost
            error = self._look_up(lost, InFlight((), began, tag, statement.text, None))
            if error is None:
                return lost.query_id
            raise self._failure(file, step, statement, error, _milliseconds_since(started)) from lost
        except BaseException:
            # Such as the caller's KeyboardInterrupt: the engine may still be executing the statement.
            self._recorder.append(entries.unknown(compiled, statement, _milliseconds_since(started)))
            raise

    def _answer(self, file: _RunningFile, statement: Statement, tag: str, what: str) -> str | None:
        """Return the engine's id of a statement that took effect: a direct one whose answer was lost is settled by its table."""
        try:
            return file.session.execute(statement.text, tag=tag)
        except OutcomeUnknown as lost:
            # A statement that was left may still take effect in this process.
            if not file.engine.is_direct or self._before is None or self._held.engine.cancelled():
                raise
            named = statement_of(file.compiled.named, statement.index)
            recover.settle_lost(self._held, lost, self._before, tag, named, what)
            return None

    def _act(self, file: _RunningFile, statement: Statement, call: ActionCall, tag: str, what: str) -> None:
        """Execute an action. However it stops, the next run calls it again, so that its outcome is never unknown.

        Raises:
            _FileWaits: its gate is shut.
        """
        started = time.monotonic()
        engine, shapes = self._held.engine, TableShapes(self._held.target.catalog)
        action = ActionRun(
            call.arguments,
            file.session,
            tag,
            lambda table: shapes.read(table, file.session),
            lambda: self._check(file, statement),
            Path(self._held.target.run.project),
        )
        try:
            with (
                closing(shapes),
                doing(what, action.shown),
                cancelling(file.session, engine.cancelled, engine.close_executor),
            ):
                self._held.target.open_action(call.name)(action)
        except GateShut as shut:
            self._wait(file, statement, shut.why)
            raise _FileWaits from shut
        except EngineError as error:
            if engine.cancelled():  # Which ended the statement that the action was running.
                self._record_stopped_action(file, statement)
                raise self._stopped_inside(file, statement) from error
            refused = StatementRefused(error.error_class, error.message, error.query_id, error.hint)
            duration_ms = _milliseconds_since(started)
            raise self._failure(file, (statement,), statement, refused, duration_ms) from error
        except LockLost:
            self._recorder.defer(entries.interrupted(file.compiled, statement.index - 1))
            raise
        except BaseException:
            self._record_stopped_action(file, statement)
            raise

    def _check(self, file: _RunningFile, statement: Statement) -> None:
        """Check that an action may take its next step."""
        if self._held.engine.cancelled():
            raise self._stopped_inside(file, statement)
        self._held.lock.renew_if_expired()
        self._held.lock.prove()

    def _stopped_inside(self, file: _RunningFile, statement: Statement) -> Interrupted:
        return stopped_before(f"the rest of statement {statement.index} of {file.compiled.migration.location}")

    def _record_stopped_action(self, file: _RunningFile, statement: Statement) -> None:
        done = statement.index - 1
        self._defer_outcome(entries.interrupted(file.compiled, done), file, done)
        self._flush()

    def _wait(self, file: _RunningFile, statement: Statement, why: str) -> None:
        """Record that the file waits; where it waited at this statement before, since then."""
        before, migration = file.planned.waiting, file.compiled.migration
        is_same = file.planned.resumes_at == statement.index
        waiting = Waiting(why, before.since if before and is_same else datetime.now(timezone.utc))
        self._defer_outcome(entries.waits(file.compiled, statement, waiting), file, statement.index - 1)
        name = migration.identity.get("name")
        self._progress.add_waiting(
            WaitingFile(migration.version or None, migration.location, statement.index, statement.line, waiting, name)
        )

    def _look_up(self, error: EngineError, statement: InFlight) -> EngineError | None:
        """Return the error, with what the engine's record of the statement proves; None where it proves that it took effect.

        An engine that gave the statement an id keeps such a record. A cancelled statement is left to `repair`.
        """
        if isinstance(error, StatementRefused) or error.query_id is None or self._held.engine.cancelled():
            return error
        try:
            evidence = self._held.engine.executor.evidence(statement)
        except GlacierbaseError as failed:
            logger.debug("the engine's record of query %s could not be read: %s", error.query_id, failed.message)
            return error
        if not evidence.is_proof:
            return error
        logger.warning("the answer to query %s was lost; by the engine's record: %s", error.query_id, evidence.facts[0])
        if evidence.took_effect:
            return None
        return StatementRefused(error.error_class, f"{error.message}; {evidence.facts[0]}", error.query_id)

    def _failure(
        self, file: _RunningFile, step: Step, statement: Statement, error: EngineError, duration_ms: int
    ) -> GlacierbaseError:
        """Record the outcome of a statement that did not succeed, and return the error to raise."""
        compiled, migration = file.compiled, file.compiled.migration
        # Before its last statement, the end of the session rolls a transaction back, whatever happened.
        had_no_effect = isinstance(error, StatementRefused) or statement is not step[-1]
        if had_no_effect:
            failed = entries.failed(compiled, statement, duration_ms, error)
            self._defer_outcome(failed, file, statement.index - 1)
            self._flush()
        else:
            self._recorder.append(entries.unknown(compiled, statement, duration_ms, error))
        # The run that took the lock may have caused the error, and what was recorded may not count.
        self._held.lock.check_not_taken()
        state = State.FAILED if had_no_effect else State.UNKNOWN
        self._progress.add_failed(
            FailedFile(
                migration.version or None, migration.location, statement.index, statement.line, error.message, state,
                migration.identity.get("name"),
            )
        )  # fmt: skip
        if had_no_effect:
            return statement_failed(compiled, step, statement, error)
        return outcome_unknown(compiled, statement, error, may_settle=self._may_settle)


def _milliseconds_since(started: float) -> int:
    """Return the milliseconds since `started`, a reading of the monotonic clock."""
    return round((time.monotonic() - started) * 1000)
