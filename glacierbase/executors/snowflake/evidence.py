"""Evidence of a statement's outcome in Snowflake's query history. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from glacierbase.executors import Evidence, Row
from glacierbase.executors.snowflake.errors import is_atomic

# The states of a statement that has ended.
ENDED = frozenset({"SUCCESS", "FAILED_WITH_ERROR", "FAILED_WITH_INCIDENT"})
# Those that prove the outcome; FAILED_WITH_INCIDENT is an internal error of Snowflake.
_PROVES = frozenset({"SUCCESS", "FAILED_WITH_ERROR"})


def assess(rows: Sequence[Row], sql: str) -> Evidence:
    """Return what the queries with a statement's tag show.

    Args:
        rows: id, status and error of each query.
        sql: the statement.
    """
    found = tuple(f"query {query_id}: {status}{f', {error}' if error else ''}" for query_id, status, error in rows)
    states = {status for _, status, _ in rows}
    if not states or not states <= ENDED:
        return Evidence(found, has_ended=False if rows else None)
    if not is_atomic(sql):  # A failed script may have had effects, and its parts may have its tag.
        return Evidence(found, True if states == {"SUCCESS"} else None, has_ended=True)
    return Evidence(found, "SUCCESS" in states, has_ended=True, is_proof=len(rows) == 1 and states <= _PROVES)
