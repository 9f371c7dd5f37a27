"""`validate` with errors: its document has an entry per catalog and environment, and its text has each error once."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: x}}}
variables: {size: 1}
environments: {dev: {}, prod: {variables: {size: null}}}
"""


@pytest.fixture
def three(project: ProjectFolder) -> ProjectFolder:
    """Catalogs whose files are valid, valid in one environment, and not valid."""
    for name in ("good", "half", "wrong"):
        project.catalog(CATALOG, name)
        project.file("1_a.sql", "SELECT 1", catalog=name)
    project.file("2_b.sql", "SELECT {{ variables.size }}", catalog="half")
    project.file("2_b.sql", "SELECT 'never closed", catalog="wrong")
    project.file("3_c.sql", "SELECT {{ variables.nope }}", catalog="wrong")
    return project


def test_each_catalog_is_listed_with_its_own_errors(three: ProjectFolder) -> None:
    """The error of the document is the sum of all, each once."""
    done = three.ask("validate")
    assert done.code == 3
    found = {
        (each["catalog"], each["environment"]): (each["error"] and each["error"]["code"], each["files"])
        for each in done.document["catalogs"]
    }
    assert found == {
        ("good", "dev"): (None, 1),
        ("good", "prod"): (None, 1),
        ("half", "dev"): (None, 2),
        ("half", "prod"): ("UNDEFINED_VARIABLE", 1),
        ("wrong", "dev"): ("UNTERMINATED_STRING", 1),
        ("wrong", "prod"): ("UNTERMINATED_STRING", 1),
    }
    assert len(done.document["error"]["errors"]) == 3
    [both] = [each for each in done.document["catalogs"] if (each["catalog"], each["environment"]) == ("wrong", "dev")]
    assert [each["path"] for each in both["error"]["errors"]] == [
        "migrations/wrong/2_b.sql",
        "migrations/wrong/3_c.sql",
    ]


def test_the_text_has_each_error_once_and_the_catalogs_that_are_in_order(three: ProjectFolder) -> None:
    """An error that two environments share is printed once."""
    done = three.run("validate")
    assert [line for line in done.stdout.splitlines() if line and line[0] != " "] == [
        "good (dev)",
        "good (prod)",
        "half (dev)",
    ]
    for path in ("half/2_b.sql", "wrong/2_b.sql", "wrong/3_c.sql"):
        assert done.stderr.count(path) == 1, done.stderr


def test_a_single_error_in_all_environments_is_printed_once(project: ProjectFolder) -> None:
    """The error is in the entries of both environments, and printed once."""
    project.catalog(CATALOG)
    project.file("1_a.sql", "SELECT 'never closed")
    assert [each["error"]["code"] for each in ask_here(project, "validate").document["catalogs"]] == [
        "UNTERMINATED_STRING"
    ] * 2
    assert run_here(project, "validate").stderr.count("1_a.sql") == 1


def test_a_project_that_cannot_be_read_lists_its_catalogs_as_well(three: ProjectFolder) -> None:
    """Each with what is wrong in its file and the names of its migrations; `_shared.yaml` is no catalog."""
    three.catalog(CATALOG + "nam: x\nprotectd: true\n", "wrong")
    three.catalog("a: [", "worse")
    three.file("Third.sql", "SELECT 1", catalog="half")
    (three.root / "catalogs/_shared.yaml").write_text("environments: {}\n")
    for done in (three.ask("validate"), three.ask("validate", "--project", str(three.root))):
        found = {
            each["catalog"]: [part["code"] for part in (each["error"] or {}).get("errors", [each["error"]]) if part]
            for each in done.document["catalogs"]
        }
        assert found == {
            "good": [],
            "half": ["MISNAMED_FILE"],
            "worse": ["INVALID_YAML"],
            "wrong": ["UNKNOWN_KEY", "UNKNOWN_KEY"],
        }
        assert (done.code, len(done.document["error"]["errors"])) == (2, 4)
    done = three.run("validate")
    assert "good: skipped, the project cannot be read" in done.stdout
    assert "in order" not in done.stdout
    text = done.stderr
    assert [text.count(each) for each in ("unknown key nam\n", "protectd", "worse.yaml", "Third.sql")] == [
        1,
        1,
        1,
        1,
    ], text


def test_a_folder_without_a_project_lists_no_catalog(project: ProjectFolder) -> None:
    """A folder without a project, or with its catalogs elsewhere, lists none: not even the names there are read."""
    elsewhere = project.root.parent / "elsewhere"
    (project.root / "catalogs").rename(elsewhere)
    (elsewhere / "secret.yaml").write_text("a: [")
    document = ask_here(project, "validate", "--project", str(project.root)).document
    assert (document["error"]["code"], document["catalogs"]) == ("PROJECT_NOT_FOUND", [])
    (project.root / "catalogs").symlink_to(elsewhere)
    document = ask_here(project, "validate").document
    assert (document["error"]["code"], document["catalogs"]) == ("OUTSIDE_PROJECT", [])


def test_what_differs_from_the_base_belongs_to_its_catalog(three: ProjectFolder) -> None:
    """A catalog whose files are unchanged has no error."""
    for name in ("half", "wrong"):
        for path in (three.root / "migrations" / name).glob("[23]*.sql"):
            path.unlink()
    git = ["git", "-C", str(three.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *arguments], check=True)
    three.file("1_a.sql", "SELECT 2", catalog="half")
    done = three.ask("validate", "--base", "main")
    assert [each["error"] and each["error"]["code"] for each in done.document["catalogs"]] == [
        None, None, "BASE_FILE_EDITED", "BASE_FILE_EDITED", None, None,
    ]  # fmt: skip
    assert done.document["error"]["code"] == "BASE_FILE_EDITED"
