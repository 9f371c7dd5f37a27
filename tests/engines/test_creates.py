"""`schema --format sql` on real Spark: the table that its statements make has the shape that was recorded."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.migrations.statements import split_statements
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.project.project import Project
from tests.support.adopter import Adopter
from tests.support.beds import LakeBed
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder
from tests.support.sample_story import EVENTS, LEVELS, SCORES
from tests.support.shapes import comparable, shapes
from tests.support.story import Story, asked

HOSTILE = "it's a `\"$${x} {{ y }}\n\\'; -- ä\u2028\x1b[2J"
ADDRESS = (
    Column(None, "address", "struct<city:string,`the place`:struct<x:int>>", comment=HOSTILE),
    Column(None, "address.city", "string", required=True, comment="where"),
    Column(None, "address.`the place`", "struct<x:int>"),
    Column(None, "address.`the place`.x", "int"),
)
WHOLE = Shape(
    "lake.NAMESPACE.t",
    None,
    "iceberg",
    2,
    (
        Column(None, "id", "bigint", required=True, comment="of the row"),
        Column(None, "at", "timestamp"),
        Column(None, "select", "string"),
        *ADDRESS,
        Column(None, "tags", "array<struct<name:string>>"),
        Column(None, "tags.element", "struct<name:string>"),
        Column(None, "tags.element.name", "string", comment="of a tag"),
        Column(None, "prices", "map<string,decimal(9,2)>"),
        Column(None, "prices.key", "string", required=True),
        Column(None, "prices.value", "decimal(9,2)"),
    ),
    (
        PartitionField(None, "id_bucket", "id", "bucket[16]"),
        PartitionField(None, "address.city", "address.city", "identity"),
        PartitionField(None, "at_day", "at", "day"),
        PartitionField(None, "short", "select", "truncate[3]"),
        PartitionField(None, "at_hour", "at", "hour"),
    ),
    (SortField("id", "bucket[4]", "desc", "last"), SortField("address.city", "identity", "asc", "last")),
    ("id",),
    {"comment": HOSTILE, "x": HOSTILE, HOSTILE: "y", "write.parquet.compression-codec": "gzip"},
)


Make = Callable[[Shape], tuple[Shape, Shape]]


@pytest.fixture
def make(lake: LakeBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Record a shape, run the statements that the program prints for it; return the shapes recorded and made."""
    namespace = f"c{uuid.uuid4().hex[:8]}"
    with closing(lake.executor.open_session()) as session, closing(ShapeReader(lake.catalog)) as reader:
        session.execute(f"CREATE NAMESPACE lake.{namespace}")
        session.execute(
            "SET spark.sql.timestampType=TIMESTAMP_NTZ"
        )  # A type that is written `timestamp` would be another one.

        def made(shape: Shape) -> tuple[Shape, Shape]:
            name = f"{name_parts(shape.table)[-1]}{uuid.uuid4().hex[:8]}"
            wanted = replace(shape, table=name_of(("lake", namespace, name)))
            asked(Story().file(1, {wanted.table: wanted}), project, monkeypatch)
            done = call_program(["schema", wanted.table, "--format", "sql"])
            assert done.code == 0, done.stderr
            for statement in split_statements(done.stdout, "spark"):
                session.execute(statement.text)
            found = reader.read(wanted.table)
            assert found
            return comparable(wanted), comparable(found)

        yield made


def test_a_table_with_everything_is_made_anew(make: Make) -> None:
    """Nested fields, comments, transforms, sort order, identifiers and hostile texts are those of the shape."""
    wanted, made = make(WHOLE)
    assert made == wanted


def test_a_table_with_little_is_made_anew(make: Make) -> None:
    """The format version of the table stays, and so does the absence of a property that new tables have."""
    wanted, made = make(Shape("lake.a.t", None, "iceberg", 1, (Column(None, "id", "int"),)))
    assert made == wanted


EVOLVED = {
    # Format version 1 keeps a field that was dropped, with the transform `void`.
    "(id int, at timestamp) USING iceberg PARTITIONED BY (days(at), bucket(4, id)) TBLPROPERTIES ('format-version' = '1')": (
        "DROP PARTITION FIELD days(at)", "ADD PARTITION FIELD truncate(3, id)",
    ),
    # Refused by one PARTITIONED BY.
    "(at timestamp) USING iceberg PARTITIONED BY (days(at))": ("ADD PARTITION FIELD hours(at)",),
    # The field keeps the name of the column before.
    "(at timestamp, kind string) USING iceberg PARTITIONED BY (days(at), kind)": (
        "RENAME COLUMN at TO `at all`", "RENAME COLUMN kind TO type",
    ),
    # The identifiers are in the order of field ids, which is another one in a new table.
    "(a int NOT NULL, b int NOT NULL, c int) USING iceberg": (
        "ALTER COLUMN b FIRST", "SET IDENTIFIER FIELDS a, b", "WRITE ORDERED BY c DESC",
    ),
}  # fmt: skip


def test_tables_that_evolved_are_made_anew(make: Make, lake: LakeBed) -> None:
    """Evolution leaves ids, names and fields that no CREATE TABLE gives."""
    namespace = f"lake.e{uuid.uuid4().hex[:8]}"
    with closing(lake.executor.open_session()) as session, closing(ShapeReader(lake.catalog)) as reader:
        session.execute(f"CREATE NAMESPACE {namespace}")
        for number, (create, alters) in enumerate(EVOLVED.items()):
            table = f"{namespace}.t{number}"
            for sql in (f"CREATE TABLE {table} {create}", *(f"ALTER TABLE {table} {alter}" for alter in alters)):
                session.execute(sql)
            evolved = reader.read(table)
            assert evolved
            wanted, made = make(evolved)
            assert made == wanted


def test_every_table_of_the_sample_is_made_anew(
    sample: Callable[[], ProjectFolder], lake: LakeBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements of one environment, run in another one where nothing was applied, give the shapes that were recorded."""
    adopter = Adopter(sample().root, lake, monkeypatch)
    monkeypatch.chdir(adopter.root)
    [file] = load_catalog_files(adopter.root / "catalogs", adopter.root)
    adopter.does("glacierbase migrate --env dev")
    adopter.by_hand("prod", "CREATE NAMESPACE lake.sleep")
    with closing(ShapeReader(file.for_environment("prod", adopter.root))) as reader:
        for table in (EVENTS, LEVELS, SCORES):
            script = adopter.does(f"glacierbase schema {table} --env dev --format sql").stdout
            assert reader.read(table) is None
            for statement in split_statements(script, "spark"):
                adopter.by_hand("prod", statement.text)
            [recorded] = Project.load(adopter.root, environment="dev").schema(table)
            made = reader.read(table)
            assert recorded.shape
            assert made
            assert comparable(made) == comparable(recorded.shape)


def test_two_hundred_tables_are_made_anew(make: Make) -> None:
    """The shapes are those of any types, names, texts, partitions, orders, identifiers, properties and format versions."""
    seen: list[Shape] = []

    @given(shapes())
    @settings(
        max_examples=200, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )  # fmt: skip
    def check(shape: Shape) -> None:
        assume(shape not in seen)
        seen.append(shape)
        wanted, made = make(shape)
        assert made == wanted

    check()
    assert len(seen) == 200
