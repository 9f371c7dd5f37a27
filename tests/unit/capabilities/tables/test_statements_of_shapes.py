"""`schema --format sql` of any recorded shape: the statements of the whole table, or an error. `tests/engines` runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glacierbase.declared.writer import create_statements
from glacierbase.errors import ConfigurationError
from glacierbase.migrations.statements import split_statements
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.secrets import register
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.support.shapes import shapes
from tests.support.story import Story, asked, column, shape

T = "lake.a.t"
ID = column(1, "id", required=True)
Ask = Callable[[Shape], Output]
# Any shape, and no time limit; the same ones each time.
MANY = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def with_column(type: str, **more: object) -> Callable[[Shape], Shape]:
    return lambda shape: replace(shape, columns=(*shape.columns, Column(None, "odd", type, **more)))  # type: ignore[arg-type]


def with_columns(*columns: Column) -> Callable[[Shape], Shape]:
    return lambda shape: replace(shape, columns=(*shape.columns, *columns))


def named(name: str) -> Callable[[Shape], Shape]:
    return with_columns(Column(None, name, "int"))


def with_property(key: str, value: str) -> Callable[[Shape], Shape]:
    return lambda shape: replace(shape, properties={**shape.properties, key: value})


UNSAYABLE = [
    *map(with_column, ("uuid", "time", "fixed(16)", "timestamp_ns", "timestamptz_ns", "unknown", "geometry", "int[]", "")),
    with_column("int", default="7"),
    with_column("string", comment="the key is ***"),
    with_columns(Column(None, "odd", "struct<u:uuid>"), Column(None, "odd.u", "uuid")),
    with_columns(Column(None, "odd", "array<int>"), Column(None, "odd.element", "int", required=True)),
    *map(named, ("``", "`a\nb`", "`a\x1bb`", "`a\u202eb`", "`a${b}`", "`##[a]`")),
    with_columns(Column(None, "odd", "int"), Column(None, "ODD", "int")),
    lambda shape: replace(shape, partitioning=(PartitionField(None, "p", shape.columns[0].name, "zorder"),)),
    lambda shape: replace(shape, partitioning=(PartitionField(None, "a\nb", shape.columns[0].name, "identity"),)),
    lambda shape: replace(shape, sorting=(SortField(shape.columns[0].name, "void", "asc", "first"),)),
    *(with_property(key, "x") for key in ("provider", "external", "format-version", "current-schema")),
    with_property("a", "s3://user:secret@host"),
    lambda shape: replace(shape, format="delta"),
]  # fmt: skip


@pytest.fixture
def ask(project: ProjectFolder) -> Iterator[Ask]:
    """Record a shape, and ask for the statements that create it."""
    with pytest.MonkeyPatch.context() as patch:

        def asked_for(found: Shape) -> Output:
            asked(Story().file(1, {found.table: found}), project, patch)
            return call_program(["schema", found.table, "--format", "sql"])

        yield asked_for


@given(found=shapes())
@MANY
def test_the_printed_statements_are_those_of_the_recorded_shape(ask: Ask, found: Shape) -> None:
    """The printed statements have the recorded texts: neither the record nor the escaping changes them."""
    done = ask(found)
    assert done.code == 0, done.stderr
    assert [each.text for each in split_statements(done.stdout, "spark")] == create_statements(found)


@given(found=shapes(), change=st.sampled_from(UNSAYABLE))
@MANY
def test_what_cannot_be_said_is_an_error(ask: Ask, found: Shape, change: Callable[[Shape], Shape]) -> None:
    """A part that no statement can express is an error: no statement is printed, and none is left out."""
    done = ask(change(found))
    assert (done.code, done.stdout) == (2, "")
    assert "error: NO_STATEMENTS: " in done.stderr


def test_of_all_that_cannot_be_said_the_message_names_three(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data of the error has the rest."""
    columns = [column(number, f"c{number}", "uuid") for number in range(2, 7)]
    told = asked(Story().file(1, {T: shape(T, ID, *columns)}), project, monkeypatch)
    with pytest.raises(
        ConfigurationError, match=r"c2 is of type uuid; c3 .*; c4 is of type uuid; and 2 more$"
    ) as caught:
        told.schema("t", sql=True)
    assert len(caught.value.data["reasons"]) == 5


def test_a_secret_that_became_known_later_is_not_replaced_in_statements(ask: Ask) -> None:
    """The table that they create would hold its mask."""
    register("canary-of-later")
    done = ask(shape(T, ID, properties={"a": "canary-of-later"}))
    assert done.code == 2
    assert "a text of it contains ***, in place of a secret" in done.stderr
