"""Catalog files of the type `iceberg`: their properties, and the statements that they cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder

TEXT = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {PROPERTIES}
"""
SQL = "type: sql, uri: 'sqlite:///FOLDER/lake.db', warehouse: 'file://FOLDER/tables'"


def written(folder: Path, properties: str, *statements: str) -> ProjectFolder:
    """Return a project on such a catalog, with a file for each statement."""
    project = ProjectFolder(folder / "project")
    project.catalog(TEXT.replace("PROPERTIES", properties.replace("FOLDER", str(folder))))
    for number, sql in enumerate(statements, start=1):
        project.file(f"{number}_a.sql", sql)
    return project


@pytest.mark.parametrize(
    ("properties", "code", "what", "hint"),
    [
        ("type: gleu, warehouse: s3://b", "INVALID_VALUE", "properties.type: 'gleu'", "did you mean glue?"),
        ("type: jdbc, uri: x, warehouse: y", "INVALID_VALUE", "properties.type: 'jdbc'", "allowed: rest, glue, hive, sql"),
        ("uri: http://x", "MISSING_KEY", "properties.type is missing", "allowed: rest, glue, hive, sql"),
        ("typ: rest, uri: http://x", "MISSING_KEY", "properties.type is missing", "write type in place of typ"),
        ("type: rest, url: http://x", "MISSING_KEY", "properties.uri is missing", "write uri in place of url"),
        ("type: sql, uri: x", "MISSING_KEY", "properties.warehouse is missing", "requires uri and warehouse"),
        ("type: sql, uri: x, warehous: y", "MISSING_KEY", "properties.warehouse is missing", "in place of warehous"),
        ("type: rest, uri: ''", "MISSING_KEY", "properties.uri is missing", "a catalog of type rest requires uri"),
    ],
)  # fmt: skip
def test_a_wrong_property_is_one_error_of_the_catalog_file(
    properties: str, code: str, what: str, hint: str, tmp_path: Path
) -> None:
    """The error names the file, the property and what to write; nothing is contacted."""
    project = written(tmp_path, properties, "CREATE NAMESPACE lake.a")
    for command in ("validate", "migrate"):
        error = ask_here(project, command).document["error"]
        assert error["code"] == code, error
        assert what in error["message"]
        assert "catalogs/shop.yaml" in error["message"]
        assert hint in error["hint"]


def test_a_type_from_a_reference_is_not_checked_before_it_is_read(tmp_path: Path) -> None:
    """`validate` reads no reference."""
    project = written(tmp_path, "type: '${env:KIND}', uri: '${env:PLACE}'", "CREATE NAMESPACE lake.a")
    assert ask_here(project, "validate").code == 0


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO lake.a.t VALUES (1)",
        "ALTER TABLE lake.a.t ADD COLUMN v VARIANT",
        "CREATE TABLE t (id INT) USING iceberg",
    ],
)
def test_a_file_that_needs_an_engine_is_refused_before_anything_runs(sql: str, tmp_path: Path) -> None:
    """`validate` and `plan` name file, line and statement; `migrate` runs no statement of any file."""
    project = written(tmp_path, SQL, "CREATE NAMESPACE lake.a", f"CREATE NAMESPACE lake.b;\n{sql}")
    for command in ("validate", "plan", "migrate"):
        refused = ask_here(project, command)
        error = refused.document["error"]
        assert (refused.code, error["code"]) == (3, "STATEMENT_NOT_PLAIN"), error
        assert "migrations/shop/2_a.sql, line 5: statement 2 needs an engine: " in error["message"]
        assert not (tmp_path / "lake.db").exists()
    assert ask_here(project, "explain", "STATEMENT_NOT_PLAIN").code == 0
