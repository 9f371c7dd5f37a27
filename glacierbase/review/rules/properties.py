"""PR: table properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.text import first_of
from glacierbase.review import table_properties
from glacierbase.review.rule import CREATES, File, Found, Proof, Rule, Step, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.known import KnownTable
from glacierbase.sql.statement import Column, Property

_SETS = ("set_properties", *CREATES)
_ALTER = "ALTER TABLE lake.a.t SET TBLPROPERTIES ({})"
_COUNT = re.compile(r"[0-9]{1,9}")
_METRICS = "write.metadata.metrics."
_WIDE = (
    "CREATE TABLE lake.a.t2 (a int, b int, c int) USING iceberg\n"
    "TBLPROPERTIES ('write.metadata.metrics.max-inferred-column-defaults'='2'{})"
)
_DOCS = "https://iceberg.apache.org/docs/latest/configuration/"


@statement_rule(
    *_SETS, formats=("iceberg", "delta", "hudi"),
    code="PR101", name="unknown-property", severity=Severity.ERROR, proof=Proof.RUN,
    why="No code reads a property of this name: Iceberg stores it and goes on as before, Delta refuses it.",
    fix="Write the property that is meant; a property of your own gets a name outside of those of the format.",
    bad=_ALTER.format("'commit.retry.num-retires'='10'"), good=_ALTER.format("'commit.retry.num-retries'='10'"), source=_DOCS,
)  # fmt: skip
def unknown_property(step: Step, file: File) -> Iterator[Found]:
    """Find properties that the format does not know, under the names that it reserves or near to one that it knows."""
    table_format = file.format_of(step)
    version = file.facts.versions.get(table_format)
    for each in _properties(step):
        near = table_properties.nearest(each.key, table_format)
        if near is not None:
            fix = f"did you mean {near}?" if near else ""
            yield Found(f"{table_format} has no property {each.key}", step, each.place, fix)
        elif version and table_properties.is_later(each.key, table_format, version):
            fix = "Name a later version in `dependencies` of the catalog file, or leave the property out."
            yield Found(f"{table_format} {version} has no property {each.key}, a later one has", step, each.place, fix)


@statement_rule(
    *_SETS, formats=("iceberg",),
    code="PR102", name="bad-property-value", severity=Severity.ERROR, proof=Proof.RUN,
    why="Iceberg stores any text; a commit, write or read that uses the property then fails, or takes another value.",
    fix="Write a value of the property's type.",
    bad=_ALTER.format("'commit.retry.num-retries'='ten'"), good=_ALTER.format("'commit.retry.num-retries'='10'"), source=_DOCS,
)  # fmt: skip
def bad_value(step: Step, _file: File) -> Iterator[Found]:
    """Find values that do not fit the type of the property."""
    for each in _properties(step):
        expected = table_properties.expected(each.key, each.value) if each.value is not None else None
        if expected:
            fix = f"write {expected}"
            yield Found(f"{each.key} is {each.value!r}, not {expected}", step, each.value_place or each.place, fix)


@statement_rule(
    *_SETS, formats=("iceberg",),
    code="PR103", name="metrics-of-all-columns", severity=Severity.WARNING, proof=Proof.CITED,
    why="Full metrics of every column make manifests large, and planning slow.",
    fix="Set write.metadata.metrics.column.NAME for the columns that queries filter by.",
    bad=_ALTER.format("'write.metadata.metrics.default'='full'"),
    good=_ALTER.format("'write.metadata.metrics.column.id'='full'"),
    source="https://github.com/apache/iceberg/issues/3959",
)  # fmt: skip
def metrics_of_all_columns(step: Step, _file: File) -> Iterator[Found]:
    """Find `full` as the default of metrics."""
    for each in _properties(step):
        if each.key == "write.metadata.metrics.default" and (each.value or "").lower() == "full":
            yield Found("full metrics of every column", step, each.place)


@statement_rule(
    "add_column", *CREATES, formats=("iceberg",),
    code="PR104", name="columns-without-metrics", severity=Severity.WARNING, proof=Proof.RUN,
    why="Iceberg keeps metrics of the first 100 columns only, so that queries that filter by a later one read every file.",
    fix="Set write.metadata.metrics.column.NAME for the columns that queries filter by.",
    bad=_WIDE.format(""), good=_WIDE.format(", 'write.metadata.metrics.column.c'='truncate(16)'"),
    source=f"{_DOCS}#write-properties",
)  # fmt: skip
def columns_without_metrics(step: Step, file: File) -> Iterator[Found]:
    """Find columns beyond the number of those for which Iceberg keeps metrics."""
    # A table that is replaced keeps its properties.
    before = file.known(step) if not step.operations.isdisjoint(("add_column", "replace_table")) else None
    known = (
        before
        if "add_column" in step.operations
        else KnownTable(columns={}, properties=before.properties if before else None)
    )
    if known is None or known.columns is None:
        return
    added = [part for part in step.parsed.parts if isinstance(part, Column) and len(part.path) == 1]
    properties = {**file.facts.defaults, **(known.properties or {}), **_set_from(step, file)}
    most = properties.get(f"{_METRICS}max-inferred-column-defaults", "100")
    if f"{_METRICS}default" in properties or not _COUNT.fullmatch(most):
        return
    beyond = added[max(int(most) - len(known.columns), 0) :]
    without = [each for each in beyond if f"{_METRICS}column.{each.path[0]}" not in properties]
    if without:
        names = first_of([each.path[0] for each in without], 1)
        yield Found(f"column {names}: beyond the first {most}", step, without[0].place)


def _set_from(step: Step, file: File) -> dict[str, str]:
    """Return the properties of the table that this statement sets, or a later one of the file."""
    later = [each for each in file.steps if each.statement.index >= step.statement.index and each.target == step.target]
    return {each.key: each.value for other in later for each in _properties(other) if each.value is not None}


@statement_rule(
    "set_properties", formats=("iceberg",),
    code="PR108", name="format-version-upgrade", severity=Severity.ERROR, proof=Proof.RUN,
    why="No statement lowers the format version again, and readers that do not support the new one fail.",
    fix="List the engines that read the table, and allow it with that as the reason.",
    bad=_ALTER.format("'format-version'='3'"), good=_ALTER.format("'write.delete.mode'='merge-on-read'"),
    source="https://iceberg.apache.org/spec/#format-versioning", spares_new_tables=True,
)  # fmt: skip
def format_version_upgrade(step: Step, _file: File) -> Iterator[Found]:
    """Find `format-version` in ALTER TABLE."""
    for each in _properties(step):
        if each.key == "format-version" and not table_properties.expected(each.key, each.value or ""):
            yield Found(f"the table gets format version {each.value}", step, each.place)


@statement_rule(
    *_SETS, formats=("iceberg",),
    code="PR111", name="garbage-collection-off", severity=Severity.WARNING, proof=Proof.RUN,
    why="Snapshots cannot be expired while gc.enabled is false, so that files of the table are never deleted.",
    fix="Leave gc.enabled out, unless another table owns the files.",
    bad=_ALTER.format("'gc.enabled'='false'"), good=_ALTER.format("'history.expire.min-snapshots-to-keep'='10'"), source=_DOCS,
)  # fmt: skip
def garbage_collection_off(step: Step, _file: File) -> Iterator[Found]:
    """Find `gc.enabled` that is false."""
    for each in _properties(step):
        if each.key == "gc.enabled" and (each.value or "").lower() == "false":
            yield Found("gc.enabled is false", step, each.place)


def _properties(step: Step) -> Iterator[Property]:
    """Yield the properties that a statement sets."""
    return (part for part in step.parsed.parts if isinstance(part, Property) and part.operation != "unset_properties")


RULES: tuple[Rule, ...] = (
    unknown_property,
    bad_value,
    metrics_of_all_columns,
    columns_without_metrics,
    format_version_upgrade,
    garbage_collection_off,
)
