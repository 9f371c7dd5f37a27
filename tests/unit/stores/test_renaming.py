"""The warning where history and lock are in a catalog that commits by renaming a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.output.documents import json_document, text_document
from glacierbase.stores.choice import renaming_warnings
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.world import World

ICEBERG = "spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog"
JDBC = "spark.sql.catalog.lake.type: jdbc"
HADOOP = "org.apache.iceberg.hadoop.HadoopCatalog"


def text(*lines: str, store: str = "lake") -> str:
    conf = "".join(f"      {line}\n" for line in lines)
    return f"migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n{conf}store: {{catalog: {store}}}\n"


@pytest.mark.parametrize(
    ("lines", "store", "warns"),
    [
        ((ICEBERG, "spark.sql.catalog.lake.type: hadoop"), "lake", True),
        ((ICEBERG, "spark.sql.catalog.lake.type: HADOOP"), "lake", True),
        ((ICEBERG, f"spark.sql.catalog.lake.catalog-impl: {HADOOP}"), "lake", True),
        (("spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog",), "spark_catalog", True),
        ((ICEBERG, JDBC), "lake", False),
        ((ICEBERG,), "lake", False),
        (("spark.sql.catalog.lake: com.acme.Lake", "spark.sql.catalog.lake.type: hadoop"), "lake", False),
        (
            (ICEBERG, JDBC, "spark.sql.catalog.files: org.apache.iceberg.spark.SparkCatalog",
             "spark.sql.catalog.files.type: hadoop"), "lake", False,
        ),
    ],
)  # fmt: skip
def test_the_catalog_of_the_store_decides(
    lines: tuple[str, ...], store: str, warns: bool, project: ProjectFolder
) -> None:
    """The catalogs of the user's tables may commit as they like."""
    project.catalog(text(*lines, store=store))
    warnings = renaming_warnings(only_catalog(project.root))
    assert len(warnings) == warns
    assert all("catalogs/shop.yaml" in each and f"in {store}," in each for each in warnings)


@pytest.mark.parametrize("command", ["migrate", "doctor"])
def test_migrate_and_doctor_warn_once_and_go_on(
    command: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning is in JSON and text, also of a run that has nothing to do; it is no error."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    target = world.target()
    hadoop = {**target.catalog.spark_conf, "spark.sql.catalog.lake.type": "hadoop"}
    hadoop.pop("spark.sql.catalog.lake.uri")
    on_hadoop = replace(target, catalog=replace(target.catalog, spark_conf=hadoop))
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [on_hadoop])
    for _ in range(2):
        results: Any = getattr(Project.load(project.root), command)()
        [warning] = results[0].warnings
        assert "commits by renaming a file" in warning
        assert text_document(results).count("commits by renaming") == 1
        document = json_document(command, results, None)
        assert document.count("commits by renaming") == 1
    assert [warning for each in Project.load(project.root).status() for warning in each.warnings] == []
