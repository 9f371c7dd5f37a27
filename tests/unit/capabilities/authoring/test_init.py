"""`init`: the catalog files of all types, the JSON Schema beside them, and the next commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.capabilities.authoring.init import SCHEMA, TYPES, init
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.catalogs.schema import catalog_file_schema
from glacierbase.cli.group import cli
from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.properties import opening
from glacierbase.stores.choice import opens_without_engine
from tests.docs.pages import DOCS, table
from tests.support.project_folder import REPOSITORY, ProjectFolder

VARIABLES = {
    "spark": (),
    "rest": ("CATALOG_URI", "CATALOG_WAREHOUSE", "CATALOG_CREDENTIAL"),
    "glue": ("CATALOG_WAREHOUSE", "AWS_REGION"),
    "hive": ("CATALOG_URI", "CATALOG_WAREHOUSE"),
    "jdbc": ("CATALOG_URI", "CATALOG_USER", "CATALOG_PASSWORD", "CATALOG_WAREHOUSE"),
    "delta": ("HISTORY_URI", "HISTORY_USER", "HISTORY_PASSWORD", "HISTORY_WAREHOUSE"),
    "hudi": ("HISTORY_URI", "HISTORY_USER", "HISTORY_PASSWORD", "HISTORY_WAREHOUSE"),
    "snowflake": ("SNOWFLAKE_ACCOUNT", "SNOWFLAKE_USER", "SNOWFLAKE_PRIVATE_KEY_FILE"),
}


def test_the_command_offers_every_type() -> None:
    """`init --type` offers every type that has a template."""
    [option] = [each for each in cli.commands["init"].params if each.name == "catalog_type"]
    assert list(option.type.choices) == list(TYPES) == list(VARIABLES)


@pytest.mark.parametrize("catalog_type", TYPES)
def test_a_new_project_is_valid_before_any_variable_is_set(
    catalog_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result names the variables; the file's comments say what each is."""
    for name in VARIABLES[catalog_type]:
        monkeypatch.delenv(name, raising=False)
    written = init(str(tmp_path), "web", catalog_type)
    [result] = Project.load(tmp_path).check()
    assert (result.environments, result.checked, result.warnings, result.findings) == (("dev", "prod"), 1, (), ())
    text = (tmp_path / "catalogs" / "web.yaml").read_text()
    assert written.variables == VARIABLES[catalog_type]
    in_prod = catalog_type in ("delta", "hudi")  # Dev needs none.
    assert written.variables_for == (("prod",) if in_prod else ())
    told = [str(line) for line in written.lines() if str(line).startswith("set these")]
    where = " for prod" if in_prod else ""
    assert told == (
        [f"set these environment variables{where}, which {written.files[0]} describes: {', '.join(written.variables)}"]
        if written.variables
        else []
    )
    assert re.findall(r"^#   ([A-Z_]+) {2,}\S", text, re.MULTILINE) == list(VARIABLES[catalog_type])
    assert "@NAME@" not in text + (tmp_path / "migrations/web/0001_create_events.sql").read_text()


@pytest.mark.parametrize("catalog_type", TYPES)
def test_prod_is_protected_in_every_type(catalog_type: str, tmp_path: Path) -> None:
    """A change to prod is confirmed from the first `init` on; dev asks for nothing."""
    init(str(tmp_path), "web", catalog_type)
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    assert [name for name in file.environments if file.is_protected(name, tmp_path)] == ["prod"]


