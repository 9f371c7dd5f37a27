"""Rewrite a Jinja template so that the names of its caller's values are variables of glacierbase. Nothing of it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

# Blocks that read another file.
_OF_FILES: Mapping[type[nodes.Node], str] = {
    nodes.Import: "import",
    nodes.FromImport: "from … import",
    nodes.Include: "include",
    nodes.Extends: "extends",
}
# Reading a template of this length takes seconds.
_LONGEST = 2**20
# The function of schemachange that reads an environment variable.
_ENV_VAR = "env_var"
_KNOWN = frozenset({*DEFAULT_NAMESPACE, "loop", "caller", "varargs", "kwargs", "self"})
_COMMENTS = frozenset({"comment_begin", "comment", "comment_end"})
_ENDS = frozenset({"variable_end", "block_end"})


class NotRewritten(Exception):
    """A template that cannot be a migration.

    Attributes:
        line: of the part that cannot.
    """

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        super().__init__(what)


class _Piece(NamedTuple):
    """A token of a template, and where it is."""

    kind: str
    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def rewritten(
    text: str,
    expression: Callable[[str, int], str],
    from_environment: Callable[[str, str | None, int], str],
    left_out: Callable[[int], None],
) -> str:
    """Return a template in which each name that it does not define is an expression.

    Args:
        text: with LF as line ends.
        expression: returns that of a name on a line.
        from_environment: returns that of an environment variable with a default on a line.
        left_out: gets the line of each comment of Jinja, which is left out.

    Raises:
        NotRewritten: it is not valid, too long, or it reads another file.
    """
    if len(text) > _LONGEST:
        raise NotRewritten(1, f"it has more than {_LONGEST} characters")
    environment = Environment()
    try:
        free = _free_names(environment.parse(text))
        pieces = list(_pieces(environment, text))
    except TemplateSyntaxError as error:
        raise NotRewritten(error.lineno, f"Jinja cannot parse it: {error.message}") from error
    except RecursionError as error:
        raise NotRewritten(1, "its expressions are nested too deeply") from error
    out, at, index = "", 0, 0
    while index < len(pieces):
        piece, count, new = pieces[index], 1, None
        if piece.kind == "name" and not _is_part(pieces, index):
            if piece.text == _ENV_VAR and _ENV_VAR in free:
                count, (name, default) = _call(pieces, index)
                new = from_environment(name, default, piece.line)
            elif piece.text in free:
                new = expression(piece.text, piece.line)
        elif piece.kind in _COMMENTS:
            new = ""
            if piece.kind == "comment_begin":
                left_out(piece.line)
        if new is not None:
            out += text[at : piece.start] + new
            at = pieces[index + count - 1].end
        index += count
    return out + text[at:]


def _free_names(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a template reads and does not define.

    Raises:
        NotRewritten: it reads another file.
    """
    read: set[str] = set()
    defined = set(_KNOWN)
    for node in tree.find_all(nodes.Node):
        if type(node) in _OF_FILES:
            block = f"{{% {_OF_FILES[type(node)]} %}}"
            raise NotRewritten(node.lineno, f"{block} reads another file; write its macro or text into the migration")
        if isinstance(node, nodes.Name):
            (read if node.ctx == "load" else defined).add(node.name)
        elif isinstance(node, nodes.Macro):
            defined.add(node.name)
    return frozenset(read - defined)


def _pieces(environment: Environment, text: str) -> Iterator[_Piece]:
    """Yield the tokens of a template with their places; whitespace that a mark such as `{%-` removes is in none."""
    at = 0
    for line, kind, token in environment.lex(text):
        start = text.find(token, at)
        if start < 0:  # Whitespace at the end of the text.
            return
        at = start + len(token)
        if kind != "whitespace":
            yield _Piece(kind, token, start, line)


def _is_part(pieces: Sequence[_Piece], index: int) -> bool:
    """Return whether a name is not read as a value: an attribute, a filter, a test, a block, or an argument's name."""
    before, piece = pieces[index - 1], pieces[index]
    after = pieces[index + 1] if index + 1 < len(pieces) else piece
    if before.text in (".", "|") or before.kind == "block_begin":
        return True
    if before.text == "is" or (before.text == "not" and index > 1 and pieces[index - 2].text == "is"):
        return True
    return after.text == "=" and before.text in ("(", ",")


def _call(pieces: Sequence[_Piece], index: int) -> tuple[int, tuple[str, str | None]]:
    """Return the number of tokens of a call of `env_var`, and its arguments.

    Raises:
        NotRewritten: they are not texts.
    """
    inside: list[str] = []
    for count, piece in enumerate(pieces[index + 1 : index + 7], start=2):
        if piece.kind in _ENDS:
            break
        if piece.text == ")":
            texts = [re.sub(r"\\(.)", r"\1", text[1:-1]) for text in inside[1::2]]
            if inside[0] == "(" and texts and all(text[0] in "'\"" for text in inside[1::2]) and len(texts) < 3:
                return count, (texts[0], texts[1] if len(texts) > 1 else None)
            break
        inside.append(piece.text)
    raise NotRewritten(pieces[index].line, "env_var with arguments that are not texts; write a variable in its place")
