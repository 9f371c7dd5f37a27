"""The difference between two shapes as Spark SQL: the statements that turn one into the other, and what they cannot say.

https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glacierbase.model.names import spark_identifier
from glacierbase.model.shape import PartitionField, Shape, SortField
from glacierbase.sql.column_alters import ColumnAlters
from glacierbase.sql.creates import literal, path, sort_key, table_name, transformed

# Set by the engine, or not a property of the table that a statement may set.
_NOT_SET = ("owner", "comment")
# What ORDERED BY and UNORDERED change besides the sort order.
_DISTRIBUTION = "write.distribution-mode"


@dataclass(frozen=True, slots=True)
class Alters:
    """How one shape becomes another.

    Attributes:
        statements: in the order in which they run, without semicolons.
        impossible: what no statement does.
    """

    statements: tuple[str, ...]
    impossible: tuple[str, ...] = ()


def alter_statements(before: Shape, after: Shape) -> Alters:
    """Return the statements that give a table of the shape `before` the shape `after`.

    Columns are the same if their field ids are. The name of the table stays, and so do ids that a statement gives.
    """
    columns = ColumnAlters(before.columns, after.columns)
    texts = [
        *_drop_identifiers(before, after, columns),
        *_drop_partitions(before, after, columns),
        *(["WRITE UNORDERED"] if _sorts_by_dropped(before, columns) else []),
        *columns.clauses,
        *_add_partitions(before, after, columns),
        *_sort(before, after, columns),
        *_set_identifiers(before, after, columns),
        *_properties(before, after, columns),
    ]
    table = table_name(before.table)
    statements = [f"ALTER TABLE {table} {text}" for text in texts]
    comments = [each.properties.get("comment") or "" for each in (before, after)]
    if comments[0] != comments[1]:
        statements.append(f"COMMENT ON TABLE {table} IS {literal(comments[1])}")
    return Alters(tuple(statements), (*columns.impossible, *_impossible(before, after, columns)))


def _drop_identifiers(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    """Yield first what no column identifies afterwards: Iceberg refuses to drop such a column, or to let it be null."""
    kept = {columns.after.keys[each] for each in after.identifiers}
    if gone := [each for each in before.identifiers if columns.before.keys[each] not in kept]:
        yield f"DROP IDENTIFIER FIELDS {', '.join(map(path, gone))}"


def _set_identifiers(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    if {columns.after.keys[each] for each in after.identifiers} - {
        columns.before.keys[each] for each in before.identifiers
    }:
        yield f"SET IDENTIFIER FIELDS {', '.join(map(path, after.identifiers))}"


def _sorts_by_dropped(before: Shape, columns: ColumnAlters) -> bool:
    """Return whether the sort order names a column that is dropped, which Iceberg refuses."""
    return any(columns.before.keys[each.source] not in columns.after.by_key for each in before.sorting)


_Field = tuple[str, "int | str", str]


def _fields(shape: Shape, columns: dict[str, int | str]) -> dict[_Field, PartitionField]:
    """Return the fields that partition, by what makes one the same: name, column and transform."""
    return {(each.name, columns.get(each.source, each.source), each.transform): each for each in shape.partitioning}


def _drop_partitions(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    kept = _fields(after, columns.after.keys)
    for key, each in _fields(before, columns.before.keys).items():
        if key not in kept:
            yield f"DROP PARTITION FIELD {spark_identifier(each.name)}"


def _add_partitions(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    known = _fields(before, columns.before.keys)
    for key, each in _fields(after, columns.after.keys).items():
        if key not in known:
            yield f"ADD PARTITION FIELD {transformed(each)} AS {spark_identifier(each.name)}"


def _sort(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    if _keys(before.sorting, columns.before.keys) == _keys(after.sorting, columns.after.keys):
        return
    if after.sorting:
        yield f"WRITE LOCALLY ORDERED BY {', '.join(map(sort_key, after.sorting))}"
    elif not _sorts_by_dropped(before, columns):
        yield "WRITE UNORDERED"


def _keys(fields: tuple[SortField, ...], columns: dict[str, int | str]) -> list[tuple[object, ...]]:
    return [(columns.get(each.source, each.source), each.transform, each.direction, each.nulls) for each in fields]


def _properties(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    old, new = dict(before.properties), dict(after.properties)
    if (before.sorting and not after.sorting) or _sorts_by_dropped(before, columns):
        old[_DISTRIBUTION] = "none"  # By WRITE UNORDERED.
    wanted = {key: value for key, value in new.items() if old.get(key) != value and key not in _NOT_SET}
    if (after.format_version or 0) > (before.format_version or 0):
        wanted = {"format-version": str(after.format_version), **wanted}
    if wanted:
        yield f"SET TBLPROPERTIES ({', '.join(f'{literal(key)} = {literal(value)}' for key, value in wanted.items())})"
    if gone := [key for key in old if key not in new and key not in _NOT_SET]:
        yield f"UNSET TBLPROPERTIES ({', '.join(map(literal, gone))})"


def _impossible(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    if (after.format_version or 0) < (before.format_version or 0):
        yield f"the format version cannot go back from {before.format_version} to {after.format_version}"
    if before.format != after.format:
        yield f"the table cannot change from {before.format} to {after.format}"
    kept, wanted = _fields(before, columns.before.keys), _fields(after, columns.after.keys)
    ends_as = [*(key for key in kept if key in wanted), *(key for key in wanted if key not in kept)]
    if ends_as != list(wanted):
        yield "the order of the partition fields cannot change"
