"""The read-only commands on one catalog. Each completes an empty result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glacierbase.history.lockrow import lock_holder
from glacierbase.history.opening import Target
from glacierbase.history.squashes import fitted
from glacierbase.history.state import current_state
from glacierbase.inspect import doctor as examination
from glacierbase.inspect.answers import allows_shown, next_step, shown_run, statements_of, statuses
from glacierbase.inspect.drift_results import DriftResult
from glacierbase.inspect.results import DoctorResult, HistoryResult, ShowResult, StatusResult
from glacierbase.model.arguments import unknown_version
from glacierbase.stores.renaming import renaming_warnings


def status(target: Target, result: StatusResult, spark: Any) -> StatusResult:
    """Return the state of every version, and the lock holder."""
    state = current_state(target, spark)
    warnings = (*state.warnings, *(error.message for error in fitted(target.migrations, state.history).errors))
    return replace(result, migrations=statuses(target, state), lock=lock_holder(state.lock), warnings=warnings)


def history(target: Target, result: HistoryResult, spark: Any) -> HistoryResult:
    """Return all events, in order."""
    state = current_state(target, spark)
    return replace(result, events=state.history.events, warnings=state.warnings)


def drift(target: Target, result: DriftResult, spark: Any) -> DriftResult:
    """Return how the tables differ from their records."""
    from glacierbase.inspect import drift as drifting  # Only this command reads tables.

    return drifting.drift(target, result, spark)


def show(target: Target, result: ShowResult, number: int, spark: Any) -> ShowResult:
    """Return all that is known of one version; `migration` stays None if there is no such version."""
    state = current_state(target, spark)
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
    )


def found(results: tuple[ShowResult, ...], version: str) -> tuple[ShowResult, ...]:
    """Return what `show` returned for each catalog, or raise an error if none of them has the version.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`.
    """
    if not any(result.migration for result in results):
        raise unknown_version(f"no catalog has a version {version}")
    return results


def doctor(target: Target, result: DoctorResult, print_ddl: bool, spark: Any) -> DoctorResult:
    """Return the checks of the catalog and the first error; or the DDL of its tables, without contacting anything."""
    if print_ddl:
        return replace(result, ddl=examination.print_ddl(target))
    checks = tuple(examination.examine(target, spark))
    error = next((check.error for check in checks if check.error), None)
    return replace(result, checks=checks, warnings=renaming_warnings(target.catalog), error=error)
