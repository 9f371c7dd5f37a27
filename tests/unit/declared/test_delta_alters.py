"""Statements that turn one shape of a Delta table into another, and what Delta cannot change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.declared.writer import alteration
from glacierbase.model.shape import Column, PartitionField, Shape

MAPPED = {"delta.columnMapping.mode": "name"}


def table(*columns: Column, **properties: str) -> Shape:
    return Shape("spark_catalog.s.t", "id-1", "delta", 2, columns, properties=properties)


def column(name: str, type_: str = "int", id_: int | None = None, *, required: bool = False) -> Column:
    return Column(id_, name, type_, required=required)


ALTER = "ALTER TABLE spark_catalog.s.t "
A, B = column("a"), column("b")


def test_without_column_mapping_a_column_is_added_and_never_dropped() -> None:
    """The reason names the property."""
    assert alteration(table(A), table(A, B)).statements == (f"{ALTER}ADD COLUMN `b` int",)
    dropped = alteration(table(A, B), table(A))
    assert dropped.statements == ()
    assert dropped.impossible == ("DROP COLUMN `b`, which needs the property delta.columnMapping.mode = name",)


def test_with_column_mapping_columns_are_renamed_and_dropped() -> None:
    """Elements of arrays have no id in Delta, and follow the column around them."""
    old = table(column("a", id_=1), column("l", "array<int>", 2), column("l.element"), column("b", id_=3), **MAPPED)
    new = table(column("a", id_=1), column("m", "array<int>", 2), column("m.element"), **MAPPED)
    alters = alteration(old, new)
    assert alters.statements == (f"{ALTER}DROP COLUMN `b`", f"{ALTER}RENAME COLUMN `l` TO `m`")
    assert alters.impossible == ()


def test_a_property_that_columns_need_is_set_before_them() -> None:
    """Type widening that was enabled together with a wider type."""
    after = replace(table(column("a", "bigint"), **{"delta.enableTypeWidening": "true"}), format_version=7)
    assert alteration(table(A), after).statements == (
        f"{ALTER}SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')", f"{ALTER}ALTER COLUMN `a` TYPE bigint",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "is_possible"),
    [
        ("int", "bigint", True), ("tinyint", "int", True), ("int", "double", True), ("bigint", "double", False),
        ("int", "decimal(10,0)", True), ("int", "decimal(9,0)", False), ("bigint", "decimal(20,0)", True),
        ("decimal(5,2)", "decimal(7,4)", True), ("decimal(5,2)", "decimal(6,4)", False), ("float", "double", True),
        ("date", "timestamp_ntz", True), ("date", "timestamp", False), ("bigint", "int", False), ("int", "string", False),
    ],
)  # fmt: skip
def test_a_type_is_widened_as_delta_allows(before: str, after: str, is_possible: bool) -> None:
    """https://docs.delta.io/latest/delta-type-widening.html has the list."""
    on = {"delta.enableTypeWidening": "true"}
    alters = alteration(table(column("a", before), **on), table(column("a", after), **on))
    assert bool(alters.statements) is is_possible
    assert bool(alters.impossible) is not is_possible


def test_without_type_widening_only_strings_become_longer() -> None:
    """A wider number rewrites the table."""
    assert alteration(table(A), table(column("a", "bigint"))).impossible == ("a cannot change from int to bigint",)
    longer = alteration(table(column("a", "varchar(3)")), table(column("a", "varchar(5)")))
    assert longer.statements == (f"{ALTER}ALTER COLUMN `a` TYPE varchar(5)",)


def test_what_no_statement_changes_is_named() -> None:
    """Partitioning, the format version, features, column mapping and NOT NULL."""
    by_a = (PartitionField(None, "a", "a", "identity"),)
    old = replace(table(A, **MAPPED, **{"delta.feature.x": "supported"}), format_version=7)
    alters = alteration(old, replace(table(column("a", required=True)), partitioning=by_a))
    assert alters.statements == ()
    assert alters.impossible == (
        "a cannot begin to refuse nulls",
        "the format version cannot go back from 7 to 2",
        "the partitioning of a Delta table cannot change",
        "column mapping stays: without it, the table is rewritten",
        "the table feature x stays; DROP FEATURE is written by hand",
    )


def test_a_name_without_id_may_be_that_of_a_renamed_column() -> None:
    """Column mapping was enabled, and the only column has another name since."""
    alters = alteration(table(A), table(column("b", id_=1), **MAPPED))
    assert alters.statements == ()
    assert "a renamed column cannot be told from a dropped one" in alters.impossible[0]


def test_clustering_constraints_comment_and_properties_have_statements_of_delta() -> None:
    """What Spark lists as a property may need another statement; what the engine sets needs none."""
    old = {"delta.constraints.old": "a > 0", "x": "1", "delta.minReaderVersion": "1"}
    new = {"delta.constraints.new": "a > 1", "clusteringColumns": '[["a"]]', "comment": "it's", "y": "2"}
    assert alteration(table(A, **old), table(A, **new)).statements == (
        f"{ALTER}SET TBLPROPERTIES ('y' = '2')",
        f"{ALTER}DROP CONSTRAINT `old`",
        f"{ALTER}CLUSTER BY (`a`)",
        f"{ALTER}ADD CONSTRAINT `new` CHECK (a > 1)",
        f"{ALTER}UNSET TBLPROPERTIES ('x')",
        "COMMENT ON TABLE spark_catalog.s.t IS 'it\\'s'",
    )
    assert alteration(table(A, clusteringColumns='[["a"]]'), table(A)).statements == (f"{ALTER}CLUSTER BY NONE",)
