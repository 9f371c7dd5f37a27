"""The pages as a whole: generated parts, links, navigation, and tables that repeat what the code has."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from glacierbase import Project
from glacierbase.apply import transitions
from glacierbase.model.migration import Event, EventType, State
from glacierbase.stores import LockRow
from tests import test_architecture
from tests.docs.pages import DOCS, PAGES, REPOSITORY, build, table


def test_generated_pages_are_current() -> None:
    """`python docs/build.py --pages` writes them."""
    stale = [path.name for path, text in build.pages() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == []


def test_the_readme_is_short() -> None:
    """At most 130 lines: what is longer belongs to the site."""
    assert len((REPOSITORY / "README.md").read_text("utf-8").splitlines()) <= 130


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    """On every page, the README included, which the site does not contain."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file(), target
        assert file.is_relative_to(REPOSITORY), target
        assert not anchor or anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", each).strip().lower()) for each in headings}


def test_every_page_is_in_the_navigation() -> None:
    """The generator does not report one that is missing."""
    listed = re.findall(r'= "([\w/-]+\.md)"', (REPOSITORY / "zensical.toml").read_text("utf-8"))
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_guides_are_in_five_groups() -> None:
    """In the order of the work: write, review, deploy, recover, operate."""
    text = (REPOSITORY / "zensical.toml").read_text("utf-8").partition('{ "Guides" = [')[2]
    guides = text.partition('{ "Reference" = [')[0]
    assert re.findall(r'^    \{ "(\w+)" = \[$', guides, re.MULTILINE) == [
        "Write",
        "Review",
        "Deploy",
        "Recover",
        "Operate",
    ]
    assert re.search(r'^    \{ "[^"]*" = "', guides, re.MULTILINE) is None


def test_every_page_can_be_reached_from_the_start_page() -> None:
    """By links in pages: a reader who has no site reads them in the repository."""
    reached, todo = set[Path](), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            links = re.findall(r"\]\(([\w./-]+\.md)[#)]", page.read_text("utf-8"))
            todo += [target for link in links if (target := (page.parent / link).resolve()).is_relative_to(DOCS)]
    assert sorted(set(DOCS.rglob("*.md")) - reached) == []


def test_the_table_of_commands_has_every_command() -> None:
    """The table above the generated part of the page of commands groups all of them by purpose."""
    written = (DOCS / "reference" / "commands.md").read_text("utf-8").partition("<!-- generated")[0]
    rows = [line.split("|")[2] for line in written.splitlines() if line.startswith("| ")]
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)", row)} == set(build.cli.commands)


def test_the_json_page_has_the_fields_of_every_document() -> None:
    """The fields beside those that all documents and all entries have."""
    text = (DOCS / "reference" / "json.md").read_text("utf-8").partition("## Schemas")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    described = {name for row in rows for name in re.findall(r"`([a-z-]+)", row.split("|")[1])}
    documents = {path.stem for path in (DOCS / "reference" / "schemas").glob("*.json")} - {"catalog-file", "usage"}
    assert documents - described == set()


def test_the_python_page_names_arguments_that_migrate_has() -> None:
    """In the part that is not generated: `spark=` and the like."""
    written = (DOCS / "reference" / "python.md").read_text("utf-8").partition("<!-- generated")[0]
    named = set(re.findall(r"`(\w+)=`", written))
    assert named
    assert named <= set(inspect.signature(Project.migrate).parameters)


_TYPES = {"int": "bigint", "str": "string", "datetime": "timestamp"}


@pytest.mark.parametrize(("marker", "row_type"), [("columns of the history", Event), ("columns of the lock", LockRow)])
def test_the_tables_page_has_every_column_in_order(marker: str, row_type: type) -> None:
    """Each column is shown with its type in the store."""
    columns = [(f"`{field.name}`", _TYPES[str(field.type).partition(" ")[0]]) for field in fields(row_type)]
    assert [(row[0], row[1]) for row in table(DOCS / "reference" / "tables.md", marker)] == columns


def test_the_guide_of_failures_has_the_transitions_of_repair() -> None:
    """State, decision and what the version becomes, in the order of the help."""
    rows = [(f"`{state}`", f"`{resolution}`", becomes) for state, resolution, becomes in transitions.table()]
    assert [tuple(row) for row in table(DOCS / "guides" / "failed-migration.md", "transitions of repair")] == rows


@pytest.mark.parametrize("names", [EventType, State])
def test_the_tables_page_explains_every_event_and_state(names: Any) -> None:
    """The page has one row for each event and each state."""
    text = (DOCS / "reference" / "tables.md").read_text("utf-8")
    assert [name.value for name in names if f"| `{name.value}` |" not in text] == []


def test_the_house_in_contributing_is_the_one_that_the_architecture_test_holds() -> None:
    """The table in CONTRIBUTING has the same rooms in each layer."""
    rows = table(REPOSITORY / "CONTRIBUTING.md", "layers")
    assert [set(re.findall(r"`(\w+)`", row[1])) for row in rows] == test_architecture.LAYERS
    assert [row[0] for row in rows] == [str(number) for number in range(len(rows))]


def test_the_picture_of_a_terminal_is_that_of_three_commands() -> None:
    """The picture is in README and on the first page. The golden files hold the same screens."""
    picture = ElementTree.fromstring((DOCS / "terminal.svg").read_text("utf-8"))
    lines = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert [line for line in lines if line.startswith("$ ")] == [
        f"$ glacierbase {words}" for words in ("migrate --env prod", "blame sleep.events", "compare dev staging prod")
    ]
    assert any("not from a migration" in line for line in lines)
    for page in (REPOSITORY / "README.md", DOCS / "index.md"):
        assert "terminal.svg)" in page.read_text("utf-8")
