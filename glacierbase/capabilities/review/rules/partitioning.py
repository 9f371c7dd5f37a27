"""PA: partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.declared.known import field_of, is_named, starts_with
from glacierbase.model.transforms import by_function
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import ColumnClause, DropColumn, PartitionClause

RULES = Family(__file__)
# Types and names of columns with a different value in nearly every row.
_FINE_TYPES = re.compile(r"timestamp\w*|double|float|binary")
_FINE_NAMES = re.compile(
    r"(?!(?:tenant|region|country|state|status|type|category|site|source)_id$)(?:\w+_)?(?:id|uuid|guid|email)"
)

RULES.clause(
    "PA101", ("add_partition_field", "drop_partition_field"), PartitionClause, "{clause.verb} {clause.transform.text}"
)
RULES.clause(
    "PA102", "replace_partition_field", PartitionClause,
    "REPLACE PARTITION FIELD {clause.replaces.text} WITH {clause.transform.text}", where=lambda clause: clause.replaces,
)  # fmt: skip


@RULES.check("PA106", *CREATES_TABLE, "add_partition_field", "replace_partition_field")
def partition_per_value(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find partitions by a column whose type or name suggests very many values."""
    types = _types(step, file)
    for part in _added(step):
        if not part.transform.function:
            column = part.transform.arguments[0].lower()
            if _FINE_TYPES.fullmatch(types.get(column, "")) or _FINE_NAMES.fullmatch(column):
                words = "PARTITIONED BY" if part.operation in CREATES_TABLE else "PARTITION FIELD"
                yield RuleFinding(f"{words} ({column})", step, part.place)


def _added(step: Step) -> Iterator[PartitionClause]:
    """Yield the partition fields that a statement declares or adds."""
    return (part for part in of(step, PartitionClause) if part.operation != "drop_partition_field")


def _types(step: Step, file: File) -> dict[str, str]:
    """Return the types of the columns that the statement, or the ones before it, declare."""
    known = None if step.parsed.operation in CREATES_TABLE else file.known(step)
    before = {name: column.spelling.lower() for name, column in ((known and known.columns) or {}).items()}
    declared = {part.key[0]: (part.type or "").lower() for part in of(step, ColumnClause) if len(part.path) == 1}
    return {**before, **declared}


_WIDTH = re.compile("0*[1-9]")


@RULES.check("PA107", *CREATES_TABLE, "add_partition_field", "replace_partition_field")
def refused_transform(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find transforms that Iceberg lacks, or refuses with this width, for this type or beside another one."""
    for part in _added(step):
        transform, function = part.transform, part.transform.function
        known = by_function(function)
        if known is None and function != "void":
            yield RuleFinding(f"Iceberg has no transform {function}", step, part.place)
        elif known and known.has_width and not any(_WIDTH.match(argument) for argument in transform.arguments):
            yield RuleFinding(f"{transform.text} has no width above 0", step, part.place)
    kinds = ("type", "duplicate") if step.parsed.operation in CREATES_TABLE else ("type",)
    for clause, refused in file.refusals(step):
        if isinstance(clause, PartitionClause) and refused.kind in kinds:
            yield RuleFinding(refused.reason, step, clause.place)


_MOST_BUCKETS, _MOST_FIELDS, _MOST_BUCKETS_AN_HOUR = 1024, 3, 64


@RULES.check("PA108", *CREATES_TABLE, "add_partition_field", "replace_partition_field")
def too_many_partitions(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find buckets in a number that helps no query, and combinations of fields that make very many partitions."""
    fields = () if step.parsed.operation in CREATES_TABLE else file.partitioning(step)
    added = list(_added(step))
    replaced = [field for part in added if part.replaces and (field := field_of(part.replaces))]
    before = [field.transform for field in fields if not any(is_named(field, old) for old in replaced)]
    for part in added:
        buckets = _buckets(part.transform.text)
        if buckets == 1 or buckets > _MOST_BUCKETS:
            yield RuleFinding(f"{part.transform.text}: {buckets} buckets", step, part.place)
            return
    transforms = [*before, *(part.transform.text for part in added)]
    most = max(map(_buckets, transforms), default=0)
    is_by_hour = any(re.match(r"(?i)hours?\b|date_hour\b", text) for text in transforms)
    if added and is_by_hour and most > _MOST_BUCKETS_AN_HOUR:
        yield RuleFinding(f"{24 * most} partitions a day", step, added[-1].place)
    elif added and len(transforms) > _MOST_FIELDS:
        yield RuleFinding(f"{len(transforms)} partition fields", step, added[-1].place)


def _buckets(text: str) -> int:
    """Return the number of buckets of a transform; 0 for another one."""
    match = re.match(r"(?i)bucket\D*?(\d{1,12})", text)
    return int(match[1]) if match else 0


@RULES.check("PA109", "add_partition_field", "drop_partition_field", "replace_partition_field")
def partition_field_mismatch(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find partition fields that are added though the table has them, or dropped though it has not, and names of columns."""
    for part, refused in file.refusals(step):
        if refused.kind in ("no field", "duplicate", "name"):
            yield RuleFinding(refused.reason, step, part.place)


@RULES.check("PA103", "drop_column")
def drop_column_of_old_partitioning(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns by which old files of a partitioned table may be partitioned."""
    known, refused = file.known(step), [part for part, _ in file.refusals(step)]
    for part in of(step, DropColumn):
        if known and known.partitioning and part not in refused:
            former = [field.name for field in known.former if starts_with(field.source, part.key)]
            if former:
                yield RuleFinding(f"DROP COLUMN {part.column}: old files have the field {former[0]}", step, part.place)


@RULES.check("PA104", "add_partition_field")
def second_bucket_of_a_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find buckets of a column that has buckets already."""
    for part in of(step, PartitionClause, "add_partition_field"):
        new = field_of(part.transform)
        for old in file.partitioning(step) if new and new.transform.startswith("bucket(") else ():
            if new and old.source == new.source and old.transform.startswith("bucket(") and old != new:
                added = f"{new.transform} of {'.'.join(new.source)}"
                yield RuleFinding(f"ADD PARTITION FIELD {added}, beside {old.transform}", step, part.place)
