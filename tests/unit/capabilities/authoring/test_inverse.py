"""`new --reverting VERSION`: what can be undone is a statement, what cannot is a comment that says why."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.authoring.inverse import inverse
from tests.support.project_folder import ProjectFolder
from tests.unit.cli.test_bad_input import UNREACHABLE


def undone(sql: str, earlier: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of the inverse."""
    return [line for line in inverse(sql, "spark", earlier)[0].splitlines() if line]


@pytest.mark.parametrize(
    ("statement", "undo"),
    [
        ("RENAME COLUMN a TO b", "RENAME COLUMN `b` TO `a`"),
        ("rename  column\n point.x to `y z`", "RENAME COLUMN `point`.`y z` TO `x`"),
        ("RENAME COLUMN a /* why */ TO b", "RENAME COLUMN `b` TO `a`"),
        ("ADD COLUMN a int", "DROP COLUMN `a`"),
        ("ADD COLUMN {{ variables.name }}_id int", "DROP COLUMN `{{ variables.name }}_id`"),
        ("ADD COLUMN {{ variables.name }} int", "DROP COLUMN {{ variables.name }}"),
        ("ADD COLUMN `{{ variables.name }}` decimal({{ variables.n }}, 2)", "DROP COLUMN `{{ variables.name }}`"),
        ("ADD PARTITION FIELD days(ts) AS `per day`", "DROP PARTITION FIELD days(`ts`)"),
        (
            "ADD COLUMNS (a decimal(10, 2) COMMENT 'a, (b', p.x struct<a: int, b: string> AFTER c)",
            "DROP COLUMN `p`.`x`; DROP COLUMN `a`",
        ),
        ("ADD COLUMNS a {{ variables.type }}, b int", "DROP COLUMN `b`; DROP COLUMN `a`"),
        ("ADD PARTITION FIELD bucket({{ variables.n }}, id)", "DROP PARTITION FIELD bucket({{ variables.n }}, `id`)"),
        ("ADD PARTITION FIELD bucket(4, id) AS shard", "DROP PARTITION FIELD bucket(4, `id`)"),
        ("ADD PARTITION FIELD kind", "DROP PARTITION FIELD `kind`"),
        ("DROP PARTITION FIELD days({{ variables.ts }})", "ADD PARTITION FIELD days({{ variables.ts }})"),
    ],
)
def test_a_statement_that_can_be_undone_is_inverted(statement: str, undo: str) -> None:
    """The table's name stays as it is written, with expressions of the template in it."""
    for table in ("t", "lake.a.t", "lake.{{ variables.schema }}.`a b`"):
        assert undone(f"ALTER TABLE {table} {statement};") == [
            f"ALTER TABLE {table} {part};" for part in undo.split("; ")
        ]


@pytest.mark.parametrize(
    ("statement", "undo"),
    [
        ("RENAME COLUMN a TO b", 'RENAME COLUMN "B" TO "A"'),
        ('RENAME COLUMN a TO "a"', 'RENAME COLUMN "a" TO "A"'),
        ('ADD COLUMN "a b" INT', 'DROP COLUMN "a b"'),
        ("ADD COLUMN {{ variables.name }}_id INT", "DROP COLUMN {{ variables.name }}_ID"),
        ('ADD COLUMN "{{ variables.name }}" INT', 'DROP COLUMN "{{ variables.name }}"'),
        ('ADD COLUMN "{{ variables.name }}_id" INT', 'DROP COLUMN "{{ variables.name }}_id"'),
        ("RENAME TO u", "RENAME TO t"),
        ("RENAME TO s.u", None),
    ],
)
def test_a_name_for_snowflake_is_the_one_that_it_compares(statement: str, undo: str | None) -> None:
    """There, a name in quotes is another one than the same name without."""
    table = "u" if statement.startswith("RENAME TO") else '"My t"'
    [line] = inverse(f"ALTER TABLE {'t' if table == 'u' else table} {statement}", "snowflake", ())[0].splitlines()
    assert line == f"ALTER TABLE {table} {undo};" if undo else line.startswith("-- not inverted: ")


@pytest.mark.parametrize(
    ("old", "new", "undo"),
    [
        ("a", "b", "b RENAME TO a"),
        ("s.a", "s.b", "s.b RENAME TO s.a"),
        ("lake.s.a", "s.b", "lake.s.b RENAME TO s.a"),
    ],
)
def test_a_table_is_renamed_back_with_as_many_parts(old: str, new: str, undo: str) -> None:
    """The new name may lack the catalog."""
    assert undone(f"ALTER TABLE {old} RENAME TO {new}") == [f"ALTER TABLE {undo};"]


