"""The result of `show`: all that is known of one version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glacierbase.inspect.versions.made import MadeChange, change_lines
from glacierbase.inspect.versions.outcomes import event_table
from glacierbase.migrations.allows import Allow
from glacierbase.model.migration import Event, State
from glacierbase.model.result import Result, Status, user_of
from glacierbase.model.text import Cell, Line, Mark, table


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
    """All that is known of one version: description, author, run, statements, events, and the next step.

    Attributes:
        tables: what its runs recorded of tables: their changes, and those that they found and no migration made.
    """

    migration: Status | None = None
    run: ShownRun | None = None
    statements: tuple[ShownStatement, ...] = ()
    allows: tuple[Allow, ...] = ()
    events: tuple[Event, ...] = ()
    next: str = ""
    tables: tuple[MadeChange, ...] = ()

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
        lines += change_lines(self.tables)
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
