"""DS: changes that destroy or hide data."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.model.finding import Severity
from glacierbase.review.rule import File, Proof, Rule, RuleFinding, Step, of, statement_rule
from glacierbase.review.rules import texts
from glacierbase.sql.statement import Call, ColumnClause, DropColumn, Part, Reference

_TEXTS = texts("destructive")
_ROLLBACKS = frozenset({"rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot"})


@statement_rule("drop_table", severity=Severity.ERROR, spares_new_tables=True, proof=Proof.RUN, **_TEXTS["DS101"])
def drop_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP TABLE without PURGE."""
    if not step.parsed.options.purge:
        yield RuleFinding(f"DROP TABLE{_undrop(step, file)}", step)


def _undrop(step: Step, file: File) -> str:
    """Return whether Snowflake restores the table; empty for other engines.

    https://docs.snowflake.com/en/sql-reference/sql/undrop-table
    """
    subject, known = step.parsed.subject, file.known(step)
    if subject is None:
        return ""
    days = ((known and known.properties) or {}).get("DATA_RETENTION_TIME_IN_DAYS")
    if subject.kind == "EXTERNAL TABLE" or days == "0":
        return "; there is no UNDROP" + (", its retention is 0" if days else "")
    return f"; UNDROP {subject.kind} restores it within its retention, {f'{days} days' if days else 'a day by default'}"


@statement_rule("drop_table", severity=Severity.ERROR, spares_new_tables=True, proof=Proof.RUN, **_TEXTS["DS102"])
def drop_table_purge(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DROP TABLE … PURGE."""
    if step.parsed.options.purge:
        yield RuleFinding("DROP TABLE … PURGE", step)


@statement_rule("drop_column", severity=Severity.ERROR, spares_new_tables=True, proof=Proof.RUN, **_TEXTS["DS103"])
def drop_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that the file does not add again."""
    for part in _dropped(step):
        if not _added_later(part, step, file):
            yield RuleFinding(f"DROP COLUMN {'.'.join(part.path)}", step, part.place)


@statement_rule(
    "replace_columns",
    formats=("iceberg",),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DS104"],
)
def replace_columns(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find REPLACE COLUMNS."""
    yield RuleFinding("REPLACE COLUMNS", step)


@statement_rule(
    "drop_column",
    formats=("iceberg", "delta", "snowflake"),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DS105"],
)
def drop_and_add_again(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that the file adds again."""
    for part in _dropped(step):
        if _added_later(part, step, file):
            yield RuleFinding(
                f"DROP COLUMN {'.'.join(part.path)}, which a later statement adds again", step, part.place
            )


@statement_rule(
    "replace_table",
    formats=("iceberg", "delta"),
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DS106"],
)
def create_or_replace_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE TABLE."""
    yield RuleFinding("CREATE OR REPLACE TABLE", step)


@statement_rule(
    "truncate",
    "delete",
    "insert_overwrite",
    severity=Severity.ERROR,
    spares_new_tables=True,
    proof=Proof.RUN,
    **_TEXTS["DS107"],
)
def delete_all_rows(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find TRUNCATE, DELETE without WHERE, and INSERT OVERWRITE."""
    words = {"truncate": "TRUNCATE", "delete": "DELETE without WHERE", "insert_overwrite": "INSERT OVERWRITE"}
    if step.parsed.operation in words and not (step.parsed.operation == "delete" and step.parsed.options.where):
        yield RuleFinding(words[step.parsed.operation], step)


@statement_rule(
    "drop_namespace",
    formats=("iceberg", "delta", "hudi"),
    severity=Severity.ERROR,
    proof=Proof.CITED,
    **_TEXTS["DS108"],
)
def drop_namespace_cascade(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DROP SCHEMA … CASCADE."""
    if step.parsed.options.cascade:
        yield RuleFinding("DROP SCHEMA … CASCADE", step)


@statement_rule(
    "drop_branch",
    "drop_tag",
    "call",
    formats=("iceberg",),
    severity=Severity.WARNING,
    proof=Proof.RUN,
    **_TEXTS["DS109"],
)
def commits_discarded(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find dropped branches and tags, and procedures that set the current snapshot."""
    for part in step.parsed.parts:
        if isinstance(part, Reference) and part.operation in ("drop_branch", "drop_tag"):
            yield RuleFinding(f"{part.operation.replace('_', ' ').upper()} {part.name}", step, part.place)
        elif isinstance(part, Call) and part.procedure[-1].lower() in _ROLLBACKS:
            yield RuleFinding(f"CALL {'.'.join(part.procedure)}", step, part.place)


def _dropped(step: Step) -> Iterator[DropColumn]:
    return (part for part in of(step, "drop_column") if isinstance(part, DropColumn))


def _added_later(dropped: DropColumn, step: Step, file: File) -> bool:
    later = (later_step for later_step in file.steps[step.statement.index :] if _same_table(later_step, step))
    return any(_adds(part, dropped) for step in later for part in of(step, "add_column"))


def _adds(part: Part, dropped: DropColumn) -> bool:
    return isinstance(part, ColumnClause) and [name.lower() for name in part.path] == [
        name.lower() for name in dropped.path
    ]


def _same_table(step: Step, other: Step) -> bool:
    return bool(step.target and other.target and step.target.key == other.target.key)


RULES: tuple[Rule, ...] = (
    drop_table, drop_table_purge, drop_column, replace_columns, drop_and_add_again, create_or_replace_table, delete_all_rows,
    drop_namespace_cascade, commits_discarded,
)  # fmt: skip
