"""What statements of Snowflake name, understood or not."""

from __future__ import annotations

import pytest

from glacierbase.declared.known_tables import KnownTables
from glacierbase.sql import read
from glacierbase.sql.statement import Subject


def subject(sql: str) -> Subject:
    """Return what a statement of Snowflake names."""
    named = read(sql, "snowflake").subject
    assert named
    return named


@pytest.mark.parametrize(
    ("sql", "verb", "kind", "name"),
    [
        ("CREATE OR REPLACE STREAM db.s.st ON TABLE db.s.t", "CREATE", "STREAM", "DB.S.ST"),
        ("drop row access policy if exists p", "DROP", "ROW ACCESS POLICY", "P"),
        ('ALTER DYNAMIC TABLE s."x" SUSPEND', "ALTER", "DYNAMIC TABLE", "S.x"),
        ("CREATE TRANSIENT TABLE IF NOT EXISTS t (a INT)", "CREATE", "TABLE", "T"),
        ("CREATE SECURE MATERIALIZED VIEW v AS SELECT 1", "CREATE", "MATERIALIZED VIEW", "V"),
        ("DROP STORAGE INTEGRATION i", "DROP", "INTEGRATION", "I"),
        ("EXECUTE TASK t", "EXECUTE", "TASK", "T"),
        ("UNDROP SCHEMA s", "UNDROP", "SCHEMA", "S"),
        ("ALTER ACCOUNT SET TIMEZONE = 'UTC'", "ALTER", "ACCOUNT", None),
        ("DROP TABLE IDENTIFIER($t)", "DROP", "TABLE", None),
        ("DELETE FROM t", "DELETE", "", None),
        ("ALTER FLUX CAPACITOR x", "ALTER", "", None),
    ],
)
def test_a_statement_names_an_object(sql: str, verb: str, kind: str, name: str | None) -> None:
    """The kind may have several words, and a computed name is None."""
    named = subject(sql)
    assert (named.verb, named.kind) == (verb, kind)
    assert (".".join(named.name.key) if named.name else None) == name


def test_settings_and_words_are_those_outside_of_parentheses_and_before_the_definition() -> None:
    """Strings keep their quotes as words and lose them as values."""
    stage = subject("CREATE STAGE s URL = 's3://a' FILE_FORMAT = (FORCE = TRUE) COMMENT = 'x'")
    assert (stage.setting("URL"), stage.setting("FORCE"), stage.setting("COMMENT")) == ("S3://A", None, "X")
    task = subject("CREATE OR REPLACE TASK t SCHEDULE = '5 MINUTE' AS ALTER TASK t SUSPEND")
    assert task.replaces
    assert not task.has("SUSPEND")
    assert subject("ALTER TABLE t MODIFY COLUMN c UNSET MASKING POLICY").has("UNSET", "MASKING", "POLICY")


def test_the_statements_of_a_script_name_objects_too() -> None:
    """One that is not understood as well."""
    script = read("BEGIN EXECUTE TASK t; DROP STREAM st; END", "snowflake")
    assert [inner.parsed.subject and inner.parsed.subject.kind for inner in script.inner] == ["TASK", "STREAM"]


def test_spark_has_no_subject() -> None:
    """Only Snowflake has objects beside tables, views and functions."""
    assert read("DROP TABLE a.b", "spark").subject is None


def test_objects_are_followed_until_they_are_dropped() -> None:
    """IF NOT EXISTS keeps the first one; the parts of a name before the last ones may be left out."""
    known = KnownTables()
    for sql in ("CREATE SECURE VIEW db.s.v AS SELECT 1 AS a", "CREATE VIEW IF NOT EXISTS db.s.v AS SELECT 2 AS a"):
        known.follow(read(sql, "snowflake"))
    (made,) = known.objects
    assert made.is_same_object(subject("ALTER VIEW s.v UNSET SECURE"))
    assert "SECURE" in made.modifiers
    known.follow(read("DROP VIEW db.s.v", "snowflake"))
    assert known.objects == ()


def test_a_grant_on_future_objects_is_followed_and_another_grant_is_not() -> None:
    """Of statements without a name, only this one has an effect on later ones."""
    known = KnownTables()
    known.follow(read("GRANT SELECT ON TABLE db.s.t TO ROLE reader", "snowflake"))
    assert known.objects == ()
    known.follow(read("GRANT SELECT ON FUTURE TABLES IN DATABASE db TO ROLE reader", "snowflake"))
    assert [made.verb for made in known.objects] == ["GRANT"]


def test_the_readers_of_a_table_are_known_until_they_are_dropped() -> None:
    """A name of one part is in the namespace of the view; the query of a view has the names of its columns."""
    known = KnownTables()
    (table,) = read("DROP TABLE db.s.t", "snowflake").targets
    for sql in ("CREATE VIEW db.s.v AS SELECT upper(a) AS b FROM t", "CREATE VIEW db.other.v AS SELECT a FROM t"):
        known.follow(read(sql, "snowflake"))
    ((name, view),) = known.readers(table)
    assert name == ("DB", "S", "V")
    assert view.query
    assert "A" in view.query.names
    assert "*" not in view.query.names
    known.follow(read("DROP VIEW db.s.v", "snowflake"))
    assert known.readers(table) == ()


def test_statements_on_other_objects_change_no_table() -> None:
    """A replaced schema does, and so does a statement that is not understood."""
    known = KnownTables()
    create = read("CREATE TRANSIENT TABLE db.s.t (a INT) DATA_RETENTION_TIME_IN_DAYS = 1", "snowflake")
    (name,) = create.targets
    for sql in ("CREATE STREAM st ON TABLE t", "DROP PIPE p", "ALTER TABLE db.s.t ADD ROW ACCESS POLICY p ON (a)"):
        known.follow(create)
        known.follow(read(sql, "snowflake"))
        table = known.before(name)
        assert table
        assert table.subject
        assert (table.properties, "TRANSIENT" in table.subject.modifiers) == (
            {"DATA_RETENTION_TIME_IN_DAYS": "1"},
            True,
        )
    known.follow(read("CREATE OR REPLACE SCHEMA db.s", "snowflake"))
    assert known.before(name) is None
