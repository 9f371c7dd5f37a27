"""The differences between shapes of tables."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.model.differences import Change, compare
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

ID = Column(1, "id", "bigint", required=True)
NAME = Column(2, "name", "string")
HOME = Column(3, "home", "struct<city:string>")
CITY = Column(4, "home.city", "string")
SHAPE = Shape("lake.a.t", "u-1", "iceberg", 2, (ID, NAME, HOME, CITY))


def lines(after: Shape, before: Shape = SHAPE) -> list[str]:
    """Return the differences of the only table."""
    return [
        difference.line()
        for change in compare({before.table: before}, {after.table: after})
        for difference in change.diff
    ]


def with_columns(*columns: Column) -> Shape:
    return replace(SHAPE, columns=columns)


def test_equal_tables_have_no_difference() -> None:
    """Another location of the metadata, and another owner, are no difference."""
    assert lines(replace(SHAPE, metadata_location="s3://b/2.json", properties={"owner": "ann"})) == []


def test_a_table_of_a_format_without_versions_has_none() -> None:
    """A new table of Snowflake does not list the version `None`."""
    [change] = compare({}, {"t": Shape("t", None, "snowflake", None, (replace(ID, id=None),))})
    assert [each.line() for each in change.diff] == ["+ column id: bigint required"]


def test_a_table_that_was_read_without_an_id_is_not_a_new_one() -> None:
    """Only another id shows that the rows are gone."""
    assert lines(replace(SHAPE, uuid=None)) == lines(SHAPE, replace(SHAPE, uuid=None)) == []
    assert lines(replace(SHAPE, uuid="u-2")) == ["~ table: replaced: its rows are gone -> a new table u-2"]


def test_a_rename_is_a_rename() -> None:
    """Columns are the same if their field ids are."""
    assert lines(with_columns(ID, replace(NAME, name="title"), HOME, CITY)) == ["~ column: name -> title"]


def test_a_column_that_is_dropped_and_added_again_is_not_the_same() -> None:
    """The second column has another field id, and its old values are lost."""
    [change] = compare({"t": SHAPE}, {"t": with_columns(ID, replace(NAME, id=9), HOME, CITY)})
    assert [each.line() for each in change.diff] == ["- column name: string", "+ column name: string"]
    assert change.is_destructive


def test_an_added_column_destroys_nothing() -> None:
    """The change of a table is destructive only where rows or values are lost."""
    [change] = compare({"t": SHAPE}, {"t": with_columns(ID, NAME, HOME, CITY, Column(5, "x", "int"))})
    assert [each.line() for each in change.diff] == ["+ column x: int"]
    assert not change.is_destructive


def test_a_field_inside_a_column_is_compared_by_itself() -> None:
    """The type of the column around it is not listed a second time, and neither is its name."""
    home = replace(HOME, type="struct<city:string,zip:int>")
    assert lines(with_columns(ID, NAME, home, CITY, Column(5, "home.zip", "int"))) == ["+ column home.zip: int"]
    renamed = (replace(HOME, name="address"), replace(CITY, name="address.city"))
    assert lines(with_columns(ID, NAME, *renamed)) == ["~ column: home -> address"]


def test_what_a_column_says_of_itself_is_compared() -> None:
    """Type, nullability, comment and default each have a line."""
    after = Column(2, "name", "varchar(9)", required=True, comment="full", default='"x"')
    assert lines(with_columns(ID, after, HOME, CITY)) == [
        "~ type name: string -> varchar(9)",
        "~ required name: no -> yes",
        "+ comment name: full",
        '+ default name: "x"',
    ]


def test_the_order_of_columns_is_compared() -> None:
    """A moved column is one difference; an added one in front of others is none of the order."""
    assert lines(with_columns(NAME, ID, HOME, CITY)) == ["~ order of columns: id, name, home -> name, id, home"]
    assert lines(with_columns(Column(5, "x", "int"), ID, NAME, HOME, CITY)) == ["+ column x: int"]


def test_partitioning_sorting_identifiers_properties_and_format_are_compared() -> None:
    """Each is one line, written as in SQL."""
    after = replace(
        SHAPE,
        partitioning=(PartitionField(1000, "b", "id", "bucket[16]"), PartitionField(1001, "n", "name", "identity")),
        sorting=(SortField("id", "identity", "asc", "first"),),
        identifiers=("id",),
        properties={"commit.retry.num-retries": "10"},
        format_version=3,
    )
    assert lines(after) == [
        "+ partitioning: bucket(16, id), name",
        "+ sorting: id asc nulls first",
        "+ identifiers: id",
        "+ property commit.retry.num-retries: 10",
        "~ format version: 2 -> 3",
    ]


def test_a_table_whose_name_another_one_takes_is_renamed() -> None:
    """`t` becomes `old` and a new `t` is created, or two tables swap names: no row is lost."""
    old, new = replace(SHAPE, table="lake.a.old"), replace(SHAPE, uuid="u-2")
    changes = compare({"lake.a.t": SHAPE}, {"lake.a.t": new, "lake.a.old": old})
    assert {(each.table, each.change) for each in changes} == {
        ("lake.a.old", Change.RENAMED),
        ("lake.a.t", Change.CREATED),
    }
    assert not any(each.is_destructive for each in changes)
    other = replace(new, table="lake.a.u")
    swapped = {"lake.a.t": new, "lake.a.u": replace(SHAPE, table="lake.a.u")}
    changes = compare({"lake.a.t": SHAPE, "lake.a.u": other}, swapped)
    assert [(each.change, each.is_destructive) for each in changes] == [(Change.RENAMED, False)] * 2


def test_a_second_name_of_a_table_is_created_and_dropped_by_itself() -> None:
    """A table of Delta has as many names as statements give its location; none of them hides a change of another one."""
    second, wider = replace(SHAPE, table="lake.a.z"), with_columns(*SHAPE.columns, Column(9, "x", "int"))
    for first, other in ((SHAPE, second), (replace(SHAPE, table="lake.a.z"), SHAPE)):
        one, both = {first.table: first}, {first.table: wider, other.table: other}
        assert {(change.table, change.change) for change in compare(one, both)} == {
            (first.table, Change.ALTERED),
            (other.table, Change.CREATED),
        }
        [dropped] = compare({first.table: first, other.table: other}, one)
        assert (dropped.table, dropped.change) == (other.table, Change.DROPPED)
        moved = {first.table: replace(first, uuid="u-2"), other.table: replace(other, uuid="u-2")}
        [changed] = compare({first.table: first, other.table: moved[other.table]}, moved)
        assert (changed.table, changed.is_destructive) == (first.table, True)


def test_a_replaced_table_with_the_same_uuid_and_columns_is_a_loss() -> None:
    """Iceberg keeps the uuid at CREATE OR REPLACE TABLE."""
    [change] = compare({"lake.a.t": SHAPE}, {"lake.a.t": SHAPE}, {"lake.a.t"})
    assert (change.change, change.is_destructive) == (Change.ALTERED, True)


def test_tables_are_created_dropped_renamed_and_replaced() -> None:
    """A renamed table keeps its uuid; a replaced one has another under the same name."""
    other = replace(SHAPE, table="lake.a.u", uuid="u-2")
    [created] = compare({}, {"lake.a.t": SHAPE})
    assert (created.change, created.before, created.is_destructive) == (Change.CREATED, None, False)
    [dropped] = compare({"lake.a.t": SHAPE}, {})
    assert (dropped.change, dropped.after, dropped.is_destructive) == (Change.DROPPED, None, True)
    [renamed] = compare({"lake.a.t": SHAPE}, {"lake.a.u": replace(other, uuid="u-1")})
    assert (renamed.change, renamed.table, renamed.is_destructive) == (Change.RENAMED, "lake.a.u", False)
    [replaced] = compare({"lake.a.t": SHAPE}, {"lake.a.t": replace(SHAPE, uuid="u-2")})
    assert (replaced.change, replaced.is_destructive) == (Change.ALTERED, True)
    both = compare({"lake.a.t": SHAPE}, {"lake.a.u": other})
    assert [(each.table, each.change) for each in both] == [("lake.a.t", Change.DROPPED), ("lake.a.u", Change.CREATED)]
