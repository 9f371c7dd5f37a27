"""Rules on table properties: each value on its side, and each limit from both sides.

What is expected is written out here, from the pages that the tests name: a table of the code would agree with itself.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.capabilities.review.table_properties import expected, format_of_key, nearest, unit
from tests.support.rules import FACTS, codes, findings, raising

DELTA = replace(FACTS, formats={"spark_catalog": "delta"}, given_parts=1)
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"}, given_parts=1)
SET = "ALTER TABLE lake.a.t SET TBLPROPERTIES ({})"
BOOLEAN = "true false"
PARQUET = "zstd gzip snappy lz4 lz4_raw brotli uncompressed"
AVRO = "gzip zstd snappy uncompressed"
ORC = "zstd zlib snappy lz4 lzo none"


def accepted(key: str, values: str, table_format: str = "iceberg") -> str:
    """Return those of the values that a property of a format accepts."""
    return " ".join(value for value in values.split() if expected(key, value, table_format) is None)


@pytest.mark.parametrize(
    ("keys", "values", "others"),
    [
        ("write.distribution-mode write.delete.distribution-mode write.update.distribution-mode write.merge.distribution-mode",
         "none hash range", "sort"),
        ("write.delete.mode write.update.mode write.merge.mode", "copy-on-write merge-on-read", "none"),
        ("write.delete.isolation-level write.update.isolation-level write.merge.isolation-level", "serializable snapshot", "none"),
        ("write.delete.granularity", "file partition", "none"),
        ("write.format.default write.delete.format.default", "parquet orc avro", "csv"),
        ("write.metadata.metrics.default write.metadata.metrics.column.x", "none counts full truncate(1) truncate(16)",
         "truncate(0) truncate(x) truncate"),
        ("format-version", "1 2 3", "0 4 12"),
        ("write.metadata.compression-codec", "none gzip", "zstd"),
        ("write.manifest.compression-codec", AVRO, "none lz4"),
        ("write.parquet.compression-codec write.delete.parquet.compression-codec", PARQUET, "none lzo"),
        ("write.avro.compression-codec write.delete.avro.compression-codec", AVRO, "none lz4"),
        ("write.orc.compression-codec write.delete.orc.compression-codec", ORC, "gzip"),
        ("write.parquet.compression-level write.delete.parquet.compression-level", "0 9 22 -5", "123 1.5"),
        ("write.avro.compression-level write.delete.avro.compression-level", "0 9 22 -5", "123 1.5"),
        ("write.orc.compression-strategy write.delete.orc.compression-strategy", "speed compression", "none"),
        ("gc.enabled", BOOLEAN, "1"),
        ("commit.retry.num-retries", "0 -1 2147483647 -2147483647", "2147483648 12345678901 1.5"),
        ("write.target-file-size-bytes", "0 -1 2147483648 9223372036854775807", "23456789012345678901 1.5"),
        ("write.orc.bloom.filter.fpp", "0.05 1 -1 1e-3", "1e .5"),
    ],
)  # fmt: skip
def test_a_property_of_iceberg_accepts_these_values_only(keys: str, values: str, others: str) -> None:
    """In any case. https://iceberg.apache.org/docs/latest/configuration/"""
    for key in keys.split():
        assert accepted(key, values) == accepted(key, values.upper()).lower() == values
        assert accepted(key, f"{others} frob yes") == ""


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ("appendOnly autoOptimize.optimizeWrite checkpoint.writeStatsAsJson checkpoint.writeStatsAsStruct enableChangeDataFeed"
         " enableDeletionVectors enableExpiredLogCleanup enableIcebergCompatV2 enableInCommitTimestamps enableRowTracking"
         " enableTypeWidening randomizeFilePrefixes", BOOLEAN),
        ("columnMapping.mode", "none id name"),
        ("isolationLevel", "Serializable WriteSerializable SnapshotIsolation"),
        ("checkpointPolicy", "classic v2"),
        ("checkpointInterval", "1 10 999999999"),
        ("dataSkippingNumIndexedCols", "-1 0 10 999999999"),
    ],
)  # fmt: skip
def test_a_property_of_delta_accepts_these_values_only(keys: str, values: str) -> None:
    """https://docs.delta.io/table-properties/"""
    for key in keys.split():
        assert accepted(f"delta.{key}", f"{values} frob -2 1000000000 yes", "delta") == values
    assert accepted("delta.checkpointInterval", "0", "delta") == ""


