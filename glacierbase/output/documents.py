"""The results of all catalogs as one document: text for the terminal, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.command import command
from glacierbase.model.result import Result, to_json
from glacierbase.model.text import split_lines
from glacierbase.output.printable import printable, printable_json


def json_document(command: str, results: Sequence[Result], error: GlacierbaseError | None, **fields: Any) -> str:
    """Return the JSON document of a command, on success and failure: `schema`, `ok`, `error`, `catalogs`, and `fields`."""
    document = {
        "schema": f"glacierbase/{command}/1",
        "ok": error is None,
        "error": to_json(error),
        "catalogs": [result.to_dict() for result in results],
        **fields,
    }
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def text_document(results: Sequence[Result], lines: Callable[[Result], list[str]] | None = None) -> str:
    """Return the text of a command, a block per catalog.

    Args:
        lines: returns the lines of a result; default its method `lines`.
    """
    blocks = (_text(result, lines or type(result).lines) for result in results)
    return "\n\n".join(block for block in blocks if block)


def text_error(error: GlacierbaseError) -> str:
    """Return an error as text: its code and message, and the next step."""
    what, *more = error.lines
    hint = [f"next: {error.hint}"] if error.hint else []
    with error.secrets.in_use():
        return printable([f"error: {error.code}: {what}", *more, *hint])


def text_errors(errors: Sequence[GlacierbaseError]) -> str:
    """Return all errors of a command as text, each once with its hint. The last line is the command that explains their codes."""
    parts = [part for error in errors for part in _parts(error)]
    codes = dict.fromkeys(part.code for part in parts)
    return "\n".join([*dict.fromkeys(map(text_error, parts)), printable([f"more: {command('explain', *codes)}"])])


def _parts(error: GlacierbaseError) -> list[GlacierbaseError]:
    return [part for each in error.errors for part in _parts(each)] if isinstance(error, SeveralErrors) else [error]


def _text(result: Result, lines: Callable[[Result], list[str]]) -> str:
    with result.secrets.in_use():  # Cells of tables are masked when the lines are made.
        return printable(_block(result, lines(result)))


def _block(result: Result, lines: Sequence[str]) -> list[str]:
    title = f"{result.catalog} ({result.environment})" if result.environment else result.catalog
    if result.skipped:
        return [f"{title}: skipped, {result.skipped}"]
    if script := result.script():
        return [f"-- {title}", *split_lines(script.rstrip())]
    if result.error and not (result.PARTIAL and lines):
        return []
    warnings = [f"warning: {warning}" for warning in result.warnings]
    return [title, *warnings, *(f"  {line}".rstrip() for line in lines)]
