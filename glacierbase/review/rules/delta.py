"""DL: what only Delta tables have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.known import known_type
from glacierbase.sql.statement import AlterColumn, Constraint, DropColumn, Feature, Property, RenameColumn

_ALTER = "ALTER TABLE spark_catalog.a.t {}"
_COMMENT = _ALTER.format("ALTER COLUMN id COMMENT 'the key'")
_CREATE = "CREATE TABLE spark_catalog.a.t2 (id int, name string) USING delta{};\n"
_NEW = "ALTER TABLE spark_catalog.a.t2 {}"
# A longer string is no other type for Delta.
_WIDENED = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal|date")
_UPGRADES = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.enableDeletionVectors", "delta.enableRowTracking",
             "delta.enableTypeWidening", "delta.enableInCommitTimestamps", "delta.enableVariantShredding")  # fmt: skip


@statement_rule(
    "rename_column", "drop_column", formats=("delta",),
    code="DL101", name="column-mapping-is-off", severity=Severity.ERROR, proof=Proof.RUN,
    why="Delta refuses to rename and drop columns of a table without column mapping.",
    fix="Enable column mapping in a file before; DL102 says what that means for readers.",
    bad=_CREATE.format("") + _NEW.format("RENAME COLUMN name TO full_name"),
    good=_CREATE.format(" TBLPROPERTIES ('delta.columnMapping.mode'='name')") + _NEW.format("RENAME COLUMN name TO full_name"),
    source="https://docs.delta.io/delta-column-mapping/",
)  # fmt: skip
def column_mapping_is_off(step: Step, file: File) -> Iterator[Found]:
    """Find renamed and dropped columns of tables that are known to have no column mapping."""
    if _value("delta.columnMapping.mode", step, file) in ("", "none"):
        for part in step.parsed.parts:
            if isinstance(part, RenameColumn):
                yield Found(f"RENAME COLUMN {'.'.join(part.path)} TO {part.new}", step, part.place)
            elif isinstance(part, DropColumn):
                yield Found(f"DROP COLUMN {'.'.join(part.path)}", step, part.place)


@statement_rule(
    "set_properties", formats=("delta",),
    code="DL102", name="enable-column-mapping", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="Readers and writers that do not support column mapping fail from then on.",
    fix="List the readers and writers of the table, and allow it with that as the reason.",
    bad=_ALTER.format("SET TBLPROPERTIES ('delta.columnMapping.mode'='name')"), good=_COMMENT,
    source="https://docs.delta.io/delta-column-mapping/",
)  # fmt: skip
def enable_column_mapping(step: Step, _file: File) -> Iterator[Found]:
    """Find `delta.columnMapping.mode` in ALTER TABLE."""
    for part in of(step, "set_properties"):
        if isinstance(part, Property) and part.key == "delta.columnMapping.mode" and part.value != "none":
            yield Found(f"column mapping by {part.value}", step, part.place)


@statement_rule(
    "set_properties", formats=("delta",),
    code="DL103", name="protocol-upgrade", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="It raises the table's protocol, and readers or writers that do not support the new one fail.",
    fix="List the readers and writers of the table, and allow it with that as the reason.",
    bad=_ALTER.format("SET TBLPROPERTIES ('delta.enableDeletionVectors'='true')"), good=_COMMENT,
    source="https://docs.delta.io/delta-versioning/",
)  # fmt: skip
def protocol_upgrade(step: Step, _file: File) -> Iterator[Found]:
    """Find properties that raise the protocol."""
    for part in of(step, "set_properties"):
        if isinstance(part, Property) and _upgrades(part) and (part.value or "").lower() != "false":
            yield Found(f"{part.key} = {part.value}", step, part.place)


def _upgrades(part: Property) -> bool:
    return part.key in _UPGRADES or part.key.startswith("delta.feature.")


@statement_rule(
    "alter_column_type", formats=("delta",),
    code="DL104", name="type-widening-is-off", severity=Severity.ERROR, proof=Proof.RUN,
    why="Delta refuses to change the type of a column without type widening.",
    fix="Enable type widening in a file before; DL103 says what that means for readers.",
    bad=_CREATE.format("") + _NEW.format("ALTER COLUMN id TYPE bigint"),
    good=_CREATE.format(" TBLPROPERTIES ('delta.enableTypeWidening'='true')") + _NEW.format("ALTER COLUMN id TYPE bigint"),
    source="https://docs.delta.io/delta-type-widening/",
)  # fmt: skip
def type_widening_is_off(step: Step, file: File) -> Iterator[Found]:
    """Find new types of numbers and dates of tables that are known to have no type widening."""
    known = file.known(step) if _value("delta.enableTypeWidening", step, file) in ("", "false") else None
    for part in of(step, "alter_column_type") if known else ():
        column = known.column(part.key) if known and isinstance(part, AlterColumn) else None
        if column and isinstance(part, AlterColumn) and _WIDENED.match(column.type or ""):
            new = known_type(part.type)
            if new not in (None, column.type):
                change = f"from {column.type} to {new}"
                yield Found(f"ALTER COLUMN {'.'.join(part.path)} TYPE {part.type}, {change}", step, part.place)


def _value(key: str, step: Step, file: File) -> str | None:
    """Return the value of a property before a statement, in lower case; empty where it is not set, None where that is not known."""
    known = file.known(step)
    if known is None or known.properties is None:
        return None
    return known.properties.get(key, file.facts.defaults.get(key, "")).lower()


@statement_rule(
    "add_constraint", formats=("delta",),
    code="DL105", name="check-reads-the-table", severity=Severity.WARNING, proof=Proof.RUN, spares_new_tables=True,
    why="All rows are read first, and one that violates the constraint fails the statement.",
    fix="Run it at a quiet hour, after a query for violating rows.",
    bad=_ALTER.format("ADD CONSTRAINT positive CHECK (id > 0)"), good=_COMMENT, source="https://docs.delta.io/delta-constraints/",
)  # fmt: skip
def check_reads_the_table(step: Step, _file: File) -> Iterator[Found]:
    """Find ADD CONSTRAINT … CHECK."""
    for part in of(step, "add_constraint"):
        if isinstance(part, Constraint) and part.text.upper().startswith("CHECK"):
            yield Found(f"ADD CONSTRAINT {part.name}", step, part.place)


@statement_rule(
    "other", formats=("delta",),
    code="DL106", name="truncate-history", severity=Severity.ERROR, proof=Proof.CITED,
    why="TRUNCATE HISTORY deletes the table's history, so that older versions can no longer be queried or restored.",
    fix="Drop the feature without TRUNCATE HISTORY.",
    bad=_ALTER.format("DROP FEATURE deletionVectors TRUNCATE HISTORY"), good=_ALTER.format("DROP FEATURE deletionVectors"),
    source="https://docs.delta.io/delta-drop-feature/",
)  # fmt: skip
def truncate_history(step: Step, _file: File) -> Iterator[Found]:
    """Find DROP FEATURE … TRUNCATE HISTORY."""
    for part in step.parsed.parts:
        if isinstance(part, Feature) and part.truncate_history:
            yield Found(f"DROP FEATURE {part.name} TRUNCATE HISTORY", step, part.place)


RULES: tuple[Rule, ...] = (
    column_mapping_is_off, enable_column_mapping, protocol_upgrade, type_widening_is_off, check_reads_the_table, truncate_history,
)  # fmt: skip
