"""What Snowflake's query history says of a statement's outcome. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.executors import Evidence, Row
from glacierbase.executors.snowflake.errors import is_atomic

# What it says of a statement that runs no more.
ENDED = frozenset({"SUCCESS", "FAILED_WITH_ERROR", "FAILED_WITH_INCIDENT"})
# And then of what became of it; an incident is an error of Snowflake's own.
_PROVES = frozenset({"SUCCESS", "FAILED_WITH_ERROR"})


def assess(rows: Sequence[Row], sql: str) -> Evidence:
    """Return what the queries with a statement's tag show of it.

    Args:
        rows: id, status and error of each.
        sql: the statement.
    """
    found = tuple(f"query {query_id}: {status}{f', {error}' if error else ''}" for query_id, status, error in rows)
    states = {status for _, status, _ in rows}
    if not states or not states <= ENDED:
        return Evidence(found, has_ended=False if rows else None)
    if not is_atomic(sql):  # What a script had done before it failed stays, and its parts may carry its tag.
        return Evidence(found, True if states == {"SUCCESS"} else None, has_ended=True)
    return Evidence(found, "SUCCESS" in states, has_ended=True, is_proof=len(rows) == 1 and states <= _PROVES)
