"""What templates may say, what they render to, which line it comes from, and how they are refused."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.errors import GlacierbaseError, MigrationFileError, SeveralErrors
from glacierbase.migrations.render import Rendered, render
from glacierbase.migrations.template_syntax import with_marks
from glacierbase.model.migration import Migration

LOCATION = "migrations/shop/1_a.sql"
VARIABLES: dict[str, Any] = {
    "table": {"name": "events", "size": 16, "ratio": 0.5, "on": True, "off": False, "none": None},
    "shop": {"items": "i", "keys_": "k", "in": {"x": 1}},
    "names": ["b", "a"],
    "flags": [True, False],
    "holes": ["a", None],
    "columns": [{"name": "id", "type": "bigint"}, {"name": "at", "type": "date", "comment": "when"}],
    "multi": "1\n2\r\n3",
}


def rendered(text: str, variables: dict[str, Any] = VARIABLES) -> Rendered:
    migration = Migration("1", "a", "d", "a", Path("1_a.sql"), LOCATION, text, "v1:sha256:0")
    return render(migration, variables, "prod", "lake")


def sql(text: str, variables: dict[str, Any] = VARIABLES) -> str:
    return rendered(text, variables).text


def errors(text: str, variables: dict[str, Any] = VARIABLES) -> list[GlacierbaseError]:
    """Return the errors of a template, after checking the attributes that every error has."""
    with pytest.raises((MigrationFileError, SeveralErrors)) as caught:
        rendered(text, variables)
    found = list(caught.value.errors) if isinstance(caught.value, SeveralErrors) else [caught.value]
    for error in found:
        assert isinstance(error, MigrationFileError)
        assert error.data["path"] == LOCATION
        assert error.message.startswith(f"{LOCATION}, line {error.data['line']}: ")
        assert error.hint
    return found


def told(text: str) -> list[tuple[str, int, str]]:
    """Return code, line and message of each error."""
    return [(e.code, e.data["line"], e.message.partition(": ")[2]) for e in errors(text)]


def missing(text: str) -> list[str]:
    """Return the names that a template lacks; it has no other errors."""
    assert {error.code for error in errors(text)} == {"UNDEFINED_VARIABLE"}
    return [what.removesuffix(" is not defined") for _, _, what in told(text)]


def line_of(text: str, word: str, variables: dict[str, Any] = VARIABLES) -> int:
    result = rendered(text, variables)
    return result.file_line(result.text.index(word))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ variables.table.name }} {{ environment }} {{ catalog }}", "events prod lake"),
        ("{{ variables['table']['name'] }}{{ variables.names[0] }}{{ variables.names.1 }}", "eventsba"),
        ("{{ variables.names[:1] | join }}{{ variables.table.name[1:3] }}{{ variables.names[-1] }}", "bvea"),
        ("{% for n in variables.names %}{{ n }}{% if not loop.last %}, {% endif %}{% endfor %}", "b, a"),
        ("{% for n in variables.names %}{{ loop.index }}{{ loop.cycle('x', 'y') }}{% endfor %}", "1x2y"),
        ("{% for n in variables.names if n == 'a' %}{{ n }}{% else %}none{% endfor %}", "a"),
        ("{% for n in [[1], [2]] recursive %}{{ n if n is number else loop(n) }}{% endfor %}", "12"),
        ("{% for k, v in variables.shop.in | items %}{{ k }}={{ v }}{% endfor %}", "x=1"),
        ("{% if environment == 'dev' %}a{% elif catalog == 'lake' %}b{% else %}c{% endif %}", "b"),
        ("{% set x = 2 %}{% set y %}a{{ x }}{% endset %}{{ y }}", "a2"),
        ("{% set c = namespace(n=0) %}{% for _ in range(3) %}{% set c.n = c.n + 1 %}{% endfor %}{{ c.n }}", "3"),
        ("{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(3, b=4) }}", "1234"),
        ("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{% endcall %}", "<a>"),
        ("{% filter upper %}a{{ 1 }}{% endfilter %}{% filter length %}abc{% endfilter %}", "A13"),
        ("{% raw %}{{ a }} {% b %}{% endraw %}{{ '{{' }}", "{{ a }} {% b %}{{"),
        ("{% with a = 1 %}{{ a }}{% endwith %}", "1"),
        ("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}", "aba"),
        ("{% set j = joiner(',') %}{{ j() }}a{{ j() }}b", "a,b"),
        ("{{ dict(a=1).a }}{{ {'b': 2}.b }}", "12"),
        ("{{ variables.columns | map(attribute='name') | join(', ') }}", "id, at"),
        ("{{ variables.columns | sort(attribute='name') | join('+', attribute='name') }}", "at+id"),
        ("{% for t, of in variables.columns | groupby('type') %}{{ t }}{{ of | length }}{% endfor %}", "bigint1date1"),
        ("{{ variables.columns | selectattr('comment', 'defined') | map(attribute='name') | join }}", "at"),
        ("{{ variables.names | map('upper') | join }}{{ 'a%s' | format(1) }}{{ 'A' | lower }}", "BAa1a"),
        ("{{ 'x' * 3 }}{{ 2 ** 3 }}{{ 7 // 2 }}{{ 'a' if 1 > 2 }}", "xxx83"),
        ("a {#- b -#} c {# variables.x #}", "a {#- b -#} c {# variables.x #}"),
        ("# a\n## b\n-- c\n% d\n", "# a\n## b\n-- c\n% d\n"),
        ("a\n  {%- if true -%}\n  b\n  {%- endif %}\n", "ab\n"),
        ("a & b < '{{ '<&' }}'", "a & b < '<&'"),
    ],
)
def test_a_template_renders(template: str, expected: str) -> None:
    """Blocks, lookups and filters work; text that is a comment, a line statement or HTML to Jinja remains SQL."""
    assert sql(template) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ .variables.table.size }}", "16"),
        ("{{.variables.table.size}}{{- .variables.table.size -}}", "1616"),
        ("{{ . variables.table.size }}", "16"),
        ("{% if .variables.table.on and not .variables.table.off %}a{% endif %}", "a"),
        ("{% if .environment == .catalog %}a{% elif .environment in [.catalog, .environment] %}b{% endif %}", "b"),
        ("{% for n in .variables.names if .variables.table.on %}{{ .n }}{% endfor %}", "ba"),
        ("{% set x = .catalog %}{{ x ~ .environment }}{{ 1 + .variables.table.size }}", "lakeprod17"),
        ("{{ .variables.names | join(.catalog) }}{{ 5 | default(.catalog) }}", "blakea5"),
        ("{{ (.catalog) }}{{ {'a': .catalog}['a'] }}{{ variables[.catalog | replace('lake', 'table')].name }}", "lakelakeevents"),
        ("{% macro m(a=.catalog) %}{{ a }}{% endmacro %}{{ m(a=.environment) }}{{ m() }}", "prodlake"),
        ("{{ .catalog if .environment == 'dev' else .environment }}", "prod"),
        ("{{ -.variables.table.size }}{{ 17 is eq .variables.table.size }}", "-16false"),
        ("{{ 17 is not eq .variables.table.size }}", "true"),
        ("{% macro m() %}{{ caller() }}{% endmacro %}{% call .m() %}a{% endcall %}", "a"),
        ("{{ variables .table .name }}{{ variables.names .0 }}", "eventsb"),
        ("{{ (variables) .table.size }}{{ variables['table'] .size }}", "1616"),
        ("{{ variables.shop.in.x }}{{ variables.shop.in .x }}", "11"),
    ],
)  # fmt: skip
def test_a_leading_dot_stands_wherever_an_operand_may(template: str, expected: str) -> None:
    """The original's spelling has a leading dot; after an operand, a dot is a lookup."""
    assert sql(template) == expected


