"""`report` where a catalog, an environment or a table cannot be read: the page has the others, and says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import checked
from tests.support.fleet import Fleet
from tests.support.pages import in_page
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.inspect.scenes import apply_all, fleet_of

SECRET = "hunter2-and-more"
# A catalog whose server does not answer.
ELSEWHERE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: "http://user:${secret:HIDDEN}@127.0.0.1:9"
      spark.sql.catalog.lake.token: ${secret:HIDDEN}
environments: {prod: {}}
"""


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret to which the catalog file refers."""
    monkeypatch.setenv("HIDDEN", SECRET)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Three environments; each test damages one of them for a while."""
    made = fleet_of(ProjectFolder(tmp_path_factory.mktemp("without") / "project"))
    apply_all(made)
    return made


@contextmanager
def damaged(fleet: Fleet, pattern: str) -> Iterator[None]:
    """Replace the files of that pattern below the warehouse by something else."""
    kept = {path: path.read_bytes() for path in (fleet.project.root / "warehouse").glob(pattern)}
    assert kept
    try:
        for path in kept:
            path.write_bytes(b"no table" * 1000)
        yield
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


@contextmanager
def another_catalog(fleet: Fleet, text: str) -> Iterator[None]:
    """Add the catalog `other`."""
    folder = fleet.project.root / "migrations" / "other"
    file = fleet.project.catalog(text, "other")
    try:
        yield
    finally:
        file.unlink()
        folder.rmdir()


def reported(fleet: Fleet, path: Path, *arguments: str) -> Output:
    return call_program(["report", *arguments, "-o", str(path), "--env", "prod", "--project", str(fleet.project.root)])


def held(path: Path) -> Any:
    return in_page(path.read_text())


def test_a_catalog_whose_server_is_down_is_named_and_the_others_are_shown(fleet: Fleet, tmp_path: Path) -> None:
    """The page, stderr and the exit code say it, and none of them holds the password in its address."""
    path = tmp_path / "page.html"
    with another_catalog(fleet, ELSEWHERE):
        output = reported(fleet, path)
    other, shop = held(path)["catalogs"]
    assert output.code == 5
    assert "error: STORE_UNAVAILABLE: catalog other" in output.stderr
    assert f"written: {path}" in output.stdout
    assert (other["catalog"], other["error"]["code"], other["read_at"]) == ("other", "STORE_UNAVAILABLE", None)
    assert (shop["error"], len(shop["tables"])) == (None, 3)
    assert SECRET not in path.read_text() + output.stdout + output.stderr


def test_an_error_that_several_parts_of_the_page_meet_is_printed_once(fleet: Fleet, tmp_path: Path) -> None:
    """The catalog that is shown is one of those that are compared."""
    with another_catalog(fleet, ELSEWHERE):
        output = reported(fleet, tmp_path / "page.html", "dev", "prod", "--format", "json")
    assert "errors" not in checked(output.document)["error"]
    assert output.code == output.document["error"]["exit_code"] == 5


def test_an_environment_whose_catalog_is_damaged_is_named_and_the_others_are_compared(
    fleet: Fleet, tmp_path: Path
) -> None:
    """The column of that environment is missing, and the page says why."""
    path = tmp_path / "page.html"
    with damaged(fleet, "dev/catalog.db"):
        output = reported(fleet, path, "dev", "staging", "prod")
    [compared] = held(path)["compared"]
    assert output.code == 5
    assert "error: STORE_UNAVAILABLE: catalog shop" in output.stderr
    assert {each["name"]: each["error"] and each["error"]["code"] for each in compared["environments"]} == {
        "dev": "STORE_UNAVAILABLE", "staging": None, "prod": None,
    }  # fmt: skip
    assert set(compared["versions"][0]["states"]) == {"staging", "prod"}


def test_without_the_shown_environment_the_comparison_of_the_others_is_written(fleet: Fleet, tmp_path: Path) -> None:
    """The page says that the environment could not be read."""
    path = tmp_path / "page.html"
    with damaged(fleet, "prod/catalog.db"):
        output = reported(fleet, path, "dev", "staging", "prod")
    data = held(path)
    assert (output.code, data["catalogs"][0]["error"]["code"]) == (5, "STORE_UNAVAILABLE")
    assert data["compared"][0]["versions"]


def test_where_nothing_can_be_read_an_existing_page_stays(fleet: Fleet, tmp_path: Path) -> None:
    """The document names no page."""
    path = tmp_path / "page.html"
    path.write_text("yesterday's")
    with damaged(fleet, "prod/catalog.db"):
        output = reported(fleet, path, "--format", "json")
    assert (output.code, path.read_text()) == (5, "yesterday's")
    assert [each["path"] for each in checked(output.document)["catalogs"]] == [""]


def test_a_wrong_catalog_file_leaves_the_other_catalogs_on_the_page(fleet: Fleet, tmp_path: Path) -> None:
    """The command fails, and the page names the catalog that it lacks."""
    path = tmp_path / "page.html"
    with another_catalog(fleet, "bogus: 1\n"):
        output = reported(fleet, path)
    assert output.code == 2
    assert "unknown key bogus" in path.read_text()
    assert "UNKNOWN_KEY: catalogs/other.yaml" in output.stderr


def test_a_table_that_cannot_be_read_is_named_and_is_not_said_to_be_as_recorded(fleet: Fleet, tmp_path: Path) -> None:
    """A warning in the output and on the page; the record of the table is shown."""
    path = tmp_path / "page.html"
    with damaged(fleet, "prod/tables/a/events/metadata/*.metadata.json"):
        output = reported(fleet, path)
    [catalog] = held(path)["catalogs"]
    assert output.code == 0
    assert [each["table"] for each in catalog["unread"]] == ["lake.a.events"]
    assert catalog["drift_compared"] == 2
    assert "lake.a.events could not be compared with the record: " in output.stdout
    assert any("lake.a.events could not be compared" in each for each in catalog["warnings"])
    assert "lake.a.events" in [each["name"] for each in catalog["tables"]]
