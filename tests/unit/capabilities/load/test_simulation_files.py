"""The pictures and the page of `layout simulate` are well-formed, contact nothing, and are the same each time."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from glacierbase.capabilities.load.access_log import DamagedLine
from glacierbase.capabilities.load.simulation import Hour, PeriodLoad, SensitivityRow, SimulatedRun, Simulation, Split
from glacierbase.capabilities.load.simulation_files import check_outputs, page, write_outputs
from glacierbase.capabilities.load.simulation_plots import plots_of
from glacierbase.capabilities.load.trace import LogComparison, Observed, ObservedHour, Prediction
from glacierbase.errors import GlacierbaseError
from tests.support.accesslogs import record
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder

HOSTILE = "<script>alert(1)</script> $x$ \x1b[31m --> \u202e"
VOID = {"meta", "br"}


def run(scheme: str, split: Split, is_warm: bool) -> SimulatedRun:
    hours = (Hour(-3, 5, 2), Hour(4, 12_000, 2), Hour(30, 0, 9))
    load = PeriodLoad(1000, 10, 0.01, 2.0)
    return SimulatedRun(scheme, split, is_warm, load, load, 1.5, {"0": 0.6, "\x1b": 0.4}, 9, hours)


def simulation(*schemes: str) -> Simulation:
    runs = tuple(run(scheme, split, is_warm) for scheme in schemes for split in Split for is_warm in (False, True))
    rows = (SensitivityRow("trigger", "80 %", schemes[0], runs[0].steady, runs[0].burst),)
    return Simulation(2, 0, runs, rows, ("Unknown: <how> & why.",))


def replayed() -> Simulation:
    hour = ObservedHour(datetime(2026, 11, 24, 12, tzinfo=timezone.utc), 100, 7, 1)
    predicted = tuple(Prediction(str(split), is_warm, 9, 0.09, 2, (9,)) for split in Split for is_warm in (False, True))
    trace = LogComparison(
        3, 1, (DamagedLine(HOSTILE, 1, "why"),), 0, 100, 100, 0, hour.hour, hour.hour, (HOSTILE,), 1, Observed(7, 1, 0.07),
        predicted, (hour,),
    )  # fmt: skip
    return Simulation(None, None, (), (), (), trace)


class Checker(HTMLParser):
    """Collects elements and their attributes, and checks that each element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self.ids += [value or "" for name, value in attributes if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module", params=["schemes", "log"])
def shown(request: pytest.FixtureRequest) -> str:
    made = simulation(HOSTILE) if request.param == "schemes" else replayed()
    return page(made, plots_of(made))


def test_the_page_is_well_formed_and_runs_nothing(shown: str) -> None:
    """A hostile name is text; ids occur once; every reference is to an id of the page."""
    checker = Checker()
    checker.feed(shown)
    assert checker.open == []
    assert "script" not in {tag for tag, _ in checker.tags}
    assert "&lt;script&gt;" in shown
    assert not set("\x1b\u202e") & set(shown)
    assert len(checker.ids) == len(set(checker.ids)) > 10
    references = set(re.findall(r'(?:href="|url\()#([^")]+)', shown))
    assert references
    assert references <= set(checker.ids)


def test_the_policy_of_the_page_allows_its_style_only(shown: str) -> None:
    """No element has a `style` attribute, which the policy would ignore, and no address is loaded."""
    [style] = re.findall(r"<style>(.*?)</style>", shown, re.S)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in shown
    checker = Checker()
    checker.feed(shown)
    names = {name for _, attributes in checker.tags for name in attributes}
    assert not names & {"style", "src", "onload", "srcset"}
    assert not [link for _, attributes in checker.tags if (link := attributes.get("href")) and link[0] != "#"]
    assert set(re.findall(r'https?://[^"\s<]*', shown)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_plots_in_the_page_have_the_colour_of_its_text(shown: str) -> None:
    """No text or axis is black, and no ground is white, in light and in dark."""
    plots = re.findall(r"<svg.*?</svg>", shown, re.S)
    for plot in plots:
        ElementTree.fromstring(plot)
        assert 'fill="currentColor"' in plot
        assert not re.search("#000000|#ffffff", plot)
    assert len(plots) in (1, 2)


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    """PNG, SVG and HTML, by the suffix, without a time or a version of matplotlib; an existing file is replaced."""
    made = replayed()
    paths = [str(tmp_path / name) for name in ("a.png", "a.svg", "a.HTML")]
    (tmp_path / "a.png").write_text("before")
    check_outputs(paths)
    assert write_outputs(paths, made).written == tuple(paths)
    first = [Path(path).read_bytes() for path in paths]
    write_outputs(paths, made)
    assert [Path(path).read_bytes() for path in paths] == first
    assert first[0].startswith(b"\x89PNG")
    assert ElementTree.fromstring(first[1]).tag == "{http://www.w3.org/2000/svg}svg"
    assert first[2].startswith(b"<!DOCTYPE html>")
    assert not re.search(rb"Matplotlib v|dc:date", b"".join(first))


@pytest.mark.parametrize(
    ("name", "code"), [("a.pdf", "INVALID_VALUE"), ("a", "INVALID_VALUE"), ("no/a.png", "UNREADABLE_FILE")]
)
def test_a_file_that_cannot_be_written_is_refused_before(name: str, code: str, tmp_path: Path) -> None:
    """The suffix is the format; the folder must exist."""
    with pytest.raises(GlacierbaseError) as caught:
        check_outputs([str(tmp_path / "ok.png"), str(tmp_path / name)])
    assert caught.value.code == code
    if code == "INVALID_VALUE":
        assert caught.value.hint == f"use --output {tmp_path / 'a.html'}"
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_files_and_prints_the_comparison(project: ProjectFolder) -> None:
    """A log is replayed without a catalog; a wrong suffix is refused before the log is read."""
    (project.root / "log").write_text(record("a", status=503, error="SlowDown"))
    shown = run_here(project, "layout", "simulate", "--trace", "log", "--output", "a.html", "--output", "a.svg")
    assert (shown.code, shown.stderr) == (0, "")
    assert "observed: 503 Slow Down" in shown.stdout
    assert "observed: 1; predicted: from 0 to 0" in shown.stdout
    assert "observed: 1; predicted: from 0 to 0" in (project.root / "a.html").read_text("utf-8")
    assert (project.root / "a.svg").read_bytes().startswith(b"<?xml")
    refused = run_here(project, "layout", "simulate", "--trace", "missing", "--output", "a.pdf")
    assert (refused.code, "INVALID_VALUE" in refused.stderr) == (2, True)
