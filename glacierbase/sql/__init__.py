"""What a SQL statement does: its operation, the tables that it changes and reads, its clauses.

    from glacierbase.sql import read

    statement = read("ALTER TABLE lake.a.t ADD COLUMN b INT", "spark")
    statement.operation, statement.tables   # ("add_column", ("lake.a.t",))

A grammar of glacierbase reads the tokens of the engine's lexer (`dialects`, `tokens`, `cursor`); no SQL is rendered from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glacierbase.sql.statement import ParsedStatement


def read(sql: str, dialect: str) -> ParsedStatement:
    """Return what one statement does. Never raises for the text of a statement: what is not understood says so.

    Args:
        sql: one rendered statement, with or without a semicolon after it.
        dialect: `"spark"` or `"snowflake"`.

    Raises:
        ConfigurationError: `UNKNOWN_DIALECT`.
    """
    from glacierbase.sql.reading import read_statement

    return read_statement(sql, dialect)
