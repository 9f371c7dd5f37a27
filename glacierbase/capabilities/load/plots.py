"""Plots: bars of text for a terminal, and pictures. The same values make the same bytes."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from glacierbase.capabilities.load.extra import required
from glacierbase.model.amounts import share_text
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import Line, Mark, table

_WIDTH = 40
_LONGEST_TITLE = 100
_BAR, _EVEN = "#3b6ea5", "#c0392b"
# What would differ from one run to the next.
_METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@dataclass(frozen=True, slots=True)
class Panel:
    """The shares of characters, which one plot of bars shows.

    Attributes:
        shares: by character, in the order of the bars.
        even: the share that each would have if all were equal.
    """

    title: str
    shares: Mapping[str, float]
    even: float


def bars(panel: Panel) -> list[Line]:
    """Return the shares as a table with a bar in each row. The longest one is of the highest share."""
    highest = max(panel.shares.values())
    rows = [
        (Mark(visible(character)), share_text(share), "#" * round(share / highest * _WIDTH))
        for character, share in panel.shares.items()
    ]
    return table((panel.title, "share", ""), rows)


def visible(character: str) -> str:
    """Return a character as it can be shown alone: what has no glyph, or joins the text beside it, as its code point."""
    is_shown = character.isprintable() and not character.isspace() and unicodedata.category(character)[0] != "M"
    return character if is_shown else f"U+{ord(character):04X}"


def share_plot(title: str, panels: Sequence[Panel]) -> bytes:
    """Return the panels below each other as a PNG picture."""

    def draw(figure: Any) -> None:
        figure.suptitle(on_one_line(title, _LONGEST_TITLE))
        for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            places = range(len(panel.shares))
            axes.bar(places, [share * 100 for share in panel.shares.values()], color=_BAR)
            axes.axhline(panel.even * 100, color=_EVEN, linestyle="--", label="equal shares")
            axes.set_xticks(
                places, [visible(name) if name.isascii() else f"U+{ord(name):04X}" for name in panel.shares]
            )
            axes.set(xlabel=on_one_line(panel.title, _LONGEST_TITLE), ylabel="share of the values (%)")
            axes.legend(loc="upper right")

    return picture(draw, "png", (8, 3 * len(panels) + 0.5))


def picture(draw: Callable[[Any], None], form: str, size: tuple[float, float]) -> bytes:
    """Return a picture in the default style of matplotlib, whatever style the user has set.

    Args:
        draw: draws on a figure. No text is read as a formula.
        form: `png` or `svg`.
        size: width and height in inches.

    Raises:
        ConfigurationError: `LAYOUT_EXTRA_MISSING`: matplotlib is not installed.
    """
    figures, matplotlib = required("matplotlib.figure"), required("matplotlib")
    target = BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"text.parse_math": False, "svg.hashsalt": "glacierbase", "svg.fonttype": "path"})
        figure = figures.Figure(size, layout="constrained")
        draw(figure)
        figure.savefig(target, format=form, metadata=_METADATA[form])
    return target.getvalue()
