"""The object that CREATE and DROP name, by kind and name."""

from __future__ import annotations

import pytest

from glacierbase.sql.object_names import NamedObject, named_object


@pytest.mark.parametrize(
    ("sql", "kind", "name"),
    [
        ("CREATE OR REPLACE SECURE MATERIALIZED VIEW IF NOT EXISTS db.s.v (a) AS SELECT 1", "VIEW", "db.s.v"),
        ('create view /* why */ "Db".S.V as select 1', "VIEW", "db.s.v"),
        ("CREATE PROCEDURE s.p(a INT) RETURNS INT LANGUAGE SQL AS $$ BEGIN RETURN 1; END $$", "PROCEDURE", "s.p"),
        ("CREATE OR REPLACE ROW ACCESS POLICY s.p AS (a INT) RETURNS BOOLEAN -> TRUE", "POLICY", "s.p"),
        ("CREATE TASK t SCHEDULE = '1 minute' AS SELECT 1", "TASK", "t"),
    ],
)
def test_the_object_that_a_statement_creates(sql: str, kind: str, name: str) -> None:
    """Words before the kind, conditions, quotes and comments do not matter."""
    assert named_object(sql, "CREATE", "snowflake") == NamedObject(kind, tuple(name.split(".")))
    assert named_object(sql, "DROP", "snowflake") is None


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "CREATE", "CREATE VIEW", "DROP", "CREATE USER bob", "GRANT SELECT ON VIEW v TO r", "'"]
)
def test_other_statements_name_none(sql: str) -> None:
    """No text raises."""
    assert named_object(sql, "CREATE", "snowflake") is None


def test_a_name_without_its_first_parts_may_be_the_same() -> None:
    """The kind must be the same."""
    view = NamedObject("VIEW", ("lake", "a", "v"))
    assert view.may_be(NamedObject("VIEW", ("a", "v")))
    assert NamedObject("VIEW", ("v",)).may_be(view)
    assert not view.may_be(NamedObject("VIEW", ("b", "v")))
    assert not view.may_be(NamedObject("TABLE", ("lake", "a", "v")))
