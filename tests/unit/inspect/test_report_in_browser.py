"""The page of `report` in Chromium. On request only: it requires the program `chromium`."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest

from tests.support.project_folder import ProjectFolder
from tests.support.story import Story, asked, column, shape

pytestmark = pytest.mark.full

HOSTILE = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='broken'</script>"
# Presses keys as a reader does, and writes what the page shows into its title.
KEYS = """
function press(target, key) { target.dispatchEvent(new KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true})); }
press(document.body, "/");
var field = document.activeElement;
field.value = "second";
field.dispatchEvent(new Event("input"));
press(field, "ArrowDown");
press(field, "ArrowUp");
press(field, "Enter");
setTimeout(function () { document.title = [field.id, location.hash, document.activeElement.id].join(" "); }, 100);
"""


@pytest.fixture
def page(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A page about one table with a hostile column and two versions."""
    story = Story().file(1, {"lake.a.t": shape("lake.a.t", column(1, HOSTILE))}, description=HOSTILE, author=HOSTILE)
    story.file(2, {"lake.a.t": shape("lake.a.t", column(1, HOSTILE), column(2, "second"))})
    path = tmp_path / "page.html"
    asked(story, project, monkeypatch).report(path)
    return path


def shown(path: Path, address: str = "#/") -> str:
    """Return the document after the script of the page ran."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    done = subprocess.run([*command, f"{path.as_uri()}{address}"], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("#/shop", "shop (default)"),
        ("#/shop/lake.a.t", "lake.a.t"),
        ("#/shop/lake.a.t/0001", f"0001  {HOSTILE}"),
        ("#/shop//0002", "0002  why 2"),
        ("#/nowhere", "Not found"),
        ("#pending", "To come"),
        ("#drift", "Changes past the migrations"),
        ("#compare", "Compare"),
    ],
)
def test_each_address_opens_its_page_and_texts_stay_texts(page: Path, address: str, heading: str) -> None:
    """No element comes from a text."""
    found = shown(page, address)
    [title] = re.findall("<h1>(.*?)</h1>", found, re.S)
    assert unescape(title) == heading
    assert "<img" not in found
    assert "<title>broken" not in found


def test_the_search_works_by_keyboard(page: Path) -> None:
    """`/` goes to the field, arrows choose, Enter opens the table of the column, which then has the focus."""
    # The policy allows no second script.
    text = re.sub("<meta http-equiv.*?>", "", page.read_text(), count=1)
    page.write_text(text.replace("</body>", f"<script>{KEYS}</script></body>"))
    assert "<title>search #/shop/lake.a.t main</title>" in shown(page)


def test_the_policy_stops_another_script(page: Path) -> None:
    """A script that is added to the page does not run."""
    page.write_text(page.read_text().replace("</body>", "<script>document.title = 'broken'</script></body>"))
    found = shown(page)
    assert "<title>broken" not in found
    assert "<h1>" in found
