"""MT: maintenance and changes of data inside of a migration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Proof, Rule, RuleFinding, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.statement import Call

_TEXTS = texts("maintenance")
_SAFE_HOURS = 168.0
_HOURS = re.compile(r"(?i)\s*([0-9.]+)\s+HOURS?")


@statement_rule("call", formats=("iceberg",), severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["MT101"])
def expire_snapshots(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL expire_snapshots."""
    for call in _calls(step, "expire_snapshots"):
        yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule("call", formats=("iceberg",), severity=Severity.ERROR, proof=Proof.CITED, **_TEXTS["MT102"])
def remove_orphan_files(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL remove_orphan_files without a dry run."""
    for call in _calls(step, "remove_orphan_files"):
        dry_run = call.argument("dry_run")
        if dry_run is None or dry_run.text.lower() != "true":
            yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule("call", formats=("iceberg",), severity=Severity.WARNING, proof=Proof.CITED, **_TEXTS["MT103"])
def rewrite_of_a_whole_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL rewrite_data_files without a filter."""
    for call in _calls(step, "rewrite_data_files"):
        if call.argument("where") is None:
            yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule("vacuum", formats=("delta",), severity=Severity.ERROR, proof=Proof.RUN, **_TEXTS["MT104"])
def vacuum_short_retention(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find VACUUM that retains less than a week."""
    match = _HOURS.fullmatch(step.parsed.options.retain or "")
    if match and float(match[1]) < _SAFE_HOURS:
        yield RuleFinding(f"RETAIN {match[1]} HOURS", step)


@statement_rule("insert", severity=Severity.WARNING, spares_new_tables=True, proof=Proof.RUN, **_TEXTS["MT105"])
def insert_may_double(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find INSERT … SELECT from tables."""
    if step.parsed.sources is None or step.parsed.sources:
        yield RuleFinding("INSERT … SELECT", step)


def _calls(step: Step, procedure: str) -> Iterator[Call]:
    calls = (part for part in of(step, "call") if isinstance(part, Call))
    return (call for call in calls if call.procedure[-1].lower() == procedure)


RULES: tuple[Rule, ...] = (
    expire_snapshots, remove_orphan_files, rewrite_of_a_whole_table, vacuum_short_retention, insert_may_double,
)  # fmt: skip
