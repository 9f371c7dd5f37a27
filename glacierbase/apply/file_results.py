"""The results of the commands that write migration files: `new`, `rebase` and `squash`.

Field names are the names in the JSON documents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from glacierbase.model.result import Result
from glacierbase.model.text import Line, Verbatim, counted, quoted


@dataclass(frozen=True, slots=True)
class WrittenResult(Result):
    """The files that `new` wrote."""

    files: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        return [f"wrote {os.path.relpath(file)}" for file in self.files]


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """A migration that `rebase` gave a new version, with `git mv` where git tracks the file.

    Attributes:
        command: the command that does the same.
    """

    old_version: str
    version: str
    old_path: str
    path: str
    tracked: bool
    command: str


@dataclass(frozen=True, slots=True)
class RebaseResult(Result):
    """The files that `rebase` renamed, in order; with `--dry-run` those that it would rename.

    Attributes:
        base: the git ref that the versions are above now.
        commit: of the renames, or None.
    """

    base: str = ""
    renamed: tuple[RenamedFile, ...] = ()
    dry_run: bool = False
    commit: str | None = None

    def lines(self) -> list[str]:
        if not self.renamed:
            return [f"nothing to do: every new version is above those of {self.base}"]
        renamed = f"committed as {self.commit}" if self.commit else "not committed"
        ended = "nothing was renamed" if self.dry_run else renamed
        return [f"base {self.base}", *(file.command for file in self.renamed), ended]


@dataclass(frozen=True, slots=True)
class SquashResult(Result):
    """The file that `squash` wrote; with `--dry-run` the one that it would write.

    Attributes:
        path: of the file.
        removed: the files that it replaces.
        tables: that it creates.
        left_out: what it does not do in a new environment, although the files did.
        sql: the text of the file.
        commit: of the replacement, or None.
    """

    path: str = ""
    removed: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    sql: str = ""
    dry_run: bool = False
    commit: str | None = None

    def lines(self) -> Sequence[Line]:
        if self.dry_run:
            return [*map(Verbatim, quoted(self.sql)), f"nothing was written; the file would be {self.path}"]
        made = (
            f"wrote {self.path}: {counted(len(self.tables), 'table')}, in place of {counted(len(self.removed), 'file')}"
        )
        ended = f"committed as {self.commit}" if self.commit else "staged in git, not committed"
        return [made, *(f"left out: {each}" for each in self.left_out), ended]
