"""Blocks of Markdown, and a comment that is cut between their items.

A value of a file is shown as code: in `<code>` with every punctuation mark as an entity, or in a fence that is longer than any run
of backticks in it. Neither is parsed as Markdown or HTML, and the services link no names, issues or addresses in code. Prose of
glacierbase has entities too, and a space of no width after characters that start a reference, because services link references
after they decode entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from glacierbase.model.escape import escaped, on_one_line
from glacierbase.model.text import counted, split_lines
from glacierbase.output.review.problems import shortened

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_REFERENCE = re.compile(r"[@#!$%&~^*:]")
_NO_WIDTH = "&#8203;"
_BACKTICKS = re.compile("`+")
_LONGEST_VALUE = 300
_LONGEST_SQL = 3000
_LONGEST_ENCODED = 1000
# For the line that counts the items that a block leaves out.
_RESERVED = 60


def code(text: str) -> str:
    """Return a value as code on one line, for Markdown, cells of tables and HTML."""
    return f"<code>{_encoded(text, _LONGEST_VALUE, _entity)}</code>" if text else ""


def prose(text: str) -> str:
    """Return a sentence on one line, without Markdown, HTML and references in it."""
    return _encoded(
        text,
        _LONGEST_VALUE * 2,
        lambda match: _entity(match) + _NO_WIDTH * bool(_REFERENCE.match(match[0])),
    )


def _encoded(text: str, most: int, entity: Callable[[re.Match[str]], str]) -> str:
    """Return a text with entities, which is shortened again where it consists of little else."""
    encoded = _PUNCTUATION.sub(entity, on_one_line(shortened(text, most)))
    return (
        encoded
        if len(encoded) <= _LONGEST_ENCODED
        else _PUNCTUATION.sub(entity, on_one_line(shortened(text, most // 4)))
    )


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of Markdown that belong together.

    Attributes:
        noun: the noun for an item.
        items: some lines each; the last ones may be left out.
        head, tail: the text around the items.
        continues: whether it is left out with the block before it, whose head says what it is about.
    """

    noun: str
    items: tuple[str, ...]
    head: str = ""
    tail: str = ""
    continues: bool = False

    @property
    def text(self) -> str:
        """The Markdown."""
        return "\n".join(filter(None, (self.head, *self.items, self.tail)))

    def limited(self, most: int) -> Block:
        """Return the block with as many items as `most` characters hold, and a line that counts the others."""
        if len(self.text) <= most:
            return self
        around = len(self.head) + len(self.tail) + 2 + _RESERVED
        sizes = accumulate((len(item) + 1 for item in self.items), initial=around)
        kept = self.items[: max(sum(size <= most for size in sizes) - 1, 0)]
        left = counted(len(self.items) - len(kept), f"more {self.noun}")
        return replace(self, items=kept, tail=f"{self.tail}\n\n… {left}".strip("\n") if kept else "")


def fenced(noun: str, items: Iterable[str], language: str, head: str = "", tail: str = "") -> Block:
    """Return a block of code; the lines of its items are escaped as on a terminal."""
    texts = tuple("\n".join(map(_inert, split_lines(item))) for item in items)
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Block(noun, texts, f"{head}\n\n{fence}{language}".strip("\n"), f"{fence}\n\n{tail}".strip("\n"))


def value(text: str) -> str:
    """Return a value for a line of code."""
    return on_one_line(shortened(text, _LONGEST_VALUE))


def sql(text: str, most: int = _LONGEST_SQL) -> str:
    """Return SQL for a block of code."""
    return shortened(text, most)


def _inert(line: str) -> str:
    """Return a line of code without the marker of glacierbase's comments."""
    return escaped(line).replace("<!-- glacierbase", r"<\x21-- glacierbase")


def assembled(first: str, blocks: Sequence[Block], last: str, most: int) -> str:
    """Return a comment of at most `most` characters, cut between items; the last line names what is left out.

    A block gets at most half of the remaining characters, so that many findings do not displace all tables; blocks of the last noun
    share the rest.
    """
    rest = most - len(first) - len(last) - 500
    left_out: Counter[str] = Counter()
    texts = []
    is_shown = True
    for block in blocks:
        most = rest if block.noun == blocks[-1].noun else rest // 2
        shown = block.limited(most) if is_shown or not block.continues else replace(block, items=())
        left_out[block.noun] += len(block.items) - len(shown.items)
        is_shown = bool(shown.items) or (is_shown and block.continues)
        if shown.items:
            texts.append(shown.text)
            rest -= len(shown.text) + 2
    missing = ", ".join(counted(count, noun) for noun, count in left_out.items() if count)
    end = f"Left out to keep this comment short: {missing}. The command above shows all." if missing else ""
    return "\n\n".join(filter(None, [first, *texts, last, end]))
