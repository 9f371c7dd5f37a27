"""ALTER TABLE: columns, properties, partition fields, write order, branches, tags, constraints, partitions.

https://iceberg.apache.org/docs/latest/spark-ddl/, https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-alter-table.html,
https://docs.delta.io/latest/delta-batch.html, https://hudi.apache.org/docs/sql_ddl,
https://docs.snowflake.com/en/sql-reference/sql/alter-table
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from glacierbase.sql.create import cluster_fields, column, column_list, column_type, constraint, expression, position
from glacierbase.sql.cursor import (
    Cursor,
    UnsupportedClause,
    if_exists,
    if_not_exists,
    listed_paths,
    partition,
    properties,
    sort_fields,
    transform,
)
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.statement import (
    AlterColumn,
    Constraint,
    DropColumn,
    Feature,
    Fields,
    Name,
    Options,
    ParsedStatement,
    Part,
    PartitionClause,
    Place,
    Reference,
    RenameColumn,
    SortClause,
    WriteOrder,
)

CONSTRAINTS = ("CONSTRAINT", "CHECK", "PRIMARY", "FOREIGN", "UNIQUE")


@dataclass(slots=True)
class Alteration:
    """The clauses of an ALTER that have been read.

    Attributes:
        operation: the operation of a clause without a part.
    """

    cursor: Cursor
    targets: list[Name]
    options: Options
    parts: list[Part] = field(default_factory=list)
    operation: str = ""

    def parsed(self) -> ParsedStatement:
        """Return what the statement does."""
        operations = {part.operation for part in self.parts} | ({self.operation} if self.operation else set())
        operation = operations.pop() if len(operations) == 1 else "several"
        return ParsedStatement(operation, tuple(self.targets), (), tuple(self.parts), self.options)


Clauses = Mapping[str, Callable[[Alteration], None]]


def alter_table(cursor: Cursor, options: Options, clauses: Clauses) -> ParsedStatement:
    """Read ALTER TABLE after the word TABLE, with the clauses of a dialect."""
    may_be_absent = if_exists(cursor)
    if may_be_absent and cursor.dialect is SPARK:
        cursor.note("ALTER TABLE IF EXISTS")  # Spark refuses it; other engines of its dialect may not.
    target = cursor.table()
    alteration = Alteration(cursor, [target], replace(options, if_exists=may_be_absent, partition=partition(cursor)))
    word = cursor.next()
    if word not in clauses:
        raise UnsupportedClause(f"ALTER TABLE … {word or 'without a clause'}")
    clauses[word](alteration)
    return alteration.parsed()


def _add(alteration: Alteration) -> None:
    cursor, place = alteration.cursor, alteration.cursor.place()
    if cursor.take("PARTITION", "FIELD"):
        alteration.parts.append(PartitionClause("add_partition_field", place, transform(cursor), _field_name(cursor)))
    elif cursor.take_any("COLUMN", "COLUMNS"):
        alteration.options = replace(alteration.options, if_not_exists=if_not_exists(cursor))
        alteration.parts += declared_columns(cursor, "add_column")
    elif cursor.word() in CONSTRAINTS:
        alteration.parts.append(constraint(cursor, "add_constraint"))
    else:
        alteration.options = replace(alteration.options, if_not_exists=if_not_exists(cursor))
        _partitions(alteration, "add_partition")


def _field_name(cursor: Cursor) -> str | None:
    return cursor.path()[0] if cursor.take("AS") else None


def _partitions(alteration: Alteration, operation: str) -> None:
    """Move past one or more `PARTITION (…)` with their locations."""
    spec = partition(alteration.cursor)
    if spec is None:
        raise UnsupportedClause(f"ALTER TABLE … {alteration.cursor.word()}")
    alteration.operation, alteration.options = operation, replace(alteration.options, partition=spec)
    cursor = alteration.cursor
    while cursor.word() not in ("", ";"):
        cursor.take(",")
        if cursor.take("LOCATION"):
            cursor.string()
        elif cursor.take("PURGE"):
            alteration.options = replace(alteration.options, purge=True)
        elif partition(cursor) is None:
            raise UnsupportedClause(f"{cursor.word()} after a partition")


def _drop(alteration: Alteration) -> None:
    cursor, place = alteration.cursor, alteration.cursor.place()
    if cursor.take("PARTITION", "FIELD"):
        alteration.parts.append(PartitionClause("drop_partition_field", place, transform(cursor)))
    elif cursor.take("IDENTIFIER", "FIELDS"):
        alteration.parts.append(Fields("drop_identifier_fields", place, _identifier_fields(cursor)))
    elif cursor.word() in ("BRANCH", "TAG"):
        alteration.parts.append(dropped_reference(cursor))
    elif cursor.take_any("COLUMN", "COLUMNS"):
        alteration.options = replace(alteration.options, if_exists=if_exists(cursor) or alteration.options.if_exists)
        alteration.parts += dropped_columns(cursor)
    elif cursor.word() in CONSTRAINTS:
        alteration.parts.append(dropped_constraint(alteration, place))
    elif cursor.take("FEATURE"):
        alteration.parts.append(_feature(cursor, place))
    elif cursor.word() in ("ROW", "DEFAULT"):
        other(alteration)
    else:
        alteration.options = replace(alteration.options, if_exists=if_exists(cursor) or alteration.options.if_exists)
        _partitions(alteration, "drop_partition")


def _identifier_fields(cursor: Cursor) -> tuple[str, ...]:
    if cursor.word() == "(":
        raise UnsupportedClause("identifier fields in parentheses")
    return listed_paths(cursor)


def dropped_constraint(alteration: Alteration, place: Place) -> Constraint:
    cursor, start, name = alteration.cursor, alteration.cursor.position, None
    if cursor.next() == "CONSTRAINT":
        alteration.options = replace(alteration.options, if_exists=if_exists(cursor) or alteration.options.if_exists)
        name = cursor.path()[0]
    else:
        cursor.take("KEY")
        alteration.options = replace(alteration.options, if_exists=if_exists(cursor) or alteration.options.if_exists)
        if cursor.word() == "(":
            cursor.parentheses()
    if cursor.take_any("CASCADE", "RESTRICT") == "CASCADE":
        alteration.options = replace(alteration.options, cascade=True)
    return Constraint("drop_constraint", place, name, cursor.text_since(start))


def _feature(cursor: Cursor, place: Place) -> Feature:
    name = cursor.string() if cursor.is_string() else cursor.path()[0]
    return Feature("other", place, name, cursor.take("TRUNCATE", "HISTORY"))


def rename(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.take("COLUMN"):
        alteration.parts.append(renamed_column(cursor))
        return
    if cursor.dialect is SNOWFLAKE and cursor.take("CONSTRAINT"):
        other(alteration)
        return
    cursor.expect("TO")
    if partition(cursor):
        alteration.operation = "other"
        return
    alteration.operation = "rename_table"
    alteration.targets.append(cursor.table())


def _alter(alteration: Alteration) -> None:
    alteration.parts += altered_columns(alteration.cursor)


def _replace(alteration: Alteration) -> None:
    cursor, place = alteration.cursor, alteration.cursor.place()
    if cursor.take("COLUMNS"):
        alteration.parts += declared_columns(cursor, "replace_columns")
    elif cursor.take("PARTITION", "FIELD"):
        old = transform(cursor)
        cursor.expect("WITH")
        new = transform(cursor)
        alteration.parts.append(
            PartitionClause("replace_partition_field", place, new, _field_name(cursor), replaces=old)
        )
    else:
        alteration.parts.append(created_reference(cursor, or_replace=True, creates=False))


def _create(alteration: Alteration) -> None:
    alteration.parts.append(created_reference(alteration.cursor, or_replace=alteration.cursor.take("OR", "REPLACE")))


def _set(alteration: Alteration) -> None:
    cursor, place = alteration.cursor, alteration.cursor.place()
    if cursor.take("TBLPROPERTIES"):
        alteration.operation = "set_properties"
        alteration.parts += properties(cursor, "set_properties")
    elif cursor.take("LOCATION"):
        alteration.operation, alteration.options = "set_location", replace(alteration.options, location=cursor.string())
    elif cursor.take("IDENTIFIER", "FIELDS"):
        alteration.parts.append(Fields("set_identifier_fields", place, _identifier_fields(cursor)))
    elif cursor.word() in ("SERDE", "SERDEPROPERTIES", "TAGS", "ROW", "OWNER", "MANAGED", "FILEFORMAT"):
        other(alteration)
    else:
        raise UnsupportedClause(f"ALTER TABLE … SET {cursor.word()}")


def _unset(alteration: Alteration) -> None:
    cursor = alteration.cursor
    if cursor.word() == "TAGS":
        other(alteration)
        return
    cursor.expect("TBLPROPERTIES")
    alteration.options = replace(alteration.options, if_exists=if_exists(cursor) or alteration.options.if_exists)
    alteration.operation = "unset_properties"
    alteration.parts += properties(cursor, "unset_properties")


def _write(alteration: Alteration) -> None:
    cursor = alteration.cursor
    while cursor.word() not in ("", ";"):
        place = cursor.place()
        if cursor.take("DISTRIBUTED", "BY", "PARTITION"):
            alteration.parts.append(WriteOrder("set_distribution", place, distribution="partition"))
        elif cursor.take("UNORDERED"):
            alteration.parts.append(WriteOrder("set_write_order", place))
        else:
            locally = cursor.take("LOCALLY")
            cursor.expect("ORDERED", "BY")
            fields: tuple[SortClause, ...] = tuple(sort_fields(cursor))
            alteration.parts.append(WriteOrder("set_write_order", place, fields, locally=locally))


def _recover(alteration: Alteration) -> None:
    alteration.cursor.expect("PARTITIONS")
    alteration.operation = "add_partition"


def cluster(alteration: Alteration) -> None:
    place = alteration.cursor.place()
    alteration.cursor.expect("BY")
    alteration.parts.append(Fields("cluster_by", place, cluster_fields(alteration.cursor)))


def other(alteration: Alteration) -> None:
    """Move past a clause without an operation in `OPERATIONS`, which is about this table only."""
    alteration.operation = "other"
    alteration.cursor.skip_to(";")


SPARK_CLAUSES: Clauses = {
    "ADD": _add, "DROP": _drop, "RENAME": rename, "ALTER": _alter, "CHANGE": _alter, "REPLACE": _replace,
    "CREATE": _create, "SET": _set, "UNSET": _unset, "WRITE": _write, "RECOVER": _recover, "CLUSTER": cluster,
    "OWNER": other, "ENABLE": other, "DISABLE": other, "INHERIT": other, "DEFAULT": other, "COMPACT": other,
    "TOUCH": other, "ARCHIVE": other, "UNARCHIVE": other, "CONCATENATE": other,
}  # fmt: skip


_END = ("", ",", ")", ";")
# How long branches, tags and their snapshots are kept, in milliseconds.
_UNITS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000}
# Words after the name of a column; any other word is the new name in Hive's CHANGE COLUMN.
_ACTIONS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", "SYNC", "UNSET", "DATA", "NOT")
# Words that begin an action even if the name before is one of `_ACTIONS`: `ALTER COLUMN type TYPE int`.
_STARTS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", ".")
_WITHOUT_WORD = (
    ("SYNC", "IDENTITY"), ("SET", "MASK"), ("DROP", "MASK"), ("SET", "TAGS"), ("UNSET", "TAGS"), ("SET", "TAG"), ("UNSET", "TAG"),
    ("SET", "MASKING"), ("UNSET", "MASKING"), ("SET", "PROJECTION"), ("UNSET", "PROJECTION"), ("UNSET", "COMMENT"),
)  # fmt: skip


def declared_columns(cursor: Cursor, operation: str) -> Iterator[Part]:
    """Yield the columns of ADD COLUMNS or REPLACE COLUMNS."""
    if cursor.word() == "(":
        yield from column_list(cursor, operation)
        return
    yield column(cursor, operation)
    while cursor.take(","):
        yield column(cursor, operation)


def dropped_columns(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of DROP COLUMNS."""
    enclosed = cursor.take("(")
    while True:
        yield dropped_column(cursor)
        if not cursor.take(","):
            break
    if enclosed:
        cursor.expect(")")


