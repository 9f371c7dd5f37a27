"""Rules that decide by the type of a column: each type on its side, and each limit from both sides.

What is expected is written out here, from the pages that the tests name: a table of the code would agree with itself.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rules import FACTS, codes, findings, raising

# The types of Spark without types inside, in all their spellings. https://spark.apache.org/docs/latest/sql-ref-datatypes.html
SIMPLE = {
    "boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double",
    "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string", "binary",
}  # fmt: skip
NESTED = {"struct<a: int>", "map<int, int>", "array<int>"}
RETYPE = "ALTER TABLE lake.a.t ALTER COLUMN x TYPE {}"
CREATE = "CREATE TABLE lake.a.t (x {}) USING iceberg"
DELTA = replace(FACTS, formats={"spark_catalog": "delta"}, given_parts=1)
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"}, given_parts=1)


def test_only_the_types_of_a_promotion_are_new_types_of_a_column() -> None:
    """Iceberg changes int to long, float to double, a decimal to more digits, and date to a timestamp.

    https://iceberg.apache.org/spec/#schema-evolution
    """
    promoted = {"bigint", "long", "double", "timestamp", "timestamp_ntz", "timestamp_ltz"}
    decimals = {"decimal(9,2)", "dec(9,2)", "numeric(9,2)", "decimal"}
    values = SIMPLE | NESTED | decimals
    assert raising("TY101", RETYPE, values) == SIMPLE - promoted
    assert raising("TY107", RETYPE, values) == NESTED


@pytest.mark.parametrize(
    ("old", "accepted"),
    [
        ("tinyint", {"bigint"}),
        ("smallint", {"bigint"}),
        ("int", {"bigint"}),
        ("bigint", {"bigint"}),
        ("float", {"double"}),
        ("double", {"double"}),
        ("string", set()),
        ("boolean", set()),
        ("decimal(9,2)", {"decimal(9,2)", "decimal(10,2)", "decimal(38,2)"}),
    ],
)
def test_a_column_is_promoted_to_these_types_only(old: str, accepted: set[str]) -> None:
    """A decimal gets more digits, and neither fewer nor another scale. https://iceberg.apache.org/spec/#schema-evolution"""
    new = {
        "bigint",
        "double",
        "decimal(9,2)",
        "decimal(10,2)",
        "decimal(38,2)",
        "decimal(8,2)",
        "decimal(18,3)",
        "decimal(9,1)",
    }
    assert new - raising("TY102", RETYPE, new, CREATE.replace("{}", old)) == accepted


def test_an_identifier_field_is_of_a_simple_exact_type() -> None:
    """A required struct, map or array, and a floating-point number, identify no row. https://iceberg.apache.org/spec/#identifier-field-ids"""
    values = {"bigint", "decimal(9,2)", "string", "date", "float", "double", *NESTED}
    refused = {
        value
        for value in values
        if "TY106" in codes(CREATE.replace("{}", f"{value} NOT NULL"), "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS x")
    }
    assert refused == {"float", "double", *NESTED}


def test_each_type_of_spark_is_known() -> None:
    """`void` and `variant` need another format version, which is another finding."""
    others = {
        "void", "variant", "interval", "interval day to second", "time", "time(6)", "geometry(4326)", "geography(4326)",
        "decimal", "dec", "numeric", "decimal(9,2)", "dec(9)", "numeric(9,2)", "char(1)", "character(1)", "varchar(1)",
        "string collate UTF8_LCASE",
    }  # fmt: skip
    assert raising("TY110", CREATE, SIMPLE | NESTED | others) == set()


@pytest.mark.parametrize(
    ("instead", "types"),
    [
        ("string", "text varchar2 nvarchar nvarchar2 nchar clob uuid json jsonb xml enum"),
        ("decimal(p,s)", "number money"),
        ("timestamp", "datetime datetime2 timestamptz"),
        ("bigint", "int8 serial bigserial unsigned int64 uint64"),
        ("int", "int2 int4 int16 int32 mediumint"),
        ("binary", "blob bytea varbinary bytes"),
        ("double", "float8 float64"),
        ("float", "float4"),
        ("boolean", "bool bit"),
        ("timestamp_ntz", "timestampntz"),
        ("variant", "object"),
    ],
)
def test_a_type_of_another_engine_is_a_finding_that_names_the_type_of_spark(instead: str, types: str) -> None:
    """PostgreSQL, MySQL, SQL Server, Oracle, BigQuery and Snowflake have these types."""
    for type_ in types.split():
        found = [finding for finding in findings(CREATE.replace("{}", type_)) if finding.code == "TY110"]
        assert [(type_, finding.fix) for finding in found] == [(type_, f"Write {instead}.")]


