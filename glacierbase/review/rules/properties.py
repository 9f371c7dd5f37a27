"""PR: table properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.text import first_of
from glacierbase.review import table_properties
from glacierbase.review.results import Severity
from glacierbase.review.rule import CREATES, File, Found, Proof, Rule, Step, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.known import KnownTable
from glacierbase.sql.statement import Column, Property

_TEXTS = texts("properties")
_SETS = ("set_properties", *CREATES)
_COUNT = re.compile(r"[0-9]{1,9}")
_METRICS = "write.metadata.metrics."


@statement_rule(
    *_SETS, formats=("iceberg", "delta", "hudi"), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["PR101"]
)
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


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["PR102"])
def bad_value(step: Step, _file: File) -> Iterator[Found]:
    """Find values that do not fit the type of the property."""
    for each in _properties(step):
        expected = table_properties.expected(each.key, each.value) if each.value is not None else None
        if expected:
            fix = f"write {expected}"
            yield Found(f"{each.key} is {each.value!r}, not {expected}", step, each.value_place or each.place, fix)


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.CITED, **_TEXTS["PR103"])
def metrics_of_all_columns(step: Step, _file: File) -> Iterator[Found]:
    """Find `full` as the default of metrics."""
    for each in _properties(step):
        if each.key == "write.metadata.metrics.default" and (each.value or "").lower() == "full":
            yield Found("full metrics of every column", step, each.place)


@statement_rule(
    "add_column", *CREATES, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PR104"]
)
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
    "set_properties",
    formats=("iceberg",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["PR108"],
)
def format_version_upgrade(step: Step, _file: File) -> Iterator[Found]:
    """Find `format-version` in ALTER TABLE."""
    for each in _properties(step):
        if each.key == "format-version" and not table_properties.expected(each.key, each.value or ""):
            yield Found(f"the table gets format version {each.value}", step, each.place)


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PR111"])
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