def dropped_column(cursor: Cursor) -> DropColumn:
    """Read the name of a column that is dropped."""
    place, name = cursor.place(), cursor.table()
    return DropColumn("drop_column", place, name.parts, name.key)


def renamed_column(cursor: Cursor) -> RenameColumn:
    """Read RENAME COLUMN after these words."""
    place, old = cursor.place(), cursor.table()
    cursor.expect("TO")
    new = cursor.table()
    if len(new.parts) > 1 and cursor.dialect is SPARK:
        raise UnsupportedClause("a dot in the new name of a column")
    return RenameColumn("rename_column", place, old.parts, new.parts[-1], old.key, new.key[-1])


def altered_columns(cursor: Cursor) -> Iterator[Part]:
    """Yield the changes of ALTER COLUMN and CHANGE COLUMN, of one column or more."""
    while True:
        if cursor.word() in ("COLUMN", "COLUMNS") and (cursor.word(1) not in _ACTIONS or cursor.word(2) in _STARTS):
            cursor.next()
        place, name = cursor.place(), cursor.table()
        if cursor.word() in _END:
            raise UnsupportedClause("ALTER COLUMN without an action")
        if cursor.word() not in _ACTIONS and cursor.dialect is SNOWFLAKE:
            yield AlterColumn("alter_column_type", place, name.parts, type=_type(cursor), key=name.key)
        elif cursor.word() not in _ACTIONS:
            yield from _hive(cursor, name)
        while cursor.word() not in _END:
            yield replace(_action(cursor, place, name.parts), key=name.key)
            if cursor.dialect is SPARK and cursor.word() not in _END:
                raise UnsupportedClause(f"{cursor.word()} after the change of a column")
        if not cursor.take(","):
            return


