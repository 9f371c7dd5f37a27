"""What statements change, as `squash` needs to know it."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.authoring.squash.effects import Effect, EffectKind, effect
from glacierbase.sql import read


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("CREATE TABLE lake.a.t (id int)", Effect(EffectKind.TABLE)),
        ("create or replace table lake.a.t AS SELECT 1", Effect(EffectKind.TABLE, has_rows=True)),
        ("ALTER TABLE lake.a.t\nADD COLUMN b int", Effect(EffectKind.TABLE)),
        ("ALTER TABLE lake.a.t RENAME TO a.u", Effect(EffectKind.TABLE, removes=True)),
        ("ALTER TABLE lake.a.t RENAME TO lake.a.u", Effect(EffectKind.TABLE, removes=True)),
        ("ALTER /* why */ TABLE lake.a.t ADD COLUMN a int", Effect(EffectKind.TABLE)),
        ("ALTER TABLE lake.a.t CREATE BRANCH b", Effect(EffectKind.REFERENCE)),
        ("COMMENT ON NAMESPACE lake.a IS 'x'", Effect(EffectKind.NAMESPACE)),
        ("COMMENT ON TABLE lake.a.t IS 'x'", Effect(EffectKind.TABLE)),
        ("DROP TABLE IF EXISTS lake.a.t", Effect(EffectKind.TABLE, removes=True)),
        ("CREATE NAMESPACE IF NOT EXISTS lake.a LOCATION 'x'", Effect(EffectKind.NAMESPACE, namespace="lake.a")),
        ("CREATE /* c */ NAMESPACE lake.a", Effect(EffectKind.NAMESPACE, namespace="lake.a")),
        ("create -- c\nDATABASE if not exists `lake`.`a b`", Effect(EffectKind.NAMESPACE, namespace="lake.`a b`")),
        ("DROP SCHEMA lake.a CASCADE", Effect(EffectKind.NAMESPACE)),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", Effect(EffectKind.VIEW)),
        ("CREATE TEMPORARY FUNCTION f AS 'x'", Effect(EffectKind.FUNCTION)),
        ("GRANT SELECT ON TABLE lake.a.t TO r", Effect(EffectKind.RIGHTS)),
        ("INSERT INTO lake.a.t VALUES (1)", Effect(EffectKind.ROWS)),
        ("WITH x AS (SELECT 1) INSERT INTO lake.a.t SELECT * FROM x", Effect(EffectKind.ROWS)),
        ("CALL lake.system.rewrite_data_files('a.t')", Effect(EffectKind.CALL)),
        ("CALL `lake`.`system`.`expire_snapshots`('a.t')", Effect(EffectKind.CALL)),
        ("USE lake.a", Effect(EffectKind.NOTHING)),
        ("SET x = y", Effect(EffectKind.NOTHING)),
        ("SET spark.sql.defaultCatalog = other", Effect(EffectKind.NOTHING)),
    ],
)
def test_a_statement_that_is_understood(sql: str, found: Effect) -> None:
    """A statement has its kind, and the namespace that it creates."""
    assert effect(read(sql, "spark")) == found


@pytest.mark.parametrize(
    "sql",
    [
        "CALL lake.system.migrate('a.t')",
        "CALL lake.system.snapshot('a.t', 'a.u')",
        "CALL lake.system.register_table('a.t', 'x')",
        "CALL other.proc()",
        "BEGIN ALTER TABLE t ADD COLUMN a int; END",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "ALTER TABLE IDENTIFIER('lake.a.t') ADD COLUMN a int, RENAME TO b",
        "BEGIN INSERT INTO lake.a.t VALUES (1); END",
        "CREATE TABLESPACE x",
        "MAGIC",
        "",
    ],
)
def test_a_statement_that_could_change_any_table_is_not_guessed(sql: str) -> None:
    """The caller refuses it."""
    assert effect(read(sql, "spark")).kind is EffectKind.UNKNOWN
