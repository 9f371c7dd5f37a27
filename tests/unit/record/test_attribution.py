"""Whose change a part of a table is, by what statements say of it: the parts that no real table of the fakes has."""

from __future__ import annotations

import pytest

from glacierbase.model.differences import compare
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.record.about import StatementChanges
from glacierbase.record.attribution import made_before_baseline, made_meanwhile, with_only
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import differ
from glacierbase.sql import read

BEFORE = Shape(
    "lake.a.t", "u", "iceberg", 2, (Column(1, "id", "bigint"), Column(2, "s", "struct<x:int>"), Column(3, "s.x", "int"))
)
T = "ALTER TABLE lake.a.t"


def after(**more: object) -> Shape:
    values = {name: getattr(BEFORE, name) for name in Shape.__slots__}
    return Shape(**{**values, **more})


def column(added: Column) -> Shape:
    return after(columns=(*BEFORE.columns, added))


def claims(*statements: str) -> StatementChanges:
    return StatementChanges([read(each, "spark") for each in statements], "spark")


BUCKET = (PartitionField(1000, "id_bucket", "id", "bucket[4]"),)
ORDER = (SortField("id", "identity", "desc", "last"),)
OWN = [
    (f"{T} ADD COLUMN c VARCHAR(10)", column(Column(4, "c", "string"))),
    (f"{T} ADD COLUMN C INT COMMENT 'x'", column(Column(4, "c", "int", comment="x"))),
    (f"{T} ADD COLUMN s.y INT", column(Column(4, "s.y", "int"))),
    (f"{T} ADD PARTITION FIELD bucket(4, id)", after(partitioning=BUCKET)),
    (f"{T} ADD PARTITION FIELD days(id)", after(partitioning=(PartitionField(1000, "id_day", "id", "day"),))),
    (f"{T} WRITE ORDERED BY id DESC", after(sorting=ORDER, properties={"write.distribution-mode": "range"})),
    (f"{T} SET IDENTIFIER FIELDS id", after(identifiers=("id",))),
    (f"{T} SET TBLPROPERTIES ('k'='v')", after(properties={"k": "v"})),
    (f"{T} SET TBLPROPERTIES ('format-version'='3')", after(format_version=3)),
    ("COMMENT ON TABLE lake.a.t IS 'x'", after(properties={"comment": "x"})),
    (f"{T} ALTER COLUMN s.x TYPE BIGINT", after(columns=(*BEFORE.columns[:2], Column(3, "s.x", "bigint")))),
    (f"{T} ALTER COLUMN id FIRST", after(columns=(*BEFORE.columns[1:], BEFORE.columns[0]))),
    (f"{T} RENAME TO a.u", after(table="lake.a.u")),
    ("CALL lake.system.unheard_of('a.t')", column(Column(4, "c", "string"))),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "shape"), OWN)
def test_what_a_statement_is_about_is_its_own(sql: str, shape: Shape) -> None:
    """Types, transforms and orders are compared as the table stores them. What a call may change is not told from outside."""
    assert differ(BEFORE, shape)
    assert made_meanwhile(BEFORE, shape, claims(sql), None) == ()


@pytest.mark.parametrize(("sql", "shape"), OWN[:-1])
def test_what_no_statement_is_about_came_from_another_client(sql: str, shape: Shape) -> None:
    """A part is attributed to another client whatever the file changes besides, and whatever part it is."""
    for other in ("INSERT INTO lake.a.t SELECT 1", f"{T} SET TBLPROPERTIES ('other'='1')", f"{T} DROP COLUMN zz"):
        [step] = made_meanwhile(BEFORE, shape, claims(other), None)
        assert (step.origin, step.shape) == (ChangeOrigin.DURING, shape), sql


