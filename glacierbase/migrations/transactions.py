"""Explicit transactions: statements that take effect together, and are one step of a migration.

A step is run and recorded as a whole, because a statement between BEGIN and COMMIT has no effect yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from glacierbase.errors import MigrationFileError
from glacierbase.model.migration import Statement
from glacierbase.sql.dialects import SNOWFLAKE

Step = tuple[Statement, ...]

# Each alternative begins with a different character, so that matching takes linear time.
_COMMENTS = r"(?:\s|(?:--|//)[^\r\n]*(?:[\r\n]|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*"


@dataclass(frozen=True)
class _TransactionSyntax:
    """The statements of a dialect that concern transactions.

    Attributes:
        begins, ends: pattern of a whole statement that opens or closes one.
        joins: pattern of the start of a statement that takes part in one; any other commits it first.
    """

    begins: re.Pattern[str]
    ends: re.Pattern[str]
    joins: re.Pattern[str]


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?is)(?:{words}){_COMMENTS}\Z")


_SYNTAX: Mapping[str, _TransactionSyntax] = {
    # https://docs.snowflake.com/en/sql-reference/transactions: each DDL statement commits the open transaction.
    SNOWFLAKE.name: _TransactionSyntax(
        begins=_whole(r"(?:BEGIN(?:\s+(?:TRANSACTION|WORK))?|START\s+TRANSACTION)(?:\s+NAME\s+[\w$]+)?"),
        ends=_whole(r"(?:COMMIT|ROLLBACK)(?:\s+WORK)?"),
        joins=re.compile(r"(?i)(?:INSERT|UPDATE|DELETE|MERGE|SELECT|WITH|SET|UNSET)\b"),
    )
}


def steps(statements: Iterable[Statement], dialect: str) -> tuple[Step, ...]:
    """Return the statements as steps; those of one transaction are one step.

    Raises:
        MigrationFileError: `TRANSACTION_NOT_ENDED`, or `TRANSACTION_BROKEN`: a statement commits the transaction before it runs.
            `data` holds `line` and `column`.
    """
    syntax = _SYNTAX.get(dialect)
    if syntax is None:
        return tuple((statement,) for statement in statements)
    return tuple(_steps(statements, syntax))


def _steps(statements: Iterable[Statement], syntax: _TransactionSyntax) -> Iterator[Step]:
    together: list[Statement] = []
    for statement in statements:
        if together:
            together.append(statement)
            if syntax.ends.match(statement.text):
                yield tuple(together)
                together = []
            elif not syntax.joins.match(statement.text):
                raise _broken(together[0], statement)
        elif syntax.begins.match(statement.text):
            together = [statement]
        else:
            yield (statement,)
    if together:
        raise _not_ended(together[0])


def _broken(begin: Statement, statement: Statement) -> MigrationFileError:
    return _error(
        statement,
        "TRANSACTION_BROKEN",
        f"this statement commits the transaction of line {begin.line} before it runs",
        "write COMMIT before it, or move it out of the transaction: only INSERT, UPDATE, DELETE, MERGE and queries take"
        " part in one",
    )


def _not_ended(begin: Statement) -> MigrationFileError:
    return _error(
        begin,
        "TRANSACTION_NOT_ENDED",
        "the transaction that begins here is never ended, so its statements would have no effect",
        "write COMMIT after its last statement; a scripting block needs its END",
    )


def _error(statement: Statement, code: str, what: str, hint: str) -> MigrationFileError:
    message = f"line {statement.line}, column {statement.column}: {what}"
    return MigrationFileError(code, message, hint, line=statement.line, column=statement.column)
