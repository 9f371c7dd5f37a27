"""The instants of a Hudi table's timeline, by rows that Hudi 1.2.0 returned."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from glacierbase.errors import OutcomeUnknown, StatementRefused
from glacierbase.executors import InFlight, Row
from glacierbase.executors.spark.evidence import assess
from glacierbase.executors.spark.hudi import instants

INSERT = "INSERT INTO events VALUES (1, 'one')"
ROWS: list[Row] = [
    ("20261124171146786", "20261124171148518", "commit", 434547, 0, 1, 1, 1, 1, 0),
    ("20261124171145311", "20261124171145842", "commit", 0, 0, 0, 0, 0, 0, 0),
]
NEWEST = datetime(2026, 11, 24, 15, 11, 48, 518000, tzinfo=timezone.utc)


class Timeline:
    """A session on a JVM in the time zone of Helsinki."""

    def __init__(self, rows: list[Row], error: Exception | None = None) -> None:
        self.rows = rows
        self.error = error
        self.queries: list[str] = []

    def query(self, sql: str) -> list[Row]:
        self.queries.append(sql)
        if self.error:
            raise self.error
        return self.rows if sql.startswith("CALL") else [("Europe/Helsinki",)]


def found(timeline: Timeline, table: str = "events", sql: str = INSERT) -> list[tuple[datetime, str]]:
    return [(commit.at, commit.what) for commit in instants(timeline, table, sql)]  # type: ignore[arg-type]


def test_an_instant_has_the_time_of_its_completion_in_the_time_zone_of_the_jvm() -> None:
    """Hudi writes local times without a zone."""
    assert found(Timeline(ROWS))[0] == (NEWEST, "commit instant 20261124171146786")
    assert len(found(Timeline(ROWS))) == 2


@pytest.mark.parametrize("table", ["events", "web.events", "spark_catalog.web.events"])
def test_hudi_gets_the_name_without_the_catalog(table: str) -> None:
    """Hudi refuses a name of three parts."""
    timeline = Timeline(ROWS)
    assert found(timeline, table)
    assert timeline.queries[0].startswith(f"CALL show_commits(table => '{table.removeprefix('spark_catalog.')}'")


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE events SET TBLPROPERTIES ('x' = '1')",
        "ALTER TABLE events RENAME TO others",
        "ALTER TABLE events ALTER COLUMN a COMMENT 'x'",
        "DROP TABLE events",
    ],
)
def test_a_statement_that_writes_no_instant_has_no_evidence(sql: str) -> None:
    """A timeline without a newer instant would suggest that such a statement did not take effect."""
    timeline = Timeline(ROWS)
    assert (found(timeline, sql=sql), timeline.queries) == ([], [])


@pytest.mark.parametrize("error", [StatementRefused("X", "no such procedure"), OutcomeUnknown("X", "lost")])
def test_a_table_of_another_format_has_no_instants(error: Exception) -> None:
    """Spark without Hudi refuses the procedure."""
    assert found(Timeline(ROWS, error)) == []
    assert found(Timeline(ROWS), "lake.web.events") == []


@pytest.mark.parametrize(("seconds", "took_effect"), [(1, False), (-1, None)])
def test_only_a_timeline_without_a_new_instant_suggests_anything(seconds: int, took_effect: bool | None) -> None:
    """An instant names no application: a new one may be that of another writer."""
    statement = InFlight(("events",), NEWEST + timedelta(seconds=seconds), "tag", INSERT, "local-1")
    assert assess(list(instants(Timeline(ROWS), "events", INSERT)), statement).took_effect is took_effect  # type: ignore[arg-type]
