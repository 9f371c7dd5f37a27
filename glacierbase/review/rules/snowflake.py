"""SF: rules for Snowflake only. The claims are from Snowflake's documentation."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Proof, Rule, RuleFinding, Step, statement_rule
from glacierbase.review.rules import texts

_TEXTS = texts("snowflake")


@statement_rule(
    "replace_table",
    formats=("snowflake",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["SF101"],
)
def create_or_replace_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE TABLE."""
    yield RuleFinding("CREATE OR REPLACE TABLE", step)


@statement_rule(
    "replace_view",
    formats=("snowflake",),
    severity=Severity.WARNING,
    spares_new_tables=True,
    proof=Proof.CITED,
    **_TEXTS["SF102"],
)
def replace_without_copy_grants(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE VIEW without COPY GRANTS."""
    if not step.parsed.options.copy_grants:
        yield RuleFinding("CREATE OR REPLACE VIEW without COPY GRANTS", step)


@statement_rule(
    "grant", "revoke", formats=("snowflake",), severity=Severity.WARNING, proof=Proof.CONVENTION, **_TEXTS["SF104"]
)
def grant_in_migration(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find GRANT and REVOKE."""
    yield RuleFinding(step.parsed.operation.upper(), step)


RULES: tuple[Rule, ...] = (create_or_replace_table, replace_without_copy_grants, grant_in_migration)
