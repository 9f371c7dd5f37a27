"""`repair`: record what a person decides about a version: an unknown outcome, a failed, an edited or a deleted file.

Nothing is changed but the history: one event per version, with reason and principal, under the lock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from glacierbase.apply.evidence import (
    Decision,
    ran_since_record,
    read_statements,
    resolution_entry,
    statement_of,
    step_at_stop,
    table_shows,
)
from glacierbase.apply.locked import LockedCatalog, locked, recording
from glacierbase.apply.results import RepairCase, RepairResult
from glacierbase.apply.transitions import WITHDRAWN, NewState, Resolution, after, choices, why_not_withdrawn
from glacierbase.errors import ConfigurationError, GlacierbaseError, NeedsRepair
from glacierbase.executors import Evidence, InFlight
from glacierbase.history.details import details_of
from glacierbase.history.entries import Entry, environment_accepted
from glacierbase.history.items import Item, items
from glacierbase.history.records import History, Record
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.statements import Step
from glacierbase.model.arguments import check_not_empty, check_reason, key_given
from glacierbase.model.command import command, repair_as
from glacierbase.model.migration import RESUMED, EventType, Key, State
from glacierbase.run.processes import is_engine_gone
from glacierbase.run.run import statement_tag
from glacierbase.sql.targets import logged_tables

# The states of versions that need a decision.
_UNDECIDED = (State.UNKNOWN, State.FAILED, State.CHANGED, State.MISSING)


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """The request of a caller of `Project.repair`: show cases, record a decision, or accept an environment.

    Attributes:
        keys: the versions and repeatables; empty for all that need a decision.
        environment_was: the environment whose history is accepted.
        reason: for either change.
        dry_run: record nothing.
    """

    keys: tuple[Key, ...]
    decision: Decision | None
    environment_was: str | None
    reason: str
    dry_run: bool

    @classmethod
    def of(
        cls,
        versions: Collection[str],
        as_: str | None,
        reason: str | None,
        environment_was: str | None,
        engine_stopped: bool,
        dry_run: bool,
    ) -> RepairRequest:
        """Check the arguments, which are those of `Project.repair`.

        Raises:
            ConfigurationError: one of them is wrong or missing.
        """
        keys = tuple(map(key_given, versions))
        possible = [resolution.value for resolution in Resolution]
        if as_ not in (None, *possible):
            raise ConfigurationError(
                "INVALID_VALUE",
                f"{as_} is not an outcome that can be recorded",
                f"use one of {', '.join((*possible, WITHDRAWN))}",
            )
        check_not_empty("environment_was", environment_was)
        if as_ or environment_was:
            check_reason(reason)
        if as_ and not versions:
            raise ConfigurationError("UNKNOWN_VERSION", "no version to repair was given", "name it: repair VERSION")
        reason = reason or ""
        decision = Decision(Resolution(as_), reason, engine_stopped) if as_ else None
        return cls(keys, decision, environment_was, reason, dry_run)

    @property
    def changes_history(self) -> bool:
        """Whether it is about a change of the history, also where `dry_run` makes none."""
        return bool(self.decision or self.environment_was)


def repair_catalog(
    target: CatalogRun, result: RepairResult, *, request: RepairRequest, lock_timeout: float
) -> RepairResult:
    """Do what was requested on one catalog."""
    if request.environment_was:
        if request.dry_run:
            return result
        accept_environment(target, request.environment_was, request.reason, lock_timeout)
        return replace(result, environment_was=request.environment_was)
    if request.decision is None or request.dry_run:
        return replace(result, cases=repair_cases(target, request.keys, request.decision))
    return replace(result, cases=repair(target, request.keys, request.decision, lock_timeout))


def repair_cases(target: CatalogRun, keys: Collection[Key], decision: Decision | None = None) -> tuple[RepairCase, ...]:
    """Return what is known about these versions and repeatables, or about all that need a decision. Writes nothing.

    Args:
        decision: what is to be recorded about them.

    Raises:
        ConfigurationError: the history has no such version, or the decision is not possible for it.
        NeedsRepair: as `repair`.
    """
    with target.opened() as opened:
        cases = _cases(opened, read_state(opened).history, keys)
    if decision:
        _check(cases, decision)
    return cases


def repair(
    target: CatalogRun, keys: Collection[Key], decision: Decision, lock_timeout: float = 0
) -> tuple[RepairCase, ...]:
    """Record the decision about these versions and repeatables.

    Raises:
        ConfigurationError: there is no such version, or the decision is not possible for it.
        NeedsRepair: the engine of the lost run may still execute the statement.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    with recording() as change, target.opened() as opened:
        state = read_state(opened)
        _check(_cases(opened, state.history, keys), decision)
        with locked(opened, state, lock_timeout) as held:
            cases = _cases(opened, held.state.history, keys)
            _check(cases, decision)
            entries = _entries(held, cases, decision)
            change.make(_recorded(cases, decision), lambda: held.recorder.append(*entries))
    return tuple(replace(case, repaired_as=decision.resolution.value) for case in cases)


