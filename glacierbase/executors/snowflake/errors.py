"""The connector's exceptions, mapped once: what did the server say, and does it prove that nothing happened?

The connector's classes differ between its lines 4 and 5; number and SQL state are the server's own and do not.
"""

from __future__ import annotations

import re
from typing import Any

from glacierbase.errors import EngineError, OutcomeUnknown, StatementRefused, TableNotFound

# Each statement is atomic (https://docs.snowflake.com/en/sql-reference/transactions), but a script or a procedure is several.
_NOT_ATOMIC = re.compile(r"(?i)(?:begin|declare|call|execute)\b")
_INSIDE = re.compile(r"(?i)uncaught exception|stored procedure")

# SQLSTATE classes that name a wrong statement, wrong data or a missing right; 57P03 is a session without a warehouse.
_REFUSED_SQLSTATE = re.compile(r"(?:02|0A|21|22|23|42)...|57P03")
_LOCK_TIMEOUT = 625
_SYNTAX = re.compile(r"42...")
_NOT_FOUND = (2003, 2043)

_NOISE = re.compile(r"\A(?:\d{6} \(\w{5}\): )+| \(request_id=[0-9a-f-]+\)\Z")


def map_error(error: BaseException, sql: str) -> EngineError:
    """The engine error for what `sql` raised: `StatementRefused` only where the answer proves that it had no effect."""
    number, state = getattr(error, "errno", None), _state(error)
    name = f"{number:06d} ({state})" if isinstance(number, int) and state else type(error).__name__
    query_id = getattr(error, "sfqid", None)
    return _kind(number, state, error_text(error), sql)(name, error_text(error), query_id)


def error_text(error: BaseException) -> str:
    """The message without number, state and request, which stand elsewhere or help nobody."""
    text = str(getattr(error, "msg", None) or error).strip()
    return _NOISE.sub("", text).strip() or type(error).__name__


def _state(error: BaseException) -> str | None:
    state: Any = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == 5 else None


def _kind(number: Any, state: str | None, message: str, sql: str) -> type[EngineError]:
    if state is None:
        return OutcomeUnknown
    if _NOT_ATOMIC.match(sql) and not (_SYNTAX.fullmatch(state) and not _INSIDE.search(message)):
        return OutcomeUnknown
    if number in _NOT_FOUND:
        return TableNotFound
    refused = number == _LOCK_TIMEOUT or _REFUSED_SQLSTATE.fullmatch(state)
    return StatementRefused if refused else OutcomeUnknown
