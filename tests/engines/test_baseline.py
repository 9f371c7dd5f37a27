"""`baseline` on real Iceberg tables, by the command line."""

from __future__ import annotations

import pytest

from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder


@pytest.mark.long
def test_on_iceberg_by_the_command_line(lake_project: ProjectFolder, lake: LakeBed) -> None:
    """It finds a table, a view and a name that USE completes, and requires a confirmation."""
    create = "CREATE TABLE t (a INT) USING iceberg"
    view = "CREATE OR REPLACE VIEW lake.adopted.v AS SELECT a FROM lake.adopted.t"
    lake_project.catalog(lake.text)
    lake_project.file("1_t.sql", f"CREATE NAMESPACE IF NOT EXISTS lake.adopted;\nUSE lake.adopted;\n{create};")
    lake_project.file("2_v.sql", f"{view};")
    arguments = ("baseline", "--to", "2", "--reason", "made by hand", "--yes")
    refused = lake_project.ask(*arguments)
    assert (refused.code, refused.document["error"]["missing"]) == (3, ["t", "lake.adopted.v"])
    session = lake.executor.open_session()
    for sql in ("CREATE NAMESPACE lake.adopted", "USE lake.adopted", create, view):
        session.execute(sql)
    assert lake_project.ask(*arguments[:-1]).document["error"]["code"] == "CONFIRMATION_MISSING"
    done = lake_project.ask(*arguments)
    assert done.code == 0, done.stdout
    assert [file["version"] for file in done.entry()["baselined"]] == ["1", "2"]
    assert "nothing to do" in lake_project.run("migrate").stdout
