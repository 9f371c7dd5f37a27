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
    NotUnderstood,
    if_exists,
    if_not_exists,
    listed_paths,
    partition,
    properties,
    sort_fields,
    transform,
)
from glacierbase.sql.dialects import SNOWFLAKE
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
    PartitionField,
    Place,
    Reference,
    RenameColumn,
    SortField,
    WriteOrder,
)

CONSTRAINTS = ("CONSTRAINT", "CHECK", "PRIMARY", "FOREIGN", "UNIQUE")


@dataclass(slots=True)
class Alteration:
    """The clauses of an ALTER that are read so far.

    Attributes:
        operation: of a clause without a part.
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
    target = cursor.table()
    found = Alteration(cursor, [target], replace(options, if_exists=may_be_absent, partition=partition(cursor)))
    word = cursor.next()
    if word not in clauses:
        raise NotUnderstood(f"ALTER TABLE … {word or 'without a clause'}")
    clauses[word](found)
    return found.parsed()


def _add(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("PARTITION", "FIELD"):
        found.parts.append(PartitionField("add_partition_field", place, transform(cursor), _field_name(cursor)))
    elif cursor.take_any("COLUMN", "COLUMNS"):
        found.options = replace(found.options, if_not_exists=if_not_exists(cursor))
        found.parts += added_columns(cursor)
    elif cursor.word() in CONSTRAINTS:
        found.parts.append(constraint(cursor, "add_constraint"))
    else:
        found.options = replace(found.options, if_not_exists=if_not_exists(cursor))
        _partitions(found, "add_partition")


def _field_name(cursor: Cursor) -> str | None:
    return cursor.path()[0] if cursor.take("AS") else None


def _partitions(found: Alteration, operation: str) -> None:
    """Move past `PARTITION (…)`, one or more, with their locations."""
    spec = partition(found.cursor)
    if spec is None:
        raise NotUnderstood(f"ALTER TABLE … {found.cursor.word()}")
    found.operation, found.options = operation, replace(found.options, partition=spec)
    cursor = found.cursor
    while cursor.word() not in ("", ";"):
        cursor.take(",")
        if cursor.take("LOCATION"):
            cursor.string()
        elif cursor.take("PURGE"):
            found.options = replace(found.options, purge=True)
        elif partition(cursor) is None:
            raise NotUnderstood(f"{cursor.word()} after a partition")


def _drop(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("PARTITION", "FIELD"):
        found.parts.append(PartitionField("drop_partition_field", place, transform(cursor)))
    elif cursor.take("IDENTIFIER", "FIELDS"):
        found.parts.append(Fields("drop_identifier_fields", place, listed_paths(cursor)))
    elif cursor.word() in ("BRANCH", "TAG"):
        found.parts.append(dropped_reference(cursor))
    elif cursor.take_any("COLUMN", "COLUMNS"):
        found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
        found.parts += dropped_columns(cursor)
    elif cursor.word() in CONSTRAINTS:
        found.parts.append(dropped_constraint(found, place))
    elif cursor.take("FEATURE"):
        found.parts.append(_feature(cursor, place))
    elif cursor.word() in ("ROW", "DEFAULT"):
        other(found)
    else:
        found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
        _partitions(found, "drop_partition")


def dropped_constraint(found: Alteration, place: Place) -> Constraint:
    cursor, start, name = found.cursor, found.cursor.position, None
    if cursor.next() == "CONSTRAINT":
        found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
        name = cursor.path()[0]
    else:
        cursor.take("KEY")
        found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
        if cursor.word() == "(":
            cursor.parentheses()
    if cursor.take_any("CASCADE", "RESTRICT") == "CASCADE":
        found.options = replace(found.options, cascade=True)
    return Constraint("drop_constraint", place, name, cursor.text_since(start))


def _feature(cursor: Cursor, place: Place) -> Feature:
    name = cursor.string() if cursor.is_string() else cursor.path()[0]
    return Feature("other", place, name, cursor.take("TRUNCATE", "HISTORY"))


def rename(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.take("COLUMN"):
        found.parts.append(renamed_column(cursor))
        return
    if cursor.dialect is SNOWFLAKE and cursor.take("CONSTRAINT"):
        other(found)
        return
    cursor.expect("TO")
    if partition(cursor):
        found.operation = "other"
        return
    found.operation = "rename_table"
    found.targets.append(cursor.table())


def _alter(found: Alteration) -> None:
    found.parts += altered_columns(found.cursor)


def _replace(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("COLUMNS"):
        found.parts += replaced_columns(cursor)
    elif cursor.take("PARTITION", "FIELD"):
        old = transform(cursor)
        cursor.expect("WITH")
        new = transform(cursor)
        found.parts.append(PartitionField("replace_partition_field", place, new, _field_name(cursor), replaces=old))
    else:
        found.parts.append(created_reference(cursor, or_replace=True))


def _create(found: Alteration) -> None:
    found.parts.append(created_reference(found.cursor, or_replace=found.cursor.take("OR", "REPLACE")))


def _set(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("TBLPROPERTIES"):
        found.operation = "set_properties"
        found.parts += properties(cursor, "set_properties")
    elif cursor.take("LOCATION"):
        found.operation, found.options = "set_location", replace(found.options, location=cursor.string())
    elif cursor.take("IDENTIFIER", "FIELDS"):
        found.parts.append(Fields("set_identifier_fields", place, listed_paths(cursor)))
    elif cursor.word() in ("SERDE", "SERDEPROPERTIES", "TAGS", "ROW", "OWNER", "MANAGED", "FILEFORMAT"):
        other(found)
    else:
        raise NotUnderstood(f"ALTER TABLE … SET {cursor.word()}")


def _unset(found: Alteration) -> None:
    cursor = found.cursor
    if cursor.word() == "TAGS":
        other(found)
        return
    cursor.expect("TBLPROPERTIES")
    found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
    found.operation = "unset_properties"
    found.parts += properties(cursor, "unset_properties")


def _write(found: Alteration) -> None:
    cursor = found.cursor
    while cursor.word() not in ("", ";"):
        place = cursor.place()
        if cursor.take("DISTRIBUTED", "BY", "PARTITION"):
            found.parts.append(WriteOrder("set_distribution", place, distribution="partition"))
        elif cursor.take("UNORDERED"):
            found.parts.append(WriteOrder("set_write_order", place))
        else:
            locally = cursor.take("LOCALLY")
            cursor.expect("ORDERED", "BY")
            fields: tuple[SortField, ...] = tuple(sort_fields(cursor))
            found.parts.append(WriteOrder("set_write_order", place, fields, locally=locally))


def _recover(found: Alteration) -> None:
    found.cursor.expect("PARTITIONS")
    found.operation = "add_partition"


def cluster(found: Alteration) -> None:
    place = found.cursor.place()
    found.cursor.expect("BY")
    found.parts.append(Fields("cluster_by", place, cluster_fields(found.cursor)))


def other(found: Alteration) -> None:
    """Move past a clause without a word of its own, which is about this table only."""
    found.operation = "other"
    found.cursor.skip_to(";")


SPARK_CLAUSES: Clauses = {
    "ADD": _add, "DROP": _drop, "RENAME": rename, "ALTER": _alter, "CHANGE": _alter, "REPLACE": _replace,
    "CREATE": _create, "SET": _set, "UNSET": _unset, "WRITE": _write, "RECOVER": _recover, "CLUSTER": cluster,
    "OWNER": other, "ENABLE": other, "DISABLE": other, "INHERIT": other, "DEFAULT": other, "COMPACT": other,
    "TOUCH": other, "ARCHIVE": other, "UNARCHIVE": other, "CONCATENATE": other,
}  # fmt: skip


_END = ("", ",", ")", ";")
# Words after the name of a column; any other is the new name in Hive's CHANGE COLUMN.
_ACTIONS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", "SYNC", "UNSET", "DATA", "NOT")
# Those after which an action begins even if the name before is one of them: `ALTER COLUMN type TYPE int`.
_STARTS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", ".")
_WITHOUT_WORD = (
    ("SYNC", "IDENTITY"), ("SET", "MASK"), ("DROP", "MASK"), ("SET", "TAGS"), ("UNSET", "TAGS"), ("SET", "TAG"), ("UNSET", "TAG"),
    ("SET", "MASKING"), ("UNSET", "MASKING"), ("SET", "PROJECTION"), ("UNSET", "PROJECTION"), ("UNSET", "COMMENT"),
)  # fmt: skip


def added_columns(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of ADD COLUMNS."""
    if cursor.word() == "(":
        yield from column_list(cursor, "add_column")
        return
    yield column(cursor, "add_column")
    while cursor.take(","):
        yield column(cursor, "add_column")


