"""Draw the diagrams of the pages as SVG: the parts of Mermaid's language that the pages use, without a network or a script.

A flowchart or state diagram is a layered graph: nodes in ranks, labels in ranks between them, both ordered so that few lines cross.
Colours are those of the text around the picture, so that it fits a light and a dark page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape, unescape
from itertools import count, pairwise

_BLOCK = re.compile(r'<pre class="mermaid"><code>(.*?)</code></pre>', re.DOTALL)
_NODE = re.compile(r'(\w+|\[\*\])(?:\["(.*?)"\]|\{"(.*?)"\})?')
_ARROW = re.compile(r"\s*-->(?:\|(.*?)\|)?\s*")
_MESSAGE = re.compile(r"(\w+)-(-?)>>(\w+): (.*)")
# Pixels: a character, a line, the padding of a box, the gaps between boxes and between ranks, the margin.
_CHARACTER, _LINE, _PADDING, _GAP, _RANK, _MARGIN = 6.9, 17, 10, 24, 26, 12
# Characters of a line in a box, and of a label.
_WIDTH, _LABEL = 26, 22
_SWEEPS = 80


class NotDrawn(Exception):
    """A diagram has a line that is not drawn."""


def with_pictures(html: str) -> str:
    """Return a page with a picture in place of each diagram's source."""
    numbers = count(1)
    return _BLOCK.sub(
        # A narrow screen scrolls it, and shows its texts in a size that can be read.
        lambda found: f'<div style="overflow-x:auto">{svg(unescape(found[1]), next(numbers))}</div>',
        html,
    )


def svg(source: str, number: int = 1) -> str:
    """Return the picture of a diagram.

    Args:
        number: of the diagram in its page.

    Raises:
        NotDrawn: the source has a line that is not drawn.
    """
    kind, *lines = (line.strip() for line in source.strip().splitlines())
    if kind == "sequenceDiagram":
        return _picture(*_sequence(lines), number)
    if kind == "stateDiagram-v2":
        return _picture(*_graph(_states(lines)), number)
    if kind in ("flowchart LR", "flowchart TD"):
        return _picture(*_graph(_flow(lines), is_wide=kind.endswith("LR")), number)
    raise NotDrawn(kind)


def _picture(parts: Iterable[str], width: float, height: float, number: int) -> str:
    arrow = (
        f'<marker id="arrow{number}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="currentColor"/></marker>'
    )
    body = "".join(parts).replace("#arrow", f"#arrow{number}")
    return (
        f'<svg class="diagram" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'style="max-width:100%;min-width:min({width:.0f}px,36em);height:auto" font-family="inherit" font-size="13">'
        f"<defs>{arrow}</defs>{body}</svg>"
    )


def _wrapped(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for part in text.split("<br/>"):
        line = ""
        for word in part.split():
            if line and len(line) + 1 + len(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(line)
    return lines


def _text(lines: list[str], x: float, y: float, anchor: str = "middle") -> str:
    first = y - (len(lines) - 1) * _LINE / 2 + 4.5
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{first + number * _LINE:.1f}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}" fill="currentColor">{spans}</text>'


@dataclass(eq=False)
class _Box:
    """A node, a label, or a bend of a line (without text)."""

    lines: list[str] = field(default_factory=list)
    shape: str = ""
    rank: int = 0
    width: float = 0
    height: float = 0
    x: float = 0
    y: float = 0

    def measured(self) -> _Box:
        if self.lines:
            padding = {"": 2, "start": 2}.get(self.shape, _PADDING)
            self.width = max(map(len, self.lines)) * _CHARACTER + 2 * padding
            self.height = len(self.lines) * _LINE + 2 * padding
        if self.shape == "choice":
            self.width += 2 * _PADDING
        if self.shape == "start":
            self.width = self.height = 12
        return self


@dataclass
class _Graph:
    nodes: dict[str, _Box] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)

    def node(self, name: str, text: str, shape: str) -> None:
        if name not in self.nodes or text:
            self.nodes[name] = _Box(_wrapped(text or name, _WIDTH), shape).measured()


def _flow(lines: Iterable[str]) -> _Graph:
    graph = _Graph()
    for line in lines:
        position, before, label = 0, "", ""
        while position < len(line):
            found = _NODE.match(line, position)
            if not found:
                raise NotDrawn(line)
            graph.node(found[1], found[2] or found[3] or "", "choice" if found[3] else "box")
            if before:
                graph.edges.append((before, found[1], label))
            before, position = found[1], found.end()
            if position < len(line):
                arrow = _ARROW.match(line, position)
                if not arrow:
                    raise NotDrawn(line)
                label, position = arrow[1] or "", arrow.end()
    return graph


