"""BC: what breaks readers and writers that run."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, Step, of, statement_rule
from glacierbase.review.severity import Severity
from glacierbase.sql.statement import AlterColumn, Column, RenameColumn

_ICEBERG = "https://iceberg.apache.org/docs/latest/spark-ddl/"


@statement_rule(
    "rename_column", formats=("iceberg", "delta", "snowflake"),
    code="BC101", name="rename-column", severity=Severity.WARNING, streaming=Severity.ERROR, proof=Proof.RUN,
    why="Queries and jobs that use the old name fail; a running stream keeps the schema that it started with.",
    fix="Add the new column, write both, move the readers, then drop the old one.", spares_new_tables=True,
    bad="ALTER TABLE lake.a.t RENAME COLUMN name TO full_name", good="ALTER TABLE lake.a.t ADD COLUMN full_name string",
    source=f"{_ICEBERG}#alter-table--rename-column",
)  # fmt: skip
def rename_column(step: Step, _file: File) -> Iterator[Found]:
    """Find renamed columns."""
    for part in of(step, "rename_column"):
        if isinstance(part, RenameColumn):
            yield Found(f"RENAME COLUMN {'.'.join(part.path)} TO {part.new}", step, part.place)


@statement_rule(
    "rename_table", "rename_view",
    code="BC102", name="rename-table", severity=Severity.WARNING, streaming=Severity.ERROR, proof=Proof.RUN,
    why="Queries, views, jobs and grants that use the old name fail.",
    fix="Create a view under the old name, or list its users in the description.", spares_new_tables=True,
    bad="ALTER TABLE lake.a.t RENAME TO a.t_new", good="CREATE VIEW lake.a.t_new AS SELECT * FROM lake.a.t",
    source=f"{_ICEBERG}#alter-table--rename-to",
)  # fmt: skip
def rename_table(step: Step, file: File) -> Iterator[Found]:
    """Find renamed tables and views, where the engine accepts the new name."""
    if not _repeats_catalog(step, file):
        yield Found(f"RENAME TO {step.parsed.targets[-1]}", step)


@statement_rule(
    "rename_table", formats=("iceberg",),
    code="BC103", name="rename-repeats-the-catalog", severity=Severity.ERROR, proof=Proof.RUN,
    why="Spark takes the catalog in the new name for a namespace, which only catalogs of type hive and nessie correct.",
    fix="Leave the catalog out of the new name: RENAME TO namespace.table.",
    bad="ALTER TABLE lake.a.t RENAME TO lake.a.t_new", good="ALTER TABLE lake.a.t RENAME TO a.t_new",
    source="https://github.com/apache/iceberg/blob/main/spark/v4.1/spark/src/main/java/org/apache/iceberg/spark/SparkCatalog.java",
)  # fmt: skip
def rename_repeats_the_catalog(step: Step, file: File) -> Iterator[Found]:
    """Find new names that begin with the catalog of the old one."""
    if _repeats_catalog(step, file):
        yield Found(f"RENAME TO {step.parsed.targets[-1]}", step)


def _repeats_catalog(step: Step, file: File) -> bool:
    old, new = step.parsed.targets[0], step.parsed.targets[-1]
    is_catalog = new.parts[0] in file.facts.formats and new.parts[0] == old.parts[0]
    return is_catalog and len(new.parts) > 2 and file.format_of(step) == "iceberg"


@statement_rule(
    "add_column", formats=("iceberg",),
    code="BC104", name="add-column", severity=Severity.ERROR, streaming_only=True, proof=Proof.RUN,
    why="A running job that inserts without a list of columns, or merges with INSERT * or UPDATE SET *, fails from then on.",
    fix="Let writers list their columns before the column is added.", spares_new_tables=True,
    bad="ALTER TABLE lake.a.t ADD COLUMN device string", good="ALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'",
    source=f"{_ICEBERG}#alter-table--add-column",
)  # fmt: skip
def add_column(step: Step, file: File) -> Iterator[Found]:
    """Find added top-level columns at the end of the table."""
    for part in of(step, "add_column"):
        is_last = isinstance(part, Column) and len(part.path) == 1 and not part.position
        if isinstance(part, Column) and is_last and _is_accepted(part, step) and not _is_added_again(part, step, file):
            yield Found(f"ADD COLUMN {part.path[0]}", step, part.place)


def _is_accepted(part: Column, step: Step) -> bool:
    """Return whether the engine does not refuse the column."""
    return part.nullable and part.default is None and not step.parsed.options.if_not_exists


def _is_added_again(part: Column, step: Step, file: File) -> bool:
    """Return whether an earlier statement drops the column, which is another finding."""
    before = file.steps[: step.statement.index - 1]
    return any(getattr(each, "path", ()) == part.path for other in before for each in of(other, "drop_column"))


@statement_rule(
    "add_column", "alter_column_position", formats=("iceberg",),
    code="BC105", name="column-order", severity=Severity.WARNING, streaming=Severity.ERROR, proof=Proof.RUN,
    why="An INSERT that lists no columns writes its values into other columns than before, without an error if the types fit.",
    fix="Leave the order alone, and add columns at the end.", spares_new_tables=True,
    bad="ALTER TABLE lake.a.t ALTER COLUMN name FIRST", good="ALTER TABLE lake.a.t ALTER COLUMN name COMMENT 'in full'",
    source=f"{_ICEBERG}#alter-table--alter-column",
)  # fmt: skip
def column_order(step: Step, _file: File) -> Iterator[Found]:
    """Find columns that are moved, or added before others."""
    for part in step.parsed.parts:
        if isinstance(part, (Column, AlterColumn)) and part.position and len(part.path) == 1:
            yield Found(
                f"{part.path[0]} {part.position.upper() if part.position == 'first' else part.position}",
                step,
                part.place,
            )


RULES: tuple[Rule, ...] = (rename_column, rename_table, rename_repeats_the_catalog, add_column, column_order)
