"""Compile migrations: render them for one environment and split them into statements. Nothing is contacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.allows import WORD, allows_of
from glacierbase.migrations.statements import Step, split_statements, steps
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Key, Migration, Statement, checksum
from glacierbase.secrets import TooManySecrets, literal_secrets, register, resembles_secret
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.misread import misread
from glacierbase.sql.tokens import Source

if TYPE_CHECKING:
    from glacierbase.migrations.render import Rendered
    from glacierbase.sql.actions import ActionCall
    from glacierbase.sql.file import FileStatement


@dataclass(frozen=True, slots=True)
class MisreadText:
    """The first text of a statement that the engine would read in another way than its author means.

    Attributes:
        code, what, hint: of the error.
        index: the index of the statement in its file, from 1.
        line, column: from 1.
        text: the text itself.
    """

    code: str
    index: int
    line: int
    column: int
    text: str
    what: str
    hint: str


@dataclass(frozen=True)
class Compiled:
    """A migration compiled for one environment. The lines of the statements are lines of the file.

    Attributes:
        text: the rendered text.
        checksum: the checksum of the rendered text.
        steps: the statements; those of one transaction are one step.
        dialect: the dialect of their SQL.
        misread: what the engine would read in another way in them, or could.
        catalog: that they run in; None where only their text matters.
    """

    migration: Migration
    text: str
    checksum: str
    steps: tuple[Step, ...]
    dialect: str
    misread: tuple[MisreadText, ...] = ()
    catalog: Catalog | None = field(default=None, repr=False, compare=False)

    @cached_property
    def named(self) -> tuple[FileStatement, ...]:
        """The statements with what they do and the tables that they change; read at first use."""
        from glacierbase.sql.file import named  # Only what runs needs the grammar.

        return named(self.statements, self.dialect, self.catalog)

    def action(self, statement: Statement) -> ActionCall | None:
        """Return the action of glacierbase that a statement calls; None where it is for the engine.

        Raises:
            WrongCall: the call is not one that runs.
        """
        if "glacierbase" not in statement.text.lower():
            return None
        from glacierbase.sql.actions import action_call  # Most files do not need the grammar.

        return action_call(statement.text, self.dialect)

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
    compiled = (
        _rendered_and_split(migration, catalog, dialect) if _is_template(migration) else split_file(migration, dialect)
    )
    mask_secrets(migration.location, secrets_of(compiled))
    return replace(compiled, catalog=catalog) if isinstance(catalog, Catalog) else compiled


def secrets_of(compiled: Compiled) -> list[str]:
    """Return the literals in a file that look like secrets, and that no comment allows."""
    return [
        secret
        for statement in compiled.statements
        if _has_secret(statement)
        for secret in literal_secrets(statement.text)
    ]


def mask_secrets(location: str, secrets: Iterable[str]) -> None:
    """Mask these literals of a file in everything that the command prints, whether it refuses the file or not.

    Raises:
        MigrationFileError: there are too many of them.
    """
    try:
        for secret in secrets:
            register(secret)
    except TooManySecrets as error:
        what, hint = "more of it looks like secrets than can be masked", "remove them and revoke them"
        raise MigrationFileError("SECRET_IN_SQL", f"{location}, line 1: {what}", hint, path=location, line=1) from error


def _rendered_and_split(migration: Migration, catalog: TemplateNames, dialect: str) -> Compiled:
    rendered = _rendered(migration, catalog, dialect)
    starts = [0, *rendered.line_ends]

    def file_line(line: int, column: int) -> int:
        return rendered.file_line(starts[line - 1] + column - 1)

    return _split(migration, rendered.text, dialect, file_line)


def rendered_checksum(migration: Migration, catalog: TemplateNames, dialect: str) -> str:
    """Return the checksum of the text that a file renders to; it is not split.

    Raises:
        MigrationFileError, SeveralErrors: errors in its template.
    """
    text = _rendered(migration, catalog, dialect).text if _is_template(migration) else migration.text
    return checksum(text.encode())


def _is_template(migration: Migration) -> bool:
    """Return whether rendering may change the text: templates have no comments and no line statements."""
    return "{{" in migration.text or "{%" in migration.text


def _rendered(migration: Migration, catalog: TemplateNames, dialect: str) -> Rendered:
    from glacierbase.migrations.render import render  # Imports Jinja, which most files do not need.

    return render(migration, catalog.variables, catalog.environment, catalog.name, dialect)


def split_file(file: Migration, dialect: str) -> Compiled:
    """Split a file that is not a template.

    Raises:
        MigrationFileError: an error in its SQL; the message names file and line.
    """
    return _split(file, file.text, dialect, lambda line, _column: line)


def _split(migration: Migration, text: str, dialect: str, file_line: Callable[[int, int], int]) -> Compiled:
    try:
        file_steps = steps(split_statements(text, dialect), dialect)
    except MigrationFileError as error:
        raise _in_file(error, migration.location, file_line(error.data["line"], error.data["column"])) from error
    placed = tuple(
        tuple(replace(statement, line=file_line(statement.line, statement.column)) for statement in step)
        for step in file_steps
    )
    marked = (mark for step in file_steps for statement in step if (mark := _mark(statement, dialect)))
    in_file = tuple(replace(mark, line=file_line(mark.line, mark.column)) for mark in marked)
    return Compiled(migration, text, checksum(text.encode()), placed, dialect, in_file)


def _in_file(error: MigrationFileError, location: str, line: int) -> MigrationFileError:
    """Return an error in rendered text as one on a line of the file."""
    message = f"{location}, line {line}: {error.message.partition(': ')[2]}"
    return MigrationFileError(error.code, message, error.hint, path=location, line=line, column=error.data["column"])


def compile_all(migrations: Iterable[Migration], catalog: TemplateNames, dialect: str) -> Mapping[Key, Compiled]:
    """Render and split files, and return them by key.

    Raises:
        MigrationFileError, SeveralErrors: all errors in all files.
    """
    compiled: dict[Key, Compiled] = {}
    errors: list[GlacierbaseError] = []
    for migration in migrations:
        with collected(errors):
            compiled[migration.key] = compile_migration(migration, catalog, dialect)
    raise_all(errors)
    return compiled


def _mark(statement: Statement, dialect: str) -> MisreadText | None:
    """Return the first text of a statement that is misread; line and column are those of the rendered text."""
    text = misread(dialect_of(dialect), statement.text)
    if text is None:
        return None
    line, column = Source(statement.text).place(text.at)
    column += statement.column - 1 if line == 1 else 0
    return MisreadText(text.code, statement.index, statement.line + line - 1, column, *text[2:])


def refused_secret(compiled: Compiled, resumes_at: int = 1, or_else: str = "") -> MigrationFileError | None:
    """Return the error for the first literal that looks like a secret in the statements to run, or None.

    It is that of the rule FL113 of `lint`, and a comment that allows the rule allows it here.

    Args:
        resumes_at: the index of the first statement that is to run.
        or_else: another way out, for the hint.
    """
    for statement in compiled.statements[resumes_at - 1 :]:
        if _has_secret(statement):
            location, line = compiled.migration.location, statement.line
            return MigrationFileError(
                "SECRET_IN_SQL",
                f"{location}, line {line}: this statement has what looks like a secret; it would be recorded and printed",
                f"remove it and revoke it, or write above the statement, if it is none: -- {WORD}: FL113 why{or_else}",
                path=location,
                line=line,
            )
    return None


def _has_secret(statement: Statement) -> bool:
    """Return whether a statement has a literal that looks like a secret, and that no comment allows."""
    is_allowed = any(allow.code == "FL113" and allow.reason for allow in allows_of([statement]))
    return not is_allowed and resembles_secret(statement.text)


def refused_action(compiled: Compiled, resumes_at: int = 1, or_else: str = "") -> MigrationFileError | None:
    """Return the error for the first wrong call of an action of glacierbase in the statements to run, or None.

    Args:
        resumes_at: the index of the first statement that is to run.
        or_else: another way out, for the hint.
    """
    if "glacierbase" not in compiled.text.lower():
        return None
    from glacierbase.sql.actions import WrongCall  # Most files do not need the grammar.

    for statement in compiled.statements[resumes_at - 1 :]:
        try:
            compiled.action(statement)
        except WrongCall as wrong:
            location, line = compiled.migration.location, statement.line
            return MigrationFileError(
                "WRONG_ACTION",
                f"{location}, line {line}: this call of an action of glacierbase cannot run: {wrong}",
                f"correct the call; `{command('explain', 'WRONG_ACTION')}` lists the actions{or_else}",
                path=location,
                line=line,
                statement_index=statement.index,
            )
    return None


def refused_misreading(
    location: str, marks: Iterable[MisreadText], resumes_at: int = 1, or_else: str = ""
) -> MigrationFileError | None:
    """Return the error for the first misread text in the statements to run, or None.

    Args:
        location: the location of the file.
        resumes_at: the index of the first statement that is to run.
        or_else: another way out, for the hint.
    """
    mark = next((mark for mark in marks if mark.index >= resumes_at), None)
    if mark is None:
        return None
    return MigrationFileError(
        mark.code,
        f"{location}, line {mark.line}, column {mark.column}: {mark.what}",
        f"{mark.hint}{or_else}",
        path=location,
        line=mark.line,
        column=mark.column,
    )
