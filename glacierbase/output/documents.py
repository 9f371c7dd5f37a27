"""The results of all catalogs as one document: text for the terminal, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.codec import to_json
from glacierbase.model.command import command
from glacierbase.model.escape import printable_json
from glacierbase.model.printable import Show, printable
from glacierbase.model.result import Result, StandaloneResult, document, json_text
from glacierbase.model.text import Line

Lines: TypeAlias = Callable[[Any], Sequence[Line]]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The outcome of a command.

    Attributes:
        command: its name.
        answer: of a command that is about no catalog.
    """

    command: str
    results: Sequence[Result]
    error: GlacierbaseError | None
    answer: StandaloneResult | None = None

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        more: dict[str, Any] = to_json(self.answer) if self.answer else {}
        return {**document(self.command, self.results, self.error), **more}


def json_document(command: str, results: Sequence[Result], error: GlacierbaseError | None, **fields: Any) -> str:
    """Return the text of a command's JSON document, with `fields` added to it."""
    return json_text({**document(command, results, error), **fields})


def document_line(command: str, error: GlacierbaseError) -> str:
    """Return the JSON document of a command that failed on one line, for a result of lines."""
    return printable_json(json.dumps(document(command, (), error), ensure_ascii=False, default=str))


def text_document(results: Sequence[Result], lines: Lines | None = None, show: Show = printable) -> str:
    """Return the text of a command, a block per catalog. In a script, the block of a catalog without one is a comment.

    Args:
        lines: returns the lines of a result; default its method `lines`.
    """
    scripts = [result.script() is not None for result in results]
    blocks = (
        "\n".join(f"-- {line}" for line in block.splitlines()) if any(scripts) and not is_script else block
        for result, is_script in zip(results, scripts, strict=True)
        if (block := result.as_text(lines, show))
    )
    return "\n\n".join(blocks)


def text_errors(errors: Sequence[GlacierbaseError], show: Show = printable) -> str:
    """Return all errors of a command as text, each once with its hints. The last line is the command that explains their codes.

    A state that messages leave out is a separate line below all errors to which it applies.
    """
    parts = [part for error in errors for part in _parts(error)]
    # Environments with different variables may have the same error with different hints.
    texts: dict[tuple[str, str], dict[str, None]] = {}
    for part in parts:
        texts.setdefault((part.unstated, _message(part, show)), {})[_next_step(part, show)] = None
    lines: list[str] = []
    for state, group in groupby(texts.items(), lambda text: text[0][0]):
        lines += (line for (_, message), hints in group for line in (message, *filter(None, hints)))
        lines += [show([f"state: {state}"])] if state else []
    codes = dict.fromkeys(part.code for part in parts)
    return "\n".join([*lines, show([f"more: {command('explain', *codes)}"])])


def _message(error: GlacierbaseError, show: Show) -> str:
    what, *more = error.lines
    with error.secrets.in_use():
        return show([f"error: {error.code}: {what}", *more])


def _next_step(error: GlacierbaseError, show: Show) -> str:
    with error.secrets.in_use():
        return show([f"next: {error.hint}"]) if error.hint else ""


def _parts(error: GlacierbaseError) -> list[GlacierbaseError]:
    return [part for inner in error.errors for part in _parts(inner)] if isinstance(error, SeveralErrors) else [error]
