"""The result of `import` from another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import yaml

from glacierbase.capabilities.adopt.foreign import NotMapped
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.result import Result
from glacierbase.model.text import Line, Location, Verbatim, counted, table


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A migration file that a script of another tool becomes.

    Attributes:
        path: relative to the project.
        version: None for a file that runs again when it changes.
        name: of such a file; else None.
        from_, line: the script in the other project.
        from_version: the script's version there; None for one that runs again.
        is_written: whether this command wrote it; False in a dry run, and where the file exists.
    """

    path: str
    version: str | None
    name: str | None
    description: str
    author: str
    from_: str
    line: int
    from_version: str | None
    is_written: bool


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """A version that another tool applied: by whom and when, as its history table has it."""

    version: str
    path: str
    author: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ImportedBaseline:
    """What the other tool's history table says of this environment.

    Attributes:
        to: the highest version that is applied; None where none is.
        versions: those that are recorded as applied, in order; in a dry run, those that would be.
        repeatables: scripts of the history table that run again when they change; they are not recorded.
        unknown: scripts of the history table of which there is no file.
        differences: accepted ones between the tables and the files.
        is_recorded: whether this command recorded the versions.
    """

    history_table: str
    to: str | None = None
    versions: tuple[ImportedVersion, ...] = ()
    repeatables: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    differences: tuple[DeclaredDifference, ...] = ()
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class ImportResult(Result):
    """What `import` made of another tool's project.

    Attributes:
        tool: its name.
        files: in the order in which they run.
        not_mapped: what has no counterpart.
        variables: for the catalog file; null for a value that is not known.
        baseline: None without `--baseline`.
        dry_run: whether nothing was written.
    """

    tool: str = ""
    files: tuple[ImportedFile, ...] = ()
    not_mapped: tuple[NotMapped, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)
    baseline: ImportedBaseline | None = None
    dry_run: bool = False

    PARTIAL: ClassVar[bool] = True

    def lines(self) -> Sequence[Line]:
        written = sum(file.is_written for file in self.files)
        lines = table(
            ("version", "from", "script", "file"),
            (
                (
                    file.version or "repeatable",
                    file.from_version or "",
                    f"{file.from_}:{file.line}",
                    Location(file.path),
                )
                for file in self.files
            ),
        )
        lines.append("dry run: nothing was written" if self.dry_run else f"wrote {counted(written, 'file')}")
        if self.not_mapped:
            lines += ["", f"not mapped: {len(self.not_mapped)}", *(f"  {part.text()}" for part in self.not_mapped)]
        if self.variables:
            lines += ["", "for the catalog file:", *_yaml(self.variables)]
        return [*lines, *self._baseline()]

    def _baseline(self) -> list[Line]:
        if self.baseline is None:
            return []
        baseline = self.baseline
        rows = ((version.version, version.author, version.at, Location(version.path)) for version in baseline.versions)
        state = f"{counted(len(baseline.versions), 'version')} {'recorded as ' if baseline.is_recorded else ''}applied"
        if not baseline.is_recorded and not self.dry_run:
            end = f"all versions up to {baseline.to} are recorded" if baseline.to else "no imported version is applied"
            state = f"nothing to record, {end}"
        lines: list[Line] = ["", f"{baseline.history_table}: {state}"]
        lines += table(("version", "by", "at", "file"), rows)
        lines += [f"not recorded, it runs at the next migrate: {name}" for name in baseline.repeatables]
        lines += [f"no file of it was imported: {name}" for name in baseline.unknown]
        return [*lines, *(f"accepted {difference.line()}" for difference in baseline.differences)]


def _yaml(variables: dict[str, Any]) -> list[Line]:
    """Return the variables as a block of a catalog file."""
    text = yaml.safe_dump({"variables": variables}, sort_keys=False, allow_unicode=True, width=1000)
    return [Verbatim(f"  {line}") for line in text.splitlines()]
