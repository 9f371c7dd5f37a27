"""DS: what destroys data, or hides it."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.statement import Call, Column, DropColumn, Part, Reference

_ICEBERG = "https://iceberg.apache.org/docs/latest/spark-ddl/"
_PROCEDURES = "https://iceberg.apache.org/docs/latest/spark-procedures/"
_ROLLBACKS = frozenset({"rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot"})


@statement_rule(
    "drop_table",
    code="DS101", name="drop-table", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="The table is gone for every reader and writer; whether its files remain depends on the catalog.",
    fix="Rename the table, and drop it in a later file when nobody has missed it.",
    bad="DROP TABLE lake.a.t", good="ALTER TABLE lake.a.t RENAME TO a.t_old", source=f"{_ICEBERG}#drop-table",
)  # fmt: skip
def drop_table(step: Step, _file: File) -> Iterator[Found]:
    """Find DROP TABLE without PURGE."""
    if not step.parsed.options.purge:
        yield Found("DROP TABLE", step)


@statement_rule(
    "drop_table",
    code="DS102", name="drop-table-purge", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="PURGE deletes the files as well, so that nothing can be restored.",
    fix="Rename the table, and drop it in a later file without PURGE.",
    bad="DROP TABLE lake.a.t PURGE", good="ALTER TABLE lake.a.t RENAME TO a.t_old", source=f"{_ICEBERG}#drop-table-purge",
)  # fmt: skip
def drop_table_purge(step: Step, _file: File) -> Iterator[Found]:
    """Find DROP TABLE … PURGE."""
    if step.parsed.options.purge:
        yield Found("DROP TABLE … PURGE", step)


@statement_rule(
    "drop_column",
    code="DS103", name="drop-column", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="Queries that name the column fail, and a column that is added again has none of the old values.",
    fix="Stop the reads, wait, and allow the drop with that as the reason.",
    bad="ALTER TABLE lake.a.t DROP COLUMN legacy", good="ALTER TABLE lake.a.t ALTER COLUMN legacy COMMENT 'unused since 2026-10'",
    source=f"{_ICEBERG}#alter-table--drop-column",
)  # fmt: skip
def drop_column(step: Step, file: File) -> Iterator[Found]:
    """Find dropped columns that the file does not add again."""
    for part in _dropped(step):
        if not _added_later(part, step, file):
            yield Found(f"DROP COLUMN {'.'.join(part.path)}", step, part.place)


@statement_rule(
    "replace_columns", formats=("iceberg",),
    code="DS104", name="replace-columns", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="Every column gets a new id, so that all existing values become NULL, also those of unchanged columns.",
    fix="Write an ADD COLUMN, DROP COLUMN or RENAME COLUMN for each change.",
    bad="ALTER TABLE lake.a.t REPLACE COLUMNS (id bigint, name string)", good="ALTER TABLE lake.a.t ADD COLUMN device string",
    source=f"{_ICEBERG}#alter-table",
)  # fmt: skip
def replace_columns(step: Step, _file: File) -> Iterator[Found]:
    """Find REPLACE COLUMNS."""
    yield Found("REPLACE COLUMNS", step)


@statement_rule(
    "drop_column", formats=("iceberg", "delta"),
    code="DS105", name="drop-and-add-again", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="The new column is another one, which has NULL in all existing rows.",
    fix="Change the column itself: ALTER COLUMN … TYPE, or RENAME COLUMN.",
    bad="ALTER TABLE lake.a.t DROP COLUMN amount;\nALTER TABLE lake.a.t ADD COLUMN amount double",
    good="ALTER TABLE lake.a.t ALTER COLUMN amount TYPE double", source="https://iceberg.apache.org/spec/#column-projection",
)  # fmt: skip
def drop_and_add_again(step: Step, file: File) -> Iterator[Found]:
    """Find dropped columns that the file adds again."""
    for part in _dropped(step):
        if _added_later(part, step, file):
            yield Found(f"DROP COLUMN {'.'.join(part.path)}, which a later statement adds again", step, part.place)


@statement_rule(
    "replace_table", formats=("iceberg", "delta"),
    code="DS106", name="create-or-replace-table", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="The table is replaced by the new one, and its rows are gone from every query.",
    fix="Write the ALTER TABLE statements that change the table.",
    bad="CREATE OR REPLACE TABLE lake.a.t (id bigint) USING iceberg", good="ALTER TABLE lake.a.t ADD COLUMN device string",
    source=f"{_ICEBERG}#replace-table--as-select",
)  # fmt: skip
def create_or_replace_table(step: Step, _file: File) -> Iterator[Found]:
    """Find CREATE OR REPLACE TABLE."""
    yield Found("CREATE OR REPLACE TABLE", step)


@statement_rule(
    "truncate", "delete", "insert_overwrite",
    code="DS107", name="delete-all-rows", severity=Severity.ERROR, proof=Proof.RUN, spares_new_tables=True,
    why="All rows of the table, or of the partitions that are written, are deleted.",
    fix="Change data in a job that owns the table, or delete with a WHERE.",
    bad="TRUNCATE TABLE lake.a.t", good="DELETE FROM lake.a.t WHERE id < 0", source="https://iceberg.apache.org/docs/latest/spark-writes/",
)  # fmt: skip
def delete_all_rows(step: Step, _file: File) -> Iterator[Found]:
    """Find TRUNCATE, DELETE without WHERE, and INSERT OVERWRITE."""
    words = {"truncate": "TRUNCATE", "delete": "DELETE without WHERE", "insert_overwrite": "INSERT OVERWRITE"}
    if step.parsed.operation in words and not (step.parsed.operation == "delete" and step.parsed.options.where):
        yield Found(words[step.parsed.operation], step)


@statement_rule(
    "drop_namespace",
    code="DS108", name="drop-namespace-cascade", severity=Severity.ERROR, proof=Proof.CITED,
    why="CASCADE drops every table of the namespace, also those that nobody listed here.",
    fix="Drop the tables one by one, then the empty namespace.",
    bad="DROP SCHEMA lake.a CASCADE", good="DROP SCHEMA lake.a",
    source="https://spark.apache.org/docs/latest/sql-ref-syntax-ddl-drop-database.html",
)  # fmt: skip
def drop_namespace_cascade(step: Step, _file: File) -> Iterator[Found]:
    """Find DROP SCHEMA … CASCADE."""
    if step.parsed.options.cascade:
        yield Found("DROP SCHEMA … CASCADE", step)


@statement_rule(
    "drop_branch", "drop_tag", "call", formats=("iceberg",),
    code="DS109", name="commits-discarded", severity=Severity.WARNING, proof=Proof.RUN,
    why="Commits that only this branch, tag or state refers to are no longer seen, and their files are deleted later.",
    fix="Do this by hand, with the readers of the table.",
    bad="CALL lake.system.rollback_to_snapshot('a.t', 5781947118336215154)",
    good="ALTER TABLE lake.a.t CREATE TAG before_backfill", source=f"{_PROCEDURES}#snapshot-management",
)  # fmt: skip
def commits_discarded(step: Step, _file: File) -> Iterator[Found]:
    """Find dropped branches and tags, and procedures that set the current snapshot."""
    for part in step.parsed.parts:
        if isinstance(part, Reference) and part.operation in ("drop_branch", "drop_tag"):
            yield Found(f"{part.operation.replace('_', ' ').upper()} {part.name}", step, part.place)
        elif isinstance(part, Call) and part.procedure[-1].lower() in _ROLLBACKS:
            yield Found(f"CALL {'.'.join(part.procedure)}", step, part.place)


def _dropped(step: Step) -> Iterator[DropColumn]:
    return (part for part in of(step, "drop_column") if isinstance(part, DropColumn))


def _added_later(dropped: DropColumn, step: Step, file: File) -> bool:
    later = (each for each in file.steps[step.statement.index :] if _same_table(each, step))
    return any(_adds(part, dropped) for each in later for part in of(each, "add_column"))


def _adds(part: Part, dropped: DropColumn) -> bool:
    return isinstance(part, Column) and [name.lower() for name in part.path] == [name.lower() for name in dropped.path]


def _same_table(one: Step, other: Step) -> bool:
    return bool(one.target and other.target and one.target.key == other.target.key)


RULES: tuple[Rule, ...] = (
    drop_table, drop_table_purge, drop_column, replace_columns, drop_and_add_again, create_or_replace_table, delete_all_rows,
    drop_namespace_cascade, commits_discarded,
)  # fmt: skip
