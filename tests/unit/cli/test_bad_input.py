"""All errors in files are reported at once, with code and exit code, before anything is contacted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from glacierbase import GlacierbaseError, Project
from tests.support.beds import LakeBed
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder, migration

# An engine that cannot start, because its server is unreachable.
UNREACHABLE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf: {spark.remote: "sc://127.0.0.1:1", spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}
variables: {size: 4}
"""
# A catalog whose history and lock are in a file, so that read-only commands start no engine.
READABLE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: jdbc
      spark.sql.catalog.lake.uri: "jdbc:sqlite:${projectRoot}/catalog.db"
      spark.sql.catalog.lake.jdbc.schema-version: V1
      spark.sql.catalog.lake.warehouse: "file://${projectRoot}/tables"
"""

GOOD = "CREATE TABLE lake.a.t (a INT)"


def late_bound(project: ProjectFolder, name: str, text: str) -> None:
    (project.root / "migrations/shop" / name).write_text(text)


CASES: dict[str, tuple[Callable[[ProjectFolder], object], int, str]] = {
    "MISNAMED_FILE": (lambda p: late_bound(p, "create table.sql", migration(GOOD)), 3, "create table.sql"),
    "DUPLICATE_VERSION": (lambda p: (p.file("1_a.sql", GOOD), p.file("0001_b.sql", GOOD)), 3, "0001_b.sql"),
    "MISSING_HEADER": (
        lambda p: late_bound(p, "1_a.sql", "-- MIGRATION_AUTHOR: me\nSELECT 1"),
        3,
        "MIGRATION_DESCRIPTION",
    ),
    "UNDEFINED_VARIABLE": (lambda p: p.file("1_a.sql", "SELECT\n{{ variables.sise }}"), 3, "1_a.sql, line 5"),
    "TEMPLATE_SYNTAX": (lambda p: p.file("1_a.sql", "SELECT {{ }}"), 3, "1_a.sql, line 4"),
    "UNTERMINATED_STRING": (lambda p: p.file("1_a.sql", "SELECT 1;\nSELECT 'a"), 3, "1_a.sql, line 5"),
    "UNTERMINATED_COMMENT": (lambda p: p.file("1_a.sql", "SELECT 1 /* a"), 3, "1_a.sql, line 4"),
    "UNTERMINATED_BLOCK": (lambda p: p.file("1_a.sql", "BEGIN SELECT 1;"), 3, "1_a.sql, line 4"),
    "NOT_UTF8": (lambda p: (p.root / "migrations/shop/1_a.sql").write_bytes(b"-- \xff\n"), 3, "1_a.sql"),
    "UNKNOWN_KEY": (lambda p: p.catalog(UNREACHABLE + "variabels: {}\n"), 2, "line 6"),
    "DUPLICATE_KEY": (lambda p: p.catalog(UNREACHABLE + "variables: {}\n"), 2, "line 6"),
    "INVALID_VALUE": (lambda p: p.catalog(UNREACHABLE + "store: {lockLease: soon}\n"), 2, "line 6"),
    "INVALID_YAML": (lambda p: p.catalog("a: [\n"), 2, "catalogs/shop.yaml"),
    "UNSET_REFERENCE": (
        lambda p: p.catalog(UNREACHABLE.replace("127.0.0.1:1", "${env:NO_SUCH_NAME}")),
        2,
        "NO_SUCH_NAME",
    ),
    "FOLDER_WITHOUT_CATALOG": (lambda p: (p.root / "migrations/shopp").mkdir(), 2, "migrations/shopp"),
}


@pytest.mark.parametrize("code", CASES)
def test_each_error_has_a_code_an_exit_code_a_place_and_a_hint(code: str, project: ProjectFolder) -> None:
    """Text and JSON agree for `migrate`, `pending` and `validate`, which reads references only with `--resolve`."""
    project.catalog(READABLE)
    arrange, exit_code, where = CASES[code]
    arrange(project)
    assert run_here(project, "validate").code == (0 if code == "UNSET_REFERENCE" else exit_code)
    for command in (["migrate"], ["pending"], ["validate", "--resolve"]):
        output = ask_here(project, *command)
        error = output.document["error"]
        assert (output.code, error["code"], error["exit_code"]) == (exit_code, code, exit_code)
        assert where in error["message"]
        assert error["hint"]
        assert output.stderr == ""
    text = run_here(project, "migrate")
    assert text.code == exit_code
    assert f"error: {code}: " in text.stderr
    assert "Traceback" not in text.stderr
    assert "applied" not in text.stdout


def test_all_errors_are_reported_in_one_run(project: ProjectFolder) -> None:
    """All errors of all files and catalogs are in one document, not the first error only."""
    project.catalog(READABLE)
    project.catalog(UNREACHABLE, "other")
    project.file("1_a.sql", "SELECT {{ variables.x }}")
    project.file("2_b.sql", "SELECT 'a")
    project.file("1_c.sql", "SELECT {{ variables.y }}", "other")
    of_shop = [("UNDEFINED_VARIABLE", "migrations/shop/1_a.sql"), ("UNTERMINATED_STRING", "migrations/shop/2_b.sql")]
    for arguments, expected in {
        ("validate",): [("UNDEFINED_VARIABLE", "migrations/other/1_c.sql"), *of_shop],
        ("migrate", "--catalog", "shop"): of_shop,
    }.items():
        found = ask_here(project, *arguments).document["error"]["errors"]
        assert [(each["code"], each["path"]) for each in found] == expected


def test_only_what_is_pending_is_rendered_and_split(project: ProjectFolder, lake: LakeBed) -> None:
    """An applied file that no longer renders does not stop `migrate`; `status` has a note about it."""
    project.catalog(lake.text + "store: {namespace: only_pending}\nvariables: {a: 1}\n")
    project.file("1_a.sql", "SELECT {{ variables.a }}")
    shop = Project.load(project.root)
    shop.migrate(spark=lake.spark)
    project.catalog(lake.text + "store: {namespace: only_pending}\n")
    assert run_here(project, "migrate").code == 0
    assert run_here(project, "pending").code == 0
    assert "no longer renders" in run_here(project, "status").stdout


def test_an_engine_that_cannot_be_reached_is_one_clear_message(project: ProjectFolder) -> None:
    """The exit code is 5: the files are valid, but the server does not exist."""
    project.catalog(UNREACHABLE)
    project.file("1_a.sql", GOOD)
    output = project.run("migrate")
    assert output.code == 5
    error = output.stderr[output.stderr.index("error: ") :]  # A slow attempt to connect is named before it.
    assert error.startswith("error: SPARK_UNAVAILABLE: catalog shop: failed to connect to all addresses")
    assert error.count("\n") == 3
    assert "Traceback" not in error


def test_a_missing_jar_is_one_clear_message(project: ProjectFolder) -> None:
    """Spark has no Iceberg classes without the jar. Of the SQLite database only the folder is created."""
    project.catalog(READABLE.replace("/catalog.db", "/new/catalog.db"))
    project.file("1_a.sql", "CREATE TABLE lake.a.t (a INT)")
    output = project.run("migrate")
    assert output.code == 1
    assert (
        "no jar holds the class org.apache.iceberg.spark.SparkCatalog; is one missing in dependencies?" in output.stderr
    )
    assert [path.name for path in (project.root / "new").iterdir()] == ["catalog.db"]
    assert (project.root / "new" / "catalog.db").is_file()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["migrate", "--env", "nope"], "UNKNOWN_ENVIRONMENT"),
        (["migrate", "--catalog", "nope"], "UNKNOWN_CATALOG"),
        (["migrate", "--lock-timeout", "soon"], "USAGE"),
        (["migrate", "--nope"], "USAGE"),
        (["nope"], "USAGE"),
        (["render", "99"], "UNKNOWN_VERSION"),
        (["validate", "--base", "no-such-ref"], "BASE_NOT_FOUND"),
    ],
)
def test_a_wrong_option_is_exit_2(arguments: list[str], code: str, project: ProjectFolder) -> None:
    """The document has the error's code."""
    project.catalog(UNREACHABLE)
    project.file("1_a.sql", GOOD)
    subprocess.run(["git", "init", "-q", project.root], check=True)
    output = ask_here(project, *arguments)
    assert (output.code, output.document["error"]["code"]) == (2, code)


