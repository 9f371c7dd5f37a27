"""Draw what a terminal shows as SVG: the screens of `tests/unit/output/golden`, in their colours.

A picture of the commands that somebody sees first; `docs/build.py` writes `terminal.svg`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from glacierbase.output.screen import Screen
from tests.unit.output.screens import NOW, SCREENS

_SHOWN = {
    "migrate --env prod": "migrate",
    "blame sleep.events": "blame",
    "compare dev staging prod": "compare",
}
_WIDTH = 106
# Pixels of a character and of a line.
_CHARACTER, _LINE, _MARGIN = 7.85, 18, 16
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
# By the codes of the screens' styles.
_STYLES = {
    "1": "font-weight:bold", "2": "fill:#8b949e", "31": "fill:#ff7b72", "32": "fill:#7ee787", "35": "fill:#d2a8ff",
}  # fmt: skip


def terminal() -> str:
    """Return the picture."""
    lines = list(_lines())
    width, height = _CHARACTER * _WIDTH + 2 * _MARGIN, _LINE * len(lines) + 2 * _MARGIN
    texts = [
        f'<text x="{_MARGIN}" y="{_MARGIN + _LINE * number + 13}" xml:space="preserve">{"".join(_spans(line))}</text>'
        for number, line in enumerate(lines)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" font-size="13" fill="#e6edf3"'
        ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace">'
    )
    title = f"<title>A terminal with {', '.join(f'glacierbase {words}' for words in _SHOWN)}</title>"
    return "\n".join([head, title, '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>', *texts, "</svg>\n"])


def _lines() -> Iterator[str]:
    """Yield the lines with their escape sequences: each command, and what it prints."""
    show = Screen(_WIDTH, has_colour=True, now=NOW).show
    for words, name in _SHOWN.items():
        yield f"\x1b[1m$ glacierbase {words}\x1b[0m"
        yield from SCREENS[name](show).splitlines()
        yield ""


def _spans(line: str) -> Iterator[str]:
    """Yield the parts of a line, each in its style."""
    style = ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if match := _ESCAPE.fullmatch(part):
            style = ";".join(_STYLES[code] for code in match[1].split(";") if code in _STYLES)
        elif part:
            yield f'<tspan style="{style}">{escape(part)}</tspan>' if style else escape(part)
