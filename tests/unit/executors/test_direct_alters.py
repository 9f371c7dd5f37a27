"""What each clause of ALTER TABLE does to the metadata of a table without an engine, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType, TimestampType

from glacierbase.errors import NotPlain, StatementRefused
from glacierbase.executors.direct.ddl import run
from glacierbase.executors.direct.ddl.name_mapping import updated_mapping
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.sql import read
from tests.support.beds import only_catalog
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "Name", StringType()),
    NestedField(
        3, "s", StructType(NestedField(6, "a", IntegerType()), NestedField(7, "b", StringType())), required=True
    ),
    NestedField(4, "l", ListType(8, StructType(NestedField(9, "x", IntegerType())))),
    NestedField(5, "at", TimestampType()),
)


class Table:
    """A table that plain statements change."""

    def __init__(self, lakes: PyIcebergCatalogs) -> None:
        self._lakes = lakes

    def alter(self, *clauses: str) -> dict[str, Any]:
        """Run clauses of ALTER TABLE; return the metadata."""
        for clause in clauses:
            self.run(f"ALTER TABLE lake.db.t {clause}")
        return self.metadata()

    def run(self, sql: str) -> None:
        statement = read(sql, "spark")
        assert why_not_plain(statement) is None
        run(self._lakes, statement)

    def location(self, name: str = "t") -> str:
        """Return the location of the metadata."""
        location: str = self._lakes.open("lake").load_table(("db", name)).metadata_location
        return location

    def metadata(self, name: str = "t") -> dict[str, Any]:
        """Return the metadata as it is stored."""
        stored: dict[str, Any] = json.loads(Path(self.location(name).removeprefix("file://")).read_text())
        return stored

    def columns(self, *clauses: str) -> list[Any]:
        """Run clauses; return the current columns."""
        metadata = self.alter(*clauses)
        [schema] = [one for one in metadata["schemas"] if one["schema-id"] == metadata["current-schema-id"]]
        fields: list[Any] = schema["fields"]
        return fields

    def fields(self, *clauses: str) -> list[tuple[int, str, str]]:
        """Run clauses; return the current partition fields."""
        metadata = self.alter(*clauses)
        [spec] = [one for one in metadata["partition-specs"] if one["spec-id"] == metadata["default-spec-id"]]
        return [(field["field-id"], field["name"], field["transform"]) for field in spec["fields"]]

    def refused(self, clause: str) -> str:
        """Return the error class of a clause, which had no effect."""
        before = self.metadata()
        with pytest.raises(StatementRefused) as error:
            self.alter(clause)
        assert self.metadata() == before
        return error.value.error_class


def make(tmp_path: Path) -> Iterator[Table]:
    text = LAKE.replace("WAREHOUSE", str(tmp_path))
    ProjectFolder(tmp_path / "project").catalog(text, "contract")
    with closing(PyIcebergCatalogs(only_catalog(tmp_path / "project"))) as lakes:
        catalog = lakes.open("lake")
        catalog.create_namespace("db")
        catalog.create_table(("db", "t"), SCHEMA, properties={"format-version": "2"})
        yield Table(lakes)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    yield from make(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A table that nothing changes."""
    yield from make(tmp_path_factory.mktemp("unchanged"))


def test_a_decimal_gets_more_digits_and_no_other_scale(table: Table) -> None:
    """Spark converts decimal(9,2) to decimal(18,3) without loss, and Iceberg refuses the type."""
    table.alter("ADD COLUMN price DECIMAL(9,2)")
    assert table.refused("ALTER COLUMN price TYPE DECIMAL(18,3)") == "IllegalArgumentException"
    assert table.columns("ALTER COLUMN price TYPE DECIMAL(18,2)")[-1]["type"] == "decimal(18, 2)"


def test_a_changed_column_keeps_its_defaults(table: Table) -> None:
    """The rows of old files have the `initial-default` of a column of format version 3, whatever its name, comment or place."""
    table.run("CREATE TABLE lake.db.v (id INT, size INT) TBLPROPERTIES ('format-version' = '3')")
    location = table.location("v")
    metadata = table.metadata("v")
    metadata["schemas"][0]["fields"][1] |= {"initial-default": 5, "write-default": 7}
    Path(location.removeprefix("file://")).write_text(json.dumps(metadata))
    for clause in ("RENAME COLUMN size TO width", "ALTER COLUMN width COMMENT 'cm'", "ALTER COLUMN width FIRST"):
        table.run(f"ALTER TABLE lake.db.v {clause}")
    [column, _] = table.metadata("v")["schemas"][-1]["fields"]
    assert (column["name"], column["doc"]) == ("width", "cm")
    assert (column["initial-default"], column["write-default"]) == (5, 7)


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("s", "not a primitive type field"),
        ("l", "not a primitive type field"),
        ("Name", "not a required field"),
        ("s.a", "not a required field"),
        ("nope", "not found"),
    ],
)
def test_an_identifier_field_is_a_required_column_of_a_simple_type(unchanged: Table, field: str, why: str) -> None:
    """Iceberg refuses a struct, although it is required, and a field that may be NULL."""
    with pytest.raises(StatementRefused, match=why):
        unchanged.alter(f"SET IDENTIFIER FIELDS {field}")


