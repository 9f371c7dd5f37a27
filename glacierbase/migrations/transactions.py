"""Explicit transactions: statements that take effect together, and so are one step of a migration.

A step is announced, run and recorded as a whole. Between BEGIN and COMMIT nothing is true yet that a history could say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from glacierbase.errors import MigrationFileError
from glacierbase.model.migration import Statement

Step = tuple[Statement, ...]

# Each way to go on begins with another character, so that there is one way to read a text, however long.
_COMMENTS = r"(?:\s|(?:--|//)[^\r\n]*(?:[\r\n]|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*"


@dataclass(frozen=True)
class _Words:
    """How a dialect speaks of transactions.

    Attributes:
        begins, ends: what a whole statement reads that opens one, or closes it.
        joins: what a statement begins with that takes part in one instead of committing it first.
    """

    begins: re.Pattern[str]
    ends: re.Pattern[str]
    joins: re.Pattern[str]


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?is)(?:{words}){_COMMENTS}\Z")


_WORDS: Mapping[str, _Words] = {
    # https://docs.snowflake.com/en/sql-reference/transactions: each DDL statement commits the open transaction.
    "snowflake": _Words(
        begins=_whole(r"(?:BEGIN(?:\s+(?:TRANSACTION|WORK))?|START\s+TRANSACTION)(?:\s+NAME\s+[\w$]+)?"),
        ends=_whole(r"(?:COMMIT|ROLLBACK)(?:\s+WORK)?"),
        joins=re.compile(r"(?i)(?:INSERT|UPDATE|DELETE|MERGE|SELECT|WITH|SET|UNSET)\b"),
    )
}


def steps(statements: Iterable[Statement], dialect: str) -> tuple[Step, ...]:
    """The statements, those of one transaction together.

    Raises:
        MigrationFileError: `TRANSACTION_NOT_ENDED`, or `TRANSACTION_BROKEN` by a statement that the engine commits before.
            `data` holds `line` and `column`.
    """
    words = _WORDS.get(dialect)
    if words is None:
        return tuple((statement,) for statement in statements)
    return tuple(_steps(statements, words))


def _steps(statements: Iterable[Statement], words: _Words) -> Iterator[Step]:
    together: list[Statement] = []
    for statement in statements:
        if together:
            together.append(statement)
            if words.ends.match(statement.text):
                yield tuple(together)
                together = []
            elif not words.joins.match(statement.text):
                raise _error(
                    statement,
                    "TRANSACTION_BROKEN",
                    f"this statement ends the transaction of line {together[0].line} before it runs",
                    "write COMMIT before it, or move it out of the transaction: only INSERT, UPDATE, DELETE, MERGE and"
                    " questions take part in one",
                )
        elif words.begins.match(statement.text):
            together = [statement]
        else:
            yield (statement,)
    if together:
        raise _error(
            together[0],
            "TRANSACTION_NOT_ENDED",
            "the transaction that begins here is never ended: nothing of it would stay",
            "write COMMIT behind its last statement; a scripting block needs its END",
        )


def _error(statement: Statement, code: str, what: str, hint: str) -> MigrationFileError:
    message = f"line {statement.line}, column {statement.column}: {what}"
    return MigrationFileError(code, message, hint, line=statement.line, column=statement.column)
