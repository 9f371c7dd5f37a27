"""MT: maintenance and changes of data inside of a migration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.statement import Call

_PROCEDURES = "https://iceberg.apache.org/docs/latest/spark-procedures/"
_SAFE_HOURS = 168.0
_HOURS = re.compile(r"(?i)\s*([0-9.]+)\s+HOURS?")


@statement_rule(
    "call", formats=("iceberg",),
    code="MT101", name="expire-snapshots", severity=Severity.WARNING, proof=Proof.RUN,
    why="Queries of an expired snapshot fail, and nothing can be rolled back to it.",
    fix="Expire snapshots in a scheduled job.",
    bad="CALL lake.system.expire_snapshots(table => 'a.t', older_than => TIMESTAMP '2030-01-01 00:00:00')",
    good="ALTER TABLE lake.a.t SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep'='10')",
    source=f"{_PROCEDURES}#expire_snapshots",
)  # fmt: skip
def expire_snapshots(step: Step, _file: File) -> Iterator[Found]:
    """Find CALL expire_snapshots."""
    for call in _calls(step, "expire_snapshots"):
        yield Found(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule(
    "call", formats=("iceberg",),
    code="MT102", name="remove-orphan-files", severity=Severity.ERROR, proof=Proof.CITED,
    why="Files of a write that is not committed yet, or that are listed under another spelling of the path, are deleted.",
    fix="Remove orphan files in a scheduled job, after a run with dry_run => true.",
    bad="CALL lake.system.remove_orphan_files(table => 'a.t')",
    good="CALL lake.system.remove_orphan_files(table => 'a.t', dry_run => true)",
    source="https://iceberg.apache.org/docs/latest/maintenance/#delete-orphan-files",
)  # fmt: skip
def remove_orphan_files(step: Step, _file: File) -> Iterator[Found]:
    """Find CALL remove_orphan_files that is no dry run."""
    for call in _calls(step, "remove_orphan_files"):
        dry_run = call.argument("dry_run")
        if dry_run is None or dry_run.text.lower() != "true":
            yield Found(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule(
    "call", formats=("iceberg",),
    code="MT103", name="rewrite-of-a-whole-table", severity=Severity.WARNING, proof=Proof.CITED,
    why="It reads and writes the whole table while the run holds the lock.",
    fix="Rewrite in a scheduled job, or give it a `where`.",
    bad="CALL lake.system.rewrite_data_files(table => 'a.t')",
    good="CALL lake.system.rewrite_data_files(table => 'a.t', where => 'id < 100')", source=f"{_PROCEDURES}#rewrite_data_files",
)  # fmt: skip
def rewrite_of_a_whole_table(step: Step, _file: File) -> Iterator[Found]:
    """Find CALL rewrite_data_files without a filter."""
    for call in _calls(step, "rewrite_data_files"):
        if call.argument("where") is None:
            yield Found(f"CALL {'.'.join(call.procedure)}", step, call.place)


@statement_rule(
    "vacuum", formats=("delta",),
    code="MT104", name="vacuum-short-retention", severity=Severity.ERROR, proof=Proof.RUN,
    why="Delta refuses to delete files younger than a week, because readers may still use them.",
    fix="Leave RETAIN out.",
    bad="VACUUM spark_catalog.a.t RETAIN 0 HOURS", good="VACUUM spark_catalog.a.t",
    source="https://docs.delta.io/delta-utility/#remove-files-no-longer-referenced-by-a-delta-table",
)  # fmt: skip
def vacuum_short_retention(step: Step, _file: File) -> Iterator[Found]:
    """Find VACUUM that retains less than a week."""
    found = _HOURS.fullmatch(step.parsed.options.retain or "")
    if found and float(found[1]) < _SAFE_HOURS:
        yield Found(f"RETAIN {found[1]} HOURS", step)


@statement_rule(
    "insert",
    code="MT105", name="insert-may-double", severity=Severity.WARNING, proof=Proof.RUN,
    why="If the run dies and the statement is run again, all its rows are there twice.",
    fix="Write MERGE INTO … WHEN NOT MATCHED THEN INSERT.",
    bad="INSERT INTO lake.a.t SELECT * FROM lake.a.source",
    good="MERGE INTO lake.a.t USING lake.a.source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    source="https://iceberg.apache.org/docs/latest/spark-writes/#merge-into", spares_new_tables=True,
)  # fmt: skip
def insert_may_double(step: Step, _file: File) -> Iterator[Found]:
    """Find INSERT … SELECT from tables."""
    if step.parsed.sources is None or step.parsed.sources:
        yield Found("INSERT … SELECT", step)


def _calls(step: Step, procedure: str) -> Iterator[Call]:
    calls = (part for part in of(step, "call") if isinstance(part, Call))
    return (call for call in calls if call.procedure[-1].lower() == procedure)


RULES: tuple[Rule, ...] = (
    expire_snapshots, remove_orphan_files, rewrite_of_a_whole_table, vacuum_short_retention, insert_may_double,
)  # fmt: skip
