"""The results of the read-only commands. Field names are the names in the JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from glacierbase.errors import GlacierbaseError
from glacierbase.inspect.outcomes import outcome_table, outcomes
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import Event, State
from glacierbase.model.result import LockHolder, Result, Status
from glacierbase.model.text import Cell, Line, Mark, Verbatim, counted, split_lines, table


@dataclass(frozen=True, slots=True)
class StatusResult(Result):
    """The state of every version, and the lock holder."""

    migrations: tuple[Status, ...] = ()
    lock: LockHolder | None = None

    def lines(self) -> Sequence[Line]:
        header = ("version", "state", "statements", "applied at", "author", "description")
        lines = table(header, [_status_row(each) for each in self.migrations]) or ["no migrations"]
        for each in self.migrations:
            if each.error_message and each.state is not State.APPLIED:
                lines.append(f"{each.version} {each.state} at statement {each.progress}: {each.error_message}")
            if each.note:
                lines.append(f"{each.version} note: {each.note}")
        return [*lines, self.lock.line()] if self.lock else lines


def _status_row(each: Status) -> tuple[Cell, ...]:
    return (each.version, Mark(each.state), each.progress, each.applied_at, each.author, each.description)


@dataclass(frozen=True, slots=True)
class HistoryResult(Result):
    """The events of a catalog, in order."""

    events: tuple[Event, ...] = ()

    def lines(self) -> Sequence[Line]:
        if not self.events:
            return ["no events: nothing was ever applied"]
        return outcome_table(outcomes(self.events)) or ["no outcomes: no event is about a migration"]

    def event_lines(self) -> Sequence[Line]:
        """Return the text of every event."""
        return event_table(self.events) or self.lines()


def event_table(events: Iterable[Event]) -> list[Line]:
    """Return a table with a row per event."""
    header = ("at", "event", "what", "version", "statement", "who", "run", "why")
    return table(header, [_event_row(event) for event in events])


def _event_row(event: Event) -> tuple[Cell, ...]:
    return (
        event.recorded_at,
        f"{event.fence}.{event.sequence}",
        Mark(event.event),
        event.version,
        f"{event.statement_index}/{event.statement_total}" if event.statement_total is not None else "",
        f"{event.os_user}@{event.host}",
        event.run_id[:8],
        event.error_message or event.reason,
    )


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement of a shown version. `state` is done, failed, unknown, running or pending."""

    index: int
    line: int
    state: str
    sql: str


@dataclass(frozen=True, slots=True)
class ShowResult(Result):
    """All that is known of one version: description, author, statements, events, and the next step."""

    migration: Status | None = None
    statements: tuple[ShownStatement, ...] = ()
    events: tuple[Event, ...] = ()
    next: str = ""

    def lines(self) -> Sequence[Line]:
        status = self.migration
        if status is None:
            return ["no such version"]
        lines: list[Line] = [
            Mark(f"{status.version}  {status.description}"),
            *table((), [*_summary(status), *(_run(self.events[-1]) if self.events else ())]),
        ]
        for each in self.statements:
            lines += ["", f"statement {each.index}, line {each.line}: {each.state}\n{each.sql}"]
        if status.error_message and status.state is not State.APPLIED:
            lines += ["", f"error: {status.error_message}"]
        if self.events:
            lines += ["", *event_table(self.events)]
        return [*lines, "", f"next: {self.next}"] if self.next else lines


def _summary(status: Status) -> Iterator[tuple[Cell, Cell]]:
    yield "state", Mark(f"{status.state}, {status.progress} statements")
    yield "author", status.author
    yield "file", status.path
    if status.applied_at:
        yield "applied at", status.applied_at


def _run(last: Event) -> Iterator[tuple[Cell, Cell]]:
    yield "run", f"{last.run_id} of {last.os_user}@{last.host} as {last.principal}, {last.engine}"
    yield from ((name, value) for name, value in (("commit", last.git_commit), ("ci", last.ci_url)) if value)


@dataclass(frozen=True, slots=True)
class ValidateResult(Result):
    """How many files of one catalog and environment are valid."""

    files: int = 0

    def lines(self) -> list[str]:
        return [f"{counted(self.files, 'migration')} in order"]


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A migration as one environment renders it."""

    version: str
    path: str
    sql: str


@dataclass(frozen=True, slots=True)
class RenderResult(Result):
    """The migrations of a catalog. All `environments` render them alike."""

    environments: tuple[str, ...] = ()
    files: tuple[RenderedFile, ...] = ()

    def lines(self) -> Sequence[Line]:
        # A line break in the path would end the comment.
        files = [(f"-- {on_one_line(file.path)}", *split_lines(file.sql)) for file in self.files]
        return [Verbatim(line) for lines in files for line in lines] or ["no migrations"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of `doctor`: what it found, or its error."""

    name: str
    detail: str = ""
    error: GlacierbaseError | None = None

    def found(self) -> str:
        """Return what was found, or the error and its hint, on one line."""
        if self.error is None:
            return self.detail
        message = " ".join(f"{self.error.code}: {self.error.message}".split())
        return f"{message}; next: {self.error.hint}" if self.error.hint else message


@dataclass(frozen=True, slots=True)
class DoctorResult(Result):
    """The checks of `doctor`, in order; with `--print-ddl` the statements in `ddl` instead."""

    checks: tuple[Check, ...] = ()
    ddl: str | None = None

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        rows = ((Mark("FAILED" if each.error else "ok"), each.name, each.found()) for each in self.checks)
        return table((), rows)

    def script(self) -> str | None:
        return self.ddl
