"""PR: table properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.model.text import first_of
from glacierbase.review import table_properties
from glacierbase.review.rule import CREATES, File, Proof, Rule, RuleFinding, Step, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.known import KnownTable
from glacierbase.sql.statement import ColumnClause, Property

_TEXTS = texts("properties")
_SETS = ("set_properties", *CREATES)
_COUNT = re.compile(r"[0-9]{1,9}")
_METRICS = "write.metadata.metrics."


@statement_rule(
    *_SETS, formats=("iceberg", "delta", "hudi"), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["PR101"]
)
def unknown_property(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties that are unknown to the format, with a reserved name or a name similar to a known one."""
    table_format = file.format_of(step)
    version = file.facts.versions.get(table_format)
    for property in _properties(step):
        near = table_properties.nearest(property.key, table_format)
        if near is not None:
            fix = f"did you mean {near}?" if near else ""
            yield RuleFinding(f"{table_format} has no property {property.key}", step, property.place, fix)
        elif version and table_properties.is_later(property.key, table_format, version):
            fix = "Name a later version in `dependencies` of the catalog file, or leave the property out."
            yield RuleFinding(
                f"{table_format} {version} has no property {property.key}, a later one has", step, property.place, fix
            )


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["PR102"])
def bad_value(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find values that do not match the type of the property."""
    for property in _properties(step):
        expected = table_properties.expected(property.key, property.value) if property.value is not None else None
        if expected:
            fix = f"write {expected}"
            yield RuleFinding(
                f"{property.key} is {property.value!r}, not {expected}",
                step,
                property.value_place or property.place,
                fix,
            )


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.CITED, **_TEXTS["PR103"])
def metrics_of_all_columns(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `full` as the default of metrics."""
    for property in _properties(step):
        if property.key == "write.metadata.metrics.default" and (property.value or "").lower() == "full":
            yield RuleFinding("full metrics of every column", step, property.place)


@statement_rule(
    "add_column", *CREATES, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PR104"]
)
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
    properties = {**file.facts.defaults, **(known.properties or {}), **_set_from(step, file)}
    most = properties.get(f"{_METRICS}max-inferred-column-defaults", "100")
    if f"{_METRICS}default" in properties or not _COUNT.fullmatch(most):
        return
    beyond = added[max(int(most) - len(known.columns), 0) :]
    without = [column for column in beyond if f"{_METRICS}column.{column.path[0]}" not in properties]
    if without:
        names = first_of([column.path[0] for column in without], 1)
        yield RuleFinding(f"column {names}: beyond the first {most}", step, without[0].place)


def _set_from(step: Step, file: File) -> dict[str, str]:
    """Return the properties of the table that this statement or a later one of the file sets."""
    later = [later_step for later_step in (step, *file.after(step)) if later_step.target == step.target]
    return {
        property.key: property.value for other in later for property in _properties(other) if property.value is not None
    }


@statement_rule(
    "set_properties",
    formats=("iceberg",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["PR108"],
)
def format_version_upgrade(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `format-version` in ALTER TABLE."""
    for property in _properties(step):
        if property.key == "format-version" and not table_properties.expected(property.key, property.value or ""):
            yield RuleFinding(f"the table gets format version {property.value}", step, property.place)


@statement_rule(*_SETS, formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["PR111"])
def garbage_collection_off(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `gc.enabled` that is false."""
    for property in _properties(step):
        if property.key == "gc.enabled" and (property.value or "").lower() == "false":
            yield RuleFinding("gc.enabled is false", step, property.place)


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