def test_outside_of_a_project_the_message_names_the_command_that_writes_one(project: ProjectFolder) -> None:
    """The exit code is 2, and the message names `glacierbase init`."""
    (project.root / "migrations").rmdir()
    output = run_here(project, "status")
    assert output.code == 2
    assert "glacierbase init" in output.stderr


def test_an_environment_that_was_not_chosen_is_an_error_that_lists_them(project: ProjectFolder) -> None:
    """Different default environments in one run are an error as well."""
    project.catalog(UNREACHABLE + "environments: {dev: {}, prod: {}}\n")
    assert "dev, prod" in ask_here(project, "migrate").document["error"]["message"]
    project.catalog(UNREACHABLE + "environments: {dev: {}, prod: {}}\ndefaultEnvironment: dev\n")
    project.catalog(UNREACHABLE + "environments: {dev: {}, prod: {}}\ndefaultEnvironment: prod\n", "other")
    assert ask_here(project, "migrate").document["error"]["code"] == "ENVIRONMENT_NOT_CHOSEN"


def test_validate_renders_every_environment_of_every_catalog(project: ProjectFolder) -> None:
    """A variable that only prod lacks is found before anything reaches prod."""
    project.catalog(UNREACHABLE + "environments: {dev: {variables: {x: 1}}, prod: {}}\ndefaultEnvironment: dev\n")
    project.file("1_a.sql", "SELECT {{ variables.x }}")
    assert ask_here(project, "validate").document["error"]["code"] == "UNDEFINED_VARIABLE"
    assert ask_here(project, "validate", "--env", "dev").code == 0


