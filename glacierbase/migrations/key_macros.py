"""The key macros in templates: names that can be called, and are undefined in every other use."""

from __future__ import annotations

from inspect import signature
from typing import Any

from glacierbase.layout.expressions import DIALECTS, MACROS
from glacierbase.migrations.template import CURRENT, Missing, listed

# How each macro is written, for hints.
USAGES = {name: f"write {example}, with the column in quotes" for name, example in MACROS.items()}
# What a macro returns after an error: an argument that causes no second error in another macro.
_AFTER_ERROR = "NULL"


class KeyMacro(Missing):
    """A key macro: when it is called, the SQL expression in the dialect of the migration.

    Versions of glacierbase without the macro render no file that calls it. As it is missing in every other use, such as `default`
    and `is defined`, no file renders to one text with the macro and to another without it.
    """

    def __init__(self, name: str, dialect: str) -> None:
        super().__init__(name=name)
        self._name = name
        self._dialect = dialect

    def __call__(self, /, *arguments: Any, **keywords: Any) -> str:  # type: ignore[override]
        if any(_is_reported(argument, self._name) for argument in (*arguments, *keywords.values())):
            return _AFTER_ERROR
        if self._dialect not in DIALECTS:
            what = f"has no SQL for the dialect {self._dialect}, only for {listed(list(DIALECTS))}"
            return self._report(what, f"write the expression in the SQL of {self._dialect}")
        macro = getattr(DIALECTS[self._dialect], self._name)
        try:
            bound = signature(macro).bind(*arguments, **keywords)
            return str(macro(*bound.args, **bound.kwargs))
        except (TypeError, ValueError) as error:
            return self._report(str(error), USAGES[self._name])

    def _report(self, what: str, hint: str) -> str:
        rendering = CURRENT.get()
        rendering.report("KEY_MACRO", rendering.line(), f"{self._name}: {what}", hint)
        return _AFTER_ERROR


def _is_reported(argument: Any, macro: str) -> bool:
    """Return whether an argument is missing, and report it; a name without a dot is a column without its quotes."""
    if not isinstance(argument, Missing):
        return False
    rendering, name = CURRENT.get(), argument._undefined_name
    if name and "." not in name:
        rendering.report("UNDEFINED_VARIABLE", rendering.line(), f"{name} is not defined", USAGES[macro])
    else:
        argument.used()
    return True
