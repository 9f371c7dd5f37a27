"""Differences as statements: what no statement does is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.declared.writer import alteration
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

ID = Column(1, "id", "int", required=True)
NAME = Column(2, "name", "string")
TAGS = (Column(3, "tags", "array<int>"), Column(4, "tags.element", "int"))
SHAPE = Shape("lake.a.t", "u-1", "iceberg", 2, (ID, NAME, *TAGS))


def change(*columns: Column) -> tuple[str, ...]:
    """Return what cannot be done to turn the columns of `SHAPE` into these."""
    return alteration(SHAPE, replace(SHAPE, columns=columns)).impossible


@pytest.mark.parametrize(
    ("columns", "impossible"),
    [
        ((replace(ID, type="string"), NAME, *TAGS), "id cannot change from int to string"),
        ((ID, replace(NAME, required=True), *TAGS), "name cannot begin to refuse nulls"),
        ((ID, replace(NAME, default='"x"'), *TAGS), "the default of name cannot change"),
        ((ID, NAME, *TAGS, Column(9, "x", "int", required=True)), "the new column x refuses nulls"),
        (
            (ID, NAME, replace(TAGS[0], type="array<string>"), Column(9, "tags.element", "string")),
            "tags.element cannot be replaced by another type",
        ),
    ],
)
def test_a_change_that_alter_table_cannot_make_is_named(columns: tuple[Column, ...], impossible: str) -> None:
    """Iceberg or Spark SQL refuses it."""
    [found] = change(*columns)
    assert found.startswith(impossible)


def test_a_format_version_does_not_go_back() -> None:
    """Forward it does."""
    older = replace(SHAPE, format_version=1)
    assert alteration(SHAPE, older).impossible == ("the format version cannot go back from 2 to 1",)
    assert alteration(older, SHAPE).statements == ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('format-version' = '2')",)


def test_the_order_of_partition_fields_is_that_of_their_adding() -> None:
    """A field before one that stays is a change that no statement makes."""
    by_id, by_name = (PartitionField(None, name, name, "identity") for name in ("id", "name"))
    before = replace(SHAPE, partitioning=(by_name,))
    alters = alteration(before, replace(SHAPE, partitioning=(by_id, by_name)))
    assert alters.impossible == ("the order of the partition fields cannot change",)


def test_renames_wait_until_their_new_name_is_free() -> None:
    """A chain of renames runs from its end, after the column that had the last name is dropped."""
    a, b, c = (Column(number, name, "int") for number, name in enumerate("abc", start=1))
    before = replace(SHAPE, columns=(a, b, c))
    after = replace(SHAPE, columns=(replace(a, name="b"), replace(b, name="c")))
    assert alteration(before, after).statements == (
        "ALTER TABLE lake.a.t DROP COLUMN `c`",
        "ALTER TABLE lake.a.t RENAME COLUMN `b` TO `c`",
        "ALTER TABLE lake.a.t RENAME COLUMN `a` TO `b`",
    )


def test_columns_exchange_their_names_by_one_between() -> None:
    """Spark ignores the case of letters, so that another spelling of a name needs one too."""
    swapped = replace(SHAPE, columns=(replace(ID, name="name"), replace(NAME, name="id"), *TAGS))
    assert alteration(SHAPE, swapped).statements == (
        "ALTER TABLE lake.a.t RENAME COLUMN `id` TO `renamed_1`",
        "ALTER TABLE lake.a.t RENAME COLUMN `name` TO `id`",
        "ALTER TABLE lake.a.t RENAME COLUMN `renamed_1` TO `name`",
    )
    other_case = replace(SHAPE, columns=(ID, replace(NAME, name="Name"), *TAGS))
    assert alteration(SHAPE, other_case).statements == (
        "ALTER TABLE lake.a.t RENAME COLUMN `name` TO `renamed_1`",
        "ALTER TABLE lake.a.t RENAME COLUMN `renamed_1` TO `Name`",
    )


def test_a_column_does_not_get_the_name_of_a_partition_field_of_another_one() -> None:
    """Iceberg checks the names of former partition fields too, so that dropping the field first does not help."""
    before = replace(SHAPE, partitioning=(PartitionField(None, "name", "name", "identity"),))
    after = replace(SHAPE, columns=(replace(ID, name="name"), replace(NAME, name="label"), *TAGS))
    assert alteration(before, after).impossible == ("name cannot have the name of a partition field of label",)


def test_a_field_that_iceberg_would_take_for_another_one_is_not_added() -> None:
    """A name may leave out the value of a map, so that `m.value.a` is also that of the field `a` of the field `value`."""
    column = Column(5, "m", "map<string,struct<value:struct<a:int>>>")
    inside = (
        Column(6, "m.key", "string"), Column(7, "m.value", "struct<value:struct<a:int>>"),
        Column(8, "m.value.value", "struct<a:int>"), Column(9, "m.value.value.a", "int"),
    )  # fmt: skip
    before, added = replace(SHAPE, columns=(ID, column, *inside)), Column(None, "m.value.a", "int")
    alters = alteration(before, replace(before, columns=(*before.columns, added)))
    assert alters.impossible == ("Iceberg finds another column by the name m.value.a",)
    other = alteration(before, replace(before, columns=(*before.columns, replace(added, name="m.value.b"))))
    assert other.statements == ("ALTER TABLE lake.a.t ADD COLUMN `m`.`value`.`b` int",)


def test_equal_shapes_need_no_statement() -> None:
    """Equal shapes need no statement, nor do other owners and a comment of no characters."""
    same = replace(SHAPE, properties={"owner": "ann"}, columns=(replace(ID, comment=""), NAME, *TAGS))
    assert alteration(SHAPE, same).statements == ()


def test_a_column_is_dropped_after_the_sort_order_and_the_identifiers_that_name_it() -> None:
    """Iceberg refuses to drop a column that either of them names."""
    sorting = (SortField("name", "identity", "asc", "first"), SortField("id", "identity", "asc", "first"))
    other = replace(NAME, required=True)
    before = replace(SHAPE, columns=(ID, other, *TAGS), sorting=sorting, identifiers=("id", "name"))
    after = replace(SHAPE, columns=(ID, *TAGS), sorting=sorting[1:], identifiers=("id",))
    assert alteration(before, after).statements == (
        "ALTER TABLE lake.a.t DROP IDENTIFIER FIELDS `name`",
        "ALTER TABLE lake.a.t WRITE UNORDERED",
        "ALTER TABLE lake.a.t DROP COLUMN `name`",
        "ALTER TABLE lake.a.t WRITE LOCALLY ORDERED BY `id` ASC NULLS FIRST",
        "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('write.distribution-mode')",
    )


def test_an_identifier_in_a_struct_is_dropped_before_a_rename_around_it() -> None:
    """Iceberg refuses the rename otherwise, because it looks for the identifier by its former name."""
    box = (Column(7, "box", "struct<a:int>", required=True), Column(8, "box.a", "int", required=True))
    before = replace(SHAPE, columns=(*SHAPE.columns, *box), identifiers=("id", "box.a"))
    case = (replace(box[0], name="case"), replace(box[1], name="case.a"))
    after = replace(before, columns=(*SHAPE.columns, *case), identifiers=("id", "case.a"))
    assert alteration(before, after).statements == (
        "ALTER TABLE lake.a.t DROP IDENTIFIER FIELDS `box`.`a`",
        "ALTER TABLE lake.a.t RENAME COLUMN `box` TO `case`",
        "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS `id`, `case`.`a`",
    )


def test_a_partition_field_is_dropped_by_its_transform() -> None:
    """By a name that is also that of a column, Iceberg would look for the field without a transform."""
    before = replace(SHAPE, partitioning=(PartitionField(None, "name", "name", "bucket[4]"),))
    after = replace(SHAPE, partitioning=())
    assert alteration(before, after).statements == ("ALTER TABLE lake.a.t DROP PARTITION FIELD bucket(4, `name`)",)


def test_the_comment_of_a_table_is_removed_or_emptied() -> None:
    """A table without a comment differs from one with a comment of no characters."""
    commented = replace(SHAPE, properties={"comment": "x"})
    assert alteration(commented, SHAPE).statements == ("ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('comment')",)
    emptied = replace(SHAPE, properties={"comment": ""})
    assert alteration(commented, emptied).statements == ("COMMENT ON TABLE lake.a.t IS ''",)
