"""MT: maintenance and changes of data inside a migration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.model.text import first_of
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import Argument, Call, MergeClause, Reference
from glacierbase.sql.tokens import words

RULES = Family(__file__)
_SAFE_HOURS = 168.0
_HOURS = re.compile(r"(?i)\s*([0-9.]+)\s+HOURS?")
_INSTANT = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NOW = re.compile(r"(?i)\s*(?:current_timestamp|now|current_date)(?:\s*\(\s*\))?\s*")
# Procedures after which two tables use the same files, or a table of another format is no more, with what follows.
_SHARES = {
    "migrate": "replaces the table by an Iceberg table; jobs that write its files as before lose their rows",
    "snapshot": "makes a table on the files of the source, which loses rows when the source deletes files",
    "add_files": "adds files that another table owns: either may delete them, and files that are added twice double rows",
    "register_table": "makes a table of a metadata file, whose files a second catalog may change or delete",
}
# Snapshots are numbered by chance with up to 19 digits; versions of Delta count from 0.
_SNAPSHOT = re.compile(r"\d{12,}")
_RANDOM = frozenset(
    {"RAND", "RANDN", "RANDOM", "UUID", "UUID_STRING", "SHUFFLE", "MONOTONICALLY_INCREASING_ID", "RANDSTR"}
)
_CLOCKS = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP", "NOW", "SYSDATE", "GETDATE", "CURDATE"})


@RULES.check("MT101", "call")
def expire_snapshots(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL expire_snapshots that keeps the snapshots of some time, unless it names the time and a number to keep."""
    for call in _calls(step, "expire_snapshots"):
        is_limited = _older_than(call) and call.argument("retain_last")
        if not _expires_all(call) and not is_limited:
            yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@RULES.check("MT108", "call")