def test_a_type_that_no_engine_has_is_a_finding_without_a_remedy() -> None:
    """The fix is that of the rule."""
    [finding] = [finding for finding in findings(CREATE.replace("{}", "frob")) if finding.code == "TY110"]
    assert not finding.fix.startswith("Write frob")


def test_a_type_has_a_length_where_spark_requires_or_accepts_one() -> None:
    """A decimal has up to 38 digits, and not more of them after the point than in all."""
    texts = {"char", "character", "varchar"}
    nested = {"array", "map", "struct"}
    with_length = {f"{type_}(5)" for type_ in SIMPLE}
    decimals = {"decimal(39,2)", "decimal(5,6)", "dec(39)", "numeric(5,6)"}
    others = {"int unsigned", "double precision"}
    accepted = {"decimal(38,2)", "decimal(38,38)", "decimal(6,6)", "dec(38)", "numeric(38,0)"}
    refused = texts | nested | with_length | decimals | others
    assert raising("TY110", CREATE, refused | accepted) == refused
    for word in nested:
        [finding] = findings(CREATE.replace("{}", word))
        assert finding.message == f"x: {word} without the types inside"
    inside = "CREATE TABLE lake.a.t (x array<struct<a: {}>>) USING iceberg"
    assert raising("TY110", inside, {"int", "varchar", "decimal(39,2)"}) == {"varchar", "decimal(39,2)"}


@pytest.mark.parametrize(("version", "is_refused"), [("1", True), ("2", True), ("3", False)])
def test_a_type_of_format_version_3_is_refused_below_it(version: str, is_refused: bool) -> None:
    """`variant` and `void`, as a type of a new column, too. https://iceberg.apache.org/spec/#version-3"""
    table = f"CREATE TABLE lake.a.t (id int, x {{}}) USING iceberg TBLPROPERTIES ('format-version' = '{version}')"
    found = raising("TY111", table, {"variant", "void", "string"})
    assert found == ({"variant", "void"} if is_refused else set())
    added = raising(
        "TY111", "ALTER TABLE lake.a.t ADD COLUMN y {}", {"variant", "void", "string"}, table.replace("{}", "int")
    )
    assert added == found


@pytest.mark.parametrize(("default", "version", "is_refused"), [("3", "", False), ("1", "", True), ("3", "2", True)])
def test_the_catalog_may_set_the_format_version_of_new_tables(default: str, version: str, is_refused: bool) -> None:
    """The default of the catalog file counts where the statement sets no version."""
    facts = replace(FACTS, defaults={"format-version": default})
    declared = f" TBLPROPERTIES ('format-version' = '{version}')" if version else ""
    found = raising("TY111", f"CREATE TABLE lake.a.t (x {{}}) USING iceberg{declared}", {"variant"}, facts=facts)
    assert found == ({"variant"} if is_refused else set())


def test_names_of_columns_of_metadata_are_reserved() -> None:
    """https://iceberg.apache.org/spec/#reserved-field-ids, https://hudi.apache.org/docs/sql_ddl, https://docs.delta.io/delta-change-data-feed/"""
    iceberg = {"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"}
    hudi = {
        "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name",
        "_hoodie_is_deleted",
    }  # fmt: skip
    delta = {"_change_type", "_commit_version", "_commit_timestamp"}
    every = iceberg | hudi | delta | {"_filename", "file"}
    assert raising("TY113", "CREATE TABLE lake.a.t ({} int) USING iceberg", every) == iceberg
    assert raising("TY113", "ALTER TABLE lake.a.t RENAME COLUMN x TO {}", every) == iceberg
    assert raising("TY113", "CREATE TABLE a.t ({} int) USING hudi", every, facts=HUDI) == hudi
    feed = "CREATE TABLE a.t ({} int) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    assert raising("TY113", feed, every, facts=DELTA) == delta
    assert raising("TY113", "CREATE TABLE a.t ({} int) USING delta", every, facts=DELTA) == set()
    assert raising("DL114", "CREATE TABLE a.t ({} int) USING delta", every, facts=DELTA) == delta