def test_statements_are_undone_in_reverse_order_and_the_others_are_comments() -> None:
    """Each statement of the file has its line."""
    sql = "ALTER TABLE t ADD COLUMN a int;\n-- why\nDROP TABLE\n  u;\nALTER TABLE t RENAME COLUMN a TO b;"
    assert undone(sql) == [
        "ALTER TABLE t RENAME COLUMN `b` TO `a`;",
        "-- not inverted: DROP TABLE u (no inverse is known)",
        "ALTER TABLE t DROP COLUMN `a`;",
    ]


def test_a_property_of_a_table_that_no_file_creates_is_unset_only_if_no_file_before_mentions_it() -> None:
    """A former value would be lost otherwise; one that was set outside of the files is not known, which a comment says."""
    sql = "ALTER TABLE t SET TBLPROPERTIES ('a.b'='1, 2', c = 3)"
    assert undone(sql) == [
        "-- no file before sets these keys; a value that was set in another way is not known",
        "ALTER TABLE t UNSET TBLPROPERTIES ('a.b', 'c');",
    ]
    [line] = undone(sql, ("ALTER TABLE t SET TBLPROPERTIES ('a.b'='0')",))
    assert line.endswith("(set 'a.b' to the former value, see the files before)")
    twice = undone(f"{sql}; {sql}")
    assert twice[0].startswith("-- not inverted: ")
    assert twice[-1].startswith("ALTER TABLE t UNSET")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE IF NOT EXISTS t (a int)",
        "CREATE OR REPLACE TABLE t (a int)",
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS a int",
        "ALTER TABLE t ADD COLUMNS (a int, (b int)",
        "ALTER TABLE t ADD COLUMN a",
        "ALTER TABLE IF EXISTS t RENAME COLUMN a TO b",
        "ALTER TABLE t DROP PARTITION FIELD shard",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ALTER COLUMN a TYPE bigint",
        "ALTER TABLE a RENAME TO lake.s.b",
        "ALTER TABLE t SET TBLPROPERTIES (abc)",
        "SELECT 'ALTER TABLE t RENAME COLUMN a TO b'",
        "INSERT INTO t VALUES ('\\\\')",
    ],
)
def test_what_cannot_be_undone_for_certain_is_a_comment(statement: str) -> None:
    """Nothing is guessed."""
    text, has_statement = inverse(statement + ";", "spark", ())
    assert not has_statement
    assert {line.startswith("-- not inverted: ") for line in text.splitlines() if line} == {True}


CREATE = "CREATE TABLE {} (id bigint NOT NULL, ts timestamp COMMENT 'UTC') USING iceberg "
CREATE += "PARTITIONED BY (days(ts)) TBLPROPERTIES (a = '{{{{ variables.a }}}}')"


@pytest.mark.parametrize(
    ("statement", "undo"),
    [
        (
            "SET TBLPROPERTIES (a = 2, b = 3)",
            "SET TBLPROPERTIES ('a' = '{{ variables.a }}')| UNSET TBLPROPERTIES ('b')",
        ),
        ("UNSET TBLPROPERTIES (a)", "SET TBLPROPERTIES ('a' = '{{ variables.a }}')"),
        ("DROP PARTITION FIELD ts_day", "ADD PARTITION FIELD days(`ts`) AS `ts_day`"),
        (
            "REPLACE PARTITION FIELD days(ts) WITH hours(ts)",
            "DROP PARTITION FIELD hours(`ts`)| ADD PARTITION FIELD days(`ts`) AS `ts_day`",
        ),
        ("ALTER COLUMN ts COMMENT 'local'", "ALTER COLUMN `ts` COMMENT 'UTC'"),
        ("ALTER COLUMN ts FIRST", "ALTER COLUMN `ts` AFTER `id`"),
        ("SET IDENTIFIER FIELDS id", "DROP IDENTIFIER FIELDS `id`"),
        ("WRITE LOCALLY ORDERED BY id", "WRITE UNORDERED| UNSET TBLPROPERTIES ('write.distribution-mode')"),
        ("ALTER COLUMN id DROP NOT NULL", None),
        ("ALTER COLUMN id TYPE decimal(20, 0)", None),
        ("DROP COLUMN id", None),
    ],
)
def test_what_the_files_before_declare_comes_back(statement: str, undo: str | None) -> None:
    """The table has one name in all of them. An expression in another name may make it the same one in some environment."""
    for table in ("lake.a.t", "lake.{{ variables.schema }}.t"):
        create, sql = CREATE.format(table), f"ALTER TABLE {table} {statement}"
        lines = undone(sql, (create,))
        wanted = [f"ALTER TABLE {table} {part.strip()};" for part in undo.split("|")] if undo else []
        assert [line for line in lines if not line.startswith("--")] == wanted
        other = "ALTER TABLE lake.{{ variables.other }}.t SET TBLPROPERTIES (a = 5)"
        if statement.startswith(("SET TBLPROPERTIES", "ALTER COLUMN ts")):
            assert {line[:2] for line in undone(sql, (create, other))} == {"--"}
            assert {line[:2] for line in undone(sql, (create, "{% if environment %}" + other + "{% endif %}"))} == {
                "--"
            }
            assert {line[:2] for line in undone(sql, (create, f"{{% if a %}}SELECT 1; {sql}; {{% endif %}}"))} == {"--"}


