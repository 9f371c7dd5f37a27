"""DL: what only Delta tables have."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.parts import Constraint, Feature, Property

_ALTER = "ALTER TABLE spark_catalog.a.t {}"
_COMMENT = _ALTER.format("ALTER COLUMN id COMMENT 'the key'")
_UPGRADES = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.enableDeletionVectors", "delta.enableRowTracking",
             "delta.enableTypeWidening", "delta.enableInCommitTimestamps", "delta.enableVariantShredding")  # fmt: skip


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


RULES: tuple[Rule, ...] = (enable_column_mapping, protocol_upgrade, check_reads_the_table, truncate_history)
