"""What templates may say, what they render to, which line it comes from, and how they are refused."""

from __future__ import annotations

import pytest

from tests.unit.migrations.rendering import errors, missing, sql, told


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
def test_a_leading_dot_is_allowed_wherever_an_operand_is(template: str, expected: str) -> None:
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
def test_a_template_syntax_error_is_reported_with_its_line(template: str, line: int, what: str) -> None:
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
def test_any_other_error_in_a_template_is_template_failed(expression: str, reason: str) -> None:
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


def test_the_error_about_a_template_that_python_cannot_compile_names_no_python_line() -> None:
    """Line numbers of the generated Python code are not part of the message."""
    [(_, line, what)] = told("{{ dict(a=1, a=2) }}")
    assert (line, what.rpartition("SyntaxError: ")[2]) == (1, "keyword argument repeated: a")


def test_a_rendering_without_end_is_refused() -> None:
    """Nested loops are an error before they fill the memory."""
    loops = "{% for a in range(100000) %}{% for b in range(100000) %}0123456789{{ 'x' * 1000 }}{% endfor %}{% endfor %}"
    [(code, _, what)] = told(loops)
    assert code == "TEMPLATE_FAILED"
    assert "more than 10000000 characters" in what
