"""Random pairs of shapes: the statements from one to the other, run on tables in memory, lead to exactly the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glacierbase.capabilities.tables.match import _written
from glacierbase.capabilities.tables.wanted import WantedTable
from glacierbase.declared.render import Written
from glacierbase.declared.writer import alteration, creation
from glacierbase.errors import NotPlain, StatementRefused
from glacierbase.executors.copies.memory import MemoryLakes, shapes_after
from glacierbase.executors.direct.executor import IcebergSession
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from glacierbase.model.shape import Shape
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.shape_edits import edited
from tests.support.shapes import comparable, shapes

SIZES = [10, 400]


@pytest.fixture
def catalog(project: ProjectFolder) -> Catalog:
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root)))
    return only_catalog(project.root)


class Tables:
    """Tables in memory."""

    def __init__(self, catalog: Catalog) -> None:
        lakes = MemoryLakes(catalog)
        lakes.open("lake").make_namespace(("a",))
        self._session = IcebergSession(lakes)

    def after(self, table: str, written: Written) -> Shape:
        """Run statements, and return the shape of a table."""
        for sql in written.statements:
            self._session.execute(sql)
        made = self._session.shape(table)
        assert made
        return made


def without_empty_comments(shape: Shape) -> Shape:
    """Return what two equal tables share. Iceberg has no statement that removes the comment of a column."""
    columns = tuple(replace(column, comment=column.comment or None) for column in shape.columns)
    return comparable(replace(shape, columns=columns))


def settings_of(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.mark.parametrize("examples", SIZES)
def test_the_statements_lead_from_any_shape_to_any_other(catalog: Catalog, examples: int) -> None:
    """No statement is refused, the shape is as wanted, and columns that stay have their ids; or a reason names a step."""
    outcomes = Counter[str]()

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        shape, tables = data.draw(shapes((1, 2, 2))), Tables(catalog)
        try:
            before = tables.after(shape.table, creation(shape))
            assert comparable(before) == comparable(shape)
            wanted = data.draw(edited(before))
            written = alteration(before, wanted)
            if written.impossible:
                outcomes["impossible"] += 1
                assert all(is_reason(why) for why in written.impossible)
                return
            made = tables.after(shape.table, written)
        except NotPlain:
            return
        outcomes["made"] += 1
        assert without_empty_comments(made) == without_empty_comments(wanted), written.statements
        kept = {column.id for column in before.columns}
        assert {column.name: column.id for column in made.columns if column.id in kept} == {
            column.name: column.id for column in wanted.columns if column.id in kept
        }

    check()
    assert outcomes["made"] > examples / 3


def is_reason(why: str) -> bool:
    return " cannot " in why


@pytest.mark.parametrize("examples", SIZES)
def test_the_statements_lead_to_any_wanted_table(catalog: Catalog, examples: int) -> None:
    """`new --to-match` with a CREATE TABLE of the wanted table and the renames leads there, or names what it refuses."""
    outcomes = Counter[str]()
    states = frozenset(
        {"partitioning", "properties", "comments", "nulls", "order", "sorting", "identifiers", "version"}
    )

    @given(st.data())
    @settings_of(examples)
    def check(data: st.DataObject) -> None:
        shape, tables = data.draw(shapes((1, 2, 2))), Tables(catalog)
        try:
            before = tables.after(shape.table, creation(shape))
            after = data.draw(edited(before, drops=False))
            try:
                [wanted] = shapes_after(catalog, creation(after).statements)
            except (
                StatementRefused
            ):  # Iceberg has no such table: a column has the name of another one's partition field.
                return
            written = _written(before, WantedTable(wanted, states), renames(before, after))
            if written.impossible:
                outcomes["impossible"] += 1
                return
            made = tables.after(shape.table, written)
        except NotPlain:
            return
        outcomes["made"] += 1
        expected = replace(wanted, properties=kept_properties(before, wanted))
        assert without_empty_comments(made) == without_empty_comments(expected), written.statements

    check()
    assert outcomes["made"] > examples / 5


def renames(before: Shape, after: Shape) -> tuple[tuple[str, str], ...]:
    """Return the renames of the columns that stay, by their full names."""
    names = {column.id: column.name for column in after.columns if column.id is not None}
    return tuple(
        (column.name, names[column.id])
        for column in before.columns
        if column.id in names and name_parts(column.name)[-1] != name_parts(names[column.id])[-1]
    )


def kept_properties(before: Shape, wanted: Shape) -> dict[str, str]:
    """Return the properties of a table after it got those that a source states: the others stay, the comment aside."""
    codec = "write.parquet.compression-codec"
    stay = {key: value for key, value in before.properties.items() if key != "comment"}
    return {**stay, **{key: value for key, value in wanted.properties.items() if key != codec}}
