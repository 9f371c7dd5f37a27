"""PR: table properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.capabilities.review import table_properties
from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.declared.known import field_of
from glacierbase.layout.iceberg import FORMER_PATHS, refuses_former_paths
from glacierbase.model.text import first_of
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import ColumnClause, PartitionClause, Property

RULES = Family(__file__)
_SETS = ("set_properties", *CREATES_TABLE)
_COUNT = re.compile(r"[0-9]{1,9}")
_METRICS = "write.metadata.metrics."
# Properties that other writers of the same files read.
_OF_FILES = {"iceberg": ("parquet.compression", "orc.compress", "transactional", "external.table.purge", "auto.purge")}
_PLACES = (
    "write.data.path", "write.metadata.path", *FORMER_PATHS,
    "write.object-storage.enabled", "write.location-provider.impl",
)  # fmt: skip
_DAY_MS = 24 * 60 * 60 * 1000
# Properties that Iceberg refuses, or that are commands, with what to write instead.
_COMMANDS = {
    "current-snapshot-id": "call rollback_to_snapshot or set_current_snapshot",
    "cherry-pick-snapshot-id": "call cherrypick_snapshot",
    "sort-order": "write ALTER TABLE … WRITE ORDERED BY",
    "identifier-fields": "write ALTER TABLE … SET IDENTIFIER FIELDS",
    "location": "write LOCATION, or ALTER TABLE … SET LOCATION",
    "provider": "write USING",
    "owner": "leave it out; the catalog sets it",
}


def _is_short(property: Property) -> bool:
    """Return whether a property lets snapshots expire within a day."""
    value = property.value or ""
    is_age = property.key == "history.expire.max-snapshot-age-ms" and value.isdigit()
    return is_age and not table_properties.unit(property.key, value) and int(value) < _DAY_MS


RULES.clause(
    "PR103", _SETS, Property, "full metrics of every column",
    where=lambda clause: clause.key == f"{_METRICS}default" and clause.word == "full",
)  # fmt: skip
RULES.clause(
    "PR108", "set_properties", Property, "the table gets format version {clause.value}",
    where=lambda clause: clause.key == "format-version" and not table_properties.expected(clause.key, clause.value or ""),
)  # fmt: skip
RULES.clause("PR121", _SETS, Property, "{clause.key} is {clause.value}", where=_is_short)


def _value(code: str, key: str, *values: str) -> None:
    """Add a rule about values of a property."""
    RULES.clause(
        code, _SETS, Property, "{clause.key} is {clause.word}",
        where=lambda clause: clause.key == key and clause.word in values,
    )  # fmt: skip


_value("PR111", "gc.enabled", "false")
_value("PR116", "commit.retry.num-retries", "0", "-1")
_value("PR117", "write.spark.accept-any-schema", "true")
_value("PR119", "write.wap.enabled", "true")


@RULES.check("PR101", *_SETS)
def unknown_property(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties that are unknown to the format, with a reserved name or a name similar to a known one."""
    table_format = file.format_of(step)
    version = file.facts.versions.get(table_format)
    for property in properties_set(step):
        near = table_properties.nearest(property.key, table_format)
        other = table_properties.format_of_key(property.key, table_format)
        if other or property.key in _OF_FILES.get(table_format, ()):
            message = f"{table_format} does not read {property.key}, a property of {other or 'other tables'}"
            yield RuleFinding(message, step, property.place)
        elif near is not None:
            fix = f"did you mean {near}?" if near else ""
            yield RuleFinding(f"{table_format} has no property {property.key}", step, property.place, fix)
        elif version and table_properties.is_later(property.key, table_format, version):
            fix = "Name a later version in `dependencies` of the catalog file, or leave the property out."
            message = f"{table_format} {version} has no property {property.key}, a later one has"
            yield RuleFinding(message, step, property.place, fix)


