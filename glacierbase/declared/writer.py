"""The one writer of statements from shapes: those that create a table, and those that turn one shape into another, by format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from glacierbase.declared.applied import apply
from glacierbase.declared.between import ALTERATIONS, between, inverse
from glacierbase.declared.change_sql import expression, sql_of
from glacierbase.declared.clauses import changes_of
from glacierbase.declared.known import ANY_TABLE, KnownTable
from glacierbase.declared.render import (
    Written,
    is_place,
    nearest,
    not_creatable,
    places,
    snowflake_literal,
    unsupported_names,
)
from glacierbase.model.changes import Change, ColumnAdded, Unknown
from glacierbase.model.names import name_parts
from glacierbase.model.partial_shape import PROPERTIES, PartialShape
from glacierbase.model.shape import Column, Shape
from glacierbase.secrets import MASK, is_secret, mask
from glacierbase.sql.dialects import SNOWFLAKE, SPARK
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import ParsedStatement

_DELTA_TYPE = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)|date|timestamp|timestamp_ntz|string|binary|variant"
    r"|(?:char|varchar)\(\d+\)"
)
# Their expressions are not part of a shape.
_HIDDEN_FEATURES = {"generatedColumns": "generated columns", "identityColumns": "identity columns"}
_UNSET_WHY = "-- Iceberg gives every new table these properties, and this table does not have them."
_IDENTITY = re.compile(r"(?i)\s*(?:IDENTITY|AUTOINCREMENT)\b")


def creation(shape: Shape) -> Written:
    """Return the statements that create a table of this shape, or of the nearest one. Ids and locations may differ."""
    shape, secrets = _without_secrets(shape)
    create = CREATIONS.get(shape.format)
    if create is None:
        return _no_writer(shape)
    made = create(shape)
    return replace(made, left=(*secrets, *made.left))


def alteration(before: Shape, after: Shape, *, elsewhere: bool = False) -> Written:
    """Return the statements that give a table of the shape `before` the shape `after`. Its name does not change.

    Args:
        elsewhere: whether they run on another table than the one of `after`: its files are in another place.
    """
    if before.format not in ALTERATIONS:
        return _no_writer(before)
    left = dict(_left(before.properties, after.properties, elsewhere=elsewhere))
    properties = {key: value for key, value in after.properties.items() if key not in left}
    kept = {key: before.properties[key] for key in left if key in before.properties}
    changes = between(before, replace(after, properties={**properties, **kept}), before.format)
    impossible = tuple(change.why for change in changes if isinstance(change, Unknown))
    return Written(_statements(changes, before.table), impossible, tuple(left.values()))


def undoing(statement: ParsedStatement, known: KnownTable | None, table_format: str) -> tuple[str, ...] | None:
    """Return the statements that undo one, in their order; None where it is not certain which do.

    Rows and values that the statement loses do not come back.

    Args:
        known: what is declared of its table before it; a property that is not declared is taken as unset.
    """
    options, is_new = statement.options, statement.operation in CREATES_TABLE
    if (
        not statement.targets
        or options.kind != "table"
        or options.if_exists
        or options.if_not_exists
        or options.partition
    ):
        return None
    table = None if is_new else _named(known, statement.targets[0].recorded, table_format)
    changes, undone = changes_of(statement), list[str]()
    added = {
        f"type {change.columns[0].name}"
        for change in changes
        if isinstance(change, ColumnAdded) and change.columns[0].type
    }
    for change in changes:
        if isinstance(change, Unknown) and change.parts <= added:
            continue  # Whatever the type of an added column is, the column is dropped.
        steps, made = inverse(change, table, table_format), apply(table, change, table_format)
        if not steps or not isinstance(made, PartialShape):
            return None
        dialect = SNOWFLAKE.name if statement.subject else SPARK.name
        written = [sql_of(step, made.shape.table, dialect) for step in steps]
        undone[:0] = filter(None, written)
        if None in written:
            return None
        table = made
    return tuple(undone) or None


def _named(known: KnownTable | None, name: str, table_format: str) -> PartialShape:
    """Return a table under the name that a statement gives it, without properties that are not declared."""
    table = known.model if known and known.model.knows() else ANY_TABLE
    shape = replace(table.shape, table=name, format=table_format)
    return replace(table, shape=shape, unknown=table.unknown - {PROPERTIES})


def create_statements(shape: Shape) -> list[str]:
    """Return the statements of Spark that create a table of this shape, which they can express. Its ids may differ."""
    return list(_statements(between(None, shape, shape.format), shape.table))


def explained(statement: str) -> str:
    """Return a statement that creates a table, or completes it, for readers: with a comment above one that they do not expect."""
    is_unset = statement.startswith("ALTER TABLE") and " UNSET TBLPROPERTIES (" in statement
    return f"{_UNSET_WHY}\n{statement}" if is_unset else statement


def _statements(changes: Iterable[Change], table: str) -> tuple[str, ...]:
    return tuple(sql for change in changes if (sql := sql_of(change, table)))


def _left(before: Mapping[str, str], after: Mapping[str, str], *, elsewhere: bool) -> Iterator[tuple[str, str]]:
    """Yield the properties that differ and that no statement sets, each with a sentence."""
    for key in {**before, **after}:
        value = after.get(key)
        if before.get(key) == value:
            continue
        if MASK in (value or ""):
            yield key, f"the value of the property {key} holds a secret"
        elif elsewhere and is_place(key):
            yield key, f"the property {key} says where files are, and is left as it is"


def _no_writer(shape: Shape) -> Written:
    return Written((), (f"it is in the format {shape.format or 'unknown'}, for which no statements are written",))


def _without_secrets(shape: Shape) -> tuple[Shape, list[str]]:
    """Return a shape without the texts that hold a secret, and a sentence for each."""
    hidden = [
        key
        for key, value in shape.properties.items()
        if is_secret(key) or MASK in value or mask(f"{key}\n{value}") != f"{key}\n{value}"
    ]
    commented = [column.name for column in shape.columns if column.comment and mask(column.comment) != column.comment]
    columns = (replace(column, comment=None) if column.name in commented else column for column in shape.columns)
    properties = {key: value for key, value in shape.properties.items() if key not in hidden}
    notes = [f"the property {mask(key)} holds a secret, and is left out" for key in hidden]
    notes += [f"the comment of {name} holds a secret, and is left out" for name in commented]
    return replace(shape, columns=tuple(columns), properties=properties), notes


def _iceberg(shape: Shape) -> Written:
    notes = not_creatable(shape)
    near = nearest(shape)
    if not near.columns or any(unsupported_names(near)):
        return Written((), tuple(notes))
    kept = {column.name for column in near.columns}
    lost = (column.name for column in shape.columns if len(name_parts(column.name)) == 1 and column.name not in kept)
    notes += [f"the column {name} is left out" for name in lost]
    left = tuple(f"the property {key} says where files are, and is left out" for key in places(shape))
    return Written(tuple(create_statements(near)), tuple(notes), left)


def _delta(shape: Shape) -> Written:
    if unsupported := list(unsupported_names(shape)):
        return Written((), tuple(unsupported))
    notes = [
        f"{column.name} is of type {column.type}"
        for column in shape.columns
        if "<" not in column.type and not _DELTA_TYPE.fullmatch(column.type)
    ]
    if notes:
        return Written((), tuple(notes))
    hidden = (
        f"it may have {what}, whose expressions are not read"
        for feature, what in _HIDDEN_FEATURES.items()
        if f"delta.feature.{feature}" in shape.properties
    )
    return Written(tuple(create_statements(shape)), tuple(hidden))


def _snowflake(shape: Shape) -> Written:
    lines = [_snowflake_column(column) for column in shape.columns]
    if shape.identifiers:
        lines.append(f"PRIMARY KEY ({', '.join(shape.identifiers)})")
    columns = ",\n  ".join(lines)
    return Written((f"CREATE TABLE {shape.table} (\n  {columns}\n)",))


def _snowflake_column(column: Column) -> str:
    """Return the declaration of a column. Snowflake shows the text of its default, of which `default` is the JSON."""
    default = "" if column.default is None else _default(column)
    required = " NOT NULL" if column.required else ""
    comment = f" COMMENT {snowflake_literal(column.comment)}" if column.comment else ""
    return f"{column.name} {column.type}{required}{default}{comment}"


def _default(column: Column) -> str:
    text = expression(column.default or "null")
    return f" {text}" if _IDENTITY.match(text) else f" DEFAULT {text}"


CREATIONS: Mapping[str, Callable[[Shape], Written]] = {
    "iceberg": _iceberg, "delta": _delta, "snowflake": _snowflake,
}  # fmt: skip
