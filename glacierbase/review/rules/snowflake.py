"""SF: what only Snowflake has. The claims are those of Snowflake's documentation."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, statement_rule
from glacierbase.review.severity import Severity

_DOCS = "https://docs.snowflake.com/en/sql-reference/"


@statement_rule(
    "replace_table", formats=("snowflake",),
    code="SF101", name="create-or-replace-table", severity=Severity.ERROR, proof=Proof.CITED, spares_new_tables=True,
    why="The table is created anew: its rows are gone, its grants without COPY GRANTS too, and its streams are stale.",
    fix="Write ALTER TABLE, or CREATE OR ALTER TABLE.",
    bad="CREATE OR REPLACE TABLE lake.a.t (id number)", good="CREATE OR ALTER TABLE lake.a.t (id number, device text)",
    source=f"{_DOCS}sql/create-table#usage-notes",
)  # fmt: skip
def create_or_replace_table(step: Step, _file: File) -> Iterator[Found]:
    """Find CREATE OR REPLACE TABLE."""
    yield Found("CREATE OR REPLACE TABLE", step)


@statement_rule(
    "replace_view", formats=("snowflake",),
    code="SF102", name="replace-without-copy-grants", severity=Severity.WARNING, proof=Proof.CITED, spares_new_tables=True,
    why="The grants on the view are gone, and its readers fail.",
    fix="Write COPY GRANTS after the view's name and columns.",
    bad="CREATE OR REPLACE VIEW lake.a.v AS SELECT id FROM lake.a.t",
    good="CREATE OR REPLACE VIEW lake.a.v COPY GRANTS AS SELECT id FROM lake.a.t", source=f"{_DOCS}sql/create-view",
)  # fmt: skip
def replace_without_copy_grants(step: Step, _file: File) -> Iterator[Found]:
    """Find CREATE OR REPLACE VIEW without COPY GRANTS."""
    if not step.parsed.options.copy_grants:
        yield Found("CREATE OR REPLACE VIEW without COPY GRANTS", step)


@statement_rule(
    "grant", "revoke", formats=("snowflake",),
    code="SF104", name="grant-in-migration", severity=Severity.WARNING, proof=Proof.CONVENTION,
    why="Roles differ between accounts, so that a migration with a grant fails in one environment and not in the other.",
    fix="Manage access where roles are managed.",
    bad="GRANT SELECT ON TABLE lake.a.t TO ROLE analyst", good="ALTER TABLE lake.a.t ADD COLUMN device text",
    source=f"{_DOCS}sql/grant-privilege",
)  # fmt: skip
def grant_in_migration(step: Step, _file: File) -> Iterator[Found]:
    """Find GRANT and REVOKE."""
    yield Found(step.parsed.operation.upper(), step)


RULES: tuple[Rule, ...] = (create_or_replace_table, replace_without_copy_grants, grant_in_migration)