@pytest.mark.parametrize("catalog_type", ["delta", "hudi"])
def test_a_format_without_a_lock_begins_with_files_of_the_project_and_has_a_database_in_prod(
    catalog_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable is set for dev, and no jar of Iceberg is resolved. In prod PyIceberg opens the store."""
    written = init(str(tmp_path), "web", catalog_type)
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    dev = file.for_environment("dev", tmp_path)
    assert dev.store.folder == tmp_path / ".glacierbase/store/dev"
    assert opens_without_engine(dev)
    assert not [jar for jar in dev.dependencies if "iceberg" in jar]
    for name in VARIABLES[catalog_type]:
        monkeypatch.setenv(
            name, {"HISTORY_URI": "jdbc:postgresql://d/h", "HISTORY_WAREHOUSE": "s3://b/f"}.get(name, "x")
        )
    prod = file.for_environment("prod", tmp_path)
    assert (opening(prod).kind, opening(prod).name, prod.store.folder) == ("sql", "history", None)
    steps = [step.split()[1] for step in written.next[1:]]
    assert steps == ["check", *(["env"] if dev.packages else []), "plan", "migrate"]
    assert dev.packages == (("pyspark==3.5.*",) if catalog_type == "hudi" else ())


@pytest.mark.parametrize("catalog_type", TYPES)
def test_a_store_in_dynamodb_takes_the_place_of_that_of_each_type(
    catalog_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each environment has a table, and no variable of another store is left."""
    written = init(str(tmp_path), "web", catalog_type, store="dynamodb")
    left = [name for name in VARIABLES[catalog_type] if not name.startswith("HISTORY_")]
    assert list(written.variables) == left
    for name in left:
        monkeypatch.setenv(name, "x")
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    for environment in file.environments:
        catalog = file.for_environment(environment, tmp_path)
        assert catalog.store.place == f"the DynamoDB table glacierbase_{environment}"
        assert opens_without_engine(catalog)
    text = (tmp_path / "catalogs" / "web.yaml").read_text()
    assert "HISTORY_" not in text
    assert "@" not in text.replace("@NAME@", "@")


def test_the_reference_lists_every_type_with_its_variables() -> None:
    """In the order of the command's help."""
    rows = table(DOCS / "reference" / "catalog-file.md", "types of init")
    found = {row[0].strip("`"): tuple(re.findall(r"[A-Z]\w+", row[2])) for row in rows}
    assert list(found.items()) == list(VARIABLES.items())


@pytest.mark.parametrize("catalog_type", TYPES)
def test_the_first_line_names_the_schema_that_is_beside_the_file(catalog_type: str, tmp_path: Path) -> None:
    """The path is relative, so that it works offline and in every clone; the schema is no catalog."""
    init(str(tmp_path), "web", catalog_type)
    first = (tmp_path / "catalogs" / "web.yaml").read_text().splitlines()[0]
    path = tmp_path / "catalogs" / first.removeprefix("# yaml-language-server: $schema=")
    assert path.name == SCHEMA
    assert json.loads(path.read_text()) == catalog_file_schema()
    assert Project.load(tmp_path).catalogs == ("web",)


@pytest.mark.parametrize(
    ("catalog_type", "kind", "environ", "expected"),
    [
        (
            "rest", "rest",
            {"CATALOG_URI": "https://c/api", "CATALOG_WAREHOUSE": "lake", "CATALOG_CREDENTIAL": "id:canary"},
            {"uri": "https://c/api", "warehouse": "lake", "credential": "id:canary",
             "header.X-Iceberg-Access-Delegation": "vended-credentials"},
        ),
        (
            "glue", "glue", {"CATALOG_WAREHOUSE": "s3://b/f", "AWS_REGION": "eu-west-1"},
            {"warehouse": "s3://b/f", "client.region": "eu-west-1"},
        ),
        (
            "hive", "hive", {"CATALOG_URI": "thrift://m:9083", "CATALOG_WAREHOUSE": "file:///w"},
            {"uri": "thrift://m:9083", "warehouse": "file:///w"},
        ),
        (
            "jdbc", "sql",
            {"CATALOG_URI": "jdbc:postgresql://d:5432/c", "CATALOG_USER": "u", "CATALOG_PASSWORD": "canary",
             "CATALOG_WAREHOUSE": "file:///w"},
            {"uri": "postgresql+psycopg2://u:canary@d:5432/c?connect_timeout=10&tcp_user_timeout=30000",
             "warehouse": "file:///w", "pool_pre_ping": "true", "init_catalog_tables": "false"},
        ),
    ],
)  # fmt: skip
def test_status_and_lock_need_no_engine(
    catalog_type: str,
    kind: str,
    environ: Mapping[str, str],
    expected: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PyIceberg gets exactly what the file and the variables say."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    init(str(tmp_path), "web", catalog_type)
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    for environment in ("dev", "prod"):
        found = opening(file.for_environment(environment, tmp_path))
        assert (found.kind, found.name, found.properties) == (kind, "lake", expected)
        assert file.is_protected(environment, tmp_path) == (environment == "prod")


def test_doctor_names_the_variable_that_is_not_set_and_its_line(tmp_path: Path) -> None:
    """The others are set, and nothing is contacted."""
    project = ProjectFolder(tmp_path / "new")
    assert project.run("init", "--type", "rest", "web").code == 0
    environ = {"CATALOG_URI": "https://192.0.2.1", "CATALOG_WAREHOUSE": "lake", "CATALOG_CREDENTIAL": None}
    done = project.ask("doctor", environ=environ)
    error = done.document["error"]
    line = (project.root / "catalogs/web.yaml").read_text().splitlines()[error["line"] - 1]
    assert (done.code, error["code"], error["path"]) == (2, "UNSET_REFERENCE", "catalogs/web.yaml")
    assert "${secret:CATALOG_CREDENTIAL}" in line
    assert error["hint"] == "set the environment variable CATALOG_CREDENTIAL"


def test_the_next_commands_run_as_they_are_printed(tmp_path: Path) -> None:
    """From the folder where `init` ran, in a project whose path has a blank and a quote."""
    program = tmp_path / "bin" / "glacierbase"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m glacierbase "$@"\n')
    program.chmod(0o755)
    where = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    shell = {"cwd": tmp_path, "env": {**os.environ, **where}, "capture_output": True, "text": True, "check": True}
    printed = subprocess.run(["glacierbase", "init", "--project", "a lake's", "web"], **shell).stdout
    steps = [line.strip() for line in printed.partition("next:\n")[2].splitlines()]
    assert steps == ["cd 'a lake'\"'\"'s'", "glacierbase check", "glacierbase plan", "glacierbase migrate"]
    done = subprocess.run(["sh", "-ec", "\n".join(steps)], **shell)
    assert "1 migration in order" in done.stdout
    assert "applied  migrations/web/0001_create_events.sql" in done.stdout


def test_the_steps_of_a_second_catalog_are_about_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the project shares is kept; the other catalog is not migrated."""
    monkeypatch.chdir(tmp_path)
    assert init(None, "web", "spark").next == tuple(
        f"glacierbase {command}" for command in ("check", "plan", "migrate")
    )
    (tmp_path / "catalogs" / SCHEMA).write_text("mine")
    second = init(None, "shop", "rest")
    assert second.next == tuple(f"glacierbase {command} --catalog shop" for command in ("check", "plan", "migrate"))
    assert (tmp_path / "catalogs" / SCHEMA).read_text() == "mine"
    assert len(second.files) == 2


def test_a_file_in_the_place_of_a_folder_is_one_clear_message(tmp_path: Path) -> None:
    """A file in the place of a folder is an error of the user, not a bug of the program."""
    (tmp_path / "migrations").write_text("")
    with pytest.raises(ConfigurationError) as caught:
        init(str(tmp_path), "web", "spark")
    assert caught.value.code == "UNREADABLE_FILE"
    assert (tmp_path / "migrations").read_text() == ""
