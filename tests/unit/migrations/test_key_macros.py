"""The key macros in templates: what they render, who may replace them, and how a wrong call is refused."""

from __future__ import annotations

import pytest

from glacierbase.migrations.statements import split_statements
from glacierbase.sql import read
from tests.unit.migrations.rendering import VARIABLES, errors, missing, rendered, sql

ID = "reverse(CAST(id AS STRING))"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ reversed_id('id') }}", ID),
        ("{{ .reversed_id('id') }}", ID),
        ("{{ reversed_id(col='id') }}", ID),
        ("{% set key = reversed_id('id') %}{{ key }}, {{ key }}", f"{ID}, {ID}"),
        ("{% for name in ['id'] %}{{ reversed_id(name) }}{% endfor %}", ID),
        ("{% macro key(name) %}k={{ reversed_id(name) }}{% endmacro %}{{ key('id') }}", f"k={ID}"),
        ("{{ hash_prefix('id', n=variables.levels) }}", "substr(md5(CAST(id AS STRING)), 1, 2)"),
        ("{{ hash_prefix(reversed_id('id'), 1) }}", f"substr(md5(CAST({ID} AS STRING)), 1, 1)"),
        (
            "{{ hash_path(variables.column, 1) }}",
            "concat(substr(md5(CAST(c AS STRING)), 1, 1), '/', CAST(c AS STRING))",
        ),
    ],
)
def test_a_macro_renders_an_expression(template: str, expected: str) -> None:
    """A call is allowed wherever a template has an expression; variables are allowed as arguments."""
    assert sql(template, {"levels": 2, "column": "c"}) == expected


def test_the_dialect_of_the_catalog_decides_the_sql() -> None:
    """The same file renders for Spark and for Snowflake."""
    assert sql("{{ reversed_id('id') }}", dialect="snowflake") == "reverse(TO_VARCHAR(id))"


def test_a_rendered_expression_comes_from_the_line_of_its_call() -> None:
    """An error of the engine is shown at the line of the file."""
    found = rendered("SELECT\n  {{ hash_path('id', 2) }},\n  x")
    assert [found.file_line(found.text.index(word)) for word in ("SELECT", "concat", "x")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% macro reversed_id(col) %}mine({{ col }}){% endmacro %}{{ reversed_id('id') }}", "mine(id)"),
        ("{% set hash_prefix = 'a' %}{{ hash_prefix }}", "a"),
        ("{% for hash_path in ['b'] %}{{ hash_path }}{% endfor %}", "b"),
        ("{% macro m(bucket_prefix) %}{{ bucket_prefix }}{% endmacro %}{{ m(3) }}", "3"),
        ("{{ variables.reversed_id }}", "mine"),
        ("{{ reversed_id is defined }}{{ reversed_id | default('d') }}", "falsed"),
        ("{% if reversed_id is undefined %}{% set reversed_id = 'e' %}{{ reversed_id }}{% endif %}", "e"),
    ],
)
def test_a_file_that_rendered_without_the_macros_renders_to_the_same_text(template: str, expected: str) -> None:
    """A file's own macro, variable or loop has precedence; a macro that is not called is undefined, as it was before."""
    assert sql(template, {"reversed_id": "mine"}) == expected


