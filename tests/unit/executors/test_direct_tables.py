"""Tables and namespaces that are created, renamed and dropped without an engine have the metadata that Spark gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField

from glacierbase.errors import StatementRefused
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.model.catalog import Catalog
from glacierbase.sql import read


class Direct:
    """A session without an engine, and the catalog that it changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._executor = IcebergExecutor(catalog)
        self.lake = PyIcebergCatalogs(catalog).open("lake")
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


def test_a_strict_catalog_requires_the_namespace(iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `jdbc.strict-mode`, a table in an absent namespace is refused with Iceberg's error."""
    monkeypatch.setitem(iceberg_catalog.spark_conf, "spark.sql.catalog.lake.jdbc.strict-mode", "true")  # type: ignore[arg-type]
    direct = Direct(iceberg_catalog)
    assert direct.refusal("CREATE TABLE lake.absent.t (id int)") == "NoSuchNamespaceException"
    direct.run("CREATE NAMESPACE lake.absent", "CREATE TABLE lake.absent.t (id int)")


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


def test_a_namespace_with_a_view_is_not_dropped(direct: Direct) -> None:
    """A view of another client, which the SQL catalog keeps beside the tables, is in the namespace as a table is."""
    with direct.lake.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO iceberg_tables VALUES ('lake', 'a', 'v', '/v.json', NULL, 'VIEW')")
    with pytest.raises(StatementRefused, match=re.escape("not empty. Contains 1 view(s).")) as refused:
        direct.run("DROP NAMESPACE lake.a CASCADE")
    assert refused.value.error_class == "NamespaceNotEmptyException"
    assert direct.lake.list_namespaces() == [("a",)]


def test_names_of_no_namespace_need_the_engine(direct: Direct) -> None:
    """PyIceberg addresses neither a table outside of namespaces nor the root of a catalog."""
    for sql in ("CREATE TABLE lake.t (id int)", "DROP TABLE lake.t", "CREATE NAMESPACE lake"):
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


def test_a_replaced_table_keeps_its_uuid(direct: Direct) -> None:
    """A reader takes the table for the same one."""
    direct.run("CREATE OR REPLACE TABLE lake.a.t (id int)")
    uuid = direct.lake.load_table(("a", "t")).metadata.table_uuid
    direct.run("CREATE OR REPLACE TABLE lake.a.t (s string)")
    assert direct.lake.load_table(("a", "t")).metadata.table_uuid == uuid
