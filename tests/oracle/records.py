"""The recorded outcomes: one compressed file for each group. Its first line lists the cases; each has a line of JSON."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.lake_states import State

_FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Recorded:
    """What one statement did on Spark.

    Attributes:
        sql: the statement, with `NS` for the namespace.
        error: the error class; None where it succeeded.
        changes: the parts of the state that differ from those before it; None for one that it removed.
    """

    sql: str
    error: str | None = None
    changes: State = field(default_factory=dict)

    def after(self, state: State) -> State:
        """Return the state after the statement."""
        return {key: value for key, value in {**state, **self.changes}.items() if value is not None}


@dataclass(frozen=True)
class Case:
    """A case as it was recorded.

    Attributes:
        spark, iceberg: the versions.
    """

    name: str
    spark: str
    iceberg: str
    statements: tuple[Recorded, ...]

    def before(self, number: int) -> State:
        """Return the state before a statement, counted from 0."""
        state: State = {}
        for recorded in self.statements[:number]:
            state = recorded.after(state)
        return state


def changes_between(before: State, after: State) -> State:
    """Return the parts of the state `after` that differ from those before, and None for each that is absent in it."""
    return {key: after.get(key) for key in sorted({*before, *after}) if before.get(key) != after.get(key)}


def recorded(group: str, name: str) -> Case:
    """Return a recorded case."""
    read = json.loads(_lines(group)[name])
    return Case(**{**read, "statements": tuple(Recorded(**statement) for statement in read["statements"])})


def names(group: str) -> list[str]:
    """Return the names of the recorded cases of a group."""
    return list(_lines(group))


def write(group: str, cases: Iterable[Case]) -> None:
    """Write the recorded cases of a group, unless the file holds the same: other compressors make other bytes."""
    lines = {case.name: _text(_line(case)) for case in cases}
    text = "\n".join([_text(list(lines)), *lines.values()])
    file = _file(group)
    if not file.exists() or lzma.decompress(file.read_bytes()) != text.encode():
        file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _file(group: str) -> Path:
    return _FOLDER / f"{group.replace(' ', '_')}.jsonl.xz"


@cache
def _lines(group: str) -> Mapping[str, str]:
    """Return the line of each case, which is read only when the case is needed."""
    if not _file(group).exists():
        return {}
    listed, *lines = lzma.decompress(_file(group).read_bytes()).decode().split("\n")
    return dict(zip(json.loads(listed), lines, strict=True))


def _line(case: Case) -> dict[str, Any]:
    statements = [
        {key: value for key, value in vars(statement).items() if value not in (None, {})}
        for statement in case.statements
    ]
    return {**vars(case), "statements": statements}


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), sort_keys=True)