# References by which a stranger's branch tries to print files and variables; reversed, so that masking cannot find them.
HOSTILE = """\
outOfOrder: ${file:/proc/self/environ}
protected: ${env:CANARY}
store: {lockLease: "${file:canary}", type: "${secret:CANARY}", namespace: "${file:/dev/zero}"}
variables: {a: "${env:CANARY}"}
"""


@pytest.mark.parametrize("command", ["validate", "render"])
def test_a_strangers_branch_prints_no_file_and_no_environment_variable(command: str, project: ProjectFolder) -> None:
    """`validate` and `render` read no reference: the values of options are not checked, and variables get placeholders."""
    project.catalog(UNREACHABLE.replace("variables: {size: 4}\n", HOSTILE))
    (project.root / "canary").write_text("canary-of-a-file")
    project.file("1_a.sql", "SELECT '{{ variables.a | reverse }} {{ variables.a }}'")
    for form in ("text", "json"):
        output = run_here(project, command, "--format", form, environ={"CANARY": "canary-of-the-environment"})
        assert output.code == 0, output.stderr
        for word in ("canary-of", "fo-yranac"):
            assert word not in output.stdout + output.stderr
    rendered = ask_here(project, "render").entry()["files"][0]["sql"]
    assert "SELECT 'YRANAC_vne env_CANARY'" in rendered


