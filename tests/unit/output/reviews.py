"""Results of `review` with made-up values."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.capabilities.review.cost import Affected, Cost, Undo
from glacierbase.capabilities.review.results import (
    Origin,
    Replayed,
    ReviewedFile,
    ReviewedStatement,
    ReviewedTable,
    ReviewedView,
    ReviewResult,
)
from glacierbase.errors import MigrationFileError
from glacierbase.model.differences import Change, Difference
from glacierbase.model.finding import Finding, Severity
from glacierbase.output.documents import CommandOutcome

TABLE = "lake.silver.user_sleep"
PATH = "migrations/analytics/0042_replace_legacy_flag.sql"
DROPPED = "on the throw-away copy: the column legacy_flag (string) is dropped, with its values"

VIEWS = ("lake.silver.sleepers",)
UNDO = (
    Undo(f"ALTER TABLE {TABLE} DROP COLUMN device"),
    Undo(f"SELECT * FROM {TABLE} VERSION AS OF <snapshot before>", "until expire_snapshots removes the snapshot"),
)


def finding(
    code: str = "DS103",
    line: int = 4,
    *,
    severity: Severity = Severity.ERROR,
    message: str = DROPPED,
    environments: tuple[str, ...] = ("dev",),
    allowed: str | None = None,
) -> Finding:
    """Return a finding in the file of `review`."""
    return Finding(
        code=code, severity=severity, message=message, why="Readers break.", fix="Stop reads first.", path=PATH, line=line,
        column=7, statement_index=1, table=TABLE, environments=environments, allowed=allowed,
    )  # fmt: skip


def review(*findings: Finding, environments: tuple[str, ...] = ("dev",), buckets: int = 16) -> ReviewResult:
    """Return the review of a file that drops a column, adds one and changes the partitioning."""
    statements = (
        ReviewedStatement(1, 4, f"ALTER TABLE {TABLE} DROP COLUMN legacy_flag"),
        ReviewedStatement(2, 6, f"ALTER TABLE {TABLE}\n  ADD PARTITION FIELD bucket({buckets}, user_id)"),
    )
    file = ReviewedFile("0042", PATH, "Replace the flag", "Data Team", "destructive", environments, statements)
    differences = (
        Difference("column", "legacy_flag", "string", None, destructive=True),
        Difference("column", "device", None, "string"),
        Difference("column", "", "name", "full_name"),
        Difference("partitioning", "", "day(ts)", f"bucket({buckets}, user_id)"),
    )
    error = MigrationFileError("REVIEW_FAILED", "wrong") if any(each.is_error for each in findings) else None
    return ReviewResult(
        "analytics",
        ", ".join(environments),
        environments=environments,
        error=error,
        files=(file,),
        tables=(
            ReviewedTable(
                TABLE,
                Change.ALTERED,
                None,
                None,
                differences,
                cost=Cost.DESTRUCTIVE,
                undo=UNDO,
                affects=tuple(Affected),
                views=VIEWS,
            ),
        ),
        views=(ReviewedView("lake.silver.sleepers", Change.CREATED),),
        findings=tuple(replace(each, environments=environments) for each in findings),
        replay=Replayed(7),
        origin=Origin("glacierbase review --base origin/main"),
    )


def outcome(*results: ReviewResult) -> CommandOutcome:
    """Return what `review` with these results returned."""
    return CommandOutcome("review", results, next((each.error for each in results if each.error), None))
