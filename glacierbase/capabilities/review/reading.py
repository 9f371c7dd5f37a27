"""Read the statements of a catalog's files for `review`, with the summaries of base files in the user's cache.

The summary of a base file depends on its text and on what renders it. That of a new file also depends on what the base declares of
its tables: the files that declare them are read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from glacierbase import __version__
from glacierbase.capabilities.review.examine import DECLARE
from glacierbase.capabilities.review.lint import context_facts
from glacierbase.capabilities.review.statements import SUMMARIZE, FileSummary, ReadFile
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.worker import Examiner
from glacierbase.model.catalog import Catalog
from glacierbase.model.codec import InvalidDocument, from_json
from glacierbase.model.migration import Migration
from glacierbase.run.cache import digest
from glacierbase.run.sealed import SealedFolder
from glacierbase.sql.dialects import DIALECTS

# The version of the content of an entry.
_FORMAT = 1
# An entry is for one catalog in one environment.
_MOST_KEPT = 100
_Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file of a catalog.

    Attributes:
        is_new: whether the base lacks it.
        is_template: whether it is rendered.
    """

    migration: Migration
    is_new: bool
    is_template: bool = True


def read_files(sandbox: Sandbox, catalog: Catalog, files: Sequence[FileToRead]) -> Iterator[tuple[FileSummary, bool]]:
    """Yield files in their order, each with `is_new`. Earlier files of the catalog declare the tables of later ones.

    Raises:
        MigrationFileError, SeveralErrors: as `Sandbox.walk`, after the last file.
    """
    kept = _KeptAnswers(catalog)
    summaries = {number: known for number, file in enumerate(files) if (known := kept.summary(file))}
    errors: list[GlacierbaseError] = []

    def read(numbers: Collection[int], declaring: Collection[int] = ()) -> None:
        with collected(errors):
            for number, answer in _answers(sandbox, catalog, files, numbers, declaring):
                summaries[number] = _summary(files[number].migration, answer)
                kept.add(files[number], answer)

    is_whole = not summaries
    read([number for number in range(len(files)) if number not in summaries])
    if not is_whole and (declaring := _declaring(files, summaries)):
        read([number for number in summaries if files[number].is_new], declaring)
    kept.write()
    yield from ((summaries[number], files[number].is_new) for number in sorted(summaries))
    raise_all(errors)


def _answers(
    sandbox: Sandbox,
    catalog: Catalog,
    files: Sequence[FileToRead],
    numbers: Collection[int],
    declaring: Collection[int],
) -> Iterator[tuple[int, _Answer]]:
    """Yield the worker's answers for the files of these numbers, after reading the declarations of others.

    Raises:
        MigrationFileError, SeveralErrors: as `Sandbox.walk`.
    """
    facts = context_facts(catalog)
    chosen = [(number, SUMMARIZE if number in numbers else DECLARE) for number in sorted({*numbers, *declaring})]
    to_read = [
        (files[number].migration, Examiner(function, facts, files[number].is_template)) for number, function in chosen
    ]
    numbered = {id(files[number].migration): number for number, _ in chosen}
    for migration, answer in sandbox.walk(to_read, catalog, catalog.dialect):
        yield numbered[id(migration)], answer


def _declaring(files: Sequence[FileToRead], summaries: Mapping[int, FileSummary]) -> list[int]:
    """Return the base files that may declare tables of new files, or after which nothing is known of any table."""
    names: set[str] = set()
    declaring: list[int] = []
    for number in sorted(summaries, reverse=True):
        steps = [step.summary for step in summaries[number].steps]
        named = {target[-1].casefold() for summary in steps for target in summary.targets}
        if files[number].is_new:
            names |= named
        elif names & named or any(summary.forgets for summary in steps):
            declaring.append(number)
            # Under its former name, the table is declared by files before.
            renames = (summary for summary in steps if summary.operation.startswith("rename_"))
            names |= {target[-1].casefold() for summary in renames for target in summary.targets}
    return declaring


class _KeptAnswers:
    """The worker's answers for base files, in the user's cache."""

    def __init__(self, catalog: Catalog) -> None:
        names = [catalog.name, catalog.environment, catalog.variables]
        what = [catalog.dialect, context_facts(catalog)]
        self._key = digest([_FORMAT, __version__, version("jinja2"), names, what])
        self._entries = SealedFolder("summaries", _MOST_KEPT)
        # The package that adds a dialect may read statements otherwise in its next version.
        self._is_kept = catalog.dialect in DIALECTS
        self._before = self._read() if self._is_kept else {}
        self._answers: dict[str, _Answer] = {}
        self._is_changed = False

    def _read(self) -> Mapping[str, _Answer]:
        with suppress(ValueError, RecursionError):
            answers = json.loads(self._entries.read(self._key))
            return answers if isinstance(answers, dict) else {}
        return {}

    def summary(self, file: FileToRead) -> FileSummary | None:
        """Return the summary of a base file; None where none is kept."""
        if file.is_new or (answer := self._before.get(_identity(file))) is None:
            return None
        with suppress(InvalidDocument):
            summary = _summary(file.migration, answer)
            self._answers[_identity(file)] = answer
            return summary
        return None

    def add(self, file: FileToRead, answer: _Answer) -> None:
        """Keep the answer for a base file."""
        if not file.is_new:
            self._answers[_identity(file)] = answer
            self._is_changed = True

    def write(self) -> None:
        """Write the answers, if there are new ones."""
        if self._is_kept and self._is_changed:
            self._entries.write(self._key, json.dumps(self._answers).encode())


def _identity(file: FileToRead) -> str:
    return f"{file.migration.location} {file.migration.checksum} {file.is_template}"


def _summary(migration: Migration, answer: _Answer) -> FileSummary:
    read = from_json(ReadFile, answer, "answer")
    return FileSummary(read.checksum, read.steps, migration)
