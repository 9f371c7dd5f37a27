"""The laws of changes, on generated tables: between, applied, undone, and written as statements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glacierbase.declared.applied import apply, apply_all
from glacierbase.declared.between import between, inverse
from glacierbase.declared.change_sql import sql_of
from glacierbase.declared.clauses import changes_of
from glacierbase.model.changes import (
    Change,
    ColumnAdded,
    ColumnMoved,
    PropertiesSet,
    PropertiesUnset,
    TableRenamed,
    Unknown,
    key,
)
from glacierbase.model.partial_shape import PartialShape, Refused
from glacierbase.model.shape import Shape
from glacierbase.sql import read
from tests.support.shape_edits import edited
from tests.support.shapes import comparable, shapes

SIZES = [5, 80]


def settings_of(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def numbered(shape: Shape) -> Shape:
    """Return a drawn table as Iceberg stores it: columns have ids, and the codec of new tables is not set."""
    ids = count(1)
    return replace(shape, columns=tuple(replace(column, id=next(ids)) for column in shape.columns))


def same(shape: Shape) -> Shape:
    """Return what two equal tables share. Iceberg has no statement that removes the comment of a column."""
    columns = tuple(replace(column, comment=column.comment or None) for column in shape.columns)
    return comparable(replace(shape, columns=columns))


def pairs(data: st.DataObject) -> tuple[Shape, Shape]:
    before = numbered(data.draw(shapes((1, 2, 2))))
    return before, data.draw(edited(before))


def steps(before: Shape, after: Shape) -> list[tuple[PartialShape, Change, PartialShape]]:
    """Return each change between two tables, with the table before and after it."""
    table, made = PartialShape(before), list[tuple[PartialShape, Change, PartialShape]]()
    changes = between(before, after, "iceberg")
    for change in changes if not any(isinstance(change, Unknown) for change in changes) else ():
        applied = apply(table, change, "iceberg")
        assert isinstance(applied, PartialShape), (change, applied)
        made.append((table, change, applied))
        table = applied
    return made


@pytest.mark.parametrize("examples", SIZES)
def test_the_changes_between_two_tables_lead_from_one_to_the_other(examples: int) -> None:
    """The columns that stay keep their ids. A step that no change makes is `Unknown`."""
    outcomes = Counter[str]()

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        before, after = pairs(data)
        if any(isinstance(change, Unknown) for change in between(before, after, "iceberg")):
            outcomes["impossible"] += 1
            return
        made = steps(before, after)[-1][2] if between(before, after, "iceberg") else PartialShape(before)
        assert same(made.shape) == same(after)
        assert made.unknown == frozenset()
        ids = {column.name: column.id for column in after.columns if column.id is not None}
        assert {column.name: column.id for column in made.shape.columns if column.id is not None} == ids
        assert between(made.shape, after, "iceberg") == ()
        outcomes["made"] += 1

    check()
    assert outcomes["made"] > examples / 3


@pytest.mark.parametrize("examples", SIZES)
def test_the_changes_that_create_a_table_lead_to_it(examples: int) -> None:
    """What the statements do not determine is not known: properties of the catalog and the engine."""

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        shape = data.draw(shapes((1, 2, 2)))
        made = apply_all(None, between(None, shape, "iceberg"), "iceberg")
        assert isinstance(made, PartialShape), made
        left = replace(made.shape, properties={**made.shape.properties, "owner": "ana"})
        assert same(left) == same(shape)
        assert made.unknown <= {"properties", "property write.parquet.compression-codec"}

    check()


@pytest.mark.parametrize("examples", SIZES)
def test_an_inverse_undoes_its_change(examples: int) -> None:
    """A change that loses values has none."""
    outcomes = Counter[str]()

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        before, after = pairs(data)
        for table, change, applied in steps(before, after):
            undone = inverse(change, table, "iceberg")
            if undone is None:
                continue
            outcomes[type(change).__name__] += 1
            again = apply_all(applied, undone, "iceberg")
            if isinstance(again, Refused):  # A name that two columns exchange, or that a partition field keeps.
                outcomes["refused"] += 1
                continue
            assert isinstance(again, PartialShape)
            assert same(again.shape) == same(table.shape), change
            outcomes["undone"] += 1

    check()
    assert outcomes["undone"] > examples / 2
    assert outcomes["refused"] < outcomes["undone"] / 20


@pytest.mark.parametrize("examples", SIZES)
def test_the_statement_of_a_change_makes_that_change(examples: int) -> None:
    """Whatever names, types, comments and values it has."""
    written = Counter[str]()

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        before, after = pairs(data)
        changes = [*between(None, before, "iceberg"), *between(before, after, "iceberg")]
        for change in [*changes, *others(changes)]:
            sql = sql_of(change, before.table)
            if sql is None:
                assert isinstance(change, Unknown)
                continue
            made = changes_of(read(sql, "spark"))
            if any(isinstance(part, Unknown) or getattr(part, "unknown", None) for part in made):
                # Digits in a transform are read as its width.
                assert "`1`" in sql, sql
                continue
            written[type(change).__name__] += 1
            assert list(map(key, made)) == [key(change)], sql

    check()
    assert len(written) > 8


def others(changes: list[Change]) -> list[Change]:
    """Return changes like those between two tables, with the words that these lack."""
    added = [replace(change, after="b`c") for change in changes if isinstance(change, ColumnAdded)]
    moved = [ColumnMoved(change.path, "") for change in changes if isinstance(change, ColumnAdded)]
    return [*added, *moved, TableRenamed("a.`b c`"), PropertiesUnset(("it's",)), PropertiesSet((("comment", "\\"),))]


@pytest.mark.parametrize("examples", SIZES)
def test_the_changes_of_a_delta_table_lead_to_it(examples: int) -> None:
    """With column mapping and type widening; the engine sets further properties, which are not known."""
    outcomes = Counter[str]()

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        before, after = (of_delta(shape) for shape in pairs(data))
        changes = between(before, after, "delta")
        if any(isinstance(change, Unknown) for change in changes):
            outcomes["impossible"] += 1
            return
        made = apply_all(PartialShape(before), changes, "delta")
        assert isinstance(made, PartialShape), made
        assert same(made.shape).columns == same(after).columns
        known = {key for key in {*made.shape.properties, *after.properties} if made.knows_property(key)}
        assert {key: made.shape.properties.get(key) for key in known} == {
            key: after.properties.get(key) for key in known
        }
        assert made.knows("columns")
        assert not changes or not made.knows_property("delta.feature.typeWidening")
        for change in changes:
            assert list(map(key, changes_of(read(str(sql_of(change, before.table)), "spark")))) == [key(change)]
        outcomes["made"] += 1

    check()
    assert outcomes["made"] >= examples // 4


def of_delta(shape: Shape) -> Shape:
    """Return a drawn table as one of Delta, with a constraint and a clustering that depend on its properties."""
    columns = [column for column in shape.columns if "." not in column.name and "`" not in column.name]
    lengths = {len(value) for value in shape.properties.values()}
    mapped = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    mapped |= {f"delta.constraints.c{length}": f"1 < {length}" for length in lengths}
    if columns and len(shape.properties) > 1:
        mapped["clusteringColumns"] = f'[["{columns[0].name}"]]'
    properties = {key: value for key, value in shape.properties.items() if not key.startswith("write.")}
    return replace(
        shape,
        format="delta",
        format_version=2,
        partitioning=(),
        sorting=(),
        identifiers=(),
        properties=properties | mapped,
    )


@pytest.mark.parametrize("clause", ["ADD COLUMN m.key.b INT", "DROP COLUMN m.key.a", "RENAME COLUMN m.key.a TO c"])
def test_the_key_of_a_map_does_not_change(clause: str) -> None:
    """Iceberg refuses it; the value changes."""
    create = "CREATE TABLE lake.a.t (m MAP<STRUCT<a: INT, z: INT>, STRUCT<a: INT, z: INT>>) USING iceberg"
    table = apply_all(None, changes_of(read(create, "spark")), "iceberg")
    for text, is_refused in ((clause, True), (clause.replace("m.key", "m.value"), False)):
        made = apply_all(table, changes_of(read(f"ALTER TABLE lake.a.t {text}", "spark")), "iceberg")
        assert isinstance(made, Refused) == is_refused, text
