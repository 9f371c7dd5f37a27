"""DL: rules for Delta tables only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import CREATES, File, RuleFinding, Step, of
from glacierbase.declared.known import VIEW, known_type
from glacierbase.model.text import first_of
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import (
    AlterColumn,
    ColumnClause,
    Constraint,
    DropColumn,
    Feature,
    Fields,
    MergeClause,
    PartitionClause,
    Property,
    RenameColumn,
)
from glacierbase.sql.tokens import words

RULES = Family(__file__)
# For Delta, a longer string is not another type.
_WIDENED = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal|date")
_UPGRADES = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.enableDeletionVectors", "delta.enableRowTracking",
             "delta.enableTypeWidening", "delta.enableInCommitTimestamps", "delta.enableVariantShredding")  # fmt: skip


@RULES.check("DL101", "rename_column", "drop_column")
def column_mapping_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed and dropped columns of tables that are known to have no column mapping."""
    if _value("delta.columnMapping.mode", step, file) in ("", "none"):
        for part in step.parsed.parts:
            if isinstance(part, RenameColumn):
                yield RuleFinding(f"RENAME COLUMN {part.column} TO {part.new}", step, part.place)
            elif isinstance(part, DropColumn):
                yield RuleFinding(f"DROP COLUMN {part.column}", step, part.place)


@RULES.check("DL102", "set_properties")
def enable_column_mapping(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `delta.columnMapping.mode` in ALTER TABLE."""
    for part in of(step, Property, "set_properties"):
        if part.key == "delta.columnMapping.mode" and part.value != "none":
            yield RuleFinding(f"column mapping by {part.value}", step, part.place)


@RULES.check("DL103", "set_properties")
def protocol_upgrade(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find properties that raise the protocol."""
    for part in of(step, Property, "set_properties"):
        if _upgrades(part) and (part.value or "").lower() != "false":
            yield RuleFinding(f"{part.key} = {part.value}", step, part.place)


def _upgrades(part: Property) -> bool:
    return part.key in _UPGRADES or part.key.startswith("delta.feature.")


@RULES.check("DL104", "alter_column_type")
def type_widening_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new types of numbers and dates of tables that are known to have no type widening."""
    known = file.known(step) if _value("delta.enableTypeWidening", step, file) in ("", "false") else None
    for part in of(step, AlterColumn, "alter_column_type") if known else ():
        column = known.column(part.key) if known and isinstance(part, AlterColumn) else None
        if column and isinstance(part, AlterColumn) and _WIDENED.match(column.type or ""):
            new = known_type(part.type)
            if new not in (None, column.type):
                change = f"from {column.type} to {new}"
                yield RuleFinding(f"ALTER COLUMN {part.column} TYPE {part.type}, {change}", step, part.place)


def _value(key: str, step: Step, file: File) -> str | None:
    """Return the value of a property before a statement, in lower case; empty if it is not set, None if that is not known."""
    known = file.known(step)
    if known is None or known.properties is None:
        return None
    return known.properties.get(key, file.facts.defaults.get(key, "")).lower()


@RULES.check("DL105", "add_constraint")
def check_reads_the_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find ADD CONSTRAINT … CHECK."""
    for part in of(step, Constraint, "add_constraint"):
        if part.text.upper().startswith("CHECK"):
            yield RuleFinding(f"ADD CONSTRAINT {part.name}", step, part.place)


@RULES.check("DL106", "other")
def truncate_history(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DROP FEATURE … TRUNCATE HISTORY."""
    for part in step.parsed.parts:
        if isinstance(part, Feature) and part.truncate_history:
            yield RuleFinding(f"DROP FEATURE {part.name} TRUNCATE HISTORY", step, part.place)


_UNITS = {
    "week": 168.0,
    "day": 24.0,
    "hour": 1.0,
    "minute": 1 / 60,
    "second": 1 / 3600,
    "millisecond": 0.0,
    "microsecond": 0.0,
}
_INTERVAL = re.compile(r"(?:interval\s+)?((?:\d{1,9}\s+[a-z]+\s*)+)")
_AMOUNT = re.compile(r"(\d{1,9})\s+([a-z]+)")
_WEEK = 168
_RETENTIONS = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")


@RULES.check("DL107", "set_properties", *CREATES)
def short_retention(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find retentions of files and log shorter than a week, and values that are no interval."""
    for part in step.parsed.parts:
        if isinstance(part, Property) and part.key in _RETENTIONS and part.value is not None:
            hours = _hours(part.value)
            if hours is None:
                yield RuleFinding(
                    f"{part.key} = {part.value!r}, which Delta refuses: it is no interval", step, part.place
                )
            elif hours < _WEEK:
                lost = (
                    "older versions are lost"
                    if part.key == _RETENTIONS[1]
                    else "VACUUM deletes files that readers may need"
                )
                yield RuleFinding(f"{part.key} = {part.value!r}: {lost}", step, part.place)


def _hours(value: str) -> float | None:
    """Return the length of an interval; None for another text. Delta refuses months and years."""
    match = _INTERVAL.fullmatch(value.strip().lower())
    amounts = [(number, unit.removesuffix("s")) for number, unit in _AMOUNT.findall(match[1])] if match else []
    if not amounts or any(unit not in _UNITS for _, unit in amounts):
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in amounts)


_MEANING = {
    ("delta.appendOnly", "true"): ("DL109", "jobs that update, delete or merge fail from then on"),
    ("delta.appendOnly", "false"): ("DL109", "rows that were protected can be changed and deleted"),
    ("delta.enableChangeDataFeed", "false"): (
        "DL118",
        "consumers of the change feed fail, and later changes are never in it",
    ),
}


def _switched(code: str, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties of an existing table whose new value has a meaning for the rule of this code."""
    for part in of(step, Property, "set_properties"):
        if isinstance(part, Property):
            value = (part.value or "").lower()
            of_code, consequence = _MEANING.get((part.key, value), ("", ""))
            if of_code == code and _value(part.key, step, file) != value:
                yield RuleFinding(f"{part.key} = {part.value}: {consequence}", step, part.place)
    for part in of(step, Property, "unset_properties"):
        # A property that is not set is false.
        of_code, consequence = _MEANING.get((getattr(part, "key", ""), "false"), ("", ""))
        if isinstance(part, Property) and of_code == code and _value(part.key, step, file) == "true":
            yield RuleFinding(f"UNSET {part.key}: {consequence}", step, part.place)


@RULES.check("DL109", "set_properties", "unset_properties")
def append_only_changed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find `delta.appendOnly` in ALTER TABLE."""
    yield from _switched("DL109", step, file)


@RULES.check("DL110", "cluster_by")
def cluster_partitioned_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CLUSTER BY of a partitioned table."""
    if clustered := _clustered(step):
        known = file.known(step) if step.parsed.operation not in CREATES else None
        declares = any(isinstance(part, PartitionClause) for part in step.parsed.parts)
        if declares or (known and known.partitioning):
            yield RuleFinding(
                f"CLUSTER BY ({', '.join(clustered.fields)}) of a partitioned table", step, clustered.place
            )


@RULES.check("DL111", "cluster_by")
def cluster_existing_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CLUSTER BY of an existing table, unless it is partitioned."""
    known = file.known(step)
    clustered = _clustered(step) if step.parsed.operation not in CREATES else None
    if clustered and not (known and known.partitioning):
        yield RuleFinding(f"CLUSTER BY {', '.join(clustered.fields) or 'NONE'}", step, clustered.place)


def _clustered(step: Step) -> Fields | None:
    return next((part for part in of(step, Fields, "cluster_by") if isinstance(part, Fields)), None)


@RULES.check("DL112", "restore")
def restore_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find RESTORE TABLE."""
    yield RuleFinding("RESTORE TABLE", step)


@RULES.check("DL113", "drop_constraint")
def constraint_dropped(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DROP CONSTRAINT."""
    for part in of(step, Constraint, "drop_constraint"):
        if isinstance(part, Constraint):
            yield RuleFinding(f"DROP CONSTRAINT {part.name}", step, part.place)


_OF_FEED = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})


