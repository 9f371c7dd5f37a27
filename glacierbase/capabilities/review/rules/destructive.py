"""DS: changes that destroy or hide data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, is_same_table, of
from glacierbase.capabilities.review.rules.breaking import broken_views
from glacierbase.declared.known import VIEW, view_columns
from glacierbase.model.text import first_of
from glacierbase.sql.statement import (
    Call,
    ColumnClause,
    Condition,
    DropColumn,
    Fields,
    MergeClause,
    Reference,
    Subquery,
)
from glacierbase.sql.tokens import words

RULES = Family(__file__)
_ROLLBACKS = frozenset({"rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot"})
_PUBLISHES = frozenset({"fast_forward", "cherrypick_snapshot", "publish_changes"})
_COMMENT = re.compile(r"(?m)--.*$|/\*[\s\S]*?(?:\*/|\Z)")
_TEXT_TYPE = re.compile(r"(?i)STRING|VARCHAR|CHAR|TEXT")
# Years and dates have one length, so that their texts sort as they do.
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d+)*")
_TIME_TYPE = re.compile(r"(?i)TIMESTAMP|DATETIME")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_OVERWRITE_MODE = "spark.sql.sources.partitionoverwritemode"

RULES.statement("DS102", "drop_table", "DROP TABLE … PURGE", where=lambda step: step.parsed.options.purge)
RULES.statement("DS104", "replace_columns", "REPLACE COLUMNS")
RULES.statement("DS108", "drop_namespace", "DROP SCHEMA … CASCADE", where=lambda step: step.parsed.options.cascade)
RULES.clause("DS115", "drop_identifier_fields", Fields, "DROP IDENTIFIER FIELDS")
RULES.statement(
    "DS120", ("update", "delete", "merge", "insert_overwrite", "truncate"), "{step.verb} on a table that streams read",
    where=lambda step: {clause.action for clause in of(step, MergeClause)} != {"insert"},
)  # fmt: skip
RULES.statement(
    "DS123", ("replace_view", "alter_view"), "the new definition of the view reads the view itself",
    where=lambda step: (query := step.parsed.query) and query.reads_target and not step.parsed.options.temporary,
)  # fmt: skip
RULES.statement(
    "DS129", ("update", "delete", "merge"), "AND and OR without parentheses: rows match that only the part after OR describes",
    where=lambda step: any(condition.is_mixed for condition in _conditions(step)),
)  # fmt: skip


def _conditions(step: Step) -> Iterator[Condition]:
    """Yield the conditions of WHERE, ON and WHEN."""
    conditions = (step.parsed.options.condition, *(clause.condition for clause in of(step, MergeClause)))
    return (condition for condition in conditions if condition)


@RULES.check("DS101", "drop_table")
def drop_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP TABLE without PURGE."""
    if not step.parsed.options.purge:
        yield RuleFinding(f"DROP TABLE{_undrop(step, file)}", step)


def _undrop(step: Step, file: File) -> str:
    """Return whether Snowflake restores the table; empty for other engines.

    https://docs.snowflake.com/en/sql-reference/sql/undrop-table
    """
    subject, days = step.parsed.subject, file.properties(step).get("DATA_RETENTION_TIME_IN_DAYS")
    if subject is None:
        return ""
    if subject.kind == "EXTERNAL TABLE" or days == "0":
        return "; there is no UNDROP" + (", its retention is 0" if days else "")
    return f"; UNDROP {subject.kind} restores it within its retention, {f'{days} days' if days else 'a day by default'}"


@RULES.check("DS103", "drop_column")
def drop_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that the file neither adds before nor adds again."""
    for part in of(step, DropColumn):
        if not _added(part, step, file.before(step)) and not _added(part, step, file.after(step)):
            yield RuleFinding(f"DROP COLUMN {part.column}", step, part.place, values_of=(part.key,))


@RULES.check("DS105", "drop_column")
def drop_and_add_again(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that the file adds again, and not before."""
    for part in of(step, DropColumn):
        if _added(part, step, file.after(step)) and not _added(part, step, file.before(step)):
            message = f"DROP COLUMN {part.column}, which a later statement adds again"
            yield RuleFinding(message, step, part.place, values_of=(part.key,))


