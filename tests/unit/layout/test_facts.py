"""The facts about tables: of recorded shapes, and of the statements that declare them."""

from __future__ import annotations

from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import KnownTables
from glacierbase.layout.facts import of_known, of_shape
from glacierbase.layout.template import TableFacts
from glacierbase.layout.templates import key_template
from glacierbase.model.shape import Column, PartitionField, Shape
from glacierbase.sql import read

DAY = PartitionField(1000, "ts_day", "ts", "day")


def known(*statements: str, is_complete: bool = True) -> KnownTable:
    """Return what is known of the one table of the statements."""
    tables = KnownTables(is_complete=is_complete)
    for statement in statements:
        parsed = read(statement, "spark")
        tables.follow(parsed)
    return tables.before(parsed.targets[0]) or KnownTable()


def declared(*statements: str, table_format: str = "iceberg") -> TableFacts | None:
    return of_known("lake.sales.orders", known(*statements), table_format, "1.12.0")


def text_of(*statements: str, table_format: str = "iceberg") -> str:
    facts = declared(*statements, table_format=table_format)
    assert facts
    return key_template(facts).text


def test_the_location_of_a_recorded_table_is_that_of_its_metadata() -> None:
    shape = Shape(
        "lake.sales.orders", "u", "iceberg", 2, (Column(1, "ts", "timestamp"),), (DAY,), properties={"a": "b"},
        metadata_location="s3://lake/sales/orders/metadata/00001-x.metadata.json",
    )  # fmt: skip
    facts = of_shape(shape, "1.12.0")
    assert facts == TableFacts(
        "lake.sales.orders", "iceberg", "1.12.0", {"ts": "timestamp"}, (DAY,), {"a": "b"}, "s3://lake/sales/orders"
    )


def test_a_format_whose_keys_are_not_modelled_has_no_facts() -> None:
    assert of_shape(Shape("db.s.t", None, "snowflake", None, ())) is None
    assert declared("CREATE TABLE t (a INT) USING jdbc") is None


def test_a_declared_table_has_the_partition_fields_that_iceberg_makes() -> None:
    create = (
        "CREATE TABLE t (Id BIGINT, eventTs TIMESTAMP) USING iceberg PARTITIONED BY (days(eventts), bucket(16, Id))"
    )
    facts = declared(create)
    assert facts
    assert facts.partitioning == (
        PartitionField(None, "eventTs_day", "eventts", "day"),
        PartitionField(None, "Id_bucket", "id", "bucket[16]"),
    )
    assert facts.columns == {"id": "bigint", "eventts": "timestamp"}
    added = "ALTER TABLE t ADD PARTITION FIELD bucket(8, Id)"
    assert (
        text_of(create, added)
        == "data/eventTs_day={eventTs_day}/Id_bucket={Id_bucket}/Id_bucket_8={Id_bucket_8}/{file}"
    )
    named = "ALTER TABLE t REPLACE PARTITION FIELD days(eventTs) WITH hours(eventTs) AS hour"
    assert text_of(create, named) == "data/Id_bucket={Id_bucket}/hour={hour}/{file}"


def test_properties_and_location_are_those_of_the_last_statement() -> None:
    create = (
        "CREATE TABLE t (id INT) USING iceberg LOCATION 's3://a/sales/t' TBLPROPERTIES ('write.data.path'='s3://b/all')"
    )
    enable = "ALTER TABLE t SET TBLPROPERTIES ('write.object-storage.enabled'='true')"
    bits = "{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}"
    assert text_of(create) == "all/{file}"
    assert text_of(create, enable) == f"all/{bits}/sales/t/{{file}}"
    assert text_of(create, enable, "ALTER TABLE t SET LOCATION 's3://b/all/x'") == f"all/{bits}/all/x/{{file}}"
    assert text_of(create, "ALTER TABLE t UNSET TBLPROPERTIES ('write.data.path')") == "data/{file}"


def test_a_property_that_the_engine_gives_to_new_tables_counts_unless_a_statement_sets_it() -> None:
    defaults = {"write.object-storage.enabled": "true"}
    table = known("CREATE TABLE t (id INT) USING iceberg")
    facts = of_known("t", table, "iceberg", "1.12.0", defaults)
    assert facts
    assert facts.properties == defaults
    set_ = known("CREATE TABLE t (id INT) USING iceberg TBLPROPERTIES ('write.object-storage.enabled'='false')")
    facts = of_known("t", set_, "iceberg", "1.12.0", defaults)
    assert facts
    assert facts.properties == {"write.object-storage.enabled": "false"}


def test_unknown_partitioning_has_no_facts_and_unknown_properties_are_a_note() -> None:
    assert of_known("t", KnownTable(), "iceberg") is None
    replaced = known("CREATE OR REPLACE TABLE t (id INT) USING iceberg", is_complete=False)
    facts = of_known("t", replaced, "iceberg", "1.12.0")
    assert facts
    assert key_template(facts).notes == ("the properties of the table are not known",)


def test_the_word_after_using_is_a_format_of_files_in_a_catalog_of_iceberg() -> None:
    create = "CREATE TABLE t (id INT, dt STRING) USING parquet PARTITIONED BY (dt)"
    assert text_of(create) == "data/dt={dt}/{file}"
    assert text_of(create, table_format="delta") == "dt={dt}/{file}"
    assert text_of("CREATE TABLE t (id INT) USING hudi PARTITIONED BY (dt STRING)") == "dt={dt}/{file}"