@RULES.check("DL114", "add_column", "rename_column", *CREATES)
def column_of_change_feed(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find columns with names that the change data feed uses."""
    for part in step.parsed.parts:
        name = part.path[-1] if isinstance(part, ColumnClause) and len(part.path) == 1 else getattr(part, "new", "")
        if name.lower() in _OF_FEED:
            yield RuleFinding(f"the column {name}", step, part.place)


@RULES.check("DL115", "optimize")
def rewrite_of_a_whole_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find OPTIMIZE and REORG TABLE without a filter."""
    if not step.parsed.options.where:
        yield RuleFinding(f"{step.statement.text.split()[0].upper()} of the whole table", step)


@RULES.check_file("DL116")
def convert_to_delta(file: File) -> Iterator[RuleFinding]:
    """Find CONVERT TO DELTA."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        if step.parsed.operation == "other" and _words(step)[:3] == ("CONVERT", "TO", "DELTA"):
            yield RuleFinding("CONVERT TO DELTA", step)


@RULES.check("DL117", *CREATES)
def shallow_clone(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find SHALLOW CLONE."""
    sources = step.parsed.sources
    if sources and step.parsed.options.shallow:
        yield RuleFinding(f"SHALLOW CLONE of {sources[0]}", step)


def _words(step: Step) -> tuple[str, ...]:
    return words(step.statement.text, SPARK.name)


@RULES.check("DL118", "set_properties", "unset_properties")
def change_feed_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find `delta.enableChangeDataFeed` = false, and UNSET, in ALTER TABLE."""
    yield from _switched("DL118", step, file)


@RULES.check("DL119", "drop_column")
def drop_clustering_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns by which the table is clustered."""
    known = file.known(step)
    for part in of(step, DropColumn):
        if known and isinstance(part, DropColumn) and part.key[-1].upper() in known.clustering:
            yield RuleFinding(f"DROP COLUMN {part.column}: the table is clustered by it", step, part.place)


@RULES.check("DL108", "update", "delete", "merge", "insert_overwrite", "truncate")
def rows_of_append_only_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find changes of existing rows of a table that is known to be append-only; a MERGE that only inserts is none."""
    actions = {part.action for part in step.parsed.parts if isinstance(part, MergeClause)}
    if actions != {"insert"} and _value("delta.appendOnly", step, file) == "true":
        yield RuleFinding(f"{step.parsed.operation.replace('_', ' ').upper()} of an append-only table is refused", step)


@RULES.check("DL120", "vacuum")
def vacuum_under_a_clone(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find VACUUM of the source of a declared shallow clone."""
    clones = [".".join(name) for name, table in file.tables.readers(step) if table.using != VIEW]
    if clones and not step.parsed.options.dry_run:
        yield RuleFinding(f"VACUUM of the source of the shallow clone {first_of(clones, 3)}", step)
