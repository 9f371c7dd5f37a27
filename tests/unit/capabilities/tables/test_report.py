"""The page of `report`: one file that contacts nothing, whose texts are texts, small and always the same."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from glacierbase.capabilities.tables.compare.results import CompareResult
from glacierbase.capabilities.tables.report.page import packed, page_text
from glacierbase.capabilities.tables.report.results import PageResult
from tests.support.documents import checked
from tests.support.fleet import Fleet
from tests.support.hostile import PAYLOAD, check_inert
from tests.support.pages import in_page, opened
from tests.support.program import call_program
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder
from tests.support.story import Story, asked, column, shape
from tests.unit.inspect.scenes import apply_all, fleet_of
from tests.unit.output.planted import planted

SCRIPT = "</script><script>alert(1)</script><!--<script>"


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Three environments that differ in every way; tests only read them."""
    fleet = fleet_of(ProjectFolder(tmp_path_factory.mktemp("different") / "project"))
    apply_all(fleet)
    return fleet


def reported(fleet: Fleet, *arguments: str) -> Output:
    return call_program(["report", *arguments, "--env", "prod", "--project", str(fleet.project.root)])


class Elements(HTMLParser):
    """The elements of a page, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_holds_tables_migrations_comparison_and_drift(different: Fleet, tmp_path: Path) -> None:
    """What each command returns is in its data, and the document of the command counts it."""
    path = tmp_path / "page.html"
    output = reported(different, "dev", "staging", "prod", "-o", str(path), "--format", "json")
    [entry] = checked(output.document)["catalogs"]
    assert output.code == 0
    assert {key: entry[key] for key in ("path", "migrations", "tables", "pending", "drifts", "environments")} == {
        "path": str(path), "migrations": 7, "tables": 3, "pending": 3, "drifts": 1, "environments": ["dev", "staging", "prod"],
    }  # fmt: skip
    data = in_page(path.read_text())
    [catalog], [compared] = data["catalogs"], data["compared"]
    assert [each["name"] for each in catalog["tables"]] == ["lake.a.events", "lake.a.users", "lake.live.orders"]
    [partition] = [each for each in catalog["tables"][2]["parts"] if each["kind"] == "partition"]
    assert (partition["type"], partition["since"]["version"]) == ("bucket(32, id)", "0001")
    assert catalog["pending"] == ["0003", "0005", "0006"]
    assert [(each["table"], each["what"], each["class"]) for each in catalog["drifts"]] == [
        ("lake.a.events", "column debug_flag", "structural")
    ]
    statements = {each["status"]["version"]: each["statements"] for each in catalog["migrations"]}
    assert statements["0003"][0]["sql"] == "ALTER TABLE lake.a.users ADD COLUMN name STRING"
    assert {each["version"]: each["verdict"] for each in compared["versions"]}["0004"] == "edited"


def test_a_table_has_its_timeline_and_the_origin_of_each_part(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A rename keeps the line of its column; a change from outside is no migration's; a dropped table stays."""
    t, u = "lake.a.t", "lake.a.u"
    story = Story().file(1, {t: shape(t, column(1, "a"))}).file(2, {t: shape(t, column(1, "b"))})
    story.outside({t: shape(t, column(1, "b"), column(2, "c"))})
    story.file(3, {t: shape(t, column(1, "b"), column(2, "c"), column(3, "d"))})
    story.file(4, {u: shape(u, column(1, "a"), uuid="u-2")}).file(5, {u: None})
    [result] = asked(story, project, monkeypatch).report(tmp_path / "page.html")
    assert result.tables == 1
    [catalog] = in_page((tmp_path / "page.html").read_text())["catalogs"]
    first, second = catalog["tables"]
    columns = {each["name"]: each for each in first["parts"] if each["kind"] == "column"}
    assert columns["b"]["since"]["version"] == "0002"
    assert columns["b"]["was"] == "renamed from a"
    assert columns["c"]["since"]["why"] == "not from a migration, first observed by 0003"
    assert [each["since"]["version"] for each in first["changes"]] == ["0003", "0003", "0002", "0001"]
    assert (second["name"], second["dropped"]["version"], second["changes"][0]["change"]) == (u, "0005", "dropped")


