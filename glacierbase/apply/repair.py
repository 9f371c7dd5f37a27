"""Settling what only a person can know: a statement whose outcome is unknown, a failed file, an edited or a removed one.

Nothing is guessed and nothing is changed but the history: one event a version, with reason and principal, under the lock.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from glacierbase.apply.migrator import Migrator, View
from glacierbase.apply.plan import make_status
from glacierbase.apply.results import RepairCase
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError, NeedsRepair
from glacierbase.executors import Evidence, InFlight
from glacierbase.executors.engine import Engine
from glacierbase.history.recorder import Recorder
from glacierbase.history.records import Record, details
from glacierbase.migrations.compiled import prepare, targets
from glacierbase.migrations.statements import split_statements
from glacierbase.migrations.transactions import Step, steps
from glacierbase.model.migration import Event, EventType, State
from glacierbase.run.run import is_engine_gone, statement_tag


class Resolution(str, Enum):
    """What a person may say of a version (`--as`)."""

    DONE = "done"
    NOT_DONE = "not-done"
    ABANDONED = "abandoned"
    EDITED = "edited"
    REMOVED = "removed"

    __str__ = str.__str__


_CHOICES = {
    State.UNKNOWN: (Resolution.DONE, Resolution.NOT_DONE, Resolution.ABANDONED),
    State.FAILED: (Resolution.DONE, Resolution.ABANDONED),
    State.INTERRUPTED: (Resolution.ABANDONED,),
    State.CHANGED: (Resolution.EDITED,),
    State.MISSING: (Resolution.REMOVED,),
}


@dataclass(frozen=True, slots=True)
class Orders:
    """What to record.

    Attributes:
        engine_stopped: whether the person vouches that the engine of the lost run is at work no more.
    """

    resolution: Resolution
    reason: str
    engine_stopped: bool = False


def show(migrator: Migrator, numbers: Collection[int], session: Any = None) -> tuple[RepairCase, ...]:
    """What is known of these versions; of all that need a person, where none is named. Writes nothing.

    Raises:
        ConfigurationError: the history has no such version.
    """
    with migrator.opened(session) as (engine, store):
        return _cases(migrator, migrator.look(store), engine, numbers)


def repair(
    migrator: Migrator, numbers: Collection[int], orders: Orders, lock_timeout: float = 0, session: Any = None
) -> tuple[RepairCase, ...]:
    """Record what a person says of these versions.

    Raises:
        ConfigurationError: there is no such version, or that cannot be said of it.
        NeedsRepair: the engine of the lost run may still be at work.
    """
    with migrator.opened(session) as (engine, store):
        view = migrator.look(store)
        _check(_cases(migrator, view, engine, numbers), orders)
        with migrator.locked(engine, store, view, lock_timeout) as (_, view, recorder):
            cases = _cases(migrator, view, engine, numbers)
            _check(cases, orders)
            records = [view.history.records[int(case.version)] for case in cases]
            recorder.append(*(_event(migrator, recorder, record, orders) for record in records))
    return tuple(replace(case, repaired_as=orders.resolution.value) for case in cases)


def accept_environment(migrator: Migrator, was: str, reason: str, lock_timeout: float = 0, session: Any = None) -> None:
    """Record that a history which says environment `was` is this environment's: it was renamed, or cloned.

    Raises:
        HistoryDisagrees: the history does not say so.
    """
    with migrator.opened(session) as (engine, store):
        view = migrator.look(store, was)
        if not view.history.events:
            raise _nothing(f"catalog {migrator.catalog.name} has no history whose environment could be another")
        with migrator.locked(engine, store, view, lock_timeout, environment=was) as (_, _, recorder):
            said = json.dumps({"environment_was": was})
            recorder.append(recorder.event(EventType.REPAIRED, None, reason=reason, details=said))


def _cases(migrator: Migrator, view: View, engine: Engine, numbers: Collection[int]) -> tuple[RepairCase, ...]:
    states = {int(status.version): status.state for status in make_status(migrator.migrations, view.history)}
    asked = sorted(numbers or (n for n, record in view.history.records.items() if _needs_person(states[n], record)))
    unknown = [number for number in asked if number not in view.history.records]
    if unknown:
        raise _nothing(f"the history of {migrator.catalog.name} has no version {unknown[0]}")
    return tuple(_case(migrator, view.history.records[n], states[n], engine) for n in asked)


def _needs_person(state: State, record: Record) -> bool:
    return record.state is State.UNKNOWN or state in (State.FAILED, State.CHANGED, State.MISSING)


def _case(migrator: Migrator, record: Record, state: State, engine: Engine) -> RepairCase:
    # An unknown outcome comes first, whatever became of the file.
    state = State.UNKNOWN if record.state is State.UNKNOWN else state
    step = _step_at_stop(migrator, record) if state in (State.UNKNOWN, State.FAILED) else None
    first = step[0] if step else None
    last = record.last
    # Of a transaction, its COMMIT: what the statements before it said means nothing.
    tag = statement_tag(last.run_id, record.version, step[-1].index) if step else ""
    evidence = Evidence()
    if state is State.UNKNOWN:
        evidence = _evidence(engine, record, step, tag)
    may_run = state is State.UNKNOWN and not _has_ended(record, evidence)
    return RepairCase(
        version=record.version,
        state=state,
        path=record.started.path,
        statement_index=first.index if first else None,
        statements_total=record.statements_total,
        line=first.line if first else None,
        sql=";\n".join(statement.text for statement in step) if step else None,
        error_message=last.error_message,
        run_id=last.run_id,
        os_user=last.os_user,
        host=last.host,
        ci_url=last.ci_url,
        since=record.announced_at,
        query_id=last.query_id if last.event in (EventType.UNKNOWN, EventType.FAILED) else None,
        query_tag=tag if step and record.is_tagged else None,
        evidence=evidence.found,
        suggests=None if evidence.took_effect is None else _suggestion(evidence.took_effect).value,
        may_run=may_run,
        engine=_engine(record, may_run) if state is State.UNKNOWN else "",
        choices=tuple(choice.value for choice in _CHOICES.get(state, ())),
    )


def _suggestion(took_effect: bool) -> Resolution:
    return Resolution.DONE if took_effect else Resolution.NOT_DONE


def _step_at_stop(migrator: Migrator, record: Record) -> Step | None:
    """The statements that were in flight or failed, as the run that started them had them."""
    try:
        found = steps(split_statements(record.started.rendered_sql or "", migrator.dialect), migrator.dialect)
    except MigrationFileError:  # What was masked in it may have been part of its syntax.
        return None
    return next((step for step in found if step[-1].index > record.statements_done), None)


def _evidence(engine: Engine, record: Record, step: Step | None, tag: str) -> Evidence:
    if record.announced_at is None or step is None:
        return Evidence()
    tables: Sequence[str] = json.loads(targets(step) or "[]")
    application = details(record.started).get("process", {}).get("application")
    statement = InFlight(tables, record.announced_at, tag, step[-1].text, application)
    try:
        return engine.start().evidence(statement)
    except GlacierbaseError as error:
        return Evidence((f"the engine could not be asked: {error.message}",))


def _engine(record: Record, may_run: bool) -> str:
    if not may_run:
        return "the statement runs no more"
    process = details(record.started).get("process", {})
    where = process.get("application") or f"process {process.get('engine_pid')} on {record.last.host}"
    return f"it may still be running: {where}"


def _has_ended(record: Record, evidence: Evidence) -> bool:
    """Whether nothing can still come of the statement."""
    return bool(evidence.has_ended) or is_engine_gone(details(record.started).get("process", {}))


def _check(cases: Sequence[RepairCase], orders: Orders) -> None:
    for case in cases:
        if orders.resolution.value not in case.choices:
            known = " or ".join(f"--as {choice}" for choice in case.choices)
            raise ConfigurationError(
                "NOT_REPAIRABLE",
                f"version {case.version} is {case.state}: {orders.resolution} cannot be said of it; nothing was recorded",
                known or "there is nothing to repair",
                version=case.version,
            )
        if orders.resolution is Resolution.NOT_DONE and case.may_run and not orders.engine_stopped:
            raise NeedsRepair(
                "ENGINE_MAY_RUN",
                f"version {case.version}: {case.engine}; the statement could take effect after it was called not done;"
                " nothing was recorded",
                "end it, or see that it has ended, and add --engine-stopped, which is recorded",
                version=case.version,
            )


def _event(migrator: Migrator, recorder: Recorder, record: Record, orders: Orders) -> Event:
    """What a person said, as an event; what it does not change of the version stays as it was."""
    said = {"as": orders.resolution.value, **({"engine_stopped": True} if orders.engine_stopped else {})}
    state, done = _outcome(migrator, record, orders.resolution)
    values: dict[str, Any] = {
        "version": record.version,
        "description": record.started.description,
        "author": record.started.author,
        "path": record.started.path,
        "checksum": record.last.checksum,
        "rendered_checksum": record.last.rendered_checksum,
        "statement_total": record.statements_total,
        "statement_index": done,
        "reason": orders.reason,
        "details": json.dumps(said),
    }
    if orders.resolution is Resolution.EDITED:
        values |= _as_edited(migrator, record)
    return recorder.event(EventType.REPAIRED, state, **values)


def _outcome(migrator: Migrator, record: Record, resolution: Resolution) -> tuple[State, int]:
    """The state after it, and how many statements are done then."""
    done = record.statements_done
    if resolution is Resolution.DONE:
        step = _step_at_stop(migrator, record)
        done = step[-1].index if step else done + 1
        return (State.APPLIED if done == record.statements_total else State.INTERRUPTED), done
    if resolution is Resolution.NOT_DONE:
        return State.INTERRUPTED, done
    if resolution is Resolution.ABANDONED:
        return State.ABANDONED, done
    return record.state, done


def _as_edited(migrator: Migrator, record: Record) -> dict[str, Any]:
    """The file as it is now."""
    migration = next(each for each in migrator.migrations if each.number == record.number)
    prepared = prepare(migration, migrator.catalog, migrator.dialect)
    return {
        "description": migration.description,
        "author": migration.author,
        "path": migration.location,
        "checksum": migration.checksum,
        "rendered_checksum": prepared.checksum,
    }


def _nothing(what: str) -> ConfigurationError:
    return ConfigurationError(
        "NOT_REPAIRABLE", f"{what}; nothing was recorded", "`glacierbase status` lists all versions"
    )
