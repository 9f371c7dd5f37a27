"""Render a migration for one environment: its text, the file's line of each character, and all errors at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from inspect import currentframe, signature
from traceback import walk_stack, walk_tb
from types import FrameType, GeneratorType
from typing import Any, NamedTuple, cast

from jinja2 import Template, TemplateSyntaxError

from glacierbase.errors import MigrationFileError, raise_all
from glacierbase.layout.expressions import DIALECTS, MACROS
from glacierbase.migrations.headers import UNWRITTEN
from glacierbase.migrations.template import (
    CURRENT,
    LIMIT,
    Copied,
    Missing,
    jinja,
    listed,
    with_marks,
    with_missing,
)
from glacierbase.model.migration import Migration
from glacierbase.model.text import nearest, suggestion

_LINE_END = re.compile(r"\r\n|\r|\n")


class Piece(NamedTuple):
    """A part of the rendered text that comes from one place in the file.

    Attributes:
        start: offset of its first character.
        line: the line of the file where it starts.
        is_copied: whether it is text of the file, whose line ends count; a value is on one line of the file.
    """

    start: int
    line: int
    is_copied: bool


@dataclass(frozen=True, slots=True)
class Rendered:
    """A migration as one environment runs it.

    Attributes:
        text: the SQL.
        pieces: the parts of the text, in order; the first one starts at 0.
        line_ends: the offsets after the line ends of the text.
    """

    text: str
    pieces: tuple[Piece, ...] = field(repr=False)
    line_ends: tuple[int, ...] = field(repr=False)

    def file_line(self, offset: int) -> int:
        """Return the line of the migration's file, from 1, that the character at `offset` comes from."""
        piece = self.pieces[bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1]
        if not piece.is_copied:
            return piece.line
        return piece.line + bisect_right(self.line_ends, offset) - bisect_right(self.line_ends, piece.start)


def render(
    migration: Migration, variables: Mapping[str, Any], environment: str, catalog: str, dialect: str
) -> Rendered:
    """Render a migration for one environment. Its template may name `variables`, `environment`, `catalog` and the key macros.

    Args:
        dialect: of the SQL that key macros render.

    Raises:
        MigrationFileError: `UNDEFINED_VARIABLE`: a value that is used is missing or null. `UNPRINTABLE_VALUE`: a printed
            value has no text in SQL. `KEY_MACRO`: a key macro has a wrong argument, or no SQL in the dialect.
            `TEMPLATE_SYNTAX`: Jinja cannot parse the file. `TEMPLATE_TOO_COSTLY`: it needs more memory than its process may
            use. `TEMPLATE_FAILED`: any other failure. `data` holds `path` and `line`.
        SeveralErrors: several of the first three.
    """
    values = {"environment": environment, "catalog": catalog, "variables": variables}
    rendering = _Rendering(migration.location, values, dialect)
    parts = copy_context().run(rendering.parts, migration.text)
    raise_all(rendering.errors)
    return _joined(parts)


def _joined(parts: Iterable[tuple[str, int]]) -> Rendered:
    pieces = [Piece(0, 1, is_copied=True)]
    texts = []
    start = 0
    for text, line in parts:
        pieces.append(Piece(start, line, isinstance(text, Copied)))
        texts.append(text)
        start += len(text)
    joined = "".join(texts)
    return Rendered(joined, tuple(pieces), tuple(end.end() for end in _LINE_END.finditer(joined)))


