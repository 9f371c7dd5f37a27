"""Apply rules to SQL, without a project and without the sandbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from glacierbase.capabilities.review.catalogue import all_rules
from glacierbase.capabilities.review.examine import examine
from glacierbase.capabilities.review.lint import Examined, judge
from glacierbase.capabilities.review.rule import Facts, File, Rule
from glacierbase.capabilities.review.walk import read_file
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.headers import read_headers
from glacierbase.migrations.statements import split_statements, steps
from glacierbase.migrations.worker import Chain
from glacierbase.model.catalog import LintOptions
from glacierbase.model.finding import Finding
from glacierbase.model.migration import Migration

HEADER = "-- MIGRATION_DESCRIPTION: Say what the table is for\n-- MIGRATION_AUTHOR: Data Platform\n\n"
FACTS = Facts(
    formats={"lake": "iceberg"},
    default_catalog="spark_catalog",
    varying={"acme-prod": "variables.bucket"},
    unmanaged=[("lake.raw.*", "ingestion merges its schema")],
    repeatables=(("VIEW", ("lake", "a", "daily_orders"), "daily_orders"),),
)
FACTS_OF = {
    "iceberg": FACTS,
    "delta": replace(FACTS, formats={"spark_catalog": "delta"}),
    "hudi": replace(FACTS, formats={"spark_catalog": "hudi"}),
    "snowflake": Facts(engine="snowflake"),
}


def compiled(sql: str, engine: str = "spark", path: str = "migrations/lake/0001_a.sql") -> Compiled:
    """Return a migration without a template; without headers, it gets some."""
    text = sql if "MIGRATION_" in sql else HEADER + sql
    headers = read_headers(text, path, None)
    migration = Migration(
        "0001", "a", headers["DESCRIPTION"], headers["AUTHOR"], Path(path), path, text, "v1:sha256:0"
    )  # fmt: skip
    return Compiled(migration, text, "v1:sha256:0", steps(split_statements(text, engine), engine), engine)


def file_of(sql: str, engine: str, facts: Mapping[str, Any]) -> File:
    """Return the only file of a catalog."""
    return read_file(compiled(sql, engine), facts, Chain())


def findings(
    *files: str, facts: Facts = FACTS, options: LintOptions | None = None, spares_new: bool = False
) -> list[Finding]:
    """Return what `lint` finds in these files of one environment."""
    values = asdict(facts)
    engine = values.pop("engine")
    examined = []
    chain = Chain()
    for number, sql in enumerate(files, start=1):
        path = f"migrations/lake/{number:04}_a.sql"
        answer = examine(compiled(sql, engine, path), values, chain)
        examined.append(Examined("dev", path, options or LintOptions(), answer))
    return list(judge(examined, {rule.code: rule for rule in all_rules()}, spares_new=spares_new).findings)


def codes(*files: str, facts: Facts = FACTS, options: LintOptions | None = None) -> list[str]:
    """Return the codes of the errors and warnings that are not allowed."""
    found = findings(*files, facts=facts, options=options)
    return [finding.code for finding in found if finding.allowed is None and not finding.is_note]


def raising(
    code: str, template: str, values: Iterable[str], *before: str, facts: Facts = FACTS, head: str = ""
) -> set[str]:
    """Return the values with which a file raises a rule: `{}` in the template is the place of a value.

    Args:
        before: the files before it.
        head: of the file before its first statement: headers and comments.
    """
    return {value for value in values if code in codes(*before, head + template.replace("{}", value), facts=facts)}


def options_of(rule: Rule) -> LintOptions:
    """Return the options of a project with streams, for a rule that is about them only."""
    return LintOptions(streaming=("*",)) if rule.streaming_only else LintOptions()


def facts_of(rule: Rule) -> Facts:
    """Return the facts of a project with tables that the rule is about."""
    return next((facts for name, facts in FACTS_OF.items() if rule.formats == {name}), FACTS)
