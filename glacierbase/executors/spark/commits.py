"""The commits to a table, read from the log that Iceberg or Delta keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone

from glacierbase.errors import StatementRefused
from glacierbase.executors import Session
from glacierbase.executors.spark.evidence import Commit
from glacierbase.executors.spark.literals import quoted_name

# https://iceberg.apache.org/docs/latest/spark-queries/#inspecting-tables
_ICEBERG = (
    "SELECT unix_micros(committed_at), concat(operation, ' snapshot ', snapshot_id),"
    " coalesce(summary['spark.app.id'], '') FROM {}.snapshots",
    "SELECT unix_micros(timestamp), concat('metadata ', regexp_extract(file, '[^/]*$', 0)), NULL"
    " FROM {}.metadata_log_entries",
)
# https://docs.delta.io/latest/delta-utility.html#retrieve-delta-table-history
_DELTA = "DESCRIBE HISTORY {}"
_USER_METADATA = 13  # The column of Delta's answer.
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def commits(session: Session, table: str) -> Iterator[Commit]:
    """Yield the commits to a table; none where the table does not exist or its format keeps no log."""
    for query in _ICEBERG:
        with suppress(StatementRefused):
            for micros, what, application in session.query(query.format(quoted_name(table))):
                yield Commit(table, _EPOCH + timedelta(microseconds=micros), what, application)
    with suppress(StatementRefused):
        for row in session.query(_DELTA.format(quoted_name(table))):
            version, at, operation, tag = row[0], row[1], row[4], row[_USER_METADATA]
            yield Commit(table, at.astimezone(timezone.utc), f"{operation} version {version}", tag=tag)
