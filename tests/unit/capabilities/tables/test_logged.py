"""A difference of a Snowflake table is attributed to a statement only if the statement is about the part that differs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from glacierbase.capabilities.tables.drift import statement_that_made
from glacierbase.executors.snowflake.shape import shape_of
from glacierbase.model.catalog import Catalog, StoreOptions
from glacierbase.model.migration import Event
from glacierbase.model.shape import LoggedStatement, Shape, StatementLog
from glacierbase.record.drift import drift_of
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import Moment, Timeline

TABLE = "DEMO.SALES.ORDERS"
NOW = datetime(2026, 11, 24, 12, tzinfo=timezone.utc)


def orders(**types: str) -> Shape:
    return shape_of(TABLE, [(name.upper(), kind, "COLUMN", "Y") for name, kind in types.items()])


CATALOG = Catalog(
    "warehouse", Path("warehouse.yaml"), "warehouse", "prod", False, "snowflake", "snowflake", {}, (),
    {"database": "DEMO"}, {}, False, StoreOptions("snowflake", "DEMO", "GLACIERBASE"),
)  # fmt: skip
BEFORE = orders(id="NUMBER(10,0)", a="VARCHAR(16777216)")


def made(
    subject: str, after: Shape | None, *statements: str, place: tuple[str, str] = ("DEMO", "SALES"), tag: str = ""
) -> str | None:
    """Return the text of the statement that made the difference of BEFORE; the statements are given oldest first."""
    whole = drift_of(BEFORE, after, is_certain=True)
    assert whole
    difference = next(one for one in whole.differences if one.subject == subject)
    log = [
        LoggedStatement(NOW + timedelta(hours=at), "ANN", "ALTER, query q", sql, *place, tag)
        for at, sql in enumerate(statements)
    ]
    event = Event(1, 1, "run-1", "warehouse", "prod", "applied", recorded_at=NOW)
    timeline = Timeline((Moment(BEFORE, event, ChangeOrigin.MIGRATION),))
    logged = statement_that_made(difference, whole, timeline, StatementLog(tuple(reversed(log))), CATALOG)
    return logged.sql if logged else None


ADDED = orders(id="NUMBER(10,0)", a="VARCHAR(16777216)", x="NUMBER(38,0)")
ADD = "ALTER TABLE ORDERS ADD COLUMN X INT"


def test_the_newest_statement_about_the_column_made_it() -> None:
    """Statements about other columns, and the drop of the same column, are older or about something else."""
    drop, other = "ALTER TABLE ORDERS DROP COLUMN X", "ALTER TABLE ORDERS ADD COLUMN Y INT"
    assert made("column X", ADDED, ADD, drop, f"{ADD} COMMENT 'again'", other) == f"{ADD} COMMENT 'again'"


@pytest.mark.parametrize(
    ("subject", "after", "sql"),
    [
        ("column A", orders(id="NUMBER(10,0)"), "ALTER TABLE DEMO.SALES.ORDERS DROP COLUMN A"),
        ("column B", orders(id="NUMBER(10,0)", b="VARCHAR(16777216)"), "alter table sales.orders rename column a to b"),
        ("type ID", orders(id="NUMBER(38,0)", a="VARCHAR(16777216)"), "ALTER TABLE ORDERS ALTER ID SET DATA TYPE INT"),
        ("column X", ADDED, "CREATE OR REPLACE TABLE ORDERS (ID NUMBER(10,0), A VARCHAR, X INT)"),
        (f"table {TABLE}", None, "DROP TABLE ORDERS"),
        (f"table {TABLE}", None, "ALTER TABLE ORDERS RENAME TO OLD_ORDERS"),
    ],
)
def test_a_statement_about_the_part_is_its_origin(subject: str, after: Shape | None, sql: str) -> None:
    """Names are completed by the database and the schema of the statement's session."""
    assert made(subject, after, sql) == sql


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE ORDERS ADD COLUMN Y INT",
        "ALTER TABLE ORDERS_OLD ADD COLUMN X INT",
        "ALTER TABLE OTHER.SALES.ORDERS ADD COLUMN X INT",
        "CALL EVOLVE('ORDERS', 'X')",
        "BEGIN ALTER TABLE ORDERS ADD COLUMN X INT; END",
        "ALTER TABLE ORDERS ADD COLUMN X VARCHAR DEFAULT 'cut her",
    ],
)
def test_a_statement_about_another_part_or_table_is_not(sql: str) -> None:
    """A statement whose effects its text does not show, or that the log cut, is no origin either."""
    assert made("column X", ADDED, sql) is None


def test_a_statement_in_another_schema_is_not() -> None:
    """The name without a schema is that of another table."""
    assert made("column X", ADDED, ADD, place=("DEMO", "STAGE")) is None


def test_the_statements_of_the_run_that_recorded_the_table_made_what_is_recorded() -> None:
    """The statements of other runs may have made the difference."""
    assert made("column X", ADDED, ADD, tag="glacierbase;run-1;0001;1") is None
    assert made("column X", ADDED, ADD, tag="glacierbase;run-2;0001;1") == ADD
