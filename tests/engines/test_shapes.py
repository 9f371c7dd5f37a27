"""The shapes of tables through the engine are those that PyIceberg reads; the keys of their files are as predicted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing

import pytest

from glacierbase.layout.facts import of_shape
from glacierbase.layout.murmur import base2_directories
from glacierbase.layout.template import SegmentKind
from glacierbase.layout.templates import key_template
from glacierbase.record.live import TableShapes
from tests.support.beds import LakeBed
from tests.support.layouts import ICEBERG, ICEBERG_MORE, ROW, check_keys, predicted


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


def test_the_predicted_template_is_the_path_of_the_files_of_iceberg(lake: LakeBed) -> None:
    """The five common layouts, declared and recorded; the bits are those of the hash."""
    check_layouts(lake, ICEBERG)


def test_the_predicted_template_is_the_path_of_the_files_in_rarer_layouts(lake: LakeBed) -> None:
    """Files outside of the table's location, tables without partitions, fields that are added later."""
    check_layouts(lake, ICEBERG_MORE)


def check_layouts(lake: LakeBed, layouts: Mapping[str, tuple[Sequence[str], str]]) -> None:
    """Write a file into a table of each layout, and compare its path with the template of the table."""
    namespace = f"k{uuid.uuid4().hex[:8]}"
    elsewhere = str(lake.catalog.file.parent.parent / "elsewhere")
    with closing(lake.executor.open_session()) as session, closing(TableShapes(lake.catalog)) as shapes:
        session.execute(f"CREATE NAMESPACE lake.{namespace}")
        for number, (statements, text) in enumerate(layouts.values()):
            table = f"lake.{namespace}.t{number}"
            made = [sql.replace("TABLE TABLE", f"TABLE {table}").replace("ELSEWHERE", elsewhere) for sql in statements]
            for statement in (*made, f"INSERT INTO {table} {ROW}"):
                session.execute(statement)
            shape = shapes.read(table)
            assert shape
            recorded = of_shape(shape, "1.12.0")
            assert recorded
            paths = [str(row[0]) for row in session.query(f"SELECT file_path FROM {table}.files")]
            location = f"{recorded.location}/"
            keys = [path.removeprefix(location).removeprefix("/") for path in paths]
            names = text.replace("ELSEWHERE", elsewhere.removeprefix("/")).replace("NAMES", f"{namespace}/t{number}")
            for template in (predicted(table, made, "iceberg", "1.12.0"), key_template(recorded)):
                check_keys(template, names, keys)
                if any(segment.kind is SegmentKind.HASHED for segment in template.segments):
                    check_bits(keys, template.text.count("bits}-"), f"{namespace}/t{number}/")


def check_bits(keys: Sequence[str], joined: int, context: str) -> None:
    """Check that the directories of the hash are those of the rest of the key, after the names of the table."""
    for key in keys:
        parts = key.split("/")
        first = next(number for number, part in enumerate(parts) if set(part) <= {"0", "1"})
        bits, rest = parts[first : first + 4], "/".join(parts[first + 4 :]).removeprefix(context)
        if joined:
            bits[3], _, rest = bits[3].partition("-")
        assert tuple(bits) == base2_directories(rest)