@pytest.mark.parametrize(
    "template", ["{{ .5 }}", "{{ ..variables }}", "{{ variables..table }}", "{{ variables. }}", "{{ . }}"]
)
def test_other_dots_are_no_template(template: str) -> None:
    """Any other dot is a syntax error, because dropping it could change a number."""
    assert [error.code for error in errors(template)] == ["TEMPLATE_SYNTAX"]


def test_a_dot_looks_up_items_and_never_attributes() -> None:
    """A key such as `items` is the user's, because values have no methods."""
    assert sql("{{ variables.shop.items }}") == "i"
    assert missing("{{ variables.shop.keys }}") == ["variables.shop.keys"]
    assert missing("{{ variables.table.items() }}") == ["variables.table.items"]
    assert missing("{{ variables.shop['values'] }}") == ["variables.shop.values"]


@pytest.mark.parametrize(
    "expression",
    [
        "''.__class__.__mro__", "variables.__class__", "variables['__class__']", "'a'.upper()", "'{}'.format(1)", "range.__name__",
        "loop", "namespace(a=1).__class__", "namespace(a=1)['_Namespace__attrs']", "cycler.__init__.__globals__", "self.x",
        "cycler(1).__init__", "[''] | map(attribute='__class__') | first", "[''] | groupby('__class__') | first | first",
        "[''] | map(attribute='upper') | first",
        "lipsum()", "now()", "env", "ns", "('' | attr('upper'))()", "[1] | random", "'<' | escape", "[1] | pprint",
    ],
)  # fmt: skip
def test_nothing_reaches_python_chance_or_clock(expression: str) -> None:
    """Attributes cannot be read, and functions that are not about SQL do not exist."""
    assert {error.code for error in errors(f"{{{{ {expression} }}}}")} <= {"UNDEFINED_VARIABLE", "TEMPLATE_SYNTAX"}


