"""The formats of results, and the files that a result is written to, each in its own format.

The modules of formats other than text and JSON, which `lint` and `review` have, are loaded when they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from glacierbase.errors import GlacierbaseError, collected
from glacierbase.model.result import json_text
from glacierbase.model.text import did_you_mean
from glacierbase.output.documents import CommandOutcome, text_document, text_errors
from glacierbase.run.files import FileRefused, check_replaceable, replace_file, writing


def _text(outcome: CommandOutcome) -> str:
    errors = [error for error in (outcome.error, *(result.error for result in outcome.results)) if error]
    return "\n\n".join(filter(None, [text_document(outcome.results), text_errors(errors) if errors else ""]))


def _json(outcome: CommandOutcome) -> str:
    return json_text(outcome.document())


def _in_module(name: str) -> Callable[[CommandOutcome], str]:
    def render(outcome: CommandOutcome) -> str:
        rendered: str = import_module(f"glacierbase.output.review.{name}").render(outcome)
        return rendered

    return render


FORMATS: Mapping[str, Callable[[CommandOutcome], str]] = MappingProxyType(
    {
        "text": _text,
        "json": _json,
        **{name: _in_module(name) for name in ("markdown", "github", "gitlab", "sarif", "junit")},
    }
)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to write."""

    format: str
    path: Path


def output_files(values: Sequence[str]) -> tuple[OutputFile, ...]:
    """Return the files that texts of the form `FORMAT=PATH` name.

    Raises:
        ValueError: a text has another form, a format does not exist, a file is named twice or cannot be written.
    """
    files = tuple(map(_file, values))
    paths: set[str] = set()
    for file in files:
        real = os.path.realpath(file.path)
        if real in paths:
            raise ValueError(f"{file.path} is named twice")
        paths.add(real)
        try:
            check_replaceable(file.path)
        except FileRefused as error:
            raise ValueError(f"{file.path} {error.what}; {error.hint}") from error
    return files


def _file(value: str) -> OutputFile:
    form, separator, path = value.partition("=")
    if not separator or not path:
        raise ValueError(f"{value!r} is not FORMAT=PATH, such as markdown=comment.md")
    if form not in FORMATS:
        hint = did_you_mean(form, FORMATS, f"formats: {', '.join(FORMATS)}")
        raise ValueError(f"there is no format {form!r}; {hint}")
    if path == "-":
        raise ValueError("- is no file; --format chooses the format on stdout")
    return OutputFile(form, Path(path))


def write_files(files: Sequence[OutputFile], outcome: CommandOutcome) -> list[GlacierbaseError]:
    """Write the result into each file, replacing its content, and return the errors."""
    errors: list[GlacierbaseError] = []
    for file in files:
        with collected(errors), writing(file.path, state=""):
            text = FORMATS[file.format](outcome)
            replace_file(file.path, f"{text}\n" if text else "")
    return errors
