"""How the text of a template is read: Jinja's lexer, parser and code generator, with the differences that migrations need.

https://jinja.palletsprojects.com/en/stable/extensions/ describes what an extension may change.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain, pairwise

from jinja2 import TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.lexer import Lexer, Token, TokenStream

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


def with_marks(text: str) -> str:
    """Return a template with marks in place of its CRs; it is at most three times as long."""
    return _TO_MARK.sub(lambda found: _MARKS[found[0]], text)


class LineEndLexer(Lexer):
    """Jinja's lexer, except that line ends in text and strings remain as they are in the file."""

    def _normalize_newlines(self, value: str) -> str:
        # Jinja calls this on text and strings as written, before escapes are resolved: the result of an escape is not a mark.
        return _MARK.sub(lambda found: _MARKED[found[0]], value)


class TemplateSyntax(Extension):
    """Read `{{ .variables.a }}` as `{{ variables.a }}`, and refuse blocks that read another file."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        last = deque([Token(1, "initial", "")] * 3, maxlen=3)
        for token, following in pairwise(chain(stream, [Token(1, "eof", "")])):
            if last[-1].type == "block_begin":
                _check_block(token)
            if token.type == "dot" and following.type == "name" and not _looks_up(*last):
                continue
            last.append(token)
            yield token


def _check_block(name: Token) -> None:
    if name.value in _BLOCKS_OF_FILES:
        why = "migrations cannot include other files, because a checksum covers one file"
        raise TemplateSyntaxError(f"{{% {name.value} %}} is not available: {why}", name.lineno)
    if name.value in _BLOCKS_DROPPED:
        raise TemplateSyntaxError(f"{{% {name.value} %}} is not available", name.lineno)


def _looks_up(second: Token, first: Token, before: Token) -> bool:
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
