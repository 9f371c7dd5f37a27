"""SF: rules for Snowflake on compute, refreshes and queries. The claims are from Snowflake's documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from glacierbase.capabilities.review.rule import File, RuleFinding, Step
from glacierbase.capabilities.review.rules.snowflake import SnowflakeFamily, finding_about, is_described
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.operations import ROWS
from glacierbase.sql.statement import Name, Subject
from glacierbase.sql.tokens import words

RULES = SnowflakeFamily(__file__)

_SMALL = frozenset({"XSMALL", "SMALL", "MEDIUM"})
_LONGEST_IDLE = 3600
_MOST_CLUSTERS = 3


@RULES.check_subject("SF127")
def compute_changed(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find warehouses that are large, resized or idle for long, and other changes of compute."""
    if subject.verb not in ("CREATE", "ALTER") or subject.replaces or is_described(subject):
        return
    if subject.kind in ("COMPUTE POOL", "RESOURCE MONITOR"):
        yield from finding_about(step, f"{subject.verb} {subject.kind}", "it changes what is spent")
    elif subject.kind == "WAREHOUSE" and (consequence := _spends(subject)):
        yield from finding_about(step, f"{subject.verb} WAREHOUSE", consequence)


def _spends(subject: Subject) -> str:
    """Return what a reviewer would object to in the settings of a warehouse; empty if there is nothing."""
    idle, size = subject.setting("AUTO_SUSPEND"), subject.setting("WAREHOUSE_SIZE")
    if idle in ("0", "NULL"):
        return f"AUTO_SUSPEND = {idle}: it never suspends itself, and costs credits day and night"
    if idle and idle.isdigit() and int(idle) > _LONGEST_IDLE:
        return f"AUTO_SUSPEND = {idle} is in seconds: it runs for {int(idle) / 3600:.1f} hours after its last query"
    if subject.setting("AUTO_RESUME") == "FALSE":
        return "AUTO_RESUME = FALSE: statements on it fail while it is suspended"
    if size and size.replace("-", "") not in _SMALL:
        return f"size {size}: each size doubles what is spent"
    clusters = subject.setting("MAX_CLUSTER_COUNT") or ""
    is_wide = clusters.isdigit() and int(clusters) > _MOST_CLUSTERS
    return f"MAX_CLUSTER_COUNT = {clusters}: up to {clusters} times the credits" if is_wide else ""


_LAG = re.compile(r"(\d{1,9}) (SECOND|MINUTE)S?")
_SHORTEST_LAG = 600