def test_attributes_of_a_loop_that_are_not_public_are_missing() -> None:
    """Only the public attributes of `loop` can be read."""
    loop = "{{% for n in [1] %}}{{{{ loop.{} }}}}{{% endfor %}}"
    assert sql(loop.format("length")) == "1"
    assert missing(loop.format("_iterator")) == ["loop._iterator"]
    assert missing(loop.format("__class__")) == ["loop.__class__"]
    assert told(loop.format("nextitem")) == [("UNDEFINED_VARIABLE", 1, "there is no next item")]


@pytest.mark.parametrize(
    "block",
    [
        "{% include 'b.sql' %}",
        "{%- include variables.name ignore missing %}",
        "{% import 'b.sql' as b %}",
        "{% from 'b.sql' import b %}",
        "{% extends 'b.sql' %}",
        "{% block b %}{% endblock %}",
        "{% .include 'b.sql' %}",
    ],
)
def test_a_migration_includes_no_other_file(block: str) -> None:
    """Blocks that include other files are refused, because a checksum covers one file."""
    [(code, line, what)] = told(f"a\n{{% if false %}}{block}{{% endif %}}")
    assert (code, line) == ("TEMPLATE_SYNTAX", 2)
    assert "migrations cannot include other files" in what


@pytest.mark.parametrize(
    ("template", "line", "what"),
    [
        ("a\n{{ }}", 2, "Expected an expression"),
        ("a\r\nb\rc\n{{ variables.x", 4, "unexpected end of template"),
        ("{{ variables.x }", 1, "unexpected '}'"),
        ("a\n\n{% if true %}", 3, "Unexpected end of template"),
        ("{% for a in [1] %}\n{% endif %}", 2, "endif"),
        ("\n{{ 1 | nofilter }}", 2, "nofilter"),
        ("{{ 1 is notest }}", 1, "notest"),
        ("\n{% raw %}{{", 2, "Missing end of raw"),
        ("{% autoescape true %}<{% endautoescape %}", 1, "autoescape"),
        ("{% print 1 %}", 1, "print"),
        ("{% now %}", 1, "now"),
        ("{{ '\x00' ? }}", 1, "unexpected char"),
    ],
)
def test_what_jinja_cannot_read_is_told_with_its_line(template: str, line: int, what: str) -> None:
    """The hint shows how to write a literal brace."""
    [error] = errors(template)
    assert (error.code, error.data["line"]) == ("TEMPLATE_SYNTAX", line)
    assert what in error.message
    assert "{% raw %}" in error.hint


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 // 0", "ZeroDivisionError"),
        ("1 + 'a'", "TypeError"),
        ("variables.table.size()", "TypeError"),
        ("range(10 ** 9) | length", "OverflowError"),
        ("'x' * 10 ** 9", "OverflowError"),
        ("10 ** 9 * [1]", "OverflowError"),
        ("10 ** (10 ** 9)", "OverflowError"),
        ("10 ** 5000", "ValueError"),
        ("m()", "RecursionError"),
        ("'x' | center(10 ** 7 + 1)", "OverflowError"),
        ("dict(a=1, a=2)", "SyntaxError"),
        ("(" * 500 + ")" * 500, "RecursionError"),
        ("[variables.names] | tojson(indent=[])", "TypeError"),
    ],
)
def test_whatever_else_goes_wrong_in_a_template_is_a_failed_template(expression: str, reason: str) -> None:
    """Every exception becomes a `TEMPLATE_FAILED`, and results that would fill the memory are not computed."""
    [(code, _, what)] = told(f"{{% macro m() %}}{{{{ m() }}}}{{% endmacro %}}\n{{{{ {expression} }}}}")
    assert code == "TEMPLATE_FAILED"
    assert reason in what