def test_references_are_read_where_the_branch_is_trusted(project: ProjectFolder) -> None:
    """`--resolve` and its Python argument read them. An error shows the reference as written, never the value behind it."""
    project.catalog(UNREACHABLE.replace("{size: 4}", '{a: "${env:CANARY}"}'))
    project.file("1_a.sql", "SELECT '{{ variables.a }}'")
    environ = {"CANARY": "read-from-the-environment"}
    assert "SELECT 'read-from-the-environment'" in run_here(project, "render", "--resolve", environ=environ).stdout
    with pytest.raises(GlacierbaseError, match="CANARY"):
        Project.load(project.root).render(resolve=True)
    project.catalog(UNREACHABLE.replace("variables: {size: 4}\n", HOSTILE.replace("/dev/zero", "canary")))
    (project.root / "canary").write_text("canary-of-a-file")
    for command in (["validate", "--resolve"], ["migrate"]):
        output = run_here(project, *command, environ=environ)
        assert output.code == 2
        for option in ("outOfOrder: '${file:/proc/self/environ}'", "protected: '${env:CANARY}'"):
            assert option.partition(": ")[2].strip("'") in output.stderr
        assert "store.lockLease: '${file:canary}' is not a duration" in output.stderr
        assert "canary-of" not in output.stderr
        assert "read-from-the-environment" not in output.stderr


def test_checking_an_environment_requires_no_variables_of_another(project: ProjectFolder) -> None:
    """All environments are rendered on a machine where no secret and no environment variable is set."""
    conf = '{migrationExecutor: {conf: {sparkConf: {k: "${secret:NO_SUCH}"}}}, variables: {size: "${env:NO_SUCH}"}}'
    project.catalog(UNREACHABLE + f"environments: {{dev: {{}}, prod: {conf}}}\n")
    project.file("1_a.sql", "SELECT {{ variables.size }} FROM t")
    assert run_here(project, "validate").code == 0
    output = run_here(project, "render")
    assert output.code == 0, output.stderr
    assert "SELECT 4 FROM t" in output.stdout
    assert "SELECT env_NO_SUCH FROM t" in output.stdout
    assert ask_here(project, "validate", "--resolve").document["error"]["code"] == "UNSET_REFERENCE"


def test_render_prints_identical_environments_once(project: ProjectFolder) -> None:
    """Environments that render differently have an entry each."""
    text = "environments: {dev: {variables: {x: 1}}, test: {variables: {x: 1}}, prod: {variables: {x: 2}}}\n"
    project.catalog(UNREACHABLE + text)
    project.file("1_a.sql", "SELECT {{ variables.x }}")
    entries = ask_here(project, "render").document["catalogs"]
    assert [entry["environments"] for entry in entries] == [["dev", "test"], ["prod"]]
    assert entries[1]["files"][0]["sql"].rstrip().endswith("SELECT 2")


def test_init_writes_a_project_that_is_in_order_and_overwrites_nothing(project: ProjectFolder) -> None:
    """A second `init` is refused, and no file is changed."""
    made = ask_here(project, "init", "web")
    assert made.code == 0
    assert run_here(project, "validate").code == 0
    for path in made.entry()["files"]:
        (project.root / path).write_text("mine")
    assert ask_here(project, "init", "web").document["error"]["code"] == "ALREADY_EXISTS"
    assert {(project.root / path).read_text() for path in made.entry()["files"]} == {"mine"}


def test_new_writes_the_next_file_with_its_headers(project: ProjectFolder) -> None:
    """The file's version is the UTC time, its name is made of the words of the description."""
    project.catalog(UNREACHABLE)
    made = ask_here(project, "new", "Add the  Device column!", "--author", "Ingestion")
    [path] = made.entry()["files"]
    assert path.endswith("_add_the_device_column.sql")
    head = "-- MIGRATION_DESCRIPTION: Add the Device column!\n-- MIGRATION_AUTHOR: Ingestion\n"
    assert Path(path).read_text().startswith(head)


def test_a_document_names_its_schema_on_success_and_failure(project: ProjectFolder) -> None:
    """Every document has `schema`, `ok`, `error` and `catalogs`."""
    project.catalog(UNREACHABLE)
    good = ask_here(project, "validate").document
    assert (good["schema"], good["ok"], good["error"]) == ("glacierbase/validate/1", True, None)
    bad = ask_here(project, "status").document
    assert (bad["schema"], bad["ok"]) == ("glacierbase/status/1", False)
    assert bad["catalogs"][0]["catalog"] == "shop"
    assert json.dumps(bad["error"]) == json.dumps(bad["catalogs"][0]["error"])