def replaced_columns(cursor: Cursor) -> Iterator[Part]:
    """Yield the columns of REPLACE COLUMNS."""
    if cursor.word() == "(":
        yield from column_list(cursor, "replace_columns")
        return
    yield column(cursor, "replace_columns")
    while cursor.take(","):
        yield column(cursor, "replace_columns")


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
    """Move past the name of a column that is dropped."""
    place, name = cursor.place(), cursor.table()
    return DropColumn("drop_column", place, name.parts, name.key)


def renamed_column(cursor: Cursor) -> RenameColumn:
    """Read RENAME COLUMN after these words."""
    place, old = cursor.place(), cursor.table()
    cursor.expect("TO")
    new = cursor.table()
    return RenameColumn("rename_column", place, old.parts, new.parts[-1], old.key, new.key[-1])


def altered_columns(cursor: Cursor) -> Iterator[Part]:
    """Yield the changes of ALTER COLUMN and CHANGE COLUMN, of one column or more."""
    while True:
        if cursor.word() in ("COLUMN", "COLUMNS") and (cursor.word(1) not in _ACTIONS or cursor.word(2) in _STARTS):
            cursor.next()
        place, name = cursor.place(), cursor.table()
        if cursor.word() in _END:
            raise NotUnderstood("ALTER COLUMN without an action")
        if cursor.word() not in _ACTIONS:
            yield from _hive(cursor, name)
        while cursor.word() not in _END:
            yield replace(_action(cursor, place, name.parts), key=name.key)
        if not cursor.take(","):
            return


