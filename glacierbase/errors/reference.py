"""The reference entries of all error codes, for `glacierbase explain` and the documentation. Their texts are Markdown files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from glacierbase import errors
from glacierbase.errors import GlacierbaseError, Interrupted
from glacierbase.prose import sections

# The files of this folder: the project first, then its files, then what a run meets.
_FAMILIES = ("project", "catalogs", "migrations", "sql", "review", "history", "tables", "lock", "engine")


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """The reference entry of one error code.

    Attributes:
        code: stable name in capitals.
        errors: the exception classes that carry the code.
        meaning: what happened, and the state of files, history and tables now. Its first sentence is a summary.
        example: the error as text, with its hint.
        remedy: the steps to take, in order.
    """

    code: str
    errors: tuple[type[GlacierbaseError], ...]
    meaning: str
    example: str
    remedy: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first sentence of `meaning`."""
        return self.meaning.partition(". ")[0].removesuffix(".") + "."

    @property
    def exit_codes(self) -> tuple[int, ...]:
        """The exit codes of `errors`, ascending."""
        return tuple(sorted({code for error in self.errors for code in _exit_codes(error)}))


def _exit_codes(error: type[GlacierbaseError]) -> tuple[int, ...]:
    # 128 and the number of SIGHUP, SIGINT or SIGTERM.
    return (129, 130, 143) if error is Interrupted else (error.exit_code,)


def _entries() -> Iterator[ErrorEntry]:
    for family in _FAMILIES:
        for code, (classes, meaning, example, *remedy) in sections(Path(__file__).with_name(f"{family}.md")):
            names = classes.removeprefix("In Python: ").split(", ")
            yield ErrorEntry(code, tuple(getattr(errors, name) for name in names), meaning, example, tuple(remedy))


ENTRIES: Mapping[str, ErrorEntry] = MappingProxyType({entry.code: entry for entry in _entries()})
