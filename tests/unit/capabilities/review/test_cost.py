"""The cost of a statement, how it is undone, and whom it breaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from glacierbase.capabilities.review.cost import StatementEffect, combined, effects_of
from tests.support.rules import file_of

FACTS = {
    "formats": {"lake": "iceberg", "delta": "delta", "files": "iceberg"},
    "kinds": {"files": "hadoop"},
    "default_catalog": "lake",
}
SNAPSHOT = "until expire_snapshots removes the snapshot"
DAY = "until DATA_RETENTION_TIME_IN_DAYS passes, by default 1 day"
HOURS = f"{SNAPSHOT}, after 12 hours, as the table declares"
KEEP = "'history.expire.max-snapshot-age-ms'='43200000'"
EVENTS = f"CREATE TABLE lake.a.t (id BIGINT, m STRING) USING iceberg TBLPROPERTIES ('k'='1', {KEEP})"
WEEK = "until VACUUM deletes the files, by default after 7 days"
STATE = "cannot be undone: its"


def effects(dialect: str, *statements: str) -> Iterator[StatementEffect]:
    """Yield the effects of the statements of a file."""
    yield from effects_of(file_of(";\n".join(statements), dialect, FACTS if dialect == "spark" else {})).values()


def last(dialect: str, *statements: str) -> tuple[str, str | None, str]:
    """Return cost, undo and who breaks, of the last statement, as text."""
    *_, effect = effects(dialect, *statements)
    return str(effect.cost), effect.undo.text() if effect.undo else None, " and ".join(effect.breaks)


@pytest.mark.parametrize(
    ("sql", "cost", "undo", "breaks"),
    [
        ("ALTER TABLE lake.a.t ADD COLUMN x INT", "metadata only", "ALTER TABLE lake.a.t DROP COLUMN `x`", "writers"),
        (
            "ALTER TABLE lake.a.t RENAME COLUMN m TO n", "metadata only", "ALTER TABLE lake.a.t RENAME COLUMN `n` TO `m`",
            "readers and writers",
        ),
        (
            "ALTER TABLE lake.a.t RENAME TO a.u", "metadata only", "ALTER TABLE lake.a.u RENAME TO a.t",
            "readers and writers",
        ),
        (
            "ALTER TABLE lake.a.t SET TBLPROPERTIES ('k'='2', 'n'='3')", "metadata only",
            "ALTER TABLE lake.a.t SET TBLPROPERTIES ('k' = '1'); ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('n')", "",
        ),
        (
            "ALTER TABLE lake.a.t SET TBLPROPERTIES ('format-version'='3')", "metadata only",
            "cannot be undone: no format lowers format-version", "",
        ),
        (
            "DELETE FROM lake.a.t WHERE id = 1", "destructive",
            f"CALL lake.system.rollback_to_snapshot('a.t', <snapshot before>), {HOURS}",
            "",
        ),
        (
            "INSERT INTO lake.a.other VALUES (1)", "expensive",
            f"CALL lake.system.rollback_to_snapshot('a.other', <snapshot before>), {SNAPSHOT}, by default after 5 days", "",
        ),
        (
            "ALTER TABLE lake.a.t DROP COLUMN m", "destructive",
            f"SELECT * FROM lake.a.t VERSION AS OF <snapshot before>, {HOURS}; it reads the "
            "values: ADD COLUMN adds an empty column",
            "readers and writers",
        ),
        ("DROP TABLE lake.a.t PURGE", "destructive", "cannot be undone: PURGE deletes the files", "readers and writers"),
        (
            "DROP TABLE files.a.t", "destructive", "cannot be undone: the Hadoop catalog deletes the files",
            "readers and writers",
        ),
        (
            "DROP TABLE lake.a.t", "destructive",
            "CALL lake.system.register_table('a.t', '<last metadata file>'), while the files exist: note the metadata file first; "
            "some REST catalogs delete them",
            "readers and writers",
        ),
        ("CALL lake.system.expire_snapshots('a.t')", "destructive", "cannot be undone: the files are deleted", ""),
        (
            "CALL lake.system.rewrite_data_files('a.t')", "expensive",
            f"CALL lake.system.set_current_snapshot('a.t', <snapshot before>), {SNAPSHOT}, by default after 5 days", "",
        ),
        (
            "DELETE FROM delta.a.t", "destructive",
            f"RESTORE TABLE delta.a.t TO VERSION AS OF <version before>, {WEEK}", "",
        ),
        ("VACUUM delta.a.t", "destructive", "cannot be undone: the files are deleted", ""),
        ("ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(4, id)", "metadata only",
         "ALTER TABLE lake.a.t DROP PARTITION FIELD bucket(4, `id`)", "writers"),
        ("ALTER TABLE lake.a.t DROP TAG x", "destructive",
         f"ALTER TABLE lake.a.t CREATE TAG `x` AS OF VERSION <its snapshot>, {HOURS}; note "
         "its snapshot first", ""),
        ("ALTER TABLE lake.a.t CREATE TAG x", "metadata only", "ALTER TABLE lake.a.t DROP TAG `x`", ""),
        ("CREATE TABLE lake.a.u (id INT)", "metadata only", "DROP TABLE lake.a.u", ""),
        ("CREATE TABLE IF NOT EXISTS lake.a.u (id INT)", "metadata only", None, ""),
        ("DROP VIEW lake.a.v", "metadata only", "CREATE OR REPLACE VIEW lake.a.v AS <its former query>", "readers"),
        ("ALTER TABLE lake.a.t ALTER COLUMN id DROP NOT NULL", "metadata only",
         "cannot be undone: Iceberg refuses SET NOT NULL on an existing column", ""),
        ("GRANT SELECT ON TABLE lake.a.t TO b", "metadata only", None, ""),
        ("BEGIN DROP TABLE lake.a.t PURGE; END", "destructive", "cannot be undone: PURGE deletes the files", "readers and writers"),
    ],
)  # fmt: skip
def test_a_statement_of_spark_has_a_cost_and_an_undo(sql: str, cost: str, undo: str | None, breaks: str) -> None:
    """Values and retention are those that an earlier statement declares; without one the default of the format."""
    assert last("spark", EVENTS, sql) == (cost, undo, breaks)


@pytest.mark.parametrize(
    ("sql", "cost", "undo", "breaks"),
    [
        ("DROP STREAM s", "destroys state",
         f"{STATE} offset is lost, and with it the changes that no consumer has read; there is no UNDROP", ""),
        (
            "CREATE OR REPLACE PIPE p AS COPY INTO t FROM @s", "destroys state",
            f"{STATE} load history of 14 days is lost, so that a new pipe may load files twice; there is no UNDROP", "",
        ),
        ("BEGIN DROP TASK x; END", "destroys state",
         f"{STATE} schedule, state and place in a task graph are lost; there is no UNDROP", ""),
        ("CREATE STREAM s ON TABLE t", "metadata only", None, ""),
        ("DROP TABLE t", "destructive", f"UNDROP TABLE t, {DAY}", "readers and writers"),
        ("DROP SCHEMA a.b", "destructive", f"UNDROP SCHEMA a.b, {DAY}", "readers and writers"),
        (
            "UPDATE t SET a = 1", "expensive",
            f"INSERT OVERWRITE INTO t SELECT * FROM t BEFORE (STATEMENT => '<query id>'), {DAY}", "",
        ),
        (
            "CREATE OR REPLACE TABLE t (x INT)", "destructive", f"ALTER TABLE t RENAME TO <new name>; UNDROP TABLE t, {DAY}",
            "readers and writers",
        ),
        ("ALTER TABLE t CLUSTER BY (a)", "expensive", None, ""),
        ("ALTER TABLE t SWAP WITH u", "metadata only", "ALTER TABLE t SWAP WITH u", "readers and writers"),
        ("ALTER TABLE t SET CHANGE_TRACKING = TRUE", "metadata only",
         "ALTER TABLE t UNSET CHANGE_TRACKING, no file before declares the former value", ""),
    ],
)  # fmt: skip
def test_a_statement_of_snowflake_has_a_cost_and_an_undo(sql: str, cost: str, undo: str | None, breaks: str) -> None:
    """Objects whose state is in no table are a class of their own."""
    assert last("snowflake", sql) == (cost, undo, breaks)


def test_time_travel_is_as_long_as_the_table_declares() -> None:
    """With a retention of 0, nothing brings rows back."""
    declared = [
        "CREATE TABLE a.b.t (x INT)", "ALTER TABLE a.b.t SET DATA_RETENTION_TIME_IN_DAYS = {}", "DROP TABLE a.b.t"
    ]  # fmt: skip
    assert (
        last("snowflake", *(sql.format(30) for sql in declared))[1]
        == "UNDROP TABLE a.b.t, for 30 days, as the table declares"
    )
    assert last("snowflake", *(sql.format(0) for sql in declared))[1] == (
        "cannot be undone: DATA_RETENTION_TIME_IN_DAYS is 0, so that Time Travel keeps nothing"
    )


@pytest.mark.parametrize("script", ["BEGIN {}; END", "BEGIN IF x = 1 THEN {}; END IF; END"])
def test_what_a_script_sets_for_certain_is_known_after_it(script: str) -> None:
    """What it sets under a condition is not."""
    inner = script.format("ALTER TABLE a.b.t SET DATA_RETENTION_TIME_IN_DAYS = 30")
    undo = last("snowflake", "CREATE TABLE a.b.t (x INT)", inner, "DROP TABLE a.b.t")[1]
    assert undo == f"UNDROP TABLE a.b.t, {DAY if 'IF' in script else 'for 30 days, as the table declares'}"


def test_a_call_names_the_table_as_the_statement_does() -> None:
    """With its quotes and its case: procedures parse the name."""
    assert last("spark", "DROP TABLE lake.a.`My.Events`")[1] == (
        "CALL lake.system.register_table('a.`My.Events`', '<last metadata file>'), while the files exist: note the metadata file "
        "first; some REST catalogs delete them"
    )


def test_the_effect_of_several_statements_is_that_of_the_worst() -> None:
    """The undo is that of the last statement, which is undone first."""
    whole = combined(effects("spark", "DELETE FROM lake.a.t", "ALTER TABLE lake.a.t ADD COLUMN x INT"))
    assert (str(whole.cost), list(map(str, whole.breaks))) == ("destructive", ["writers"])
    assert whole.undo is not None
    assert whole.undo.sql == "ALTER TABLE lake.a.t DROP COLUMN `x`"
    assert combined([]) == StatementEffect()
