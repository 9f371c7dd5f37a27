"""Jinja, restricted to what a versioned SQL file may depend on.

Differences from Jinja (https://jinja.palletsprojects.com/en/stable/templates/): a dot looks up items, never attributes; a
missing value is an error, not empty text; objects without a text in SQL are not printed; and nothing reads the clock, random
numbers, the environment or another file, so that equal arguments always render to equal text. The replaced parts of Jinja are
described in https://jinja.palletsprojects.com/en/stable/api/, what an extension may change in
https://jinja.palletsprojects.com/en/stable/extensions/.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, cached_property
from itertools import chain, islice, pairwise
from typing import Any, NoReturn, Protocol, cast

from jinja2 import TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.lexer import Lexer, Token, TokenStream
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Cycler, Namespace

# Characters, items or bits: more is a mistake that would exhaust the machine.
LIMIT = 10_000_000
_NAMES_SHOWN = 12

# `attr` reads attributes, `random` is not repeatable, `pprint` writes Python. The others write HTML, even `escape`.
_FILTERS_DROPPED = frozenset(
    ("attr", "e", "escape", "forceescape", "pprint", "random", "safe", "striptags", "urlencode", "urlize", "xmlattr")
)
# Filters that write their arguments into text, and filters whose arguments determine the size of the result.
_FILTERS_WRITING = frozenset({"format", "replace"})
_FILTERS_SIZING = frozenset({"batch", "center", "indent", "slice", "tojson", "truncate", "wordwrap"})
_WIDTH = re.compile(r"%[^%a-zA-Z]*(?:[0-9]{7,}|\*)")
_FILTERS_OF_TEXT = frozenset(
    ("capitalize", "center", "format", "indent", "lower", "replace", "string", "title", "trim", "truncate", "upper")
)
_FOR_MISSING = frozenset({"d", "default", "defined", "undefined"})
_BLOCKS_OF_FILES = frozenset({"block", "extends", "from", "import", "include"})
_BLOCKS_DROPPED = frozenset({"autoescape", "print"})
_BEFORE_LOOKUP = frozenset({"name", "string", "integer", "float", "rparen", "rbracket", "rbrace", "dot"})
_BEFORE_OPERAND = frozenset({"and", "or", "not", "in", "if", "else"})
# Jinja turns every line end into LF. While it reads a text, a mark of whitespace characters replaces each CR. A marked line end
# still contains one LF, so that Jinja counts lines correctly. The first character of a mark has a mark too: no text contains one.
_MARKS = {"\r\n": "\x1f\x1c\n", "\r": "\x1f\x1d\n", "\x1f": "\x1f\x1e"}
_MARKED = {mark: text for text, mark in _MARKS.items()}
_TO_MARK = re.compile("\r\n?|\x1f")
_MARK = re.compile("\x1f(?:[\x1c\x1d]\n|\x1e)")


class Rendering(Protocol):
    """Receives the errors of a template while it is rendered."""

    def line(self) -> int:
        """Return the line of the template that is running; 0 if it is not running."""

    def report(self, code: str, line: int, what: str, hint: str) -> None:
        """Record an error; rendering continues."""

    def report_missing(self, line: int, what: str, path: str | None) -> None:
        """Record that a value is missing.

        Args:
            path: its name, if a wrong name may be the cause.
        """


# Jinja constructs undefined values itself, and does not pass them the rendering.
CURRENT: ContextVar[Rendering] = ContextVar("rendering")


class Copied(str):
    """Text that is copied from the file."""

    __slots__ = ()


def listed(names: Sequence[Any]) -> str:
    """Return names for a hint; of many, the first ones and the count of the others."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(map(str, islice(names, _NAMES_SHOWN))) + more


