"""Markdown of texts that must stay texts, and blocks of it that fit into a comment.

A value of a file is shown as code: in `<code>` with every punctuation mark as an entity, or in a fence that is longer than any run
of backticks in it. Neither is Markdown or HTML, and in code the services look for no names, issues or addresses. Prose of
glacierbase itself has entities too, and a space of no width behind what starts a reference: services look for those after
entities are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from glacierbase.model.escape import escaped, on_one_line
from glacierbase.model.text import counted, split_lines
from glacierbase.output.problems import shortened

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_REFERENCE = re.compile(r"[@#!$%&~^*:]")
_NO_WIDTH = "&#8203;"
_BACKTICKS = re.compile("`+")
_LONGEST_VALUE = 300
_LONGEST_SQL = 4000
# A line that names what a block leaves out.
_RESERVED = 60


def code(text: str) -> str:
    """Return a value as code on one line, for Markdown, cells of tables and HTML."""
    return f"<code>{_PUNCTUATION.sub(_entity, on_one_line(shortened(text, _LONGEST_VALUE)))}</code>" if text else ""


def prose(text: str) -> str:
    """Return a sentence on one line, without Markdown, HTML and references in it."""
    line = on_one_line(shortened(text, _LONGEST_VALUE * 2))
    return _PUNCTUATION.sub(lambda found: _entity(found) + _NO_WIDTH * bool(_REFERENCE.match(found[0])), line)


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of Markdown that belong together.

    Attributes:
        noun: what an item is.
        items: what may be left out from the end, each some lines.
        head, tail: what stands around them.
    """

    noun: str
    items: tuple[str, ...]
    head: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        """The Markdown."""
        return "\n".join(filter(None, (self.head, *self.items, self.tail)))

    def fitting(self, most: int) -> Block:
        """Return the block with as many items as fit into so many characters, and a line that counts the others."""
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


def sql(text: str) -> str:
    """Return SQL for a block of code."""
    return shortened(text, _LONGEST_SQL)


def _inert(line: str) -> str:
    """Return a line of code in which no program finds one of our markers."""
    return escaped(line).replace("<!-- glacierbase", r"<\x21-- glacierbase")


def assembled(first: str, blocks: Sequence[Block], last: str, most: int) -> str:
    """Return a comment of at most `most` characters, cut at the borders of items; the last line names what is left out.

    A block gets at most half of the characters that are left, so that many findings do not leave out all tables; those of the last
    noun share the rest.
    """
    rest = most - len(first) - len(last) - 500
    left_out: Counter[str] = Counter()
    texts = []
    for block in blocks:
        shown = block.fitting(rest if block.noun == blocks[-1].noun else rest // 2)
        left_out[block.noun] += len(block.items) - len(shown.items)
        if shown.items:
            texts.append(shown.text)
            rest -= len(shown.text) + 2
    missing = ", ".join(counted(count, noun) for noun, count in left_out.items() if count)
    end = f"Left out, because a comment holds at most 65,536 characters: {missing}." if missing else ""
    return "\n\n".join(filter(None, [first, *texts, last, end]))
