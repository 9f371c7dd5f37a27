"""The results of the read-only commands. Field names are the names in the JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.access import NamespaceAccess
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import State
from glacierbase.model.result import LockHolder, Result, Status
from glacierbase.model.text import Cell, Line, Mark, Verbatim, counted, split_lines, table


@dataclass(frozen=True, slots=True)
class StatusResult(Result):
    """The state of every version and of every repeatable, and the lock holder."""

    migrations: tuple[Status, ...] = ()
    lock: LockHolder | None = None
    repeatables: tuple[Status, ...] = ()

    @property
    def all_statuses(self) -> tuple[Status, ...]:
        """The versions, and the repeatables after them."""
        return (*self.migrations, *self.repeatables)

    def lines(self) -> Sequence[Line]:
        header: tuple[str, ...] = ("version", "state", "done", "applied at", "author", "description")
        rows = [_status_row(status) for status in self.all_statuses]
        if len({status.engine.partition(" ")[0] for status in self.all_statuses if status.engine}) > 1:
            header = (*header, "engine")
            rows = [(*row, status.engine) for row, status in zip(rows, self.all_statuses, strict=True)]
        return [*(table(header, rows) or ["no migrations"]), *self.notes()]

    def notes(self) -> list[str]:
        """Return the lines below the table: errors, notes and the lock holder."""
        lines = []
        for status in self.all_statuses:
            if status.error_message and status.state is not State.APPLIED:
                lines.append(f"{status.label} {status.state}{status.place}: {status.error_message}")
            if status.waiting:
                lines.append(f"{status.label} waiting {status.waiting.text()}")
            if status.note:
                lines.append(f"{status.label} note: {status.note}")
        return [*lines, self.lock.line()] if self.lock else lines


def _status_row(status: Status) -> tuple[Cell, ...]:
    return (
        status.label,
        Mark(status.state_name),
        status.progress,
        status.applied_at,
        status.author,
        status.description,
    )


@dataclass(frozen=True, slots=True)
class ValidateResult(Result):
    """The number of valid files of one catalog in one environment."""

    files: int = 0

    def lines(self) -> list[str]:
        return [f"{counted(self.files, 'migration')} in order"]


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A migration as one environment renders it."""

    version: str | None
    path: str
    sql: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RenderResult(Result):
    """The migrations of a catalog, which all `environments` render to the same text."""

    environments: tuple[str, ...] = ()
    files: tuple[RenderedFile, ...] = ()

    def lines(self) -> Sequence[Line]:
        # A line break in the path would end the comment.
        files = [(f"-- {on_one_line(file.path)}", *split_lines(file.sql)) for file in self.files]
        return [Verbatim(line) for lines in files for line in lines] or ["no migrations"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of `doctor`: its result, or its error."""

    name: str
    detail: str = ""
    error: GlacierbaseError | None = None

    def text(self) -> str:
        """Return the result, or the errors with their hints, on one line."""
        if self.error is None:
            return self.detail
        return "; ".join(map(_on_a_line, self.error.errors if isinstance(self.error, SeveralErrors) else [self.error]))


def _on_a_line(error: GlacierbaseError) -> str:
    message = " ".join(f"{error.code}: {error.message}".split())
    return f"{message}; next: {error.hint}" if error.hint else message


@dataclass(frozen=True, slots=True)
class DoctorResult(Result):
    """The checks of `doctor`, in order; with `--print-ddl` the statements in `ddl` instead.

    Attributes:
        access: who besides the migrator may change tables, for each namespace.
    """

    checks: tuple[Check, ...] = ()
    ddl: str | None = None
    access: tuple[NamespaceAccess, ...] = ()

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        rows = ((Mark("FAILED" if check.error else "ok"), check.name, check.text()) for check in self.checks)
        namespaces = ((Mark(str(access.verdict)), access.namespace, access.detail) for access in self.access)
        return [*table((), rows), *table(("other changes", "namespace", "detail"), namespaces)]

    def script(self) -> str | None:
        return self.ddl
