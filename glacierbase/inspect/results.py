"""The results of the read-only commands. Field names are the names in the JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.inspect.outcomes import ci_actors, outcome_table, outcomes
from glacierbase.migrations.allows import Allow
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import Event, State
from glacierbase.model.result import LockHolder, Result, Status, user_of
from glacierbase.model.text import Cell, Line, Mark, Verbatim, counted, split_lines, table


@dataclass(frozen=True, slots=True)
class StatusResult(Result):
    """The state of every version, and the lock holder."""

    migrations: tuple[Status, ...] = ()
    lock: LockHolder | None = None

    def lines(self) -> Sequence[Line]:
        header = ("version", "state", "done", "applied at", "author", "description")
        return [*(table(header, [_status_row(each) for each in self.migrations]) or ["no migrations"]), *self.notes()]

    def notes(self) -> list[str]:
        """Return the lines below the table: errors, notes and the lock holder."""
        lines = []
        for each in self.migrations:
            if each.error_message and each.state is not State.APPLIED:
                lines.append(f"{each.version} {each.state}{each.place}: {each.error_message}")
            if each.note:
                lines.append(f"{each.version} note: {each.note}")
        return [*lines, self.lock.line()] if self.lock else lines


def _status_row(each: Status) -> tuple[Cell, ...]:
    return (each.version, Mark(each.state_name), each.progress, each.applied_at, each.author, each.description)


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


def event_table(events: Sequence[Event]) -> list[Line]:
    """Return a table with a row per event."""
    header = ("at", "event", "what", "version", "statement", "who", "run", "why")
    actors = ci_actors(events)
    return table(header, [_event_row(event, actors.get(event.run_id)) for event in events])


def _event_row(event: Event, ci_actor: str | None) -> tuple[Cell, ...]:
    return (
        event.recorded_at,
        f"{event.fence}.{event.sequence}",
        Mark(event.event),
        event.version,
        f"{event.statement_index}/{event.statement_total}" if event.statement_total is not None else "",
        user_of(event.os_user, event.host, ci_actor),
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
class ShownRun:
    """The run that applied the version, or ran it last; for a baselined version the run of `baseline`.

    Attributes:
        plan: the digest of the plan file that the run applied, or None.
    """

    run_id: str
    os_user: str | None
    host: str | None
    principal: str | None
    ci_actor: str | None
    engine: str | None
    git_commit: str | None
    ci_url: str | None
    plan: str | None = None

    def rows(self) -> Iterator[tuple[Cell, Cell]]:
        """Yield the run, and its commit, CI job and plan file where it has them."""
        engine = f", {self.engine}" if self.engine else ""
        yield "run", f"{self.run_id} of {user_of(self.os_user, self.host, self.ci_actor)} as {self.principal}{engine}"
        more = (("commit", self.git_commit), ("ci", self.ci_url), ("plan", self.plan))
        yield from ((name, value) for name, value in more if value)


@dataclass(frozen=True, slots=True)
class ShowResult(Result):
    """All that is known of one version: description, author, run, statements, events, and the next step."""

    migration: Status | None = None
    run: ShownRun | None = None
    statements: tuple[ShownStatement, ...] = ()
    allows: tuple[Allow, ...] = ()
    events: tuple[Event, ...] = ()
    next: str = ""

    def lines(self) -> Sequence[Line]:
        status = self.migration
        if status is None:
            return ["no such version"]
        lines: list[Line] = [
            Mark(f"{status.version}  {status.description}"),
            *table((), [*_summary(status), *map(_allowed, self.allows), *(self.run.rows() if self.run else ())]),
        ]
        if status.note:
            lines.append(f"note: {status.note}")
        for each in self.statements:
            lines += ["", f"statement {each.index}, line {each.line}: {each.state}\n{each.sql}"]
        if status.error_message and status.state is not State.APPLIED:
            lines += ["", f"error: {status.error_message}"]
        if self.events:
            lines += ["", *event_table(self.events)]
        return [*lines, "", f"next: {self.next}"] if self.next else lines


def _allowed(allow: Allow) -> tuple[Cell, Cell]:
    return f"allows {allow.code}", f"at statement {allow.statement_index}: {allow.reason}"


def _summary(status: Status) -> Iterator[tuple[Cell, Cell]]:
    yield "state", Mark(f"{status.state_name}{status.place}")
    yield "done", f"{status.progress} statements"
    yield "author", status.author
    yield from status.headers.items()
    yield "file", status.path
    if status.applied_at:
        yield "applied at", status.applied_at


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
        """Return what was found, or the errors with their hints, on one line."""
        if self.error is None:
            return self.detail
        return "; ".join(map(_on_a_line, self.error.errors if isinstance(self.error, SeveralErrors) else [self.error]))


def _on_a_line(error: GlacierbaseError) -> str:
    message = " ".join(f"{error.code}: {error.message}".split())
    return f"{message}; next: {error.hint}" if error.hint else message


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
