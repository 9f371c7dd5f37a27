"""TY: what the engine refuses, as far as the statement and those before it tell it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, file_rule, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.known import KnownColumn, known_type
from glacierbase.sql.statement import AlterColumn, Column, DropColumn, Fields

_SPEC = "https://iceberg.apache.org/spec/#schema-evolution"
_DDL = "https://iceberg.apache.org/docs/latest/spark-ddl/"
# The types that another one can be promoted to; `timestamp` and `timestamp_ntz` from `date`, in format version 3.
_PROMOTED = re.compile(r"bigint|long|double|(?:decimal|dec|numeric)\b.*|timestamp(?:_ntz|_ltz)?")
_NESTED = re.compile(r"(?:struct|map|array)\s*<")
_DECIMAL = re.compile(r"decimal\((\d{1,9}),(\d{1,9})\)")
_INTEGERS = ("tinyint", "smallint", "int")
_BY_DAY = "CREATE TABLE lake.a.t2 (id bigint, ts timestamp) USING iceberg PARTITIONED BY (days(ts));\n"
_IF_NOT_EXISTS = re.compile(r"(?is)\s*ALTER\s+TABLE\s+\S+\s+ADD\s+COLUMNS?\s+\(?\s*IF\s+NOT\s+EXISTS\b")


@statement_rule(
    "alter_column_type", formats=("iceberg",),
    code="TY101", name="forbidden-promotion", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses: int becomes bigint, float becomes double, a decimal gets more digits, and nothing else is promoted.",
    fix="Add a column of the new type, and fill it.",
    bad="ALTER TABLE lake.a.t ALTER COLUMN id TYPE string", good="ALTER TABLE lake.a.t ALTER COLUMN small TYPE bigint",
    source=_SPEC,
)  # fmt: skip
def forbidden_promotion(step: Step, _file: File) -> Iterator[Found]:
    """Find types that no other type can be promoted to."""
    for part in _retyped(step):
        text = (part.type or "").strip().lower()
        if text and not _PROMOTED.fullmatch(text) and not _NESTED.match(text):
            yield Found(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}", step, part.place)


@statement_rule(
    "alter_column_type", formats=("iceberg",),
    code="TY102", name="promotion-from-another-type", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses: int becomes bigint, float becomes double, a decimal gets more digits, and date stays date.",
    fix="Add a column of the new type, and fill it.",
    bad="CREATE TABLE lake.a.t2 (id bigint, day date) USING iceberg;\nALTER TABLE lake.a.t2 ALTER COLUMN day TYPE timestamp",
    good="CREATE TABLE lake.a.t2 (id int, day date) USING iceberg;\nALTER TABLE lake.a.t2 ALTER COLUMN id TYPE bigint",
    source=_SPEC,
)  # fmt: skip
def promotion_from_another_type(step: Step, file: File) -> Iterator[Found]:
    """Find types to which columns of other types are promoted, and not this one."""
    for part in _retyped(step):
        known, text = file.known(step), (part.type or "").strip().lower()
        column, new = known and known.column(part.key), known_type(part.type)
        if column and column.type and new and _PROMOTED.fullmatch(text) and not _is_promoted(column.type, new):
            change = f"from {column.type} to {new}"
            yield Found(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}, {change}", step, part.place)


def _is_promoted(old: str, new: str) -> bool:
    """Return whether Iceberg changes one type into the other. https://iceberg.apache.org/spec/#schema-evolution"""
    if old == new or (old in _INTEGERS and new == "bigint") or (old, new) == ("float", "double"):
        return True
    before, after = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    return bool(before and after and before[2] == after[2] and int(before[1]) <= int(after[1]))


@statement_rule(
    "add_column", formats=("iceberg",),
    code="TY103", name="add-required-column", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses a required column, because existing rows have no value for it.",
    fix="Add the column without NOT NULL.",
    bad="ALTER TABLE lake.a.t ADD COLUMN device string NOT NULL", good="ALTER TABLE lake.a.t ADD COLUMN device string",
    source=_SPEC,
)  # fmt: skip
def add_required_column(step: Step, _file: File) -> Iterator[Found]:
    """Find ADD COLUMN … NOT NULL."""
    for part in of(step, "add_column"):
        if isinstance(part, Column) and not part.nullable:
            yield Found(f"ADD COLUMN {'.'.join(part.path)} NOT NULL", step, part.place)


@statement_rule(
    "add_column", formats=("iceberg", "delta"),
    code="TY104", name="default-of-new-column", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg and Delta refuse a default in ADD COLUMN.",
    fix="Add the column without a default, then fill it.",
    bad="ALTER TABLE lake.a.t ADD COLUMN device string DEFAULT 'none'", good="ALTER TABLE lake.a.t ADD COLUMN device string",
    source="https://docs.delta.io/delta-default-columns/",
)  # fmt: skip
def default_of_new_column(step: Step, _file: File) -> Iterator[Found]:
    """Find ADD COLUMN … DEFAULT."""
    for part in of(step, "add_column"):
        if isinstance(part, Column) and part.default is not None and part.nullable:
            yield Found(f"ADD COLUMN {'.'.join(part.path)} DEFAULT {part.default}", step, part.place)


