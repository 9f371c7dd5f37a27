"""`baseline` on real Iceberg tables, and on Snowflake."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.apply.results import BaselineResult
from glacierbase.errors import HistoryDisagrees
from tests.engines.test_asked_delta import ENVIRONMENTS, FILES
from tests.engines.test_migrate_delta import with_delta
from tests.support.beds import LakeBed, SnowBed
from tests.support.one_engine import steps_of
from tests.support.project_folder import ProjectFolder


def test_on_iceberg_by_the_command_line(lake_project: ProjectFolder, lake: LakeBed) -> None:
    """`baseline` finds a table, a view and a name that USE completes, and requires a confirmation."""
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

    def baseline(**options: Any) -> BaselineResult:
        [result] = Project.load(project.root).baseline("1", [name], reason="by hand", spark=lake.spark, **options)
        return result

    with pytest.raises(HistoryDisagrees) as caught:
        baseline()
    assert [difference.line() for difference in caught.value.data["differences"]] == [
        f"lake.{name}.orders, type device: declared string, actual binary"
    ]
    done = baseline(accept=["type device"])
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
    [done] = Project.load(project.root).baseline("1", reason="by hand", accept=["type DEVICE"])
    assert [difference.column for difference in done.differences] == ["DEVICE"]


def test_each_part_that_snowflake_shows_is_compared(project: ProjectFolder, emulated: SnowBed) -> None:
    """NOT NULL, comments, defaults, the primary key and the order of columns, also of a file that names its schema by USE."""
    schema = emulated.schema()
    project.catalog(emulated.catalog_file())
    tables = (
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR NOT NULL COMMENT 'x', b INT DEFAULT 5, c INT, d VARIANT);"
        "CREATE TABLE u (id INT)"
    )
    project.file("1_a.sql", f"USE SCHEMA {schema};\n{tables};\nALTER TABLE u ADD COLUMN a INT;")
    session = emulated.executor.open_session()
    session.execute(f"CREATE TABLE {schema}.t (id INT, a VARCHAR, b INT DEFAULT 6, d VARIANT, c INT DEFAULT 1)")
    session.execute(f"CREATE TABLE {schema}.u (id INT, a INT)")
    with pytest.raises(HistoryDisagrees) as caught:
        Project.load(project.root).baseline("1", reason="by hand")
    table = ".".join((*(f'"{part}"' for part in schema.split(".")), "t"))
    assert [difference.line().removeprefix(f"{table}, ") for difference in caught.value.data["differences"]] == [
        "required ID: declared yes, actual no",
        "required A: declared yes, actual no",
        "comment A: declared x, actual absent",
        'default B: declared 5, actual "6"',
        'default C: declared nowhere, actual "1"',
        "order of columns: declared ID, A, B, C, D, actual ID, A, B, D, C",
        "identifiers: declared ID, actual absent",
    ]


SHAPE = (
    "CREATE TABLE {} (id BIGINT NOT NULL COMMENT 'a key', at TIMESTAMP, place STRUCT<city: STRING COMMENT 'c', tags: ARRAY<INT>>,"
    " name STRING) USING iceberg PARTITIONED BY (bucket(4, id), days(at)) COMMENT 'orders'"
    " TBLPROPERTIES ('format-version'='2', 'commit.retry.num-retries'='9')",
    "ALTER TABLE {} WRITE ORDERED BY at DESC, id",
    "ALTER TABLE {} SET IDENTIFIER FIELDS id",
)
# What was done to the table by hand, and the differences that it makes.
BY_HAND = {
    "ALTER TABLE {} REPLACE PARTITION FIELD bucket(4, id) WITH bucket(8, id)": "partitioning",
    "ALTER TABLE {} DROP PARTITION FIELD days(at)": "partitioning",
    "ALTER TABLE {} WRITE ORDERED BY at, id": "sorting",
    "ALTER TABLE {} WRITE UNORDERED": "sorting",
    "ALTER TABLE {} DROP IDENTIFIER FIELDS id": "identifiers",
    "ALTER TABLE {} SET TBLPROPERTIES ('format-version'='3')": "format version",
    "ALTER TABLE {} ALTER COLUMN name COMMENT 'x'": "comment name",
    "ALTER TABLE {} ALTER COLUMN id COMMENT 'another'": "comment id",
    "COMMENT ON TABLE {} IS 'x'": "property comment",
    "ALTER TABLE {} SET TBLPROPERTIES ('commit.retry.num-retries'='3')": "property commit.retry.num-retries",
    "ALTER TABLE {} UNSET TBLPROPERTIES ('commit.retry.num-retries')": "property commit.retry.num-retries",
    "ALTER TABLE {} SET TBLPROPERTIES ('gc.enabled'='true')": "",
    "ALTER TABLE {} ALTER COLUMN name FIRST": "order of columns",
    "ALTER TABLE {} ADD COLUMN place.zip INT": "column place.zip",
    "ALTER TABLE {} ALTER COLUMN place.tags.element TYPE BIGINT": "type place.tags.element",
    "ALTER TABLE {} ALTER COLUMN place.city COMMENT ''": "comment place.city",
    "ALTER TABLE {} RENAME COLUMN name TO title": "column name, column title",
    "INSERT INTO {} VALUES (1, current_timestamp(), NULL, 'x')": "",
}


def test_each_part_of_a_table_is_compared(project: ProjectFolder, lake: LakeBed) -> None:
    """A table that was made by hand as the files say is baselined; each difference is refused by its name, and accepted by it."""
    name = f"parts_{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text, name)
    tables = {f"lake.{name}.t{number}": each for number, each in enumerate(BY_HAND.items())}
    create, *alters = (";\n".join(sql.format(table) for table in tables) for sql in SHAPE)
    project.file("1_a.sql", f"{create};", name)
    project.file("2_b.sql", ";\n".join(alters) + ";", name)
    session = lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE lake.{name}")
    for table, (by_hand, _) in tables.items():
        for sql in (*SHAPE, by_hand):
            session.execute(sql.format(table))

    def baseline(*accept: str) -> BaselineResult:
        [result] = Project.load(project.root).baseline("2", [name], reason="by hand", spark=lake.spark, accept=accept)
        return result

    with pytest.raises(HistoryDisagrees) as caught:
        baseline()
    assert caught.value.code == "BASELINE_REFUSED"
    found: dict[str, list[str]] = {table: [] for table in tables}
    for each in caught.value.data["differences"]:
        found[each.table].append(each.subject)
    assert {by_hand: ", ".join(found[table]) for table, (by_hand, _) in tables.items()} == BY_HAND
    with pytest.raises(HistoryDisagrees, match="partitioning"):
        baseline("property *", "column *")
    done = baseline(*(each.subject for each in caught.value.data["differences"]))
    assert (len(done.baselined), done.warnings) == (2, ())
    [row] = lake.rows(f"SELECT details FROM lake.glacierbase.history_{name} WHERE version = '1'")
    recorded = json.loads(row[0])["differences"]
    first = f"lake.{name}.t0"
    assert [each for each in recorded if each["table"] == first] == [
        {
            "table": first, "column": "", "declared": "bucket(4, id), day(at)", "actual": "day(at), bucket(8, id)",
            "what": "partitioning",
        }
    ]  # fmt: skip


def test_a_file_without_a_clause_declares_that_there_is_none(project: ProjectFolder, lake: LakeBed) -> None:
    """A table with partitions, write order, identifiers and a required column is refused for a file that names none of them."""
    name = f"bare_{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text, name)
    table = f"lake.{name}.t"
    columns = "id BIGINT, at TIMESTAMP, place STRUCT<city: STRING, tags: ARRAY<INT>>, name STRING"
    project.file("1_a.sql", f"CREATE TABLE {table} ({columns}) USING iceberg;", name)
    session = lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE lake.{name}")
    for sql in SHAPE:
        session.execute(sql.format(table))
    with pytest.raises(HistoryDisagrees) as caught:
        Project.load(project.root).baseline("1", [name], reason="by hand", spark=lake.spark)
    assert [difference.line().removeprefix(f"{table}, ") for difference in caught.value.data["differences"]] == [
        "required id: declared no, actual yes",
        "comment id: declared nowhere, actual a key",
        "comment place.city: declared nowhere, actual c",
        "partitioning: declared nowhere, actual bucket(4, id), day(at)",
        "sorting: declared nowhere, actual at desc nulls last, id asc nulls first",
        "identifiers: declared nowhere, actual id",
        "property comment: declared nowhere, actual orders",
    ]


@pytest.mark.delta
def test_on_delta_what_files_made_is_as_they_declare_it(project: ProjectFolder) -> None:
    """Renamed, nested, clustered and altered columns included; then each change by hand is refused by its name."""
    place = f"      spark.sql.warehouse.dir: {project.root / 'spark'}\n"
    text = with_delta(project.root / "warehouse").replace("    sparkConf:\n", f"    sparkConf:\n{place}")
    project.catalog(text + ENVIRONMENTS)
    files = {name: sql for name, sql in FILES.items() if name < "07"}
    files["07_parts.sql"] = (
        "CREATE TABLE p (id INT NOT NULL COMMENT 'k', small SMALLINT, code CHAR(3), Day DATE, h INT) USING delta"
        " PARTITIONED BY (Day, h) COMMENT 'parts' TBLPROPERTIES ('delta.appendOnly' = 'true', 'delta.minWriterVersion' = '2');\n"
        "ALTER TABLE p SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"  # Delta raises the version.
    )
    for name, sql in files.items():
        project.file(name, sql)
    baseline = ("baseline", "--env", "second", "--to", "07", "--reason", "test", "--yes", "--format", "json")
    steps: list[tuple[str, ...]] = [
        ("migrate", "--to", "07"),
        ("sql", "ALTER TABLE p SET TBLPROPERTIES ('delta.appendOnly' = 'false')"),
        ("sql", "COMMENT ON TABLE p IS 'other'"),
        ("sql", "ALTER TABLE p ALTER COLUMN id DROP NOT NULL"),
        ("sql", "ALTER TABLE t ADD COLUMN sensor.legacy INT"),
        baseline,
        ("sql", "ALTER TABLE p SET TBLPROPERTIES ('delta.appendOnly' = 'true')"),
        ("sql", "COMMENT ON TABLE p IS 'parts'"),
        (*baseline[:-2], "--accept", "required *", "--accept", "column sensor.legacy", "--format", "json"),
    ]
    migrated, refused, done = steps_of(project, steps)
    assert migrated.code == 0, migrated.stderr
    found = [(each["what"], each["column"], each["declared"]) for each in refused.document["error"]["differences"]]
    assert found == [
        ("column", "sensor.legacy", None), ("required", "id", "yes"), ("property", "comment", "parts"),
        ("property", "delta.appendOnly", "true"),
    ]  # fmt: skip
    assert done.code == 0, done.stdout
    assert [each["what"] for each in done.entry()["differences"]] == ["column", "required"]
    assert done.entry()["warnings"] == []
