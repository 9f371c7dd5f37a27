"""Evidence of a statement's outcome: the commits to its tables in the log of Iceberg or Delta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from glacierbase.errors import StatementRefused
from glacierbase.executors import Evidence, InFlight, Session
from glacierbase.executors.direct.files import may_move_catalogs
from glacierbase.executors.spark.delta import log_entries
from glacierbase.executors.spark.errors import is_atomic
from glacierbase.executors.spark.session import quoted_name
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.tokens import Source, tokens

# https://iceberg.apache.org/docs/latest/spark-queries/#inspecting-tables
_ICEBERG = (
    "SELECT unix_micros(committed_at), concat(operation, ' snapshot ', snapshot_id),"
    " coalesce(summary['spark.app.id'], '') FROM {}.snapshots",
    "SELECT unix_micros(timestamp), concat('metadata ', regexp_extract(file, '[^/]*$', 0)), NULL"
    " FROM {}.metadata_log_entries",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Options of the writer, and columns named like an action, also leave the outcome open. Delta's SET LOCATION is no commit.
_LISTED = re.compile(
    r"(?!.*\b(?:RENAME TO|SET LOCATION)\b)(?!INSERT\b.* WITH \()(?!.* (?:ALTER|CHANGE) COLUMN (?:COMMENT|SET|DROP) )"
    r"(?:INSERT (?:INTO|OVERWRITE)(?: TABLE)?|UPDATE|DELETE FROM|MERGE INTO|ALTER TABLE)"
    r" (?P<name>\S+(?: \. \S+)*)"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """An entry of a table's log.

    Attributes:
        what: operation and number.
        application: the Spark application that committed; empty if it was not Spark, None if the log names no application.
        tag: the tag of the statement, if the log holds one.
    """

    table: str
    at: datetime
    what: str
    application: str | None = None
    tag: str | None = None


def assess(commits: Sequence[Commit], statement: InFlight, margin: timedelta = timedelta(0)) -> Evidence:
    """Return what the commits suggest: done if the statement committed, not done if there was no commit since its start.

    Args:
        commits: all commits in the logs.
        margin: how far the clocks of the run and the engine may differ; zero on one machine. With a margin, the engine is a
            server, whose application is that of all its clients and proves nothing.
    """
    by_statement = [commit for commit in commits if _is_own(commit, statement, margin)]
    since = statement.since - margin
    recent = [commit for commit in commits if commit.at >= since or commit in by_statement]
    lines = tuple(
        _line(commit, statement) for commit in sorted(recent, key=lambda commit: (commit.table, commit.at, commit.what))
    )
    if by_statement:
        return Evidence(lines, took_effect=True)
    return Evidence(lines, took_effect=False if commits and not recent else None)


def _is_own(commit: Commit, statement: InFlight, margin: timedelta) -> bool:
    if commit.tag == statement.tag:
        return True
    same = commit.application == statement.application
    return bool(commit.application) and same and not margin and commit.at >= statement.since


def _line(commit: Commit, statement: InFlight) -> str:
    return f"{commit.table}: {commit.what} of {commit.at:%Y-%m-%d %H:%M:%S.%f} UTC{_author(commit, statement)}"


def _author(commit: Commit, statement: InFlight) -> str:
    if commit.tag == statement.tag:
        return " by this statement"
    if commit.application is None:
        return ""
    if not commit.application:
        return " by no Spark application"
    if commit.application == statement.application:
        return " by this run's application"
    return f" by application {commit.application}"


def commits(session: Session, table: str) -> Iterator[Commit]:
    """Yield the commits to a table; none where the table does not exist or its format keeps no log."""
    for query in _ICEBERG:
        with suppress(StatementRefused):
            for micros, what, application in session.query(query.format(quoted_name(table))):
                yield Commit(table, _EPOCH + timedelta(microseconds=micros), what, application)
    for entry in log_entries(session, quoted_name(table)):
        by = f" by {entry.by}" if entry.by else ""
        yield Commit(table, entry.at, f"{entry.name}{by}", tag=entry.metadata)


def proving_table(sql: str, file: str) -> str | None:
    """Return the table whose version proves whether the statement took effect; None without such a table.

    Args:
        file: all statements of its file, rendered.
    """
    if not is_atomic(sql) or may_move_catalogs(file) or not _is_listed(sql):
        return None
    targets = read(sql, "spark").targets
    return targets[0].recorded if len(targets) == 1 else None


def _is_listed(sql: str) -> bool:
    """Return whether `_LISTED` matches the statement, and no comment is before the end of its table's name."""
    statement_tokens = list(tokens(SPARK, Source(sql)))
    listed = _LISTED.match(" ".join(token.word for token in statement_tokens))
    if listed is None or statement_tokens[0].start:
        return False
    head = statement_tokens[: listed[0].count(" ") + 1]
    return not any(sql[before.end : after.start].strip() for before, after in pairwise(head))