def _hive(cursor: Cursor, old: Name) -> Iterator[Part]:
    """Yield the changes of Hive's `CHANGE COLUMN name name type`, which repeats unchanged values."""
    new = column(cursor, "")
    if not new.nullable or new.default is not None:
        raise UnsupportedClause("NOT NULL or DEFAULT in CHANGE COLUMN")
    change = AlterColumn("alter_column_type", new.place, old.parts, key=old.key)
    yield replace(change, type=new.type)
    if new.comment is not None:
        yield replace(change, operation="alter_column_comment", comment=new.comment)
    if new.position is not None:
        yield replace(change, operation="alter_column_position", position=new.position)
    if new.key[-1] != old.key[-1]:
        yield RenameColumn("rename_column", new.place, old.parts, new.path[-1], old.key, new.key[-1])


def _action(cursor: Cursor, place: Place, path: tuple[str, ...]) -> AlterColumn:
    if cursor.take("TYPE") or cursor.take("SET", "DATA", "TYPE") or cursor.take("DATA", "TYPE"):
        return AlterColumn("alter_column_type", place, path, type=_type(cursor))
    if cursor.take("COMMENT"):
        return AlterColumn("alter_column_comment", place, path, comment=cursor.string())
    if cursor.take("SET", "NOT", "NULL") or cursor.take("NOT", "NULL"):
        return AlterColumn("alter_column_nullability", place, path, nullable=False)
    if cursor.take("DROP", "NOT", "NULL"):
        return AlterColumn("alter_column_nullability", place, path, nullable=True)
    if cursor.take("SET", "DEFAULT"):
        return AlterColumn("alter_column_default", place, path, default=expression(cursor))
    if cursor.take("DROP", "DEFAULT"):
        return AlterColumn("alter_column_default", place, path)
    where = position(cursor)
    if where is not None:
        return AlterColumn("alter_column_position", place, path, position=where)
    return _without_word(cursor, place, path)