def test_a_failure_has_the_line_where_it_happened() -> None:
    """The line of a failure in a macro is the line in the macro's body."""
    assert told("a\n\n{{ 1 // 0 }}")[0][1] == 3
    assert told("{% macro m() %}\n{{ 1 // 0 }}{% endmacro %}\n\n{{ m() }}")[0][1] == 2
    assert told("\n{% if 1 // 0 %}{% endif %}")[0][1] == 2
    assert told("a\n{% with a = 1 // 0 %}{% endwith %}")[0][1] == 2
    assert told("{% with a = 1 // 0 %}{% endwith %}")[0][1] == 1


def test_what_python_does_not_compile_says_nothing_of_python_lines() -> None:
    """Line numbers of the generated Python code are not part of the message."""
    [(_, line, what)] = told("{{ dict(a=1, a=2) }}")
    assert (line, what.rpartition("SyntaxError: ")[2]) == (1, "keyword argument repeated: a")


def test_what_is_rendered_has_an_end() -> None:
    """Nested loops are an error before they fill the memory."""
    loops = "{% for a in range(100000) %}{% for b in range(100000) %}0123456789{{ 'x' * 1000 }}{% endfor %}{% endfor %}"
    [(code, _, what)] = told(loops)
    assert code == "TEMPLATE_FAILED"
    assert "more than 10000000 characters" in what


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
def test_a_missing_name_is_told_as_it_is_written(template: str, name: str) -> None:
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
def test_whatever_uses_a_missing_name_is_told(use: str) -> None:
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
def test_what_may_be_missing_is_not_told(template: str, expected: str) -> None:
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
        ("{{ variables.tabel.size }}", "the nearest name is variables.table.size"),
        ("{{ variabels.table.size }}", "the nearest name is variables.table.size"),
        ("{{ variables.shp }}", "the nearest name is variables.shop"),
        ("{{ enviroment }}", "the nearest name is environment"),
        ("{{ variables.qqq }}", "defined: environment, catalog, variables, variables.table, variables.table.name"),
        (
            "{{ variables.table.name.upper() }}",
            "the nearest name is variables.table.name; values have no methods, the filter is | upper",
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
    assert error.hint.endswith("variables.7, variables.8 and 91 more")


def test_all_missing_names_of_a_file_are_told_at_once_each_with_its_line() -> None:
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


def test_what_fails_behind_a_missing_name_is_not_told() -> None:
    """A failure after a missing value is mostly caused by it, and not reported."""
    assert told("{{ variables.x }}\n{{ 1 // 0 }}") == [("UNDEFINED_VARIABLE", 1, "variables.x is not defined")]


@pytest.mark.parametrize(
    ("expression", "what", "hint"),
    [
        ("variables.table", "variables.table is a mapping", "name, size, ratio"),
        ("variables.names", "variables.names is a list", "join"),
        ("variables.names | map('upper')", "variables.names | map is a list", "join"),
        ("variables.names ~ 'a'", "a list", "join"),
        ("variables.names | string", "a list", "join"),
        ("variables.names | upper", "a list", "join"),
        ("[variables.names, [1]] | join", "a list", "join"),
        ("(1, 2)", "a list", "join"),
        ("range(3)", "a list", "join"),
        ("none", "null", "NULL"),
        ("m", "Macro", "print text"),
        ("dict", "type", "print text"),
        ("namespace()", "Namespace", "print text"),
    ],
)
def test_what_only_python_can_read_is_not_printed(expression: str, what: str, hint: str) -> None:
    """The text of such a value would be Python code, or a memory address."""
    [error] = errors(f"{{% macro m() %}}{{% endmacro %}}\n{{{{ {expression} }}}}")
    assert (error.code, error.data["line"]) == ("UNPRINTABLE_VALUE", 2)
    assert what in error.message
    assert hint in error.hint


def test_a_block_that_gives_no_text_is_not_printed_either() -> None:
    """A `filter` block whose result is a list is an error."""
    [(code, line, _)] = told("\n{% filter list %}a{% endfilter %}")
    assert (code, line) == ("UNPRINTABLE_VALUE", 2)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ variables.table.on }} {{ variables.table.off }} {{ 1 == 1 }}", "true false true"),
        ("{{ 'is ' ~ variables.table.on }} {{ (true ~ '!') == 'true!' }}", "is true true"),
        ("{{ variables.flags | join(', ') }} {{ variables.table.on | string }}", "true, false true"),
        ("{{ variables.table.on | upper }} {{ variables.table.on | replace('true', 'yes') }}", "TRUE yes"),
        (
            "{{ variables.table.ratio }} {{ variables.table.size }} {{ 1 / 2 }} {{ 10 ** 20 }}",
            "0.5 16 0.5 100000000000000000000",
        ),
        ("{{ \"'\" + ({'a': 1} | tojson) + \"'\" }}", "'{\"a\": 1}'"),
    ],
)
def test_values_are_printed_as_sql_writes_them(template: str, expected: str) -> None:
    """True is printed as `true`, also as part of a text, and nothing is escaped for HTML."""
    assert sql(template) == expected


