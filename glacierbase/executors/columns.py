"""Read the columns of a table through a session of its engine."""

from __future__ import annotations

from glacierbase.executors import Session

# Spark cuts the type of a struct with more fields than that.
_WHOLE_TYPES = "SET spark.sql.debug.maxToStringFields=1000000"


def described_columns(session: Session, dialect: str, table: str) -> list[tuple[str, str]]:
    """Return name and type of each column, in order, as the engine spells them.

    `DESCRIBE TABLE` lists them in both engines; Spark's partitioning follows after an empty name or one that begins with `#`.
    https://spark.apache.org/docs/latest/sql-ref-syntax-aux-describe-table.html,
    https://docs.snowflake.com/en/sql-reference/sql/desc-table

    Args:
        table: its name as written in SQL.

    Raises:
        EngineError: the engine does not describe it.
    """
    if dialect == "spark":
        session.execute(_WHOLE_TYPES)
    found: list[tuple[str, str]] = []
    for row in session.query(f"DESCRIBE TABLE {table}"):
        if not row[0] or str(row[0]).startswith("# "):
            break
        found.append((str(row[0]), str(row[1])))
    return found
