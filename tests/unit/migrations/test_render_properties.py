"""Properties of rendering that hold for any text."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.errors import MigrationFileError, SeveralErrors
from tests.unit.migrations.rendering import VARIABLES, errors, missing, rendered, sql


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


def test_renderings_in_several_threads_are_independent() -> None:
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
    """Rendering changes neither the value nor the text around it."""
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


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=2)), max_size=14).map("".join))
def test_any_file_renders_or_is_refused(text: str) -> None:
    """No other exception is raised, and every rendered character has a line."""
    try:
        result = rendered(text)
    except (MigrationFileError, SeveralErrors):
        return
    lines = 1 + len(re.findall(r"\r\n|\r|\n", text))
    assert all(1 <= result.file_line(at) <= lines for at in range(len(result.text) + 1))


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAGMENTS, max_size=10).map(" ".join))
def test_any_expression_renders_or_is_refused(text: str) -> None:
    """Random expressions consist of the words of templates."""
    with suppress(MigrationFileError, SeveralErrors):
        rendered(f"{{{{ {text} }}}}")
