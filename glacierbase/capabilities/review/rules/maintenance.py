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


def _expires_all(call: Call) -> bool:
    """Return whether the procedure expires the snapshots up to now, or to a time in the future."""
    older = _argument(call, "older_than", 1)
    match = _INSTANT.search(older.text) if older else None
    if older is None or match is None:
        return older is not None and _NOW.fullmatch(older.text) is not None
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    return match[0] > tomorrow.isoformat()


def _is_limited(call: Call) -> bool:
    """Return whether the procedure names both the time and the number of the snapshots that it keeps."""
    return bool(_argument(call, "older_than", 1) and call.argument("retain_last"))


def _is_dry_run(call: Call) -> bool:
    dry_run = call.argument("dry_run")
    return dry_run is not None and dry_run.text.lower() == "true"


def _argument(call: Call, name: str, at: int) -> Argument | None:
    """Return the argument with a name, or at a position where the arguments have no names."""
    positional = [argument for argument in call.arguments if argument.name is None]
    return call.argument(name) or (positional[at] if len(positional) > at else None)


RULES.clause(
    "MT101", "call", Call, "CALL {clause}",
    where=lambda call: call.name == "expire_snapshots" and not _expires_all(call) and not _is_limited(call),
)  # fmt: skip
RULES.clause(
    "MT102", "call", Call, "CALL {clause}",
    where=lambda call: call.name == "remove_orphan_files" and not _is_dry_run(call),
)  # fmt: skip
RULES.clause(
    "MT103", "call", Call, "CALL {clause}",
    where=lambda call: call.name == "rewrite_data_files" and call.argument("where") is None,
)  # fmt: skip
RULES.statement(
    "MT106", "replace_table", "CREATE OR REPLACE TABLE of the table's own rows",
    where=lambda step: (query := step.parsed.query) and query.reads_target and query.is_whole_table,
)  # fmt: skip
RULES.statement(
    "MT112", ("insert", "insert_overwrite", "create_table_as", "replace_table"), "LIMIT without ORDER BY",
    where=lambda step: step.parsed.query and step.parsed.query.limits,
)  # fmt: skip
RULES.statement(
    "MT113", ("delete", "update"), "{step.verb} with a WHERE that holds for no row",
    where=lambda step: (condition := step.parsed.options.condition) and condition.holds is False,
)  # fmt: skip
RULES.statement(
    "MT116", ("insert", "update", "delete", "merge"), "{step.verb} in a loop makes one commit for each turn",
    where=lambda step: step.is_repeated,
)  # fmt: skip


@RULES.check("MT108", "call")
def expire_all_snapshots(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL expire_snapshots up to the present."""
    for call in _calls(step, "expire_snapshots"):
        older = _argument(call, "older_than", 1)
        if older and _expires_all(call):
            yield RuleFinding(f"expire_snapshots older than {older.text}", step, call.place)


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
    reads_itself = step.parsed.query and step.parsed.query.reads_target
    if step.parsed.sources != () and not reads_itself and "WHERE" not in words(step.statement.text, file.facts.engine):
        yield RuleFinding("INSERT … SELECT", step)


@RULES.check_file("MT107")
def snapshot_id_written_out(file: File) -> Iterator[RuleFinding]:
    """Find ids of snapshots in statements on branches and tags, cherry-picks, and time travel, that no variable holds."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        written = {number for number in _SNAPSHOT.findall(step.statement.text) if number in file.migration.text}
        for number in dict.fromkeys(_snapshots(step)) if written else ():
            if number in written:
                yield RuleFinding(f"the id of a snapshot, {number}, is written out", step)


def _snapshots(step: Step) -> Iterator[str]:
    yield from (reference.snapshot or "" for reference in of(step, Reference))
    yield from (argument.text for call in _calls(step, "cherrypick_snapshot") for argument in call.arguments)
    tokens = words(step.statement.text, SPARK.name)
    yield from (tokens[at + 3] for at in range(len(tokens) - 3) if tokens[at : at + 3] == ("VERSION", "AS", "OF"))


@RULES.check("MT109", "call")
def shared_files(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find procedures that make a table of the files of another one."""
    for call in of(step, Call):
        if call.name in _SHARES:
            yield RuleFinding(f"CALL {call} {_SHARES[call.name]}", step, call.place)


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


@RULES.check("MT114", "merge")
def merge_reads_all_partitions(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find MERGE whose conditions name no column by which the table is declared to be partitioned."""
    on, sources = step.parsed.options.condition, [field.source[-1] for field in file.partitioning(step)]
    # DS111 is about an ON that compares nothing.
    is_joined = on is not None and on.holds is None and (on.qualifiers is None or len(on.qualifiers) > 1)
    conditions = (on, *(clause.condition for clause in of(step, MergeClause)))
    if sources and is_joined and all(part is None or part.named.isdisjoint(sources) for part in conditions):
        yield RuleFinding(f"ON names no partition column ({', '.join(sources)}): MERGE reads every partition", step)


@RULES.check("MT115", "call")
def fast_forward_from_main(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CALL fast_forward of another branch to main."""
    for call in _calls(step, "fast_forward"):
        branch, to = _argument(call, "branch", 1), _argument(call, "to", 2)
        if branch and to and to.string == "main" and branch.string not in (None, "main"):
            effect = f"moves the branch {branch.string} to main, and leaves main as it is"
            yield RuleFinding(f"fast_forward {effect}", step, call.place)


def _called(step: Step, file: File) -> frozenset[str]:
    """Return the functions that a statement calls, in capitals."""
    tokens = words(step.statement.text, file.facts.engine)
    return frozenset(word for word, following in pairwise(tokens) if following == "(")


def _calls(step: Step, procedure: str) -> Iterator[Call]:
    return (call for call in of(step, Call) if call.name == procedure)