def test_a_table_that_was_dropped_and_made_again_has_one_page(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The table counts once; its timeline begins with the table that was dropped. Columns have their comments."""
    t = "lake.a.t"
    commented = replace(column(1, "b"), comment="the <b>")
    story = (
        Story().file(1, {t: shape(t, column(1, "a"))}).file(2, {t: None}).file(3, {t: shape(t, commented, uuid="u-2")})
    )
    [result] = asked(story, project, monkeypatch).report(tmp_path / "page.html")
    [catalog] = in_page((tmp_path / "page.html").read_text())["catalogs"]
    assert (result.tables, len(catalog["tables"])) == (1, 1)
    [table] = catalog["tables"]
    assert (table["name"], table["dropped"], table["former_names"]) == (t, None, [])
    assert [(each["since"]["version"], each["change"]) for each in table["changes"]] == [
        ("0003", "created"), ("0002", "dropped"), ("0001", "created"),
    ]  # fmt: skip
    assert [each["comment"] for each in table["parts"] if each["kind"] == "column"] == ["the <b>"]


def test_a_name_that_a_table_has_again_is_no_former_one(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the table and of a column; the name between is."""
    t, u = "lake.a.t", "lake.a.u"
    story = Story().file(1, {t: shape(t, column(1, "a"))}).file(2, {t: None, u: shape(u, column(1, "b"))})
    story.file(3, {u: None, t: shape(t, column(1, "a"))})
    project_ = asked(story, project, monkeypatch)
    [blamed] = project_.blame(t)
    assert {each.kind: each.former_names for each in blamed.lines_ if each.former_names} == {
        "column": ("b",),
        "table": (u,),
    }
    project_.report(tmp_path / "page.html")
    [catalog] = in_page((tmp_path / "page.html").read_text())["catalogs"]
    assert [(each["name"], each["former_names"]) for each in catalog["tables"]] == [(t, [u])]


def test_a_hostile_comment_is_visible_text(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Comments of tables and columns: no element, no control character, nothing that turns the text around."""
    hostile = f"{SCRIPT}{PAYLOAD}\u202eevil\u2066"
    table = replace(shape("lake.a.t", column(1, "a", comment=hostile)), properties={"comment": hostile})
    asked(Story().file(1, {"lake.a.t": table}), project, monkeypatch).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    [catalog] = in_page(text)["catalogs"]
    [shown] = catalog["tables"]
    assert "alert(1)</" not in text
    for comment in (shown["comment"], shown["parts"][0]["comment"]):
        assert SCRIPT in comment
        assert "\\u202eevil\\u2066" in comment
        check_inert(comment)


def test_a_version_without_a_file_that_ran_is_not_pending(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An older checkout does not have the newest files; nothing runs for them."""
    [result] = asked(Story().file(1, {}), project, monkeypatch).report(tmp_path / "page.html")
    assert (result.migrations, result.pending) == (1, 0)


def test_a_description_that_is_a_script_is_text(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No text can end the element that holds the data."""
    story = Story().file(1, {"lake.a.t": shape("lake.a.t", column(1, SCRIPT))}, description=SCRIPT, author=SCRIPT)
    asked(story, project, monkeypatch).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    [catalog] = in_page(text)["catalogs"]
    assert catalog["migrations"][0]["status"]["description"] == SCRIPT
    assert "alert(1)</" not in text
    assert [each[0] for each in Elements(text).found].count("script") == 2


def test_no_text_of_a_result_is_an_element_or_a_command() -> None:
    """Every field holds a hostile text: the elements are those of a page with none, and no character turns the text around."""
    text = page_text(f"<b>{PAYLOAD}", [planted(PageResult)], [planted(CompareResult)])
    assert Elements(text).found == Elements(page_text(f"<b>{PAYLOAD}", [], [])).found
    data = in_page(text)
    for each in strings(data):
        check_inert(each)
    assert "<b>" not in text


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in [key, *strings(each)]]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def test_the_page_can_load_nothing_and_runs_its_own_script_only() -> None:
    """The policy of the page allows one style and one script by their checksums; it refers to nothing outside."""
    text = page_text("shop", [planted(PageResult)], [])
    elements = Elements(text).found
    [policy] = [each[1]["content"] for each in elements if each[1].get("http-equiv") == "Content-Security-Policy"]
    [style], script = (
        re.findall(r"<style>(.*?)</style>", text, re.S),
        re.findall(r"<script>(.*?)</script>", text, re.S)[0],
    )
    assert unescape(policy or "") == (
        f"default-src 'none'; style-src '{checksum(style)}'; script-src '{checksum(script)}'; base-uri 'none'; form-action 'none'"
    )
    named = {(tag, name) for tag, values in elements for name in values if name in ("src", "href", "action", "style")}
    assert named == {("a", "href")}
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttp|WebSocket|import\(", style + script)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", script)


def checksum(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def test_the_same_results_make_the_same_page() -> None:
    """A published page changes only with what it shows."""
    page = planted(PageResult)
    assert page_text("shop", [page], []) == page_text("shop", [page], [])


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 0, True, False, None, "", "a", "1"], "b": {"a": [], "b": {}}},
        [],
        {"__proto__": "x", "constructor": {"a": "__proto__"}},
        [["a"], ["a"], {"a": "a"}, {"a": "a"}, 2**60],
        "</script>",
    ],
)
def test_a_packed_value_is_opened_as_it_was(value: Any) -> None:
    """Truth values are numbers; nothing is mistaken for another value of the same place."""
    assert opened(json.loads(packed(value))) == value


def test_what_occurs_many_times_is_written_once() -> None:
    """A page of many migrations stays small."""
    rows = [{"author": "the same author", "run": {"id": "the same run", "host": "the same host"}}] * 1000
    assert len(packed(rows)) < 3000


def test_a_damaged_state_file_is_an_error_and_no_page_is_written(different: Fleet, tmp_path: Path) -> None:
    """A page that lacks what was asked for would mislead."""
    path, state = tmp_path / "page.html", tmp_path / "state.json"
    state.write_text("{}")
    output = reported(different, "dev", str(state), "-o", str(path))
    assert output.code != 0
    assert "STATE_INVALID" in output.stderr
    assert not path.exists()


@pytest.mark.parametrize("place", ["nowhere/page.html", ".", "/dev/null"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """One message says what is wrong with the path."""
    monkeypatch.chdir(project.root)
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\n")
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: pytest.fail("it was read"))
    output = call_program(["report", "-o", place])
    assert (output.code, output.stdout) == (2, "")
    assert output.stderr.startswith(f"error: UNREADABLE_FILE: {place}: cannot be written")
    assert not Path("nowhere").exists()


def test_an_existing_page_is_replaced_as_a_whole(different: Fleet, tmp_path: Path) -> None:
    """Nothing is left of the old one, and no draft beside it."""
    path = tmp_path / "page.html"
    path.write_text("old" * 100_000)
    assert reported(different, "-o", str(path)).code == 0
    assert "oldold" not in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_secret_is_masked_in_the_page(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page holds the documents of the results, which are masked."""
    story = Story().file(1, {"lake.a.t": shape("lake.a.t", column(1, "a"))}, description="opens with hunter2-and-more")
    found = asked(story, project, monkeypatch)
    found.secrets.register("hunter2-and-more")
    found.report(tmp_path / "page.html")
    assert "hunter2" not in (tmp_path / "page.html").read_text()


def test_a_secret_property_of_a_table_is_masked_wherever_the_page_shows_it(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The key of a secret property is shown; whether its value changed is not known."""
    keys = ("s3.secret-access-key", "token", "adls.sas-token.account", "jdbc.password")
    first, second, third = (
        shape("lake.a.t", column(1, "a"), properties={"kept": "shown", **dict.fromkeys(keys, f"canary-{number}")})
        for number in (1, 2, 3)
    )
    story = Story().file(1, {"lake.a.t": first}).file(2, {"lake.a.t": second})
    monkeypatch.setattr("glacierbase.record.live.TableShapes.read", lambda *_: third)
    asked(story, project, monkeypatch).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    [catalog] = in_page(text)["catalogs"]
    [table] = catalog["tables"]
    assert "canary" not in text
    assert {each["name"]: (each["type"], each["was"]) for each in table["parts"] if each["kind"] == "property"} == {
        **dict.fromkeys(keys, ("***", "")), "kept": ("shown", ""),
    }  # fmt: skip
    assert catalog["drifts"] == []


def test_a_table_that_only_its_engine_can_read_is_named(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No engine is started for it, and it is not said to be as recorded."""
    story = Story().file(1, {"lake.a.t": shape("lake.a.t", column(1, "a"))})
    found = asked(story, project, monkeypatch)
    monkeypatch.setattr("glacierbase.record.live.TableShapes.needs_engine", lambda *_: True)
    monkeypatch.setattr("glacierbase.record.live.TableShapes.read", lambda *_: pytest.fail("it was read"))
    found.report(tmp_path / "page.html")
    [catalog] = in_page((tmp_path / "page.html").read_text())["catalogs"]
    assert (catalog["drift_compared"], catalog["drifts"]) == (0, [])
    assert catalog["unread"] == [{"table": "lake.a.t", "why": "only its engine can read it"}]


def test_the_wheel_has_every_part_of_the_page() -> None:
    """The page is made from files of the package."""
    from hatchling.builders.wheel import WheelBuilder

    packed_files = {file.distribution_path for file in WheelBuilder(str(REPOSITORY)).recurse_included_files()}
    folder = REPOSITORY / "glacierbase/capabilities/tables/report/templates"
    names = {each.name for each in folder.iterdir()}
    assert {"page.html", "page.css", "data.js", "search.js"} <= names
    assert {f"glacierbase/capabilities/tables/report/templates/{name}" for name in names} <= packed_files


# Grounds, and the colours of texts on them; then lines that mean something.
TEXTS = {
    "ground": "text faint link good bad care", "raised": "text faint link good bad care", "mark": "text faint link",
    "goodtint": "good", "badtint": "bad text link", "caretint": "care text link",
}  # fmt: skip
LINES = {
    "ground": "link edge good bad care",
    "raised": "link edge care",
    "mark": "link",
    "badtint": "bad",
    "caretint": "care",
}


def test_every_colour_is_readable_on_each_ground_that_it_is_on() -> None:
    """The contrast of texts is at least 4.5 and that of fields, rings and signs at least 3, in light, dark and print."""
    style = (REPOSITORY / "glacierbase/capabilities/tables/report/templates/page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    assert len(blocks) == 3
    for at, block in enumerate(blocks):
        colours = {name: value.ljust(7, value[-1]) for name, value in re.findall(r"--(\w+): (#\w+)", block)}
        for pairs, least in ((TEXTS, 4.5), (LINES, 3)):
            for ground, names in pairs.items():
                for name in names.split() if ground in colours else ():
                    assert contrast(colours[name], colours[ground]) >= least, (at, name, ground)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2.2)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