def test_names_of_money_and_rates_need_digits_after_the_point() -> None:
    """A word after them that says which amount it is changes nothing; any other word does."""
    money = {
        "price", "prices", "amount", "amt", "cost", "costs", "fee", "fees", "revenue", "salary", "wage", "tax", "vat", "discount",
        "rate", "ratio", "percent", "percentage", "pct", "margin", "balance", "commission", "turnover", "payment", "refund",
    }  # fmt: skip
    after = {"net", "gross", "total", "eur", "usd", "gbp", "chf", "local", "base"}
    names = money | {f"amount_{word}" for word in after} | {"unit_price"}
    others = {"count", "amount_id", "price_level", "total", "eur"}
    assert raising("TY120", "CREATE TABLE lake.a.t ({} NUMERIC(12)) USING iceberg", names | others) == names


def test_a_unit_in_the_comment_says_that_an_amount_is_whole() -> None:
    """As a word, or as the end of the name of a column."""
    comment = "CREATE TABLE lake.a.t (price DECIMAL(12) COMMENT 'in {} of it') USING iceberg"
    units = {"cent", "cents", "pence", "minor", "micro", "micros", "whole", "unit", "units", "integer", "basis"}
    assert raising("TY120", comment, units | {"euros", "centuries"}) == {"euros", "centuries"}
    ends = {"cent", "cents", "pence", "minor", "micro", "micros", "bps"}
    assert raising("TY120", comment.replace("{}", "price_{}"), ends | {"eur"}) == {"eur"}


def test_a_type_without_a_scale_is_meant_to_be_whole_below_six_digits() -> None:
    """`NUMERIC(5)` of a percentage is whole on purpose; a scale says so of any number."""
    found = {
        "decimal",
        "dec",
        "numeric",
        "number",
        "decimal(6)",
        "decimal(9)",
        "decimal(10)",
        "numeric(38)",
        "dec( 12 )",
    }
    others = {"decimal(5)", "decimal(1)", "decimal(12,2)", "decimal(12,0)", "double", "bigint"}
    assert raising("TY120", "CREATE TABLE lake.a.t (price {}) USING iceberg", found | others) == found


def test_clauses_of_iceberg_are_refused_for_other_formats() -> None:
    """Partition fields, orders, identifier fields, branches and tags. https://iceberg.apache.org/docs/latest/spark-ddl/"""
    clauses = {
        "ADD PARTITION FIELD days(d)", "DROP PARTITION FIELD d", "REPLACE PARTITION FIELD d WITH days(d)", "WRITE ORDERED BY d",
        "WRITE DISTRIBUTED BY PARTITION", "SET IDENTIFIER FIELDS d", "DROP IDENTIFIER FIELDS d", "CREATE BRANCH b",
        "CREATE TAG b", "DROP BRANCH b", "DROP TAG b",
    }  # fmt: skip
    others = {"ADD COLUMNS (e INT)", "SET TBLPROPERTIES ('a' = 'b')"}
    for facts in (DELTA, HUDI):
        assert raising("TY119", "ALTER TABLE a.t {}", clauses | others, facts=facts) == clauses
        fields = {"d", "days(d)", "bucket(4, d)"}
        table = f"CREATE TABLE a.t (d DATE) USING {facts.formats['spark_catalog']} PARTITIONED BY ({{}})"
        assert raising("TY119", table, fields, facts=facts) == fields - {"d"}
    assert raising("TY119", "ALTER TABLE lake.a.t {}", clauses) == set()


def test_clauses_that_spark_lacks_for_iceberg_are_refused() -> None:
    """Defaults, generated columns, constraints and clustering."""
    columns = {"INT DEFAULT 1", "INT GENERATED ALWAYS AS (1)", "INT PRIMARY KEY"}
    assert raising("TY112", CREATE, columns | {"INT", "INT NOT NULL", "INT COMMENT 'x'"}) == columns
    clauses = {"ADD CONSTRAINT c CHECK (x > 0)", "ALTER COLUMN x SET DEFAULT 1", "CLUSTER BY (x)"}
    others = {"ALTER COLUMN x COMMENT 'x'", "ADD COLUMN y INT"}
    assert raising("TY112", "ALTER TABLE lake.a.t {}", clauses | others) == clauses


