"""The one place where output is masked and escaped (`model.escape` lists what and why), and the plain text of lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from glacierbase.model.escape import escaped
from glacierbase.model.text import LINE_END, Cell, Line, Table, quoted, time_of
from glacierbase.secrets import mask


class Show(Protocol):
    """A conversion of lines to text: `printable` in a pipe, `Screen.show` on a terminal."""

    def __call__(self, lines: Iterable[Line], indent: str = "") -> str: ...


def printable(lines: Iterable[Line], indent: str = "") -> str:
    """Return lines of this program as plain text. Text after a line break inside a line belongs to a value and gets a margin."""
    return "\n".join(part for line in lines for part in _plain(line, indent))


def parts_of(line: str) -> list[str]:
    """Return a line, masked and escaped, and the further lines of its value, each with a margin."""
    first, *others = LINE_END.split(mask(line), maxsplit=1)
    return [escaped(part) for part in (first, *(part for other in others for part in quoted(other)))]


def text_of(cell: Cell) -> str:
    """Return the text of a cell on one line, masked and escaped."""
    text = time_of(cell) if cell is None or isinstance(cell, datetime) else cell
    return escaped(" ".join(mask(text).split()))


def _plain(line: Line, indent: str) -> Iterator[str]:
    if isinstance(line, Table):
        yield from (escaped(f"{indent}{row}".rstrip()) for row in _rows(line))
    else:
        first, *others = parts_of(line)
        yield f"{indent}{first}".rstrip() if indent else first
        yield from others


def _rows(table: Table) -> list[str]:
    rows: Sequence[Sequence[Cell]] = (table.header, *table.rows) if table.header else table.rows
    # Escaped before their width is measured: an escape is wider than the character.
    cells = [[text_of(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