def test_what_a_filter_gives_can_be_used_twice() -> None:
    """Jinja's filters return generators, which would be empty the second time."""
    assert sql("{% set n = variables.names | map('upper') %}{{ n | join }}{{ n | join }}") == "BABA"


@pytest.mark.parametrize(
    "template",
    [
        "a\r\nb\rc\nd\r\r\n\n\r",
        "{{ catalog }}\r\n{{ catalog }}\r{{ catalog }}\n",
        "{% if true %}\r\na\r{% endif %}\n",
        "{% raw %}\r\n{{\r}}{% endraw %}\r\n",
        "{{ 'a\r\nb\rc' }}",
        "{% filter string %}a\r\n\rb{% endfilter %}",
        "\x1f\r\n\x1f\x1f\r\x1f\n\x1e\r\n\x1c\r\x1d\r\n\x85\u2028{{ '' }}",
        "{{ '\x1f' }}\r\n\\\r\x1f\n",
    ],
)
def test_line_ends_stay_as_they_are(template: str) -> None:
    """Line ends are kept byte for byte, also beside control characters."""
    expected = re.sub(r"\{%.*?%\}|\{\{ '(?s:(.*?))' \}\}", r"\1", template).replace("{{ catalog }}", "lake")
    assert sql(template) == expected


def test_an_escape_in_a_string_is_no_line_end() -> None:
    """The character of the marks that replace CR may be written as an escape."""
    assert sql("{{ '\\x1f\\n' }}{{ '\\037\\u001f\\n' }}\r\n") == "\x1f\n\x1f\x1f\n\r\n"


def test_an_escape_before_the_characters_of_a_mark_is_no_line_end() -> None:
    """A string may contain one half of a mark, and an escape for the other half."""
    assert sql("{{ '\\x1f\x1c\n\\x1f\x1d\n\\x1f\x1e' }}\r") == "\x1f\x1c\n\x1f\x1d\n\x1f\x1e\r"


@pytest.mark.parametrize("line", ["\\\r", "\x1f\r", "\\\x1f\r\n", "\r"])
def test_what_keeps_line_ends_is_no_longer_than_three_times_the_text(line: str) -> None:
    """A text of only such characters is at most three times as long with marks, and the time is linear."""
    short, long = (len(with_marks(line * count)) for count in (1_000, 4_000))
    assert short <= 3 * 1_000 * len(line)
    assert long == 4 * short
    assert sql(line * 4_000) == line * 4_000


def test_a_minus_takes_carriage_returns_with_it() -> None:
    """`-` trims carriage returns, because they are whitespace."""
    assert sql("a \r\n\r {{- 1 -}} \r\r\n b {%- if true -%}\r\n c\r{%- endif %}") == "a1bc"


