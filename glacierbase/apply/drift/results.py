"""The results of `drift adopt`, `drift revert` and `drift ignore`. Field names are the names in the JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glacierbase.model.result import Result
from glacierbase.model.text import Line, counted


@dataclass(frozen=True, slots=True)
class DriftFileResult(Result):
    """The migration that `drift adopt` or `drift revert` wrote.

    Attributes:
        path: of the file; empty where nothing differs.
        version: of the file.
        tables: that it changes.
        sql: its statements.
        impossible: what no statement does; it is left as it is.
        settled: whether it is recorded as applied in this environment, where it does not run.
    """

    path: str = ""
    version: str = ""
    tables: tuple[str, ...] = ()
    sql: str = ""
    impossible: tuple[str, ...] = ()
    settled: bool = False

    def lines(self) -> Sequence[Line]:
        if not self.path:
            return ["every table as recorded; nothing was written"]
        lines = [f"wrote {self.path}: {counted(len(self.tables), 'table')}", *self.sql.split("\n")]
        lines += [f"not in it: {each}" for each in self.impossible]
        ended = f"recorded as applied in {self.environment}; other environments run it"
        return [*lines, ended if self.settled else f"pending in {self.environment}; it changes no other environment"]


@dataclass(frozen=True, slots=True)
class IgnoredDrift:
    """A rule in the catalog file."""

    table: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class DriftIgnoreResult(Result):
    """The rules that `drift ignore` wrote into the catalog file.

    Attributes:
        path: of the catalog file.
    """

    path: str = ""
    rules: tuple[IgnoredDrift, ...] = ()

    def lines(self) -> Sequence[Line]:
        if not self.rules:
            return ["every table as recorded; nothing was written"]
        return [f"wrote {self.path}", *(f"ignores {each.what} of {each.table}: {each.reason}" for each in self.rules)]