@pytest.mark.parametrize(
    "use", ["{{ X }}", "{{ X ~ 'a' }}", "{% if X %}{% endif %}", "{{ X | upper }}", "{{ [X] | join }}"]
)
def test_a_macro_that_is_not_called_is_a_missing_name(use: str) -> None:
    """The hint is the call."""
    assert missing(use.replace("X", "hash_prefix")) == ["hash_prefix"]
    assert errors(use.replace("X", "hash_prefix"))[0].hint == "write hash_prefix('id', 2), with the column in quotes"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("reversed_id()", "reversed_id: missing a required argument: 'col'"),
        ("reversed_id('a', 2)", "reversed_id: too many positional arguments"),
        ("hash_prefix('a')", "hash_prefix: missing a required argument: 'n'"),
        ("hash_prefix('a', m=2)", "hash_prefix: missing a required argument: 'n'"),
        ("hash_prefix('a', 0)", "hash_prefix: n is 0; allowed: 1 to 32"),
        ("hash_path('a', 33)", "hash_path: n is 33; allowed: 1 to 32"),
        ("bucket_prefix('a', 1)", "bucket_prefix: n is 1; allowed: 2 to 10000"),
        ("bucket_prefix('a', 10 ** 9)", "bucket_prefix: n is 1000000000; allowed: 2 to 10000"),
        ("hash_prefix('a', '2')", "hash_prefix: n is a whole number, not str"),
        ("hash_prefix('a', true)", "hash_prefix: n is a whole number, not bool"),
        ("hash_prefix('a', 1.5)", "hash_prefix: n is a whole number, not float"),
        ("reversed_id(5)", "reversed_id: col is the text of a column or an expression, not int"),
        ("reversed_id(['a'])", "reversed_id: col is the text of a column or an expression, not list"),
        ("reversed_id(' ')", "reversed_id: col is empty"),
        ("hash_prefix(reversed_id(''), 2)", "reversed_id: col is empty"),
        ("reversed_id('a' * 10001)", "reversed_id: col has 10001 characters; allowed: 10000"),
        ("hash_path(hash_path(hash_path('a', 32), 32), 32)", "hash_path: col has 48383 characters; allowed: 10000"),
    ],
)
def test_a_wrong_argument_is_one_error_with_its_line(call: str, what: str) -> None:
    """The hint shows a call that renders."""
    [error] = errors(f"SELECT 1;\nSELECT {{{{ {call} }}}}")
    name = what.partition(":")[0]
    assert (error.code, error.data["line"]) == ("KEY_MACRO", 2)
    assert error.message.endswith(what)
    example = error.hint.removeprefix("write ").removesuffix(", with the column in quotes")
    assert example.startswith(f"{name}('id'")
    assert sql(f"{{{{ {example} }}}}")


def test_a_column_without_quotes_is_a_missing_name_with_the_right_spelling() -> None:
    """A missing variable has the hint of a variable."""
    [error] = errors("{{ reversed_id(customer_id) }}")
    assert (error.code, error.message.partition(": ")[2]) == ("UNDEFINED_VARIABLE", "customer_id is not defined")
    assert error.hint == "write reversed_id('id'), with the column in quotes"
    [error] = errors("{{ hash_prefix('id', variables.table.sise) }}", VARIABLES)
    assert error.hint == "did you mean variables.table.size?"


def test_a_misspelt_macro_has_the_nearest_name() -> None:
    """The same error as in a version of glacierbase that lacks a macro."""
    [error] = errors("{{ hash_prefx('id', 2) }}")
    assert (error.code, error.hint) == ("UNDEFINED_VARIABLE", "did you mean hash_prefix?")


def test_a_dialect_without_the_macros_is_an_error_at_the_call() -> None:
    """A file that calls none renders for every dialect."""
    assert sql("{{ catalog }}", dialect="sqlite") == "lake"
    [error] = errors("\n{{ reversed_id('id') }}", dialect="sqlite")
    assert (error.code, error.data["line"]) == ("KEY_MACRO", 2)
    assert error.message.endswith("reversed_id: has no SQL for the dialect sqlite, only for spark, snowflake")
    assert error.hint == "write the expression in the SQL of sqlite"


@pytest.mark.parametrize(
    ("dialect", "template"),
    [
        ("spark", "CREATE TABLE t (id BIGINT, k STRING GENERATED ALWAYS AS ({}))\nUSING delta PARTITIONED BY (k)"),
        ("spark", "INSERT INTO t SELECT id, {} FROM s"),
        ("spark", "CREATE TABLE t USING iceberg PARTITIONED BY (k) AS SELECT id, {} AS k FROM s"),
        ("spark", "CREATE OR REPLACE VIEW v AS SELECT {} AS k FROM t"),
        ("snowflake", "CREATE TABLE t (id NUMBER, k VARCHAR AS ({}))"),
        ("snowflake", "INSERT INTO t SELECT id, {} FROM s"),
        ("snowflake", "UPDATE t SET k = {} WHERE k IS NULL"),
    ],
)
@pytest.mark.parametrize(
    "call", ["reversed_id('id')", "hash_prefix('id', 2)", "hash_path('id', 2)", "bucket_prefix('id', 10)"]
)
def test_statements_with_macros_are_understood(dialect: str, template: str, call: str) -> None:
    """`lint` and the records read them as any other statement."""
    [statement] = split_statements(sql(template.format(f"{{{{ {call} }}}}"), dialect=dialect), dialect)
    assert read(statement.text, dialect).understood, statement.text
