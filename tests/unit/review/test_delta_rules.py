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
