"""The errors that end a run in the middle of a file, each with the ways to continue."""

from __future__ import annotations

from typing import Any

from glacierbase.errors import EngineError, Interrupted, MigrationFailed, NeedsRepair
from glacierbase.history.items import UNTIL_SETTLED, after_failure, after_interrupt, after_lost_answer, ending
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.statements import Step
from glacierbase.model.migration import Statement
from glacierbase.model.text import numbered, quoted
from glacierbase.secrets import mask

# Lines of a statement that a message quotes.
_QUOTED_LINES = 10


def statement_failed(compiled: Compiled, step: Step, statement: Statement, error: EngineError) -> MigrationFailed:
    """Return the error for a statement that had no effect, with the ways to continue."""
    from glacierbase.migrations.sessions import why_not_continued  # Imports the grammar.

    total, first, where = len(compiled.statements), step[0].index, compiled.migration.location
    done = f"done and recorded: {numbered('statement', 1, first - 1)}" if first > 1 else "nothing of this file is done"
    rolled_back = f"; the transaction that began with statement {first} was rolled back" if len(step) > 1 else ""
    return MigrationFailed(
        "STATEMENT_FAILED",
        (
            f"{where}, line {statement.line}: statement {statement.index} of {total} failed: [{error.error_class}]"
            f" {error.message}",
            *_first_lines(statement.text),
            f"{done}{rolled_back}",
        ),
        after_failure(compiled.migration, first, total, why_not_continued(compiled, first)),
        **_place(compiled, statement),
        error_class=error.error_class,
    )


def _again(name: str) -> str:
    return f"edit the file, if only a comment: the repeatable {name} then runs from its beginning"


def outcome_unknown(compiled: Compiled, statement: Statement, error: EngineError, *, may_settle: bool) -> NeedsRepair:
    """Return the error for a statement that may have taken effect; `may_settle` as for `after_lost_answer`."""
    return NeedsRepair(
        "OUTCOME_UNKNOWN",
        (
            f"{compiled.migration.location}, line {statement.line}: the answer to statement {statement.index} of"
            f" {len(compiled.statements)} was lost or proves nothing: [{error.error_class}] {error.message}",
            *_first_lines(statement.text),
            "whether it took effect is unknown",
        ),
        f"{after_lost_answer(compiled.migration.label, may_settle=may_settle)}; {UNTIL_SETTLED}",
        **_place(compiled, statement),
        error_class=error.error_class,
    )


def session_not_restored(
    compiled: Compiled, resumes_at: int, why: str, statement: Statement, way: str = ""
) -> NeedsRepair:
    """Return the error for a file that cannot be resumed in the session that its completed statements had set.

    Args:
        why: a clause.
        statement: the one that prevents it.
        way: another way out, for the hint.
    """
    total, label = len(compiled.statements), compiled.migration.label
    return NeedsRepair(
        "SESSION_NOT_RESTORED",
        (
            f"{compiled.migration.location}, line {statement.line}: {why}",
            *_first_lines(statement.text),
            f"the file cannot continue at statement {resumes_at} in another session; nothing of it ran now",
        ),
        way + (_again(label) if compiled.migration.is_repeatable else ending(label, resumes_at, total)),
        **_place(compiled, statement),
        resumes_at=resumes_at,
    )


def stopped_before(what: str, result: str = "what ran before is recorded") -> Interrupted:
    """Return the error for a run that was stopped before `what`."""
    return Interrupted(
        "INTERRUPTED",
        f"stopped before {what}; {result}",
        after_interrupt(),
    )


def _place(compiled: Compiled, statement: Statement) -> dict[str, Any]:
    migration = compiled.migration
    return {
        **migration.identity,
        "path": migration.location,
        "line": statement.line,
        "statement_index": statement.index,
    }


def _first_lines(sql: str) -> list[str]:
    lines = quoted(mask(sql))
    return [*lines[:_QUOTED_LINES], *quoted("…")] if len(lines) > _QUOTED_LINES else lines
