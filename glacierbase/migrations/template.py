"""Jinja, held to what a versioned SQL file may depend on.

Jinja (https://jinja.palletsprojects.com/en/stable/templates/) was made for HTML and for Python's objects. Here a dot looks up
items and never attributes, what has no value is reported and never left out, what only Python can read is never printed, and
nothing reads a clock, chance, the environment or another file, so that equal arguments render alike for ever. The parts of
Jinja that are replaced for it are described in https://jinja.palletsprojects.com/en/stable/api/ and /extensions/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, cached_property
from itertools import islice
from typing import Any, NoReturn, Protocol, cast

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Cycler, Namespace

from glacierbase.migrations.template_syntax import LineEndLexer, LookupCode, TemplateSyntax

# More characters, items or bits than this are a mistake that would take the machine with it.
LIMIT = 10_000_000
# More names than this nobody reads in a hint.
_NAMES_SHOWN = 12

# `attr` reaches attributes, `random` is chance, `pprint` writes Python. The others make HTML, and `escape` is not SQL's.
_FILTERS_DROPPED = frozenset(
    ("attr", "e", "escape", "forceescape", "pprint", "random", "safe", "striptags", "urlencode", "urlize", "xmlattr")
)
# Those that write their arguments into text, and those whose arguments say how big their result is.
_FILTERS_WRITING = frozenset({"format", "replace"})
_FILTERS_SIZING = frozenset({"batch", "center", "indent", "slice", "tojson", "truncate", "wordwrap"})
_WIDTH = re.compile(r"%[^%a-zA-Z]*(?:[0-9]{7,}|\*)")
_FILTERS_OF_TEXT = frozenset(
    ("capitalize", "center", "format", "indent", "lower", "replace", "string", "title", "trim", "truncate", "upper")
)
_FOR_MISSING = frozenset({"d", "default", "defined", "undefined"})


class Rendering(Protocol):
    """What a template tells of while it is rendered."""

    def line(self) -> int:
        """The line of the template that is running; 0 if it is not."""

    def report(self, code: str, line: int, what: str, hint: str) -> None:
        """Take note of an error, and go on."""

    def report_missing(self, line: int, what: str, path: str | None) -> None:
        """Take note that something has no value: `path`, if names are the matter."""


# Jinja makes its undefined values itself and does not tell them for which rendering.
CURRENT: ContextVar[Rendering] = ContextVar("rendering")


class Copied(str):
    """Text that stands in the file as it is."""

    __slots__ = ()


def listed(names: Sequence[Any]) -> str:
    """Names for a hint, the first of them where there are many."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(map(str, islice(names, _NAMES_SHOWN))) + more


def seen(value: Any, path: str) -> Any:
    """A value as a template sees it: a copy, in which null is missing."""
    if isinstance(value, Mapping):
        return {key: seen(each, f"{path}.{key}") for key, each in value.items()}
    if isinstance(value, list):
        return [seen(each, f"{path}.{index}") for index, each in enumerate(value)]
    return Missing(f"{path} is null") if value is None else value


