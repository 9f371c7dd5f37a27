"""PA: partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import CREATES, File, Proof, Rule, RuleFinding, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.known import field_of, starts_with
from glacierbase.sql.statement import ColumnClause, DropColumn, PartitionClause

_TEXTS = texts("partitioning")
# Types and names of columns with a different value in nearly every row.
_FINE_TYPES = re.compile(r"timestamp\w*|double|float|binary")
_FINE_NAMES = re.compile(r"(?:\w+_)?(?:id|uuid|guid)")


@statement_rule(
    "add_partition_field",
    "drop_partition_field",
    formats=("iceberg",),
    severity=Severity.WARNING,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["PA101"],
)
def partitioning_of_new_files_only(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find partition fields that are added or dropped."""
    for part in step.parsed.parts:
        if isinstance(part, PartitionClause) and part.operation in ("add_partition_field", "drop_partition_field"):
            words = part.operation.split("_")[0].upper()
            yield RuleFinding(f"{words} PARTITION FIELD {part.transform.text}", step, part.place)


@statement_rule(
    "replace_partition_field",
    formats=("iceberg",),
    severity=Severity.WARNING,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["PA102"],
)
def dynamic_overwrite_keeps_rows(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find partition fields that are replaced."""
    for part in of(step, "replace_partition_field"):
        if isinstance(part, PartitionClause) and part.replaces:
            yield RuleFinding(
                f"REPLACE PARTITION FIELD {part.replaces.text} WITH {part.transform.text}", step, part.place
            )


@statement_rule(*CREATES, formats=("iceberg", "delta"), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PA106"])
def partition_per_value(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find partitions by a column whose type or name suggests very many values."""
    types = {
        part.path[-1].lower(): (part.type or "").lower() for part in step.parsed.parts if isinstance(part, ColumnClause)
    }
    for part in step.parsed.parts:
        if isinstance(part, PartitionClause) and part.operation in CREATES and not part.transform.function:
            column = part.transform.arguments[0].lower()
            if _FINE_TYPES.fullmatch(types.get(column, "")) or _FINE_NAMES.fullmatch(column):
                yield RuleFinding(f"PARTITIONED BY ({column})", step, part.place)


@statement_rule("drop_column", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["PA103"])
def drop_column_of_old_partitioning(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns by which old files of a partitioned table may be partitioned."""
    for part in of(step, "drop_column"):
        known = file.known(step)
        if isinstance(part, DropColumn) and known and known.partitioning and not known.use_of(part.key):
            former = [field.name for field in known.former if starts_with(field.source, part.key)]
            if former:
                yield RuleFinding(
                    f"DROP COLUMN {'.'.join(part.path)}: old files have the field {former[0]}", step, part.place
                )


@statement_rule(
    "add_partition_field", formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PA104"]
)
def second_bucket_of_a_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find buckets of a column that has buckets already."""
    for part in of(step, "add_partition_field"):
        new = field_of(part.transform) if isinstance(part, PartitionClause) else None
        known = file.known(step) if new and new.transform.startswith("bucket(") else None
        for old in (known and known.partitioning) or ():
            if new and old.source == new.source and old.transform.startswith("bucket(") and old != new:
                column = ".".join(new.source)
                yield RuleFinding(
                    f"ADD PARTITION FIELD {new.transform} of {column}, beside {old.transform}", step, part.place
                )


RULES: tuple[Rule, ...] = (
    partitioning_of_new_files_only, dynamic_overwrite_keeps_rows, drop_column_of_old_partitioning, second_bucket_of_a_column,
    partition_per_value,
)  # fmt: skip
