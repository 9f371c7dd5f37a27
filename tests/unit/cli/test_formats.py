"""The formats of `lint` and `review` on the command line: on stdout, and in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from glacierbase.cli import main
from glacierbase.cli.terminal import Terminal
from glacierbase.output.formats import FORMATS, OutputFile, output_files
from tests.support.hostile import check_inert
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.support.sarif import SARIF
from tests.unit.capabilities.review.copies import TABLE, FakeCopy

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
environments: {dev: {}, prod: {}}
"""
DROP = "ALTER TABLE lake.a.t DROP COLUMN legacy"
PATH = "migrations/shop/2_b.sql"
FAILED, USAGE = 3, 2


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project with a migration that drops a column, on line 4."""
    project.catalog(CATALOG)
    project.file("2_b.sql", DROP)
    return project


def is_comment(text: str) -> None:
    assert text.startswith("<!-- glacierbase:lint -->\n\n**glacierbase lint**: 1 error in 1 migration\n")
    assert text.endswith("```sh\nglacierbase lint --catalog shop\n```\n")


def is_annotation(text: str) -> None:
    assert text.startswith(
        f"::error file={PATH},line=4,col=34,title=DS103 lake.a.t::lake.a.t: DROP COLUMN legacy%0Awhy: "
    )
    assert text.count("\n") == 1


def is_code_quality(text: str) -> None:
    [issue] = json.loads(text)
    assert (issue["check_name"], issue["location"]) == ("DS103", {"path": PATH, "lines": {"begin": 4}})


def is_sarif(text: str) -> None:
    document = json.loads(text)
    Draft202012Validator(SARIF).validate(document)
    [result] = document["runs"][0]["results"]
    assert result["ruleId"] == "DS103"


def is_junit(text: str) -> None:
    [failure] = ElementTree.fromstring(text).iter("failure")
    assert failure.get("type") == "DS103"


def is_json(text: str) -> None:
    assert json.loads(text)["error"]["code"] == "LINT_FAILED"


def is_text(text: str) -> None:
    assert f"{PATH}:4:34: error DS103" in text


CHECKS: dict[str, Callable[[str], None]] = {
    "text": is_text, "json": is_json, "markdown": is_comment, "github": is_annotation, "gitlab": is_code_quality,
    "sarif": is_sarif, "junit": is_junit,
}  # fmt: skip


def test_every_format_goes_to_files_and_the_text_to_stdout(shop: ProjectFolder) -> None:
    """One run writes all of them; each file holds the same finding."""
    assert set(CHECKS) == set(FORMATS)
    outputs = [part for name in CHECKS for part in ("--output", f"{name}=result.{name}")]
    done = shop.run("lint", "--catalog", "shop", *outputs)
    assert done.code == FAILED
    is_text(done.stdout)
    assert "error: LINT_FAILED" in done.stderr
    for name, check in CHECKS.items():
        check((shop.root / f"result.{name}").read_text())
    assert not list(shop.root.glob(".glacierbase*"))


@pytest.mark.parametrize("name", ["markdown", "github", "gitlab", "sarif", "junit"])
def test_a_format_goes_to_stdout(name: str, shop: ProjectFolder) -> None:
    """The error is on stderr, and the exit code is that of the text."""
    done = shop.run("lint", "--catalog", "shop", "--format", name)
    assert done.code == FAILED
    CHECKS[name](done.stdout)
    assert "error: LINT_FAILED" in done.stderr


def test_the_comment_of_a_review_shows_what_the_copy_showed(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text goes to stdout; the comment has the kind of the file, the difference of the table and the finding."""
    project.catalog("migrationExecutor:\n  type: spark\n" + CATALOG.splitlines()[2] + "\n")
    project.file("1_a.sql", f"CREATE TABLE {TABLE} (id STRING, device STRING) USING iceberg")
    commit_all(project.root)
    project.file("2_b.sql", f"ALTER TABLE {TABLE} DROP COLUMN device")
    monkeypatch.chdir(project.root)
    with FakeCopy().in_use(), pytest.raises(SystemExit) as caught:
        main(["review", "--base", "main", "--output", "markdown=comment.md"])
    assert caught.value.code == FAILED
    assert "error DS103" in capsys.readouterr().out
    comment = Path("comment.md").read_text()
    assert (
        "**glacierbase review**: 1 table to change; 1 error in 1 new migration; replayed on a throw-away copy"
        in comment
    )
    assert " | destructive | <code>Test Team</code> | " in comment
    assert "```diff\n- column device: string\n```" in comment
    assert comment.endswith("```sh\nglacierbase review --base main\n```\n")


