"""`baseline` on real Iceberg tables, and on Snowflake."""

from __future__ import annotations

import json
import uuid

import pytest

from glacierbase import Project
from glacierbase.apply.results import BaselineResult
from glacierbase.errors import HistoryDisagrees
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import ProjectFolder


@pytest.mark.long
def test_on_iceberg_by_the_command_line(lake_project: ProjectFolder, lake: LakeBed) -> None:
    """It finds a table, a view and a name that USE completes, and requires a confirmation."""
    create = "CREATE TABLE t (a INT) USING iceberg"
    view = "CREATE OR REPLACE VIEW lake.adopted.v AS SELECT a FROM lake.adopted.t"
    lake_project.catalog(f"{lake.text}store: {{namespace: baseline}}\n")
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


def test_columns_on_spark_are_compared_with_those_that_the_files_declare(project: ProjectFolder, lake: LakeBed) -> None:
    """Equal ones are accepted in any spelling, nested ones too; every other one is refused, and recorded once it is accepted."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text, name)
    fields = ", ".join(f"`field {number}`: INT" for number in range(40))
    columns = (
        f"id LONG NOT NULL COMMENT 'a key', small SMALLINT, code CHAR(3), `Total sum` DEC(12,2), wide STRUCT<{fields}>"
    )
    create = f"CREATE TABLE lake.{name}.orders ({columns}, at TIMESTAMP, local TIMESTAMP_NTZ, tags MAP<STRING, ARRAY<INTEGER>>)"
    create += " USING iceberg PARTITIONED BY (days(at))"
    add = f"ALTER TABLE lake.{name}.orders ADD COLUMN (device STRING, old INT); ALTER TABLE lake.{name}.orders DROP COLUMN old"
    project.file("1_a.sql", f"{create};\n{add};", name)
    session = lake.executor.open_session()
    for sql in (f"CREATE NAMESPACE lake.{name}", create, f"ALTER TABLE lake.{name}.orders ADD COLUMN device BINARY"):
        session.execute(sql)

    def baseline(**options: bool) -> BaselineResult:
        [result] = Project.load(project.root).baseline("1", [name], reason="by hand", spark=lake.spark, **options)
        return result

    with pytest.raises(HistoryDisagrees) as caught:
        baseline()
    assert [difference.line() for difference in caught.value.data["differences"]] == [
        f"lake.{name}.orders, column device: declared string, actual binary"
    ]
    done = baseline(accept_differences=True)
    assert (done.differences, done.warnings) == (tuple(caught.value.data["differences"]), ())
    [row] = lake.rows(f"SELECT details FROM lake.glacierbase.history_{name}")
    assert json.loads(row[0])["differences"][0]["actual"] == "binary"


def test_columns_on_snowflake_are_compared_with_those_that_the_files_declare(
    project: ProjectFolder, emulated: SnowBed
) -> None:
    """Names in capitals, quoted ones as they are; equal types in any spelling."""
    schema = emulated.schema()
    project.catalog(emulated.catalog_file())
    columns = (
        'id BIGINT NOT NULL, amount DECIMAL(12, 2), note STRING, ordered_at DATETIME, "Mixed" BOOLEAN, ratio DOUBLE'
    )
    project.file(
        "1_a.sql", f"CREATE TABLE {schema}.orders ({columns});\nALTER TABLE {schema}.orders ADD COLUMN device TEXT;"
    )
    emulated.executor.open_session().execute(f"CREATE TABLE {schema}.orders ({columns}, device INT)")
    with pytest.raises(HistoryDisagrees) as caught:
        Project.load(project.root).baseline("1", reason="by hand")
    assert [(each.column, each.declared) for each in caught.value.data["differences"]] == [("DEVICE", "VARCHAR")]
    [done] = Project.load(project.root).baseline("1", reason="by hand", accept_differences=True)
    assert [difference.column for difference in done.differences] == ["DEVICE"]