def test_no_character_of_a_value_is_changed() -> None:
    """Every character of a variable's value is in the SQL."""
    value = "".join(map(chr, range(0x20))) + "\r\n\x1f\n\x1f\x1f\n\x85\u2028{{ a }}{% b %}{# c #}<&'\"\\"
    assert sql("\r\n{{ variables.v }}\r", {"v": value}) == f"\r\n{value}\r"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_every_character_knows_its_line_in_the_file(line_end: str) -> None:
    """Lines are correct after loops, branches, long values and trimmed blanks; a computed block has the line of its tag."""
    template = """\
{% macro m(n) %}
at{{ n }}{{ caller() if caller is defined }}
{% endmacro %}
at4 {{ m(4) }} at4
{% for n in [1, 2] %}
at6
  {%- if n == 1 %}
at8
{% endif %}at9
{% endfor -%}


at13 {{ variables.multi }} at13
at14 {{ [
  1,
] | join }} at16
{% raw %}at17
at18 {{ {% endraw %} at18
{% filter lower %}AT19
AT19{% endfilter %} at20
{% set x %}
at23
{% endset %}at23 {{ x }} at23
{% call m(24) %}
at24{% endcall %} at25"""
    result = rendered(template.replace("\n", line_end))
    words = list(re.finditer(r"at(\d+)", result.text))
    numbers = [4, 4, 4, 6, 8, 9, 6, 9, 13, 13, 14, 16, 17, 18, 18, 19, 19, 20, 23, 23, 23, 24, 24, 25]
    assert [int(word[1]) for word in words] == numbers
    assert [result.file_line(word.start()) for word in words] == numbers


def test_a_value_of_several_lines_is_on_the_line_that_prints_it() -> None:
    """All lines of a value have the line of its tag, and the end of the text has the last line."""
    result = rendered("a\n{{ variables.multi }}\nb\n")
    assert [result.file_line(offset) for offset in range(len(result.text) + 1)] == [1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4]
    assert [rendered(text).file_line(0) for text in ("", "\n", "{% if false %}a{% endif %}")] == [1, 1, 1]


def test_a_line_end_that_two_pieces_share_counts_for_the_file() -> None:
    """A value's CR before the file's LF is one line end of the text and still ends a line of the file."""
    assert line_of("a{{ variables.v }}\nb", "b", {"v": "\r"}) == 2
    assert line_of("a\r{{ variables.v }}\nb", "b", {"v": ""}) == 3


def test_a_rendering_depends_on_its_arguments_only() -> None:
    """Two renderings are equal, and a template cannot change its arguments."""
    template = """\
{% set all = namespace(variables) %}{% set all.table = 1 %}{% set variables = {} %}{% set environment = 'x' %}
{% filter upper %}a{% endfilter %}{{ [3, 1] | sort | join }}{{ {'b': 1, 'a': 2} | dictsort | map('join') | join }}"""
    variables = deepcopy(VARIABLES)
    first = rendered(template, variables)
    assert rendered(template, variables) == first
    assert sql("{{ variables.table.name }} {{ environment }}", variables) == "events prod"
    assert variables == VARIABLES


@pytest.mark.parametrize(
    "call", ["names.append(1)", "table.update(a=1)", "names.sort()", "table.pop('name')", "names.clear()"]
)
def test_variables_cannot_be_changed(call: str) -> None:
    """Values have no methods, so templates cannot change them."""
    variables = deepcopy(VARIABLES)
    assert [error.code for error in errors(f"{{% set _ = variables.{call} %}}{{{{ _ }}}}", variables)] == [
        "UNDEFINED_VARIABLE"
    ]
    assert variables == VARIABLES


def test_renderings_in_several_threads_do_not_mix() -> None:
    """Each thread reports the missing values of its own file."""

    def only(number: int) -> list[str]:
        return missing("{% for a in range(50) %}{{ variables.x" + str(number) + " }}{% endfor %}")

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(only, range(40))) == [[f"variables.x{number}"] for number in range(40)]


LINES = st.text(st.sampled_from("a;'\r\n\x1c\x1d\x1e\x1f\x85\u2028\\ }%#-é"))


