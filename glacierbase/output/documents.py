"""Results as people and programs read them: plain text for the terminal, one JSON document per command. Nothing is decided here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.migration import Event, State
from glacierbase.model.results import (
    BaselineResult,
    Check,
    DoctorResult,
    HistoryResult,
    LockHolder,
    MigrateResult,
    PendingResult,
    PlannedFile,
    PlanResult,
    RenderResult,
    RepairCase,
    RepairResult,
    Result,
    ShowResult,
    Status,
    StatusResult,
    UnlockResult,
    ValidateResult,
    WarmResult,
    WrittenResult,
    to_json,
)
from glacierbase.model.text import split_lines
from glacierbase.output.printable import on_one_line, printable, printable_json


def json_document(command: str, results: Sequence[Result], error: GlacierbaseError | None, **fields: Any) -> str:
    """The one document of a command, on success and failure: `schema`, `ok`, `error`, `catalogs`, and `fields`."""
    document = {
        "schema": f"glacierbase/{command}/1",
        "ok": error is None,
        "error": to_json(error),
        "catalogs": [result.to_dict() for result in results],
        **fields,
    }
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def text_document(results: Sequence[Result]) -> str:
    """The same for people, a block per catalog."""
    return "\n\n".join(printable(lines) for result in results if (lines := _block(result)))


def text_error(error: GlacierbaseError) -> str:
    """An error for people: its name, what and where, and what to do."""
    what, *more = error.lines
    hint = [f"next: {error.hint}"] if error.hint else []
    return printable([f"error: {error.code}: {what}", *more, *hint])


def text_errors(errors: Sequence[GlacierbaseError]) -> str:
    """Return all errors of a command as text. The last line is the command that explains their codes."""
    parts = [part for error in errors for part in (error.errors if isinstance(error, SeveralErrors) else (error,))]
    codes = " ".join(dict.fromkeys(part.code for part in parts))
    return "\n".join([*map(text_error, errors), printable([f"more: glacierbase explain {codes}"])])


def _block(result: Result) -> list[str]:
    title = f"{result.catalog} ({result.environment})" if result.environment else result.catalog
    if result.skipped:
        return [f"{title}: skipped, {result.skipped}"]
    if isinstance(result, DoctorResult) and result.ddl:
        return [f"-- {title}", *split_lines(result.ddl.rstrip())]  # For a file that is run.
    if result.error and not isinstance(result, (MigrateResult, DoctorResult)):
        return []  # The error is the answer; only a run may have done something before it.
    body = _TEXTS[type(result)](result)
    if result.error and not body:
        return []
    warnings = [f"warning: {warning}" for warning in result.warnings]
    return [title, *warnings, *(f"  {line}".rstrip() for line in body)]


def _migrate(result: MigrateResult) -> list[str]:
    lines = [
        f"applied  {file.path}  {_statements(file.statements)}, {_seconds(file.duration_ms)}"
        + (f", resumed at statement {file.resumed_at}" if file.resumed_at > 1 else "")
        for file in result.applied
    ]
    if result.failed:
        lines.append(
            f"FAILED   {result.failed.path}  at statement {result.failed.statement}, line {result.failed.line}"
        )
    waiting = [version for version in result.not_run if not result.failed or version != result.failed.version]
    if waiting:
        lines.append(f"not run  {', '.join(waiting)}")
    return lines or ([] if result.error else ["nothing to do: every migration is applied"])


def _pending(result: PendingResult) -> list[str]:
    rows = [
        (
            file.version,
            file.description,
            file.author,
            _resumes(file.resumes_at) + _statements(file.statements),
            file.path,
        )
        for file in result.pending
    ]
    return _table(("version", "description", "author", "statements", "path"), rows) or ["nothing is pending"]


def _plan(result: PlanResult) -> list[str]:
    lines = [line for file in result.plan for line in _planned_file(file)]
    return lines or ["nothing would run: every migration is applied"]


def _planned_file(file: PlannedFile) -> list[str]:
    resumes = f", resumes at statement {file.resumes_at}" if file.resumes_at > 1 else ""
    lines = [f"{file.path}: {file.description} ({file.author}){resumes}"]
    for statement in file.statements:
        lines.append(f"  -- statement {statement.index}, line {statement.line}\n{statement.sql};")
    return lines


def _status(result: StatusResult) -> list[str]:
    rows = [
        (
            each.version,
            str(each.state),
            _done(each),
            _time(each.applied_at),
            each.author or "",
            each.description or "",
        )
        for each in result.migrations
    ]
    lines = _table(("version", "state", "statements", "applied at", "author", "description"), rows) or ["no migrations"]
    for each in result.migrations:
        if each.error_message and each.state is not State.APPLIED:
            lines.append(f"{each.version} {each.state} at statement {_done(each)}: {each.error_message}")
        if each.note:
            lines.append(f"{each.version} note: {each.note}")
    return [*lines, *_lock(result.lock)]


def _lock(lock: LockHolder | None) -> list[str]:
    if lock is None:
        return []
    place = f"{lock.os_user} on {lock.host} (pid {lock.pid})"
    return [f"lock: run {lock.owner} of {place}, since {_time(lock.acquired_at)}, lease until {_time(lock.expires_at)}"]


def _history(result: HistoryResult) -> list[str]:
    return _events(result.events) or ["no events: nothing was ever applied"]


def _events(events: Iterable[Event]) -> list[str]:
    rows = [
        (
            _time(event.recorded_at),
            f"{event.fence}.{event.sequence}",
            event.event,
            event.version or "",
            f"{event.statement_index}/{event.statement_total}" if event.statement_total is not None else "",
            f"{event.os_user}@{event.host}",
            event.run_id[:8],
            event.error_message or event.reason or "",
        )
        for event in events
    ]
    return _table(("at", "event", "what", "version", "statement", "who", "run", "why"), rows)


def _show(result: ShowResult) -> list[str]:
    status = result.migration
    if status is None:
        return ["no such version"]
    lines = [
        f"{status.version}  {status.description}",
        f"state       {status.state}, {_done(status)} statements",
        f"author      {status.author}",
        f"file        {status.path}",
    ]
    if status.applied_at:
        lines.append(f"applied at  {_time(status.applied_at)}")
    if result.events:
        first = result.events[-1]
        lines.append(f"run         {first.run_id} of {first.os_user}@{first.host} as {first.principal}, {first.engine}")
        lines += [
            f"{name:<11} {value}" for name, value in (("commit", first.git_commit), ("ci", first.ci_url)) if value
        ]
    for statement in result.statements:
        lines += ["", f"statement {statement.index}, line {statement.line}: {statement.state}\n{statement.sql}"]
    if status.error_message and status.state is not State.APPLIED:
        lines += ["", f"error       {status.error_message}"]
    if result.events:
        lines += ["", *_events(result.events)]
    return [*lines, "", f"next: {result.next}"] if result.next else lines


def _validate(result: ValidateResult) -> list[str]:
    return [f"{result.files} migration{'' if result.files == 1 else 's'} in order"]


def _repair(result: RepairResult) -> list[str]:
    if result.environment_was:
        return [
            f"recorded: the history of environment {result.environment_was} is that of {result.environment} from now on"
        ]
    lines = [line for case in result.cases for line in _repair_case(case)]
    return lines or ["nothing needs a person"]


def _repair_case(case: RepairCase) -> list[str]:
    if case.repaired_as:
        return [f"recorded: version {case.version} is {case.repaired_as}"]
    place = f", statement {case.statement_index} of {case.statements_total}" if case.statement_index else ""
    line = f", line {case.line}" if case.line else ""
    known = {
        "file": case.path,
        "error": case.error_message,
        "run": f"{case.run_id} of {case.os_user} on {case.host}",
        "ci": case.ci_url,
        "at": f"{_time(case.since)} UTC" if case.since else None,
        "query tag": case.query_tag,
        "query id": case.query_id,
        "engine": case.engine,
        "suggests": case.suggests,
    }
    sql = f"\n{case.sql}" if case.sql else ""
    lines = [f"{case.version} is {case.state}{place}{line}{sql}"]
    lines += [f"  {name:<9} {value}" for name, value in known.items() if value]
    if case.state is State.UNKNOWN:
        lines += [f"  evidence  {each}" for each in case.evidence] or ["  evidence  none: look at the table"]
    choices = " | ".join(case.choices)
    return [*lines, f"  next      glacierbase repair {case.version} --as {choices} --reason '…'"] if choices else lines


def _unlock(result: UnlockResult) -> list[str]:
    if result.lock is None:
        return [result.says]
    ci = [f"ci: {result.lock.ci_url}"] if result.lock.ci_url else []
    return [*_lock(result.lock), *ci, result.says, *(["released"] if result.released else [])]


def _baseline(result: BaselineResult) -> list[str]:
    lines = [f"baselined  {file.path}" for file in result.baselined]
    return lines or ["nothing to do: all of them are in the history"]


def _doctor(result: DoctorResult) -> list[str]:
    width = max((len(check.name) for check in result.checks), default=0)
    return [f"{'FAILED' if check.error else 'ok':<7} {check.name:<{width}}  {_found(check)}" for check in result.checks]


def _warm(result: WarmResult) -> list[str]:
    jars = f"{result.dependencies} jar{'' if result.dependencies == 1 else 's'} in the cache"
    if result.archive is None or result.start_ms is None:
        return [jars if result.dependencies else "nothing to do: its engine does not start here"]
    return [jars, f"class archive {result.archive}: Spark starts in {result.start_ms / 1000:.1f} s"]


def _found(check: Check) -> str:
    if check.error is None:
        return check.detail
    message = " ".join(f"{check.error.code}: {check.error.message}".split())
    return f"{message}; next: {check.error.hint}" if check.error.hint else message


def _render(result: RenderResult) -> list[str]:
    files = [(f"-- {on_one_line(file.path)}", *split_lines(file.sql)) for file in result.files]
    return [line for lines in files for line in lines] or ["no migrations"]


def _written(result: WrittenResult) -> list[str]:
    return [f"wrote {file}" for file in result.files]


_TEXTS: dict[type, Callable[[Any], list[str]]] = {
    MigrateResult: _migrate,
    PendingResult: _pending,
    PlanResult: _plan,
    StatusResult: _status,
    HistoryResult: _history,
    ShowResult: _show,
    ValidateResult: _validate,
    RenderResult: _render,
    DoctorResult: _doctor,
    WarmResult: _warm,
    RepairResult: _repair,
    UnlockResult: _unlock,
    BaselineResult: _baseline,
    WrittenResult: _written,
}


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    flat = [tuple(on_one_line(" ".join(cell.split())) for cell in row) for row in (header, *rows)]
    widths = [max(len(row[column]) for row in flat) for column in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in flat]


def _done(status: Status) -> str:
    return f"{status.statements_done}/{status.statements_total}" if status.statements_total is not None else ""


def _resumes(at: int) -> str:
    return f"from {at} of " if at > 1 else ""


def _statements(count: int) -> str:
    return f"{count} statement{'' if count == 1 else 's'}"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _time(instant: datetime | None) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S}" if instant else ""