@RULES.check("PR102", *_SETS)
def bad_value(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find values that do not match the type of the property."""
    for property in properties_set(step):
        expected = table_properties.expected(property.key, property.value or "", file.format_of(step))
        if expected:
            place = property.value_place or property.place
            message = f"{property.key} is {property.value!r}, not {expected}"
            yield RuleFinding(message, step, place, f"write {expected}")


@RULES.check("PR104", "add_column", *CREATES_TABLE)
def columns_without_metrics(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns beyond the number of columns for which Iceberg keeps metrics."""
    # A table that is replaced keeps its properties.
    before = file.known(step) if not step.operations.isdisjoint(("add_column", "replace_table")) else None
    known = before if "add_column" in step.operations else None
    if "add_column" in step.operations and (known is None or known.columns is None):
        return
    added = [column for column in of(step, ColumnClause) if len(column.path) == 1]
    properties = {**file.facts.defaults, **((before and before.properties) or {}), **set_from(step, file)}
    most = properties.get(f"{_METRICS}max-inferred-column-defaults", "100")
    if f"{_METRICS}default" in properties or not _COUNT.fullmatch(most):
        return
    beyond = added[max(int(most) - len((known and known.columns) or ()), 0) :]
    without = [column for column in beyond if f"{_METRICS}column.{column.path[0]}" not in properties]
    if without:
        names = first_of([column.path[0] for column in without], 1)
        yield RuleFinding(f"column {names}: beyond the first {most}", step, without[0].place)


def set_from(step: Step, file: File) -> dict[str, str]:
    """Return the properties of the table that this statement or a later one of the file sets."""
    later = [later_step for later_step in (step, *file.after(step)) if later_step.target == step.target]
    properties = (property for other in later for property in properties_set(other))
    return {property.key: property.value for property in properties if property.value is not None}


@RULES.check("PR112", *_SETS)
def value_in_another_unit(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find sizes and times that are plausible in another unit only."""
    for property in properties_set(step):
        words = table_properties.unit(property.key, property.value or "")
        if words:
            yield RuleFinding(f"{property.key} is {words}: {property.value}", step, property.place)


@RULES.check("PR113", *_SETS)
def merge_on_read_in_version_1(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find merge-on-read of a table of format version 1."""
    if _whole(step, file).get("format-version") != "1":
        return
    for property in properties_set(step):
        if re.fullmatch(r"write\.(?:delete|update|merge)\.mode", property.key) and property.value == "merge-on-read":
            yield RuleFinding(f"{property.key} is merge-on-read in format version 1", step, property.place)


@RULES.check("PR114", *_SETS)
def rows_are_not_distributed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find `write.distribution-mode` none of a partitioned or sorted table."""
    known = None if step.parsed.operation in CREATES_TABLE else file.known(step)
    if any(of(step, PartitionClause)) or (known and (known.partitioning or known.ordering)):
        for property in properties_set(step):
            if property.key == "write.distribution-mode" and property.word == "none":
                yield RuleFinding("write.distribution-mode is none", step, property.place)


@RULES.check("PR115", *_SETS)
def no_metrics(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find `none` as the default of metrics, or as those of a column by which the table is partitioned or sorted."""
    known = file.known(step)
    fields = [field_of(part.transform) for part in of(step, PartitionClause)]
    fields += [*file.partitioning(step), *((known and known.ordering) or ())]
    used = {f"{_METRICS}column.{'.'.join(field.source)}" for field in fields if field}
    for property in properties_set(step):
        if property.word == "none" and property.key.lower() in {f"{_METRICS}default", *used}:
            yield RuleFinding(f"{property.key} is none", step, property.place)


@RULES.check("PR118", *_SETS)
def old_metadata_is_deleted(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find one or two kept files of metadata, or none, where Iceberg deletes the others."""
    if _whole(step, file).get("write.metadata.delete-after-commit.enabled", "").lower() == "true":
        for property in properties_set(step):
            if property.key == "write.metadata.previous-versions-max" and property.value in ("0", "1", "2"):
                yield RuleFinding(f"{property.key} is {property.value}", step, property.place)


@RULES.check("PR120", "set_properties", "unset_properties")
def another_place_for_files(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties that move new files of an existing table to another place."""
    declared = file.properties(step)
    refused = FORMER_PATHS if refuses_former_paths(file.facts.versions.get("iceberg")) else ()
    for part in of(step, Property):
        if part.key in _PLACES and part.key not in refused:
            before = declared.get(part.key)
            is_unset = part.operation == "unset_properties"
            if before is not None if is_unset else (before != part.value and part.value != "false"):
                yield RuleFinding(f"{part.key} {'is removed' if is_unset else f'is {part.value}'}", step, part.place)


@RULES.check("PR122", "unset_properties")
def guard_is_removed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find removed properties that keep snapshots and files, where an earlier statement sets them."""
    declared = file.properties(step)
    for part in of(step, Property):
        value = declared.get(part.key, "")
        if _guards(part.key, value):
            yield RuleFinding(f"{part.key} is removed, which is {value}", step, part.place)


def _guards(key: str, value: str) -> bool:
    """Return whether a property keeps more than Iceberg's default does."""
    least = {"history.expire.max-snapshot-age-ms": 5 * _DAY_MS, "history.expire.min-snapshots-to-keep": 1}
    if key in least:
        return value.isdigit() and int(value) > least[key]
    return key == "gc.enabled" and value.lower() == "false"


@RULES.check("PR123", "set_properties")
def property_is_a_command(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find properties that Iceberg or Spark refuses, and those that move the table to another snapshot."""
    for property in properties_set(step):
        if property.key in _COMMANDS:
            fix = f"{_COMMANDS[property.key].capitalize()}."
            yield RuleFinding(f"{property.key} is not a property to set", step, property.place, fix)


def _whole(step: Step, file: File) -> dict[str, str]:
    """Return the declared properties of the table after a statement, and the catalog's defaults."""
    is_new, before = step.parsed.operation in ("create_table", "create_table_as"), file.properties(step)
    new = {property.key: property.value or "" for property in properties_set(step)}
    return {**file.facts.defaults, **({} if is_new else before), **new}


def properties_set(step: Step) -> Iterator[Property]:
    """Yield the properties that a statement sets."""
    return (property for property in of(step, Property) if property.operation != "unset_properties")