@given(st.one_of(LINES, st.text().map(lambda text: text.replace("{", ""))))
def test_a_text_without_template_renders_to_itself(text: str) -> None:
    """Each character is on its own line; CRLF, CR and LF each end a line."""
    result = rendered(text)
    assert result.text == text
    ends = [end.end() for end in re.finditer(r"\r\n|\r|\n", text)]
    assert [result.file_line(at) for at in range(len(text) + 1)] == [
        1 + sum(end <= at for end in ends) for at in range(len(text) + 1)
    ]


@given(LINES, LINES, st.text())
def test_text_around_a_value_stays(before: str, after: str, value: str) -> None:
    """Neither the text around a value nor the value is changed."""
    assert sql(before + "{{ variables.v }}" + after, {"v": value}) == before + value + after


FRAGMENTS = st.sampled_from(
    [
        "{{", "}}", "{%", "%}", "{{ ", " }}", "{% ", " %}", "{%-", "-}}", "{#", "{% if x %}", "{% else %}", "{% endif %}",
        "{% set x = ", "{% for x in variables.names %}", "{% endfor %}", "{% macro m(x) %}", "{% endmacro %}", "{{ m(",
        "{% raw %}", "{% endraw %}", "variables", ".variables.table", ".x", ".0", ".size", "[", "]", "(", ")", "{", "}", ",",
        ":", "|", "join", "upper", "default", "map", "is", "defined", "not", "in", "and", "if", "else", "for", "loop", "none",
        "true", "'a'", "1", "1.5", "~", "+", "*", "==", "<", "-", "=", "\n", "\r\n", "\r", " ", "a", "\x1f", "\\", "'", '"',
        "\x00", "ﬁ",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=2)), max_size=14).map("".join))
def test_whatever_stands_in_a_file_either_renders_or_is_refused(text: str) -> None:
    """No other exception is raised, and every rendered character has a line."""
    try:
        result = rendered(text)
    except (MigrationFileError, SeveralErrors):
        return
    lines = 1 + len(re.findall(r"\r\n|\r|\n", text))
    assert all(1 <= result.file_line(at) <= lines for at in range(len(result.text) + 1))


@settings(max_examples=400, deadline=None)
@given(st.lists(FRAGMENTS, max_size=10).map(" ".join))
def test_whatever_stands_in_an_expression_either_renders_or_is_refused(text: str) -> None:
    """Random expressions consist of the words of templates."""
    with suppress(MigrationFileError, SeveralErrors):
        rendered(f"{{{{ {text} }}}}")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'%03d' % 7", "007"),
        ("'%s-%s' % ('a', 1)", "a-1"),
        ("'%s' % true", "true"),
        ("'%(a)s' % {'a': 'b'}", "b"),
        ("'%s.%s' | format('a', 2)", "a.2"),
        ("'x' | replace('x', 3)", "3"),
    ],
)
def test_text_is_formatted_with_what_sql_has_a_text_for(expression: str, text: str) -> None:
    """Numbers are formatted by the format, other values as printed."""
    assert rendered(f"{{{{ {expression} }}}}").text == text


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("'%s' % [variables.nope]", "UNPRINTABLE_VALUE"),
        ("'%s' % variables.nope", "UNDEFINED_VARIABLE"),
        ("'%s' % (variables.nope,)", "UNDEFINED_VARIABLE"),
        ("'%s' % joiner()", "UNPRINTABLE_VALUE"),
        ("'%s' | format([1])", "UNPRINTABLE_VALUE"),
        ("'a' | replace('a', [variables.nope])", "UNPRINTABLE_VALUE"),
        ("'%99999999d' % 1", "TEMPLATE_FAILED"),
        ("'%*d' | format(9999999, 1)", "TEMPLATE_FAILED"),
        ("'a' | center(10 ** 9) | length", "TEMPLATE_FAILED"),
        ("('a' * 9999999) + 'bb'", "TEMPLATE_FAILED"),
        ("{'a': 1} | urlencode", "TEMPLATE_SYNTAX"),
    ],
)
def test_nothing_that_only_python_could_write_gets_into_text(expression: str, code: str) -> None:
    """Lists, memory addresses, missing values and huge widths are refused."""
    assert told(f"{{{{ {expression} }}}}")[0][0] == code
