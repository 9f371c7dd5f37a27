"""`status` and `doctor` on one catalog. Each completes an empty result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glacierbase.history.lockrow import lock_holder
from glacierbase.history.opening import Target
from glacierbase.history.squashes import fitted
from glacierbase.history.state import current_state
from glacierbase.inspect import doctor as examination
from glacierbase.inspect.results import DoctorResult, StatusResult
from glacierbase.inspect.statuses import statuses
from glacierbase.stores.renaming import renaming_warnings


def status(target: Target, result: StatusResult, spark: Any) -> StatusResult:
    """Return the state of every version, and the lock holder."""
    state = current_state(target, spark)
    warnings = (*state.warnings, *(error.message for error in fitted(target.migrations, state.history).errors))
    return replace(result, migrations=statuses(target, state), lock=lock_holder(state.lock), warnings=warnings)


def doctor(target: Target, result: DoctorResult, print_ddl: bool, spark: Any) -> DoctorResult:
    """Return the checks of the catalog and the first error; or the DDL of its tables, without contacting anything."""
    if print_ddl:
        return replace(result, ddl=examination.print_ddl(target))
    checks = tuple(examination.examine(target, spark))
    error = next((check.error for check in checks if check.error), None)
    return replace(result, checks=checks, warnings=renaming_warnings(target.catalog), error=error)
