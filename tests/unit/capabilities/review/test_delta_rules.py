"""Files on Delta and Hudi beyond the examples of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rules import FACTS, codes, findings

DELTA = replace(FACTS, formats={"spark_catalog": "delta"})
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"})
T = "spark_catalog.a.t"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("interval 1 hour", "VACUUM deletes files that readers may need"),
        ("6 days 23 hours", "VACUUM deletes files that readers may need"),
        ("INTERVAL 0 seconds", "VACUUM deletes files that readers may need"),
        ("168", "it is no interval"),
        ("interval 1 month", "it is no interval"),
        ("1 week", ""),
        ("interval 6 days 24 hours", ""),
    ],
)
def test_a_retention_shorter_than_a_week_or_without_a_unit_is_a_finding(value: str, message: str) -> None:
    """Delta adds the units of an interval."""
    sql = f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration'='{value}')"
    messages = [finding.message for finding in findings(sql, facts=DELTA)]
    assert len(messages) == bool(message)
    assert all(message in text for text in messages)


def test_a_property_that_is_set_to_its_declared_value_is_no_finding() -> None:
    """Setting it again changes nothing."""
    create = f"CREATE TABLE {T} (id INT) USING delta TBLPROPERTIES ('delta.appendOnly'='true')"
    alter = f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.appendOnly'='{{}}')"
    assert codes(create, alter.format("true"), facts=DELTA) == []
    assert codes(create, alter.format("false"), facts=DELTA) == ["DL109"]


def test_clustering_of_a_partitioned_table_is_one_finding() -> None:
    """An earlier file partitions the table; CREATE may do both, too."""
    create = f"CREATE TABLE {T} (id INT, day DATE) USING delta PARTITIONED BY (day)"
    assert codes(create, f"ALTER TABLE {T} CLUSTER BY (id)", facts=DELTA) == ["DL110"]
    assert codes(create.replace("PARTITIONED BY (day)", "PARTITIONED BY (day) CLUSTER BY (id)"), facts=DELTA) == [
        "DL110"
    ]
    assert codes(f"CREATE TABLE {T} (id INT) USING delta", f"ALTER TABLE {T} CLUSTER BY NONE", facts=DELTA) == ["DL111"]


def test_reorg_of_a_whole_table_is_named() -> None:
    """The message begins with the statement's first word."""
    (finding,) = findings(f"REORG TABLE {T} APPLY (PURGE)", facts=DELTA)
    assert (finding.code, finding.message) == ("DL115", "REORG of the whole table")


def test_a_conversion_to_delta_in_a_catalog_of_iceberg_is_a_finding() -> None:
    """The statement makes a table of Delta, whatever the tables of its catalog are."""
    assert codes("CONVERT TO DELTA lake.a.t") == ["DL116"]
    assert codes(f"CONVERT TO DELTA {T}", facts=DELTA) == ["DL116"]


def test_a_deep_clone_is_independent_of_its_source() -> None:
    """Only a shallow clone reads the files of its source."""
    assert codes(f"CREATE TABLE {T}2 DEEP CLONE {T}", facts=DELTA) == []
    assert codes(f"CREATE TABLE {T}2 SHALLOW CLONE {T} VERSION AS OF 3", facts=DELTA) == ["DL117"]


def test_a_key_that_stays_the_same_is_no_finding() -> None:
    """Hudi's key is known from an earlier file."""
    create = f"CREATE TABLE {T} (id INT) USING hudi TBLPROPERTIES ('primaryKey'='id')"
    alter = f"ALTER TABLE {T} SET TBLPROPERTIES ('primaryKey'='{{}}')"
    assert codes(create, alter.format("id"), facts=HUDI) == []
    assert codes(create, alter.format("other"), facts=HUDI) == ["HU103"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE {} SET who = 'a' WHERE id = 1", ["DL108"]),
        ("DELETE FROM {} WHERE id = 1", ["DL108"]),
        ("MERGE INTO {} AS t USING a.s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *", ["DL108"]),
        ("MERGE INTO {} AS t USING a.s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *", []),
        ("INSERT INTO {} VALUES (1, 'a')", []),
    ],
)
def test_existing_rows_of_an_append_only_table_are_not_changed(sql: str, expected: list[str]) -> None:
    """An earlier file declares the property; without it, the statements are everyday."""
    create = f"CREATE TABLE {T} (id INT, who STRING) USING delta"
    facts = replace(DELTA, given_parts=1)
    assert codes(f"{create} TBLPROPERTIES ('delta.appendOnly'='true')", sql.format(T), facts=facts) == expected
    assert codes(create, sql.format(T), facts=facts) == []


