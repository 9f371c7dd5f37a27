"""Bars for a terminal, and pictures: the same bytes each time, and harmless whatever a value holds."""

from __future__ import annotations

import sys

import pytest

from glacierbase.capabilities.load.plots import Panel, bars, picture, share_plot, visible
from glacierbase.errors import ConfigurationError
from glacierbase.model.amounts import share_text
from glacierbase.model.printable import printable

BENFORD = Panel("first", {"1": 0.301, "2": 0.176, "9": 0.0004, "0": 0.0}, 0.25)
HOSTILE = Panel(
    "$\\frac\x1b[2J", {"\x1b": 0.5, "\n": 0.2, "\u202e": 0.1, "$": 0.1, "中": 0.1, " ": 0.1, "\u0301": 0.1}, 0.1
)


def test_bars_are_as_long_as_their_shares() -> None:
    """The longest bar is of the highest share, and a share of zero has none."""
    assert printable(bars(BENFORD)).splitlines() == [
        "first  share",
        f"1      30.1 %   {'#' * 40}",
        f"2      17.6 %   {'#' * 23}",
        "9      < 0.1 %",
        "0      0.0 %",
    ]


def test_characters_that_cannot_be_shown_are_code_points() -> None:
    """A terminal is given no control character, and no mark that joins the text before it."""
    assert [visible(character) for character in HOSTILE.shares] == [
        "U+001B", "U+000A", "U+202E", "$", "中", "U+0020", "U+0301",
    ]  # fmt: skip
    assert "\x1b" not in printable(bars(HOSTILE))


def test_shares_are_percent() -> None:
    """A share that is not zero is not shown as zero."""
    assert [share_text(share) for share in (0, 1e-9, 0.0005, 0.1234, 1)] == [
        "0.0 %",
        "< 0.1 %",
        "0.1 %",
        "12.3 %",
        "100.0 %",
    ]


@pytest.mark.filterwarnings("error")
def test_a_picture_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A style of the user changes nothing, and a hostile value is no formula, no error and no warning."""
    matplotlib = pytest.importorskip("matplotlib")
    first = share_plot("a" * 500, [BENFORD, HOSTILE])
    monkeypatch.setitem(matplotlib.rcParams, "axes.facecolor", "black")
    assert share_plot("a" * 500, [BENFORD, HOSTILE]) == first
    assert first.startswith(b"\x89PNG")
    assert b"matplotlib" not in first
    assert matplotlib.rcParams["axes.facecolor"] == "black"


def test_an_svg_names_no_date_and_no_program() -> None:
    """The ids of an SVG picture do not change from one run to the next."""
    first, second = (picture(lambda figure: figure.subplots().plot([1, 2]), "svg", (2, 2)) for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first


def test_a_missing_matplotlib_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint is the command that installs the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigurationError) as caught:
        share_plot("a", [BENFORD])
    assert caught.value.code == "LAYOUT_EXTRA_MISSING"
    assert "[layout" in caught.value.hint
