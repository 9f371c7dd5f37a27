"""How long each regular expression of the package takes on hostile texts of growing length: no more than in proportion."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.project_folder import REPOSITORY

try:  # Its old name until Python 3.10.
    import re._parser as parser
except ImportError:
    import sre_parse as parser

_FLAG = re.compile(r"\bre\.([A-Z]+)\b")
PACKAGE = REPOSITORY / "glacierbase"
OPERATIONS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")
# Characters that most expressions repeat.
UNITS = (" ", "a", "1", "\n", "-", "'", '"', "\\", ".", "a ", "/*", "--", "${", "(", "a.", "''")
# A first text, and the processor time above which a longer one is measured, in seconds.
LENGTH, SUSPICIOUS = 3_000, 0.003
# A text that is four times as long takes four times as long where the growth is linear, and sixteen times where it is quadratic.
TIMES, MOST = 4, 8.0


@dataclass(frozen=True)
class Expression:
    """A regular expression, as a module uses it."""

    place: str
    pattern: str
    flags: int
    operation: str

    def __str__(self) -> str:
        return f"{self.place}-{self.operation}"


def expressions() -> Iterator[Expression]:
    """Yield each compiled expression with each operation that the package calls on its name, and each one that is not compiled."""
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    used: dict[str, set[str]] = {}
    for name, operation in re.findall(r"\b(_?[A-Z][A-Z0-9_]*)\.([a-z]+)\b", "\n".join(sources.values())):
        used.setdefault(name, set()).add(operation)
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            place = path.relative_to(PACKAGE).as_posix()
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = ast.unparse(target)
                for call in ast.walk(node.value or target):
                    if (compiled := _call(call, ("compile",))) is None:
                        continue
                    own = set(re.findall(rf"\b{re.escape(name)}\.([a-z]+)\b", text)) & set(OPERATIONS)
                    for operation in own or used.get(name, set()) & set(OPERATIONS) or {"search"}:
                        yield Expression(f"{place}:{name}", *compiled[1:], operation)
            if found := _call(node, OPERATIONS):
                yield Expression(f"{place}:{getattr(node, 'lineno', 0)}", *found[1:], found[0])


def _call(node: ast.AST, names: tuple[str, ...]) -> tuple[str, str, int] | None:
    """Return the name, the pattern and the flags of a call of the module `re` with a pattern that is written out."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re"
    ):
        return None
    try:
        pattern = ast.literal_eval(node.args[0])
    except (ValueError, IndexError):
        return None
    if node.func.attr not in names or not isinstance(pattern, str):
        return None
    flags = {
        name
        for each in (*node.args[1:], *(key.value for key in node.keywords))
        for name in _FLAG.findall(ast.unparse(each))
    }
    return node.func.attr, pattern, sum(getattr(re, name).value for name in flags)


def sample(parsed: Any) -> list[str]:
    """Return the parts of a text that the expression matches, or nearly: one for each of its elements."""
    parts: list[str] = []
    for operator, argument in parsed:
        name = str(operator)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            parts += sample(argument[2]) * max(1, min(argument[0], 2))
        elif name == "SUBPATTERN":
            parts += sample(argument[3])
        elif name == "BRANCH":
            parts += sample(argument[1][0])
        elif name == "ATOMIC_GROUP":
            parts += sample(argument)
        elif name == "IN":
            parts.append(_member(argument))
        elif name in ("ANY", "NOT_LITERAL"):
            parts.append("b")
    return parts


def branches(parsed: Any) -> Iterator[list[str]]:
    """Yield the parts of a text for each alternative in an expression."""
    for operator, argument in parsed:
        if str(operator) == "BRANCH":
            for each in argument[1]:
                yield sample(each)
                yield from branches(each)
        elif str(operator) in ("SUBPATTERN", "ATOMIC_GROUP", "MAX_REPEAT", "MIN_REPEAT"):
            yield from branches(argument if str(operator) == "ATOMIC_GROUP" else argument[-1])


def _member(members: Any) -> str:
    kind, argument = members[0]
    classes = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
    if str(kind) == "LITERAL":
        return chr(argument)
    if str(kind) == "RANGE":
        return chr(argument[0])
    return classes.get(str(argument), "b") if str(kind) == "CATEGORY" else "b"


def texts(pattern: str, flags: int) -> Iterator[Callable[[int], str]]:
    """Yield functions that return a hostile text of about a length: a beginning that matches, something repeated, and an end."""
    parts = sample(parser.parse(pattern, flags))
    heads = ["".join(each[:end]) + "a" for each in branches(parser.parse(pattern, flags)) for end in (1, 2, len(each))]
    units = dict.fromkeys(
        (*UNITS, *parts, *heads, "".join(parts), *("".join(parts[:end]) for end in (1, 2, 3, len(parts) // 2)))
    )
    for unit in filter(None, units):
        for end in dict.fromkeys((0, *range(0, len(parts) + 1, max(1, len(parts) // 12)), len(parts))):
            begin = "".join(parts[:end])
            for last in ("\x00", "\n\x00"):
                yield lambda length, begin=begin, unit=unit, last=last: begin + unit * (length // len(unit)) + last


def seconds(expression: re.Pattern[str], operation: str, text: str) -> float:
    began = time.process_time()
    if operation in ("sub", "subn"):
        getattr(expression, operation)("", text)
    elif operation == "finditer":
        for _ in expression.finditer(text):
            pass
    else:
        getattr(expression, operation)(text)
    return time.process_time() - began


def worst(each: Expression) -> tuple[float, str]:
    """Return the largest growth, and the beginning of the text."""
    compiled, found = re.compile(each.pattern, each.flags), (0.0, "")
    for text in texts(each.pattern, each.flags):
        if seconds(compiled, each.operation, text(LENGTH)) < SUSPICIOUS:
            continue
        long = text(LENGTH * TIMES)
        growth = min(
            seconds(compiled, each.operation, long) / max(seconds(compiled, each.operation, text(LENGTH)), 1e-4)
            for _ in range(2)
        )
        found = max(found, (growth, long[:80]))
        if found[0] > MOST:
            break
    return found


# Texts of the package itself; and expressions that are passed on, and only used with `fullmatch`.
EXEMPT = (
    "prose.py:_BLOCK",
    "capabilities/authoring/init.py:_OWN_STORE",
    "executors/copies/session_catalog.py:_COMMIT",
    "executors/copies/session_catalog.py:_INSTANT",
)
EXPRESSIONS = [each for each in dict.fromkeys(expressions()) if each.place not in EXEMPT]


@pytest.mark.parametrize("room", sorted({each.place.partition(":")[0].partition("/")[0] for each in EXPRESSIONS}))
def test_no_expression_takes_more_than_in_proportion_to_its_text(room: str) -> None:
    """Texts come from strangers: migrations under review, projects of other tools, answers of servers, logs."""
    slow = {}
    for each in EXPRESSIONS:
        if each.place.partition(":")[0].partition("/")[0] == room:
            growth, text = worst(each)
            if growth > MOST:
                slow[str(each)] = f"{growth:.1f} on {text!r}"
    assert slow == {}