def test_each_clause_that_names_a_column_needs_it() -> None:
    """Where earlier files declare all columns of the table."""
    table = "CREATE TABLE lake.a.t (x INT, d DATE NOT NULL, s STRUCT<a: INT>) USING iceberg PARTITIONED BY (d)"
    clauses = {
        "ADD COLUMN y INT AFTER {}", "ADD COLUMN {}.y INT", "DROP COLUMN {}", "RENAME COLUMN {} TO y",
        "ALTER COLUMN {} TYPE BIGINT", "ALTER COLUMN {} DROP NOT NULL", "ALTER COLUMN {} COMMENT 'x'", "ALTER COLUMN {} FIRST",
        "ALTER COLUMN {} SET DEFAULT 1", "WRITE ORDERED BY {}",
        "SET IDENTIFIER FIELDS {}", "ADD PARTITION FIELD {}", "REPLACE PARTITION FIELD d WITH {}",
        "SET TBLPROPERTIES ('write.metadata.metrics.column.{}' = 'full')",
    }  # fmt: skip
    for name, expected in (("nope", clauses), ("s", set())):
        given = {
            clause
            for clause in clauses
            if "TY114" in codes(table, f"ALTER TABLE lake.a.t {clause.replace('{}', name)}")
        }
        assert given == expected
    others = {
        "SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.nope' = 'true')",
        "DROP COLUMN IF EXISTS nope",
    }
    assert raising("TY114", "ALTER TABLE lake.a.t {}", others, table) == set()
    rows = {
        "INSERT INTO lake.a.t ({}) VALUES (1)",
        "INSERT OVERWRITE lake.a.t ({}) SELECT 1",
        "UPDATE lake.a.u SET {} = 1 WHERE true",
    }
    flat = f"{table};\nCREATE TABLE lake.a.u (x INT) USING iceberg"
    for name, expected in (("nope", rows), ("x", set())):
        assert {row for row in rows if "TY114" in codes(flat, row.replace("{}", name))} == expected