def test_a_retention_of_delta_is_an_interval() -> None:
    """The unit is required, in the singular or the plural."""
    units = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
    key = "delta.setTransactionRetentionDuration"
    for text in (*(f"interval 7 {word}" for word in units), *(f"7 {word}s" for word in units), "interval '7' days"):
        assert expected(key, text, "delta") is None
    for text in ("7", "interval 7", "7 fortnights", "week"):
        assert expected(key, text, "delta") == "an interval such as `interval 7 days`"


def test_a_property_of_hudi_accepts_these_values_only() -> None:
    """https://hudi.apache.org/docs/configurations/"""
    for key in ("type", "hoodie.table.type", "hoodie.datasource.write.table.type"):
        assert (
            accepted(key, "cow mor COPY_ON_WRITE merge_on_read copy", "hudi") == "cow mor COPY_ON_WRITE merge_on_read"
        )
    for key in ("hoodie.datasource.write.hive_style_partitioning", "hoodie.metadata.enable"):
        assert accepted(key, "true false yes", "hudi") == BOOLEAN


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("write.parquet.compression-level", "a whole number"),
        ("commit.retry.num-retries", "a whole number"),
        ("write.target-file-size-bytes", "a whole number"),
        ("write.orc.bloom.filter.fpp", "a number"),
        ("gc.enabled", "true or false"),
        ("write.distribution-mode", "none, hash or range"),
        ("write.metadata.metrics.default", "none, counts, full or truncate(LENGTH)"),
    ],
)
def test_the_expected_value_is_named(key: str, words: str) -> None:
    """The fix of PR102 is made of these words."""
    assert expected(key, "frob") == words


def test_a_whole_number_of_delta_is_named() -> None:
    """An interval of checkpoints is at least 1."""
    assert expected("delta.checkpointInterval", "0", "delta") == "a whole number above 0"
    assert expected("delta.dataSkippingNumIndexedCols", "x", "delta") == "a whole number"


MEBIBYTE, QUARTER, HOUR_MS = 1_048_576, 262_144, 3_600_000


@pytest.mark.parametrize(
    ("keys", "least", "words"),
    [
        (
            "write.target-file-size-bytes write.delete.target-file-size-bytes read.split.target-size",
            MEBIBYTE,
            "a size in bytes",
        ),
        ("write.parquet.row-group-size-bytes write.delete.parquet.row-group-size-bytes", QUARTER, "a size in bytes"),
        ("write.orc.stripe-size-bytes write.delete.orc.stripe-size-bytes", QUARTER, "a size in bytes"),
        ("write.spark.advisory-partition-size-bytes commit.manifest.target-size-bytes", QUARTER, "a size in bytes"),
        ("history.expire.max-snapshot-age-ms history.expire.max-ref-age-ms", HOUR_MS, "an age in milliseconds"),
        ("commit.retry.total-timeout-ms commit.status-check.total-timeout-ms", 10_000, "a time in milliseconds"),
        ("commit.retry.max-wait-ms commit.status-check.max-wait-ms", 1_000, "a time in milliseconds"),
    ],
)
def test_a_value_that_is_plausible_in_another_unit_only_is_a_finding(keys: str, least: int, words: str) -> None:
    """A size is between a part of a mebibyte and 16 GiB; an age is at least an hour; a time is at least a second."""
    for key in keys.split():
        assert (unit(key, str(least - 1)), unit(key, str(least))) == (words, None)
        most = 16 * 1024**3
        is_size = words == "a size in bytes"
        assert (unit(key, str(most)), unit(key, str(most + 1))) == (None, words if is_size else None)
        assert (unit(key, "0"), unit(key, "-1"), unit(key, "x")) == (words, None, None)
    assert unit("commit.retry.num-retries", "1") is None


def test_keys_with_a_prefix_of_the_format_are_no_keys_of_the_user() -> None:
    """A similar key is named; any other key with such a prefix is a finding, too."""
    reserved = {
        "iceberg": (
            "commit.frobnicate",
            "write.frobnicate",
            "read.frobnicate",
            "history.expire.frobnicate",
            "gc.frobnicate",
        ),
        "delta": ("delta.frobnicate",),
        "hudi": ("hoodie.frobnicate",),
    }
    for table_format, keys in reserved.items():
        assert [nearest(key, table_format) is not None for key in keys] == [True] * len(keys)
        assert nearest("team.frobnicate", table_format) is None
    assert nearest("format-versions", "iceberg") == "format-version"
    without = {
        "retry.num-retries": "commit.",
        "target-file-size-bytes": "write.",
        "split.target-size": "read.",
        "enabled": "gc.",
    }
    assert {key: nearest(key, "iceberg") for key in without} == {key: prefix + key for key, prefix in without.items()}
    assert nearest("max-ref-age-ms", "iceberg") == "history.expire.max-ref-age-ms"
    assert nearest("write_target.file-SIZE-bytes", "iceberg") == "write.target-file-size-bytes"


