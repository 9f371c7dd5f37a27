"""The migration file that creates a table like one that exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from glacierbase.declared.render import Written, table_name
from glacierbase.declared.writer import explained
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.new_files import as_template, file_words, new_migration, write_migration
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Shape
from glacierbase.record.template_names import template_of
from glacierbase.sql.dialects import SPARK

# Namespaces that every catalog of such a name has.
_GIVEN = ("default", "PUBLIC")
# A version above those of all files.
_ABOVE_ALL = 10**20


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


def file_text(
    target: CatalogRun,
    statements: Sequence[str],
    not_exact: Sequence[str],
    names: Mapping[str, str],
    kind: str = "table",
) -> str:
    """Return what a file holds below its headers. No text in it is read as a template but `names`: those of tables."""
    notes = [
        f"Written by `import tables` from the {kind} of environment {target.catalog.environment}.",
        *(["`baseline` records it there. Other environments run it."] if kind == "table" else []),
        *(f"Not exact: {what}" for what in not_exact),
    ]
    head = as_template("\n".join(f"-- {on_one_line(note)}" for note in notes))
    return "\n\n".join([head, *(template_of(f"{explained(statement)};", names) for statement in statements)]) + "\n"


def new_table_file(target: CatalogRun, table: str, sql: str, author: str, number: int) -> Migration:
    """Return the migration that the file will be, with a version above all others and this number, to check it."""
    root, description = Path(target.run.project), description_of(table)
    path = root / _folder(target) / f"{_ABOVE_ALL + number}_{file_words(description)}.sql"
    return new_migration(path, root, description, author, target.catalog.required_headers, sql)


def write_table_file(target: CatalogRun, table: str, sql: str, author: str) -> str:
    """Write the file, which was checked, and return its path relative to the project. Raises as `write_migration` does."""
    root = Path(target.run.project)
    headers, versions = target.catalog.required_headers, target.catalog.versions
    path = write_migration(
        root / _folder(target), root, description_of(table), author, sql=sql, headers=headers, versions=versions,
        check=lambda _: None, is_only=True,
    )  # fmt: skip
    return path.relative_to(root).as_posix()


def planned_path(target: CatalogRun, table: str) -> str:
    """Return the path that the file would have, with VERSION in place of the version."""
    return (_folder(target) / f"VERSION_{file_words(description_of(table))}.sql").as_posix()


def description_of(table: str) -> str:
    """Return the description of the file. One with a brace could begin an expression of a template."""
    return f"Create {on_one_line(table).replace('{', '(').replace('}', ')')}"


def _folder(target: CatalogRun) -> Path:
    return Path("migrations", target.catalog.stem)
