"""`import tables` writes no file for the history and the lock of another project, wherever they are."""

from __future__ import annotations

import pytest

from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///PLACE/lake.db", warehouse: "file://PLACE/warehouse"}
store: {namespace: NAMESPACE}
"""
CREATE = "CREATE NAMESPACE IF NOT EXISTS lake.a;\nCREATE TABLE lake.a.{} (id BIGINT) USING iceberg"


@pytest.mark.parametrize("arguments", [("--list",), ("--author", "me")], ids=["listed", "imported"])
def test_the_tables_of_another_project_are_not_listed(arguments: tuple[str, ...], project: ProjectFolder) -> None:
    """History and lock are known by the property that names their catalog; a user's table with such a name is listed."""
    other = ProjectFolder(project.root.with_name("other"))
    for each, namespace in ((project, "mine"), (other, "theirs")):
        each.catalog(CATALOG.replace("PLACE", str(project.root)).replace("NAMESPACE", namespace))
    other.file("1_t.sql", CREATE.format("t"))
    assert ask_here(other, "migrate").code == 0
    other.file("2_h.sql", CREATE.format("history_of_mine"))
    assert ask_here(other, "migrate").code == 0
    done = ask_here(project, "import", "tables", "*", *arguments)
    assert done.code == 0, done
    found = sorted(table["table"] for table in done.entry()["tables"])
    assert found == ["lake.a.history_of_mine", "lake.a.t"]
