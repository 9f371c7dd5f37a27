"""The screens of the commonest commands, as a terminal shows them, from values that never change.

`tests/unit/output/golden/` holds each of them at 60, 80 and 120 columns, in colours (`.ansi`) and without (`.txt`). After a
change of what they show, look at the difference and write them again:

    python -m tests.unit.output.screens
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints
from unittest.mock import patch

from click.testing import CliRunner

from glacierbase.apply.results import (
    NOT_RUN,
    AppliedFile,
    FailedFile,
    MigrateResult,
    PendingFile,
    PendingResult,
    PlannedFile,
    PlannedStatement,
    PlanResult,
    RepairCase,
    RepairResult,
)
from glacierbase.capabilities.tables.blame import BlamedLine, BlameResult
from glacierbase.capabilities.tables.compare.compare import EnvironmentState, compare
from glacierbase.capabilities.tables.compare.results import CompareResult
from glacierbase.capabilities.tables.compare.state import StateResult, TableState, VersionState
from glacierbase.cli.program import cli
from glacierbase.errors import EngineUnavailable, GlacierbaseError, MigrationFailed, MigrationFileError, SeveralErrors
from glacierbase.inspect.history import HistoryResult, outcomes
from glacierbase.inspect.results import Check, DoctorResult, StatusResult
from glacierbase.inspect.show import ShownRun, ShownStatement, ShowResult
from glacierbase.model.access import NamespaceAccess, Protection
from glacierbase.model.differences import Difference
from glacierbase.model.finding import Severity
from glacierbase.model.migration import AppliedBy, Event, State
from glacierbase.model.printable import Show
from glacierbase.model.result import LockHolder, Result, Status
from glacierbase.output.documents import Lines, text_document, text_errors
from glacierbase.output.review.markdown import render
from glacierbase.output.screen import Screen
from glacierbase.output.side_by_side import side_by_side
from glacierbase.record.lineage import LastChange
from glacierbase.record.shapes import ChangeOrigin
from tests.unit.output.reviews import finding, outcome, review

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (60, 80, 120)
NOW = datetime(2026, 11, 22, 16, 56, 7, tzinfo=timezone.utc)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_NAMES = ("create_sleep_events", "raise_commit_retries", "add_the_device_column_to_events", "drop_legacy_flag")
_WHY = (
    "Create the table of sleep events, partitioned by day and bucketed by user",
    "Increase commit resilience during high-concurrency backfills",
    "Device names are needed by the 2027 firmware report (#901)",
    "Column unused since 2026-09; frees 2 TB after the next rewrite",
)
_VERSIONS = ("20261102091500", "20261104140000", "20261120103000", "20261122155900")
_PATHS = [f"migrations/analytics/{version}_{name}.sql" for version, name in zip(_VERSIONS, _NAMES, strict=True)]
_RUN = "8f3c1d2e9a7b4c55"
_SQL = "ALTER TABLE lake.sleep.events\nADD COLUMN device STRING COMMENT 'name as the firmware reports it, empty before version 4.2'"

V = TypeVar("V")


def made(kind: type[V], **given: Any) -> V:
    """Return a value of a dataclass; fields that are not given and have no default are empty."""
    hints = get_type_hints(kind)
    required = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]  # type: ignore[arg-type]
    return kind(**{**{name: _empty(hints[name]) for name in required}, **given})


def _empty(kind: Any) -> Any:
    if type(None) in get_args(kind):
        return None
    return () if "tuple" in str(kind) else next(iter(State)) if kind is State else kind()


def _at(**before: float) -> datetime:
    return NOW - timedelta(**before)


def _status(index: int, state: State, **given: Any) -> Status:
    return made(
        Status, version=_VERSIONS[index], description=_WHY[index], author="Data Platform Team", path=_PATHS[index],
        state=state, **given,
    )  # fmt: skip


def _event(event: str, index: int, sequence: int, **given: Any) -> Event:
    return made(
        Event, fence=12, sequence=sequence, event=event, version=_VERSIONS[index], description=_WHY[index],
        author="Data Platform Team", os_user="ann", host="build-host-17", run_id=_RUN, principal="glacierbase",
        engine="Spark 4.1.0, Iceberg 1.12.0", git_commit="4b7e9a1c", **given,
    )  # fmt: skip


_APPLIED = tuple(AppliedFile(_VERSIONS[index], _PATHS[index], index + 1, 1900 - 700 * index, 1) for index in range(2))
_STATUS = (
    _status(0, State.APPLIED, statements_done=2, statements_total=2, applied_at=_at(days=20)),
    _status(1, State.CHANGED, statements_done=1, statements_total=1, applied_at=_at(hours=5)),
    _status(
        2, State.FAILED, statements_done=1, statements_total=2, stopped_at=2,
        error_message="[FIELDS_ALREADY_EXISTS] Cannot add column device: it is in struct<id: bigint, device: string>",
    ),
    _status(3, State.PENDING, statements_total=None),
)  # fmt: skip
_PASSED = tuple(replace(each, error_message=None, stopped_at=None) for each in _STATUS)
_LOCK = LockHolder(_RUN, "build-host-17", 4711, "ann", None, _at(minutes=3), _at(seconds=-40))
_EVENTS = (
    _event("started", 2, 41, recorded_at=_at(minutes=4), statement_index=1, statement_total=2),
    _event("statement_done", 2, 42, recorded_at=_at(minutes=3, seconds=9), statement_index=1, statement_total=2),
    _event(
        "failed", 2, 43, recorded_at=_at(minutes=3), statement_index=2, statement_total=2,
        error_message="[FIELDS_ALREADY_EXISTS] Cannot add column device",
    ),
)  # fmt: skip
_FAILURE = MigrationFailed(
    "STATEMENT_FAILED",
    (
        f"{_PATHS[2]}, line 7: statement 2 of 2 failed: [FIELDS_ALREADY_EXISTS] Cannot add column device: it exists",
        *(f"    | {line}" for line in _SQL.split("\n")),
        "done and recorded: statement 1",
    ),
    f"remove the cause and run `glacierbase migrate --env prod` again: it continues at statement 2; or `glacierbase repair"
    f" {_VERSIONS[2]} --env prod --as done --reason '…'` (somebody completed it by hand)",
)
_INVALID = SeveralErrors(
    [
        MigrationFileError(
            "MISSING_HEADER", f"{_PATHS[2]}, line 1: the header MIGRATION_AUTHOR is missing",
            "write above the SQL: -- MIGRATION_AUTHOR: the person or team responsible for it",
        ),
        MigrationFileError(
            "UNDEFINED_VARIABLE", f"{_PATHS[3]}, line 9: variables.sleep.events.buketSize is not defined in environment prod",
        ),
    ]
)  # fmt: skip


def _migrate(**given: Any) -> MigrateResult:
    return MigrateResult("analytics", "prod", applied=_APPLIED, **given)


_FAILED = _migrate(
    failed=FailedFile(_VERSIONS[2], _PATHS[2], 2, 7, "no", State.FAILED), not_run=_VERSIONS[3:], error=_FAILURE
)  # fmt: skip
_LEFT = MigrateResult(
    "web", "prod", skipped=f"{NOT_RUN}catalog analytics failed", not_run=("20261120120000", "daily_visits")
)  # fmt: skip
_PENDING = tuple(made(PendingFile, version=_VERSIONS[i], description=_WHY[i], author="Data Platform Team", path=_PATHS[i],
                      statements=i, resumes_at=4 - i) for i in (2, 3))  # fmt: skip
_PLANNED = made(
    PlannedFile, version=_VERSIONS[2], description=_WHY[2], author="Data Platform Team", path=_PATHS[2], resumes_at=2,
    statements=(PlannedStatement(2, 7, _SQL, "v1:sha256:0f3a"),),
)  # fmt: skip
_LAST = _EVENTS[-1]
_SHOWN = ShowResult(
    "analytics", "prod", migration=_STATUS[2], events=_EVENTS,
    run=ShownRun(
        _LAST.run_id, _LAST.os_user, _LAST.host, _LAST.principal, None, _LAST.engine, _LAST.git_commit, _LAST.ci_url
    ),
    statements=(
        ShownStatement(1, 4, "done", "ALTER TABLE lake.sleep.events SET TBLPROPERTIES ('a'='1')"),
        ShownStatement(2, 7, "failed", _SQL),
    ),
    next=f"remove the cause and run `glacierbase migrate --env prod` again; or `glacierbase repair {_VERSIONS[2]} --as done`",
)  # fmt: skip
_CHECKS = (
    Check("configuration", "catalogs/analytics.yaml, environment prod"),
    Check("files", "4 migrations render and split"),
    Check("connection", "Spark 4.1.0, Iceberg 1.12.0 as glacierbase@REALM, in 4.2 s"),
    Check("history", "43 events, the lock is free"),
    Check(
        "rights",
        error=EngineUnavailable(
            "STORE_UNAVAILABLE", "the catalog answered 403: principal glacierbase may not create tables in lake.glacierbase",
            "grant them, or let a role that has them run the output of `glacierbase doctor --catalog analytics --print-ddl`",
        ),
    ),
)  # fmt: skip
_ACCESS = (
    NamespaceAccess(
        "lake.glacierbase", Protection.PREVENTED,
        "the identity of access.probeAs may not add a column, set a property, create a table, drop a table",
    ),
    NamespaceAccess("lake.sleep", Protection.DETECTED, "the identity of access.probeAs may add a column, set a property"),
    NamespaceAccess("lake.web", Protection.UNKNOWN, "the namespace does not exist yet"),
)  # fmt: skip
_CASE = made(
    RepairCase, version=_VERSIONS[2], state=State.UNKNOWN, path=_PATHS[2], statement_index=2, statements_total=2, line=7,
    sql=_SQL, run_id=_RUN, os_user="ann", host="build-host-17", since=_at(minutes=3),
    engine="Spark application app-1 on build-host-17",
    evidence=("lake.sleep.events: snapshot 8812 by another application, 16:53:09 UTC",), choices=("done", "not-done"),
    commands=tuple(
        f"glacierbase repair {_VERSIONS[2]} --as {each} --reason '…' --env prod" for each in ("done", "not-done")
    ),
)  # fmt: skip


_SINCE = LastChange(_VERSIONS[2], _at(days=2), "Data Platform Team", _WHY[2], ChangeOrigin.MIGRATION)
_CREATED = replace(_SINCE, version=_VERSIONS[0], at=_at(days=20), description=_WHY[0])
_OUTSIDE = LastChange(None, _at(days=1), None, None, ChangeOrigin.OUTSIDE, at_most=True)


def _blamed(
    kind: str, name: str, type_: str, since: LastChange, change: str = "", *, required: bool = False
) -> BlamedLine:
    return BlamedLine(
        kind, name, type_, since.version, since.at, since.author, since.description, since.is_outside, required, change,
        (), since, None,
    )  # fmt: skip


_BLAMED = BlameResult(
    "analytics", "prod", table="lake.sleep.events",
    lines_=(
        _blamed("column", "user_id", "bigint", _CREATED, required=True),
        _blamed("column", "device", "struct<model:string,firmware:struct<version:string,build:int>>", _SINCE, "was string"),
        _blamed("column", "device.firmware", "struct<version:string,build:int>", _SINCE),
        _blamed("column", "debug_flag", "string", _OUTSIDE),
        _blamed("partition", "user_bucket", "bucket(16, user_id)", _CREATED),
        _blamed("property", "write.parquet.bloom-filter-enabled.column.user_id", "true", _CREATED),
    ),
    next="keep, undo or ignore what no migration made: `glacierbase drift --table lake.sleep.events`",
)  # fmt: skip
_STATE = VersionState(
    _VERSIONS[0], _WHY[0], State.APPLIED, _at(days=20), AppliedBy.RUN, 2, 2, None, ("v1:sha256:8c1f03aa",), "r1",
    has_file=True, squash=None, tables=("lake.sleep.events",),
)  # fmt: skip


def _column(*states: VersionState | None) -> tuple[VersionState, ...]:
    """Return the states of the versions in one environment; None where it does not know one."""
    named = zip(states, _VERSIONS, _WHY, strict=True)
    return tuple(replace(each, version=version, description=why) for each, version, why in named if each)


def _compared() -> CompareResult:
    """Return three environments, of which one has another file, one failed and is behind, and one has a hotfix."""
    pending = replace(
        _STATE, state=State.PENDING, applied_at=None, applied_by=None, statements_done=0, rendered_checksum=None
    )
    failed = replace(pending, state=State.FAILED, stopped_at=2)
    edited = replace(_STATE, state=State.CHANGED, checksums=("v1:sha256:77ab91bb",))
    hotfix = replace(_STATE, state=State.MISSING, has_file=False, applied_at=_at(hours=4))
    versions = {
        "dev": _column(_STATE, _STATE, _STATE, None),
        "staging": _column(replace(_STATE, rendered_checksum="r2"), edited, failed, None),
        "prod": _column(_STATE, _STATE, pending, hotfix),
    }
    table = TableState("lake.sleep.events", None, True, _at(days=1), True, None, (), parts=())
    altered = replace(table, altered=(Difference("column", "debug_flag", None, "string"),))
    return compare(
        "analytics",
        [
            EnvironmentState(
                name,
                StateResult(
                    "analytics", name, read_at=NOW, versions=found, tables=(altered if name == "prod" else table,)
                ),
            )
            for name, found in versions.items()
        ],
    )


def _of(
    *results: Result, errors: tuple[GlacierbaseError, ...] = (), lines: Lines | None = None
) -> Callable[[Show], str]:
    def shown(show: Show) -> str:
        summary = MigrateResult.summary if isinstance(results[0], MigrateResult) else lines
        return "\n".join([text_document(results, summary, show), *([text_errors(errors, show)] if errors else [])])

    return shown


def _help(_show: Show) -> str:
    return CliRunner().invoke(cli, ["--help"], prog_name="glacierbase", terminal_width=80).output.rstrip()


_BY_POSITION = finding("BC104", 6, severity=Severity.WARNING, message="INSERT by position fails")
_REVIEW = review(finding(), _BY_POSITION, finding("PA101", 6, message="old files stay", allowed="rewritten on Friday"))
COMMENT = "comment.md"
SCREENS: dict[str, Callable[[Show], str]] = {
    "migrate": _of(_migrate()),
    "migrate-failed": _of(_FAILED, errors=(_FAILURE,)),
    "migrate-not-run": _of(_FAILED, _LEFT, errors=(_FAILURE,)),
    "pending": _of(PendingResult("analytics", "prod", pending=_PENDING)),
    "status": _of(StatusResult("analytics", "prod", migrations=_STATUS, lock=_LOCK, warnings=("2 runs are ahead",))),
    "status-environments": _of(
        *side_by_side(
            [
                StatusResult(
                    "analytics", "dev", migrations=tuple(replace(each, state=State.APPLIED) for each in _PASSED)
                ),
                StatusResult("analytics", "prod", migrations=_STATUS),
            ]
        )
    ),
    "compare": _of(_compared()),
    "history": _of(HistoryResult("analytics", "prod", events=_EVENTS, outcomes=outcomes(_EVENTS), total=len(_EVENTS))),
    "history-events": _of(HistoryResult("analytics", "prod", events=_EVENTS), lines=HistoryResult.event_lines),
    "show": _of(_SHOWN),
    "blame": _of(_BLAMED),
    "plan": _of(PlanResult("analytics", "prod", plan=(_PLANNED,))),
    "validate-errors": lambda show: text_errors((_INVALID,), show),
    "doctor": _of(DoctorResult("analytics", "prod", checks=_CHECKS, access=_ACCESS)),
    "repair": _of(RepairResult("analytics", "prod", cases=(_CASE,))),
    "review": _of(_REVIEW),
    "help": _help,
}


def screens() -> Iterator[tuple[str, str]]:
    """Yield the name of each golden file and its text: the screens, and the comment of a pull request."""
    yield COMMENT, f"{render(outcome(_REVIEW))}\n"
    for name, screen in SCREENS.items():
        for width in WIDTHS:
            with patch("glacierbase.model.result.datetime", wraps=datetime, **{"now.return_value": NOW}):
                text = screen(Screen(width, has_colour=True, now=NOW).show)
            yield f"{name}-{width}.ansi", f"{text}\n"
            yield f"{name}-{width}.txt", f"{_ESCAPE.sub('', text)}\n"


def main() -> None:
    """Write the golden files in place of those that are there."""
    GOLDEN.mkdir(exist_ok=True)
    found = dict(screens())
    for path in GOLDEN.iterdir():
        path.unlink()
    for name, text in found.items():
        (GOLDEN / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
