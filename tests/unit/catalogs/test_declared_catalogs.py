"""Misspelt types and classes of the catalogs in `sparkConf`: errors with file and line, before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError
from tests.support.project_folder import ProjectFolder, only_catalog

SPARK = "org.apache.iceberg.spark.SparkCatalog"


def text(*lines: str) -> str:
    conf = "".join(f"      spark.sql.catalog.lake{line}\n" for line in lines)
    return f"migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n{conf}"


@pytest.mark.parametrize(
    ("lines", "line", "says", "hint"),
    [
        ((f": {SPARK}", ".type: jbdc"), 6, "Iceberg has no catalog type 'jbdc'", "did you mean jdbc?"),
        ((f": {SPARK}", ".type: Hadop"), 6, "no catalog type 'Hadop'", "did you mean hadoop?"),
        ((f": {SPARK}", ".type: ''"), 6, "no catalog type ''", "allowed: rest, glue, hive, jdbc"),
        ((f": {SPARK}", ".type: postgres"), 6, "no catalog type 'postgres'", "catalog-impl"),
        ((f": {SPARK}", ".type: ${variables.kind}"), 6, "no catalog type 'glu'", "did you mean glue?"),
        (
            (f": {SPARK}", ".catalog-impl: org.apache.iceberg.jdbc.JDBCCatalog"), 6,
            "unknown class 'org.apache.iceberg.jdbc.JDBCCatalog'", "did you mean org.apache.iceberg.jdbc.JdbcCatalog?",
        ),
        ((": org.apache.iceberg.spark.SparkCatlog",), 5, "lake: unknown class", f"did you mean {SPARK}?"),
    ],
)  # fmt: skip
def test_a_misspelt_catalog_is_an_error_with_its_line(
    lines: tuple[str, ...], line: int, says: str, hint: str, project: ProjectFolder
) -> None:
    """The message has the value, the hint its nearest spelling."""
    project.catalog(text(*lines) + "variables: {kind: glu}\n")
    with pytest.raises(ConfigurationError) as caught:
        only_catalog(project.root)
    error = caught.value
    assert (error.code, error.data["path"], error.data["line"]) == ("INVALID_VALUE", "catalogs/shop.yaml", line)
    assert error.message.startswith(f"catalogs/shop.yaml, line {line}: spark.sql.catalog.lake")
    assert says in error.message
    assert hint in error.hint


def test_nothing_starts_before_it_is_reported(project: ProjectFolder) -> None:
    """`validate` finds it without secrets; `migrate` writes no log of a JVM."""
    project.catalog(text(f": {SPARK}", ".type: jbdc", ".uri: ${env:NOT_SET}"))
    project.file("1_a.sql", "SELECT 1")
    for command in ("validate", "migrate"):
        done = project.run(command)
        assert done.code == 2
        assert (
            "catalogs/shop.yaml, line 6: spark.sql.catalog.lake.type: Iceberg has no catalog type 'jbdc'" in done.stderr
        )
    assert not Path(project.root, ".glacierbase").exists()


@pytest.mark.parametrize(
    "lines",
    [
        *[
            (f": {SPARK}", f".type: {kind}")
            for kind in ("rest", "REST", "glue", "hive", "hadoop", "nessie", "bigquery")
        ],
        (f": {SPARK}",),
        (f": {SPARK}", ".type: ${env:KIND}"),
        (f": {SPARK}", ".catalog-impl: com.acme.iceberg.JdbcCatalog"),
        (f": {SPARK}", ".catalog-impl: org.apache.iceberg.inmemory.InMemoryCatalog"),
        (": io.unitycatalog.spark.UCSingleCatalog", ".type: static"),
        (": org.apache.spark.sql.delta.catalog.DeltaCatalog",),
    ],
)
def test_what_may_be_right_is_left_to_the_engine(lines: tuple[str, ...], project: ProjectFolder) -> None:
    """Known types, unread references, and classes and properties of other vendors."""
    project.catalog(f"{text(*lines)}store: {{catalog: lake}}\n")
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    assert file.for_environment("default", project.root, resolve=False).store.catalog == "lake"


def test_an_environment_that_corrects_the_type_is_valid(project: ProjectFolder) -> None:
    """The merged value counts, and the message names the environments' lines."""
    wrong = text(f": {SPARK}", ".type: jbdc")
    right = "{migrationExecutor: {conf: {sparkConf: {spark.sql.catalog.lake.type: jdbc}}}}"
    project.catalog(f"{wrong}environments:\n  dev: {right}\n  prod: {{}}\n")
    done = project.ask("validate")
    errors = [each["error"] and each["error"]["line"] for each in done.document["catalogs"]]
    assert (done.code, errors) == (2, [None, 6])


@pytest.mark.parametrize("value", ["true", "${variables.on}", "yes"])
def test_a_catalog_file_cannot_let_spark_replace_text_of_the_files(value: str, project: ProjectFolder) -> None:
    """With file and line; `false` is what it is anyway."""
    lines = text(f": {SPARK}") + "      spark.sql.variable.substitute: VALUE\nvariables: {on: 'true'}\n"
    project.catalog(lines.replace("VALUE", value))
    with pytest.raises(ConfigurationError) as caught:
        only_catalog(project.root)
    assert (caught.value.code, caught.value.data["line"], caught.value.hint) == ("INVALID_VALUE", 6, "remove it")
    project.catalog(lines.replace("VALUE", "false"))
    assert only_catalog(project.root).spark_conf["spark.sql.variable.substitute"] == "false"
