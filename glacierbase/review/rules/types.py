"""TY: changes that the engine refuses, as far as the statement and the ones before it show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import CREATES, File, Proof, Rule, RuleFinding, Step, file_rule, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.known import KnownColumn, known_type
from glacierbase.sql.statement import AlterColumn, ColumnClause, DropColumn, Fields

_TEXTS = texts("types")
# The types to which another type can be promoted; `timestamp` and `timestamp_ntz` from `date`, in format version 3.
_PROMOTED = re.compile(r"bigint|long|double|(?:decimal|dec|numeric)\b.*|timestamp(?:_ntz|_ltz)?")
_NESTED = re.compile(r"(?:struct|map|array)\s*<")
_DECIMAL = re.compile(r"decimal\((\d{1,9}),(\d{1,9})\)")
_INTEGERS = ("tinyint", "smallint", "int")
_IF_NOT_EXISTS = re.compile(r"(?is)\s*ALTER\s+TABLE\s+\S+\s+ADD\s+COLUMNS?\s+\(?\s*IF\s+NOT\s+EXISTS\b")


@statement_rule("alter_column_type", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY101"])
def forbidden_promotion(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find types that no other type can be promoted to."""
    for part in _retyped(step):
        text = (part.type or "").strip().lower()
        if text and not _PROMOTED.fullmatch(text) and not _NESTED.match(text):
            yield RuleFinding(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}", step, part.place)