def with_missing(value: Any, path: str) -> Any:
    """Return a copy of a value for use in a template, in which null is `Missing`."""
    if isinstance(value, Mapping):
        return {key: with_missing(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [with_missing(item, f"{path}.{index}") for index, item in enumerate(value)]
    return Missing(f"{path} is null") if value is None else value


class Missing(Undefined):
    """A missing value: each use of it is reported and rendering continues, so that all are found in one run.

    `default`, `is defined` and `is undefined` are not uses. Every lookup in it is missing too.
    """

    def __init__(self, *arguments: Any, line: int = 0, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._line = line or CURRENT.get().line()

    def used(self, *_: object, **__: object) -> Missing:
        rendering = CURRENT.get()
        hint, path = self._undefined_hint, self._undefined_name
        # A null is constructed before the template runs.
        line = self._line or rendering.line()
        rendering.report_missing(line, hint or f"{path} is not defined", None if hint else path)
        return self

    def _false(self, *_: object) -> bool:
        self.used()
        return False

    def _zero(self) -> int:
        self.used()
        return 0

    def _zero_float(self) -> float:
        return float(self._zero())

    def __str__(self) -> str:
        self.used()
        return ""

    def __iter__(self) -> Iterator[Any]:
        self.used()
        return iter(())

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(name)

    # In Jinja's class these methods raise.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = used  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __pos__ = __neg__ = used  # type: ignore[assignment]
    __call__ = __getitem__ = used  # type: ignore[assignment]
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false  # type: ignore[assignment]
    __len__ = __int__ = __index__ = __hash__ = _zero  # type: ignore[assignment]
    __float__ = _zero_float  # type: ignore[assignment]


def with_marks(text: str) -> str:
    """Return a template with marks in place of its CRs; it is at most three times as long."""
    return _TO_MARK.sub(lambda match: _MARKS[match[0]], text)


class LineEndLexer(Lexer):
    """Jinja's lexer, except that line ends in text and strings remain as they are in the file."""

    def _normalize_newlines(self, value: str) -> str:
        # Jinja calls this on text and strings as written, before escapes are resolved: the result of an escape is not a mark.
        return _MARK.sub(lambda match: _MARKED[match[0]], value)


class TemplateSyntax(Extension):
    """Read `{{ .variables.a }}` as `{{ variables.a }}`, and refuse blocks that read another file."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        last = deque([Token(1, "initial", "")] * 3, maxlen=3)
        for token, following in pairwise(chain(stream, [Token(1, "eof", "")])):
            if last[-1].type == "block_begin":
                _check_block(token)
            if token.type == "dot" and following.type == "name" and not _lookup(*last):
                continue
            last.append(token)
            yield token


def _check_block(name: Token) -> None:
    if name.value in _BLOCKS_OF_FILES:
        why = "migrations cannot include other files, because a checksum covers one file"
        raise TemplateSyntaxError(f"{{% {name.value} %}} is not available: {why}", name.lineno)
    if name.value in _BLOCKS_DROPPED:
        raise TemplateSyntaxError(f"{{% {name.value} %}} is not available", name.lineno)


def _lookup(second: Token, first: Token, before: Token) -> bool:
    """Return whether a dot after these three tokens is a lookup; it is not where an operand must begin."""
    if before.type != "name" or first.type == "dot":
        return before.type in _BEFORE_LOOKUP
    is_block = first.type == "block_begin"
    is_test = first.value == "is" or (second.value, first.value) == ("is", "not")
    return not (is_block or is_test or before.value in _BEFORE_OPERAND)


class LookupCode(CodeGenerator):
    """Generate the Python code of a template: lookups carry their text in the file, and text is kept apart from values."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        for part in node.nodes:
            self.start_write(frame, part)
            if isinstance(part, nodes.TemplateData):
                self.write(f"environment.copied({part.data!r})")
            else:
                self.write("environment.text(")
                self.visit(part, frame)
                self.write(f", {_written(part)!r})")
            self.end_write(frame)

    def visit_With(self, node: nodes.With, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        self.newline(node)  # Jinja does not record the line of this node.
        super().visit_With(node, frame)

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        self._look_up(node, nodes.Const(node.attr), frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        self._look_up(node, node.arg, frame)

    def _look_up(self, node: nodes.Getattr | nodes.Getitem, key: nodes.Node, frame: Frame) -> None:
        self.write("environment.look_up(")
        self.visit(node.node, frame)
        self.write(", ")
        self.visit(key, frame)
        self.write(f", {_written(node)!r}, {node.lineno})")

    def visit_Slice(self, node: nodes.Slice, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        self.write("slice(")
        for bound in (node.start, node.stop, node.step):
            self.visit(bound or nodes.Const(None), frame)
            self.write(", ")
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 (Jinja's name)
        self.write('"".join(map(environment.text, (')
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write(")))")


def _written(node: nodes.Node) -> str:
    """Return an expression as written, as far as it consists of names, keys and filters."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        return f"{_written(node.node)}.{node.attr}"
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return f"{_written(node.node)}.{node.arg.value}"
    if isinstance(node, nodes.Getitem):
        return f"{_written(node.node)}[{_written(node.arg)}]"
    if isinstance(node, nodes.Filter) and node.node:
        return f"{_written(node.node)} | {node.name}"
    return "…"


class _Environment(SandboxedEnvironment):
    """Jinja's configuration: the syntax of templates, and the names that they can use."""

    code_generator_class = LookupCode
    copied = Copied
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(
            # No comments, because `{#` is valid SQL: CR never occurs in a text with marks.
            comment_start_string="\r",
            comment_end_string="\r",
            keep_trailing_newline=True,
            extensions=[TemplateSyntax],
            undefined=Missing,
            # Otherwise Jinja computes constants without the rules of this module.
            optimized=False,
        )
        del self.globals["lipsum"]
        kept = {name: function for name, function in self.filters.items() if name not in _FILTERS_DROPPED}
        self.filters = {name: _strict(name, function) for name, function in {**kept, "join": _join}.items()}
        self.tests = {name: _strict(name, function) for name, function in self.tests.items()}

    @cached_property
    def lexer(self) -> LineEndLexer:
        return LineEndLexer(self)

    def look_up(self, value: Any, key: Any, path: str, line: int) -> Any:
        """Return the item that a dot or brackets name; of Jinja's own objects, which have no items, the attribute."""
        if isinstance(key, Missing):
            return key
        if isinstance(value, (LoopContext, Namespace, Cycler)) and not str(key).startswith("_"):
            with suppress(AttributeError):
                return getattr(value, str(key))
        if isinstance(value, (Mapping, Sequence)):
            with suppress(LookupError, TypeError):
                return value[key]
        return Missing(name=path, line=line)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return what a filter looks up, such as `map(attribute="a.b")`."""
        return self.look_up(obj, argument, str(argument), 0)

    def text(self, value: Any, path: str = "…", line: int = 0) -> str:
        """Return the text of a value in SQL; report values that have none."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (str, int, float, Undefined)):
            return str(value)
        if isinstance(value, Mapping):
            kind, hint = "a mapping", f"name one of its keys: {listed(list(value))}"
        elif isinstance(value, Sequence):
            kind, hint = "a list", "append | join(', ')"
        elif value is None:
            kind, hint = "null", "write NULL for SQL's NULL"
        else:
            kind, hint = f"a {type(value).__name__}", "print text, a number, true or false"
        rendering = CURRENT.get()
        what = f"{path} is {kind}, which has no text in SQL"
        rendering.report("UNPRINTABLE_VALUE", line or rendering.line(), what, hint)
        return ""

    def operands(self, value: Any) -> Any:
        """Convert values for `%` formatting: numbers stay numbers, as `%03d` requires; other values become text."""
        if isinstance(value, tuple):
            return tuple(map(self.operands, value))
        if isinstance(value, Mapping):
            return {key: self.operands(item) for key, item in value.items()}
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else self.text(value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if _size(operator, left, right) > LIMIT:
            raise OverflowError(f"the result of {operator} is too large")
        if operator == "%" and isinstance(left, str):
            _check_widths(left)
            right = self.operands(right)
        return super().call_binop(context, operator, left, right)


def _size(operator: str, left: Any, right: Any) -> int:
    """Return the bits of a power, or the characters or items of a repetition or sum; 0 for other operations."""
    if operator == "+":
        return len(left) + len(right) if isinstance(left, Sized) and isinstance(right, Sized) else 0
    if operator == "%":
        return 0
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() * right if operator == "**" else 0
    for value, times in ((left, right), (right, left)):
        if isinstance(value, Sized) and isinstance(times, int):
            return len(value) * times
    return 0


def _check_widths(text: str) -> None:
    """Refuse `%9999999d`, and `%*d`, whose width is a value."""
    if _WIDTH.search(text):
        raise OverflowError("a width for % is too large")


def _strict(name: str, function: Any) -> Callable[..., Any]:
    """Return a filter or test that reports missing values instead of using them as empty, and lists instead of text."""
    if name in _FOR_MISSING:
        return cast("Callable[..., Any]", function)

    @pass_context
    def strict(context: Context, value: Any, /, *arguments: Any, **keywords: Any) -> Any:
        for argument in (value, *arguments, *keywords.values()):
            if isinstance(argument, Missing):
                return argument.used()
        sizes = (argument for argument in (*arguments, *keywords.values()) if isinstance(argument, int))
        if name in _FILTERS_SIZING and max(map(abs, sizes), default=0) > LIMIT:
            raise OverflowError(f"a number for the filter {name} is too large")
        if name in _FILTERS_OF_TEXT:
            value = jinja().text(value)
        if name in _FILTERS_WRITING:
            _check_widths(value)
            arguments, keywords = jinja().operands(arguments), jinja().operands(keywords)
        result = context.call(function, value, *arguments, **keywords)
        if isinstance(result, Iterator):
            return list(result)  # A generator would be empty at its second use.
        return str(result) if isinstance(result, str) else result  # Jinja's `Markup` escapes text that is added to it.

    return strict


@pass_context
def _join(context: Context, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    """Jinja's filter, except that items become text as printed values do."""
    templates = jinja()
    if attribute is not None:
        value = templates.call_filter("map", value, kwargs={"attribute": attribute}, context=context)
    return templates.text(d).join(map(templates.text, value))


@cache
def jinja() -> _Environment:
    """Return the Jinja of migrations."""
    return _Environment()
