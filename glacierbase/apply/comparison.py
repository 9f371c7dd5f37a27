"""Compare the columns that files declare with those of the tables that exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from glacierbase.errors import StatementRefused, TableNotFound
from glacierbase.executors import Executor, Session
from glacierbase.executors.columns import described_columns
from glacierbase.model.columns import ColumnDifference
from glacierbase.sql.column_types import normalised
from glacierbase.sql.cursor import NotUnderstood
from glacierbase.sql.declared_columns import DeclaredColumn
from glacierbase.sql.declared_tables import Declared


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found.

    Attributes:
        missing: the tables and views that do not exist.
        differences: by the version of the file that creates the table.
        not_compared: a sentence for each table or view whose columns were not compared.
    """

    missing: tuple[str, ...] = ()
    differences: Mapping[str, tuple[ColumnDifference, ...]] = field(default_factory=dict)
    not_compared: tuple[str, ...] = ()

    @property
    def all_differences(self) -> tuple[ColumnDifference, ...]:
        return tuple(difference for found in self.differences.values() for difference in found)


def compare(executor: Executor, tables: Sequence[Declared]) -> Comparison:
    """Look up each table, and compare its columns where the files declare them. Changes nothing."""
    missing: list[str] = []
    differences: dict[str, tuple[ColumnDifference, ...]] = {}
    not_compared: list[str] = []
    for table in tables:
        try:
            found = _compare(executor, table)
            if found:
                differences[table.version] = (*differences.get(table.version, ()), *found)
        except TableNotFound:
            missing.append(table.name)
        except NotUnderstood as error:
            not_compared.append(f"columns not compared: {table.name} ({error})")
    return Comparison(tuple(missing), differences, tuple(not_compared))


def _compare(executor: Executor, table: Declared) -> tuple[ColumnDifference, ...]:
    """Return the differences of one table.

    Raises:
        TableNotFound: it does not exist.
        NotUnderstood: its columns, or those that the files declare, are not known.
    """
    with closing(executor.open_session()) as session:
        for use in table.uses:
            session.execute(use)
        session.query(f"SELECT 1 FROM {table.name} LIMIT 0")
        if table.columns is None:
            raise NotUnderstood(table.why)
        actual = _actual(session, executor.dialect, table.name)
    return tuple(_differences(table.name, table.columns, actual))


def _actual(session: Session, dialect: str, table: str) -> dict[str, str]:
    """Return the types of the table's columns by name, in one spelling."""
    try:
        found = described_columns(session, dialect, table)
    except StatementRefused as error:
        raise NotUnderstood(f"the engine does not describe it: {error.message}") from error
    if not found:
        raise NotUnderstood("the engine does not describe it")
    lower = dialect == "spark"
    return {name.lower() if lower else name: normalised(spelling, dialect) for name, spelling in found}


def _differences(
    table: str, declared: Mapping[str, DeclaredColumn], actual: Mapping[str, str]
) -> Iterator[ColumnDifference]:
    for name, column in declared.items():
        if actual.get(name) not in column.types:
            yield ColumnDifference(table, name, column.types[0], actual.get(name))
    for name, spelling in actual.items():
        if name not in declared:
            yield ColumnDifference(table, name, None, spelling)
