"""The migration file that creates a table like one that exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from glacierbase.history.opening import Target
from glacierbase.migrations.new_files import as_template, file_words, write_migration
from glacierbase.model.escape import on_one_line
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Shape
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.render import Written, table_name

# Namespaces that every catalog of such a name has.
_GIVEN = ("default", "PUBLIC")


def statements_of(shape: Shape, creation: Written, dialect: str) -> tuple[str, ...]:
    """Return the statements that create a table, and before them its namespace."""
    return (*_namespaces(shape.table, dialect), *creation.statements)


def _namespaces(table: str, dialect: str) -> Iterator[str]:
    """Yield a statement for each namespace above a table, the outer one first."""
    catalog, *levels, _ = name_parts(table) if dialect == SPARK.name else table.split(".")
    for count in range(1, len(levels) + 1):
        if levels[:count] in ([given] for given in _GIVEN):
            continue
        if dialect == SPARK.name:
            yield f"CREATE NAMESPACE IF NOT EXISTS {table_name(name_of((catalog, *levels[:count])))}"
        else:
            yield f"CREATE SCHEMA IF NOT EXISTS {'.'.join((catalog, *levels[:count]))}"


def file_text(target: Target, statements: Sequence[str], not_exact: Sequence[str], kind: str = "table") -> str:
    """Return what a file holds below its headers. No text in it is read as a template."""
    notes = [
        f"Written by `import tables` from the {kind} of environment {target.catalog.environment}.",
        *(["`baseline` records it there. Other environments run it."] if kind == "table" else []),
        *(f"Not exact: {what}" for what in not_exact),
    ]
    parts = ["\n".join(f"-- {on_one_line(note)}" for note in notes), *(f"{statement};" for statement in statements)]
    return as_template("\n\n".join(parts)) + "\n"


def write_table_file(target: Target, table: str, sql: str, author: str) -> str:
    """Write the file, and return its path relative to the project. Raises as `write_migration` does."""
    root = Path(target.run.project)
    headers, versions = target.catalog.required_headers, target.catalog.versions
    folder, description = root / _folder(target), description_of(table)
    path = write_migration(folder, root, description, author, sql=sql, headers=headers, versions=versions, is_only=True)
    return path.relative_to(root).as_posix()


def planned_path(target: Target, table: str) -> str:
    """Return the path that the file would have, with VERSION in place of the version."""
    return (_folder(target) / f"VERSION_{file_words(description_of(table))}.sql").as_posix()


def description_of(table: str) -> str:
    """Return the description of the file. One with a brace could begin an expression of a template."""
    return f"Create {on_one_line(table).replace('{', '(').replace('}', ')')}"


def _folder(target: Target) -> Path:
    return Path("migrations", target.catalog.stem)