def test_a_created_table_is_dropped() -> None:
    """The statement would have failed if there had been a table."""
    assert undone(CREATE.format("lake.a.t")) == ["DROP TABLE lake.a.t;"]


def test_a_condition_of_the_template_is_not_undone_without_it() -> None:
    """A statement between `{% if %}` and `{% endif %}` ran in some environments only."""
    sql = "{% if environment == 'prod' %}\nSELECT 1;\nALTER TABLE t RENAME COLUMN a TO b;\n{% endif %}\nSELECT 2"
    assert inverse(sql, "spark", ())[1] is False


def test_text_of_the_file_cannot_leave_the_comment() -> None:
    """Neither line breaks nor template expressions of a statement leave its comment in the new file."""
    statement = "DROP TABLE {{ variables.x }}\r\n-- MIGRATION_AUTHOR: me\n, '{# {{{ \\\\' " + "x" * 300
    text, _ = inverse(statement, "spark", ())
    [line] = [line for line in text.splitlines() if line]
    assert "{{" not in line
    assert "{#" not in line
    assert len(line) < 200


@pytest.mark.parametrize("statement", ["ALTER TABLE " + "a" * 20000, "ALTER TABLE t ADD COLUMN a " + "(" * 20000])
def test_a_hostile_file_does_not_take_long(statement: str) -> None:
    """Time grows with the length of the statement."""
    assert inverse(statement, "spark", ())[1] is False


def test_the_command_writes_a_valid_file(project: ProjectFolder) -> None:
    """The file has the headers, the inverse below them, and the next version."""
    project.catalog(UNREACHABLE)
    project.file(
        "0001_a.sql",
        "DROP TABLE IF EXISTS {{ variables.size }};\n"
        "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket({{ variables.size }}, a);",
    )
    done = project.ask("new", "undo the shards", "--author", "Ana", "--reverting", "1")
    [written] = done.entry()["files"]
    text = (project.root / written).read_text()
    assert text.startswith(
        "-- MIGRATION_DESCRIPTION: undo the shards\n-- MIGRATION_AUTHOR: Ana\n\nALTER TABLE lake.a.t DROP"
    )
    assert project.ask("validate").entry()["files"] == 2
    told = project.ask("new", "x", "--author", "Ana", "--reverting", "7").document["error"]
    assert told["code"] == "UNKNOWN_VERSION"
    assert len(list((project.root / "migrations/shop").iterdir())) == 2


def test_a_file_with_further_headers_is_undone(project: ProjectFolder) -> None:
    """The headers that the catalog file lists are allowed in the file that is undone."""
    project.catalog(UNREACHABLE + "headers: {TICKET: optional}\n")
    path = project.file("1_a.sql", "ALTER TABLE lake.a.t RENAME COLUMN a TO b")
    path.write_text("-- MIGRATION_TICKET: LAKE-1\n" + path.read_text())
    assert project.run("new", "undo", "--author", "Ana", "--reverting", "1").code == 0


def test_a_body_in_a_file_for_snowflake_is_not_taken_for_statements(project: ProjectFolder) -> None:
    """The file is split as the catalog's engine splits it."""
    project.catalog("migrationExecutor: {type: snowflake, conf: {connection: {account: a, database: D}}}\n")
    project.file(
        "1_a.sql", "CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS $$ SELECT 1; ALTER TABLE t RENAME TO u; $$;"
    )
    told = project.ask("new", "x", "--author", "Ana", "--reverting", "1")
    assert (told.code, told.document["error"]["code"]) == (2, "NOT_INVERTIBLE")
