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
        ("168", "not an interval"),
        ("interval 1 month", "not an interval"),
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