def _states(lines: Iterable[str]) -> _Graph:
    graph = _Graph()
    for line in lines:
        found = re.fullmatch(r"(\S+) --> (\w+)(?:: (.*))?", line)
        if not found:
            raise NotDrawn(line)
        for name in found.groups()[:2]:
            graph.node(name, "", "start" if name == "[*]" else "box")
        graph.edges.append((found[1], found[2], found[3] or ""))
    return graph


def _graph(graph: _Graph, *, is_wide: bool = False) -> tuple[list[str], float, float]:
    """Return the parts of a graph's picture, and its width and height."""
    turned = _turned(graph)
    _set_ranks(graph, turned)
    boxes, lines = list(graph.nodes.values()), []
    for index, (source, target, label) in enumerate(graph.edges):
        if source != target:
            line = _line(graph, index in turned, source, target, label)
            lines.append((line, index in turned))
            boxes += line[1:-1]
    if is_wide:
        _turn(boxes)
    width, height = _place(boxes, [line for line, _ in lines])
    if is_wide:
        _turn(boxes)
        width, height = height, width
    parts = [_path(line[::-1] if back else line, is_wide=is_wide) for line, back in lines]
    parts += [_drawn(box) for box in boxes if box.lines]
    for source, target, label in graph.edges:
        if source == target:
            box = graph.nodes[source]
            right = box.x + box.width / 2
            parts.append(
                f'<path d="M{right:.1f} {box.y - 8:.1f}c34 -10 34 26 1 16" fill="none" stroke="currentColor" '
                f'marker-end="url(#arrow)"/>{_text([label], right + 30, box.y, "start")}'
            )
            width = max(width, right + 30 + len(label) * _CHARACTER + _MARGIN)
    return parts, width, height


def _turned(graph: _Graph) -> set[int]:
    """Return the edges that lead back: in a search from the first node, to a node that is not left yet."""
    turned: set[int] = set()
    state: dict[str, str] = {}

    def visit(name: str) -> None:
        state[name] = "entered"
        for index, (source, target, _) in enumerate(graph.edges):
            if source == name and target != name:
                if target not in state:
                    visit(target)
                elif state[target] == "entered":
                    turned.add(index)
        state[name] = "left"

    for name in graph.nodes:
        if name not in state:
            visit(name)
    return turned


def _set_ranks(graph: _Graph, turned: set[int]) -> None:
    """Set the rank of each node: below all that lead to it, with a rank for labels in between."""
    for _ in graph.nodes:
        for index, (source, target, _) in enumerate(graph.edges):
            above, below = (target, source) if index in turned else (source, target)
            if source != target:
                graph.nodes[below].rank = max(graph.nodes[below].rank, graph.nodes[above].rank + 2)


