"""The hooks of a catalog file: commands of the user that run before and after `migrate`.

`beforeMigrate` runs before the lock is acquired; if it fails, no migration starts. `afterMigrate` and `onFailure` run
after the lock is released; if they fail, the result has a warning. No other command of glacierbase runs a hook.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from glacierbase.apply.failures import stopped_before
from glacierbase.apply.plan import Plan
from glacierbase.apply.preview import plan_result
from glacierbase.apply.results import MigrateResult
from glacierbase.errors import ConfigurationError
from glacierbase.history.target import CatalogRun
from glacierbase.model.result import document
from glacierbase.model.text import split_lines
from glacierbase.run.activity import doing
from glacierbase.run.user_command import ProgramOutcome, run_command
from glacierbase.secrets import mask

logger = logging.getLogger("glacierbase")

# A failure quotes the last lines of the hook's output; the log has all that is kept.
_QUOTED_LINES, _QUOTED_CHARACTERS = 10, 2_000


def before(target: CatalogRun, plan: Plan) -> None:
    """Run `beforeMigrate` with the plan on its stdin.

    Raises:
        ConfigurationError: `HOOK_FAILED`: it did not exit with 0.
        Interrupted: the run was cancelled meanwhile.
    """
    catalog = target.catalog
    if not catalog.hooks.before_migrate:
        return
    planned = document("plan", [plan_result(target, plan)], None)
    ending = _run(target, "beforeMigrate", catalog.hooks.before_migrate, planned)
    if target.cancelled():
        raise stopped_before(f"catalog {catalog.name}", "nothing of it ran")
    if ending.failure:
        raise ConfigurationError(
            "HOOK_FAILED",
            f"catalog {catalog.name}: nothing ran; {_failure('beforeMigrate', ending)}",
            "remove the cause that the hook reports, or correct hooks.beforeMigrate in the catalog file",
            hook="beforeMigrate",
        )


def after(target: CatalogRun, result: MigrateResult, *, had_pending: bool) -> MigrateResult:
    """Run `onFailure` or `afterMigrate` with the result on its stdin, and return the result, with a warning if the hook failed.

    Once the run is cancelled, no hook is started.

    Args:
        had_pending: whether there was something to apply; if not, and without an error, no hook runs.
    """
    hooks = target.catalog.hooks
    name, words = ("onFailure", hooks.on_failure) if result.error else ("afterMigrate", hooks.after_migrate)
    if not words or target.cancelled() or not (had_pending or result.error):
        return result
    ending = _run(target, name, words, document("migrate", [result], result.error))
    if not ending.failure:
        return result
    return replace(result, warnings=(*result.warnings, _failure(name, ending)))


def _run(target: CatalogRun, name: str, words: Sequence[str], content: dict[str, Any]) -> ProgramOutcome:
    catalog = target.catalog
    logger.info("%s: running hook %s", catalog.name, name)
    variables = {
        "GLACIERBASE_CATALOG": catalog.name,
        "GLACIERBASE_ENVIRONMENT": catalog.environment,
        "GLACIERBASE_HOOK": name,
    }
    with doing(f"{catalog.name}: running hook {name}", announce=False):
        ending = run_command(
            words,
            json.dumps(content, default=str).encode(),
            Path(target.run.project),
            variables,
            catalog.hooks.timeout_seconds,
            target.cancelled,
        )
    logger.info("%s: hook %s %s", catalog.name, name, ending.failure or "succeeded")
    logger.debug("%s: output of hook %s:\n%s", catalog.name, name, mask(ending.output))
    return ending


def _failure(name: str, ending: ProgramOutcome) -> str:
    """Return what failed, and the last lines of the hook's output."""
    last = split_lines(mask(ending.output).rstrip()[-_QUOTED_CHARACTERS:])[-_QUOTED_LINES:]
    return "\n".join([f"hook {name} {ending.failure}", *last])
