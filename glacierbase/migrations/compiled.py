"""Files made ready to run: rendered for one environment and split into statements, before anything is contacted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.statements import split_statements
from glacierbase.migrations.transactions import Step, steps
from glacierbase.model.migration import Migration, Statement, checksum

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Compiled:
    """One migration as one environment runs it. The lines of the statements are lines of the file.

    Attributes:
        steps: the statements, those that take effect together in one.
    """

    migration: Migration
    text: str
    checksum: str
    steps: tuple[Step, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(statement for step in self.steps for statement in step)

    @property
    def statement_checksums(self) -> tuple[str, ...]:
        return tuple(statement.checksum for statement in self.statements)


class TemplateNames(Protocol):
    """What a template may name: of a `Catalog`, rendering reads no more."""

    @property
    def name(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def variables(self) -> Mapping[str, Any]: ...


def compile_migration(migration: Migration, catalog: TemplateNames, dialect: str) -> Compiled:
    """Render and split one file.

    Raises:
        MigrationFileError: its template or its SQL is wrong; the message names file and line.
        SeveralErrors: several things in it are.
    """
    from glacierbase.migrations.render import render  # With Jinja, which nobody needs where nothing is pending.

    rendered = render(migration, catalog.variables, catalog.environment, catalog.name)
    starts = [0, *(end.end() for end in _LINE_END.finditer(rendered.text))]

    def file_line(line: int, column: int) -> int:
        return rendered.file_line(starts[line - 1] + column - 1)

    try:
        found = steps(split_statements(rendered.text, dialect), dialect)
    except MigrationFileError as error:
        line = file_line(error.data["line"], error.data["column"])
        raise MigrationFileError(
            error.code,
            f"{migration.location}, line {line}: {error.message.partition(': ')[2]}",
            error.hint,
            path=migration.location,
            line=line,
            column=error.data["column"],
        ) from error
    placed = tuple(tuple(replace(each, line=file_line(each.line, each.column)) for each in step) for step in found)
    return Compiled(migration, rendered.text, checksum(rendered.text.encode()), placed)


def compile_all(migrations: Iterable[Migration], catalog: TemplateNames, dialect: str) -> Mapping[int, Compiled]:
    """Render and split all files, by version number.

    Raises:
        MigrationFileError, SeveralErrors: all that is wrong in all of them.
    """
    compiled: dict[int, Compiled] = {}
    errors: list[GlacierbaseError] = []
    for migration in migrations:
        with collected(errors):
            compiled[migration.number] = compile_migration(migration, catalog, dialect)
    raise_all(errors)
    return compiled