@RULES.check("DS106", "replace_table")
def create_or_replace_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE TABLE whose query does not return all present rows."""
    query = step.parsed.query
    if query and query.reads_target and not query.is_whole_table:
        yield RuleFinding("CREATE OR REPLACE TABLE keeps of its own rows only those that the query returns", step)
    elif not query or not query.reads_target:
        yield RuleFinding("CREATE OR REPLACE TABLE", step)


@RULES.check("DS107", "truncate", "delete", "insert_overwrite")
def delete_all_rows(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find TRUNCATE and DELETE of all rows, and INSERT OVERWRITE of the whole table."""
    options, operation = step.parsed.options, step.parsed.operation
    if operation == "truncate" and not options.partition:
        yield RuleFinding("TRUNCATE", step)
    elif operation == "delete" and (how := _all_rows(step, file)):
        yield RuleFinding(f"DELETE {how}", step)
    elif operation == "insert_overwrite" and options.where and _holds(options.condition, step, file):
        yield RuleFinding("INSERT … REPLACE WHERE with a condition that holds for all rows", step)
    elif operation == "insert_overwrite" and not options.where and not _replaces_partitions(step, file):
        itself = ", which reads the table itself" if step.parsed.query and step.parsed.query.reads_target else ""
        yield RuleFinding(f"INSERT OVERWRITE{itself}", step)


def _replaces_partitions(step: Step, file: File) -> bool:
    """Return whether INSERT OVERWRITE replaces a partition that it names, or those that it writes."""
    if "=" in (step.parsed.options.partition or ""):
        return True
    mode = file.facts.overwrites_partitions
    for other in file.before(step):
        text = "".join(other.statement.text.lower().split())
        if other.parsed.operation == "set" and _OVERWRITE_MODE in text:
            mode = text.rstrip("`'\"").endswith("dynamic")
    return mode