class Missing(Undefined):
    """What has no value: reported where it is used, and the rendering goes on, so that all are found in one go.

    `default`, `is defined` and `is undefined` do not use it. What is looked up in it is missing, too.
    """

    def __init__(self, *arguments: Any, line: int = 0, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._line = line or CURRENT.get().line()

    def used(self, *_: object, **__: object) -> Missing:
        rendering = CURRENT.get()
        hint, path = self._undefined_hint, self._undefined_name
        # A null is made before the template runs.
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

    # In Jinja's class they end the rendering.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = used  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __pos__ = __neg__ = used  # type: ignore[assignment]
    __call__ = __getitem__ = used  # type: ignore[assignment]
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false  # type: ignore[assignment]
    __len__ = __int__ = __index__ = __hash__ = _zero  # type: ignore[assignment]
    __float__ = _zero_float  # type: ignore[assignment]


class _Environment(SandboxedEnvironment):
    """What Jinja calls its environment: how it reads templates, and what they can reach."""

    code_generator_class = LookupCode
    copied = Copied
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(
            # There are no comments, `{#` is SQL: no CR ever reaches Jinja.
            comment_start_string="\r",
            comment_end_string="\r",
            keep_trailing_newline=True,
            extensions=[TemplateSyntax],
            undefined=Missing,
            # Constants would be computed without the rules of this file.
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
        """What a dot or brackets name: an item, but an attribute of Jinja's own objects, which have no items."""
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
        """What a filter looks up, such as `map(attribute="a.b")`."""
        return self.look_up(obj, argument, str(argument), 0)

    def text(self, value: Any, path: str = "…", line: int = 0) -> str:
        """A value as it is printed into SQL."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (str, int, float, Undefined)):
            return str(value)
        if isinstance(value, Mapping):
            kind, hint = "a mapping", f"name one of its keys: {listed(list(value))}"
        elif isinstance(value, Sequence):
            kind, hint = "a list", "write | join(', ') behind it"
        elif value is None:
            kind, hint = "null", "write NULL where SQL's is meant"
        else:
            kind, hint = f"a {type(value).__name__}", "print text, a number, true or false"
        rendering = CURRENT.get()
        what = f"{path} is {kind}, and SQL has no text for it"
        rendering.report("UNPRINTABLE_VALUE", line or rendering.line(), what, hint)
        return ""

    def operands(self, value: Any) -> Any:
        """What is written into text: numbers as they are, for `%03d`, all else as it is printed."""
        if isinstance(value, tuple):
            return tuple(map(self.operands, value))
        if isinstance(value, Mapping):
            return {key: self.operands(each) for key, each in value.items()}
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else self.text(value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if _size(operator, left, right) > LIMIT:
            raise OverflowError(f"what {operator} gives is too big")
        if operator == "%" and isinstance(left, str):
            _check_widths(left)
            right = self.operands(right)
        return super().call_binop(context, operator, left, right)


def _size(operator: str, left: Any, right: Any) -> int:
    """How many bits a power gives, or characters or items a repetition or a sum; 0 for all else."""
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
    """Refuse a `%9999999d`, and a `%*d`, whose width is a value's."""
    if _WIDTH.search(text):
        raise OverflowError("a width for % is too big")


def _strict(name: str, function: Any) -> Callable[..., Any]:
    """A filter or test that does not take what is missing for empty, nor a list for text."""
    if name in _FOR_MISSING:
        return cast("Callable[..., Any]", function)

    @pass_context
    def strict(context: Context, value: Any, /, *arguments: Any, **keywords: Any) -> Any:
        for each in (value, *arguments, *keywords.values()):
            if isinstance(each, Missing):
                return each.used()
        sizes = (each for each in (*arguments, *keywords.values()) if isinstance(each, int))
        if name in _FILTERS_SIZING and max(map(abs, sizes), default=0) > LIMIT:
            raise OverflowError(f"a number for the filter {name} is too big")
        if name in _FILTERS_OF_TEXT:
            value = jinja().text(value)
        if name in _FILTERS_WRITING:
            _check_widths(value)
            arguments, keywords = jinja().operands(arguments), jinja().operands(keywords)
        result = context.call(function, value, *arguments, **keywords)
        if isinstance(result, Iterator):
            return list(result)  # It would be empty at its second use.
        return str(result) if isinstance(result, str) else result  # Jinja's markup escapes what is added to it.

    return strict


@pass_context
def _join(context: Context, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    """Jinja's filter, but items become text as what is printed does."""
    templates = jinja()
    if attribute is not None:
        value = templates.call_filter("map", value, kwargs={"attribute": attribute}, context=context)
    return templates.text(d).join(map(templates.text, value))


@cache
def jinja() -> _Environment:
    """Jinja, as migrations may use it."""
    return _Environment()
