"""`show`: all that is known of one version, from history and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from glacierbase.history.details import details_of
from glacierbase.history.opening import Target
from glacierbase.history.records import History, Record
from glacierbase.history.state import current_state
from glacierbase.history.status import statement_at_stop
from glacierbase.inspect.status import statuses
from glacierbase.inspect.versions.made import made_by
from glacierbase.inspect.versions.shown import ShownRun, ShownStatement, ShowResult
from glacierbase.migrations.allows import Allow, allows_of
from glacierbase.migrations.statements import split_statements
from glacierbase.model.arguments import unknown_version
from glacierbase.model.command import command, repair_as
from glacierbase.model.migration import State, Statement
from glacierbase.model.result import Status

# Each with the version in it.
_NEXT: Mapping[State, Callable[[str], str]] = {
    State.PENDING: lambda _: f"`{command('migrate')}` applies it",
    State.RUNNING: lambda _: "a run is applying it",
    State.FAILED: lambda version: (
        f"remove the cause and run `{command('migrate')}` again; or `{repair_as(version, 'done')}`"
        f" (somebody completed the statement by hand); or `{repair_as(version, 'abandoned')}`"
        " (the file ends here, the fix is a new one); or correct the statements that are not done"
    ),
    State.INTERRUPTED: lambda _: f"run `{command('migrate')}` again: it continues where the run stopped",
    State.UNKNOWN: lambda version: (
        f"`{command('repair', version)}` shows the evidence of the engine; nothing runs until that is settled"
    ),
    State.CHANGED: lambda version: (
        f"restore the file, and put the change into a new migration; or `{repair_as(version, 'edited')}`"
    ),
    State.MISSING: lambda version: (
        f"`{command('pending')}` prints what restores the file; or `{repair_as(version, 'removed')}`"
    ),
    State.AHEAD: lambda version: (
        f"`{command('pending')}` says whether this is an older checkout, or what restores the file; a file that was deleted on"
        f" purpose: `{repair_as(version, 'removed')}`"
    ),
    State.OUT_OF_ORDER: lambda version: (
        f"`{command('pending')}` prints the command that gives it a newer version; or run it as it is:"
        f" `{command('migrate', '--allow-out-of-order', version)}`"
    ),
}


def show(target: Target, result: ShowResult, number: int) -> ShowResult:
    """Return all that is known of one version; `migration` stays None if there is no such version."""
    state = current_state(target)
    status = next((each for each in statuses(target, state) if int(each.version) == number), None)
    if status is None:
        return replace(result, warnings=state.warnings)
    record = state.history.records.get(number)
    return replace(
        result,
        migration=status,
        run=shown_run(record) if record else None,
        statements=statements_of(target, int(status.version), state.history),
        allows=allows_shown(target, int(status.version), state.history),
        events=tuple(event for event in state.history.events if event.version and int(event.version) == number),
        next=next_step(status),
        tables=made_by(state.history, number),
    )


def found(results: tuple[ShowResult, ...], version: str) -> tuple[ShowResult, ...]:
    """Return what `show` returned for each catalog, or raise an error if none of them has the version.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`.
    """
    if not any(result.migration for result in results):
        raise unknown_version(f"no catalog has a version {version}")
    return results


def next_step(status: Status) -> str:
    """Return the next step for a version in this state; empty when there is nothing to do."""
    next_of = _NEXT.get(status.state)
    return next_of(status.version) if next_of else ""


def shown_run(record: Record) -> ShownRun:
    """Return the run that applied the version, or ran it last."""
    event = record.outcome
    return ShownRun(
        run_id=event.run_id,
        os_user=event.os_user,
        host=event.host,
        principal=event.principal,
        ci_actor=details_of(record.started).ci_actor,
        engine=event.engine,
        git_commit=event.git_commit,
        ci_url=event.ci_url,
        plan=details_of(record.started).plan,
    )


def statements_of(target: Target, number: int, history: History) -> tuple[ShownStatement, ...]:
    """Return the statements of a version: as recorded when it was started, else those of the file."""
    record = history.records.get(number)
    found = _statements(target, number, record)
    return tuple(ShownStatement(each.index, each.line, _state_of(each.index, record), each.text) for each in found)


def allows_shown(target: Target, number: int, history: History) -> tuple[Allow, ...]:
    """Return the findings of `lint` that a version allows: as recorded when it was started, else those of the file."""
    record = history.records.get(number)
    return details_of(record.started).allows if record else allows_of(_statements(target, number, record))


def _statements(target: Target, number: int, record: Record | None) -> tuple[Statement, ...]:
    if record and record.started.rendered_sql is not None:
        return split_statements(record.started.rendered_sql, target.dialect)
    files = target.compile([each for each in target.migrations if each.number == number])
    return files[0].statements if files else ()


def _state_of(index: int, record: Record | None) -> str:
    if record is None:
        return State.PENDING.value
    if index <= record.statements_done:
        return "done"
    return record.state.value if index == statement_at_stop(record) else State.PENDING.value
