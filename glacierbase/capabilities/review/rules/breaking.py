"""BC: changes that break running readers and writers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import BREAKS_READERS, File, RuleFinding, Step, of
from glacierbase.model.text import first_of
from glacierbase.sql.operations import CREATES_TABLE, VIEWS
from glacierbase.sql.statement import AlterColumn, ColumnClause, DropColumn, Query, RenameColumn

RULES = Family(__file__)
# Operations after which a view or a table is defined by its new statement, or is no more.
_DEFINES = CREATES_TABLE | VIEWS | {"drop_table"}


@RULES.check("BC106", *BREAKS_READERS)
def view_still_reads(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped and renamed tables and columns that a declared view reads, unless the file goes on to define it anew."""
    views = broken_views(step, file)
    if views:
        reads = "reads" if len(views) == 1 else "read"
        yield RuleFinding(f"{first_of(views, 3)} still {reads} {_lost(step)}, and every query of it fails", step)


def broken_views(step: Step, file: File) -> list[str]:
    """Return the names of the declared views that fail after a statement, and after those that follow it in the file."""
    later = [key for other in file.after(step) for key in _defined(other)]
    if step.target is None or step.target.key in later:
        return []
    columns = {part.key[-1] for part in step.parsed.parts if isinstance(part, (DropColumn, RenameColumn))}
    readers = file.tables.readers(step)
    kept = [(name, view) for name, view in readers if tuple(name) not in later]
    return [".".join(name) for name, view in kept if not columns or (view.query and _names(view.query, columns))]


def _defined(step: Step) -> Iterator[tuple[str, ...]]:
    """Yield the name of the table or view that a statement defines, drops, or renames another one to."""
    if step.target and step.parsed.operation in _DEFINES:
        yield step.target.key
    if step.target and step.parsed.operation in ("rename_table", "rename_view"):
        new = step.parsed.targets[-1].key
        yield (*step.target.key[: -len(new)], *new)


def _names(query: Query, columns: Collection[str]) -> bool:
    return "*" in query.names or not query.names.isdisjoint(columns)


def _lost(step: Step) -> str:
    columns = [part.path[-1] for part in step.parsed.parts if isinstance(part, (DropColumn, RenameColumn))]
    return f"{', '.join(columns)} of {step.target}" if columns else str(step.target)


@RULES.check("BC101", "rename_column")
def rename_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed columns, except those of BC106."""
    for part in of(step, RenameColumn) if not broken_views(step, file) else ():
        yield RuleFinding(f"RENAME COLUMN {part.column} TO {part.new}", step, part.place)


@RULES.check("BC102", "rename_table", "rename_view")
def rename_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find renamed tables and views whose new name the engine accepts, except those of BC106."""
    if not _repeats_catalog(step, file) and not broken_views(step, file):
        yield RuleFinding(f"RENAME TO {step.parsed.targets[-1]}", step)


@RULES.check("BC103", "rename_table")
def rename_repeats_the_catalog(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new names that begin with the catalog of the old one."""
    if _repeats_catalog(step, file):
        yield RuleFinding(f"RENAME TO {step.parsed.targets[-1]}", step)


def _repeats_catalog(step: Step, file: File) -> bool:
    old, new = step.parsed.targets[0], step.parsed.targets[-1]
    is_catalog = new.parts[0] in file.facts.formats and new.parts[0] == old.parts[0]
    return is_catalog and len(new.parts) > 2 and file.format_of(step) == "iceberg"


@RULES.check("BC104", "add_column")
def add_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find added top-level columns at the end of the table."""
    for part in of(step, ColumnClause, "add_column"):
        is_last = len(part.path) == 1 and not part.position
        if is_last and _is_accepted(part, step) and not _is_added_again(part, step, file):
            yield RuleFinding(f"ADD COLUMN {part.column}", step, part.place)


def _is_accepted(part: ColumnClause, step: Step) -> bool:
    """Return whether the engine accepts the column."""
    return part.nullable and part.default is None and not step.parsed.options.if_not_exists


def _is_added_again(part: ColumnClause, step: Step, file: File) -> bool:
    """Return whether an earlier statement drops the column, which is another finding."""
    drops = (drop for other in file.before(step) for drop in of(other, DropColumn))
    return any(drop.path == part.path for drop in drops)


@RULES.check("BC105", "add_column", "alter_column_position")
def column_order(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find columns that are moved, or added before others."""
    for part in step.parsed.parts:
        if isinstance(part, (ColumnClause, AlterColumn)) and part.position and len(part.path) == 1:
            position = "FIRST" if part.position == "first" else part.position
            yield RuleFinding(f"{part.column} {position}", step, part.place)
