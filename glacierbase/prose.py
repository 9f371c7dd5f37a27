"""Texts of the package that are Markdown files: the reference entries of the errors, the descriptions of the rules of `lint`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# A fenced block, else a paragraph or an item of a numbered list.
_BLOCK = re.compile(
    r"^```\w+\n(?P<code>(?s:.*?))\n```$|^(?:\d+\. )?(?P<text>\S.*(?:\n(?!```|\d+\. ).+)*)", re.MULTILINE
)


def sections(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the heading and the blocks of each section (`## HEADING`) of a Markdown file.

    A block is the text of a fenced block, unchanged, or that of a paragraph or a numbered item, on one line and without the number.
    """
    for section in f"\n{path.read_text('utf-8')}".split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        yield heading, [block["code"] or " ".join(block["text"].split()) for block in _BLOCK.finditer(body)]
