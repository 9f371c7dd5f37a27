"""Placeholders of other tools as variables of templates, and all other text as text that no template reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from glacierbase.adopt.foreign import NotMapped
from glacierbase.migrations.new_files import as_template

_NO_WORD = re.compile(r"\W+", re.ASCII)
_ENVIRONMENT = re.compile(r"\$\{([A-Za-z_]\w*)\}", re.ASCII)


class Variables:
    """The variables that placeholders become.

    Attributes:
        values: of each variable, by its name; None where it is not known.
        not_mapped: the first use of each placeholder without a value.
    """

    def __init__(self, known: Mapping[str, Any], hint: str) -> None:
        """Args:
        known: the values of placeholders, by their names; None for one that must not be shown.
        hint: where the tool gets the value of a placeholder that has none.
        """
        self._hint = hint
        self._names: dict[str, str] = {}  # Of placeholders.
        self._words: dict[str, int] = {}  # How often a variable of these words was requested.
        self.values: dict[str, Any] = {self._name(name): value for name, value in known.items()}
        self.not_mapped: list[NotMapped] = []

    def expression(self, placeholder: str, path: str, line: int, what: str = "") -> str:
        """Return the expression of a template for a placeholder.

        Args:
            path, line: of this use.
            what: what it is and where its value is, if it is no placeholder of the tool.
        """
        name = self._name(placeholder)
        if name not in self.values:
            self.values[name] = None
            what = what or f"placeholder {placeholder}: {self._hint}"
            self.not_mapped.append(NotMapped(path, line, f"{what}; give variables.{name} a value in the catalog file"))
        return f"variables.{name}"

    def with_value(self, placeholder: str, value: str) -> str:
        """Return the expression for a placeholder whose value is known where it is used."""
        self.values[self._name(placeholder)] = value
        return f"variables.{self._name(placeholder)}"

    def _name(self, placeholder: str) -> str:
        """Return the variable of a placeholder: its words; a number distinguishes placeholders with the same words."""
        if placeholder not in self._names:
            words = _NO_WORD.sub("_", placeholder).strip("_") or "placeholder"
            words = f"_{words}" if words[0].isdigit() else words
            self._names[placeholder] = numbered_name(words, self._words)
        return self._names[placeholder]


def numbered_name(words: str, taken: dict[str, int]) -> str:
    """Return a name that is not taken: the words, with a number from the second time on.

    Args:
        taken: how often each name was requested, which this counts.
    """
    name = words
    while name in taken:
        taken[words] += 1
        name = f"{words}_{taken[words]}"
    taken[name] = 1
    return name


def template(text: str, pattern: re.Pattern[str], replaced: Callable[[re.Match[str], int], str | None]) -> str:
    """Return a text as a template in which placeholders are expressions and no other text is read as a template.

    Args:
        pattern: of a placeholder.
        replaced: returns the expression of a placeholder, so many lines below the first; None for one that stays text.
    """
    out, literal, at, lines = "", "", 0, 0
    for found in pattern.finditer(text):
        lines += text.count("\n", at, found.start())
        literal += text[at : found.start()]
        at = found.end()
        expression = replaced(found, lines)
        lines += found[0].count("\n")
        if expression is None:
            literal += found[0]
        else:
            out += f"{_before_expression(literal)}{{{{ {expression} }}}}"
            literal = ""
    return out + as_template(literal + text[at:])


def _before_expression(literal: str) -> str:
    """Return a text as a template; a brace at its end would be part of the mark that opens the expression."""
    return f"{as_template(literal[:-1])}{{{{ '{{' }}}}" if literal.endswith("{") else as_template(literal)


def catalog_value(text: str) -> str:
    """Return a value as a catalog file has it: the tool's `${NAME}` is an environment variable."""
    return _ENVIRONMENT.sub(lambda found: f"${{env:{found[1]}}}", text)


def literal_value(text: str) -> str:
    """Return a value in which a catalog file reads no reference."""
    return text.replace("${", "$${")
