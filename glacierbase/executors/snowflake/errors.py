"""Map the connector's exceptions to engine errors: the message, and whether it proves that the statement had no effect.

The connector's exception classes differ between versions 4 and 5; error number and SQL state come from the server.
"""

from __future__ import annotations

import re
from typing import Any

from glacierbase.errors import EngineError, MigrationFileError, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.sql.tokens import words

# Statements that take effect as a whole or not at all: https://docs.snowflake.com/en/sql-reference/transactions. A script, a
# procedure, a task and file operations are several steps, and CREATE OR ALTER is not atomic:
# https://docs.snowflake.com/en/sql-reference/sql/create-table#create-or-alter-table-usage-notes
_ATOMIC = re.compile(
    r"(?:\( )*(?:SELECT|VALUES|WITH|INSERT|UPDATE|DELETE|MERGE|TRUNCATE|COPY INTO(?! [@'])|CREATE(?! OR ALTER)|ALTER|DROP"
    r"|UNDROP|COMMENT|GRANT|REVOKE|SHOW|DESC|DESCRIBE|EXPLAIN|LIST|LS|USE|SET|UNSET|COMMIT|ROLLBACK)(?= |\Z)(?! :)"
)
# An anonymous procedure, and the operator that chains statements:
# https://docs.snowflake.com/en/sql-reference/sql/call-with, https://docs.snowflake.com/en/sql-reference/operators-flow
_SEVERAL = re.compile(r"\AWITH .*\bPROCEDURE\b| - > >")
_INSIDE = re.compile(r"(?i)uncaught exception|stored? procedure")

# SQLSTATE classes of a wrong statement, wrong data or a missing right; 57P03 is a session without a warehouse.
_REFUSED_SQLSTATE = re.compile(r"(?:02|0A|21|22|23|42)...|57P03")
_LOCK_TIMEOUT = 625
_SYNTAX = 1003
_NOT_FOUND = (2003, 2043)

_NOISE = re.compile(r"\A(?:\d{6} \(\w{5}\): )+| \(request_id=[0-9a-f-]+\)\Z")


def map_error(error: BaseException, sql: str) -> EngineError:
    """Return the engine error for what `sql` raised: `StatementRefused` only where it proves that `sql` had no effect."""
    number, state = getattr(error, "errno", None), _state(error)
    name = f"{number:06d} ({state})" if isinstance(number, int) and state else type(error).__name__
    query_id = getattr(error, "sfqid", None)
    return _kind(number, state, error_text(error), sql)(name, error_text(error), query_id)


def error_text(error: BaseException) -> str:
    """Return the message without error number, SQL state and request id."""
    text = str(getattr(error, "msg", None) or error).strip()
    return _NOISE.sub("", text).strip() or type(error).__name__


def _state(error: BaseException) -> str | None:
    state: Any = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == 5 else None


def _kind(number: Any, state: str | None, message: str, sql: str) -> type[EngineError]:
    if state is None:
        return OutcomeUnknown
    # No part of a script ran only if the script itself could not be parsed.
    if not is_atomic(sql) and (number != _SYNTAX or _INSIDE.search(message)):
        return OutcomeUnknown
    if number in _NOT_FOUND:
        return TableNotFound
    refused = number == _LOCK_TIMEOUT or _REFUSED_SQLSTATE.fullmatch(state)
    return StatementRefused if refused else OutcomeUnknown


def is_atomic(sql: str) -> bool:
    """Return whether the statement is known to take effect as a whole or not at all."""
    try:
        text = " ".join(words(sql, "snowflake"))
    except MigrationFileError:
        return False
    return _ATOMIC.match(text) is not None and not _SEVERAL.search(text)
