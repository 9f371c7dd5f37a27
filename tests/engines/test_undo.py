"""The statements that `review` names to undo a change, run on a real Iceberg table."""

from __future__ import annotations

from typing import Any

import pytest

from glacierbase.capabilities.review.cost import effects_of
from tests.support.beds import LakeBed
from tests.support.rules import file_of

CREATE = "CREATE TABLE lake.undone.t (id BIGINT, kind STRING) USING iceberg TBLPROPERTIES ('k'='1')"
FACTS = {"formats": {"lake": "iceberg"}, "default_catalog": "lake"}


@pytest.fixture
def undone(lake: LakeBed) -> LakeBed:
    """A table with two rows and a tag."""
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.undone")
    lake.spark.sql("DROP TABLE IF EXISTS lake.undone.t")
    lake.spark.sql(CREATE)
    lake.spark.sql("INSERT INTO lake.undone.t VALUES (1, 'a'), (2, 'b')")
    lake.spark.sql("ALTER TABLE lake.undone.t CREATE TAG kept")
    return lake


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM lake.undone.t WHERE id = 1",
        "UPDATE lake.undone.t SET kind = 'c'",
        "TRUNCATE TABLE lake.undone.t",
        "INSERT OVERWRITE lake.undone.t VALUES (3, 'c')",
        "CREATE OR REPLACE TABLE lake.undone.t (id BIGINT, kind STRING) USING iceberg",
        "CALL lake.system.rewrite_data_files(table => 'undone.t', options => map('rewrite-all', 'true'))",
        "ALTER TABLE lake.undone.t SET TBLPROPERTIES ('k'='2', 'n'='3')",
        "ALTER TABLE lake.undone.t ADD COLUMN x INT",
        "ALTER TABLE lake.undone.t RENAME COLUMN kind TO sort",
        "ALTER TABLE lake.undone.t DROP TAG kept",
        "ALTER TABLE lake.undone.t DROP COLUMN kind",
    ],
)
def test_what_review_names_undoes_the_statement(sql: str, undone: LakeBed) -> None:
    """Rows, columns, properties and refs are those before; a dropped column is read, and not brought back."""
    before, [snapshot] = state(undone), snapshots(undone)
    undone.spark.sql(sql)
    *_, effect = effects_of(file_of(f"{CREATE};\n{sql}", "spark", FACTS)).values()
    undo = effect.undo
    assert undo is not None
    assert undo.sql is not None
    for statement in undo.sql.replace("<snapshot before>", snapshot).replace("<its snapshot>", snapshot).split("; "):
        answer = undone.rows(statement)
    if statement.startswith("SELECT"):
        assert sorted(map(tuple, answer)) == before[0]
        return
    # A replaced table keeps its properties as the new one has them.
    compared = slice(0, 2) if "REPLACE" in sql else slice(None)
    assert state(undone)[compared] == before[compared]


def state(lake: LakeBed) -> tuple[Any, ...]:
    """Return the rows, the columns, the property `k` and what begins with `n`, and the names of the refs."""
    properties = [tuple(row) for row in lake.rows("SHOW TBLPROPERTIES lake.undone.t") if row[0] in ("k", "n")]
    return (
        sorted(map(tuple, lake.rows("SELECT * FROM lake.undone.t"))),
        [tuple(row) for row in lake.rows("DESCRIBE TABLE lake.undone.t")],
        properties,
        sorted(row[0] for row in lake.rows("SELECT name FROM lake.undone.t.refs")),
    )


def snapshots(lake: LakeBed) -> list[str]:
    return [str(row[0]) for row in lake.rows("SELECT snapshot_id FROM lake.undone.t.snapshots")]
