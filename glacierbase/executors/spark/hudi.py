"""The timeline of a Hudi table: its completed instants, as evidence of a statement's outcome.

https://hudi.apache.org/docs/timeline, https://hudi.apache.org/docs/procedures#show_commits. An instant names no application and no
statement, so that it never shows who committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from glacierbase.declared.render import literal
from glacierbase.errors import OutcomeUnknown, StatementRefused
from glacierbase.executors import Session
from glacierbase.executors.spark.evidence import Commit
from glacierbase.model.names import name_parts
from glacierbase.sql import read
from glacierbase.sql.qualified import DEFAULT_CATALOG

# Operations that end with an instant. A change of properties, a rename of the table or a comment writes none.
_WRITES_INSTANT = frozenset(
    {"insert", "insert_overwrite", "update", "delete", "merge", "add_column", "drop_column", "rename_column"}
    | {"alter_column_type"}
)
# Hudi writes times of the time zone of its JVM: `hoodie.table.timeline.timezone` is LOCAL by default.
_ZONE = "SELECT java_method('java.time.ZoneId', 'systemDefault')"
# The newest commits of a table, newest first.
COMMITS = "CALL show_commits(table => {}, limit => 1000)"
_FORMAT = "%Y%m%d%H%M%S%f"


def instants(session: Session, table: str, sql: str) -> Iterator[Commit]:
    """Yield the completed instants of a Hudi table; none for another table, and for a statement that writes no instant.

    Args:
        table: its name, as the history records names.
        sql: the statement whose outcome is not recorded.
    """
    parts = name_parts(table)
    parts = parts[1:] if parts[0] == DEFAULT_CATALOG else parts
    if len(parts) > 2 or read(sql, "spark").operation not in _WRITES_INSTANT:
        return
    # A refused CALL has no effect here: the procedure only reads.
    with suppress(StatementRefused, OutcomeUnknown):
        rows = session.query(COMMITS.format(literal(".".join(parts))))
        zone = ZoneInfo(str(session.query(_ZONE)[0][0])) if rows else timezone.utc
        for instant, completed, action, *_ in rows:
            at = datetime.strptime(str(completed), _FORMAT).replace(tzinfo=zone).astimezone(timezone.utc)
            yield Commit(table, at, f"{action} instant {instant}")
