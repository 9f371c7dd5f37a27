"""DL: rules for Delta tables only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.declared.known import VIEW, known_type
from glacierbase.model.text import first_of
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.operations import CREATES_TABLE
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

RULES.clause(
    "DL102", "set_properties", Property, "column mapping by {clause.value}",
    where=lambda clause: clause.key == "delta.columnMapping.mode" and clause.value != "none",
)  # fmt: skip
RULES.clause(
    "DL103", "set_properties", Property, "{clause.key} = {clause.value}",
    where=lambda clause: _upgrades(clause.key) and clause.word != "false",
)  # fmt: skip
RULES.clause(
    "DL105", "add_constraint", Constraint, "ADD CONSTRAINT {clause.name}",
    where=lambda clause: clause.text.upper().startswith("CHECK"),
)  # fmt: skip
RULES.clause(
    "DL106", "other", Feature, "DROP FEATURE {clause.name} TRUNCATE HISTORY",
    where=lambda clause: clause.truncate_history,
)  # fmt: skip
RULES.statement("DL112", "restore", "RESTORE TABLE")
RULES.clause("DL113", "drop_constraint", Constraint, "DROP CONSTRAINT {clause.name}")
RULES.statement(
    "DL117", CREATES_TABLE, "SHALLOW CLONE of {step.parsed.sources[0]}",
    where=lambda step: step.parsed.sources and step.parsed.options.shallow,
)  # fmt: skip


def _upgrades(key: str) -> bool:
    return key in _UPGRADES or key.startswith("delta.feature.")


@RULES.check("DL101", "rename_column", "drop_column")
def column_mapping_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed and dropped columns of tables that are known to have no column mapping."""
    if _value("delta.columnMapping.mode", step, file) in ("", "none"):
        for renamed in of(step, RenameColumn):
            yield RuleFinding(f"RENAME COLUMN {renamed.column} TO {renamed.new}", step, renamed.place)
        for dropped in of(step, DropColumn):
            yield RuleFinding(f"DROP COLUMN {dropped.column}", step, dropped.place)


@RULES.check("DL104", "alter_column_type")
def type_widening_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new types of numbers and dates of tables that are known to have no type widening."""
    is_off = _value("delta.enableTypeWidening", step, file) in ("", "false")
    for part in of(step, AlterColumn, "alter_column_type") if is_off else ():
        column, new = file.column(step, part.key), known_type(part.type)
        if column and _WIDENED.match(column.type or "") and new not in (None, column.type):
            change = f"from {column.type} to {new}"
            yield RuleFinding(f"ALTER COLUMN {part.column} TYPE {part.type}, {change}", step, part.place)


def _value(key: str, step: Step, file: File) -> str | None:
    """Return the value of a property before a statement, in lower case; empty if it is not set, None if that is not known."""
    known = file.known(step)
    if known is None or known.properties is None:
        return None
    return known.properties.get(key, file.facts.defaults.get(key, "")).lower()


_HOURS = {
    "week": 168.0, "day": 24.0, "hour": 1.0, "minute": 1 / 60, "second": 1 / 3600, "millisecond": 0.0, "microsecond": 0.0,
}  # fmt: skip
_INTERVAL = re.compile(r"(?:interval\s+)?((?:\d{1,9}\s+[a-z]+\s*)+)")
_AMOUNT = re.compile(r"(\d{1,9})\s+([a-z]+)")
# What a retention below a week loses.
_RETENTIONS = {
    "delta.deletedFileRetentionDuration": "VACUUM deletes files that readers may need",
    "delta.logRetentionDuration": "older versions are lost",
}


@RULES.check("DL107", "set_properties", *CREATES_TABLE)
def short_retention(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find retentions of files and log shorter than a week, and values that are no interval."""
    for part in of(step, Property):
        if part.key in _RETENTIONS and part.value is not None:
            given, hours = f"{part.key} = {part.value!r}", _hours(part.value)
            if hours is None:
                yield RuleFinding(f"{given}, which Delta refuses: it is no interval", step, part.place)
            elif hours < _HOURS["week"]:
                yield RuleFinding(f"{given}: {_RETENTIONS[part.key]}", step, part.place)


