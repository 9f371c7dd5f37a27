"""Files that get the result of a command, each in a format of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glacierbase.errors import GlacierbaseError, collected
from glacierbase.model.spelling import did_you_mean
from glacierbase.output.documents import Outcome
from glacierbase.output.formats import FORMATS
from glacierbase.run.files import FileRefused, check_replaceable, replace_file, writing


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to write."""

    format: str
    path: Path


def output_files(values: Sequence[str]) -> tuple[OutputFile, ...]:
    """Return the files that texts `FORMAT=PATH` name.

    Raises:
        ValueError: a text has another form, a format does not exist, a file is named twice or cannot be written.
    """
    files = tuple(map(_file, values))
    seen: set[str] = set()
    for each in files:
        real = os.path.realpath(each.path)
        if real in seen:
            raise ValueError(f"{each.path} is named twice")
        seen.add(real)
        try:
            check_replaceable(each.path)
        except FileRefused as error:
            raise ValueError(f"{each.path} {error.what}; {error.hint}") from error
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


def write_files(files: Sequence[OutputFile], outcome: Outcome) -> list[GlacierbaseError]:
    """Write the result into each file, in place of what it holds, and return the errors."""
    errors: list[GlacierbaseError] = []
    for file in files:
        with collected(errors), writing(file.path, state=""):
            text = FORMATS[file.format](outcome)
            replace_file(file.path, f"{text}\n" if text else "")
    return errors
