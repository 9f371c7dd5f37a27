"""The formats of the results of `lint` and `review`. The module of a format is loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from glacierbase.output.documents import Outcome, json_document, text_document, text_errors


def _text(outcome: Outcome) -> str:
    errors = [each for each in (outcome.error, *(result.error for result in outcome.results)) if each]
    return "\n\n".join(filter(None, [text_document(outcome.results), text_errors(errors) if errors else ""]))


def _json(outcome: Outcome) -> str:
    return json_document(outcome.command, outcome.results, outcome.error)


def _in_module(name: str) -> Callable[[Outcome], str]:
    def render(outcome: Outcome) -> str:
        rendered: str = import_module(f"glacierbase.output.{name}").render(outcome)
        return rendered

    return render


FORMATS: Mapping[str, Callable[[Outcome], str]] = MappingProxyType(
    {
        "text": _text,
        "json": _json,
        **{name: _in_module(name) for name in ("markdown", "github", "gitlab", "sarif", "junit")},
    }
)
