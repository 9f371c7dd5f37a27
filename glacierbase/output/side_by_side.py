"""The results of `status`, `pending` and `plan` in several environments as text, side by side.

JSON has one entry per catalog and environment instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glacierbase.apply.results import PendingFile, PlanResult
from glacierbase.inspect.results import StatusResult
from glacierbase.model.migration import Key, State
from glacierbase.model.result import Result, Status
from glacierbase.model.text import Cell, Line, Mark, table

_ABSENT = "-"


@dataclass(frozen=True, slots=True)
class _SideBySide(Result):
    """The text of one catalog in several environments. The secrets of all environments are masked in it."""

    text: tuple[Line, ...] = ()

    def lines(self) -> Sequence[Line]:
        return self.text


def side_by_side(results: Sequence[Result]) -> list[Result]:
    """Return results to print: one per catalog with its environments in columns; for `plan`, one per group of equal plans."""
    catalogs: dict[str, list[Result]] = {}
    for result in results:
        catalogs.setdefault(result.catalog, []).append(result)
    return [joined for group in catalogs.values() for joined in _joined(group)]


def _joined(results: Sequence[Result]) -> Iterator[Result]:
    known = [result for result in results if not result.skipped and not result.error]
    if isinstance(results[0], PlanResult):
        yield from _groups(known)
        yield from (result for result in results if result.skipped)
    elif known:
        text = (*_table(known), *(line for result in results for line in _notes(result)))
        warnings = tuple(f"{result.environment}: {warning}" for result in known for warning in result.warnings)
        yield _SideBySide(results[0].catalog, _names(results), warnings=warnings, text=text)


def _groups(results: Sequence[Any]) -> Iterator[Result]:
    """Yield one result for the environments whose plans are equal."""
    groups: dict[Any, list[PlanResult]] = {}
    for result in results:
        groups.setdefault((tuple(result.lines()), result.warnings), []).append(result)
    yield from (replace(group[0], environment=_names(group)) for group in groups.values())


def _names(results: Sequence[Result]) -> str:
    return ", ".join(result.environment for result in results)


def _table(results: Sequence[Result]) -> Sequence[Line]:
    """Return a table with a line per version, a column per environment, and a mark on lines that differ."""
    columns, squashed = [_cells(result) for result in results], [_squashed(result) for result in results]
    rows: list[tuple[Cell, ...]] = []
    for key in sorted({key for column in columns for key in column}, key=_place):
        label, _, description = next(column[key] for column in columns if key in column)
        cells, states = [], set()
        for column, by in zip(columns, squashed, strict=True):
            squash = None if key in column else by.get(key)
            cell = column[key][1] if key in column else _ABSENT
            cells.append(f"in {column[squash][0]}" if squash is not None else cell)
            states.add(column[squash][1] if squash is not None else cell)
        rows.append((label, *map(Mark, cells), Mark("differs" if len(states) > 1 else ""), description))
    header = ("version", *(result.environment for result in results), "", "description")
    return table(header, rows) or ["no migrations" if isinstance(results[0], StatusResult) else "nothing is pending"]


def _place(key: Key) -> tuple[bool, Key]:
    """Return what sorts versions by number, and repeatables by name after them."""
    return isinstance(key, str), key


def _cells(result: Any) -> Mapping[Key, tuple[str, str, str]]:
    """Return label, cell and description of each version and repeatable, by key."""
    is_status = isinstance(result, StatusResult)
    files = ((status, _state(status)) for status in result.all_statuses) if is_status else _pending(result.pending)
    return {file.key: (file.label, cell, file.description or "") for file, cell in files}


def _squashed(result: Any) -> Mapping[Key, Key]:
    """Return the number of the squash that replaces each version, by the version's number."""
    statuses = result.migrations if isinstance(result, StatusResult) else ()
    return {int(version): status.key for status in statuses for version in status.replaces}


def _state(status: Status) -> str:
    if status.stopped_at:
        return f"{status.state} at {status.stopped_at}/{status.statements_total}"
    is_inside = status.state in (State.INTERRUPTED, State.WAITING)
    return f"{status.state}, {status.progress} done" if is_inside else str(status.state)


def _pending(files: Sequence[PendingFile]) -> Iterator[tuple[PendingFile, str]]:
    for file in files:
        yield file, f"pending from {file.resumes_at}/{file.statements}" if file.resumes_at > 1 else "pending"


def _notes(result: Result) -> Iterator[str]:
    if result.skipped:
        yield f"{result.environment}: skipped, {result.skipped}"
    elif result.error:
        yield f"{result.environment}: not known: {result.error.code}"
    elif isinstance(result, StatusResult):
        yield from (f"{result.environment}: {line}" for line in result.notes())