@RULES.check("DS109", "create_branch", "create_tag", "drop_branch", "drop_tag", "call")
def commits_discarded(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped and replaced branches and tags, and procedures that set the current snapshot."""
    for part in step.parsed.parts:
        if isinstance(part, Reference) and not _is_done_with(part, step, file):
            kind = part.operation.partition("_")[2].upper()
            if part.operation in ("drop_branch", "drop_tag"):
                yield RuleFinding(f"DROP {kind} {part.name}{_written(part, step, file)}", step, part.place)
            elif part.or_replace:
                yield RuleFinding(f"REPLACE {kind} {part.name}", step, part.place)
        elif isinstance(part, Call) and part.name in _ROLLBACKS:
            yield RuleFinding(f"CALL {part}", step, part.place)


def _is_done_with(part: Reference, step: Step, file: File) -> bool:
    """Return whether the file publishes the commits of a branch before, or creates the reference without writing to it."""
    before = file.before(step)
    if any(call.name in _PUBLISHES for other in before for call in of(other, Call)):
        return True
    created = (reference for other in before for reference in of(other, Reference, "create_branch", "create_tag"))
    return any(reference.name == part.name for reference in created) and not _written(part, step, file)


def _written(part: Reference, step: Step, file: File) -> str:
    """Return the words for a branch that an earlier statement of the file writes to; else an empty text."""
    names = {f"branch_{part.name.lower()}", f"tag_{part.name.lower()}"}
    is_written = any(name.key[-1] in names for other in file.before(step) for name in other.parsed.targets)
    return ", with the rows that this file writes to it" if is_written else ""


@RULES.check("DS110", "update")
def update_all_rows(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find UPDATE of all rows, unless the file adds the columns that it sets."""
    same = (other for other in file.before(step) if is_same_table(other, step))
    added = {part.key[-1] for other in same for part in of(other, ColumnClause, "add_column")}
    columns = step.parsed.options.columns
    if (how := _all_rows(step, file)) and not (columns and added.issuperset(columns)):
        yield RuleFinding(f"UPDATE {how}", step, values_of=tuple((column,) for column in columns))


@RULES.check("DS111", "merge")
def merge_without_key(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find MERGE whose condition does not compare a row of the table with a row of the source."""
    options = step.parsed.options
    if options.condition and options.condition.holds is not None:
        how = "every row with every row" if options.condition.holds else "no row with a row"
        yield RuleFinding(f"MERGE ON a condition that matches {how} of the source", step)
    elif options.condition and options.condition.qualifiers == frozenset({options.alias or ""}):
        yield RuleFinding(f"MERGE ON a condition that names columns of {options.alias} only", step)


@RULES.check("DS112", "merge")
def merge_by_source(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find WHEN NOT MATCHED BY SOURCE that deletes or updates all such rows."""
    for part in of(step, MergeClause):
        is_for_all = part.condition is None or _holds(part.condition, step, file)
        if part.rows == "not matched by source" and is_for_all:
            yield RuleFinding(f"WHEN NOT MATCHED BY SOURCE THEN {part.action.upper()}", step, part.place)


@RULES.check("DS113", "insert")
def insert_into_itself(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find INSERT of rows that only the table itself provides."""
    query = step.parsed.query
    is_alone = query and query.reads_target and step.parsed.sources == ()
    # Time travel restores rows that are gone.
    if is_alone and ("AS", "OF") not in pairwise(words(step.statement.text, file.facts.engine)):
        yield RuleFinding("INSERT of rows of the table into the table", step)


@RULES.check("DS114", "drop_partition", "truncate")
def partition_dropped(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP PARTITION and TRUNCATE … PARTITION."""
    if step.parsed.options.partition:
        verb = "TRUNCATE … PARTITION" if step.parsed.operation == "truncate" else "DROP PARTITION"
        effect = "deletes all rows of it" if file.format_of(step) == "hudi" else "is refused by the engine"
        yield RuleFinding(f"{verb} {step.parsed.options.partition} {effect}", step)


@RULES.check("DS116", "drop_view")
def drop_view(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP VIEW, unless the file creates the view, before or after, or BC106 names what fails."""
    makes = ("create_view", "replace_view")
    others = (other for other in file.steps if other.parsed.operation in makes and is_same_table(other, step))
    is_kept = step.parsed.options.temporary or any(others) or any(file.repeatables_dropped(step))
    if not is_kept and not broken_views(step, file):
        yield RuleFinding("DROP VIEW", step)


@RULES.check("DS117", "create_view", "replace_view", "alter_view")
def view_loses_a_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find views that an earlier statement declares with a column that the new definition lacks."""
    view, columns = file.tables.before(step), view_columns(step.parsed)
    if view and view.using == VIEW and view.columns and columns and not step.parsed.options.temporary:
        lost = [name for name in view.columns if name not in columns]
        if lost and not step.parsed.options.if_not_exists:
            yield RuleFinding(f"the new definition of the view lacks {', '.join(lost)}", step)


@RULES.check("DS118", "set_location")
def set_location(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find SET LOCATION."""
    if file.format_of(step) == "iceberg":
        yield RuleFinding("SET LOCATION leaves the files of the table where they are; new ones go elsewhere", step)
    else:
        yield RuleFinding("SET LOCATION makes the table read other files; its rows are left behind", step)


@RULES.check("DS119", "drop_namespace")
def drop_namespace_with_tables(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP SCHEMA without CASCADE of a namespace in which earlier statements create tables and views."""
    names = file.tables.inside(step)
    if names and not step.parsed.options.cascade:
        yield RuleFinding(f"DROP SCHEMA of a namespace with {first_of(names, 3)}", step)


@RULES.check("DS122", "insert")
def insert_out_of_order(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find INSERT by position whose query names the columns of the table in another order."""
    table, options, query = file.known(step), step.parsed.options, step.parsed.query
    listed = options.columns or (tuple(table.columns) if table and table.columns else ())
    names = tuple(name.lower() for name in listed)
    given = tuple(name.lower() for name in (query and query.columns) or ())
    if names != given and sorted(names) == sorted(given) and not options.by_name and not options.partition:
        column, value = next(pair for pair in zip(names, given, strict=True) if pair[0] != pair[1])
        yield RuleFinding(f"INSERT by position writes the values of {value} to {column}", step)


_DESTROYS = re.compile(r"(?i)'\s*((?:drop|truncate)\s+\w+|delete\s+from|create\s+or\s+replace\s+table)\b")


@RULES.check_file("DS124")
def unreviewed_text(file: File) -> Iterator[RuleFinding]:
    """Find EXECUTE IMMEDIATE of a file, and of computed text where a string of the script begins a destructive statement."""
    for step in file.steps:
        start = words(step.statement.text, file.facts.engine)[:3]
        if start[:2] != ("EXECUTE", "IMMEDIATE") or step.parsed.understood:
            continue
        if start[2:] == ("FROM",):
            why = "its statements are not in this file, and nobody can review them"
            yield RuleFinding(f"EXECUTE IMMEDIATE FROM a file: {why}", step)
        elif match := _DESTROYS.search(_COMMENT.sub("", file.migration.text)):
            what = f"{' '.join(match[1].upper().split())} of a name that is put together while the script runs"
            yield RuleFinding(f"{what}: nobody can review which ones", step)
            return


@RULES.check("DS125", "update", "delete")
def not_in_null(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find NOT IN over a column that is declared to allow NULL."""
    for query in _subqueries(step):
        table = file.tables.source(step, query.table) if query.is_excluded and not query.is_not_null else None
        column = table.column((query.column,)) if table else None
        if column and not column.required:
            name = f"{query.table[-1]}.{query.column}"
            yield RuleFinding(f"NOT IN over {name}, which may be NULL: one NULL, and no row matches", step)


@RULES.check("DS126", "update", "delete")
def column_of_the_outer_table(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find queries after IN of a column that their table lacks, and the table that the statement changes has."""
    outer = file.known(step)
    for query in _subqueries(step):
        table = file.tables.source(step, query.table)
        if outer and table and table.has((query.column,)) is False and outer.has((query.column,)):
            name, rows = query.table[-1], "no row" if query.is_excluded else "every row"
            effect = f"that of the outer table is compared with itself, and {rows} matches"
            yield RuleFinding(f"{name} has no column {query.column}: {effect}", step)


def _subqueries(step: Step) -> tuple[Subquery, ...]:
    return step.parsed.options.condition.subqueries if step.parsed.options.condition else ()


@RULES.check("DS127", "update", "delete")
def number_in_a_text(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns of texts that `<` or `>` compares with a number or a version in quotes."""
    for name, sign, value, declared in _compared(step, file):
        if sign[0] in "<>" and _TEXT_TYPE.match(declared) and _VERSION.fullmatch(value):
            yield RuleFinding(f"{name} is a text, and compared with '{value}' character by character: '9' > '10'", step)


@RULES.check("DS128", "update", "delete")
def day_of_a_timestamp(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find timestamps that are compared with a date by `=`, `<=` or BETWEEN."""
    for name, sign, value, declared in _compared(step, file):
        if sign in ("=", "==", "<=", "BETWEEN") and _TIME_TYPE.match(declared) and _DAY.fullmatch(value):
            rows = "of midnight only" if sign in ("=", "==") else f"up to midnight, at which {value} begins"
            yield RuleFinding(f"{name} is a timestamp: {sign} {value} matches rows {rows}", step)


def _compared(step: Step, file: File) -> Iterator[tuple[str, str, str, str]]:
    """Yield the columns that WHERE compares with a text: column, sign, text, declared type."""
    condition = step.parsed.options.condition
    for name, sign, value in condition.compared if condition else ():
        column = file.column(step, (name,))
        if column and column.spelling:
            yield name, sign, value, column.spelling


def _all_rows(step: Step, file: File) -> str:
    """Return the words for an UPDATE or DELETE of all rows, such as `without WHERE`; else an empty text."""
    options = step.parsed.options
    if not options.where:
        return "without WHERE"
    if options.condition and options.condition.is_uniform:
        return "with a WHERE that is the same for all rows: its EXISTS refers to none"
    if not _holds(options.condition, step, file):
        return ""
    columns = sorted(".".join(path) for path in options.condition.unless_null) if options.condition else []
    rows = f"every row in which {' and '.join(columns)} is not NULL" if columns else "all rows"
    return f"with a WHERE that holds for {rows}"


def _holds(condition: Condition | None, step: Step, file: File) -> bool:
    """Return whether a condition holds for all rows of the table, but for NULL in columns that it compares with themselves."""
    if condition and condition.queried:
        return step.target is not None and condition.queried == step.target.key
    if condition is None or not condition.holds:
        return False
    columns = [file.column(step, path[-1:]) for path in condition.if_required]
    return all(column is not None and column.required for column in columns)


def _added(dropped: DropColumn, step: Step, steps: tuple[Step, ...]) -> bool:
    """Return whether one of the statements adds the column to the same table."""
    same = (other for other in steps if is_same_table(other, step))
    added = (part for other in same for part in of(other, ColumnClause, "add_column"))
    return any(list(map(str.lower, part.path)) == list(map(str.lower, dropped.path)) for part in added)
