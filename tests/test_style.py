"""Rules for the text of tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def test_each_test_docstring_is_readable_alone() -> None:
    """A docstring that begins with "And" continues the name of its function."""
    assert [place for place, text in docstrings() if text.startswith("And ")] == []


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the place and text of each docstring of a module, class or function of the tests."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(TESTS)}:{getattr(node, 'lineno', 1)}", text