def expire_all_snapshots(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL expire_snapshots up to the present."""
    for call in _calls(step, "expire_snapshots"):
        if _expires_all(call):
            older = _older_than(call)
            yield RuleFinding(f"expire_snapshots older than {older.text if older else ''}", step, call.place)


def _older_than(call: Call) -> Argument | None:
    """Return the argument of this name, or the second one where the arguments have no names."""
    positional = [argument for argument in call.arguments if argument.name is None]
    return call.argument("older_than") or (positional[1] if len(positional) > 1 else None)


def _expires_all(call: Call) -> bool:
    """Return whether the procedure expires the snapshots up to now, or to a time in the future."""
    older = _older_than(call)
    if older is None:
        return False
    match = _INSTANT.search(older.text)
    if match is None:
        return _NOW.fullmatch(older.text) is not None
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    return match[0] > tomorrow.isoformat()


@RULES.check("MT102", "call")
def remove_orphan_files(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL remove_orphan_files without a dry run."""
    for call in _calls(step, "remove_orphan_files"):
        dry_run = call.argument("dry_run")
        if dry_run is None or dry_run.text.lower() != "true":
            yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@RULES.check("MT103", "call")
def rewrite_of_a_whole_table(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL rewrite_data_files without a filter."""
    for call in _calls(step, "rewrite_data_files"):
        if call.argument("where") is None:
            yield RuleFinding(f"CALL {'.'.join(call.procedure)}", step, call.place)


@RULES.check("MT104", "vacuum")
def vacuum_short_retention(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find VACUUM that retains less than a week."""
    match = _HOURS.fullmatch(step.parsed.options.retain or "")
    if match and float(match[1]) < _SAFE_HOURS:
        yield RuleFinding(f"RETAIN {match[1]} HOURS", step)


@RULES.check("MT105", "insert")
def insert_may_double(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find INSERT of all rows of other tables; a WHERE names the rows that a second run would double.

    Iceberg, Delta and Snowflake record who committed what, which `executors.spark.evidence` and `executors.snowflake.session` read.
    """
    query = step.parsed.query
    reads_others = step.parsed.sources is None or bool(step.parsed.sources)
    if not reads_others or (query and query.reads_target):
        return
    if "WHERE" not in words(step.statement.text, file.facts.engine):
        yield RuleFinding("INSERT … SELECT", step)


@RULES.check("MT106", "replace_table")
def replace_by_itself(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE TABLE of all rows that the table has."""
    query = step.parsed.query
    if query and query.reads_target and query.is_whole_table:
        yield RuleFinding("CREATE OR REPLACE TABLE of the table's own rows", step)


@RULES.check_file("MT107")
def snapshot_id_written_out(file: File) -> Iterator[RuleFinding]:
    """Find ids of snapshots in statements on branches and tags, cherry-picks, and time travel, that no variable holds."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        written = {number for number in _SNAPSHOT.findall(step.statement.text) if number in file.migration.text}
        for number in dict.fromkeys(_snapshots(step)) if written else ():
            if number in written:
                yield RuleFinding(f"the id of a snapshot, {number}, is written out", step)


def _snapshots(step: Step) -> Iterator[str]:
    yield from (part.snapshot or "" for part in step.parsed.parts if isinstance(part, Reference))
    yield from (argument.text for call in _calls(step, "cherrypick_snapshot") for argument in call.arguments)
    tokens = words(step.statement.text, SPARK.name)
    yield from (tokens[at + 3] for at in range(len(tokens) - 3) if tokens[at : at + 3] == ("VERSION", "AS", "OF"))


@RULES.check("MT109", "call")
def shared_files(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find procedures that make a table of the files of another one."""
    for procedure, effect in _SHARES.items():
        for call in _calls(step, procedure):
            yield RuleFinding(f"CALL {'.'.join(call.procedure)} {effect}", step, call.place)


@RULES.check(
    "MT110",
    "insert",
    "insert_overwrite",
    "insert_multi",
    "update",
    "delete",
    "merge",
    "create_table_as",
    "replace_table",
)
def random_values(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find random values that are written to a table, or choose the rows to delete."""
    called = _called(step, file) & _RANDOM
    if called:
        what = "rows by" if step.parsed.operation == "delete" else "values of"
        yield RuleFinding(f"{what} {first_of(sorted(name.lower() for name in called), 2)}()", step)


@RULES.check("MT111", "delete", "update")
def rows_by_the_clock(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find UPDATE and DELETE whose WHERE reads the clock."""
    tokens = words(step.statement.text, file.facts.engine)
    where = tokens[tokens.index("WHERE") :] if "WHERE" in tokens and step.parsed.options.where else ()
    if clock := next((word for word in where if word in _CLOCKS), None):
        yield RuleFinding(f"the rows depend on {clock.lower()}", step)


@RULES.check("MT112", "insert", "insert_overwrite", "create_table_as", "replace_table")
def limit_without_order(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find rows that a LIMIT without ORDER BY chooses."""
    if step.parsed.query and step.parsed.query.limits:
        yield RuleFinding("LIMIT without ORDER BY", step)


@RULES.check("MT113", "delete", "update")
def condition_never_holds(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find UPDATE and DELETE of no row."""
    condition = step.parsed.options.condition
    if condition and condition.holds is False:
        yield RuleFinding(f"{step.parsed.operation.upper()} with a WHERE that holds for no row", step)


@RULES.check("MT114", "merge")
def merge_reads_all_partitions(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find MERGE whose conditions name no column by which the table is declared to be partitioned."""
    on, known = step.parsed.options.condition, file.known(step)
    sources = [field.source[-1] for field in (known and known.partitioning) or ()]
    # DS111 is about an ON that compares nothing.
    is_joined = on is not None and on.holds is None and (on.qualifiers is None or len(on.qualifiers) > 1)
    conditions = (on, *(part.condition for part in step.parsed.parts if isinstance(part, MergeClause)))
    if sources and is_joined and all(part is None or part.named.isdisjoint(sources) for part in conditions):
        yield RuleFinding(f"ON names no partition column ({', '.join(sources)}): MERGE reads every partition", step)


@RULES.check("MT115", "call")
def fast_forward_from_main(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL fast_forward of another branch to main."""
    for call in _calls(step, "fast_forward"):
        branch, to = (_argument(call, name, at) for at, name in ((1, "branch"), (2, "to")))
        if to == "main" and branch not in (None, "main"):
            yield RuleFinding(
                f"fast_forward moves the branch {branch} to main, and leaves main as it is", step, call.place
            )


def _argument(call: Call, name: str, at: int) -> str | None:
    """Return the text of the argument with a name, or at a position where the arguments have no names."""
    positional = [argument for argument in call.arguments if argument.name is None]
    argument = call.argument(name) or (positional[at] if len(positional) > at else None)
    return argument.string if argument else None


@RULES.check("MT116", "insert", "update", "delete", "merge")
def commit_for_each_turn(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find changes of rows inside a loop of a script."""
    if step.is_repeated:
        yield RuleFinding(f"{step.parsed.operation.upper()} in a loop makes one commit for each turn", step)


def _called(step: Step, file: File) -> frozenset[str]:
    """Return the functions that a statement calls, in capitals."""
    tokens = words(step.statement.text, file.facts.engine)
    return frozenset(word for word, following in pairwise(tokens) if following == "(")


def _calls(step: Step, procedure: str) -> Iterator[Call]:
    calls = (part for part in of(step, Call) if isinstance(part, Call))
    return (call for call in calls if call.procedure[-1].lower() == procedure)
