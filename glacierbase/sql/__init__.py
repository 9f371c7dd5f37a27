"""What a SQL statement does: its operation, the tables that it changes and reads, its clauses.

    from glacierbase.sql import read

    statement = read("ALTER TABLE lake.a.t ADD COLUMN b INT", "spark")
    statement.operation, statement.tables   # ("add_column", ("lake.a.t",))

A grammar of glacierbase reads the tokens of the engine's lexer; no SQL is rendered from it.

From text to values:
- `dialects`, `tokens`: the lexical facts of each engine; words, strings and signs with their places.
- `kinds`, `heads`, `misread`: kinds of objects; the words that begin a statement; a missing semicolon, other tools' syntax, `${…}`.
- `operations`: the words for what a statement does, in groups.
- `statement`: the result as frozen values: operation, tables, clauses, effect on the session.
- `cursor`: the tokens of one statement, and the clauses that several statements share.
- `reading`: the grammar of a statement, chosen by its first words.
- `queries`, `changes`: SELECT; INSERT, UPDATE, DELETE, MERGE, COPY.
- `conditions`, `selects`: what the text of a condition decides for all rows; the columns and the end of a query.
- `create`, `alter`, `snowflake`: tables, views and columns; what only Snowflake has.
- `objects`: CREATE, ALTER, DROP and COMMENT ON by the kind of the object.
- `subjects`: the object that a statement of Snowflake names, of any kind.
- `maintenance`: OPTIMIZE, VACUUM and the like; CALL.
- `actions`: CALL of the procedures that glacierbase executes itself.
- `session`, `scripts`: USE, SET, SHOW, GRANT, transactions; BEGIN … END with the statements inside.

What follows from statements:
- `file`: the statements of a file, with the qualified names of the tables that they change.
- `qualified`: the qualified name of a table.
- `object_names`: the object that a CREATE or a DROP names.
- `targets`: the tables of statements as the history records them.
- `types`: column types as trees, and in one spelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glacierbase.sql.statement import ParsedStatement


def read(sql: str, dialect: str) -> ParsedStatement:
    """Return what one statement does. No text of a statement raises; a result may be marked as not understood.

    Args:
        sql: one rendered statement, with or without a semicolon after it.
        dialect: `"spark"`, `"snowflake"`, or one that a package adds.

    Raises:
        ConfigurationError: `UNKNOWN_DIALECT`.
    """
    from glacierbase.sql.reading import read_statement

    return read_statement(sql, dialect)