class _Rendering:
    """The rendering of one migration, with its errors."""

    def __init__(self, location: str, values: Mapping[str, Any], dialect: str) -> None:
        self._location = location
        self._values = values
        self._dialect = dialect
        self._errors: dict[tuple[int, str], MigrationFileError] = {}
        # Jinja's pairs of a line of the template and the line of Python that its code starts on.
        self._lines: Sequence[tuple[int, int]] = ()

    @property
    def errors(self) -> list[MigrationFileError]:
        """The errors, sorted by line."""
        return [self._errors[place] for place in sorted(self._errors)]

    def parts(self, text: str) -> list[tuple[str, int]]:
        """Return the rendered text in parts, each with its line; it is not valid if there are errors.

        Call it in a new `contextvars` context.
        """
        CURRENT.set(self)
        try:
            return list(self._run(text))
        except TemplateSyntaxError as error:
            hint = "close each {{ with }} and each {% with %}; SQL that has {{ or {% itself is between {% raw %} and {% endraw %}"
            self.report("TEMPLATE_SYNTAX", error.lineno, error.message or "the template cannot be parsed", hint)
        except MemoryError as error:
            hint = "make its loops and values smaller"
            self.report(
                "TEMPLATE_TOO_COSTLY",
                self._line_of(error),
                "the template needs more memory than its process may have",
                hint,
            )
        except Exception as error:
            # A failure after a missing value is mostly caused by it.
            if not self._errors:
                reason = error.msg if isinstance(error, SyntaxError) else error
                what = f"the template fails with {type(error).__name__}: {reason}"
                self.report("TEMPLATE_FAILED", self._line_of(error), what, "correct the expression on this line")
        return []

    def _line_of(self, error: Exception) -> int:
        return self._innermost(reversed(list(walk_tb(error.__traceback__)))) or 1

    def _run(self, text: str) -> Iterator[tuple[str, int]]:
        templates = jinja()
        code = templates.compile(with_marks(text), filename=self._location)
        template = Template.from_code(templates, code, templates.make_globals(None))
        self._lines = template.debug_info
        values = {name: with_missing(value, name) for name, value in self._values.items()}
        macros = {name: KeyMacro(name, self._dialect) for name in USAGES}
        context = template.new_context({**macros, **values})
        running = cast("GeneratorType[Any, None, None]", template.root_render_func(context))
        length = 0
        for part in running:
            line = self._innermost(walk_stack(running.gi_frame))
            # A `filter` block yields a value of any type.
            shown = part if isinstance(part, str) else templates.text(part, line=line)
            length += len(shown)
            if length > LIMIT:
                raise OverflowError(f"it renders to more than {LIMIT} characters")
            yield shown, line

    def line(self) -> int:
        """Return the line of the template that is running; 0 if it is not running."""
        return self._innermost(walk_stack(currentframe()))

    def _innermost(self, frames: Iterable[tuple[FrameType, int]]) -> int:
        lines = (line for frame, line in frames if frame.f_code.co_filename == self._location)
        return next(map(self._file_line, lines), 0)

    def _file_line(self, code_line: int) -> int:
        at = bisect_right(self._lines, code_line, key=lambda pair: pair[1])
        return self._lines[at - 1][0] if at else 1

    def report(self, code: str, line: int, what: str, hint: str) -> None:
        message = f"{self._location}, line {line}: {what}"
        self._errors[line, what] = MigrationFileError(code, message, hint, path=self._location, line=line)

    def report_missing(self, line: int, what: str, path: str | None) -> None:
        """Record that a value is missing, with the defined name nearest to `path` as the hint."""
        if path == UNWRITTEN:
            self.report(
                "UNDEFINED_VARIABLE", line, "the statements are not written yet", "write them in place of this line"
            )
        elif path in USAGES:
            self.report("UNDEFINED_VARIABLE", line, what, USAGES[path])
        # Finding the nearest name is slow, and a loop reports the same value many times.
        elif (line, what) not in self._errors:
            hint = self._instead(path) if path else "give it a value, or append | default(…)"
            self.report("UNDEFINED_VARIABLE", line, what, hint)

    def _instead(self, path: str) -> str:
        of, _, name = path.rpartition(".")
        is_filter = name in jinja().filters and of != _VARIABLES
        as_filter = f"values have no methods, the filter is | {name}; " if is_filter else ""
        return as_filter + self._nearest(path)

    def _nearest(self, path: str) -> str:
        names = [name for top, value in self._values.items() for name in _paths(value, top)]
        prefix = ""
        if path.startswith(f"{_VARIABLES}."):
            # What is meant is one of the project's, and a common prefix would make all names similar.
            prefix = f"{_VARIABLES}."
            names = [name for name in names if name.startswith(prefix)]
            if not names:
                return "the catalog file defines no variables: add the key `variables`"
        candidates = {name.removeprefix(prefix): name for name in (*names, *(() if prefix else USAGES))}
        near = nearest(path.removeprefix(prefix), candidates)
        return f"defined: {listed(names)}" if near is None else suggestion(candidates[near])


def _paths(value: Any, path: str) -> Iterator[str]:
    """Yield the names of a value and of all values in it."""
    yield path
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, f"{path}.{key}")


_VARIABLES = "variables"
# How each macro is written, for hints.
USAGES = {name: f"write {example}, with the column in quotes" for name, example in MACROS.items()}
# What a macro returns after an error: an argument that causes no second error in another macro.
_AFTER_ERROR = "NULL"


class KeyMacro(Missing):
    """A key macro: when it is called, the SQL expression in the dialect of the migration.

    Versions of glacierbase without the macro render no file that calls it. As it is missing in every other use, such as `default`
    and `is defined`, no file renders to one text with the macro and to another without it.
    """

    def __init__(self, name: str, dialect: str) -> None:
        super().__init__(name=name)
        self._name = name
        self._dialect = dialect

    def __call__(self, /, *arguments: Any, **keywords: Any) -> str:  # type: ignore[override]
        if any(_is_reported(argument, self._name) for argument in (*arguments, *keywords.values())):
            return _AFTER_ERROR
        if self._dialect not in DIALECTS:
            what = f"has no SQL for the dialect {self._dialect}, only for {listed(list(DIALECTS))}"
            return self._report(what, f"write the expression in the SQL of {self._dialect}")
        macro = getattr(DIALECTS[self._dialect], self._name)
        try:
            bound = signature(macro).bind(*arguments, **keywords)
            return str(macro(*bound.args, **bound.kwargs))
        except (TypeError, ValueError) as error:
            return self._report(str(error), USAGES[self._name])

    def _report(self, what: str, hint: str) -> str:
        rendering = CURRENT.get()
        rendering.report("KEY_MACRO", rendering.line(), f"{self._name}: {what}", hint)
        return _AFTER_ERROR


def _is_reported(argument: Any, macro: str) -> bool:
    """Return whether an argument is missing, and report it; a name without a dot is a column without its quotes."""
    if not isinstance(argument, Missing):
        return False
    rendering, name = CURRENT.get(), argument._undefined_name
    if name and "." not in name:
        rendering.report("UNDEFINED_VARIABLE", rendering.line(), f"{name} is not defined", USAGES[macro])
    else:
        argument.used()
    return True
