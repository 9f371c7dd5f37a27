"""Tables and namespaces that are created, renamed and dropped without an engine have the metadata that Spark gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField

from glacierbase.errors import StatementRefused, TableNotFound
from glacierbase.executors.iceberg.executor import IcebergExecutor
from glacierbase.executors.iceberg.lakes import Lakes
from glacierbase.executors.iceberg.plain import why_not_plain
from glacierbase.model.catalog import Catalog
from glacierbase.sql import read


class Direct:
    """A session without an engine, and the catalog that it changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._executor = IcebergExecutor(catalog)
        self.lake = Lakes(catalog).open("lake")
        self.warehouse = catalog.spark_conf["spark.sql.catalog.lake.warehouse"]

    def run(self, *statements: str) -> None:
        with closing(self._executor.open_session()) as session:
            for sql in statements:
                session.execute(sql)

    def refusal(self, sql: str) -> str:
        """Return the error class of a statement that is refused."""
        with pytest.raises(StatementRefused) as refused:
            self.run(sql)
        return refused.value.error_class

    def metadata(self, *table: str) -> dict[str, Any]:
        """Return the metadata file of a table, without what only this table has."""
        loaded = self.lake.load_table(table)
        with loaded.io.new_input(loaded.metadata_location).open() as stream:
            metadata = json.loads(stream.read())
        return {key: value for key, value in metadata.items() if key not in ("table-uuid", "last-updated-ms")}


@pytest.fixture
def direct(iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[Direct]:
    """A session of the user ana, and the namespace `a`."""
    monkeypatch.setenv("SPARK_USER", "ana")
    direct = Direct(iceberg_catalog)
    direct.run("CREATE NAMESPACE lake.a")
    yield direct
    direct.lake.close()


def test_a_table_has_the_metadata_of_spark(direct: Direct) -> None:
    """Ids, the partition spec, the properties that Spark and its catalog add, and the location are those of Spark."""
    direct.run(
        "CREATE TABLE lake.a.t (ID bigint NOT NULL COMMENT 'the id', s struct<X: int NOT NULL, y: date>, at timestamp)"
        " USING iceberg PARTITIONED BY (bucket(4, id), days(at), truncate(ID, 5), S.y)"
        " COMMENT 'my table' TBLPROPERTIES ('a' = 1, 'uuid' = 'x', 'comment' = 'other')"
    )
    fields = [
        {"id": 1, "name": "ID", "type": "long", "required": True, "doc": "the id"},
        {"id": 2, "name": "s", "required": False, "type": {"type": "struct", "fields": [
            {"id": 4, "name": "X", "type": "int", "required": True}, {"id": 5, "name": "y", "type": "date", "required": False},
        ]}},
        {"id": 3, "name": "at", "type": "timestamptz", "required": False},
    ]  # fmt: skip
    partition = [
        {"source-id": 1, "field-id": 1000, "transform": "bucket[4]", "name": "ID_bucket"},
        {"source-id": 3, "field-id": 1001, "transform": "day", "name": "at_day"},
        {"source-id": 1, "field-id": 1002, "transform": "truncate[5]", "name": "ID_trunc"},
        {"source-id": 5, "field-id": 1003, "transform": "identity", "name": "s.y"},
    ]
    assert direct.metadata("a", "t") == {
        "format-version": 2, "location": f"{direct.warehouse}/a/t", "last-sequence-number": 0, "last-column-id": 5,
        "schemas": [{"type": "struct", "schema-id": 0, "identifier-field-ids": [], "fields": fields}], "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": partition}], "default-spec-id": 0, "last-partition-id": 1003,
        "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "snapshots": [], "snapshot-log": [],
        "metadata-log": [], "refs": {}, "statistics": [], "partition-statistics": [],
        "properties": {"owner": "ana", "comment": "my table", "a": "1", "write.parquet.compression-codec": "zstd"},
    }  # fmt: skip


def test_a_table_of_version_1_has_its_schema_and_its_spec_twice(direct: Direct) -> None:
    """Version 1 also has the current schema and spec outside of the lists."""
    direct.run("CREATE TABLE lake.a.t (id int, d date) PARTITIONED BY (d) TBLPROPERTIES ('format-version' = '1')")
    metadata = direct.metadata("a", "t")
    assert metadata["format-version"] == 1
    assert metadata["schema"] == metadata["schemas"][0]
    assert metadata["partition-spec"] == metadata["partition-specs"][0]["fields"] != []
    assert "format-version" not in metadata["properties"]


