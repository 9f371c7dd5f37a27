"""The page of `report` in Chromium, where the machine has the program `chromium`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from glacierbase.capabilities.tables.compare.results import (
    Cause,
    ComparedEnvironment,
    ComparedTable,
    ComparedVersion,
    CompareResult,
    TableDifference,
)
from glacierbase.capabilities.tables.report.page import page_text
from glacierbase.capabilities.tables.report.results import PageResult, ReportedTable
from glacierbase.errors import GlacierbaseError
from tests.support.chromium import Chromium, chromium
from tests.support.project_folder import ProjectFolder
from tests.support.story import Story, asked, column, shape
from tests.unit.output.planted import planted

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\"></script><!--<script>document.title='broken'</script>\u2028javascript:0"
SHOWN = HOSTILE.replace("\u2028", "\\u2028")
ODD = [
    "lake.a.`b/c`",
    "lake.a.100%",
    "lake.a.#pending",
    "lake.a.\u00fc\u6f22\U0001f600",
    "lake.a.'q\"r'",
    "lake.a.x y?z&w=%2F",
    "lake.a.__proto__",
    "lake.a.\u05e9",
]
LONG = "a_name_without_any_blank_" * 12
ADDRESSES = {
    "#/shop": "shop (default)", "#/shop/lake.a.t": "lake.a.t", "#/shop/lake.a.t/0001": f"0001 {SHOWN}",
    "#/shop//0002": "0002 why 2", "#/nowhere": "Not found", "#/shop/lake.a.t/9": "Not found",
    "#/%E0%A4%A": "Not found", "#pending": "Pending",
    "#dictionary": "Dictionary", "#drift": "Drift", "#compare": "Compare",
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as tab:
        yield tab


@pytest.fixture
def tab(browser: Chromium) -> Chromium:
    """A window of the usual size."""
    browser.resize(1280, 800)
    browser.events.clear()
    return browser


@pytest.fixture
def page(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A page about tables with hostile, odd and long names."""
    t = "lake.a.t"
    story = Story().file(1, {t: shape(t, column(1, HOSTILE))}, description=HOSTILE, author=HOSTILE)
    commented = shape(
        t, column(1, HOSTILE, comment=HOSTILE), column(2, "second", required=True, comment="The pulse\nat rest")
    )
    story.file(2, {t: replace(commented, properties={"comment": HOSTILE})})
    story.file(3, {name: shape(name, column(1, "a"), uuid=name) for name in ODD})
    story.file(
        4, {"lake.a.long": shape("lake.a.long", column(1, LONG, f"struct<{LONG}:string>"), uuid="long")}, author=LONG
    )
    for number in range(5, 45):
        story.file(number, {})
    story.file(45, {"lake.a.gone": shape("lake.a.gone", column(1, "a"), uuid="gone")}).file(46, {"lake.a.gone": None})
    path = tmp_path / "page.html"
    asked(story, project, monkeypatch).report(path)
    return path


def heading(tab: Chromium) -> object:
    return tab.evaluate("document.querySelector('h1').textContent")


