"""The shapes of tables through the engine are those that PyIceberg reads."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest

from glacierbase.stores.live import TableShapes
from tests.support.beds import LakeBed


def test_a_table_of_iceberg_is_the_same_through_the_engine(lake: LakeBed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyIceberg cannot open the catalog, the engine names the metadata file, which has all ids."""
    table = f"lake.`s-{uuid.uuid4().hex[:8]}`.t"
    with closing(lake.executor.open_session()) as session, closing(TableShapes(lake.catalog)) as shapes:
        session.execute(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
        session.execute(
            f"CREATE TABLE {table} (id BIGINT NOT NULL COMMENT 'key', at TIMESTAMP, p STRUCT<a: INT>) USING iceberg"
            " PARTITIONED BY (bucket(4, id), days(at)) TBLPROPERTIES ('x'='y')"
        )
        session.execute(f"ALTER TABLE {table} WRITE ORDERED BY id")
        session.execute(f"ALTER TABLE {table} RENAME COLUMN at TO `at all`")
        wanted = shapes.read(table)
        assert wanted
        assert [column.id for column in wanted.columns] == [1, 2, 3, 4]
        assert shapes.read(table, session) == wanted
        monkeypatch.setattr(TableShapes, "needs_engine", lambda *_: True)
        assert shapes.read(table, session) == wanted
        described = session.shape(table)
        assert described
        assert [each.name for each in described.columns] == [each.name for each in wanted.columns]
        assert [(each.source, each.transform) for each in described.partitioning] == [
            (each.source, each.transform) for each in wanted.partitioning
        ]
        session.execute(f"DROP TABLE {table}")
        assert shapes.read(table, session) is None
