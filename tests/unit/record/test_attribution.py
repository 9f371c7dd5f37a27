"""Whose change a part of a table is, by what statements say of it: the parts that no real table of the fakes has."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from glacierbase.migrations.statements import split_statements
from glacierbase.model.differences import compare
from glacierbase.model.shape import Column, PartitionField, Past, Shape, SortField, Version
from glacierbase.record.attribution import commits, is_explained, made_before_baseline, made_meanwhile
from glacierbase.record.replay import TableStatement, statements_on
from glacierbase.record.timeline import differ
from glacierbase.sql.file import named

BEFORE = Shape(
    "lake.a.t", "u", "iceberg", 2, (Column(1, "id", "bigint"), Column(2, "s", "struct<x:int>"), Column(3, "s.x", "int"))
)
T = "ALTER TABLE lake.a.t"


def after(**more: object) -> Shape:
    values = {name: getattr(BEFORE, name) for name in Shape.__slots__}
    return Shape(**{**values, **more})


def column(added: Column) -> Shape:
    return after(columns=(*BEFORE.columns, added))


def replayed(*statements: str, table: str = "lake.a.t") -> list[TableStatement]:
    """Return what statements do to the table that has the name after them."""
    return statements_on(table, named(split_statements(";".join(statements), "spark"), "spark"))


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
    (f"{T} ALTER COLUMN id AFTER s", after(columns=(*BEFORE.columns[1:], BEFORE.columns[0]))),
    (f"{T} RENAME TO lake.a.u", after(table="lake.a.u")),
    ("CALL lake.system.unheard_of('a.t')", column(Column(4, "c", "string"))),
]  # fmt: skip


def meanwhile(before: Shape | None, after: Shape, *statements: str) -> list[tuple[str, list[str]]]:
    """Return the origin of each step that a record has, and the differences of the steps and of the last shape."""
    steps = made_meanwhile(before, after, replayed(*statements, table=after.table), None)
    shapes = [before, *(step.shape for step in steps)]
    return [(str(step.origin), lines(earlier, step.shape)) for earlier, step in zip(shapes, steps, strict=False)]


def lines(before: Shape | None, after: Shape | None) -> list[str]:
    return [
        difference.line()
        for change in compare(*({shape.table: shape} if shape else {} for shape in (before, after)))
        for difference in change.diff
    ]


@pytest.mark.parametrize(("sql", "shape"), OWN)
def test_what_a_statement_makes_is_its_own(sql: str, shape: Shape) -> None:
    """Types, transforms and orders are compared as the table stores them. What a call may change is not told from outside."""
    assert differ(BEFORE, shape)
    assert meanwhile(BEFORE, shape, sql) == []


@pytest.mark.parametrize(("sql", "shape"), OWN[:-2])
def test_what_no_statement_makes_came_from_another_client(sql: str, shape: Shape) -> None:
    """A part is attributed to another client whatever the file changes besides, and whatever part it is."""
    for other in ("INSERT INTO lake.a.t SELECT 1", f"{T} DROP COLUMN zz"):
        assert meanwhile(BEFORE, shape, other)[-1] == ("during", lines(BEFORE, shape)), sql


@pytest.mark.parametrize(("sql", "shape"), OWN[:-2])
def test_two_changes_are_told_apart(sql: str, shape: Shape) -> None:
    """The first step has what the statement makes, and the second one what another client did."""
    theirs = Column(9, "theirs", "int")
    both = Shape(**{name: getattr(shape, name) for name in Shape.__slots__} | {"columns": (*shape.columns, theirs)})
    assert meanwhile(BEFORE, both, sql) == [
        ("migration", lines(BEFORE, shape)), ("during", ["+ column theirs: int"]),
    ]  # fmt: skip


def test_names_are_those_of_the_table_before_each_statement() -> None:
    """A swap of two columns and a name that is given again are the file's."""
    swap = (f"{T} RENAME COLUMN id TO x", f"{T} RENAME COLUMN s TO id", f"{T} RENAME COLUMN x TO s")
    swapped = after(columns=(Column(1, "s", "bigint"), Column(2, "id", "struct<x:int>"), Column(3, "id.x", "int")))
    assert meanwhile(BEFORE, swapped, *swap) == []
    again = after(columns=(Column(1, "key", "bigint"), *BEFORE.columns[1:], Column(4, "id", "int")), sorting=ORDER)
    statements = (f"{T} RENAME COLUMN id TO key", f"{T} ADD COLUMN id INT", f"{T} WRITE LOCALLY ORDERED BY id DESC")
    assert meanwhile(BEFORE, again, *statements) == []


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
    every = {version: named(split_statements(";".join(texts[version]), "spark"), "spark") for version in texts}
    versions = {id(statement): version for version in every for statement in every[version]}
    on = statements_on("lake.a.t", [statement for statements in every.values() for statement in statements])
    files = [(version, [one for one in on if versions[id(one.statement)] == version]) for version in texts]
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
        ("migration", "1", ["column id", "column b", "property k", "format version"]),
        ("migration", "2", ["column", "property named"]),
        ("migration", "3", ["comment b"]),
        (
            "baseline",
            None,
            [
                "comment key",
                "comment b",
                "column legacy",
                "partitioning",
                "property k",
                "property write.parquet.compression-codec",
            ],
        ),
    ]


