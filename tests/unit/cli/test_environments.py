"""`--env` given several times: side by side for commands that only read, a usage error for the others."""

from __future__ import annotations

import pytest

from glacierbase.cli.group import cli
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import header_lines, squashed_by
from tests.support.fakes import lost_answer
from tests.support.lakes import ENVIRONMENTS, Lakes
from tests.support.project_folder import ProjectFolder, migration

SIDE_BY_SIDE = {"pending", "plan", "status"}
WITH_ENVIRONMENT = [
    name for name, command in cli.commands.items() if any("--env" in param.opts for param in command.params)
]
FOUR = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO {{ variables.into }} VALUES (2);\nSELECT 1"
THREE_ENVIRONMENTS = (
    "variables: {into: t}\n"
    "environments: {dev: {}, staging: {variables: {into: nowhere}}, prod: {}}\ndefaultEnvironment: dev\n"
)


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """The second of two files is applied in dev, failed in staging and pending in prod."""
    lakes = Lakes(project, monkeypatch, THREE_ENVIRONMENTS)
    project.file("0001_a.sql", "SELECT 1", description="Begin")
    lakes.run("migrate --env prod --catalog shop")
    project.file("0002_b.sql", FOUR, description="Four statements")
    assert lakes.run("migrate --env dev --catalog shop").code == 0
    assert lakes.run("migrate --env staging --catalog shop").code == 1
    return lakes


def test_status_has_a_column_for_each_environment_and_marks_what_differs(lakes: Lakes) -> None:
    """The place of a failure is the statement that failed, and its message is below the table."""
    output = lakes.run("status --catalog shop --env dev --env staging --env prod")
    assert output.code == 0
    title, header, first, second, *notes = output.stdout.splitlines()
    assert title == "shop (dev, staging, prod)"
    assert header.split() == ["version", "dev", "staging", "prod", "description"]
    assert first.split() == ["0001", "applied", "applied", "applied", "Begin"]
    assert second.split() == ["0002", "applied", "failed", "at", "3/4", "pending", "differs", "Four", "statements"]
    assert notes == ["  staging: 0002 failed at statement 3 of 4: no such table: nowhere"]


def test_json_has_an_entry_for_each_catalog_and_environment(lakes: Lakes) -> None:
    """The entries are those of each environment alone."""
    output = lakes.run("status --env staging --env prod --format json")
    entries = output.document["catalogs"]
    assert [(each["environment"], each["catalog"]) for each in entries] == [
        (environment, catalog) for environment in ("staging", "prod") for catalog in ("shop", "web")
    ]
    [*_, failed] = entries[0]["migrations"]
    assert (failed["state"], failed["statements_done"], failed["stopped_at"]) == ("failed", 2, 3)
    alone = lakes.run("status --env prod --format json").document["catalogs"]
    assert entries[2:] == alone


def test_pending_shows_where_each_environment_would_begin(lakes: Lakes) -> None:
    """`--exit-code` is 7 if something is pending in one of them."""
    output = lakes.run("pending --catalog shop --env dev --env staging --env prod --exit-code")
    assert output.code == 7
    assert output.stdout.splitlines()[2].split() == [
        "0002",
        "-",
        "pending",
        "from",
        "3/4",
        "pending",
        "differs",
        "Four",
        "statements",
    ]
    assert lakes.run("pending --catalog shop --env dev --env dev --exit-code").code == 0