# https://iceberg.apache.org/spec/#partition-transforms
TYPES_OF_TRANSFORMS = {
    "year": {"date", "timestamp", "timestamp_ntz", "timestamp_ltz"},
    "hour": {"timestamp", "timestamp_ntz", "timestamp_ltz"},
    "bucket": {
        "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "decimal(9,2)", "dec(9,2)", "numeric(9,2)",
        "string", "char(3)", "varchar(3)", "binary", "date", "timestamp", "timestamp_ntz", "timestamp_ltz",
    },
    "truncate": {
        "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "decimal(9,2)", "dec(9,2)", "numeric(9,2)",
        "string", "char(3)", "varchar(3)", "binary",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("transform", "like"),
    [
        *((name, "year") for name in ("year", "years", "month", "months", "day", "days")),
        ("hour", "hour"),
        ("hours", "hour"),
        ("bucket", "bucket"),
        ("truncate", "truncate"),
    ],
)
def test_a_transform_accepts_the_types_of_the_specification(transform: str, like: str) -> None:
    """A column of another type is a finding, whatever its alias."""
    width = "8, " if transform in ("bucket", "truncate") else ""
    table = f"CREATE TABLE lake.a.t (x {{}}) USING iceberg PARTITIONED BY ({transform}({width}x))"
    every = TYPES_OF_TRANSFORMS["bucket"] | {"boolean", "float", "double"}
    assert every - raising("PA107", table, every) == TYPES_OF_TRANSFORMS[like]


def test_iceberg_has_these_transforms_only() -> None:
    """`date` and `date_hour` are of Spark's older syntax. https://iceberg.apache.org/docs/latest/spark-ddl/#partitioned-by"""
    known = {
        "year",
        "years",
        "month",
        "months",
        "day",
        "days",
        "hour",
        "hours",
        "date",
        "date_hour",
        "identity",
        "void",
    }
    table = "CREATE TABLE lake.a.t (x TIMESTAMP) USING iceberg PARTITIONED BY ({}(x))"
    assert raising("PA107", table, known | {"week", "zorder", "quarter"}) == {"week", "zorder", "quarter"}
    widths = {"0", "00", "1", "10"}
    for transform in ("bucket", "truncate"):
        number = f"CREATE TABLE lake.a.t (x BIGINT) USING iceberg PARTITIONED BY ({transform}({{}}, x))"
        assert raising("PA107", number, widths) == {"0", "00"}
    twice = "CREATE TABLE lake.a.t (x TIMESTAMP, y BIGINT) USING iceberg PARTITIONED BY ({})"
    pairs = {"days(x), hours(x)", "day(x), days(x)", "bucket(4, y), bucket(8, y)"}
    assert raising("PA107", twice, pairs | {"days(x), bucket(4, y)", "bucket(4, y), truncate(4, y)"}) == pairs


def test_a_partition_of_each_value_is_a_finding_by_type_and_by_name() -> None:
    """Times, floating-point numbers and bytes, and ids, differ in nearly every row."""
    types = {"timestamp", "timestamp_ntz", "timestamp_ltz", "double", "float", "binary"}
    table = "CREATE TABLE lake.a.t (x {}) USING iceberg PARTITIONED BY (x)"
    assert raising("PA106", table, types | {"date", "string", "int", "boolean"}) == types
    names = {"id", "uuid", "guid", "email", "order_id", "user_email", "row_uuid", "object_guid", "my_state_id"}
    few = {
        "tenant_id", "region_id", "country_id", "state_id", "status_id", "type_id", "category_id", "site_id", "source_id",
    }  # fmt: skip
    named = "CREATE TABLE lake.a.t ({0} string) USING iceberg PARTITIONED BY ({0})"
    found = {name for name in names | few | {"country", "ids", "idea"} if "PA106" in codes(named.format(name))}
    assert found == names


def test_the_number_of_buckets_is_a_finding_at_1_and_beyond_1024() -> None:
    """One bucket divides nothing; more than 1024 help no query."""
    table = "CREATE TABLE lake.a.t (id BIGINT) USING iceberg PARTITIONED BY (bucket({}, id))"
    assert raising("PA108", table, ("1", "2", "1023", "1024", "1025", "123456789012")) == {"1", "1025", "123456789012"}


def test_more_than_three_partition_fields_or_64_buckets_an_hour_are_a_finding() -> None:
    """A field that is replaced does not count, and neither do the buckets of a table that is not divided by hours."""
    table = (
        "CREATE TABLE lake.a.t (a STRING, b STRING, c STRING, d STRING, at TIMESTAMP) USING iceberg PARTITIONED BY ({})"
    )
    assert raising("PA108", table, {"a, b, c", "a, b, c, d"}) == {"a, b, c, d"}
    hours = {f"{hour}(at), bucket({most}, a)" for hour in ("hour", "hours", "date_hour", "days") for most in (64, 65)}
    assert raising("PA108", table, hours) == {f"{hour}(at), bucket(65, a)" for hour in ("hour", "hours", "date_hour")}
    three = table.replace("{}", "a, b, c")
    clauses = {
        "ADD PARTITION FIELD d",
        "REPLACE PARTITION FIELD a WITH d",
        "REPLACE PARTITION FIELD a WITH bucket(1025, d)",
    }
    assert raising("PA108", "ALTER TABLE lake.a.t {}", clauses, three) == {
        "ADD PARTITION FIELD d",
        "REPLACE PARTITION FIELD a WITH bucket(1025, d)",
    }


@pytest.mark.parametrize("fields", ["hour(at), bucket(4, a)", "day(at), bucket(65, a)"])
def test_the_buckets_and_hours_of_a_replaced_field_do_not_count(fields: str) -> None:
    """After the statement, the table is not divided by both hours and many buckets."""
    table = f"CREATE TABLE lake.a.t (a STRING, b STRING, at TIMESTAMP) USING iceberg PARTITIONED BY ({fields})"
    clauses = {
        "REPLACE PARTITION FIELD hour(at) WITH bucket(65, b)",
        "REPLACE PARTITION FIELD bucket(65, a) WITH hour(at)",
        "ADD PARTITION FIELD bucket(65, b)",
    }
    found = raising("PA108", "ALTER TABLE lake.a.t {}", clauses, table)
    assert found == ({"ADD PARTITION FIELD bucket(65, b)"} if "hour" in fields else set())


def test_a_partition_field_is_dropped_by_the_name_that_it_was_given() -> None:
    """The default name of the field is not its name, and the transform of another one not its transform."""
    table = "CREATE TABLE lake.a.t (id BIGINT) USING iceberg;\nALTER TABLE lake.a.t ADD PARTITION FIELD bucket(4, id) AS shard"
    fields = {"shard", "bucket(4, id)", "id_bucket_4", "bucket(8, id)"}
    assert raising("PA109", "ALTER TABLE lake.a.t DROP PARTITION FIELD {}", fields, table) == {
        "id_bucket_4",
        "bucket(8, id)",
    }


def test_a_table_is_created_once() -> None:
    """With its columns, or by a query; CREATE OR REPLACE and IF NOT EXISTS accept a table that exists."""
    again = {"CREATE TABLE lake.a.t (x INT) USING iceberg", "CREATE TABLE lake.a.t USING iceberg AS SELECT 1 AS x"}
    others = {
        "CREATE TABLE IF NOT EXISTS lake.a.t (x INT) USING iceberg",
        "CREATE OR REPLACE TABLE lake.a.t (x INT) USING iceberg",
    }
    assert raising("TY116", "{}", again | others, CREATE.replace("{}", "INT")) == again


def test_delta_renames_columns_and_widens_types_where_a_property_enables_it() -> None:
    """A table without the property, and one that switches it off, refuse the change."""
    table, alter = "CREATE TABLE a.t (x INT) USING delta TBLPROPERTIES ('{}')", "ALTER TABLE a.t {}"
    modes = {f"delta.columnMapping.mode'='{mode}" for mode in ("none", "name", "id")}
    for clause in ("DROP COLUMN x", "RENAME COLUMN x TO y"):
        refused = {mode for mode in modes if "DL101" in codes(table.format(mode), alter.format(clause), facts=DELTA)}
        assert refused == {"delta.columnMapping.mode'='none"}
    widening = {f"delta.enableTypeWidening'='{value}" for value in ("true", "false")}
    retype = alter.format("ALTER COLUMN x TYPE BIGINT")
    refused = {value for value in widening if "DL104" in codes(table.format(value), retype, facts=DELTA)}
    assert refused == {"delta.enableTypeWidening'='false"}


def test_delta_widens_numbers_and_dates_only_where_it_is_enabled() -> None:
    """A longer string needs nothing. https://docs.delta.io/delta-type-widening/"""
    types = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "date"}
    found = {
        type_
        for type_ in types | {"string", "varchar(5)", "boolean", "binary", "timestamp"}
        if "DL104"
        in codes(
            f"CREATE TABLE a.t (x {type_}) USING delta",
            "ALTER TABLE a.t ALTER COLUMN x TYPE decimal(38,9)",
            facts=DELTA,
        )
    }
    assert found == types