def test_a_property_of_another_format_is_named() -> None:
    """A format ignores the properties of the others."""
    assert format_of_key("delta.appendOnly", "iceberg") == "delta"
    assert format_of_key("hoodie.table.type", "iceberg") == "hudi"
    assert format_of_key("write.format.default", "delta") == "iceberg"
    assert format_of_key("write.format.default", "iceberg") is None
    of_files = {"parquet.compression", "orc.compress", "transactional", "external.table.purge", "auto.purge"}
    keys = {f"'{key}'='x'" for key in (*of_files, "team", "parquet")}
    assert raising("PR101", SET, keys) == {f"'{key}'='x'" for key in of_files}


def test_properties_that_are_commands_are_refused_with_what_to_write() -> None:
    """Iceberg's property for the format is `format-version`; these are not stored. https://iceberg.apache.org/docs/latest/configuration/"""
    commands = {
        "current-snapshot-id": "Call rollback_to_snapshot or set_current_snapshot.",
        "cherry-pick-snapshot-id": "Call cherrypick_snapshot.",
        "sort-order": "Write alter table … write ordered by.",
        "identifier-fields": "Write alter table … set identifier fields.",
        "location": "Write location, or alter table … set location.",
        "provider": "Write using.",
        "owner": "Leave it out; the catalog sets it.",
    }
    for key, fix in commands.items():
        found = [finding.fix for finding in findings(SET.format(f"'{key}'='1'")) if finding.code == "PR123"]
        assert (key, found) == (key, [fix])
    assert raising("PR123", SET, {"'comment'='x'", "'gc.enabled'='true'"}) == set()


@pytest.mark.parametrize(
    ("code", "found", "others"),
    [
        ("PR103", ["'write.metadata.metrics.default'='full'"], ["'write.metadata.metrics.default'='counts'"]),
        ("PR108", ["'format-version'='2'", "'format-version'='3'"], ["'format-version'='9'", "'a'='2'"]),
        ("PR111", ["'gc.enabled'='false'", "'gc.enabled'='FALSE'"], ["'gc.enabled'='true'"]),
        ("PR116", ["'commit.retry.num-retries'='0'", "'commit.retry.num-retries'='-1'"], ["'commit.retry.num-retries'='1'"]),
        ("PR117", ["'write.spark.accept-any-schema'='true'"], ["'write.spark.accept-any-schema'='false'"]),
        ("PR119", ["'write.wap.enabled'='true'"], ["'write.wap.enabled'='false'"]),
        (
            "PR118",
            [f"'write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='{n}'" for n in "012"],
            [
                "'write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='3'",
                "'write.metadata.delete-after-commit.enabled'='false', 'write.metadata.previous-versions-max'='0'",
                "'write.metadata.previous-versions-max'='1'",
            ],
        ),
        (
            "PR121",
            ["'history.expire.max-snapshot-age-ms'='86399999'", "'history.expire.max-snapshot-age-ms'='3600000'"],
            ["'history.expire.max-snapshot-age-ms'='86400000'", "'history.expire.max-snapshot-age-ms'='3599999'"],
        ),
        (
            "PR115",
            ["'write.metadata.metrics.default'='none'", "'write.metadata.metrics.column.d'='none'"],
            ["'write.metadata.metrics.column.x'='none'", "'write.metadata.metrics.default'='counts'"],
        ),
        ("PR114", ["'write.distribution-mode'='none'"], ["'write.distribution-mode'='hash'"]),
    ],
)  # fmt: skip
def test_a_value_with_a_consequence_is_a_finding(code: str, found: list[str], others: list[str]) -> None:
    """An earlier file partitions the table by the day."""
    table = "CREATE TABLE lake.a.t (x INT, d DATE) USING iceberg PARTITIONED BY (d)"
    assert raising(code, SET, [*found, *others], table) == set(found)


