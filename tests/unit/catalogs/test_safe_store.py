"""Where history and lock may be: catalogs without a lock are refused, and the choices are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError
from glacierbase.executors.engine import Engine
from glacierbase.stores.choice import open_store
from tests.support.fakes import FakeExecutor
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
        open_store(only_catalog(project.root), Engine(FakeExecutor))
    assert caught.value.hint is not None
    return caught.value


@pytest.mark.parametrize(
    ("lines", "more", "code"),
    [
        (DELTA, "", "STORE_NOT_SAFE"),
        (HUDI, "", "STORE_NOT_SAFE"),
        (HADOOP, "", "STORE_NOT_SAFE"),
        ((*HADOOP, *DELTA, "spark.sql.defaultCatalog: lake"), "", "STORE_NOT_SAFE"),
        (HUDI, "store: {catalog: spark_catalog}\n", "STORE_NOT_SAFE"),
        (DELTA, "store: {type: sql}\n", "STORE_NOT_SAFE"),
        ((*HADOOP, *DELTA), "", "STORE_CATALOG_UNCLEAR"),
        ((), "", "STORE_CATALOG_UNCLEAR"),
    ],
)
def test_without_a_catalog_that_can_hold_a_lock_the_choices_are_named(
    lines: tuple[str, ...], more: str, code: str, project: ProjectFolder
) -> None:
    """The first one is a line that works at once on one machine."""
    project.catalog(text(*lines, more=more))
    error = refusal(project)
    assert (error.code, error.data["path"]) == (code, "catalogs/shop.yaml")
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
    engine = Engine(FakeExecutor)
    open_store(only_catalog(project.root), engine)
    engine.close()


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


def test_files_are_checked_whatever_the_store(project: ProjectFolder) -> None:
    """`validate` opens no store."""
    project.catalog(text(*HUDI))
    assert project.ask("validate").code == 0