def test_a_property_that_is_unset_is_switched_off() -> None:
    """Only where an earlier statement switched it on."""
    create = f"CREATE TABLE {T} (id INT) USING delta TBLPROPERTIES ('{{}}'='true')"
    unset = f"ALTER TABLE {T} UNSET TBLPROPERTIES ('{{}}')"
    for key, code in (("delta.enableChangeDataFeed", "DL118"), ("delta.appendOnly", "DL109")):
        assert codes(create.format(key), unset.format(key), facts=DELTA) == [code]
        assert codes(f"CREATE TABLE {T} (id INT) USING delta", unset.format(key), facts=DELTA) == []


def test_vacuum_of_the_source_of_a_shallow_clone_breaks_the_clone() -> None:
    """A dry run deletes nothing; a clone that was dropped has no files."""
    clone = f"-- GLACIERBASE_ALLOW: DL117 for a week\nCREATE TABLE {T}2 SHALLOW CLONE {T}"
    assert codes(clone, f"VACUUM {T}", facts=DELTA) == ["DL120"]
    assert codes(clone, f"VACUUM {T} RETAIN 720 HOURS DRY RUN", facts=DELTA) == []
    assert codes(clone, f"VACUUM {T}2", facts=DELTA) == []
    assert codes(clone, f"DROP TABLE {T}2", f"VACUUM {T}", facts=DELTA) == ["DS101"]


def test_a_column_that_delta_refuses_to_drop_is_one_finding() -> None:
    """Without column mapping nothing is lost, because nothing happens."""
    assert codes(f"CREATE TABLE {T} (id INT, b INT) USING delta", f"ALTER TABLE {T} DROP COLUMN b", facts=DELTA) == [
        "DL101"
    ]


_KEY = "primaryKey = 'id,name', preCombineField = 'ts'"
KEYED = f"CREATE TABLE {T} (id INT, name STRING, ts BIGINT) USING hudi TBLPROPERTIES ({_KEY})"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"ALTER TABLE {T} SET TBLPROPERTIES ('hoodie.bucket.index.num.buckets'='128')", "HU103"),
        (f"MERGE INTO {T} AS t USING spark_catalog.a.s AS s ON t.id = s.id WHEN MATCHED THEN DELETE", "HU105"),
        (f"UPDATE {T} SET name = 'b' WHERE id = 1", "HU107"),
        ("CALL delete_savepoint(table => 'a.t', instant_time => '1')", "HU108"),
        (f"ALTER TABLE {T} WRITE ORDERED BY id", "TY119"),
        (f"SET hoodie.sql.bulk.insert.enable=true;\nINSERT INTO {T} VALUES (1, 'a', 2)", "HU106"),
    ],
)
def test_a_change_that_ignores_the_record_key_of_hudi_is_found(sql: str, code: str) -> None:
    """An earlier file declares the key."""
    assert codes(KEYED, sql, facts=HUDI) == [code]


def test_a_merge_on_the_record_key_and_an_insert_without_settings_are_no_findings() -> None:
    """ON compares each field of the key; INSERT updates by it."""
    on = "t.id = s.id AND t.name = s.name"
    merge = f"MERGE INTO {T} AS t USING spark_catalog.a.s AS s ON {on} WHEN MATCHED THEN DELETE"
    assert codes(KEYED, merge, f"INSERT INTO {T} VALUES (1, 'a', 2)", facts=HUDI) == []


@pytest.mark.parametrize("key", ["appendOnly", "autoOptimize.optimizeWrite", "columnMapping.mode"])
def test_a_property_of_delta_without_its_prefix_is_a_finding(key: str) -> None:
    """The hint has the prefix."""
    value = "name" if "mode" in key else "true"
    [finding] = findings(f"ALTER TABLE {T} SET TBLPROPERTIES ('{key}'='{value}')", facts=DELTA)
    assert (finding.code, finding.fix) == ("PR101", f"did you mean delta.{key}?")