def _entries(held: LockedCatalog, cases: Sequence[RepairCase], decision: Decision) -> list[Entry]:
    """Return the event of each case, with the tables of its file as they are now."""
    from glacierbase.record.table_records import TableRecords  # Only a repair that is recorded reads tables.

    target, tables, entries = held.target, TableRecords(held.target.catalog, held.engine, held.state.history), []
    for case in reversed(cases):
        record = held.state.history.records[case.key]
        entry = resolution_entry(target, case.state, record, decision)
        statements = read_statements(target, record)
        entries.append(entry.with_tables(tables.settled(statements, ran_since_record(record, entry, statements))))
    return entries[::-1]


def _recorded(cases: Sequence[RepairCase], decision: Decision) -> str:
    return f"recorded: {', '.join(f'{case.what} as {decision.resolution}' for case in cases)}"


def accept_environment(target: CatalogRun, was: str, reason: str, lock_timeout: float = 0) -> None:
    """Record that the history of environment `was` belongs to this environment, which was renamed, cloned, restored or moved.

    History and lock that were made in another catalog are given files of their own.

    Raises:
        HistoryDisagrees: the history belongs to another environment.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    done = f"recorded: the history of environment {was} is that of {target.catalog.environment} from now on"
    with recording() as change, target.opened() as opened:
        state = read_state(opened, was)
        if not state.history.events:
            raise not_repairable(
                f"catalog {target.catalog.name} has no history, so its environment cannot have changed"
            )
        with locked(opened, state, lock_timeout, environment=was) as held:
            change.make(done, lambda: held.recorder.append(environment_accepted(was, reason)))
            held.store.own_files()


def _cases(opened: OpenCatalog, history: History, keys: Collection[Key]) -> tuple[RepairCase, ...]:
    target = opened.target
    known = items(target.migrations, [(file, None) for file in target.repeatables], history)
    recorded = {key: item for key, item in known.items() if item.record}
    unknown = [key for key in keys if key not in recorded]
    if unknown:
        kind = "repeatable" if isinstance(unknown[0], str) else "version"
        raise not_repairable(f"the history of {target.catalog.name} has no {kind} {unknown[0]}")
    chosen = (item for key, item in recorded.items() if (key in keys if keys else item.state in _UNDECIDED))
    return tuple(_case(opened, item) for item in chosen)


def _case(opened: OpenCatalog, item: Item) -> RepairCase:
    record = item.recorded
    # Nothing about a repeatable that is to run again is in question.
    state = record.state if item.state is State.PENDING else item.state
    step = step_at_stop(opened.target, record) if state in (State.UNKNOWN, State.FAILED) else None
    first = step[0] if step else None
    run = record.outcome
    # The COMMIT alone decides a transaction.
    tag = statement_tag(run.run_id, record.label, step[-1].index) if step else ""
    evidence = Evidence()
    if state is State.UNKNOWN:
        evidence = _evidence(opened, record, step, tag)
    may_run = state is State.UNKNOWN and not _has_ended(record, evidence)
    possible = tuple(choice.value for choice in choices(state))
    if state in RESUMED and not record.is_repeatable and not why_not_withdrawn(record):
        possible = (*possible, WITHDRAWN)
    suggested = Resolution.DONE if evidence.took_effect else Resolution.NOT_DONE
    return replace(
        recorded_case(record, state),
        statement_index=first.index if first else None,
        line=first.line if first else None,
        sql=";\n".join(statement.text for statement in step) if step else None,
        query_id=run.query_id if run.event in (EventType.UNKNOWN, EventType.FAILED) else None,
        query_tag=tag if step and record.has_query_tags else None,
        evidence=evidence.facts,
        suggests=None if evidence.took_effect is None else suggested.value,
        may_run=may_run,
        engine=_engine_state(record, may_run) if state is State.UNKNOWN else "",
        choices=possible,
        commands=tuple(repair_as(record.label, choice) for choice in possible),
    )


def recorded_case(record: Record, state: State) -> RepairCase:
    """Return the facts of a record, without those of a statement."""
    run = record.outcome
    return RepairCase(
        version=record.version or None,
        name=record.name or None,
        state=state,
        path=record.started.path,
        statements_total=record.statements_total,
        error_message=run.error_message,
        run_id=run.run_id,
        os_user=run.os_user,
        host=run.host,
        ci_url=run.ci_url,
        since=record.announced_at,
    )


def _evidence(opened: OpenCatalog, record: Record, step: Step | None, tag: str) -> Evidence:
    if record.announced_at is None or step is None:
        return Evidence()
    tables = logged_tables(named for named in read_statements(opened.target, record) if named.statement in step)
    statement = InFlight(tables, record.announced_at, tag, step[-1].text, details_of(record.started).application)
    proof = _proof(opened, record, step[-1].index, tag)
    if details_of(record.started).is_direct:  # No engine has a record of it.
        return proof
    try:
        evidence = opened.engine.start().evidence(statement)
    except GlacierbaseError as error:
        evidence = Evidence((f"the engine's record could not be read: {error.message}",))
    took_effect = evidence.took_effect if proof.took_effect is None else proof.took_effect
    return replace(evidence, facts=(*proof.facts, *evidence.facts), took_effect=took_effect)


def _proof(opened: OpenCatalog, record: Record, index: int, tag: str) -> Evidence:
    """Return what `migrate` would settle the statement by: its table now, and its version at the announcement."""
    if record.before is None:
        return Evidence()
    try:
        statement = statement_of(read_statements(opened.target, record), index)
        took_effect, why = table_shows(opened.target.catalog, opened.engine, record.before, tag, statement)
    except GlacierbaseError as error:
        return Evidence((f"{record.before.table} could not be read: {error.message}",))
    if took_effect is False and not is_engine_gone(details_of(record.started).process):
        return Evidence((f"{why} so far; its engine may still be running",))
    return Evidence((why,), took_effect)


def _engine_state(record: Record, may_run: bool) -> str:
    if not may_run:
        return "the statement is not running any more"
    details = details_of(record.started)
    where = details.application or f"process {details.process.get('engine_pid')} on {record.outcome.host}"
    return f"it may still be running: {where}"


def _has_ended(record: Record, evidence: Evidence) -> bool:
    """Return whether the statement can have no further effect."""
    return bool(evidence.has_ended) or is_engine_gone(details_of(record.started).process)


def _check(cases: Sequence[RepairCase], decision: Decision) -> None:
    for case in cases:
        new_state = after(case.state, decision.resolution)
        if not isinstance(new_state, NewState):
            raise ConfigurationError(
                "NOT_REPAIRABLE",
                f"{case.what} is {case.state}: --as {decision.resolution} is not possible: {new_state}; nothing was"
                " recorded",
                " or ".join(f"`{command}`" for command in case.commands) or "there is nothing to repair",
                **case.identity,
            )
        if decision.resolution is Resolution.NOT_DONE and case.may_run and not decision.engine_stopped:
            raise NeedsRepair(
                "ENGINE_MAY_RUN",
                f"{case.what}: {case.engine}; the statement could take effect after `--as not-done` was recorded;"
                " nothing was recorded",
                "stop it, or check that it has ended, and add --engine-stopped, which is recorded",
                **case.identity,
            )


def not_repairable(what: str) -> ConfigurationError:
    """Return the error for what cannot be repaired."""
    return ConfigurationError(
        "NOT_REPAIRABLE", f"{what}; nothing was recorded", f"`{command('status')}` lists all versions"
    )