@statement_rule("alter_column_type", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY102"])
def promotion_from_another_type(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find types to which this column cannot be promoted, although columns of other types can."""
    for part in _retyped(step):
        known, text = file.known(step), (part.type or "").strip().lower()
        column, new = known and known.column(part.key), known_type(part.type)
        if column and column.type and new and _PROMOTED.fullmatch(text) and not _is_promoted(column.type, new):
            change = f"from {column.type} to {new}"
            yield RuleFinding(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}, {change}", step, part.place)


def _is_promoted(old: str, new: str) -> bool:
    """Return whether Iceberg changes one type into the other. https://iceberg.apache.org/spec/#schema-evolution"""
    if old == new or (old in _INTEGERS and new == "bigint") or (old, new) == ("float", "double"):
        return True
    before, after = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    return bool(before and after and before[2] == after[2] and int(before[1]) <= int(after[1]))


@statement_rule("add_column", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY103"])
def add_required_column(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find ADD COLUMN … NOT NULL."""
    for part in of(step, "add_column"):
        if isinstance(part, ColumnClause) and not part.nullable:
            yield RuleFinding(f"ADD COLUMN {'.'.join(part.path)} NOT NULL", step, part.place)


@statement_rule("add_column", formats=("iceberg", "delta"), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY104"])
def default_of_new_column(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find ADD COLUMN … DEFAULT."""
    for part in of(step, "add_column"):
        if isinstance(part, ColumnClause) and part.default is not None and part.nullable:
            yield RuleFinding(f"ADD COLUMN {'.'.join(part.path)} DEFAULT {part.default}", step, part.place)


@statement_rule(
    "alter_column_nullability", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY105"]
)
def set_not_null(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find SET NOT NULL."""
    for part in of(step, "alter_column_nullability"):
        if isinstance(part, AlterColumn) and part.nullable is False:
            yield RuleFinding(f"ALTER COLUMN {'.'.join(part.path)} SET NOT NULL", step, part.place)


@statement_rule(
    "set_identifier_fields",
    "alter_column_nullability",
    formats=("iceberg",),
    severity=Severity.ERROR,
    proof=Proof.RUN,
    **_TEXTS["TY106"],
)
def identifier_field_may_be_null(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find identifier fields that the engine refuses, and identifier fields that lose NOT NULL."""
    for part in step.parsed.parts:
        known = file.known(step)
        if isinstance(part, Fields) and part.operation == "set_identifier_fields":
            for name in part.fields:
                column = known and known.column(tuple(name.lower().split(".")))
                if column and (why := _no_identifier(column)):
                    yield RuleFinding(f"SET IDENTIFIER FIELDS {name}, which {why}", step, part.place)
        elif isinstance(part, AlterColumn) and part.nullable and known and part.key in (known.identifiers or ()):
            yield RuleFinding(
                f"ALTER COLUMN {'.'.join(part.path)} DROP NOT NULL of an identifier field", step, part.place
            )


def _no_identifier(column: KnownColumn) -> str | None:
    if not column.required:
        return "may be null"
    kind = column.type or ""
    return f"is of type {kind}" if kind in ("float", "double") or "<" in kind else None


# A number without a scale is a whole number in all engines: NUMBER(38, 0), DECIMAL(10, 0). Few digits are meant to be whole.
_WHOLE = re.compile(r"(?i)(?:number|numeric|decimal|dec)\s*(?:\(\s*(?:[6-9]|\d{2})\s*\))?")
_MONEY = frozenset(
    {
        "price", "prices", "amount", "amt", "cost", "costs", "fee", "fees", "revenue", "salary", "wage", "tax", "vat", "discount",
        "rate", "ratio", "percent", "percentage", "pct", "margin", "balance", "commission", "turnover", "payment", "refund",
    }
)  # fmt: skip
# Words after such a one that leave its meaning, and words that say that the number is whole.
_AFTER_MONEY = frozenset({"net", "gross", "total", "eur", "usd", "gbp", "chf", "local", "base"})
_UNITS = re.compile(
    r"(?i)\b(?:cents?|pence|minor|micros?|whole|units?|integer|basis)\b|_(?:cents?|pence|minor|micros?|bps)\b"
)


@statement_rule("add_column", *CREATES, severity=Severity.WARNING, proof=Proof.CITED, **_TEXTS["TY120"])
def amount_without_scale(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find new columns whose name says that they hold money or a rate, and whose type has no scale."""
    for part in step.parsed.parts:
        if isinstance(part, ColumnClause) and _WHOLE.fullmatch((part.type or "").strip()) and _is_money(part):
            whole = "(10, 0)" if step.parsed.subject is None else "(38, 0)"
            given = (part.type or "").strip()
            means = given.replace(")", ", 0)") if "(" in given else f"{given}{whole}"
            yield RuleFinding(
                f"{'.'.join(part.path)} {given} means {means}: digits after the point are rounded", step, part.place
            )


def _is_money(part: ColumnClause) -> bool:
    words = part.path[-1].lower().split("_")
    while len(words) > 1 and words[-1] in _AFTER_MONEY:
        words.pop()
    return words[-1] in _MONEY and not _UNITS.search(f"{part.path[-1]} {part.comment or ''}")


@statement_rule("alter_column_type", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY107"])
def retype_nested_column(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find new types of structs, maps and arrays."""
    for part in _retyped(step):
        if _NESTED.match((part.type or "").strip().lower()):
            yield RuleFinding(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}", step, part.place)


@statement_rule("drop_column", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY108"])
def drop_column_in_use(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that partitioning, write order or identifier fields use."""
    for part in of(step, "drop_column"):
        if isinstance(part, DropColumn) and (known := file.known(step)) and (use := known.use_of(part.key)):
            yield RuleFinding(f"DROP COLUMN {'.'.join(part.path)}: {use}", step, part.place)


@file_rule(severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["TY109"])
def add_column_if_not_exists(file: File) -> Iterator[RuleFinding]:
    """Find ADD COLUMN IF NOT EXISTS in Spark's dialect."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        if _IF_NOT_EXISTS.match(step.statement.text):
            yield RuleFinding("ADD COLUMN IF NOT EXISTS", step)


def _retyped(step: Step) -> Iterator[AlterColumn]:
    return (part for part in of(step, "alter_column_type") if isinstance(part, AlterColumn))


RULES: tuple[Rule, ...] = (
    amount_without_scale, forbidden_promotion, promotion_from_another_type, add_required_column, default_of_new_column,
    set_not_null,
    identifier_field_may_be_null, retype_nested_column, drop_column_in_use, add_column_if_not_exists,
)  # fmt: skip
