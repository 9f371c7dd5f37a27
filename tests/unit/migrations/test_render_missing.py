"""Names that a template uses and that do not exist."""

from __future__ import annotations

import pytest

from tests.unit.migrations.rendering import errors, missing, sql, told


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ variables.tabel.size }}", "variables.tabel.size"),
        ("{{ .variables.tabel.size }}", "variables.tabel.size"),
        ("{{ variables.table.x.y.z }}", "variables.table.x.y.z"),
        ("{{ variables['table']['x'] }}", "variables.table.x"),
        ("{{ variables.table[catalog] }}", "variables.table[catalog]"),
        ("{{ variables.names[2] }}", "variables.names.2"),
        ("{{ variables.x[1:] }}", "variables.x[…]"),
        ("{{ variables.x.y(1) }}", "variables.x.y"),
        ("{{ variables.table.size.x }}", "variables.table.size.x"),
        ("{{ tabel }}", "tabel"),
        ("{{ variables.table[variables.x] }}", "variables.x"),
        ("{{ variabels.table }}", "variabels.table"),
        ("{% for c in variables.columns[:1] %}{{ c.comment }}{% endfor %}", "c.comment"),
        ("{{ variables.columns | map(attribute='x') | join }}", "x"),
        ("{{ (variables.names | first).x }}", "variables.names | first.x"),
        ("{% set x = variables.x %}{{ x }}", "variables.x"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(variables.x) }}", "variables.x"),
        ("{% set c = namespace() %}{{ c.n }}", "c.n"),
    ],
)
def test_a_missing_name_is_reported_as_it_is_written(template: str, name: str) -> None:
    """The message has the whole path, without the leading dot."""
    assert missing(template) == [name]


@pytest.mark.parametrize(
    "use",
    [
        "{{ X }}", "{% if X %}{% endif %}", "{{ 1 if X else 2 }}", "{% for x in X %}{% endfor %}", "{{ not X }}", "{{ X or 1 }}",
        "{{ X == 1 }}", "{{ X != 1 }}", "{{ 1 < X }}", "{{ X <= 1 }}", "{{ X in [1] }}", "{{ 1 in X }}", "{{ X and 1 }}",
        "{{ X + 1 }}", "{{ 1 + X }}", "{{ 1 - X }}", "{{ 'a' * X }}", "{{ X ** 2 }}", "{{ 1 // X }}", "{{ X % 2 }}", "{{ -X }}",
        "{{ 'a' ~ X }}", "{{ '%s' % X }}", "{{ '%d' % X }}", "{{ '%f' % X }}", "{{ [1][X] }}", "{{ [1][:X] | join }}",
        "{{ {X: 1} | length }}", "{{ [X] | join }}", "{{ X() }}", "{{ X(1, a=2) }}", "{{ range(X) | join }}",
        "{{ X | length }}", "{{ X | upper }}", "{{ X | items | join }}", "{{ X | tojson }}", "{{ X | int }}", "{{ X | round }}",
        "{{ 'a' | replace('a', X) }}", "{{ [1] | join(d=X) }}", "{{ 1 | default(X, true) }}{{ X }}", "{{ X | default(X) }}",
        "{{ [X, X] | sort | join }}", "{{ [X] | map('upper') | join }}", "{{ [X] | select | list | length }}",
        "{{ [X] | unique | join }}", "{{ X is string }}", "{{ X is not none }}", "{{ 1 is divisibleby(X) }}",
        "{% filter replace('a', X) %}a{% endfilter %}", "{% set a, b = X %}", "{% with a = X %}{{ a }}{% endwith %}",
    ],
)  # fmt: skip
def test_every_use_of_a_missing_name_is_reported(use: str) -> None:
    """A missing value is never used as empty text, false or zero, and causes no other error."""
    assert missing(use.replace("X", "variables.x.y")) == ["variables.x.y"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "{{ variables.x is defined }}{{ variables.x.y is undefined }}{{ variables.table is defined }}",
            "falsetruetrue",
        ),
        ("{{ variables.x | default(3) }}{{ variables.x.y.z | d('a') }}{{ tabel | default(4) }}", "3a4"),
        ("{{ variables.table.none is defined }}{{ variables.table.none | default(3) }}", "false3"),
        ("{% for h in variables.holes %}{{ h | default('b') }}{% endfor %}", "ab"),
        ("{% if variables.x is defined and variables.x > 1 %}a{% endif %}", ""),
        ("{{ variables.x if variables.x is defined }}", ""),
        ("{% set x = variables.x %}{{ x | default(5) }}", "5"),
        ("{% macro m(a) %}{{ a | default(6) }}{% endmacro %}{{ m(variables.x) }}{{ m() }}", "66"),
        ("{{ (variables.x | default({})).y | default(7) }}", "7"),
        ("{% if false %}{{ variables.x }}{% endif %}", ""),
        ("{% for c in variables.columns %}{{ c.comment | default('-') }}{% endfor %}", "-when"),
        ("{{ variables.columns | map(attribute='comment', default='-') | join }}", "-when"),
    ],
)
def test_a_name_that_may_be_missing_is_not_reported(template: str, expected: str) -> None:
    """Testing a missing value, or giving it a default, is no error; the same is true for null."""
    assert sql(template) == expected


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{{ variables.table.none }}", "variables.table.none is null"),
        ("{{ variables.table.none.x }}", "variables.table.none.x is not defined"),
        ("{% for h in variables.holes %}{{ h }}{% endfor %}", "variables.holes.1 is null"),
        ("{{ variables.holes | join(', ') }}", "variables.holes.1 is null"),
        ("{{ variables.holes | last ~ 'a' }}", "variables.holes.1 is null"),
        ("{% if variables.table.none == 1 %}{% endif %}", "variables.table.none is null"),
    ],
)
def test_null_has_no_value(template: str, what: str) -> None:
    """Null is neither printed as `None` nor as empty text; the message has its name."""
    assert told(f"\n{template}") == [("UNDEFINED_VARIABLE", 2, what)]


