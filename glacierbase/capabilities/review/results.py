"""Findings, and the results of `lint` and `review`. Field names are the names in the JSON documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from glacierbase.capabilities.review.cost import Affected, Cost, Undo
from glacierbase.model.command import command, from_here, on_catalog
from glacierbase.model.differences import Change, TableChange, tables_in_words
from glacierbase.model.finding import Finding, counts
from glacierbase.model.migration import Identified
from glacierbase.model.result import Result
from glacierbase.model.text import Line, Mark, counted, table
from glacierbase.run.git import work_tree

PREFIX = "on the throw-away copy"
# Other places of a note that the text names; JSON has all.
_MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """The command that made a result, and the place of the project.

    Attributes:
        command: the command that makes the result again.
        folder: the project's folder in its git work tree, `.` for the top: paths of the result are relative to it. Outside of git
            relative to the working directory.
    """

    command: str = ""
    folder: str = "."


def origin(root: Path, name: str, catalogs: Iterable[str], base: str | None) -> Origin:
    """Return the origin of the results of a command.

    Args:
        name: the name of the command.
        catalogs: those that were named.
        base: the git ref that was given, or None.
    """
    arguments = [*(("--base", base) if base is not None else ())]
    arguments += [part for catalog in catalogs for part in ("--catalog", catalog)]
    top = work_tree(root)
    folder = os.path.relpath(root.resolve(), top) if top else from_here(".")
    with on_catalog(None):
        return Origin(command(name, *arguments), Path(folder).as_posix())


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A statement that the rules do not check, because its effect is not known."""

    path: str
    line: int
    sql: str


def finding_lines(
    findings: Iterable[Finding], not_understood: Iterable[NotUnderstood], environments: Sequence[str]
) -> list[Line]:
    """Return findings as text. A note that many files have is shown once, with the places of the others."""
    shown: list[Line] = []
    notes: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.is_note:
            notes.setdefault(finding.code, []).append(finding)
        else:
            shown += finding.lines(environments)
    for first, *others in notes.values():
        shown += first.lines(environments)
        if others:
            places = [f"{other.path}:{other.line}" for other in others[:_MOST_PLACES]]
            more = f" and {len(others) - _MOST_PLACES} more" if len(others) > _MOST_PLACES else ""
            shown.append(f"    also: {', '.join(places)}{more}")
    for unread in not_understood:
        shown.append(f"{unread.path}:{unread.line}: not understood, no rule applies: {' '.join(unread.sql.split())}")
    return shown


