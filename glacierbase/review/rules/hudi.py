"""HU: rules for Hudi tables only. The claims are from Hudi's page on schema evolution."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Proof, Rule, RuleFinding, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.statement import ColumnClause, Property

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
def schema_on_read_needed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed and moved columns in a file that does not set `hoodie.schema.on.read.enable` before."""
    if not any(other.parsed.operation == "set" and _SWITCH in other.statement.text for other in file.before(step)):
        yield RuleFinding("renamed or moved columns", step)


@statement_rule(
    "add_column",
    formats=("hudi",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["HU102"],
)
def add_required_column(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find ADD COLUMNS … NOT NULL."""
    for part in of(step, "add_column"):
        if isinstance(part, ColumnClause) and not part.nullable:
            yield RuleFinding(f"ADD COLUMN {'.'.join(part.path)} NOT NULL", step, part.place)


_FIXED = frozenset(
    {
        "primaryKey", "preCombineField", "type", "hoodie.table.recordkey.fields", "hoodie.table.precombine.field",
        "hoodie.table.type", "hoodie.table.partition.fields", "hoodie.table.keygenerator.class",
    }
)  # fmt: skip


@statement_rule(
    "set_properties",
    "unset_properties",
    formats=("hudi",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["HU103"],
)
def record_key_changed(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new values of properties that determine key, order and kind of an existing table."""
    known = file.known(step)
    for part in step.parsed.parts:
        if isinstance(part, Property) and part.key in _FIXED:
            before = (known.properties or {}).get(part.key) if known else None
            if part.value is None or part.value != before:
                yield RuleFinding(f"{part.key} = {part.value}" if part.value else f"no {part.key}", step, part.place)


RULES: tuple[Rule, ...] = (schema_on_read_needed, add_required_column, record_key_changed)