def test_a_file_that_does_not_render_is_in_every_format(shop: ProjectFolder) -> None:
    """A report without it would pass for a clean one."""
    shop.file("3_c.sql", "SELECT {{ variables.size }}")
    names = ("markdown", "github", "gitlab", "sarif", "junit")
    done = shop.run("lint", *(part for name in names for part in ("--output", f"{name}=result.{name}")))
    assert done.code == FAILED
    texts = {name: (shop.root / f"result.{name}").read_text() for name in names}
    assert "::error file=migrations/shop/3_c.sql,line=4,col=1,title=UNDEFINED_VARIABLE::" in texts["github"]
    assert "UNDEFINED_VARIABLE" in texts["gitlab"]
    assert (
        "**error UNDEFINED&#95;VARIABLE** <code>migrations&#47;shop&#47;3&#95;c&#46;sql&#58;4</code>"
        in texts["markdown"]
    )
    assert json.loads(texts["sarif"])["runs"][0]["invocations"][0]["executionSuccessful"] is False
    assert [each.get("type") for each in ElementTree.fromstring(texts["junit"]).iter("error")] == ["UNDEFINED_VARIABLE"]


def test_paths_of_a_project_in_a_folder_begin_at_the_top_of_the_work_tree(tmp_path: Path) -> None:
    """The command that repeats the run names the project as it was given."""
    project = ProjectFolder(tmp_path / "data")
    project.catalog(CATALOG)
    (project.root / "README").write_text("")
    commit_all(tmp_path)
    project.file("2_b.sql", DROP)
    done = project.run("lint", "--project", ".", "--base", "main", "--format", "github")
    assert f"file=data/{PATH}," in done.stdout
    comment = project.run("lint", "--project", ".", "--base", "main", "--format", "markdown")
    assert "glacierbase lint --base main --project ." in comment.stdout


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["sarfi=a"], "there is no format 'sarfi'; did you mean sarif?"),
        (["sarif"], "'sarif' is not FORMAT=PATH"),
        (["sarif="], "'sarif=' is not FORMAT=PATH"),
        (["=a"], "there is no format ''"),
        (["sarif=-"], "- is no file"),
        (["sarif=a", "junit=./a"], "a is named twice"),
        (["sarif=a", "junit=link"], "link is named twice"),
        (["sarif=no/such/folder/a"], "No such file or directory"),
        (["sarif=catalogs"], "it is a folder"),
        (["sarif=/dev/full"], "it is a"),
        (["sarif=catalogs/shop.yaml/a"], "Not a directory"),
        (["text=a", "sarif=a\0b"], "null byte"),
    ],
)
def test_a_wrong_output_ends_the_command_before_anything_runs(
    outputs: list[str], message: str, shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is written."""
    monkeypatch.chdir(shop.root)
    (shop.root / "link").symlink_to("a")
    before = {path: path.read_bytes() for path in shop.root.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=r".") as caught:
        output_files(outputs)
    assert message in str(caught.value)
    assert {path: path.read_bytes() for path in shop.root.rglob("*") if path.is_file()} == before


def test_a_wrong_output_is_a_usage_error(shop: ProjectFolder) -> None:
    """The catalog file, which is wrong too, is not read; the message obeys no value in it."""
    shop.catalog("wrong: [")
    for command in (["lint"], ["review", "--base", "main"]):
        done = shop.run(*command, "--output", "markdown=a.md", "--output", "x\x1b[2J\n::error::y=z")
        assert done.code == USAGE
        assert "there is no format" in done.stderr
        check_inert(done.stderr)
        assert not (shop.root / "a.md").exists()
    document = shop.run("lint", "--output", "nope=a", "--format", "json")
    assert json.loads(document.stdout)["error"]["code"] == "USAGE"


def test_the_result_is_printed_where_a_file_cannot_be_written_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other files are written, and the command fails."""
    files = (OutputFile("junit", tmp_path / "gone" / "a"), OutputFile("json", tmp_path / "b"))
    with pytest.raises(SystemExit) as caught, Terminal("json", False, files=files).reporting("lint"):
        pass
    assert caught.value.code == USAGE
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "UNREADABLE_FILE"
    assert json.loads((tmp_path / "b").read_text())["ok"]


def test_a_file_is_replaced_as_a_whole(shop: ProjectFolder) -> None:
    """What it held before is gone."""
    (shop.root / "real").write_text("x" * 100_000)
    done = shop.run("lint", "--catalog", "shop", "--output", "github=real")
    assert done.code == FAILED
    is_annotation((shop.root / "real").read_text())