@pytest.mark.parametrize(
    ("template", "hint"),
    [
        ("{{ variables.tabel.size }}", "did you mean variables.table.size?"),
        ("{{ variabels.table.size }}", "did you mean variables.table.size?"),
        ("{{ variables.shp }}", "did you mean variables.shop?"),
        ("{{ enviroment }}", "did you mean environment?"),
        ("{{ variables.qqq }}", "defined: variables.table, variables.table.name"),
        (
            "{{ variables.table.name.upper() }}",
            "values have no methods, the filter is | upper; did you mean variables.table.name?",
        ),
        ("{{ variables.table.none }}", "give it a value, or append | default(…)"),
        ("{{ [] | first }}", "give it a value, or append | default(…)"),
    ],
)
def test_a_hint_names_what_is_nearest_or_what_there_is(template: str, hint: str) -> None:
    """The hint is the nearest defined name, or a list of the defined names."""
    assert errors(template)[0].hint.startswith(hint)


def test_a_hint_does_not_list_a_hundred_names() -> None:
    """The hint lists the first names and the count of the others."""
    [error] = errors("{{ variables.qqq }}", {str(number): number for number in range(100)})
    assert error.hint.endswith("variables.10, variables.11 and 88 more")


def test_all_missing_names_of_a_file_are_reported_at_once_each_with_its_line() -> None:
    """Errors are in the order of lines, for names in one expression, in branches, in macros and in files with CRLF."""
    template = """\
{{ variables.a }}
{% macro m() %}
{{ variables.b }}{% endmacro %}
{% if variables.c %}x{% else %}{{ variables.d }}{% endif %}
{{ [
  .variables.e,
  .variables.f,
] | join }}
{% for t in variables.columns %}
  {{ t.g }}
{% endfor %}{{ m() }}{{ m() }}
{% set h = variables.h %}
{% set i = eye %}
{% with j = jay %}
{{ h }}{{ i }}{{ j }}{% endwith %}"""
    places = {
        "variables.a": 1,
        "variables.b": 3,
        "variables.c": 4,
        "variables.d": 4,
        "variables.e": 6,
        "variables.f": 7,
    }
    places |= {"t.g": 10, "variables.h": 12, "eye": 13, "jay": 14}
    expected = [("UNDEFINED_VARIABLE", line, f"{name} is not defined") for name, line in places.items()]
    for line_end in ("\n", "\r\n", "\r"):
        assert told(template.replace("\n", line_end)) == expected


def test_an_error_caused_by_a_missing_name_is_not_reported() -> None:
    """A failure after a missing value is mostly caused by it, and not reported."""
    assert told("{{ variables.x }}\n{{ 1 // 0 }}") == [("UNDEFINED_VARIABLE", 1, "variables.x is not defined")]