@RULES.check_subject("SF144")
def full_refresh_often(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dynamic tables with full refreshes and a lag of a few minutes."""
    if subject.kind != "DYNAMIC TABLE" or not (match := _LAG.fullmatch(subject.setting("TARGET_LAG") or "")):
        return
    made = file.tables.made(step) if subject.verb == "ALTER" else subject
    seconds = int(match[1]) * (60 if match[2] == "MINUTE" else 1)
    if made and made.setting("REFRESH_MODE") == "FULL" and seconds < _SHORTEST_LAG:
        consequence = f"each refresh computes all rows again, every {match[0].lower()}, and its warehouse runs all day"
        yield from finding_about(step, "REFRESH_MODE = FULL of DYNAMIC TABLE", consequence)


# Operations that move the offset of a stream that they read. https://docs.snowflake.com/en/user-guide/streams-intro
_CONSUMES = (ROWS - {"truncate"}) | {"create_table_as"}


@RULES.check_subject("SF143")
def stream_is_consumed(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find statements that read a stream which an earlier statement of the file, in another transaction, has read."""
    for stream in (step.parsed.sources or ()) if step.parsed.operation in _CONSUMES else ():
        for other in file.before(step):
            is_read = stream.key in [name.key for name in other.parsed.sources or ()] and not other.is_conditional
            is_consumed = is_read and other.parsed.operation in _CONSUMES
            if not is_consumed or _is_one_transaction(file.steps[: step.number + 1], other.number):
                continue
            if _is_stream(stream, (other, step), file):
                lost = "an earlier statement of the file has read it and moved its offset: it returns no rows"
                yield RuleFinding(f"the stream {stream} is read again, but {lost}", step)
                return


def _is_stream(name: Name, steps: Sequence[Step], file: File) -> bool:
    """Return whether a name is that of a declared stream, or statements read columns that only streams have."""
    objects = file.tables.objects(steps[-1], name.key[-1])
    is_declared = any(made.kind == "STREAM" and made.is_same_object(Subject("", "STREAM", name)) for made in objects)
    return is_declared or all("METADATA$ACTION" in words(step.statement.text, SNOWFLAKE.name) for step in steps)


def _is_one_transaction(steps: Sequence[Step], start: int) -> bool:
    """Return whether the step at `start` and the last one are in one explicit transaction."""
    is_open = False
    for step in steps:
        verb = step.parsed.subject.verb if step.parsed.operation == "transaction" and step.parsed.subject else ""
        is_open = verb in ("BEGIN", "START") or (is_open and not verb)
        if step.number >= start and not is_open:
            return False
    return True


@RULES.check_subject("SF146")
def join_without_key(_subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find DELETE … USING and UPDATE … FROM whose WHERE names no column of the table that changes."""
    condition, target = step.parsed.options.condition, step.target
    if step.parsed.operation not in ("delete", "update") or not step.parsed.sources or not condition or not target:
        return
    tokens = tuple(word.removeprefix(".") for word in words(step.statement.text, SNOWFLAKE.name))
    at = tokens.index(target.key[-1].upper()) if target.key[-1].upper() in tokens else len(tokens)
    alias = next((word for word in tokens[at + 1 : at + 3] if word != "AS"), "")
    names = condition.qualifiers or frozenset()
    if names and names.isdisjoint((*target.key, alias)) and "(" not in tokens[tokens.index("WHERE") :]:
        verb = "deleted" if step.parsed.operation == "delete" else "changed"
        compared = f"WHERE compares only {', '.join(sorted(names))}, and not {target}"
        yield RuleFinding(f"{compared}: every row of it is {verb} if one row matches", step)


# Functions of Spark that Snowflake lacks, with what it has instead. https://docs.snowflake.com/en/sql-reference/functions-all
_OF_SPARK = {
    "COLLECT_LIST": "ARRAY_AGG", "COLLECT_SET": "ARRAY_UNIQUE_AGG", "DATE_FORMAT": "TO_CHAR", "DATE_SUB": "DATEADD",
    "EXPLODE": "FLATTEN", "FROM_JSON": "PARSE_JSON", "FROM_UNIXTIME": "TO_TIMESTAMP", "GET_JSON_OBJECT": "GET_PATH",
    "NAMED_STRUCT": "OBJECT_CONSTRUCT", "PERCENTILE_APPROX": "APPROX_PERCENTILE", "POSEXPLODE": "FLATTEN",
    "REGEXP_EXTRACT": "REGEXP_SUBSTR", "UNIX_TIMESTAMP": "DATE_PART(epoch_second, …)",
}  # fmt: skip
# Functions whose first of three arguments is a part of a date.
_OF_DATES = frozenset({"DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF", "DATEADD", "TIMEADD", "TIMESTAMPADD"})
_ARGUMENTS = 3


@RULES.check_subject("SF145")
def function_of_spark(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find calls of functions that Snowflake lacks, or that have a date part as their first argument there."""
    if subject.kind in ("FUNCTION", "PROCEDURE"):
        return
    tokens = words(step.statement.text, SNOWFLAKE.name)
    for at in range(len(tokens) - 1):
        word, name = tokens[at], tokens[at].lower()
        if tokens[at + 1] != "(" or tokens[at - 1 : at] in ((".",), ("INTO",), ("TABLE",), ("EXISTS",)):
            continue
        if word in _OF_SPARK and not _is_defined(word, step, file):
            yield RuleFinding(f"Snowflake has no function {name}, and refuses it; write {_OF_SPARK[word]}", step)
            return
        if word in _OF_DATES and (given := _count(tokens[at + 2 :])) != _ARGUMENTS:
            why = "on Snowflake it has three, of which the first is the date part, such as day"
            yield RuleFinding(f"{name} with {given} arguments is refused: {why}", step)
            return


def _is_defined(function: str, step: Step, file: File) -> bool:
    objects = file.tables.objects(step, function)
    return any(made.kind == "FUNCTION" and made.name and made.name.key[-1] == function for made in objects)


def _count(tokens: Sequence[str]) -> int:
    """Return how many arguments come before the parenthesis that closes."""
    depth = count = 1
    for token in tokens:
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if depth == 0:
            break
        count += token == "," and depth == 1
    return count