def test_a_name_mapping_follows_its_columns() -> None:
    """A renamed field has both names, in Java's order of a set; a name that another field takes is lost."""
    text = json.dumps(
        [
            {"field-id": 1, "names": ["id"]},
            {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["zeta", "b"]}]},
        ]
    )
    fields = {
        1: NestedField(1, "old", LongType()),
        3: NestedField(3, "a", LongType()),
        4: NestedField(4, "id", ListType(5, LongType())),
    }
    updated = updated_mapping(text, fields, {-1: [4]})
    assert json.loads(updated) == [
        {"field-id": 1, "names": ["old"]},
        {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["zeta", "a", "b"]}]},
        {"field-id": 4, "names": ["id"], "fields": [{"field-id": 5, "names": ["element"]}]},
    ]
    assert updated.startswith('[ {\n  "field-id" : 1,\n  "names" : [ "old" ]\n}, {\n')
    assert updated_mapping("wrong", fields, {}) == "wrong"


def test_a_partition_field_has_the_name_that_its_statement_gives_it(table: Table) -> None:
    """A field that had the transform before under another name is not used again; one that is replaced is renamed."""
    table.alter("ADD PARTITION FIELD bucket(4, id) AS shard", "DROP PARTITION FIELD shard")
    assert table.fields("ADD PARTITION FIELD bucket(4, id) AS part") == [(1001, "part", "bucket[4]")]
    assert table.fields("REPLACE PARTITION FIELD part WITH bucket(4, id) AS slot") == [(1001, "slot", "bucket[4]")]
    assert table.fields("REPLACE PARTITION FIELD slot WITH days(at) AS day") == [(1002, "day", "day")]


def test_a_local_order_keeps_the_distribution(table: Table) -> None:
    """WRITE LOCALLY ORDERED BY sets no distribution of its own; WRITE ORDERED BY does."""
    metadata = table.alter("WRITE LOCALLY ORDERED BY id")
    assert metadata["default-sort-order-id"] == 1
    assert "write.distribution-mode" not in metadata["properties"]
    metadata = table.alter("WRITE UNORDERED", "WRITE LOCALLY ORDERED BY name")
    assert metadata["properties"]["write.distribution-mode"] == "none"
    assert table.alter("WRITE ORDERED BY id")["properties"]["write.distribution-mode"] == "range"


def test_a_branch_of_an_empty_table_has_an_empty_snapshot(table: Table) -> None:
    """Each branch has its own snapshot as long as main has none; a replaced branch keeps its retention."""
    table.alter("CREATE BRANCH b RETAIN 2 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 4 HOURS", "CREATE BRANCH c")
    metadata = table.alter("CREATE BRANCH IF NOT EXISTS c RETAIN 1 DAYS")
    first, second = (snapshot["snapshot-id"] for snapshot in metadata["snapshots"])
    assert metadata["refs"]["b"] == {
        "snapshot-id": first,
        "type": "branch",
        "min-snapshots-to-keep": 3,
        "max-snapshot-age-ms": 14_400_000,
        "max-ref-age-ms": 172_800_000,
    }
    assert metadata["refs"]["c"] == {"snapshot-id": second, "type": "branch"}
    refs = table.alter(f"REPLACE BRANCH b AS OF VERSION {second} RETAIN 1 DAYS", "DROP BRANCH c")["refs"]
    assert refs["b"]["snapshot-id"] == second
    assert (refs["b"]["min-snapshots-to-keep"], refs["b"]["max-ref-age-ms"]) == (3, 86_400_000)
    assert refs.keys() == {"b"}