def complaints(tab: Chromium) -> list[object]:
    """Return what the page threw, and what its policy or the browser refused."""
    tab.evaluate("0")
    return [each["params"] for each in tab.events if each["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]


@pytest.mark.parametrize("address", ADDRESSES)
def test_each_address_opens_its_page_and_texts_stay_texts(tab: Chromium, page: Path, address: str) -> None:
    """No element comes from a text, nothing is thrown, and nothing but the file is requested."""
    tab.open(page, address)
    assert heading(tab) == ADDRESSES[address]
    assert tab.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert "broken" not in tab.evaluate("document.title").split("<")[0]
    assert tab.evaluate("[...document.links].every(each => each.getAttribute('href').startsWith('#'))")
    assert complaints(tab) == []
    assert {each.partition("#")[0] for each in tab.requests} <= {page.as_uri()}


@pytest.mark.parametrize("name", ODD)
def test_a_table_of_any_name_has_an_address(tab: Chromium, page: Path, name: str) -> None:
    """The link on the page of the catalog leads to it, and the address opens it in a new window, too."""
    tab.open(page, "#/shop")
    tab.evaluate(f"[...document.querySelectorAll('tbody th a')].find(each => each.textContent === {name!r}).click()")
    tab.wait(f"document.querySelector('h1').textContent === {name!r}")
    address = tab.evaluate("location.hash")
    tab.send("Page.navigate", url="about:blank")
    tab.open(page, address)
    tab.wait(f"document.querySelector('h1').textContent === {name!r}")


def test_the_search_works_by_keyboard(tab: Chromium, page: Path) -> None:
    """`/` goes to the field, the number of results is announced, arrows choose, Enter opens the table, which has the focus."""
    tab.open(page)
    tab.press("/", *"second")
    tab.wait("document.querySelectorAll('#found li').length === 1")
    assert tab.evaluate("document.getElementById('count').textContent") == "1 found"
    tab.press("ArrowDown", "ArrowUp", "Enter")
    tab.wait("location.hash === '#/shop/lake.a.t'")
    tab.wait("document.activeElement.id === 'main'")


def test_the_search_finds_a_column_by_its_comment(tab: Chromium, page: Path) -> None:
    """The result shows the comment as text."""
    tab.open(page)
    tab.press("/", *"pulse rest")
    tab.wait("document.querySelectorAll('#found li').length === 1")
    assert tab.evaluate("document.querySelector('#found li').textContent") == (
        "lake.a.t.second column in shop: The pulse\nat rest"
    )
    tab.evaluate(
        "(f => { f.value = 'onerror'; f.dispatchEvent(new Event('input')); })(document.getElementById('search'))"
    )
    assert tab.evaluate("document.querySelectorAll('#found li').length") > 1
    assert tab.evaluate("document.querySelectorAll('#found img, #found script').length") == 0


def test_dropped_tables_are_apart(tab: Chromium, page: Path) -> None:
    """The catalog's page lists them below the others with their drop; the dictionary has only tables that exist."""
    tab.open(page, "#/shop")
    tables = "[...document.querySelectorAll('table')].map(each => [...each.tBodies[0].rows].map(row => row.cells[0].textContent))"
    existing, dropped, _ = tab.evaluate(tables)
    assert (len(existing), dropped) == (len(ODD) + 2, ["lake.a.gone"])
    assert tab.evaluate("[...document.querySelectorAll('h2')].map(each => each.textContent)") == [
        "Tables", "Dropped tables", "Migrations",
    ]  # fmt: skip
    assert tab.evaluate("document.querySelectorAll('table')[1].tBodies[0].rows[0].cells[1].textContent").endswith(
        "0046"
    )
    tab.open(page, "#dictionary")
    assert tab.evaluate("[...document.querySelectorAll('h3')].map(each => each.textContent)") == existing


def test_the_dictionary_shows_each_table_with_its_columns_and_comments(tab: Chromium, page: Path) -> None:
    """A column has type, requiredness, comment, origin; comments are text."""
    tab.open(page, "#dictionary")
    entry = "[...document.querySelectorAll('.entry')].find(each => each.querySelector('h3').textContent === 'lake.a.t')"
    assert tab.evaluate(f"{entry}.querySelector('p.about').textContent") == SHOWN
    cells = tab.evaluate(
        f"[...{entry}.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert cells[0][0] == cells[0][3] == SHOWN
    assert cells[1] == ["second", "bigint", "yes", "The pulse\nat rest", "2026-11-02 0002", "Team 2"]
    assert tab.evaluate("document.querySelectorAll('main img, main script').length") == 0


def test_the_filter_of_the_dictionary_keeps_tables_and_columns(tab: Chromium, page: Path) -> None:
    """By name and comment; the numbers are announced, and a reader who comes back finds the filter."""
    tab.open(page, "#dictionary")
    tab.evaluate("document.getElementById('filter').focus()")
    tab.press(*"pulse")
    tab.wait("document.querySelectorAll('.entry').length === 1")
    assert tab.evaluate("document.querySelector('main [role=status]').textContent") == "1 table, 1 column"
    assert tab.evaluate("document.querySelector('.entry caption').textContent") == "1 of 2 columns"
    tab.evaluate("document.querySelector('.entry h3 a').click()")
    tab.wait("location.hash === '#/shop/lake.a.t'")
    tab.evaluate("history.back()")
    tab.wait("location.hash === '#dictionary' && document.querySelectorAll('.entry').length === 1")
    assert tab.evaluate("document.getElementById('filter').value") == "pulse"


def test_a_long_dictionary_is_shown_in_parts_and_printed_as_a_whole(tab: Chromium, tmp_path: Path) -> None:
    """The button shows the rest and moves the focus there; paper has no button."""
    path = tmp_path / "page.html"
    one = replace(planted(ReportedTable), dropped=None)
    tables = tuple(replace(one, name=f"lake.a.t{number}") for number in range(90))
    path.write_text(page_text("shop", [PageResult("shop", "prod", tables=tables)], []))
    tab.open(path, "#dictionary")
    assert tab.evaluate("document.querySelectorAll('.entry').length") == 20
    tab.evaluate("document.querySelector('.more').click()")
    assert tab.evaluate("document.querySelectorAll('.entry').length") == 90
    assert tab.evaluate("document.activeElement.querySelector('h3').textContent") == "lake.a.t20"
    tab.open(path, "#/shop")
    tab.open(path, "#dictionary")
    tab.print(tmp_path / "page.pdf")
    assert tab.evaluate("document.querySelectorAll('.entry').length") == 90


def test_escape_leaves_the_search(tab: Chromium, page: Path) -> None:
    """The list is gone, the field is empty, and the page has the focus and stays where it was."""
    tab.open(page, "#/shop")
    tab.press("/", "a")
    tab.wait("!document.getElementById('found').hidden")
    tab.press("Escape")
    assert tab.evaluate("[document.activeElement.id, document.getElementById('search').value]") == ["main", ""]
    assert tab.evaluate("[document.getElementById('found').hidden, window.scrollY]") == [True, 0]


def test_the_tab_key_goes_from_the_skip_link_through_the_head_to_the_content(tab: Chromium, page: Path) -> None:
    """The order is that of the page; the skip link moves the focus past the head."""
    tab.open(page)
    seen = []
    for _ in range(8):
        tab.press("Tab")
        seen.append(tab.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert seen[:7] == ["skip", "Catalogs", "Dictionary", "Pending", "Compare", "Drift", "search"]
    assert tab.evaluate("document.activeElement.closest('main') !== null")
    tab.evaluate("document.getElementById('skip').focus()")
    tab.press("Enter")
    tab.wait("document.activeElement.id === 'main'")


def test_back_returns_to_the_place_and_the_link(tab: Chromium, page: Path) -> None:
    """The reader goes on where the link was followed; forward shows the linked page from its beginning."""
    tab.open(page, "#/shop")
    tab.evaluate("(last => { last.focus(); last.click(); })([...document.querySelectorAll('main a')].pop())")
    tab.wait("location.hash === '#/shop//0001'")
    assert tab.evaluate("window.scrollY") == 0
    tab.evaluate("history.back()")
    tab.wait("location.hash === '#/shop' && document.activeElement.textContent === '0001'")
    assert tab.evaluate("window.scrollY") > 500
    tab.evaluate("history.forward()")
    tab.wait("location.hash === '#/shop//0001' && window.scrollY === 0")


def test_no_page_is_wider_than_a_narrow_window(tab: Chromium, page: Path) -> None:
    """Rows are shown as blocks with labels; names without blanks are broken."""
    tab.resize(390, 800)
    for address in ("", *ADDRESSES, "#/shop/lake.a.long"):
        tab.open(page, address)
        assert tab.evaluate("document.documentElement.scrollWidth") == 390, address
    assert tab.evaluate("getComputedStyle(document.querySelector('tbody td'), '::before').content") == '"record"'


def test_every_page_has_headings_in_order_and_named_cells_and_fields(tab: Chromium, page: Path) -> None:
    """No level of headings is left out; each header cell has a scope, each table a caption, each field a label."""
    for address in ("", *ADDRESSES):
        tab.open(page, address)
        levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(each => +each.tagName[1])")
        assert levels[0] == 1, address
        assert levels.count(1) == 1, address
        assert all(later - earlier <= 1 for earlier, later in pairwise(levels)), address
        assert tab.evaluate("[...document.querySelectorAll('th')].every(each => each.scope)")
        assert tab.evaluate("[...document.querySelectorAll('table')].every(each => each.caption)")
        assert tab.evaluate("[...document.querySelectorAll('input')].every(each => each.labels.length)")


def test_the_printed_page_has_no_head_and_no_buttons(tab: Chromium, page: Path) -> None:
    """What only works on a screen is not printed."""
    tab.open(page, "#/shop")
    tab.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert tab.evaluate("getComputedStyle(document.querySelector('header')).display") == "none"
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    finally:
        tab.send("Emulation.setEmulatedMedia", media="")


def test_a_page_whose_every_text_is_hostile_shows_all_of_them(tab: Chromium, tmp_path: Path) -> None:
    """Each field of the results holds a text with quotes, commands and control characters."""
    path = tmp_path / "page.html"
    known = replace(planted(PageResult), skipped=None, error=None, drift_unknown=None)
    path.write_text(page_text("shop", [known], [replace(planted(CompareResult), skipped=None)]))
    for address in ("#pending", "#drift", "#compare", ""):
        tab.open(path, address)
        assert tab.evaluate("document.querySelectorAll('main *').length") > 10, address
    for heading_before in ("shop", "error: FAKE"):
        assert heading_before in str(heading(tab))
        before = tab.evaluate("location.hash")
        tab.evaluate("document.querySelector('tbody th a').click()")
        tab.wait(f"location.hash !== {before!r}")
    assert tab.evaluate("location.hash.split('/').length") == 3
    assert complaints(tab) == []


def test_a_catalog_that_was_not_read_has_no_numbers(tab: Chromium, tmp_path: Path) -> None:
    """Each page that would show the catalog names it and its error."""
    path = tmp_path / "page.html"
    lost = PageResult("shop", "prod", error=GlacierbaseError("STORE_UNAVAILABLE", "the server is down"))
    path.write_text(page_text("shop", [lost, PageResult("other", "prod")], []))
    for address in ("", "#/shop", "#pending", "#drift"):
        tab.open(path, address)
        assert "STORE_UNAVAILABLE" in tab.evaluate("document.querySelector('.failure').textContent"), address
    tab.open(path)
    cells = tab.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.innerText.split(/\\s*\\t\\s*/))")
    assert cells[0] == ["shop", "prod", *["not read"] * 4, ""]
    assert cells[1][2:6] == ["0"] * 4


def test_a_compared_environment_that_was_not_read_has_no_state(tab: Chromium, tmp_path: Path) -> None:
    """An environment that was not read differs from one that does not know the version."""
    path = tmp_path / "page.html"
    lost = ComparedEnvironment("dev", error=GlacierbaseError("STORE_UNAVAILABLE", "the server is down"))
    version = replace(planted(ComparedVersion), states={})
    compared = CompareResult("shop", "", environments=(lost, ComparedEnvironment("prod")), versions=(version,))
    path.write_text(page_text("shop", [PageResult("shop", "prod")], [compared]))
    tab.open(path, "#compare")
    assert tab.evaluate("document.querySelector('.failure').textContent").startswith(
        "dev: not compared: STORE_UNAVAILABLE"
    )
    cells = tab.evaluate("[...document.querySelectorAll('tbody td')].slice(0, 2).map(each => each.textContent)")
    assert cells == ["not read", "not known there"]


def test_each_difference_of_a_table_has_its_own_cause(tab: Chromium, tmp_path: Path) -> None:
    """A difference by design beside one by hand is named as such, in the words of `compare`."""
    by_hand = TableDifference("prod", Cause.OUTSIDE, "column", "legacy", None, "string")
    by_design = TableDifference(
        "prod", Cause.VARIABLES, "partitioning", "", "bucket(4, id)", "bucket(32, id)", ("0001",)
    )
    table = ComparedTable("lake.a.t", "outside", {}, (by_hand, by_design))
    compared = CompareResult("shop", "", environments=(ComparedEnvironment("prod"),), tables=(table,))
    shown = replace(planted(ReportedTable), name="lake.a.t")
    path = tmp_path / "page.html"
    path.write_text(page_text("shop", [PageResult("shop", "prod", tables=(shown,))], [compared]))
    tab.open(path, "#/shop/lake.a.t")
    assert tab.evaluate("document.querySelector('.strip').innerText").split("\n")[-4:] == [
        "+ column legacy: string", "not from a migration",
        "~ partitioning: bucket(4, id) -> bucket(32, id)", "by their variables: 0001",
    ]  # fmt: skip
    tab.open(path, "#compare")
    whys = tab.evaluate("[...document.querySelectorAll('tbody tr td:last-child')].map(each => each.textContent)")
    assert whys == ["not from a migration", "by their variables: 0001"]


def test_the_policy_stops_another_script(tab: Chromium, page: Path) -> None:
    """A script that is added to the page does not run."""
    page.write_text(page.read_text().replace("</body>", "<script>document.title = 'broken'</script></body>"))
    tab.open(page)
    assert "broken" not in tab.evaluate("document.title")
    assert "Content Security Policy" in str(complaints(tab))
