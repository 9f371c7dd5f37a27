"""Tables of a format without ids: what the record says when statements rename them, or make them anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.errors import MigrationFailed
from glacierbase.history.records import fold
from glacierbase.migrations.statements import split_statements
from glacierbase.model.shape import Shape
from glacierbase.record.table_records import TableIds, origins
from glacierbase.record.timeline import timelines
from glacierbase.sql.file import named
from tests.support.world import World

CREATE = "CREATE TABLE t (a INT)"
SHAPE = Shape("DEMO.S.T", None, "snowflake", None, ())


def told(world: World) -> list[list[tuple[str | None, str]]]:
    """Return version, name and columns at each moment, by table."""
    return [
        [
            (
                each.event.version,
                f"{each.shape.table[-1]} {''.join(column.name for column in each.shape.columns)}"
                if each.shape
                else "-",
            )
            for each in found.moments
        ]
        for found in timelines(fold(world.events))
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE t RENAME TO u", {"u": "t"}),
        ("ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO v", {"v": "t"}),
        ("ALTER TABLE t RENAME TO x; ALTER TABLE u RENAME TO t; ALTER TABLE x RENAME TO u", {"t": "u", "u": "t"}),
        (f"ALTER TABLE t RENAME TO u; {CREATE}", {"u": "t", "t": None}),
        (f"{CREATE}; ALTER TABLE t RENAME TO u", {"u": None}),
        (f"DROP TABLE t; {CREATE}", {"t": None}),
        ("DROP TABLE t; CREATE TABLE IF NOT EXISTS t (a INT)", {"t": None}),
        ("CREATE TABLE IF NOT EXISTS t (a INT); CREATE OR ALTER TABLE u (a INT)", {}),
        ("CREATE OR REPLACE TABLE t (a INT)", {"t": None}),
        ("ALTER VIEW t RENAME TO u; ALTER TABLE t ADD COLUMN b INT; INSERT INTO t VALUES (1); FROBNICATE t", {}),
    ],
)
def test_statements_say_what_became_of_a_table(sql: str, expected: dict[str, str | None]) -> None:
    """A name is that of another table after a rename, and of a new one after it was dropped, created or replaced."""
    assert origins(named(split_statements(sql, "snowflake"), "snowflake")) == expected


def test_a_renamed_table_is_the_same_and_one_made_anew_is_not(world: World) -> None:
    """A renamed table keeps its id, and a table made anew gets another, also if one file drops and creates it."""
    world.file("1_a.sql", CREATE)
    world.file("2_b.sql", f"ALTER TABLE t RENAME TO u; {CREATE}")
    world.file("3_c.sql", "DROP TABLE t; CREATE TABLE t (a INT, z INT)")
    world.file("4_d.sql", "ALTER TABLE t ADD COLUMN y INT; ALTER TABLE u ADD COLUMN b INT")
    world.migrate()
    assert told(world) == [
        [("1", "t a"), ("2", "u a"), ("4", "u ab")],
        [("2", "t a"), ("3", "-")],
        [("3", "t az"), ("4", "t azy")],
    ]


def test_only_statements_that_ran_count(world: World) -> None:
    """The rename of a file that failed before it is no rename; the next run makes it one, from the statement that failed."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.file("2_b.sql", "ALTER TABLE t ADD COLUMN b INT; INSERT INTO missing VALUES (1); ALTER TABLE t RENAME TO u")
    with pytest.raises(MigrationFailed):
        world.migrate()
    assert told(world) == [[("1", "t a"), ("2", "t ab")]]
    world.engine.rows("CREATE TABLE missing (a INT)")
    world.migrate()
    assert told(world)[0] == [("1", "t a"), ("2", "t ab"), ("2", "u ab")]
    world.file("3_c.sql", f"{CREATE}; INSERT INTO gone VALUES (1); DROP TABLE t")
    with pytest.raises(MigrationFailed):
        world.migrate()
    assert told(world)[-1] == [("3", "t a")]


def test_a_table_changed_by_hand_keeps_its_id(world: World) -> None:
    """Without a statement of a file its name is all that tells."""
    world.file("1_a.sql", CREATE)
    world.migrate()
    world.engine.rows("ALTER TABLE t ADD COLUMN x INT")
    world.file("2_b.sql", "ALTER TABLE t ADD COLUMN b INT")
    world.migrate()
    assert told(world) == [[("1", "t a"), ("2", "t ax"), ("2", "t axb")]]


def test_a_table_that_is_recorded_without_an_id_gets_none() -> None:
    """A history of a former version goes on by name; a table of Iceberg that was read without its metadata, too."""
    known = {"t": SHAPE, "i": replace(SHAPE, format="iceberg")}
    ids = TableIds(known, {})
    assert ids.before("t", SHAPE) == ids.after("t", SHAPE) == SHAPE
    iceberg = replace(SHAPE, format="iceberg")
    assert ids.after("i", iceberg) == iceberg
    new = TableIds(known, {"t": None}).after("t", SHAPE)
    assert new
    assert new.uuid


def test_a_table_of_another_format_under_the_name_is_another_one() -> None:
    """The id of a table of Delta is not that of a table of Hudi which has its name now."""
    delta = Shape("t", "u-1", "delta", 2, ())
    found = TableIds({"t": delta}, {}).after("t", replace(delta, uuid=None, format="hudi"))
    assert found
    assert found.uuid not in (None, "u-1")