def _line(graph: _Graph, back: bool, source: str, target: str, label: str) -> list[_Box]:
    """Return the boxes that a line passes, from above: its ends, and one in each rank between, the label in the middle."""
    above, below = (graph.nodes[name] for name in ((target, source) if back else (source, target)))
    bends = [_Box(rank=rank) for rank in range(above.rank + 1, below.rank)]
    middle = bends[len(bends) // 2 if back else 0]
    if label:
        middle.lines = _wrapped(label, _LABEL)
        middle.measured()
    return [above, *bends, below]


def _turn(boxes: Iterable[_Box]) -> None:
    for box in boxes:
        box.x, box.y, box.width, box.height = box.y, box.x, box.height, box.width


def _place(boxes: list[_Box], lines: list[list[_Box]]) -> tuple[float, float]:
    """Set the centre of each box, and return width and height of all."""
    neighbours: dict[_Box, list[_Box]] = {box: [] for box in boxes}
    for line in lines:
        for one, other in pairwise(line):
            neighbours[one].append(other)
            neighbours[other].append(one)
    ranks = [[box for box in boxes if box.rank == rank] for rank in range(max(box.rank for box in boxes) + 1)]
    top = float(_MARGIN)
    for rank in filter(None, ranks):
        height = max(box.height for box in rank)
        for box in rank:
            box.y = top + height / 2
        top += height + (_RANK if height else 0) * 0.7
        _push(rank)
    for sweep in range(_SWEEPS):
        for rank in ranks if sweep % 2 == 0 else ranks[::-1]:
            wanted = {
                box: sum(other.x for other in neighbours[box]) / len(neighbours[box]) for box in rank if neighbours[box]
            }
            if sweep < _SWEEPS // 2:
                rank.sort(key=lambda box: wanted.get(box, box.x))
            for box in rank:
                box.x = wanted.get(box, box.x)
            _push(rank)
    left = min(box.x - box.width / 2 for box in boxes) - _MARGIN
    for box in boxes:
        box.x -= left
    return max(box.x + box.width / 2 for box in boxes) + _MARGIN, top


def _push(rank: list[_Box]) -> None:
    """Move the boxes of a rank apart where they overlap, around the place of their middle."""
    if not rank:
        return
    wanted = sum(box.x for box in rank) / len(rank)
    for before, box in pairwise(rank):
        box.x = max(box.x, before.x + (before.width + box.width) / 2 + _GAP)
    shift = wanted - sum(box.x for box in rank) / len(rank)
    for box in rank:
        box.x += shift


def _path(line: list[_Box], *, is_wide: bool) -> str:
    """Return a smooth line through boxes, from the edge of the first to the edge of the last."""
    if len(line) == 3 and not line[1].lines:
        line = [line[0], line[2]]
    points = [(box.x, box.y) for box in line]
    for end, inner in ((0, 1), (-1, -2)):
        box, towards = line[end], line[inner]
        sign = 1 if (towards.x > box.x if is_wide else towards.y > box.y) else -1
        points[end] = (box.x + sign * box.width / 2, box.y) if is_wide else (box.x, box.y + sign * box.height / 2)
    drawn = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = ((x + to_x) / 2, y, (x + to_x) / 2, to_y) if is_wide else (x, (y + to_y) / 2, to_x, (y + to_y) / 2)
        drawn += "C" + " ".join(f"{value:.1f}" for value in (*middle, to_x, to_y))
    return f'<path d="{drawn}" fill="none" stroke="currentColor" stroke-opacity="0.6" marker-end="url(#arrow)"/>'


def _drawn(box: _Box) -> str:
    if box.shape == "start":
        return f'<circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="6" fill="currentColor"/>'
    left, top = box.x - box.width / 2, box.y - box.height / 2
    frame = 'fill="none"' if not box.shape else 'stroke="currentColor"'
    radius = box.height / 2 if box.shape == "choice" else 4
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:.1f}" '
        f'style="fill:var(--md-default-bg-color,Canvas)" {frame}/>{_text(box.lines, box.x, box.y)}'
    )


def _sequence(lines: list[str]) -> tuple[list[str], float, float]:
    """Return the parts of a sequence of messages, and its width and height."""
    names: dict[str, str] = {}
    rows: list[tuple[str, ...]] = []
    for line in lines:
        if found := re.fullmatch(r"participant (\w+) as (.*)", line):
            names[found[1]] = found[2]
        elif message := _MESSAGE.fullmatch(line):
            rows.append(("message", *message.groups()))
        elif line == "end" or line.startswith("loop "):
            rows.append((line[:4].strip(), line.removeprefix("loop ")))
        else:
            raise NotDrawn(line)
    gap = 32 + _CHARACTER * max(len(row[4]) / abs(_distance(names, row)) for row in rows if row[0] == "message")
    column = {name: 70 + gap * number for number, name in enumerate(names)}
    parts, y = list(_messages(rows, column)), 84 + 38 * len(rows)
    for name, text in names.items():
        parts.insert(
            0,
            f'<path d="M{column[name]:.1f} 40V{y}" stroke="currentColor" stroke-opacity="0.3" stroke-dasharray="3 4"/>',
        )
        parts.append(_drawn(_Box([text], "box", x=column[name], y=26).measured()))
    return parts, column[next(reversed(names))] + 70, y + _MARGIN


def _distance(names: dict[str, str], row: tuple[str, ...]) -> int:
    order = list(names)
    return order.index(row[3]) - order.index(row[1])


def _messages(rows: list[tuple[str, ...]], column: dict[str, float]) -> Iterator[str]:
    begun: list[tuple[float, str]] = []
    left, right = min(column.values()) - 24, max(column.values()) + 24
    for number, row in enumerate(rows):
        y = 84 + 38 * number
        if row[0] == "message":
            x, to_x = column[row[1]], column[row[3]]
            dashes = ' stroke-dasharray="5 4"' if row[2] else ""
            yield f'<path d="M{x:.1f} {y}H{to_x:.1f}" stroke="currentColor"{dashes} marker-end="url(#arrow)"/>'
            yield _text([row[4]], (x + to_x) / 2, y - 11)
        elif row[0] == "loop":
            begun.append((y - 18, row[1]))
        else:
            top, label = begun.pop()
            yield (
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{y - top - 16:.1f}" rx="4" fill="none" '
                f'stroke="currentColor" stroke-opacity="0.5"/>{_text([label], left + 8, top + 14, "start")}'
            )