def test_a_struct_that_a_file_replaces_by_a_number_is_changed_before_a_baseline() -> None:
    """Only the fields inside a struct are compared by themselves; an array is a list of Iceberg."""
    create = replayed("CREATE TABLE lake.a.t (id BIGINT, s STRUCT<x: INT>, l ARRAY<INT>)")
    replacement = replayed("CREATE OR REPLACE TABLE lake.a.t (id BIGINT, s BIGINT, l ARRAY<INT>)")
    columns = (
        Column(1, "id", "bigint"),
        Column(2, "s", "bigint"),
        Column(3, "l", "list<int>"),
        Column(4, "l.element", "int"),
    )
    first, second = made_before_baseline(None, after(columns=columns), [("1", create), ("2", replacement)])
    assert [step.shape and {column.name: column.type for column in step.shape.columns}.get("s") for step in (first, second)] == [
        "struct<x:int>", "bigint",
    ]  # fmt: skip
    assert second.version == "2"


def test_a_replaced_table_has_nothing_of_the_one_before_by_another_client() -> None:
    """What its statement leaves out is gone; a column that it does not list was added by somebody else."""
    replaced = "CREATE OR REPLACE TABLE lake.a.t (id STRING) USING iceberg"
    was = after(partitioning=BUCKET, sorting=ORDER, identifiers=("id",))
    now = after(columns=(Column(1, "id", "string"),))
    assert meanwhile(was, now, replaced) == []
    wider = after(columns=(*now.columns, Column(4, "x", "int")))
    assert meanwhile(was, wider, replaced)[-1] == ("during", ["+ column x: int"])


def test_a_new_table_is_from_the_statement_that_creates_it() -> None:
    """Where no statement creates a table, another client has made it."""
    other = after(uuid="v", columns=(Column(1, "a", "int"),))
    own = ("DROP TABLE lake.a.t", "CREATE TABLE lake.a.t (a INT) USING iceberg")
    assert meanwhile(None, other, *own) == []
    assert [origin for origin, _ in meanwhile(None, other, f"{T} ADD COLUMN a INT")] == ["during"]


def test_more_commits_than_statements_are_not_explained() -> None:
    """Another client may have changed a part and changed it back: the number in the name of the metadata file shows it."""
    before, shape = (after(metadata_location=f"s3://b/metadata/{number:05}-x.metadata.json") for number in (3, 6))
    added = replace(column(Column(4, "c", "int")), metadata_location=shape.metadata_location)
    statements = replayed(f"{T} ADD COLUMN c INT")
    assert not is_explained(before, added, statements)
    assert is_explained(replace(before, metadata_location="s3://b/metadata/00005-x.metadata.json"), added, statements)


def test_a_property_of_delta_is_by_the_statement_that_sets_it() -> None:
    """A change of a column sets properties of Delta itself, but no others."""
    columns, table = (Column(1, "a", "int"),), "spark_catalog.a.t"
    before = Shape(table, "u", "delta", 7, columns, metadata_location="/t/_delta_log/00000000000000000004.json")
    added = replace(before, columns=(*columns, Column(2, "b", "int")))
    feature = replace(added, properties={"delta.feature.x": "supported"})
    statements = replayed(f"ALTER TABLE {table} ADD COLUMN b INT", table=table)
    assert is_explained(before, feature, statements)
    assert not is_explained(before, replace(added, properties={"k": "v"}), statements)
    assert not is_explained(
        before, replace(added, metadata_location="/t/_delta_log/00000000000000000006.json"), statements
    )


def test_a_table_that_replaces_another_in_the_same_log_has_only_its_own_commits() -> None:
    """REPLACE of Delta makes another table; it counts from the last commit of the former one."""
    table, log = "spark_catalog.a.t", "/t/_delta_log/{:020}.json"
    old, new = (
        Shape(table, uuid, "delta", 7, (Column(1, uuid, "int"),), metadata_location=log.format(number))
        for number, uuid in enumerate(("old", "new"))
    )
    statements = replayed(f"CREATE OR REPLACE TABLE {table} (new INT) USING delta", table=table)
    assert is_explained(None, new, statements, predecessor=old)
    assert not is_explained(None, new, statements)
    moment = datetime(2026, 1, 1, tzinfo=timezone.utc)
    past = Past(tuple(Version(moment, shape, None) for shape in (old, new)), is_whole=True)
    assert [version.shape.uuid for version in commits(past, None, new) or ()] == ["new"]
