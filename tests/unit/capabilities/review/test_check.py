"""`check`: the errors of `validate` and the findings of `lint` or `review` in one result, with one exit code."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark import ENGINE
from glacierbase.project.project import Project
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: http://localhost:1
    dependencies: ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
"""
TABLE = "lake.a.t"
FAILED = 3


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch without a new file, of a base that creates a table."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    project.file("0001_create.sql", f"CREATE TABLE {TABLE} (id BIGINT, legacy STRING) USING iceberg")
    commit_all(project.root)
    return project


@pytest.mark.parametrize("base", [(), ("--base", "main")])
def test_files_in_order_without_findings_pass(branch: ProjectFolder, base: tuple[str, ...]) -> None:
    """The text is one line for each catalog."""
    done = run_here(branch, "check", *base)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["  1 migration in order"]


def test_an_error_of_a_file_and_one_of_a_statement_are_in_one_document(branch: ProjectFolder) -> None:
    """Each of them is there once, and the exit code is that of a failed check."""
    branch.file("0002_drop.sql", f"ALTER TABLE {TABLE} DROP COLUMN legacy")
    branch.file("0003_open.sql", "SELECT 'open")
    done = ask_here(branch, "check")
    entry = done.entry()
    assert done.code == FAILED
    assert [error["code"] for error in entry["error"]["errors"]] == ["UNTERMINATED_STRING", "LINT_FAILED"]
    assert [(finding["code"], finding["path"]) for finding in entry["findings"]] == [
        ("DS103", "migrations/shop/0002_drop.sql")
    ]
    assert (entry["checked"], entry["environments"]) == (2, ["default"])
    assert done.document["error"]["code"] == "UNTERMINATED_STRING"


def test_with_a_base_it_shows_the_tables_and_refuses_an_edited_file(branch: ProjectFolder) -> None:
    """What `validate --base` and `review --base` find."""
    branch.file("0001_create.sql", f"CREATE TABLE {TABLE} (id BIGINT, legacy INT) USING iceberg")
    branch.file("0002_add.sql", f"ALTER TABLE {TABLE} ADD COLUMN device STRING")
    done = ask_here(branch, "check", "--base", "main")
    entry = done.entry()
    assert done.code == FAILED
    assert entry["error"]["code"] == done.document["error"]["code"] == "BASE_FILE_EDITED"
    assert [(table["table"], table["change"]) for table in entry["tables"]] == [(TABLE, "altered")]
    assert entry["origin"]["command"] == "glacierbase check --base main"


def test_where_the_engine_of_the_replay_is_missing_the_rules_still_answer(branch: ProjectFolder) -> None:
    """The result says that nothing was replayed; `review` fails there."""
    branch.file("0002_insert.sql", f"INSERT INTO {TABLE} SELECT 1, 'a'")
    branch.file("0003_drop.sql", f"ALTER TABLE {TABLE} DROP COLUMN legacy")
    missing = EngineUnavailable("ENGINE_UNAVAILABLE", "there is no Java")
    with patch.object(type(ENGINE), "open_copy", side_effect=missing):
        entry = ask_here(branch, "check", "--base", "main").entry()
        with pytest.raises(EngineUnavailable):
            Project.load(branch.root).review("main")
    assert entry["warnings"] == [
        "the migrations were rendered, and not replayed: on the throw-away copy: there is no Java"
    ]
    assert entry["error"]["code"] == "REVIEW_FAILED"
    assert [finding["code"] for finding in entry["findings"] if finding["severity"] == "error"] == ["DS103"]
    assert entry["replay"] is None


def test_a_base_that_does_not_exist_is_an_error_without_results(branch: ProjectFolder) -> None:
    """The document has no catalogs, and names the ref once."""
    done = ask_here(branch, "check", "--base", "nowhere")
    assert (done.code, done.document["catalogs"]) == (2, [])
    assert done.stdout.count("nowhere") == 1
