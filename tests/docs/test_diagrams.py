"""The diagrams of the pages as pictures: drawn whole, without overlaps, and without a script of another host."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import escape
from itertools import combinations

import pytest

from tests.docs.pages import Block, all_blocks, build

import diagrams  # isort: skip (in docs/, whose folder build.py adds to the path)

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> str:
    """Return the texts of a picture, each once, with blanks in place of line ends."""
    return " | ".join(" ".join(text.itertext()) for text in ElementTree.fromstring(picture).iter(f"{SVG}text"))


def frames(picture: str) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of each filled box."""
    found = [rect for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect") if rect.get("fill") is None]
    edges = [[float(rect.get(name) or 0) for name in ("x", "y", "width", "height")] for rect in found]
    return [(x, y, x + width, y + height) for x, y, width, height in edges if width]


@pytest.mark.parametrize("block", all_blocks("mermaid"), ids=str)
def test_every_diagram_is_drawn_with_all_its_texts_apart_from_each_other(block: Block) -> None:
    """The picture contains each text in quotes, after a colon or between bars; no box covers another; all are inside."""
    picture = diagrams.svg(block.text)
    shown = texts(picture)
    for text in re.findall(r'\["(.*?)"\]|\{"(.*?)"\}|\|(.*?)\||: (.*)', block.text):
        assert " ".join("".join(text).replace("<br/>", " ").split()) in shown
    width, height = map(float, ElementTree.fromstring(picture).attrib["viewBox"].split()[2:])
    boxes = frames(picture)
    assert len(boxes) >= 3
    assert all(0 <= left < right <= width and 0 <= top < bottom <= height for left, top, right, bottom in boxes)
    for (left, top, right, bottom), (to_left, to_top, to_right, to_bottom) in combinations(boxes, 2):
        assert right <= to_left or to_right <= left or bottom <= to_top or to_bottom <= top


def test_a_page_gets_pictures_in_place_of_sources() -> None:
    """Nothing is left for the theme's script. The markers of two pictures have different names."""
    source = 'flowchart LR\n  a["<b> & c"] --> b["d"]'
    page = f'<p>x</p><pre class="mermaid"><code>{escape(source)}</code></pre>' * 2
    drawn = diagrams.with_pictures(page)
    assert "mermaid" not in drawn
    assert drawn.count("<svg") == 2
    assert set(re.findall(r"url\(#(\w+)\)", drawn)) == set(re.findall(r'id="(\w+)"', drawn)) == {"arrow1", "arrow2"}
    assert "&lt;b&gt; &amp; c" in drawn
    assert "<script" not in drawn


@pytest.mark.parametrize(
    "source",
    ["pie\n  x", "flowchart LR\n  a ==> b", "flowchart LR\n  a & b --> c", "stateDiagram-v2\n  note left of a: x",
     "sequenceDiagram\n  alt x"],
)  # fmt: skip
def test_a_line_that_is_not_drawn_fails_the_build(source: str) -> None:
    """A picture without it would say something else."""
    with pytest.raises(diagrams.NotDrawn):
        diagrams.svg(source)


def test_the_build_draws_the_pages_of_the_site() -> None:
    """The function of the build is that of the module."""
    assert build.with_pictures is diagrams.with_pictures