def _hours(value: str) -> float | None:
    """Return the length of an interval; None for another text. Delta refuses months and years."""
    match = _INTERVAL.fullmatch(value.strip().lower())
    amounts = [(number, unit.removesuffix("s")) for number, unit in _AMOUNT.findall(match[1])] if match else []
    if not amounts or any(unit not in _HOURS for _, unit in amounts):
        return None
    return sum(int(number) * _HOURS[unit] for number, unit in amounts)


def _switch(code: str, meanings: Mapping[tuple[str, str], str]) -> None:
    """Add a rule about new values of properties of an existing table.

    Args:
        meanings: what follows, by property and value. A property that is not set is false.
    """

    @RULES.check(code, "set_properties", "unset_properties")
    def check(step: Step, file: File) -> Iterator[RuleFinding]:
        for part in of(step, Property):
            is_unset = part.operation == "unset_properties"
            value = "false" if is_unset else part.word
            consequence = meanings.get((part.key, value))
            before = _value(part.key, step, file) if consequence else None
            if consequence and (before == "true" if is_unset else before != value):
                change = f"UNSET {part.key}" if is_unset else f"{part.key} = {part.value}"
                yield RuleFinding(f"{change}: {consequence}", step, part.place)


_switch("DL109", {
    ("delta.appendOnly", "true"): "jobs that update, delete or merge fail from then on",
    ("delta.appendOnly", "false"): "rows that were protected can be changed and deleted",
})  # fmt: skip
_switch("DL118", {
    ("delta.enableChangeDataFeed", "false"): "consumers of the change feed fail, and later changes are never in it",
})  # fmt: skip


@RULES.check("DL110", "cluster_by")
def cluster_partitioned_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CLUSTER BY of a partitioned table."""
    if any(of(step, PartitionClause)) or (step.parsed.operation not in CREATES_TABLE and file.partitioning(step)):
        for part in of(step, Fields, "cluster_by"):
            yield RuleFinding(f"CLUSTER BY ({', '.join(part.fields)}) of a partitioned table", step, part.place)


@RULES.check("DL111", "cluster_by")
def cluster_existing_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CLUSTER BY of an existing table, unless it is partitioned."""
    if step.parsed.operation not in CREATES_TABLE and not file.partitioning(step):
        for part in of(step, Fields, "cluster_by"):
            yield RuleFinding(f"CLUSTER BY {', '.join(part.fields) or 'NONE'}", step, part.place)


_OF_FEED = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})


@RULES.check("DL114", "add_column", "rename_column", *CREATES_TABLE)
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
    """Find CONVERT TO DELTA in every catalog: the format of the catalog is not that of the new table."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        is_other = step.parsed.operation == "other"
        if is_other and words(step.statement.text, SPARK.name)[:3] == ("CONVERT", "TO", "DELTA"):
            yield RuleFinding("CONVERT TO DELTA", step)


@RULES.check("DL119", "drop_column")
def drop_clustering_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns by which the table is clustered."""
    known = file.known(step)
    for part in of(step, DropColumn):
        if known and part.key[-1].upper() in known.clustering:
            yield RuleFinding(f"DROP COLUMN {part.column}: the table is clustered by it", step, part.place)


@RULES.check("DL108", "update", "delete", "merge", "insert_overwrite", "truncate")
def rows_of_append_only_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find changes of existing rows of a table that is known to be append-only; a MERGE that only inserts is none."""
    actions = {clause.action for clause in of(step, MergeClause)}
    if actions != {"insert"} and _value("delta.appendOnly", step, file) == "true":
        yield RuleFinding(f"{step.verb} of an append-only table is refused", step)


@RULES.check("DL120", "vacuum")
def vacuum_under_a_clone(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find VACUUM of the source of a declared shallow clone."""
    clones = [".".join(name) for name, table in file.tables.readers(step) if table.using != VIEW]
    if clones and not step.parsed.options.dry_run:
        yield RuleFinding(f"VACUUM of the source of the shallow clone {first_of(clones, 3)}", step)
