"""Where history and lock may be: catalogs without a lock are refused, and the choices are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError
from tests.support.project_folder import ProjectFolder, only_catalog

SPARK = "org.apache.iceberg.spark.SparkCatalog"
DELTA = ("spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog",)
HUDI = ("spark.sql.catalog.spark_catalog: org.apache.spark.sql.hudi.catalog.HoodieCatalog",)
HADOOP = (f"spark.sql.catalog.lake: {SPARK}", "spark.sql.catalog.lake.type: hadoop")
REST = (f"spark.sql.catalog.lake: {SPARK}", "spark.sql.catalog.lake.type: rest")


def text(*lines: str, more: str = "") -> str:
    conf = "".join(f"      {line}\n" for line in lines) or "      spark.app.name: x\n"
    return f"migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n{conf}{more}"


def refusal(project: ProjectFolder) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        only_catalog(project.root)
    assert caught.value.hint is not None
    return caught.value


@pytest.mark.parametrize(
    ("lines", "more", "code", "line"),
    [
        (DELTA, "", "STORE_NOT_SAFE", 1),
        (HUDI, "", "STORE_NOT_SAFE", 1),
        (HADOOP, "", "STORE_NOT_SAFE", 1),
        ((*HADOOP, *DELTA, "spark.sql.defaultCatalog: lake"), "", "STORE_NOT_SAFE", 1),
        (HUDI, "store: {catalog: spark_catalog}\n", "STORE_NOT_SAFE", 6),
        (DELTA, "store: {type: sql}\n", "STORE_NOT_SAFE", 1),
        ((*HADOOP, *DELTA), "", "STORE_CATALOG_UNCLEAR", 1),
        ((), "", "STORE_CATALOG_UNCLEAR", 1),
    ],
)
def test_without_a_catalog_that_can_hold_a_lock_the_choices_are_named(
    lines: tuple[str, ...], more: str, code: str, line: int, project: ProjectFolder
) -> None:
    """The first one is a line that works at once on one machine."""
    project.catalog(text(*lines, more=more))
    error = refusal(project)
    assert (error.code, error.data["line"]) == (code, line)
    assert "`store: {type: embedded}`" in str(error.hint)
    assert all(choice in str(error.hint) for choice in ("PostgreSQL or MySQL", "rest, glue, hive"))
    project.catalog(text(*lines, more="store: {type: embedded}\n"))
    assert only_catalog(project.root).store.folder == project.root / ".glacierbase/store/default"


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        (HADOOP, "store: {catalog: lake}\n"),
        (DELTA, "store: {catalog: spark_catalog}\n"),
        (REST, ""),
        ((*HUDI, *REST), "store: {catalog: lake}\n"),
        ((*HUDI, *REST, "spark.sql.defaultCatalog: lake"), ""),
    ],
)
def test_a_catalog_that_was_chosen_or_has_a_lock_is_accepted(
    lines: tuple[str, ...], more: str, project: ProjectFolder
) -> None:
    """Of a chosen catalog that commits by renaming, `migrate` warns."""
    project.catalog(text(*lines, more=more))
    assert only_catalog(project.root).store.folder is None


@pytest.mark.parametrize("command", ["validate", "migrate"])
def test_a_protected_environment_refuses_an_embedded_store(command: str, project: ProjectFolder) -> None:
    """With the line of `type`; an environment without protection accepts it, and `catalog` is ignored there."""
    store = "store:\n  type: embedded\n  catalog: lake\n"
    project.catalog(text(*REST, more=f"{store}environments:\n  dev: {{}}\n  prod: {{protected: true}}\n"))
    done = project.ask(command, "--env", "prod")
    error = done.document["error"]
    assert (done.code, error["code"], error["line"]) == (2, "EMBEDDED_PROTECTED", 8)
    assert not Path(project.root, ".glacierbase").exists()
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    assert file.for_environment("dev", project.root).store.catalog == "embedded"


def test_a_type_that_was_not_read_refuses_nothing(project: ProjectFolder) -> None:
    """`validate` does not read `${env:…}`, and the value may be `embedded`."""
    project.catalog(text(*HUDI, more="store: {type: '${env:STORE}'}\n"))
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    assert file.for_environment("default", project.root, resolve=False).store.folder is None