def _hive(cursor: Cursor, old: Name) -> Iterator[Part]:
    """Yield the changes of Hive's `CHANGE COLUMN name name type`, which repeats what it does not change."""
    new = column(cursor, "")
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
    found = column_type(cursor)
    if not found:
        raise NotUnderstood("TYPE without a type")
    return found


def _without_word(cursor: Cursor, place: Place, path: tuple[str, ...]) -> AlterColumn:
    """Move past an action that has no word of its own: a mask, tags, SYNC IDENTITY."""
    words = (cursor.word(), cursor.word(1))
    if words not in _WITHOUT_WORD:
        raise NotUnderstood(f"ALTER COLUMN … {words[0]}")
    cursor.skip_to(",", ")", ";")
    return AlterColumn("other", place, path)


def created_reference(cursor: Cursor, *, or_replace: bool) -> Reference:
    """Read CREATE or REPLACE after that word."""
    place, kind = cursor.place(), _reference_kind(cursor)
    absent_only = if_not_exists(cursor)
    name = ".".join(cursor.path())
    snapshot = retain = None
    if cursor.take("AS", "OF", "VERSION"):
        snapshot = cursor.next()
    start = cursor.position
    if cursor.word() in ("RETAIN", "WITH"):
        cursor.skip_to(";")
        retain = cursor.text_since(start)
    return Reference(f"create_{kind}", place, name, or_replace, False, absent_only, snapshot, retain)


def dropped_reference(cursor: Cursor) -> Reference:
    """Read DROP after that word."""
    place, kind = cursor.place(), _reference_kind(cursor)
    may_be_absent = if_exists(cursor)
    return Reference(f"drop_{kind}", place, ".".join(cursor.path()), if_exists=may_be_absent)


def _reference_kind(cursor: Cursor) -> str:
    word = cursor.next()
    if word not in ("BRANCH", "TAG"):
        raise NotUnderstood(f"{word or 'the end'} where BRANCH or TAG is expected")
    return word.lower()
