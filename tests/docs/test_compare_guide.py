"""The guide on comparing environments: its commands run on the sample project, and print what it shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.docs.pages import DOCS, REPOSITORY, blocks
from tests.docs.test_blocks import commands
from tests.support.fleet import Place, nothing
from tests.support.program import call_program
from tests.unit.inspect.scenes import added, created

PAGE = list(blocks(DOCS / "guides" / "compare-environments.md"))


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The sample project: dev has all files, prod lacks two, and somebody added a column there by hand."""
    for name in ("catalogs", "migrations"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    for environment, buckets, files in (("dev", 4, 7), ("prod", 32, 5)):
        folder = tmp_path / ".glacierbase" / environment
        folder.mkdir(parents=True)
        client = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        place = Place(tmp_path, environment, client)
        for number in range(1, files + 1):
            change = created("sleep.events", buckets) if number == 1 else with_scores if number == 6 else nothing
            place.apply(f"{number:04}", change)
    added("sleep.events", "debug_flag")(client)
    return tmp_path


def with_scores(client: SqlCatalog) -> None:
    created("sleep.score_levels")(client)
    created("sleep.nightly_scores")(client)


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "NOW", text)


def test_the_commands_of_the_guide_print_what_it_shows(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one folder; each exits as the page says."""
    monkeypatch.chdir(sample)
    printed, outputs = "", 0
    for block in PAGE:
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
    assert outputs == 2
    assert (sample / "prod.json").exists()
