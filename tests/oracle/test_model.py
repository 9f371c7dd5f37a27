"""The model of changes has the table that real Spark left when the oracle was recorded, or says which part of it is not known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import pytest

from glacierbase.declared.applied import apply_all
from glacierbase.declared.clauses import changes_of
from glacierbase.declared.trees import dotted
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.executors.pyiceberg.shape import shape_from_json
from glacierbase.model.names import name_of
from glacierbase.model.partial_shape import (
    COLUMNS,
    EVERY_PART,
    FORMAT_VERSION,
    IDENTIFIERS,
    PARTITION_NAMES,
    PARTITIONING,
    SORTING,
    FormerField,
    PartialShape,
    Refused,
)
from glacierbase.model.shape import Shape
from glacierbase.sql import read
from glacierbase.sql.operations import REFERENCES
from glacierbase.sql.statement import Name, ParsedStatement
from tests.oracle.cases import groups
from tests.oracle.records import names, recorded
from tests.support.lake_states import NAMESPACE, State
from tests.support.shapes import comparable

# How many cases one test follows.
CASES = 15
# Statements that Spark refuses for another reason than one change: clauses of one statement, or a property that it cannot read.
NOT_OF_A_SHAPE = frozenset(
    {
        "ALTER TABLE lake.NS.t ADD COLUMNS (ns STRUCT<a:INT>, ns.b INT)",
        "ALTER TABLE lake.NS.t DROP COLUMNS IF EXISTS (m, m.value)",
        "ALTER TABLE lake.NS.t DROP IDENTIFIER FIELDS s.a, s.a",
        "ALTER TABLE lake.NS.t SET LOCATION ''",
        "ALTER TABLE lake.NS.t SET TBLPROPERTIES ('a'='b')",
    }
)
PARTS = {
    COLUMNS: "columns", PARTITIONING: "partitioning", SORTING: "sorting", IDENTIFIERS: "identifiers",
    FORMAT_VERSION: "format_version",
}  # fmt: skip


@pytest.mark.parametrize(
    ("group", "begin"), [(group, begin) for group in groups() for begin in range(0, len(names(group)), CASES)]
)
def test_the_model_has_the_table_that_spark_left(group: str, begin: int) -> None:
    """Each known part is as Spark left it. Spark refused what the model refuses, and changed nothing that is known then."""
    known = 0
    for name in names(group)[begin : begin + CASES]:
        state: State = {}
        for statement in recorded(group, name).statements:
            before, after, parsed = state, statement.after(state), read(statement.sql, "spark")
            state = after
            if not is_about_a_table(parsed, before):
                continue
            made = apply_all(table_of(before, parsed.targets[0]), changes_of(parsed), "iceberg")
            if isinstance(made, Refused):
                assert statement.error is not None, (statement.sql, made)
                continue
            if statement.error is not None and (statement.sql in NOT_OF_A_SHAPE or not is_checked(parsed)):
                continue
            actual = table_of(after, parsed.targets[-1])
            if made and EVERY_PART not in made.unknown:
                assert actual, statement.sql
                assert list(differences(made, actual)) == [], statement.sql
                known += 1
            elif not made:
                assert not actual, statement.sql
    assert known


@pytest.mark.parametrize("group", groups())
def test_the_model_follows_a_table_from_its_creation(group: str) -> None:
    """Applied one statement after another, without a look at the table."""
    compared = 0
    for name in names(group)[:CASES]:
        state: State = {}
        tables = dict[str, PartialShape | None]()
        for statement in recorded(group, name).statements:
            state, parsed = statement.after(state), read(statement.sql, "spark")
            if statement.error is not None or not is_about_a_table(parsed, state):
                continue
            old, new = str(parsed.targets[0]), parsed.targets[-1]
            made = apply_all(tables.pop(old, None), changes_of(parsed), "iceberg")
            assert not isinstance(made, Refused), (statement.sql, made)
            tables[str(new) if len(new.parts) > 2 else ".".join(("lake", NAMESPACE, new.parts[-1]))] = made
            actual = table_of(state, new)
            if made and actual and EVERY_PART not in made.unknown:
                assert list(differences(made, actual)) == [], statement.sql
                compared += 1
    assert compared


def is_about_a_table(statement: ParsedStatement, state: State) -> bool:
    """Return whether a statement is about a table of the namespace, and not about a view, a namespace or a table of metadata."""
    if not statement.targets or statement.namespace or statement.options.kind not in ("table", ""):
        return False
    parts = statement.targets[0].parts
    return len(parts) == 3 and f"view {name_of(parts[1:])}" not in state


def is_checked(statement: ParsedStatement) -> bool:
    """Return whether the model has all that decides whether Spark accepts a statement: the table, and what the statement says."""
    operations = {part.operation for part in statement.parts} | {statement.operation}
    others = REFERENCES | {"rename_table"}
    return why_not_plain(statement) is None and operations.isdisjoint(others)


def table_of(state: State, name: Name) -> PartialShape | None:
    """Return a table of a recorded state; None where it does not exist. A name without a catalog may lack the namespace too."""
    path = name.parts if name.parts[0] == NAMESPACE else name.parts[1:] or (NAMESPACE, *name.parts)
    metadata = state.get(f"table {name_of(path)}")
    return None if metadata is None else _read(name_of(("lake", *path)), json.dumps(metadata))


@lru_cache(maxsize=512)
def _read(name: str, metadata: str) -> PartialShape:
    shape = shape_from_json(name, metadata)
    return PartialShape(shape, former=tuple(dict.fromkeys(_former(shape, metadata))))


def _former(shape: Shape, metadata: str) -> Iterator[FormerField]:
    """Yield the partition fields of earlier specs whose columns exist."""
    columns = {column.id: dotted(column.name) for column in shape.columns}
    current = {(field.name, dotted(field.source), field.transform) for field in shape.partitioning}
    for spec in json.loads(metadata)["partition-specs"]:
        for field in spec["fields"]:
            source = columns.get(field["source-id"])
            if source and field["transform"] != "void" and (field["name"], source, field["transform"]) not in current:
                yield FormerField(field["name"], source, field["transform"])


def differences(made: PartialShape, actual: PartialShape) -> Iterator[str]:
    """Yield the known parts of a table that are not as they should be."""
    shapes = [_with_known(made, one.shape) for one in (made, actual)]
    for part, attribute in PARTS.items():
        values = [getattr(shape, attribute) for shape in shapes]
        if made.knows(part) and values[0] != values[1]:
            yield f"{part}: {values[0]}, on Spark {values[1]}"
    for key in {*made.shape.properties, *actual.shape.properties, *made.absent}:
        values = [one.shape.properties.get(key) for one in (made, actual)]
        if made.knows_property(key) and values[0] != values[1]:
            yield f"{key}: {values[0]!r}, on Spark {values[1]!r}"


def _with_known(made: PartialShape, shape: Shape) -> Shape:
    """Return a shape without types and names of partition fields that are not known, and without ids."""
    columns = (column if made.knows(f"type {column.name}") else replace(column, type="") for column in shape.columns)
    fields = (field if made.knows(PARTITION_NAMES) else replace(field, name="") for field in shape.partitioning)
    return comparable(replace(shape, columns=tuple(columns), partitioning=tuple(fields)))