@statement_rule(
    "alter_column_nullability", formats=("iceberg",),
    code="TY105", name="set-not-null", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses to make an optional column required.",
    fix="Check the values where they are written.",
    bad="ALTER TABLE lake.a.t ALTER COLUMN name SET NOT NULL", good="ALTER TABLE lake.a.t ALTER COLUMN id DROP NOT NULL",
    source=f"{_DDL}#alter-table--alter-column",
)  # fmt: skip
def set_not_null(step: Step, _file: File) -> Iterator[Found]:
    """Find SET NOT NULL."""
    for part in of(step, "alter_column_nullability"):
        if isinstance(part, AlterColumn) and part.nullable is False:
            yield Found(f"ALTER COLUMN {'.'.join(part.path)} SET NOT NULL", step, part.place)


@statement_rule(
    "set_identifier_fields", "alter_column_nullability", formats=("iceberg",),
    code="TY106", name="identifier-field-may-be-null", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses identifier fields that may be null, are float or double, or hold other fields.",
    fix="Name columns that are declared NOT NULL and have another type.",
    bad="CREATE TABLE lake.a.t2 (id bigint, name string) USING iceberg;\nALTER TABLE lake.a.t2 SET IDENTIFIER FIELDS id",
    good="CREATE TABLE lake.a.t2 (id bigint NOT NULL, name string) USING iceberg;\nALTER TABLE lake.a.t2 SET IDENTIFIER FIELDS id",
    source="https://iceberg.apache.org/spec/#identifier-field-ids",
)  # fmt: skip
def identifier_field_may_be_null(step: Step, file: File) -> Iterator[Found]:
    """Find identifier fields that the engine refuses, and those that lose NOT NULL."""
    for part in step.parsed.parts:
        known = file.known(step)
        if isinstance(part, Fields) and part.operation == "set_identifier_fields":
            for name in part.fields:
                column = known and known.column(tuple(name.lower().split(".")))
                if column and (why := _no_identifier(column)):
                    yield Found(f"SET IDENTIFIER FIELDS {name}, which {why}", step, part.place)
        elif isinstance(part, AlterColumn) and part.nullable and known and part.key in (known.identifiers or ()):
            yield Found(f"ALTER COLUMN {'.'.join(part.path)} DROP NOT NULL of an identifier field", step, part.place)


def _no_identifier(column: KnownColumn) -> str | None:
    if not column.required:
        return "may be null"
    kind = column.type or ""
    return f"is of type {kind}" if kind in ("float", "double") or "<" in kind else None


@statement_rule(
    "alter_column_type", formats=("iceberg",),
    code="TY107", name="retype-nested-column", severity=Severity.ERROR, proof=Proof.RUN,
    why="Spark refuses to change the type of a struct, a map or an array as a whole.",
    fix="Change single fields: ADD COLUMN point.z, ALTER COLUMN point.x TYPE double.",
    bad="ALTER TABLE lake.a.t ALTER COLUMN point TYPE struct<x: int, y: int, z: int>",
    good="ALTER TABLE lake.a.t ADD COLUMN point.z int", source=f"{_DDL}#alter-table--add-column",
)  # fmt: skip
def retype_nested_column(step: Step, _file: File) -> Iterator[Found]:
    """Find new types of structs, maps and arrays."""
    for part in _retyped(step):
        if _NESTED.match((part.type or "").strip().lower()):
            yield Found(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}", step, part.place)


@statement_rule(
    "drop_column", formats=("iceberg",),
    code="TY108", name="drop-column-in-use", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg refuses to drop a column that new rows are partitioned or sorted by, or identified by.",
    fix="Drop or replace the field that uses the column first.",
    bad=_BY_DAY + "ALTER TABLE lake.a.t2 DROP COLUMN ts",
    good=_BY_DAY + "ALTER TABLE lake.a.t2 DROP PARTITION FIELD days(ts);\nALTER TABLE lake.a.t2 DROP COLUMN ts",
    source="https://iceberg.apache.org/docs/latest/evolution/",
)  # fmt: skip
def drop_column_in_use(step: Step, file: File) -> Iterator[Found]:
    """Find dropped columns that partitioning, write order or identifier fields use."""
    for part in of(step, "drop_column"):
        if isinstance(part, DropColumn) and (known := file.known(step)) and (use := known.use_of(part.key)):
            yield Found(f"DROP COLUMN {'.'.join(part.path)}: {use}", step, part.place)


@file_rule(
    code="TY109", name="add-column-if-not-exists", severity=Severity.ERROR, proof=Proof.RUN,
    why="Spark cannot parse ADD COLUMN IF NOT EXISTS.",
    fix="Write ADD COLUMN alone; glacierbase runs each file once.",
    bad="ALTER TABLE lake.a.t ADD COLUMN IF NOT EXISTS device string", good="ALTER TABLE lake.a.t ADD COLUMN device string",
    source="https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-alter-table.html",
)  # fmt: skip
def add_column_if_not_exists(file: File) -> Iterator[Found]:
    """Find ADD COLUMN IF NOT EXISTS in Spark's dialect."""
    for step in file.steps if file.facts.engine == "spark" else ():
        if _IF_NOT_EXISTS.match(step.statement.text):
            yield Found("ADD COLUMN IF NOT EXISTS", step)


def _retyped(step: Step) -> Iterator[AlterColumn]:
    return (part for part in of(step, "alter_column_type") if isinstance(part, AlterColumn))


RULES: tuple[Rule, ...] = (
    forbidden_promotion, promotion_from_another_type, add_required_column, default_of_new_column, set_not_null,
    identifier_field_may_be_null, retype_nested_column, drop_column_in_use, add_column_if_not_exists,
)  # fmt: skip
