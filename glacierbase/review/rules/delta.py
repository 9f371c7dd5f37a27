"""DL: rules for Delta tables only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Proof, Rule, RuleFinding, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.known import known_type
from glacierbase.sql.statement import AlterColumn, Constraint, DropColumn, Feature, Property, RenameColumn

_TEXTS = texts("delta")
# For Delta, a longer string is not another type.
_WIDENED = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal|date")
_UPGRADES = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.enableDeletionVectors", "delta.enableRowTracking",
             "delta.enableTypeWidening", "delta.enableInCommitTimestamps", "delta.enableVariantShredding")  # fmt: skip


@statement_rule(
    "rename_column", "drop_column", formats=("delta",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["DL101"]
)
def column_mapping_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed and dropped columns of tables that are known to have no column mapping."""
    if _value("delta.columnMapping.mode", step, file) in ("", "none"):
        for part in step.parsed.parts:
            if isinstance(part, RenameColumn):
                yield RuleFinding(f"RENAME COLUMN {'.'.join(part.path)} TO {part.new}", step, part.place)
            elif isinstance(part, DropColumn):
                yield RuleFinding(f"DROP COLUMN {'.'.join(part.path)}", step, part.place)


@statement_rule(
    "set_properties",
    formats=("delta",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DL102"],
)
def enable_column_mapping(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find `delta.columnMapping.mode` in ALTER TABLE."""
    for part in of(step, "set_properties"):
        if isinstance(part, Property) and part.key == "delta.columnMapping.mode" and part.value != "none":
            yield RuleFinding(f"column mapping by {part.value}", step, part.place)


@statement_rule(
    "set_properties",
    formats=("delta",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DL103"],
)
def protocol_upgrade(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find properties that raise the protocol."""
    for part in of(step, "set_properties"):
        if isinstance(part, Property) and _upgrades(part) and (part.value or "").lower() != "false":
            yield RuleFinding(f"{part.key} = {part.value}", step, part.place)


def _upgrades(part: Property) -> bool:
    return part.key in _UPGRADES or part.key.startswith("delta.feature.")


@statement_rule("alter_column_type", formats=("delta",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["DL104"])
def type_widening_is_off(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new types of numbers and dates of tables that are known to have no type widening."""
    known = file.known(step) if _value("delta.enableTypeWidening", step, file) in ("", "false") else None
    for part in of(step, "alter_column_type") if known else ():
        column = known.column(part.key) if known and isinstance(part, AlterColumn) else None
        if column and isinstance(part, AlterColumn) and _WIDENED.match(column.type or ""):
            new = known_type(part.type)
            if new not in (None, column.type):
                change = f"from {column.type} to {new}"
                yield RuleFinding(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}, {change}", step, part.place)


def _value(key: str, step: Step, file: File) -> str | None:
    """Return the value of a property before a statement, in lower case; empty if it is not set, None if that is not known."""
    known = file.known(step)
    if known is None or known.properties is None:
        return None
    return known.properties.get(key, file.facts.defaults.get(key, "")).lower()


@statement_rule(
    "add_constraint",
    formats=("delta",),
    severity=Severity.WARNING,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DL105"],
)
def check_reads_the_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find ADD CONSTRAINT … CHECK."""
    for part in of(step, "add_constraint"):
        if isinstance(part, Constraint) and part.text.upper().startswith("CHECK"):
            yield RuleFinding(f"ADD CONSTRAINT {part.name}", step, part.place)


@statement_rule("other", formats=("delta",), severity=Severity.ERROR, proof=Proof.CITED, **_TEXTS["DL106"])
def truncate_history(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DROP FEATURE … TRUNCATE HISTORY."""
    for part in step.parsed.parts:
        if isinstance(part, Feature) and part.truncate_history:
            yield RuleFinding(f"DROP FEATURE {part.name} TRUNCATE HISTORY", step, part.place)


RULES: tuple[Rule, ...] = (
    column_mapping_is_off, enable_column_mapping, protocol_upgrade, type_widening_is_off, check_reads_the_table, truncate_history,
)  # fmt: skip
