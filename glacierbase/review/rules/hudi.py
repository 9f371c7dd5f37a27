"""HU: what only Hudi tables have. The claims are those of Hudi's page on schema evolution."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.statement import Column

_SOURCE = "https://hudi.apache.org/docs/schema_evolution"
_SWITCH = "hoodie.schema.on.read.enable"


@statement_rule(
    "rename_column", "alter_column_position", formats=("hudi",),
    code="HU101", name="schema-on-read-needed", severity=Severity.ERROR, proof=Proof.CITED, spares_new_tables=True,
    why="Hudi renames and moves columns only with schema-on-read, which is experimental and cannot be turned off again.",
    fix=f"Decide for the table, and write SET {_SWITCH}=true above the statement.",
    bad="ALTER TABLE spark_catalog.a.h RENAME COLUMN name TO full_name",
    good=f"SET {_SWITCH}=true;\nALTER TABLE spark_catalog.a.h RENAME COLUMN name TO full_name", source=_SOURCE,
)  # fmt: skip
def schema_on_read_needed(step: Step, file: File) -> Iterator[Found]:
    """Find renamed and moved columns without the setting above them."""
    before = file.steps[: step.statement.index - 1]
    if not any(each.parsed.operation == "set" and _SWITCH in each.statement.text for each in before):
        yield Found("renamed or moved columns", step)


@statement_rule(
    "add_column", formats=("hudi",),
    code="HU102", name="add-required-column", severity=Severity.ERROR, proof=Proof.CITED, spares_new_tables=True,
    why="Reads of files without the column fail, because it has no value there.",
    fix="Add the column without NOT NULL, at the end.",
    bad="ALTER TABLE spark_catalog.a.h ADD COLUMNS (device string NOT NULL)",
    good="ALTER TABLE spark_catalog.a.h ADD COLUMNS (device string)", source=_SOURCE,
)  # fmt: skip
def add_required_column(step: Step, _file: File) -> Iterator[Found]:
    """Find ADD COLUMNS … NOT NULL."""
    for part in of(step, "add_column"):
        if isinstance(part, Column) and not part.nullable:
            yield Found(f"ADD COLUMN {'.'.join(part.path)} NOT NULL", step, part.place)


RULES: tuple[Rule, ...] = (schema_on_read_needed, add_required_column)