def _type(cursor: Cursor) -> str:
    text = column_type(cursor)
    if not text:
        raise UnsupportedClause("TYPE without a type")
    return text


def _without_word(cursor: Cursor, place: Place, path: tuple[str, ...]) -> AlterColumn:
    """Move past an action without an operation in `OPERATIONS`: a mask, tags, SYNC IDENTITY."""
    words = (cursor.word(), cursor.word(1))
    if words not in _WITHOUT_WORD:
        raise UnsupportedClause(f"ALTER COLUMN … {words[0]}")
    cursor.skip_to(",", ")", ";")
    return AlterColumn("other", place, path)


def created_reference(cursor: Cursor, *, or_replace: bool, creates: bool = True) -> Reference:
    """Read CREATE or REPLACE of a branch or a tag after that word."""
    place, kind = cursor.place(), _reference_kind(cursor)
    absent_only = if_not_exists(cursor)
    name = _reference_name(cursor)
    snapshot = retain = snapshots = age = None
    if cursor.take("AS", "OF", "VERSION"):
        snapshot = cursor.next()
    if cursor.take("RETAIN"):
        retain = _milliseconds(cursor)
    if kind == "branch" and cursor.take("WITH", "SNAPSHOT", "RETENTION"):
        if cursor.word(1) == "SNAPSHOTS":
            snapshots, _ = _count(cursor), cursor.next()
        if snapshots is None or cursor.word() not in ("", ";"):
            age = _milliseconds(cursor)
    return Reference(
        f"create_{kind}", place, name, or_replace, False, absent_only, snapshot, creates, retain, snapshots, age
    )


def _milliseconds(cursor: Cursor) -> int:
    """Move past a time such as `5 DAYS`."""
    count, unit = _count(cursor), cursor.take_any(*_UNITS)
    if not unit:
        raise UnsupportedClause(f"{cursor.word() or 'the end'} where DAYS, HOURS or MINUTES is expected")
    return count * _UNITS[unit]


def _count(cursor: Cursor) -> int:
    word = cursor.next()
    if not word.isdecimal() or len(word) > 9:
        raise UnsupportedClause(f"{word or 'the end'} where a number is expected")
    return int(word)


def dropped_reference(cursor: Cursor) -> Reference:
    """Read DROP of a branch or a tag after that word."""
    place, kind = cursor.place(), _reference_kind(cursor)
    may_be_absent = if_exists(cursor)
    return Reference(f"drop_{kind}", place, _reference_name(cursor), if_exists=may_be_absent)


def _reference_name(cursor: Cursor) -> str:
    path = cursor.path()
    if len(path) > 1:
        raise UnsupportedClause("a dot in the name of a branch or a tag")
    return path[0]


def _reference_kind(cursor: Cursor) -> str:
    word = cursor.next()
    if word not in ("BRANCH", "TAG"):
        raise UnsupportedClause(f"{word or 'the end'} where BRANCH or TAG is expected")
    return word.lower()
