"""PA: partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.review.rule import CREATES, File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.known import field_of, starts_with
from glacierbase.sql.statement import Column, DropColumn, PartitionField

_EVOLUTION = "https://iceberg.apache.org/docs/latest/evolution/#partition-evolution"
_OF_TWO_FIELDS = (
    "CREATE TABLE lake.a.t2 (id bigint, name string, ts timestamp) USING iceberg PARTITIONED BY (days(ts), name);\n"
    "ALTER TABLE lake.a.t2 DROP PARTITION FIELD name;\n"
)
# Nearly every row has its own value.
_FINE_TYPES = re.compile(r"timestamp\w*|double|float|binary")
_FINE_NAMES = re.compile(r"(?:\w+_)?(?:id|uuid|guid)")


@statement_rule(
    "add_partition_field", "drop_partition_field", formats=("iceberg",),
    code="PA101", name="partitioning-of-new-files-only", severity=Severity.WARNING, proof=Proof.RUN, spares_new_tables=True,
    why="Files that exist keep their partitioning, so that queries gain nothing for them until they are rewritten.",
    fix="Schedule rewrite_data_files of the table, and state it in the description.",
    bad="ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(16, id)", good="ALTER TABLE lake.a.t WRITE ORDERED BY id",
    source=_EVOLUTION,
)  # fmt: skip
def partitioning_of_new_files_only(step: Step, _file: File) -> Iterator[Found]:
    """Find partition fields that are added or dropped."""
    for part in step.parsed.parts:
        if isinstance(part, PartitionField) and part.operation in ("add_partition_field", "drop_partition_field"):
            words = part.operation.split("_")[0].upper()
            yield Found(f"{words} PARTITION FIELD {part.transform.text}", step, part.place)


@statement_rule(
    "replace_partition_field", formats=("iceberg",),
    code="PA102", name="dynamic-overwrite-keeps-rows", severity=Severity.WARNING, proof=Proof.RUN, spares_new_tables=True,
    why="A dynamic INSERT OVERWRITE replaces partitions of the new kind only, so that old rows stay beside the new ones.",
    fix="Let writers overwrite by an explicit filter until all files are rewritten.",
    bad="ALTER TABLE lake.a.t REPLACE PARTITION FIELD days(ts) WITH hours(ts)", good="ALTER TABLE lake.a.t WRITE ORDERED BY id",
    source="https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table--replace-partition-field",
)  # fmt: skip
def dynamic_overwrite_keeps_rows(step: Step, _file: File) -> Iterator[Found]:
    """Find partition fields that are replaced."""
    for part in of(step, "replace_partition_field"):
        if isinstance(part, PartitionField) and part.replaces:
            yield Found(f"REPLACE PARTITION FIELD {part.replaces.text} WITH {part.transform.text}", step, part.place)


@statement_rule(
    *CREATES, formats=("iceberg", "delta"),
    code="PA106", name="partition-per-value", severity=Severity.WARNING, proof=Proof.RUN,
    why="Each value gets a partition and a file of its own, and tables of many small files are slow.",
    fix="Partition by days(column) or bucket(16, column).",
    bad="CREATE TABLE lake.a.t2 (id bigint, ts timestamp) USING iceberg PARTITIONED BY (ts)",
    good="CREATE TABLE lake.a.t2 (id bigint, ts timestamp) USING iceberg PARTITIONED BY (days(ts))",
    source="https://iceberg.apache.org/docs/latest/partitioning/",
)  # fmt: skip
def partition_per_value(step: Step, _file: File) -> Iterator[Found]:
    """Find partitions by a column whose type or name says that it has very many values."""
    types = {part.path[-1].lower(): (part.type or "").lower() for part in step.parsed.parts if isinstance(part, Column)}
    for part in step.parsed.parts:
        if isinstance(part, PartitionField) and part.operation in CREATES and not part.transform.function:
            column = part.transform.arguments[0].lower()
            if _FINE_TYPES.fullmatch(types.get(column, "")) or _FINE_NAMES.fullmatch(column):
                yield Found(f"PARTITIONED BY ({column})", step, part.place)


@statement_rule(
    "drop_column", formats=("iceberg",),
    code="PA103", name="drop-column-of-old-partitioning", severity=Severity.ERROR, proof=Proof.RUN,
    why="Queries of the metadata tables `files` and `entries` fail as long as files of the old partitioning are listed.",
    fix="Keep the column until all files are rewritten and older snapshots are expired.",
    bad=_OF_TWO_FIELDS + "ALTER TABLE lake.a.t2 DROP COLUMN name", good=_OF_TWO_FIELDS + "ALTER TABLE lake.a.t2 DROP COLUMN id",
    source="https://github.com/apache/iceberg/issues/14089",
)  # fmt: skip
def drop_column_of_old_partitioning(step: Step, file: File) -> Iterator[Found]:
    """Find dropped columns by which files of a table that is still partitioned may be partitioned."""
    for part in of(step, "drop_column"):
        known = file.known(step)
        if isinstance(part, DropColumn) and known and known.partitioning and not known.use_of(part.key):
            former = [each.name for each in known.former if starts_with(each.source, part.key)]
            if former:
                yield Found(
                    f"DROP COLUMN {'.'.join(part.path)}: old files have the field {former[0]}", step, part.place
                )


@statement_rule(
    "add_partition_field", formats=("iceberg",),
    code="PA104", name="second-bucket-of-a-column", severity=Severity.WARNING, proof=Proof.RUN,
    why="New rows are partitioned by both, so that they are in more and smaller files.",
    fix="Write REPLACE PARTITION FIELD.",
    bad="CREATE TABLE lake.a.t2 (id bigint) USING iceberg PARTITIONED BY (bucket(3, id));\n"
        "ALTER TABLE lake.a.t2 ADD PARTITION FIELD bucket(4, id)",
    good="CREATE TABLE lake.a.t2 (id bigint) USING iceberg PARTITIONED BY (bucket(3, id));\n"
         "ALTER TABLE lake.a.t2 REPLACE PARTITION FIELD bucket(3, id) WITH bucket(4, id)",
    source=_EVOLUTION,
)  # fmt: skip
def second_bucket_of_a_column(step: Step, file: File) -> Iterator[Found]:
    """Find buckets of a column that has buckets already."""
    for part in of(step, "add_partition_field"):
        new = field_of(part.transform) if isinstance(part, PartitionField) else None
        known = file.known(step) if new and new.transform.startswith("bucket(") else None
        for old in (known and known.partitioning) or ():
            if new and old.source == new.source and old.transform.startswith("bucket(") and old != new:
                column = ".".join(new.source)
                yield Found(
                    f"ADD PARTITION FIELD {new.transform} of {column}, beside {old.transform}", step, part.place
                )


RULES: tuple[Rule, ...] = (
    partitioning_of_new_files_only, dynamic_overwrite_keeps_rows, drop_column_of_old_partitioning, second_bucket_of_a_column,
    partition_per_value,
)  # fmt: skip