def test_columns_and_partition_fields_have_one_name_space() -> None:
    """A removed partition field keeps its name while its column exists; a field that follows its renamed column gives it up."""
    table = (
        "CREATE TABLE lake.a.t (ts TIMESTAMP, x INT, y INT) USING iceberg PARTITIONED BY (days(ts), x);\n"
        "ALTER TABLE lake.a.t DROP PARTITION FIELD days(ts)"
    )
    clauses = {
        "ADD COLUMN ts_day DATE", "RENAME COLUMN y TO ts_day", "ADD COLUMN ts_hour DATE", "RENAME COLUMN x TO z",
    }  # fmt: skip
    taken = {"ADD COLUMN ts_day DATE", "RENAME COLUMN y TO ts_day"}
    assert raising("TY115", "ALTER TABLE lake.a.t {}", clauses, table) == taken
    fields = {"hours(ts) AS y", "hours(ts) AS z", "bucket(4, y) AS ts_hour"}
    assert raising("PA109", "ALTER TABLE lake.a.t ADD PARTITION FIELD {}", fields, table) == {"hours(ts) AS y"}
    renamed = f"{table};\nALTER TABLE lake.a.t RENAME COLUMN x TO z"
    assert raising("TY115", "ALTER TABLE lake.a.t {}", {"ADD COLUMN x INT", "ADD COLUMN w INT"}, renamed) == {
        "ADD COLUMN x INT"
    }