def test_plan_is_printed_once_for_environments_that_would_run_the_same(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another variable makes another plan."""
    lakes = Lakes(project, monkeypatch, THREE_ENVIRONMENTS)
    project.file("0002_b.sql", FOUR)
    text = lakes.run("plan --catalog shop --env dev --env staging --env prod").stdout
    assert [line for line in text.splitlines() if line.startswith("shop")] == ["shop (dev, prod)", "shop (staging)"]


def test_an_environment_that_is_unreachable_hides_no_other(lakes: Lakes) -> None:
    """The exit code is that of its error, which is printed once."""
    lakes.place("staging").store_before = lost_answer
    output = lakes.run("status --catalog shop --env staging --env dev")
    assert output.code == 5
    assert output.stdout.splitlines()[1].split() == ["version", "dev", "description"]
    assert output.stdout.splitlines()[-1] == "  staging: not known: STORE_UNAVAILABLE"
    assert output.stderr.count("error: STORE_UNAVAILABLE") == 1
    assert "--env staging" in output.stderr
    document = lakes.run("status --catalog shop --env staging --env dev --format json").document
    assert [bool(each["error"]) for each in document["catalogs"]] == [True, False]
    assert document["error"]["code"] == "STORE_UNAVAILABLE"


def test_an_environment_that_does_not_exist_hides_no_other(lakes: Lakes) -> None:
    """The first error decides on the exit code; all of them are printed."""
    lakes.place("staging").store_before = lost_answer
    output = lakes.run("status --catalog shop --env dev --env prd --env staging")
    assert output.code == 2
    assert output.stdout.splitlines()[1].split() == ["version", "dev", "description"]
    assert [line.split(": ")[1] for line in output.stderr.splitlines() if line.startswith("error: ")] == [
        "UNKNOWN_ENVIRONMENT", "STORE_UNAVAILABLE",
    ]  # fmt: skip


def test_a_catalog_without_one_of_the_environments_is_shown_with_the_others(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the table a line says which one is skipped."""
    lakes = Lakes(project, monkeypatch, ENVIRONMENTS)
    text = (project.root / "catalogs/web.yaml").read_text()
    project.catalog(text.replace("prod: {}", "staging: {}"), "web")
    output = lakes.run("status --env dev --env prod")
    assert output.code == 0
    assert output.stdout.split("\n\n")[1].splitlines() == [
        "web (dev, prod)", "  no migrations", "  prod: skipped, it does not have this environment",
    ]  # fmt: skip


@pytest.mark.parametrize("name", WITH_ENVIRONMENT)
def test_a_command_takes_one_environment_or_shows_all(name: str, lakes: Lakes) -> None:
    """Of two environments, none is dropped silently."""
    required = {"baseline": "--to 1 --reason here", "show": "1"}.get(name, "")
    output = lakes.run(f"{name} {required} --env dev --env prod --format json")
    error = output.document["error"]
    if name in SIDE_BY_SIDE:
        assert {each["environment"] for each in output.document["catalogs"]} == {"dev", "prod"}
    else:
        assert (output.code, error["code"]) == (2, "USAGE")
        assert "--env was given 2 times" in error["message"]


def test_a_comment_that_renders_differently_makes_no_other_plan(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rendered files differ; the statements are the same."""
    lakes = Lakes(project, monkeypatch, THREE_ENVIRONMENTS)
    project.file("0002_b.sql", "SELECT 1;\n-- for {{ environment }}\n")
    text = lakes.run("plan --catalog shop --env dev --env prod").stdout
    assert [line for line in text.splitlines() if line.startswith("shop")] == ["shop (dev, prod)"]


def test_versions_that_a_squash_stands_for_do_not_differ(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One environment has applied the files, another one the squash, and a third one neither."""
    lakes = Lakes(project, monkeypatch, THREE_ENVIRONMENTS)
    for name in ("0001_a.sql", "0002_b.sql"):
        project.file(name, "SELECT 1")
    assert lakes.run("migrate --env dev --catalog shop").code == 0
    folder = project.root / "migrations/shop"
    files, _ = load_migrations(folder, project.root)
    squashed = "\n".join([*header_lines(squashed_by(files)), migration("SELECT 1")])
    for file in files:
        file.path.unlink()
    (folder / "0002_squashed.sql").write_text(squashed)
    project.file("0003_c.sql", "SELECT 3")
    assert lakes.run("migrate --env staging --catalog shop").code == 0
    assert lakes.run("migrate --env dev --catalog shop").code == 0
    rows = lakes.run("status --catalog shop --env dev --env staging").stdout.splitlines()[2:]
    assert [row.split()[:5] for row in rows] == [
        ["0001", "applied", "in", "0002", "A"],
        ["0002", "applied", "applied", "A", "test's"],
        ["0003", "applied", "applied", "A", "test's"],
    ]
    first = lakes.run("status --catalog shop --env dev --env prod").stdout.splitlines()[2]
    assert first.split()[:5] == ["0001", "applied", "in", "0002", "differs"]
    entry = lakes.run("status --catalog shop --env staging --format json").entry()
    assert [each["replaces"] for each in entry["migrations"]] == [["0001"], []]
