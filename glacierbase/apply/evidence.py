"""The evidence of a statement whose outcome is unknown, and the event that records its outcome. For `repair` and `recover`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glacierbase.apply.transitions import NewState, Resolution, after
from glacierbase.apply.verdict import may_run_again, new_name, verdict
from glacierbase.errors import MigrationFileError
from glacierbase.executors import type_of
from glacierbase.executors.direct.files import FileEngines
from glacierbase.executors.engine import Engine
from glacierbase.history.entries import Entry, FileColumns, repaired
from glacierbase.history.records import Record
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.statements import Step, split_statements, steps
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import State, Statement
from glacierbase.model.shape import TableVersion

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement


@dataclass(frozen=True, slots=True)
class Decision:
    """What to record.

    Attributes:
        engine_stopped: whether the person confirms that the engine of the lost run has stopped.
    """

    resolution: Resolution
    reason: str
    engine_stopped: bool = False


def _statements_of(target: CatalogRun, record: Record) -> tuple[Statement, ...]:
    """Return the statements of a file as of its last start; none if the history does not hold their complete text."""
    try:
        return tuple(split_statements(record.started.rendered_sql or "", target.dialect))
    except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
        return ()


def read_statements(target: CatalogRun, record: Record) -> tuple[FileStatement, ...]:
    """Return what the statements of a file do, as of its last start."""
    from glacierbase.sql.file import named  # Imports the grammar.

    return named(_statements_of(target, record), target.dialect, target.catalog)


def statement_of(statements: Sequence[FileStatement], index: int) -> FileStatement | None:
    """Return a statement of a file; None if the history does not hold its complete text."""
    return next((named for named in statements if named.statement.index == index), None)


def table_shows(
    catalog: Catalog, engine: Engine, before: TableVersion, tag: str, statement: FileStatement | None
) -> tuple[bool | None, str]:
    """Read the table or the namespace of a statement again, as its version before was read, and return the verdict."""
    if before.by_engine:
        with closing(engine.start().open_session()) as session:
            now = type_of(catalog).table_version(catalog, session, before.table)
    else:
        now = engine.tables.version(before.table, is_namespace=before.is_namespace)
    if now and not now.exists and (name := new_name(statement)):
        now = engine.tables.version(name)
    took_effect, why = verdict(before, now, tag, statement.parsed if statement else None)
    is_plain = statement is not None and not before.by_engine and FileEngines(catalog).is_plain(statement)
    if took_effect is not None or statement is None or not is_plain:
        return took_effect, why
    if now and now.exists and engine.tables.shows(statement.parsed, before):
        return True, f"a change of {before.table} since is exactly that of the statement, so it took effect"
    return (False, f"{why}; the statement may run again") if may_run_again(statement.parsed) else (None, why)


def resolution_entry(target: CatalogRun, state: State, record: Record, decision: Decision) -> Entry:
    """Return the event that records the decision about a version in this state. All else is unchanged."""
    new_state = after(state, decision.resolution)
    assert isinstance(new_state, NewState)
    done = record.statements_done
    if new_state is NewState.CONTINUED:
        step = step_at_stop(target, record)
        done = step[-1].index if step else done + 1
    recorded = new_state.state(record.state, is_last=done == record.statements_total)
    file = _edited_file(target, record) if new_state is NewState.ACCEPTED else recorded_file(record)
    return repaired(file, recorded, done, decision.resolution.value, decision.reason, decision.engine_stopped)


def ran_since_record(record: Record, entry: Entry, statements: Sequence[FileStatement]) -> tuple[FileStatement, ...]:
    """Return the statements of a file that took effect since its tables were recorded last, by the entry that settles it.

    A run that was lost has recorded none of its statements; another one has recorded those before the one that failed.
    """
    first = record.started.statement_index or 1 if record.state is State.UNKNOWN else record.statements_done + 1
    return tuple(named for named in statements if first <= named.statement.index <= (entry.statement_index or 0))


def recorded_file(record: Record) -> FileColumns:
    """Return the columns of a file as its history has them."""
    return FileColumns(
        version=record.version or None,
        description=record.started.description,
        author=record.started.author,
        path=record.started.path,
        checksum=record.last.checksum,
        rendered_checksum=record.last.rendered_checksum,
        statement_total=record.statements_total,
    )


def _edited_file(target: CatalogRun, record: Record) -> FileColumns:
    migration = next(migration for migration in target.migrations if migration.number == record.number)
    [compiled] = target.compile([migration])
    return replace(FileColumns.of(compiled), version=record.version, statement_total=record.statements_total)


def step_at_stop(target: CatalogRun, record: Record) -> Step | None:
    """Return the statements that were in flight or failed, as recorded by the run that started them."""
    try:
        all_steps = steps(_statements_of(target, record), target.dialect)
    except MigrationFileError:
        return None
    return next((step for step in all_steps if step[-1].index > record.statements_done), None)