def test_merge_on_read_needs_format_version_2() -> None:
    """Format version 1 has no delete files. https://iceberg.apache.org/spec/#version-2"""
    modes = {
        f"'write.{kind}.mode'='{mode}'"
        for kind in ("delete", "update", "merge")
        for mode in ("merge-on-read", "copy-on-write")
    }
    for version in "12":
        table = f"CREATE TABLE lake.a.t (x INT) USING iceberg TBLPROPERTIES ('format-version'='{version}')"
        expected_modes = {mode for mode in modes if mode.endswith("read'")} if version == "1" else set()
        assert raising("PR113", SET, modes, table) == expected_modes
    new = "CREATE TABLE lake.a.t (x INT) USING iceberg TBLPROPERTIES ({})"
    dropped = new.format("'format-version'='1'") + ";\nDROP TABLE lake.a.t"
    assert raising("PR113", new, modes, dropped) == set()


def test_iceberg_keeps_metrics_of_the_first_hundred_columns() -> None:
    """Another number is a property, and a default of metrics is for all columns."""

    def columns(count: int, *properties: str) -> list[str]:
        listed = ", ".join(f"c{number} INT" for number in range(count))
        table = f"CREATE TABLE lake.a.t ({listed}) USING iceberg TBLPROPERTIES ({', '.join(('1=1', *properties))})"
        return [code for code in codes(table) if code == "PR104"]

    most = "'write.metadata.metrics.max-inferred-column-defaults'='{}'"
    assert (columns(100), columns(101)) == ([], ["PR104"])
    assert (columns(5, most.format(5)), columns(6, most.format(5))) == ([], ["PR104"])
    assert columns(101, "'write.metadata.metrics.default'='counts'") == []
    assert columns(6, most.format("1234567890")) == []
    assert columns(101, "'write.metadata.metrics.column.c100'='counts'") == []


def test_columns_beyond_those_with_metrics_are_found_where_they_are_added() -> None:
    """A table that is replaced keeps the number, which is a property."""
    limit = "'write.metadata.metrics.max-inferred-column-defaults'='2'"
    table = f"CREATE TABLE lake.a.t (a INT) USING iceberg TBLPROPERTIES ({limit})"
    added = {"ADD COLUMN b INT", "ADD COLUMNS (b INT, c INT, d INT)"}
    assert raising("PR104", "ALTER TABLE lake.a.t {}", added, table) == {"ADD COLUMNS (b INT, c INT, d INT)"}
    replace_table = "CREATE OR REPLACE TABLE lake.a.t ({}) USING iceberg"
    assert raising("PR104", replace_table, {"a INT, b INT", "a INT, b INT, c INT"}, table) == {"a INT, b INT, c INT"}
    [finding] = findings(table, "ALTER TABLE lake.a.t ADD COLUMNS (b INT, c INT, d INT)")
    assert finding.message == "column c and 1 more: beyond the first 2"


def test_another_place_for_files_of_an_existing_table_is_a_finding() -> None:
    """Old files stay where they are. https://iceberg.apache.org/docs/latest/configuration/#write-properties"""
    places = {
        "write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path",
        "write.object-storage.enabled", "write.location-provider.impl",
    }  # fmt: skip
    old = replace(FACTS, versions={"iceberg": "1.8.1"})
    keys = {f"'{key}'='true'" for key in (*places, "write.format.default")}
    assert raising("PR120", SET, keys, facts=old) == {f"'{key}'='true'" for key in places}
    former = {"write.object-storage.path", "write.folder-storage.path"}
    assert raising("PR120", SET, keys) == {f"'{key}'='true'" for key in places - former}
    assert raising("PR120", SET, {"'write.object-storage.enabled'='false'"}) == set()


def test_a_removed_property_that_keeps_more_than_the_default_is_a_finding() -> None:
    """Iceberg keeps snapshots of 5 days, and at least one."""
    guards = {
        "history.expire.max-snapshot-age-ms": {"432000000": False, "432000001": True},
        "history.expire.min-snapshots-to-keep": {"1": False, "2": True},
        "gc.enabled": {"true": False, "false": True},
        "write.format.default": {"orc": False},
    }
    for key, values in guards.items():
        for value, is_found in values.items():
            table = f"CREATE TABLE lake.a.t (x INT) USING iceberg TBLPROPERTIES ('{key}'='{value}')"
            assert ("PR122" in codes(table, f"ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('{key}')")) is is_found, (
                key,
                value,
            )


OF_DELTA = "ALTER TABLE a.t SET TBLPROPERTIES ({})"