def test_a_table_of_version_3_is_created_and_changed(direct: Direct) -> None:
    """PyIceberg does not write this version itself: the ids of rows begin at 0, and a change keeps all that is there."""
    direct.run("CREATE TABLE lake.a.t (id int) TBLPROPERTIES ('format-version' = '3')")
    created = direct.metadata("a", "t")
    assert (created["format-version"], created["next-row-id"]) == (3, 0)
    direct.run("ALTER TABLE lake.a.t ADD COLUMN (kind string)")
    changed = direct.metadata("a", "t")
    assert (changed["format-version"], changed["next-row-id"]) == (3, 0)
    assert [field["name"] for field in changed["schemas"][-1]["fields"]] == ["id", "kind"]
    assert len(changed["metadata-log"]) == 1


def test_a_table_in_a_namespace_that_is_absent_is_created_as_by_iceberg(direct: Direct) -> None:
    """Iceberg's JDBC catalog requires no namespace, and a namespace's location does not decide that of its tables."""
    direct.run("CREATE NAMESPACE lake.a.b LOCATION 's3://other/place'", "CREATE TABLE lake.a.b.t (id int)")
    direct.run("CREATE TABLE lake.absent.t (id int)")
    assert direct.metadata("a", "b", "t")["location"] == f"{direct.warehouse}/a/b/t"
    assert direct.metadata("absent", "t")["location"] == f"{direct.warehouse}/absent/t"


