"""ALTER TABLE: columns, properties, partition fields, write order, branches, tags, constraints, partitions.

https://iceberg.apache.org/docs/latest/spark-ddl/, https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-alter-table.html,
https://docs.delta.io/latest/delta-batch.html, https://hudi.apache.org/docs/sql_ddl,
https://docs.snowflake.com/en/sql-reference/sql/alter-table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from glacierbase.sql import alter_columns, references
from glacierbase.sql.clauses import (
    if_exists,
    if_not_exists,
    listed_paths,
    partition,
    properties,
    sort_fields,
    transform,
)
from glacierbase.sql.columns import constraint
from glacierbase.sql.create import cluster_fields
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.parts import Constraint, Feature, Fields, Part, PartitionField, Place, SortField, WriteOrder
from glacierbase.sql.statement import Name, Options, ParsedStatement

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
        found.parts += alter_columns.added(cursor)
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
        found.parts.append(references.dropped(cursor))
    elif cursor.take_any("COLUMN", "COLUMNS"):
        found.options = replace(found.options, if_exists=if_exists(cursor) or found.options.if_exists)
        found.parts += alter_columns.dropped(cursor)
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
        found.parts.append(alter_columns.renamed(cursor))
        return
    if cursor.dialect == "snowflake" and cursor.take("CONSTRAINT"):
        other(found)
        return
    cursor.expect("TO")
    if partition(cursor):
        found.operation = "other"
        return
    found.operation = "rename_table"
    found.targets.append(cursor.table())


def _alter(found: Alteration) -> None:
    found.parts += alter_columns.altered(found.cursor)


def _replace(found: Alteration) -> None:
    cursor, place = found.cursor, found.cursor.place()
    if cursor.take("COLUMNS"):
        found.parts += alter_columns.replaced(cursor)
    elif cursor.take("PARTITION", "FIELD"):
        old = transform(cursor)
        cursor.expect("WITH")
        new = transform(cursor)
        found.parts.append(PartitionField("replace_partition_field", place, new, _field_name(cursor), replaces=old))
    else:
        found.parts.append(references.created(cursor, or_replace=True))


def _create(found: Alteration) -> None:
    found.parts.append(references.created(found.cursor, or_replace=found.cursor.take("OR", "REPLACE")))


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


SPARK: Clauses = {
    "ADD": _add, "DROP": _drop, "RENAME": rename, "ALTER": _alter, "CHANGE": _alter, "REPLACE": _replace,
    "CREATE": _create, "SET": _set, "UNSET": _unset, "WRITE": _write, "RECOVER": _recover, "CLUSTER": cluster,
    "OWNER": other, "ENABLE": other, "DISABLE": other, "INHERIT": other, "DEFAULT": other, "COMPACT": other,
    "TOUCH": other, "ARCHIVE": other, "UNARCHIVE": other, "CONCATENATE": other,
}  # fmt: skip