@pytest.mark.parametrize(("sql", "shape"), OWN[:-2])
def test_two_changes_are_told_apart(sql: str, shape: Shape) -> None:
    """The step between has that of the other client only, so that the last one is that of the file."""
    theirs = Column(9, "theirs", "int")
    both = Shape(**{name: getattr(shape, name) for name in Shape.__slots__} | {"columns": (*shape.columns, theirs)})
    [step] = made_meanwhile(BEFORE, both, claims(sql), None)
    assert step.shape
    [change] = compare({"lake.a.t": BEFORE}, {"lake.a.t": step.shape})
    assert [each.line() for each in change.diff] == ["+ column theirs: int"]
    [own] = compare({"lake.a.t": step.shape}, {"lake.a.t": both})
    assert "column theirs" not in [each.subject for each in own.diff]


def test_a_part_of_a_baseline_is_that_of_the_last_file_about_it() -> None:
    """A property with another value than the file sets was found, and so was what no file names."""
    shape = after(
        columns=(Column(1, "key", "bigint", comment="x"), Column(2, "b", "int"), Column(3, "legacy", "int")),
        properties={"k": "9", "named": "1", "write.parquet.compression-codec": "zstd"}, partitioning=BUCKET,
    )  # fmt: skip
    texts = {
        "1": ["CREATE TABLE lake.a.t (id BIGINT, b INT) USING iceberg TBLPROPERTIES ('k'='1')"],
        "2": [f"{T} RENAME COLUMN id TO key", f"{T} SET TBLPROPERTIES ('named'='1')"],
        "3": [f"{T} ALTER COLUMN b COMMENT 'y'"],
    }
    every = [read(each, "spark") for statements in texts.values() for each in statements]
    files = [
        (version, StatementChanges([read(each, "spark") for each in found], "spark", every))
        for version, found in texts.items()
    ]
    before: Shape | None = None
    found: list[tuple[str, str | None, list[str]]] = []
    for step in made_before_baseline(None, shape, files):
        assert step.shape
        pair = ({before.table: before} if before else {}, {step.shape.table: step.shape})
        found.append(
            (str(step.origin), step.version, [each.subject for change in compare(*pair) for each in change.diff])
        )
        before = step.shape
    assert before == shape
    assert found == [
        ("migration", "1", ["format version"]),
        ("baseline", None, ["column legacy", "partitioning", "property k", "property write.parquet.compression-codec"]),
        ("migration", "2", ["column key", "property named"]),
        ("migration", "3", ["column b"]),
    ]


def test_nothing_kept_is_the_shape_before() -> None:
    """With all of them, the result is the shape after, whatever differs."""
    for _, shape in OWN:
        [change] = compare({"lake.a.t": BEFORE}, {shape.table: shape})
        assert not differ(with_only(BEFORE, shape, ()), BEFORE)
        assert not differ(with_only(BEFORE, shape, change.diff), shape)


def test_a_replaced_table_has_nothing_of_the_one_before_by_another_client() -> None:
    """What its statement leaves out is gone; a column that it does not list was added by somebody else."""
    replaced = "CREATE OR REPLACE TABLE lake.a.t (id STRING) USING iceberg"
    was = after(partitioning=BUCKET, sorting=ORDER, identifiers=("id",))
    now = after(columns=(Column(1, "id", "string"),))
    assert made_meanwhile(was, now, claims(replaced), None) == ()
    [step] = made_meanwhile(was, after(columns=(*now.columns, Column(4, "x", "int"))), claims(replaced), None)
    assert step.shape
    assert [each.name for each in step.shape.columns] == ["id", "x", "s", "s.x"]


def test_a_new_table_is_from_the_statement_that_creates_it() -> None:
    """Where no statement creates a table, another client has made it."""
    other = after(uuid="v", columns=(Column(1, "a", "int"),))
    own = ("DROP TABLE lake.a.t", "CREATE TABLE lake.a.t (a INT) USING iceberg")
    assert made_meanwhile(None, other, claims(*own), None) == ()
    assert [
        (each.origin, each.shape) for each in made_meanwhile(None, other, claims(f"{T} ADD COLUMN a INT"), None)
    ] == [(ChangeOrigin.DURING, other)]
