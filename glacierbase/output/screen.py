"""Lines and tables in the width of a terminal, in colours that are readable on light and dark backgrounds.

A colour only repeats the meaning of a printed word. Values are masked, escaped and measured before anything is coloured, and no
markup is parsed in them. `rich` measures characters in cells of the terminal and writes the colours; this module, which imports
`rich`, is imported only for a terminal.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from heapq import nlargest
from itertools import count, zip_longest
from posixpath import commonprefix, dirname

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

from glacierbase.model.escape import escaped
from glacierbase.model.printable import parts_of, text_of
from glacierbase.model.text import Cell, Line, Location, Mark, Table, Verbatim, time_from, time_of

# Yellow, white and cyan are hard to read on a light background, blue on a dark one.
_GOOD, _BAD, _ATTENTION, _BOLD, _DIM, _PLAIN = "green", "bold red", "magenta", "bold", "dim", ""
# The styles of words in lower case; all other words are `_BOLD`.
_STYLES = {
    **dict.fromkeys(("applied", "baselined", "done", "ok", "recorded", "released"), _GOOD),
    **dict.fromkeys(("error", "failed"), _BAD),
    **dict.fromkeys(
        ("abandoned", "ahead", "behind", "changed", "differs", "edited", "extra", "interrupted", "missing", "not run"),
        _ATTENTION,
    ),
    **dict.fromkeys(
        ("out_of_order", "repaired", "taken_over", "unknown", "unlocked", "waiting", "warning"), _ATTENTION
    ),
    **dict.fromkeys(("pending", "started", "statement_done"), _PLAIN),
    "more": _DIM,
    "next": _BOLD,
}
_FIRST_WORD = re.compile(r" *(\w+(?: \w+)?)(?=:|  |$)")
_WORD = re.compile(r"not run|\w+")
_MARGIN = re.compile(r" {4}\|")
# The indentation of wrapped lines: deeper than any line of this program, so that no part of a value resembles one.
_HANGING = " " * 6
_LABEL = re.compile(r"(?=.{6,16}\S) *\w+(?: \w+)? {2,}")
_LEAST_WIDTH = 20
# The number of cells, the longest ones, that determine the width of a column.
_MEASURED = 20
# How many lines more than alone a cell may need in a column; beyond, a row is a record.
_MORE_LINES = 4
_GAP = "  "
_DITTO = '"'
# Chinese, Japanese and Korean have no blanks between words.
_WIDE = "[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\U00020000-\U0003fffd]"
# Text that is not broken: text in backticks, a command up to its end, a word. Blanks belong to the token before them.
_TOKEN = re.compile(
    rf"`[^`]*`\S*\s*|(?:^|(?<=: )|(?<=  ))(?:glacierbase|git) [^;]*;?\s*|{_WIDE}\s*|(?:(?!{_WIDE})[^\s@])+@*\s*|[\s@]+"
)
_WORD_TOKEN = re.compile(r"\S*\s+|\S+")
# Characters after which a long word is broken if the columns are too wide otherwise; dates are not broken.
_FINE_TOKEN = re.compile(r".*?(?:[\s.,</]|-(?!\d))+|.+")
_PATH_TOKEN = re.compile(r"[^/]*/+|[^/]+")


@dataclass(frozen=True, slots=True)
class _Styled:
    """A cell.

    Attributes:
        tokens: the parts that it can be broken into.
        is_prose: whether a ditto mark may replace it below the same text. Names and times are repeated.
        is_path: whether the parts are folders and a file, which are whole.
    """

    tokens: Sequence[str]
    style: str = _PLAIN
    is_prose: bool = False
    is_path: bool = False

    @property
    def widest(self) -> int:
        return cell_len("".join(self.tokens).rstrip())

    @property
    def narrowest(self) -> int:
        return max((cell_len(token.rstrip()) for token in self.tokens), default=0)

    def finer(self) -> _Styled:
        """Return the cell with its long words broken after punctuation: a type or the name of a property is one word."""
        return self if self.is_path else replace(self, tokens=[part for token in self.tokens for part in _finer(token)])


class Screen:
    """Format lines for a terminal."""

    def __init__(self, width: int, has_colour: bool, now: datetime | None = None) -> None:
        """Args:
        width: the width of the terminal, in cells.
        now: the time to which relative times refer.
        """
        self._width = max(width, _LEAST_WIDTH)
        self._has_colour = has_colour
        self._now = now or datetime.now(timezone.utc)

    def show(self, lines: Iterable[Line], indent: str = "") -> str:
        """Return the lines as text for this terminal."""
        return "\n".join(self._parts(lines, indent))

    def _parts(self, lines: Iterable[Line], indent: str) -> Iterator[str]:
        """Yield the lines for this terminal. The empty line after a record is left out at the end, and before another one."""
        ends_record = False
        for line in lines:
            parts = list(self._shown(line, indent))
            if ends_record and parts[0]:
                yield ""
            ends_record = isinstance(line, Table) and not parts[-1]
            yield from parts[:-1] if ends_record else parts

    def _shown(self, line: Line, indent: str) -> Iterator[str]:
        if isinstance(line, Table):
            yield from self._table(line, indent)
            return
        first, *others = parts_of(line)
        if isinstance(line, Verbatim):
            yield f"{indent}{first}".rstrip()
        elif _MARGIN.match(first):
            yield self._quoted(first)
        elif isinstance(line, Mark):
            yield from (self._in_colour(part, _style_of(first)) for part in self._wrapped(first, indent))
        else:
            text, *more = self._wrapped(first.expandtabs(), indent)
            yield self._with_first_word(text)
            yield from more
        yield from map(self._quoted, others)

    def _wrapped(self, text: str, indent: str) -> Iterator[str]:
        """Yield the wrapped lines of a line of text. A label that blanks separate from the rest has its own column."""
        label = match[0] if (match := _LABEL.match(text)) else ""
        hanging = " " * len(label) or _HANGING
        room = self._width - len(indent)
        first, *others = _broken(_tokens(text[len(label) :]), room - len(label), room - len(hanging))
        yield f"{indent}{label}{first}".rstrip()
        yield from (f"{indent}{hanging}{other}" for other in others)

    def _with_first_word(self, text: str) -> str:
        word = _FIRST_WORD.match(text)
        if word is None or word[1].lower() not in _STYLES:
            return text
        return self._in_colour(word[0], _style_of(word[1])) + text[word.end() :]

    def _quoted(self, text: str) -> str:
        margin = _MARGIN.match(text)
        return self._in_colour(margin[0], _DIM) + text[margin.end() :] if margin else text

    def _table(self, table: Table, indent: str) -> Iterator[str]:
        """Yield the lines of a table: in columns if they fit the width, else a record or a line per row."""
        whole = self._cells(table)
        room = self._width - len(indent) - len(_GAP) * (len(whole[0]) - 1)
        most = max(cell.widest for row in whole for cell in row) // max(room, 1) + _MORE_LINES if table.header else None
        for rows in (whole, [[cell.finer() for cell in row] for row in whole]):
            if widths := _column_widths(list(zip(*rows, strict=True)), room, most):
                for above, row in zip([None, *rows], rows, strict=False):
                    yield from self._row(row, widths, indent, above)
                return
        yield from self._records(table, indent) if table.header else self._as_lines(whole, indent)

    def _records(self, table: Table, indent: str) -> Iterator[str]:
        """Yield for each row its fields that are not empty, and an empty line. A first field without a name is a title."""
        names = [text_of(name) for name in table.header]
        margin = indent if names[0] else f"{indent}{_GAP}"
        hanging = max(len(margin) + max(map(cell_len, names)) + len(_GAP), len(_HANGING))
        labels = [f"{margin}{name}{' ' * (hanging - len(margin) - cell_len(name))}" for name in names]
        if not names[0]:
            labels[0] = indent
        for row in table.rows:
            for label, cell in zip(labels, row, strict=True):
                if cell:
                    yield from self._field(label, self._cell(cell, ""), hanging)
            yield ""

    def _field(self, label: str, cell: _Styled, hanging: int) -> Iterator[str]:
        """Yield the lines of a field of a record. Long types and names are broken after punctuation."""
        room = self._width - hanging
        tokens = cell.tokens if cell.narrowest <= room else cell.finer().tokens
        first, *others = _broken(tokens, self._width - cell_len(label), room)
        yield f"{self._in_colour(label, _DIM) if label.strip() else label}{self._in_colour(first, cell.style)}"
        yield from (f"{' ' * hanging}{self._in_colour(other, cell.style)}" for other in others)

    def _row(
        self, row: Sequence[_Styled], widths: Sequence[int], indent: str, above: Sequence[_Styled] | None
    ) -> Iterator[str]:
        broken = [_broken(cell.tokens, width, width) for cell, width in zip(row, widths, strict=True)]
        if above:
            shorter = [_or_ditto(*styled) for styled in zip(broken, row, above, strict=True)]
            broken = min(broken, shorter, key=lambda cells: max(map(len, cells)))
        for texts in zip_longest(*broken, fillvalue=""):
            cells = zip(texts, row, widths, strict=True)
            line = _GAP.join(
                self._in_colour(text, cell.style) + " " * (width - cell_len(text)) for text, cell, width in cells
            )
            yield f"{indent}{line}".rstrip()

    def _as_lines(self, rows: Iterable[Sequence[_Styled]], indent: str) -> Iterator[str]:
        """Yield each row as one wrapped line."""
        for row in rows:
            yield from self._wrapped(_GAP.join("".join(cell.tokens) for cell in row if cell.tokens), indent)

    def _cells(self, table: Table) -> list[list[_Styled]]:
        columns = list(zip(*table.rows, strict=True))
        folders = [_folder(column) if table.header else "" for column in columns]
        names = [_heading(name, folder) for name, folder in zip(table.header, folders, strict=False)]
        rows = [[self._cell(cell, folder) for cell, folder in zip(row, folders, strict=True)] for row in table.rows]
        if not names:  # The labels of values are not broken where the columns fit.
            rows = [[replace(label, tokens=["".join(label.tokens)]), *values] for label, *values in rows]
        return [names, *rows] if names else rows

    def _cell(self, cell: Cell, folder: str) -> _Styled:
        text = text_of(cell)
        if isinstance(cell, datetime):
            day, clock = time_of(cell).split(" ", maxsplit=1)
            return _Styled([f"{day} ", f"{clock}, ", time_from(cell, self._now)])
        if isinstance(cell, Mark):
            return _Styled([text], _style_of(text))
        if isinstance(cell, Location):
            return _Styled(_tokens(text.removeprefix(folder), _PATH_TOKEN), is_path=True)
        return _Styled(_tokens(text), is_prose=True)

    def _in_colour(self, text: str, style: str) -> str:
        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD) if self._has_colour else text


def _heading(name: str, folder: str) -> _Styled:
    text = text_of(name)
    return _Styled([*_tokens(f"{text} in "), *_tokens(folder, _PATH_TOKEN)] if folder else _tokens(text), _DIM)


def _style_of(text: str) -> str:
    """Return the style of a text by its first word, such as a state."""
    word = _WORD.match(text.lower())
    return _STYLES.get(word[0], _BOLD) if word else _PLAIN


def _tokens(text: str, pattern: re.Pattern[str] = _TOKEN) -> list[str]:
    """Return the parts that an escaped text can be broken into."""
    # A part may be at the start of a line, where two colons are a command.
    return [escaped(token) if token.startswith(":") else token for token in pattern.findall(text)]


def _finer(token: str) -> list[str]:
    if token.startswith(("`", "glacierbase ", "git ")):
        return [token]
    return _tokens(token, _FINE_TOKEN if cell_len(token) > _LEAST_WIDTH else _WORD_TOKEN)


def _or_ditto(lines: list[str], cell: _Styled, above: _Styled) -> list[str]:
    """Return the lines of a cell; a ditto mark where they would repeat the prose above it. A number and its unit are no prose."""
    return (
        [_DITTO] if len(lines) > 1 < len(cell.tokens) - 1 and cell.is_prose and cell.tokens == above.tokens else lines
    )


def _broken(tokens: Iterable[str], first: int, width: int) -> list[str]:
    """Return lines of at most `first`, then `width` cells; a token that is longer is a line."""
    lines = [""]
    for token in tokens:
        room = width if len(lines) > 1 else first
        if lines[-1].strip() and cell_len(f"{lines[-1]}{token.rstrip()}") > room:
            lines.append("")
        lines[-1] += token
    return [line.rstrip() for line in lines]


def _column_widths(columns: Sequence[Sequence[_Styled]], room: int, most: int | None) -> list[int]:
    """Return the widths of columns within `room` with the fewest lines per row; none if there are no such widths.

    Args:
        most: how many lines a row may have. None is any number, and a long word may exceed the width in the last column.
    """
    largest = [nlargest(_MEASURED, column, key=lambda cell: cell.widest) for column in columns]
    narrowest = [max(cell.narrowest for cell in column) for column in columns]
    if most is None:
        narrowest[-1] = min(narrowest[-1], _LEAST_WIDTH)
    for lines in count(1) if most is None else range(1, most + 1):
        widths = [_width_for(lines, cells, least) for cells, least in zip(largest, narrowest, strict=True)]
        if sum(widths) <= room:
            return [*widths[:-1], max(widths[-1], min(room - sum(widths[:-1]), largest[-1][0].widest))]
        if widths == narrowest:
            break
    return []


def _width_for(lines: int, cells: Sequence[_Styled], least: int) -> int:
    """Return the smallest width, from `least` on, at which no cell needs more lines."""
    widths = range(least, max(cells[0].widest, least))
    return least + bisect_left(
        widths, True, key=lambda width: all(len(_broken(cell.tokens, width, width)) <= lines for cell in cells)
    )


def _folder(column: Sequence[Cell]) -> str:
    """Return the common folder of a column of paths, with a slash at its end, or an empty text."""
    paths = [text_of(cell) for cell in column if isinstance(cell, Location)]
    folder = dirname(commonprefix(paths)) if len(paths) == len(column) else ""
    return f"{folder}/" if folder else ""
