"""The read-only commands on one catalog. Each completes an empty result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glacierbase.apply.migrator import Migrator
from glacierbase.inspect import doctor as examination
from glacierbase.inspect.answers import lock_holder, next_step, shown_statements, statuses
from glacierbase.inspect.results import DoctorResult, HistoryResult, ShowResult, StatusResult


def status(migrator: Migrator, result: StatusResult, spark: Any) -> StatusResult:
    """Return the state of every version, and the lock holder."""
    view = migrator.view(spark)
    return replace(result, migrations=statuses(migrator, view), lock=lock_holder(view.lock), warnings=view.warnings)


def history(migrator: Migrator, result: HistoryResult, spark: Any) -> HistoryResult:
    """Return all events, in order."""
    view = migrator.view(spark)
    return replace(result, events=view.history.events, warnings=view.warnings)


def show(migrator: Migrator, result: ShowResult, number: int, spark: Any) -> ShowResult:
    """Return all that is known of one version; `migration` stays None if there is no such version."""
    view = migrator.view(spark)
    status = next((each for each in statuses(migrator, view) if int(each.version) == number), None)
    if status is None:
        return replace(result, warnings=view.warnings)
    return replace(
        result,
        migration=status,
        statements=shown_statements(migrator, int(status.version), view.history),
        events=tuple(event for event in view.history.events if event.version and int(event.version) == number),
        next=next_step(status),
    )


def doctor(migrator: Migrator, result: DoctorResult, print_ddl: bool, spark: Any) -> DoctorResult:
    """Return the checks of the catalog and the first error; or the DDL of its tables, without contacting anything."""
    if print_ddl:
        return replace(result, ddl=examination.print_ddl(migrator.catalog))
    checks = tuple(examination.examine(migrator, spark))
    return replace(result, checks=checks, error=next((check.error for check in checks if check.error), None))