@pytest.mark.parametrize(
    "clause",
    [
        "ADD COLUMN c INT DEFAULT 1",
        "ADD COLUMN c VARIANT",
        "ALTER COLUMN id SET DEFAULT 1",
        "ALTER COLUMN id TYPE SMALLINT",
        "ALTER COLUMN id TYPE BIGINT COMMENT 'x'",
        "CHANGE COLUMN id key BIGINT",
        "CHANGE COLUMN id id BIGINT NOT NULL",
        "RENAME COLUMN s.a TO s.b",
        "REPLACE COLUMNS (c INT NOT NULL)",
        "ADD PARTITION FIELD zorder(id, Name)",
        "ADD PARTITION FIELD bucket('x', id)",
        "WRITE",
        "WRITE ORDERED BY id UNORDERED",
        "SET IDENTIFIER FIELDS (id)",
        "SET TBLPROPERTIES ('a'='1', 'a'='2')",
        "SET TBLPROPERTIES ('a')",
        "SET TBLPROPERTIES ('a'=b)",
        "SET TBLPROPERTIES ('format-version'='3')",
        "SET TBLPROPERTIES ('write.metadata.delete-after-commit.enabled'='wrong')",
        "SET TBLPROPERTIES ('current-snapshot-id'='1')",
        "SET TBLPROPERTIES ('commit.retry.num-retries'='many')",
        "UNSET TBLPROPERTIES ('a'='1')",
        "PARTITION (id=1) SET LOCATION 'x'",
        "CREATE BRANCH a.b",
        "CREATE TAG a RETAIN 1 MONTHS",
        "CREATE TAG a WITH SNAPSHOT RETENTION 1 SNAPSHOTS",
        "DROP PARTITION (id=1)",
    ],
)
def test_other_clauses_need_the_engine(clause: str) -> None:
    """What cannot be exact, and what Spark cannot parse, is not plain."""
    assert why_not_plain(read(f"ALTER TABLE lake.db.t {clause}", "spark"))


@pytest.mark.parametrize(
    ("key", "value"), [("commit.retry.num-retries", "many"), ("write.object-storage.enabled", "perhaps")]
)
def test_a_value_on_which_commits_fail_needs_the_engine(table: Table, key: str, value: str) -> None:
    """A new table does not get the value, and one that another client gave the value is not changed."""
    assert why_not_plain(read(f"CREATE TABLE lake.db.u (id INT) TBLPROPERTIES ('{key}' = '{value}')", "spark"))
    before = table.metadata() | {"properties": {key: value}}
    Path(table.location().removeprefix("file://")).write_text(json.dumps(before))
    with pytest.raises(NotPlain, match=f"the value of {key}"):
        table.run("ALTER TABLE lake.db.t SET TBLPROPERTIES ('a' = '1')")
    assert table.metadata() == before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("ALTER VIEW lake.a.v SET TBLPROPERTIES ('a' = '1')", "views need the engine"),
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('Location' = 'x')", "Location is `location` in other letters"),
        ("ALTER TABLE lake.a.t SET LOCATION 's3://'", "a location without a path"),
        ("COMMENT ON COLUMN lake.a.t.c IS 'x'", "COMMENT ON COLUMN needs the engine"),
        ("COMMENT ON TABLE IF EXISTS lake.a.t IS 'x'", "the clause EXISTS"),
        ("ALTER TABLE lake.a.t ADD COLUMN IF NOT EXISTS c INT", "IF NOT EXISTS or PARTITION"),
        ("ALTER TABLE lake.a.t PARTITION (a = 1) ADD COLUMN c INT", "IF NOT EXISTS or PARTITION"),
        (
            f"ALTER TABLE lake.a.t ADD COLUMN {'.'.join('abcdefghijklmnopqrstu')} INT",
            "a field more than 20 levels deep",
        ),
        ("ALTER TABLE lake.a.t PARTITION (a = 1) DROP COLUMN c", "PARTITION"),
        ("ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(id)", "the arguments of bucket(id)"),
        ("ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(12345678901, id)", "the width of bucket(12345678901, id)"),
        ("ALTER TABLE lake.a.t CREATE TAG x AS OF VERSION 9223372036854775808", "the snapshot 9223372036854775808"),
        ("ALTER TABLE lake.a.t PARTITION (a = 1) RENAME TO lake.a.u", "RENAME with PARTITION"),
        ("ALTER TABLE IF EXISTS lake.a.t RENAME TO a.u", "ALTER TABLE IF EXISTS"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS lake.a.t (id INT)", "OR REPLACE with IF NOT EXISTS"),
        ("CREATE OR REPLACE TABLE lake.a.t AS SELECT 1", "a table that a query fills"),
    ],
)
def test_the_reason_is_named(sql: str, why: str) -> None:
    """`plan` and `show` print the reason of a file that needs the engine."""
    assert why_not_plain(read(sql, "spark")) == why


def test_a_location_that_stays_writes_nothing(table: Table) -> None:
    """A statement that changes nothing makes no new metadata."""
    before = table.metadata()
    assert table.alter(f"SET LOCATION '{before['location']}'") == before
