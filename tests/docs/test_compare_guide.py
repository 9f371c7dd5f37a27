"""The guides on environments and on drift: their commands run on the sample project, and print what they show."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.docs.pages import DOCS, REPOSITORY, blocks
from tests.docs.test_blocks import commands
from tests.support.fleet import Place, nothing
from tests.support.pages import in_page
from tests.support.program import call_program
from tests.support.repository import git, set_author
from tests.unit.inspect.scenes import added, created

GUIDES = DOCS / "guides"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The sample project: dev has all files, prod lacks two, and somebody added a column there by hand."""
    added("sleep.events", "debug_flag")(make_sample(tmp_path, prod=5))
    return tmp_path


def make_sample(tmp_path: Path, prod: int) -> SqlCatalog:
    """Make the sample project, and return a client of prod.

    Args:
        prod: how many files are applied there.
    """
    for name in ("catalogs", "migrations"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    for environment, buckets, files in (("dev", 4, 7), ("prod", 32, prod)):
        folder = tmp_path / ".glacierbase" / environment
        folder.mkdir(parents=True)
        client = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        place = Place(tmp_path, environment, client)
        for number in range(1, files + 1):
            change = created("sleep.events", buckets) if number == 1 else with_scores if number == 6 else nothing
            place.apply(f"{number:04}", change)
    return client


def with_scores(client: SqlCatalog) -> None:
    created("sleep.score_levels")(client)
    created("sleep.nightly_scores")(client)


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{14}", "NOW", text)


@pytest.mark.parametrize(
    ("page", "shown", "written"), [("compare-environments", 2, "prod.json"), ("report", 2, "public/glacierbase.html")]
)
def test_the_commands_of_the_guide_print_what_it_shows(
    sample: Path, monkeypatch: pytest.MonkeyPatch, page: str, shown: int, written: str
) -> None:
    """In order, in one folder; each exits as the page says."""
    monkeypatch.chdir(sample)
    (sample / "public").mkdir()
    printed, outputs = "", 0
    for block in blocks(GUIDES / f"{page}.md"):
        if block.language == "sh":
            printed = ""
            for words in commands(block.text):
                if words:
                    done = call_program(words[1:])
                    assert done.code == int(block.marker.removeprefix("exits ") or 0), f"{block}: {done.stderr}"
                    printed += done.stdout
        elif block.marker == "output":
            assert without_times(printed) == without_times(block.text), str(block)
            outputs += 1
    assert outputs == shown
    assert (sample / written).exists()


def test_the_commands_of_the_guide_on_drift_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each starts from the same tables: one way out leaves no change for the next."""
    project, kept = tmp_path / "project", tmp_path / "kept"
    client = make_sample(project, prod=7)
    added("sleep.events", "debug_flag")(client)
    with client.load_table("sleep.events").transaction() as change:
        change.set_properties({"write.format.default": "orc"})
    git(project, "init", "-q")
    set_author(project)
    shutil.copytree(project, kept)
    monkeypatch.chdir(project)
    printed, ran, shown = "", [], 0
    for block in blocks(GUIDES / "drift.md"):
        if block.language == "sh":
            [words] = filter(None, commands(block.text))
            done = call_program(words[1:])
            assert done.code == int(block.marker.removeprefix("exits ") or 0), f"{block}: {done.stderr}"
            printed = done.stdout
            ran.append(words[2])
            for each in (each.name for each in kept.iterdir()):
                shutil.rmtree(project / each)
                shutil.copytree(kept / each, project / each)
        elif block.marker == "output":
            assert without_times(printed) == without_times(block.text), str(block)
            shown += 1
    assert (ran, shown) == (["--env", "--env", "adopt", "revert", "ignore"], 2)


def test_the_addresses_in_the_guide_are_those_of_the_page(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each names a catalog of the sample project, and a table and a version where it goes on."""
    monkeypatch.chdir(sample)
    assert call_program(["report", "-o", "page.html", "--env", "prod"]).code == 0
    [catalog] = in_page((sample / "page.html").read_text())["catalogs"]
    tables = {"", *(each["name"] for each in catalog["tables"])}
    versions = {"", *(each["status"]["version"] for each in catalog["migrations"])}
    found = re.findall(r"`#/(\w+)(?:/([\w.]*))?(?:/(\d+))?`", (GUIDES / "report.md").read_text())
    assert len(found) == 4
    for name, table, version in found:
        assert name == catalog["catalog"]
        assert table in tables
        assert version in versions
