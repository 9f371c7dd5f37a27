"""PR: table properties."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from glacierbase.capabilities.review import table_properties
from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import CREATES, File, Rule, RuleFinding, Step
from glacierbase.declared.known import KnownTable, field_of
from glacierbase.layout.iceberg import FORMER_PATHS, refuses_former_paths
from glacierbase.model.text import first_of
from glacierbase.sql.statement import ColumnClause, PartitionClause, Property

RULES = Family(__file__)
_SETS = ("set_properties", *CREATES)
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
            yield RuleFinding(
                f"{table_format} {version} has no property {property.key}, a later one has", step, property.place, fix
            )


@RULES.check("PR102", *_SETS)
def bad_value(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find values that do not match the type of the property."""
    for property in properties_set(step):
        expected = table_properties.expected(property.key, property.value or "", file.format_of(step))
        if expected:
            fix = f"write {expected}"
            yield RuleFinding(
                f"{property.key} is {property.value!r}, not {expected}",
                step,
                property.value_place or property.place,
                fix,
            )


@RULES.check("PR103", *_SETS)
def metrics_of_all_columns(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `full` as the default of metrics."""
    for property in properties_set(step):
        if property.key == "write.metadata.metrics.default" and (property.value or "").lower() == "full":
            yield RuleFinding("full metrics of every column", step, property.place)


@RULES.check("PR104", "add_column", *CREATES)
def columns_without_metrics(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns beyond the number of columns for which Iceberg keeps metrics."""
    # A table that is replaced keeps its properties.
    before = file.known(step) if not step.operations.isdisjoint(("add_column", "replace_table")) else None
    known = (
        before
        if "add_column" in step.operations
        else KnownTable(columns={}, properties=before.properties if before else None)
    )
    if known is None or known.columns is None:
        return
    added = [part for part in step.parsed.parts if isinstance(part, ColumnClause) and len(part.path) == 1]
    properties = {**file.facts.defaults, **(known.properties or {}), **set_from(step, file)}
    most = properties.get(f"{_METRICS}max-inferred-column-defaults", "100")
    if f"{_METRICS}default" in properties or not _COUNT.fullmatch(most):
        return
    beyond = added[max(int(most) - len(known.columns), 0) :]
    without = [column for column in beyond if f"{_METRICS}column.{column.path[0]}" not in properties]
    if without:
        names = first_of([column.path[0] for column in without], 1)
        yield RuleFinding(f"column {names}: beyond the first {most}", step, without[0].place)


def set_from(step: Step, file: File) -> dict[str, str]:
    """Return the properties of the table that this statement or a later one of the file sets."""
    later = [later_step for later_step in (step, *file.after(step)) if later_step.target == step.target]
    return {
        property.key: property.value
        for other in later
        for property in properties_set(other)
        if property.value is not None
    }


@RULES.check("PR108", "set_properties")
def format_version_upgrade(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `format-version` in ALTER TABLE."""
    for property in properties_set(step):
        if property.key == "format-version" and not table_properties.expected(property.key, property.value or ""):
            yield RuleFinding(f"the table gets format version {property.value}", step, property.place)


@RULES.check("PR111", *_SETS)
def garbage_collection_off(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `gc.enabled` that is false."""
    for property in properties_set(step):
        if property.key == "gc.enabled" and (property.value or "").lower() == "false":
            yield RuleFinding("gc.enabled is false", step, property.place)


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
    known = None if step.parsed.operation in CREATES else file.known(step)
    is_partitioned = any(isinstance(part, PartitionClause) for part in step.parsed.parts)
    if is_partitioned or (known and (known.partitioning or known.ordering)):
        for property in properties_set(step):
            if property.key == "write.distribution-mode" and (property.value or "").lower() == "none":
                yield RuleFinding("write.distribution-mode is none", step, property.place)


@RULES.check("PR115", *_SETS)
def no_metrics(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find `none` as the default of metrics, or as those of a column by which the table is partitioned or sorted."""
    known = file.known(step)
    fields = [field_of(part.transform) for part in step.parsed.parts if isinstance(part, PartitionClause)]
    fields += [*((known and known.partitioning) or ()), *((known and known.ordering) or ())]
    used = {f"{_METRICS}column.{'.'.join(field.source)}" for field in fields if field}
    for property in properties_set(step):
        if (property.value or "").lower() == "none" and property.key.lower() in {f"{_METRICS}default", *used}:
            yield RuleFinding(f"{property.key} is none", step, property.place)


def _is_short(key: str, value: str, _whole: Mapping[str, str]) -> bool:
    """Return whether a property lets snapshots expire within a day."""
    is_age = key == "history.expire.max-snapshot-age-ms" and value.isdigit() and not table_properties.unit(key, value)
    return is_age and int(value) < _DAY_MS


def _of_value(code: str, is_bad: Callable[[str, str, Mapping[str, str]], bool]) -> Rule:
    """Make a rule about the values of single properties.

    Args:
        is_bad: returns whether a key with its value is the hazard; it gets all properties of the table, too.
    """

    @RULES.check(code, *_SETS)
    def rule(step: Step, file: File) -> Iterator[RuleFinding]:
        whole = _whole(step, file)
        for property in properties_set(step):
            value = (property.value or "").strip().lower()
            if is_bad(property.key, value, whole):
                yield RuleFinding(f"{property.key} is {value}", step, property.place)

    return rule


no_retries = _of_value("PR116", lambda key, value, _: key == "commit.retry.num-retries" and value in ("0", "-1"))
any_schema = _of_value("PR117", lambda key, value, _: key == "write.spark.accept-any-schema" and value == "true")
old_metadata_is_deleted = _of_value(
    "PR118",
    lambda key, value, whole: (
        key == "write.metadata.previous-versions-max"
        and value in ("0", "1", "2")
        and whole.get("write.metadata.delete-after-commit.enabled", "").lower() == "true"
    ),
)
writes_are_not_published = _of_value("PR119", lambda key, value, _: key == "write.wap.enabled" and value == "true")
short_history = _of_value("PR121", _is_short)


@RULES.check("PR120", "set_properties", "unset_properties")
def another_place_for_files(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties that move new files of an existing table to another place."""
    declared = (known := file.known(step)) and known.properties
    refused = FORMER_PATHS if refuses_former_paths(file.facts.versions.get("iceberg")) else ()
    for part in step.parsed.parts:
        if isinstance(part, Property) and part.key in _PLACES and part.key not in refused:
            before = declared.get(part.key) if declared else None
            is_unset = part.operation == "unset_properties"
            if before is not None if is_unset else (before != part.value and part.value != "false"):
                yield RuleFinding(f"{part.key} {'is removed' if is_unset else f'is {part.value}'}", step, part.place)


@RULES.check("PR122", "unset_properties")
def guard_is_removed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find removed properties that keep snapshots and files, where an earlier statement sets them."""
    declared = (known := file.known(step)) and known.properties
    for part in step.parsed.parts if declared else ():
        value = declared.get(part.key, "") if declared and isinstance(part, Property) else ""
        if isinstance(part, Property) and _guards(part.key, value):
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
    known = file.known(step)
    is_new = step.parsed.operation in ("create_table", "create_table_as")
    before = {} if is_new or known is None else known.properties or {}
    return {
        **file.facts.defaults,
        **before,
        **{property.key: property.value or "" for property in properties_set(step)},
    }


def properties_set(step: Step) -> Iterator[Property]:
    """Yield the properties that a statement sets."""
    return (part for part in step.parsed.parts if isinstance(part, Property) and part.operation != "unset_properties")
