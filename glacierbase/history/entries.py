"""The events that a run records, one function per kind, before the recorder adds what identifies the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from glacierbase.errors import EngineError
from glacierbase.history.details import NO_DETAILS, Details
from glacierbase.history.lockrow import holder_of
from glacierbase.migrations.allows import allows_of
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.migration import EventType, OriginalRun, State, Statement, Waiting
from glacierbase.sql.targets import target_tables
from glacierbase.stores import LockRow


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns that identify a migration file. The version of a repeatable is None; its path has its name."""

    version: str | None
    description: str | None
    author: str | None
    path: str | None
    checksum: str | None
    rendered_checksum: str | None
    statement_total: int | None

    @classmethod
    def of(cls, compiled: Compiled) -> FileColumns:
        """Return the columns of a compiled file."""
        migration = compiled.migration
        return cls(
            version=migration.version or None,
            description=migration.description,
            author=migration.author,
            path=migration.location,
            checksum=migration.checksum,
            rendered_checksum=compiled.checksum,
            statement_total=len(compiled.statements),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event without the columns that all events of a run share; `Recorder` adds them. Names are those of the columns.

    Attributes:
        principal: who decided, if not the user that the engine authenticated.
    """

    event: EventType
    state: State | None = None
    file: FileColumns | None = None
    rendered_sql: str | None = None
    statement_index: int | None = None
    statement_checksum: str | None = None
    tables: str | None = None
    started_at: datetime | None = None
    duration_ms: int | None = None
    error_class: str | None = None
    error_message: str | None = None
    reason: str | None = None
    query_id: str | None = None
    principal: str | None = None
    details: Details = NO_DETAILS

    def with_tables(self, tables: tuple[Mapping[str, object], ...]) -> Entry:
        """Return the entry with the records of the tables of its file."""
        return replace(self, details=replace(self.details, tables=tables))


def started(
    compiled: Compiled,
    resumes_at: int,
    started_at: datetime,
    process: Mapping[str, object],
    jumped_over: Sequence[str] = (),
    reason: str | None = None,
    plan: str | None = None,
) -> Entry:
    """Announce statement `resumes_at`, the first one of the file that runs."""
    return Entry(
        event=EventType.STARTED,
        state=State.RUNNING,
        file=FileColumns.of(compiled),
        rendered_sql=compiled.text,
        statement_index=resumes_at,
        tables=_tables(compiled),
        started_at=started_at,
        reason=reason,
        details=Details(
            statement_checksums=compiled.statement_checksums,
            process=process,
            headers=compiled.migration.headers,
            allows=allows_of(compiled.statements),
            squashes=compiled.migration.squashes,
            jumped_over=tuple(jumped_over),
            plan=plan,
        ),
    )


def took_effect(
    compiled: Compiled,
    statement: Statement | None,
    started_at: datetime,
    duration_ms: int = 0,
    query_id: str | None = None,
) -> Entry:
    """Record that a statement took effect and announce the next one; after the last one, that the file is applied.

    Args:
        statement: None for a file without statements.
    """
    is_last = statement is None or statement.index == len(compiled.statements)
    return Entry(
        event=EventType.APPLIED if is_last else EventType.STATEMENT_DONE,
        state=State.APPLIED if is_last else State.RUNNING,
        file=FileColumns.of(compiled),
        statement_index=statement.index if statement else 0,
        statement_checksum=statement.checksum if statement else None,
        tables=_tables(compiled, statement) if statement else None,
        started_at=started_at,
        duration_ms=duration_ms,
        query_id=query_id,
    )


def failed(compiled: Compiled, statement: Statement, duration_ms: int, error: EngineError) -> Entry:
    """Record that a statement is known to have had no effect."""
    return _ended(EventType.FAILED, State.FAILED, compiled, statement, duration_ms, error)


def unknown(compiled: Compiled, statement: Statement, duration_ms: int, error: EngineError | None = None) -> Entry:
    """Record that the outcome of a statement is not known."""
    return _ended(EventType.UNKNOWN, State.UNKNOWN, compiled, statement, duration_ms, error)


def _ended(
    kind: EventType,
    state: State,
    compiled: Compiled,
    statement: Statement,
    duration_ms: int,
    error: EngineError | None,
) -> Entry:
    return Entry(
        event=kind,
        state=state,
        file=FileColumns.of(compiled),
        statement_index=statement.index,
        statement_checksum=statement.checksum,
        tables=_tables(compiled, statement),
        duration_ms=duration_ms,
        error_class=error.error_class if error else None,
        error_message=error.message if error else None,
        query_id=error.query_id if error else None,
    )


def interrupted(compiled: Compiled, statements_done: int) -> Entry:
    """Record that the run stops inside a file while no statement is in flight."""
    return Entry(
        event=EventType.INTERRUPTED,
        state=State.INTERRUPTED,
        file=FileColumns.of(compiled),
        statement_index=statements_done,
    )


def waits(compiled: Compiled, statement: Statement, waiting: Waiting) -> Entry:
    """Record that the run stops inside a file, because the gate of an action is shut. No statement is in flight."""
    entry = interrupted(compiled, statement.index - 1)
    details = Details(waiting=waiting)
    return replace(entry, event=EventType.WAITING, state=State.WAITING, details=details)


def baselined(
    compiled: Compiled,
    reason: str,
    differences: Sequence[DeclaredDifference] = (),
    original: OriginalRun | None = None,
    jumped_over: Sequence[str] = (),
) -> Entry:
    """Record a file as applied although it was not run.

    Args:
        differences: accepted ones, of the tables that the file creates.
        original: who applied the file with another tool.
        jumped_over: versions that stay pending, and may run later.
    """
    return Entry(
        event=EventType.BASELINED,
        state=State.APPLIED,
        file=FileColumns.of(compiled),
        rendered_sql=compiled.text,
        statement_index=len(compiled.statements),
        tables=_tables(compiled),
        reason=reason,
        details=Details(
            statement_checksums=compiled.statement_checksums,
            headers=compiled.migration.headers,
            allows=allows_of(compiled.statements),
            squashes=compiled.migration.squashes,
            differences=tuple(differences),
            original=original,
            jumped_over=tuple(jumped_over),
        ),
    )


def lock_taken(kind: EventType, former: LockRow, reason: str | None) -> Entry:
    """Record from which run the lock was taken (`kind` is taken_over or unlocked)."""
    details = Details(former_owner=former.owner, former_fence=former.fence, former_process=holder_of(former))
    return Entry(event=kind, reason=reason, details=details)


def environment_accepted(was: str, reason: str) -> Entry:
    """Record that the history of environment `was` belongs to this run's environment."""
    return Entry(event=EventType.REPAIRED, reason=reason, details=Details(environment_was=was))


def repaired(
    file: FileColumns, state: State, statements_done: int, resolution: str, reason: str, engine_stopped: bool
) -> Entry:
    """Record what a person decided about a version."""
    return Entry(
        event=EventType.REPAIRED,
        state=state,
        file=file,
        statement_index=statements_done,
        reason=reason,
        details=Details(resolution=resolution, engine_stopped=engine_stopped),
    )


def _tables(compiled: Compiled, only: Statement | None = None) -> str | None:
    """Return the tables that a file changes, or one of its statements."""
    return target_tables(named for named in compiled.named if only is None or named.statement is only)