def test_properties_that_raise_the_protocol_of_delta_are_findings() -> None:
    """Clients that are older than the protocol fail. https://docs.delta.io/versioning/"""
    keys = {
        "delta.minReaderVersion", "delta.minWriterVersion", "delta.enableDeletionVectors", "delta.enableRowTracking",
        "delta.enableTypeWidening", "delta.enableInCommitTimestamps", "delta.enableVariantShredding", "delta.feature.x",
    }  # fmt: skip
    others = {"delta.appendOnly", "delta.enableChangeDataFeed", "team"}
    given = {f"'{key}'='true'" for key in keys}
    assert raising("DL103", OF_DELTA, given | {f"'{key}'='true'" for key in others}, facts=DELTA) == given
    assert raising("DL103", OF_DELTA, {f"'{key}'='false'" for key in keys}, facts=DELTA) == set()
    modes = {"'delta.columnMapping.mode'='name'", "'delta.columnMapping.mode'='id'"}
    assert raising("DL102", OF_DELTA, modes | {"'delta.columnMapping.mode'='none'"}, facts=DELTA) == modes


def test_a_retention_of_delta_is_at_least_a_week_in_any_unit() -> None:
    """https://docs.delta.io/delta-batch/#data-retention"""
    week = {"week": 1, "day": 7, "hour": 168, "minute": 10_080, "second": 604_800}
    short = {f"interval {amount - 1} {word}s" for word, amount in week.items()}
    small = {
        "interval 999999999 milliseconds",
        "interval 999999999 microseconds",
        "6 days 23 hours 59 minutes 59 seconds",
    }
    long = {f"interval {amount} {word}" for word, amount in week.items()} | {
        "6 days 24 hours",
        "6 days 23 hours 60 minutes",
        "7 days 1 millisecond",
        "7 days 9 microseconds",
    }
    for key in ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration"):
        text = OF_DELTA.replace("{}", f"'{key}'='{{}}'")
        assert raising("DL107", text, short | small | long | {"7", "1 month"}, facts=DELTA) == short | small | {
            "7",
            "1 month",
        }
    assert raising("DL107", OF_DELTA, {"'delta.sampleRetentionDuration'='1 day'"}, facts=DELTA) == set()


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("delta.appendOnly", "true", "DL109"),
        ("delta.appendOnly", "false", "DL109"),
        ("delta.enableChangeDataFeed", "false", "DL118"),
        ("delta.enableChangeDataFeed", "true", None),
    ],
)
def test_a_switch_of_delta_is_a_finding(key: str, value: str, code: str | None) -> None:
    """An earlier file sets the other value."""
    other = "false" if value == "true" else "true"
    table = f"CREATE TABLE a.t (x INT) USING delta TBLPROPERTIES ('{key}'='{other}')"
    assert codes(table, OF_DELTA.format(f"'{key}'='{value}'"), facts=DELTA) == ([code] if code else [])


def test_properties_of_the_key_of_hudi_are_fixed() -> None:
    """https://hudi.apache.org/docs/sql_ddl"""
    fixed = {
        "primaryKey", "preCombineField", "type", "hoodie.table.recordkey.fields", "hoodie.table.precombine.field",
        "hoodie.table.type", "hoodie.table.partition.fields", "hoodie.table.keygenerator.class",
        "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field", "hoodie.index.bucket.engine",
    }  # fmt: skip
    keys = {f"'{key}'='x'" for key in (*fixed, "hoodie.keep.max.commits", "team")}
    assert raising("HU103", OF_DELTA, keys, facts=HUDI) == {f"'{key}'='x'" for key in fixed}


def test_properties_of_key_and_order_of_hudi_name_columns() -> None:
    """A field inside a column has the name of the column before its point."""
    keys = {
        "primaryKey", "hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields", "preCombineField",
        "orderingFields", "hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field",
        "hoodie.table.ordering.fields",
    }  # fmt: skip
    table = "CREATE TABLE a.t (id INT, ts INT) USING hudi TBLPROPERTIES ({})"
    for names, is_found in (("id", False), ("id, ts", False), ("id.x", False), ("nope", True), ("id,nope", True)):
        given = {f"'{key}'='{names}'" for key in keys}
        assert raising("HU104", table, given | {f"'team'='{names}'"}, facts=HUDI) == (given if is_found else set())
    merge = "MERGE INTO a.t AS t USING a.s AS s ON t.ts = s.ts WHEN MATCHED THEN DELETE"
    for key in ("primaryKey", "hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields"):
        assert "HU105" in codes(table.format(f"'{key}'='id'"), merge, facts=HUDI)
