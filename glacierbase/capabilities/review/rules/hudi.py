"""HU: rules for Hudi tables only. The claims are from Hudi's page on schema evolution, and were run on Hudi 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import AlterColumn, Call, ColumnClause, Property

RULES = Family(__file__)
_SWITCH = "hoodie.schema.on.read.enable"
_BULK = re.compile(
    r"(?i)hoodie\.(?:spark\.sql\.insert\.into\.operation\W+bulk_insert|sql\.bulk\.insert\.enable\W+true)"
)
_DROPS = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"
# The settings without which Hudi 1 refuses a change of a column.
_NEEDED = {
    "rename_column": (_SWITCH, _DROPS), "drop_column": (_SWITCH, _DROPS),
    "alter_column_position": (_SWITCH,), "alter_column_type": (_SWITCH,),
}  # fmt: skip
_DISCARDS = ("rollback_to_instant", "rollback_to_savepoint", "delete_savepoint", "truncate_table", "drop_partition")

RULES.clause(
    "HU102", "add_column", ColumnClause, "ADD COLUMN {clause.column} NOT NULL", where=lambda clause: not clause.nullable
)
RULES.clause("HU108", "call", Call, "CALL {clause}", where=lambda clause: clause.name in _DISCARDS)


@RULES.check("HU101", *_NEEDED)
def schema_on_read_needed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find changes of columns in a file that does not set what Hudi needs for them, and columns that are moved to the front."""
    for part in step.parsed.parts:
        if isinstance(part, AlterColumn) and part.position == "first" and len(part.path) == 1:
            yield RuleFinding("Hudi moves no column to the front", step, part.place)
            continue
        needed = _NEEDED.get(part.operation, ())
        lacking = [key for key in needed if not any(_sets(other, key) for other in file.before(step))]
        if lacking:
            fix = "Write " + "; ".join(f"SET {key}=true" for key in lacking) + " before it."
            change = part.operation.replace("_", " ")
            yield RuleFinding(f"{change} without {' and '.join(lacking)}", step, part.place, fix)


def _sets(step: Step, key: str) -> bool:
    """Return whether a statement sets a key to true."""
    is_set = re.search(rf"(?i)\b{re.escape(key)}\s*=\s*['\"]?true", step.statement.text)
    return step.parsed.operation == "set" and is_set is not None


_FIXED = frozenset(
    {
        "primaryKey", "preCombineField", "type", "hoodie.table.recordkey.fields", "hoodie.table.precombine.field",
        "hoodie.table.type", "hoodie.table.partition.fields", "hoodie.table.keygenerator.class",
        "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field", "hoodie.index.bucket.engine",
    }
)  # fmt: skip


@RULES.check("HU103", "set_properties", "unset_properties")
def record_key_changed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new values of properties that determine key, order and kind of an existing table."""
    for part in of(step, Property):
        if part.key in _FIXED and (part.value is None or part.value != file.properties(step).get(part.key)):
            yield RuleFinding(f"{part.key} = {part.value}" if part.value else f"no {part.key}", step, part.place)


# The properties that name columns of the key, and of the order of its versions.
_KEYS = ("primaryKey", "hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields")
_ORDERS = (
    "preCombineField", "orderingFields", "hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields",
)  # fmt: skip


@RULES.check("HU104", *CREATES_TABLE)
def key_is_no_column(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find key and order fields of a new table that are not among its columns."""
    columns = {column.key[0].lower() for column in of(step, ColumnClause)}
    for part in of(step, Property) if columns and step.parsed.operation == "create_table" else ():
        if part.key in (*_KEYS, *_ORDERS):
            lacking = [name for name in _fields(part.value) if name.split(".")[0] not in columns]
            if lacking:
                yield RuleFinding(f"{part.key}: the table has no column {', '.join(lacking)}", step, part.place)


@RULES.check("HU105", "merge")
def merge_on_another_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find MERGE whose ON does not name each field of the record key."""
    condition, key = step.parsed.options.condition, _key(step, file)
    lacking = [name for name in key if condition and name not in condition.named]
    if lacking:
        yield RuleFinding(f"ON does not compare the record key {', '.join(lacking)}", step)


@RULES.check("HU106", "insert")
def bulk_insert_of_keys(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find INSERT into a table with a key after a statement that sets bulk_insert."""
    setting = next((other for other in reversed(file.before(step)) if _BULK.search(other.statement.text)), None)
    if _key(step, file) and setting and setting.parsed.operation == "set":
        effect = "does not look for the record key, and rows whose key exists become duplicates"
        yield RuleFinding(f"with bulk_insert, INSERT INTO {step.target} {effect}", setting, name=step.target)


@RULES.check("HU107", "update")
def key_updated(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find UPDATE of the record key, or of a column by which the table is partitioned."""
    fixed = {*_key(step, file), *(field.source[-1] for field in file.partitioning(step))}
    changed = [name for name in step.parsed.options.columns if name in fixed]
    if changed:
        yield RuleFinding(f"UPDATE sets {', '.join(changed)}, by which Hudi finds the row", step)


def _key(step: Step, file: File) -> tuple[str, ...]:
    """Return the fields of the record key of a declared table."""
    properties = file.properties(step)
    return next((_fields(properties[key]) for key in _KEYS if key in properties), ())


def _fields(value: str | None) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in (value or "").split(",") if name.strip())
