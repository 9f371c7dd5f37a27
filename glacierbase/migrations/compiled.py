"""Compile migrations: render them for one environment and split them into statements. Nothing is contacted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.statements import split_statements
from glacierbase.migrations.substitution import Substituted, substituted
from glacierbase.migrations.transactions import Step, steps
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration, Statement, checksum

if TYPE_CHECKING:
    from glacierbase.sql.file import Named

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Compiled:
    """A migration compiled for one environment. The lines of the statements are lines of the file.

    Attributes:
        text: the rendered text.
        checksum: of the rendered text.
        steps: the statements; those of one transaction are one step.
        dialect: of their SQL.
        substituted: what the engine would replace in them, or could.
        catalog: that they run in; None where only their text matters.
    """

    migration: Migration
    text: str
    checksum: str
    steps: tuple[Step, ...]
    dialect: str
    substituted: tuple[Substituted, ...] = ()
    catalog: Catalog | None = field(default=None, repr=False, compare=False)

    @cached_property
    def named(self) -> tuple[Named, ...]:
        """The statements with what they do and the tables that they change; read when it is needed first."""
        from glacierbase.sql.file import named  # Only what runs needs the grammar.

        return named(self.statements, self.dialect, self.catalog)

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(statement for step in self.steps for statement in step)

    @property
    def statement_checksums(self) -> tuple[str, ...]:
        return tuple(statement.checksum for statement in self.statements)


class TemplateNames(Protocol):
    """The attributes of a `Catalog` that templates can use."""

    @property
    def name(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def variables(self) -> Mapping[str, Any]: ...


def compile_migration(migration: Migration, catalog: TemplateNames, dialect: str) -> Compiled:
    """Render and split one file.

    Raises:
        MigrationFileError: an error in its template or its SQL; the message names file and line.
        SeveralErrors: several errors.
    """
    from glacierbase.migrations.render import render  # Imports Jinja, which is not needed if nothing is pending.

    rendered = render(migration, catalog.variables, catalog.environment, catalog.name)
    starts = [0, *(end.end() for end in _LINE_END.finditer(rendered.text))]

    def file_line(line: int, column: int) -> int:
        return rendered.file_line(starts[line - 1] + column - 1)

    compiled = _split(migration, rendered.text, dialect, file_line)
    return replace(compiled, catalog=catalog) if isinstance(catalog, Catalog) else compiled


def split_file(file: Migration, dialect: str) -> Compiled:
    """Split a file that is no template.

    Raises:
        MigrationFileError: an error in its SQL; the message names file and line.
    """
    return _split(file, file.text, dialect, lambda line, _column: line)


def _split(migration: Migration, text: str, dialect: str, file_line: Callable[[int, int], int]) -> Compiled:
    try:
        found = steps(split_statements(text, dialect), dialect)
    except MigrationFileError as error:
        raise _in_file(error, migration.location, file_line(error.data["line"], error.data["column"])) from error
    placed = tuple(tuple(replace(each, line=file_line(each.line, each.column)) for each in step) for step in found)
    marked = (mark for step in found for each in step if (mark := substituted(each, dialect)))
    in_file = tuple(replace(mark, line=file_line(mark.line, mark.column)) for mark in marked)
    return Compiled(migration, text, checksum(text.encode()), placed, dialect, in_file)


def _in_file(error: MigrationFileError, location: str, line: int) -> MigrationFileError:
    """Return an error in rendered text as one on a line of the file."""
    message = f"{location}, line {line}: {error.message.partition(': ')[2]}"
    return MigrationFileError(error.code, message, error.hint, path=location, line=line, column=error.data["column"])


def compile_all(migrations: Iterable[Migration], catalog: TemplateNames, dialect: str) -> Mapping[int, Compiled]:
    """Render and split files, and return them by version number.

    Raises:
        MigrationFileError, SeveralErrors: all errors in all files.
    """
    compiled: dict[int, Compiled] = {}
    errors: list[GlacierbaseError] = []
    for migration in migrations:
        with collected(errors):
            compiled[migration.number] = compile_migration(migration, catalog, dialect)
    raise_all(errors)
    return compiled