def test_a_strict_catalog_requires_the_namespace(iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `jdbc.strict-mode`, a table in an absent namespace is refused with Iceberg's error."""
    monkeypatch.setitem(iceberg_catalog.spark_conf, "spark.sql.catalog.lake.jdbc.strict-mode", "true")  # type: ignore[arg-type]
    direct = Direct(iceberg_catalog)
    assert direct.refusal("CREATE TABLE lake.absent.t (id int)") == "NoSuchNamespaceException"
    direct.run("CREATE NAMESPACE lake.absent", "CREATE TABLE lake.absent.t (id int)")


def test_a_table_that_exists_is_refused_or_accepted(direct: Direct) -> None:
    """The error class is that of Spark; IF NOT EXISTS leaves the table as it is."""
    direct.run("CREATE TABLE lake.a.t (id int)", "CREATE TABLE lake.a.T (id int)")
    before = direct.metadata("a", "t")
    assert direct.refusal("CREATE TABLE lake.a.t (id bigint)") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    direct.run("CREATE TABLE IF NOT EXISTS lake.a.t (id bigint)")
    assert direct.metadata("a", "t") == before


def test_the_configuration_of_the_catalog_sets_properties(
    iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A default is below the statement, an override above it."""
    monkeypatch.setenv("SPARK_USER", "ana")
    monkeypatch.setitem(iceberg_catalog.spark_conf, "spark.sql.catalog.lake.table-default.write.parquet.a", "default")  # type: ignore[arg-type]
    monkeypatch.setitem(iceberg_catalog.spark_conf, "spark.sql.catalog.lake.table-override.read.b", "override")  # type: ignore[arg-type]
    direct = Direct(iceberg_catalog)
    direct.run("CREATE TABLE lake.a.t (id int) TBLPROPERTIES ('write.parquet.a' = 'own', 'read.b' = 'own')")
    direct.run("CREATE TABLE lake.a.u (id int)")
    own, other = (direct.metadata("a", table)["properties"] for table in ("t", "u"))
    assert (own["write.parquet.a"], own["read.b"]) == ("own", "override")
    assert (other["write.parquet.a"], other["read.b"]) == ("default", "override")


def test_a_replaced_table_keeps_its_ids_and_its_history(direct: Direct) -> None:
    """Columns of the same name keep their ids, new ones continue; a schema or a spec that is known is used again."""
    direct.run(
        "CREATE OR REPLACE TABLE lake.a.t (id int, s string, st struct<a: int, b: string>) PARTITIONED BY (id)"
        " COMMENT 'one' TBLPROPERTIES ('a' = '1', 'b' = '2', 'write.parquet.compression-codec' = 'gzip')"
    )
    uuid, first = direct.lake.load_table(("a", "t")).metadata.table_uuid, direct.metadata("a", "t")
    direct.run(
        "CREATE OR REPLACE TABLE lake.a.t (st struct<b: string, c: int, a: bigint>, s int NOT NULL, id int)"
        " PARTITIONED BY (bucket(4, s)) TBLPROPERTIES ('b' = '3')"
    )
    second = direct.metadata("a", "t")
    inside = [
        {"id": 5, "name": "b", "type": "string", "required": False}, {"id": 6, "name": "c", "type": "int", "required": False},
        {"id": 4, "name": "a", "type": "long", "required": False},
    ]  # fmt: skip
    assert second["schemas"][1]["fields"] == [
        {"id": 3, "name": "st", "type": {"type": "struct", "fields": inside}, "required": False},
        {"id": 2, "name": "s", "type": "int", "required": True},
        {"id": 1, "name": "id", "type": "int", "required": False},
    ]
    assert second["partition-specs"][1]["fields"] == [
        {"source-id": 2, "field-id": 1001, "transform": "bucket[4]", "name": "s_bucket"}
    ]
    counters = ("last-column-id", "current-schema-id", "default-spec-id", "last-partition-id", "default-sort-order-id")
    assert [second[counter] for counter in counters] == [6, 1, 1, 1001, 0]
    assert second["properties"] == first["properties"] | {"b": "3", "write.parquet.compression-codec": "zstd"}
    direct.run(
        "REPLACE TABLE lake.a.t (id int, s string, st struct<a: int, b: string>) PARTITIONED BY (id, bucket(4, s))"
    )
    third = direct.metadata("a", "t")
    assert (third["current-schema-id"], third["schemas"]) == (0, second["schemas"])
    assert [field["field-id"] for field in third["partition-specs"][2]["fields"]] == [1000, 1001]
    assert direct.lake.load_table(("a", "t")).metadata.table_uuid == uuid
    assert len(third["metadata-log"]) == 2


def test_a_replaced_table_is_not_sorted(direct: Direct) -> None:
    """The sort order of the former table is kept in the list; the distribution is a property, and stays."""
    direct.run("CREATE TABLE lake.a.t (id int, s string)", "ALTER TABLE lake.a.t WRITE ORDERED BY s")
    assert direct.metadata("a", "t")["default-sort-order-id"] == 1
    direct.run("CREATE OR REPLACE TABLE lake.a.t (id int)")
    replaced = direct.metadata("a", "t")
    assert replaced["default-sort-order-id"] == 0
    assert [order["order-id"] for order in replaced["sort-orders"]] == [0, 1]
    assert replaced["properties"]["write.distribution-mode"] == "range"


def test_a_replaced_table_that_another_client_created_sorted_is_not_sorted(direct: Direct) -> None:
    """Such a table has no order of the id 0 before."""
    schema = Schema(NestedField(1, "id", IntegerType()))
    order = SortOrder(SortField(1, IdentityTransform()))
    direct.lake.create_table(("a", "t"), schema, sort_order=order)
    direct.run("CREATE OR REPLACE TABLE lake.a.t (id int)")
    replaced = direct.metadata("a", "t")
    assert replaced["default-sort-order-id"] == 0
    assert [(order["order-id"], len(order["fields"])) for order in replaced["sort-orders"]] == [(1, 1), (0, 0)]


def test_a_replaced_table_has_no_rows(direct: Direct) -> None:
    """The branch main is removed; its snapshots stay, as on Spark, and so does another branch."""
    direct.run("CREATE TABLE lake.a.t (id int)")
    table = direct.lake.load_table(("a", "t"))
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "other").commit()
    direct.run("CREATE OR REPLACE TABLE lake.a.t (id int)")
    replaced = direct.metadata("a", "t")
    assert "current-snapshot-id" not in replaced
    assert [*replaced["refs"]] == ["other"]
    assert len(replaced["snapshots"]) == 1


def test_replace_requires_a_table_that_pyiceberg_replaces_as_iceberg_does(direct: Direct) -> None:
    """REPLACE TABLE of no table is refused; a table of version 1, or a change of the version, needs the engine."""
    assert direct.refusal("REPLACE TABLE lake.a.t (id int)") == "TABLE_OR_VIEW_NOT_FOUND"
    direct.run("CREATE TABLE lake.a.t (id int) TBLPROPERTIES ('format-version' = '1')")
    for version in ("1", "2"):
        sql = f"CREATE OR REPLACE TABLE lake.a.t (id int) TBLPROPERTIES ('format-version' = '{version}')"
        assert direct.refusal(sql) == "NOT_PLAIN"


def test_a_table_is_renamed_within_its_catalog(direct: Direct) -> None:
    """A name of one part stays in its namespace; a longer one is a namespace and a name, without a catalog."""
    direct.run("CREATE TABLE lake.a.t (id int)", "CREATE NAMESPACE lake.b", "ALTER TABLE lake.a.t RENAME TO u")
    direct.run("ALTER TABLE lake.a.u RENAME TO b.V", "CREATE TABLE lake.b.w (id int)")
    assert direct.lake.list_tables(("b",)) == [("b", "V"), ("b", "w")]
    assert direct.refusal("ALTER TABLE lake.b.V RENAME TO w") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert direct.refusal("ALTER TABLE lake.b.v RENAME TO x") == "TABLE_OR_VIEW_NOT_FOUND"
    assert direct.refusal("ALTER TABLE lake.b.V RENAME TO lake.b.x") == "NoSuchNamespaceException"
    assert direct.lake.list_tables(("b",)) == [("b", "V"), ("b", "w")]


def test_a_namespace_has_the_properties_of_spark(direct: Direct) -> None:
    """The owner and a property of Iceberg are beside those of the statement; the clause COMMENT is above a property."""
    direct.run(
        "CREATE DATABASE lake.b COMMENT 'one' LOCATION 's3://bucket/b' WITH DBPROPERTIES ('k' = 'v', 'comment' = 'two')"
    )
    expected = {"exists": "true", "owner": "ana", "comment": "one", "location": "s3://bucket/b", "k": "v"}
    assert direct.lake.load_namespace_properties("b") == expected
    direct.run("ALTER NAMESPACE lake.b SET PROPERTIES ('k' = 'w')", "ALTER SCHEMA lake.b SET LOCATION 's3://bucket/c'")
    direct.run("COMMENT ON NAMESPACE lake.b IS NULL")
    changed = {"k": "w", "location": "s3://bucket/c", "comment": ""}
    assert direct.lake.load_namespace_properties("b") == expected | changed


def test_a_namespace_is_dropped_only_if_it_is_empty(direct: Direct) -> None:
    """Tables and namespaces inside keep it, with or without CASCADE; the error classes are those of Spark."""
    direct.run("CREATE NAMESPACE lake.b.c", "CREATE NAMESPACE IF NOT EXISTS lake.b", "CREATE TABLE lake.a.t (id int)")
    assert direct.refusal("CREATE NAMESPACE lake.b") == "SCHEMA_ALREADY_EXISTS"
    for sql in ("DROP NAMESPACE lake.b", "DROP NAMESPACE lake.a CASCADE"):
        assert direct.refusal(sql) == "NamespaceNotEmptyException"
    direct.run(
        "DROP NAMESPACE lake.b.c", "DROP NAMESPACE IF EXISTS lake.b", "DROP TABLE lake.a.t", "DROP SCHEMA lake.a"
    )
    for sql in ("DROP NAMESPACE lake.a", "ALTER NAMESPACE lake.a SET PROPERTIES ('a' = 'b')"):
        assert direct.refusal(sql) == "SCHEMA_NOT_FOUND"
    direct.run("DROP NAMESPACE IF EXISTS lake.a")
    assert direct.lake.list_namespaces() == []


def test_a_dropped_table_is_absent(direct: Direct) -> None:
    """A second DROP is refused unless it has IF EXISTS."""
    direct.run("CREATE TABLE lake.a.t (id int)", "DROP TABLE lake.a.t", "DROP TABLE IF EXISTS lake.a.t")
    with pytest.raises(TableNotFound):
        direct.run("DROP TABLE lake.a.t")


def test_names_of_no_namespace_need_the_engine(direct: Direct) -> None:
    """PyIceberg addresses neither a table outside of namespaces nor the root of a catalog."""
    for sql in ("CREATE TABLE lake.t (id int)", "DROP TABLE lake.t", "CREATE NAMESPACE lake"):
        assert direct.refusal(sql) == "NOT_PLAIN"


def test_parts_of_a_table_need_the_engine(direct: Direct) -> None:
    """Iceberg for Spark reads the names of its metadata tables and branches, in any statement."""
    direct.run("CREATE TABLE lake.a.t (id int)")
    for sql in (
        "DROP TABLE lake.a.t.files",
        "CREATE TABLE lake.a.t.files (id int)",
        "COMMENT ON TABLE lake.a.t.b IS ''",
    ):
        assert direct.refusal(sql) == "NOT_PLAIN"


def test_a_location_that_pyiceberg_cuts_needs_the_engine(direct: Direct) -> None:
    """PyIceberg writes what is after `#` or `?` to another place, where the engine does not find it."""
    direct.run("CREATE TABLE lake.a.t (id int)")
    for sql in (
        "CREATE TABLE lake.a.`t#1` (id int)",
        "DROP TABLE lake.a.`t?`",
        "ALTER TABLE lake.a.t SET LOCATION 'file:///data/t#1'",
        "ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.metadata.path' = 'file:///data/t?1')",
    ):
        assert direct.refusal(sql) == "NOT_PLAIN"
    assert direct.metadata("a", "t")["location"] == f"{direct.warehouse}/a/t"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT 1 AS one",
        "CREATE TABLE t LIKE u",
        "CREATE TABLE t SHALLOW CLONE u",
        "CREATE TEMPORARY TABLE t (id int)",
        "CREATE EXTERNAL TABLE t (id int)",
        "CREATE TABLE t (id int) USING parquet",
        "CREATE TABLE t (id int) OPTIONS ('a' = 'b')",
        "CREATE TABLE t (id int) CLUSTER BY (id)",
        "CREATE TABLE t (id int) LOCATION '/local'",
        "CREATE TABLE t (id int) LOCATION 's3://bucket/a/../b'",
        "CREATE TABLE t (id int DEFAULT 5) TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE t (id int GENERATED ALWAYS AS (1))",
        "CREATE TABLE t (id int PRIMARY KEY)",
        "CREATE TABLE t (id int, CHECK (id > 0))",
        "CREATE TABLE t (id int, ID int)",
        "CREATE TABLE t (a struct<b: int>, `a.b` int)",
        "CREATE TABLE t (v variant)",
        "CREATE TABLE t (id int) TBLPROPERTIES ('format-version' = '4')",
        "ALTER TABLE t SET TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('owner' = 'x')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('a')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('a' = '1', 'a' = '2')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('py-io-impl' = 'os.system')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('write.py-location-provider.impl' = 'os.system')",
        "CREATE TABLE t (id int) TBLPROPERTIES ('write.metadata.metrics.column.x' = 'full')",
        "CREATE TABLE t (id int) PARTITIONED BY (absent)",
        "CREATE TABLE t (id int) PARTITIONED BY (id, id)",
        "CREATE TABLE t (id int) PARTITIONED BY (id, d date)",
        "CREATE TABLE t (id int) PARTITIONED BY (void(id))",
        "CREATE TABLE t (id int) PARTITIONED BY (system.bucket(4, id))",
        "CREATE TABLE t (id int) PARTITIONED BY (bucket(0, id))",
        "CREATE TABLE t (id int) PARTITIONED BY (bucket(id, 4))",
        "CREATE TABLE t (id int) PARTITIONED BY (bucket(99999999999, id))",
        "CREATE TABLE t (id int) PARTITIONED BY (truncate(4, ID))",
        "CREATE TABLE t (id int) PARTITIONED BY (truncate('4', id))",
        "CREATE TABLE t (id int) PARTITIONED BY (days(id))",
        "CREATE TABLE t (d date) PARTITIONED BY (hours(d))",
        "CREATE TABLE t (f float) PARTITIONED BY (bucket(4, f))",
        "CREATE TABLE t (s struct<a: int>) PARTITIONED BY (s)",
        "CREATE TABLE t (s array<int>) PARTITIONED BY (s.element)",
        "CREATE TABLE t (at timestamp) PARTITIONED BY (days(at), hours(at))",
        "CREATE TABLE t (id int, ID_BUCKET int) PARTITIONED BY (bucket(4, id))",
        "CREATE TABLE t (`a.b` int) PARTITIONED BY (`a.b`)",
        "ALTER TABLE t PARTITION (a = 1) RENAME TO PARTITION (a = 2)",
        "DROP TABLE t PURGE",
        "CREATE NAMESPACE n LOCATION '/local'",
        "CREATE NAMESPACE n WITH PROPERTIES ('owner' = 'x')",
        "ALTER NAMESPACE n SET PROPERTIES ('location' = 's3://b/c')",
        "ALTER NAMESPACE n UNSET PROPERTIES ('a')",
        "ALTER DATABASE IF EXISTS n SET DBPROPERTIES ('a' = 'b')",
    ],
)
def test_what_spark_refuses_or_does_otherwise_needs_spark(sql: str) -> None:
    """A statement is not plain where Spark refuses it, or does more than the metadata of one table shows."""
    assert why_not_plain(read(sql, "spark"))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t",
        "CREATE TABLE `größe` (`a b` int, b string) USING ICEBERG LOCATION 's3://bucket/a/b'",
        "CREATE TABLE t (id int) PARTITIONED BY (d date NOT NULL COMMENT 'x', e int)",
        "CREATE TABLE t (id int, at timestamp) PARTITIONED BY (ID, BUCKET(4, id), Days(at), truncate(id, 4))",
        "CREATE TABLE t (a timestamp, b date, c timestamp_ntz, d date, e timestamp) PARTITIONED BY"
        " (year(a), month(b), hour(c), date(d), date_hour(e))",
    ],
)
def test_other_forms_are_plain(sql: str) -> None:
    """A table without columns, quoted names, columns in PARTITIONED BY, and all spellings of transforms are plain."""
    assert why_not_plain(read(sql, "spark")) is None
