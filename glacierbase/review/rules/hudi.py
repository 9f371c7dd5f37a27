"""HU: what only Hudi tables have. The claims are those of Hudi's page on schema evolution."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.statement import ColumnClause

_TEXTS = texts("hudi")
_SWITCH = "hoodie.schema.on.read.enable"


@statement_rule(
    "rename_column",
    "alter_column_position",
    formats=("hudi",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["HU101"],
)
def schema_on_read_needed(step: Step, file: File) -> Iterator[Found]:
    """Find renamed and moved columns without the setting above them."""
    before = file.steps[: step.statement.index - 1]
    if not any(step.parsed.operation == "set" and _SWITCH in step.statement.text for step in before):
        yield Found("renamed or moved columns", step)


@statement_rule(
    "add_column",
    formats=("hudi",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["HU102"],
)
def add_required_column(step: Step, _file: File) -> Iterator[Found]:
    """Find ADD COLUMNS … NOT NULL."""
    for part in of(step, "add_column"):
        if isinstance(part, ColumnClause) and not part.nullable:
            yield Found(f"ADD COLUMN {'.'.join(part.path)} NOT NULL", step, part.place)


RULES: tuple[Rule, ...] = (schema_on_read_needed, add_required_column)
