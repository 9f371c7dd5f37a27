"""Read what a squash is made from: the statements that ran in one environment, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from glacierbase.capabilities.authoring.squash.effects import Effect, EffectKind, effect
from glacierbase.declared.render import Written
from glacierbase.declared.writer import creation
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFileError, TableNotFound
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.history.records import History
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted, quoted
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.file import named

KEEP = "keep the files: a new environment runs them all"


@dataclass(frozen=True, slots=True)
class SquashedStatement:
    """A statement that ran in this environment, and its effect.

    Attributes:
        tables: the qualified names of those whose shape it may change; a renamed one under both names.
    """

    version: str
    sql: str
    effect: Effect
    tables: tuple[str, ...] = ()


def refused(what: str, hint: str, lines: Sequence[str] = (), **data: Any) -> HistoryDisagrees:
    """Return the error for files that cannot be squashed here.

    Args:
        lines: details, below the first line of the message.
    """
    return HistoryDisagrees("SQUASH_REFUSED", (f"{what}; nothing was written", *lines), hint, **data)


def statements_ran(target: CatalogRun, files: Sequence[Migration], history: History) -> tuple[SquashedStatement, ...]:
    """Return all statements of the history, in order of version.

    Raises:
        HistoryDisagrees: one of them may have changed a table that it does not name.
    """
    if target.dialect != SPARK.name:
        what = f"catalog {target.catalog.name} runs on {target.dialect}; squash reads Iceberg tables of Spark catalogs only"
        raise refused(what, KEEP)
    ran = [
        statement for text, version in _texts(target, files, history) for statement in _of_file(target, text, version)
    ]
    unknown = [statement for statement in ran if statement.effect.kind is EffectKind.UNKNOWN]
    if unknown:
        raise refused(
            "these statements may have changed tables, but squash does not understand which",
            "squash to a version below the first of them",
            quoted("\n".join(f"{statement.version}: {' '.join(statement.sql.split())[:100]}" for statement in unknown)),
            versions=sorted({statement.version for statement in unknown}),
        )
    return tuple(ran)


@dataclass(frozen=True, slots=True)
class SquashedTable:
    """A table, and the statements that create it or the nearest one."""

    shape: Shape
    made: Written


def tables_of(target: CatalogRun, ran: Sequence[SquashedStatement]) -> tuple[SquashedTable, ...]:
    """Return each table that the statements changed and that exists, in order of name.

    Raises:
        HistoryDisagrees: tables cannot be read, or no statement creates them; it names all of them.
    """
    read_ids: set[str | None] = set()
    tables: list[SquashedTable] = []
    wrong: dict[str, str] = {}
    with closing(ShapeReader(target.catalog)) as reader:
        for table in sorted({table for statement in ran for table in statement.tables}):
            try:
                shape = reader.read(table)
            except (ConfigurationError, TableNotFound) as error:
                if isinstance(error, ConfigurationError) and error.code != "STORE_NOT_ICEBERG":
                    raise
                wrong[table] = error.message
                continue
            if shape is None or shape.uuid in read_ids:  # Some catalogs ignore the case of names.
                continue
            read_ids.add(shape.uuid)
            made = creation(shape)
            tables.append(SquashedTable(shape, made))
            if not made.statements:
                wrong[shape.table] = "; ".join(made.not_exact)
    if wrong:
        what = (
            f"no statements create {counted(len(wrong), 'table')}; squash reads Iceberg tables through PyIceberg only"
        )
        lines = quoted("\n".join(f"{table}: {why}" for table, why in wrong.items()))
        raise refused(what, KEEP, lines, tables=list(wrong))
    return tuple(tables)


def missing_tables(ran: Sequence[SquashedStatement], shapes: Sequence[Shape]) -> list[str]:
    """Return the tables that do not exist although no statement dropped or renamed them, in order of name."""
    # Some catalogs ignore the case of names.
    names = {table.casefold(): table for statement in ran for table in statement.tables}
    removed = {statement.tables[0].casefold() for statement in ran if statement.effect.removes}
    return sorted(names[name] for name in names.keys() - removed - {shape.table.casefold() for shape in shapes})


def _texts(target: CatalogRun, files: Sequence[Migration], history: History) -> Iterator[tuple[str, str]]:
    """Yield the text that ran, and its version."""
    by_number = {file.number: file for file in files}
    for record in history.versions:
        sql = record.started.rendered_sql
        if sql is None and record.number in by_number:
            [compiled] = target.compile([by_number[record.number]])
            sql = compiled.text
        yield sql or "", record.version


def _of_file(target: CatalogRun, sql: str, version: str) -> Iterator[SquashedStatement]:
    try:
        statements = split_statements(sql, target.dialect)
    except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
        yield SquashedStatement(version, sql, Effect(EffectKind.UNKNOWN))
        return
    for statement in named(statements, target.dialect, target.catalog):
        change = effect(statement.parsed)
        names = [name for _, name in statement.names] if change.kind is EffectKind.TABLE else []
        if not all(name and f"spark.sql.catalog.{name_parts(name)[0]}" in target.catalog.spark_conf for name in names):
            change = Effect(EffectKind.UNKNOWN)
        yield SquashedStatement(version, statement.statement.text, change, tuple(filter(None, names)))
