"""The text that a template renders to: values, line ends and lines."""

from __future__ import annotations

import re
from typing import Any

import pytest

from glacierbase.migrations.template import with_marks
from tests.unit.migrations.rendering import VARIABLES, errors, rendered, sql, told


def line_of(text: str, word: str, variables: dict[str, Any] = VARIABLES) -> int:
    result = rendered(text, variables)
    return result.file_line(result.text.index(word))


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
def test_a_value_that_only_python_can_print_is_refused(expression: str, what: str, hint: str) -> None:
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


def test_an_escape_in_a_string_is_not_a_line_end() -> None:
    """The character of the marks that replace CR may be written as an escape."""
    assert sql("{{ '\\x1f\\n' }}{{ '\\037\\u001f\\n' }}\r\n") == "\x1f\n\x1f\x1f\n\r\n"


def test_an_escape_before_the_characters_of_a_mark_is_not_a_line_end() -> None:
    """A string may contain one half of a mark, and an escape for the other half."""
    assert sql("{{ '\\x1f\x1c\n\\x1f\x1d\n\\x1f\x1e' }}\r") == "\x1f\x1c\n\x1f\x1d\n\x1f\x1e\r"


@pytest.mark.parametrize("line", ["\\\r", "\x1f\r", "\\\x1f\r\n", "\r"])
def test_the_template_that_keeps_line_ends_is_at_most_three_times_as_long(line: str) -> None:
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
def test_every_character_has_its_line_in_the_file(line_end: str) -> None:
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
def test_a_value_that_only_python_can_print_is_never_rendered(expression: str, code: str) -> None:
    """Lists, memory addresses, missing values and huge widths are refused."""
    assert told(f"{{{{ {expression} }}}}")[0][0] == code
