"""Rules for the text of pages, of texts in the package, and of tests."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parent
# The first word of a docstring that only continues the name of its function.
CONTINUATION = re.compile(r"(And|Also|It|Its|Nor|So|That|Their|These|They|This|Those) ")
# The verb before the subject, or the verb before what it is about.
INVERSION = re.compile(r"(?:^|[.!?:] )(Not|Never) \w+ (are|is)\b|(?:^|[.!?] )(Nor|So) (are|do|does|is)\b", re.MULTILINE)
# Words of this project in place of those of the field: snapshot, observed, changed, requested, before, after.
COINED = re.compile(
    r"\b(asked for|(is|are|was|were|be) (asked|seen)|borrowed|fitted|looked|looks at|past the migrations|seen first"
    r"|touch(ed|es|ing)|traced|of one's own)\b",
    re.IGNORECASE,
)
# Words that do not say what a variable, a function or a class holds or does.
VAGUE = re.compile(
    r"^_?(each|found|one)$|(?:^|_)(asked|becomes|fits|fitted|looked|looks|seen|touch(ed|es|ing)?|traced)(?:_|$)",
    re.IGNORECASE,
)
# Fields of documents, which are never renamed.
FIELDS = {"seen_by"}


def test_each_test_docstring_is_readable_alone() -> None:
    """No docstring begins with a word that refers to the name of its function."""
    assert [place for place, text in docstrings() if CONTINUATION.match(text)] == []


def test_no_sentence_begins_with_its_verb() -> None:
    """Pages say "Views are not read", not "Not read are views"."""
    assert hits(INVERSION) == []


def test_pages_use_the_words_of_the_field() -> None:
    """The coined words have plain ones: a file changes a table, and a run observes a change."""
    assert hits(COINED) == []


def test_names_say_what_they_hold() -> None:
    """The package names no variable, parameter, function or class `each`, `found`, `seen` and the like."""
    assert [
        f"{path.relative_to(REPOSITORY)}:{line}: {name}"
        for path in sources()
        for name, line in names(ast.parse(path.read_text("utf-8")))
        if VAGUE.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) and name not in FIELDS
    ] == []


def test_docstrings_and_comments_use_the_words_of_the_field() -> None:
    """The package keeps the rules of the pages in their docstrings and comments."""
    assert [
        f"{path.relative_to(REPOSITORY)}:{line}: {match[0].strip()}"
        for path in sources()
        for text, line in remarks(path.read_text("utf-8"))
        for pattern in (COINED, INVERSION)
        if (match := pattern.search(text))
    ] == []


def sources() -> list[Path]:
    """Return the modules of the package."""
    return sorted((REPOSITORY / "glacierbase").rglob("*.py"))


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that a module gives to a variable, a field, a parameter, a function or a class, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def remarks(source: str) -> Iterator[tuple[str, int]]:
    """Yield each docstring and each comment of a module with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            yield text, node.body[0].lineno
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# "), token.start[0]


def hits(pattern: re.Pattern[str]) -> list[str]:
    """Return the place and the text of each match in the prose of the pages and of the package's texts."""
    return [
        f"{path.relative_to(REPOSITORY)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
        for path, text in prose()
        for match in pattern.finditer(text)
    ]


def prose() -> Iterator[tuple[Path, str]]:
    """Yield each Markdown file with its text; code blocks and code are blank, so that lines keep their numbers."""
    for root in (REPOSITORY / "docs", REPOSITORY / "glacierbase"):
        for path in sorted(root.rglob("*.md")):
            text = re.sub(
                r"```.*?```", lambda block: "\n" * block[0].count("\n"), path.read_text("utf-8"), flags=re.DOTALL
            )
            yield path, re.sub(r"`[^`\n]*`", "``", text)


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the place and text of each docstring of a module, class or function of the tests."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(TESTS)}:{getattr(node, 'lineno', 1)}", text