@dataclass(frozen=True, slots=True)
class LintResult(Result):
    """What the rules object to in the migrations of a catalog.

    Attributes:
        environments: those that were rendered.
        files: how many migrations were checked.
        spared: how many findings do not matter, because the same files create the table.
        origin: how the result was made.
    """

    environments: tuple[str, ...] = ()
    files: int = 0
    findings: tuple[Finding, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    spared: int = 0
    origin: Origin = field(default_factory=Origin)

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        lines = finding_lines(self.findings, self.not_understood, self.environments)
        return lines if self.error and not self.files else [*lines, self.summary()]

    def summary(self) -> str:
        """Return the counts in one line: `2 errors, 1 warning in 3 migrations`."""
        parts = counts(self.findings)
        parts += [f"{self.spared} left out about tables that these files create"] if self.spared else []
        return f"{', '.join(parts) or 'no findings'} in {counted(self.files, 'migration')}"


@dataclass(frozen=True, slots=True)
class ReviewedStatement:
    """A statement of a new migration, as the environments render it.

    Attributes:
        undo: None where it is not known, and where nothing is to be undone.
        affects: who fails, or reads something else, after it.
    """

    index: int
    line: int
    sql: str
    cost: Cost = Cost.METADATA
    undo: Undo | None = None
    affects: tuple[Affected, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewedFile(Identified):
    """A new migration.

    Attributes:
        kind: `metadata only`, `rewrites data`, `destructive`, `squash`, or `replayed in part`; None where it was not replayed.
        environments: those that it is rendered for.
        engine: `direct` where it was replayed without an engine, else the type of the engine; None where it was not replayed.
    """

    version: str | None
    path: str
    description: str
    author: str
    kind: str | None
    environments: tuple[str, ...]
    statements: tuple[ReviewedStatement, ...]
    name: str | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedStatement:
    """A statement of a new migration that the copy cannot run."""

    path: str
    line: int
    why: str

    def text(self) -> str:
        """Return the statement as a line of text."""
        return f"{self.path}:{self.line}: {PREFIX}: not replayed: {self.why}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """How the replay went.

    Attributes:
        replayed: how many statements ran, those of the base included.
        skipped: the statements that the copy cannot run, although they are in order, and those after a refused statement.
        cached: whether files of the base were not run, because the state after them came from the cache.
        engine: `direct` for plain DDL without an engine, else the type of the engine.
    """

    replayed: int
    skipped: tuple[SkippedStatement, ...] = ()
    cached: bool = False
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewedTable(TableChange):
    """What the new migrations do to a table; where nothing was replayed, without shapes and differences.

    Attributes:
        cost: the highest cost of the statements that change it.
        undo: how the statements are undone, the last statement first; without those whose undo is not known.
        affects: who fails, or reads something else, afterwards.
        views: the views that files declare on it, where readers break.
    """

    cost: Cost = Cost.METADATA
    undo: tuple[Undo, ...] = ()
    affects: tuple[Affected, ...] = ()
    views: tuple[str, ...] = ()

    @property
    def loses_rows(self) -> bool:
        """Whether the table is dropped, or replaced by an empty one."""
        lost = any(difference.destructive and difference.what == "table" for difference in self.diff)
        return self.change is Change.DROPPED or lost

    def lines(self) -> Iterator[Line]:
        yield from TableChange.lines(self)
        yield f"  cost: {self.cost}"
        if self.affects:
            below = f"; views on it: {', '.join(self.views)}" if self.views else ""
            yield f"  breaks: {' and '.join(self.affects)}{below}"
        yield from (f"  undo: {undo.text()}" for undo in self.undo)


@dataclass(frozen=True, slots=True)
class ReviewedView:
    """What the new migrations do to a view.

    Attributes:
        view: its name afterwards; that before, if it was dropped.
    """

    view: str
    change: Change


@dataclass(frozen=True, slots=True)
class ReviewResult(Result):
    """What the new migrations of a catalog do to its tables, in the environments that render them equally.

    Attributes:
        replay: None where nothing was replayed.
        origin: how the result was made.
    """

    environments: tuple[str, ...] = ()
    files: tuple[ReviewedFile, ...] = ()
    tables: tuple[ReviewedTable, ...] = ()
    views: tuple[ReviewedView, ...] = ()
    findings: tuple[Finding, ...] = ()
    replay: Replayed | None = None
    origin: Origin = field(default_factory=Origin)

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        if not self.files:
            return [] if self.error else ["no new migrations"]
        lines = [self.verdict(), *table(("version", "kind", "author", "description"), map(_row, self.files))]
        for reviewed in self.tables:
            lines += reviewed.lines()
        lines += [Mark(f"view {view.view}: {view.change}") for view in self.views]
        # Another result shows the others.
        shown = [finding for finding in self.findings if finding.environments[0] in self.environments]
        lines += finding_lines(shown, (), self.environments)
        if self.replay:
            lines += [skipped.text() for skipped in self.replay.skipped]
        return lines

    def verdict(self) -> str:
        """Return the review in one line."""
        parts = [counted(len(self.files), "migration")]
        parts += filter(None, [tables_in_words((table.change, table.loses_rows) for table in self.tables)])
        if self.replay is None:
            return f"{', '.join(parts)}, rendered and not replayed"
        parts.append(counted(sum(finding.is_error for finding in self.findings), "error"))
        parts += counts(finding for finding in self.findings if not finding.is_error)
        return f"{PREFIX}: {', '.join(parts)}; no real table was changed"


@dataclass(frozen=True, slots=True)
class CheckResult(ReviewResult):
    """What is wrong with the migrations of a catalog, in the environments that render them equally.

    Without a base the findings are about all migrations, and `files`, `tables` and `views` are empty.

    Attributes:
        checked: how many migrations have the right form in all environments.
    """

    checked: int = 0
    not_understood: tuple[NotUnderstood, ...] = ()

    def lines(self) -> Sequence[Line]:
        # Rules have a finding for what is not understood.
        lines = list(ReviewResult.lines(self) if self.files else finding_lines(self.findings, (), self.environments))
        return [*lines, self.summary()] if self.checked or not self.error else lines

    def summary(self) -> str:
        """Return the counts in one line: `7 migrations in order, 1 warning`."""
        return ", ".join([f"{counted(self.checked, 'migration')} in order", *counts(self.findings)])


def _row(file: ReviewedFile) -> tuple[str, ...]:
    return (file.label, file.kind or "not replayed", file.author, file.description)
