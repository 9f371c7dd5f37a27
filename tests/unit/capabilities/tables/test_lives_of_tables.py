"""`blame`, `schema --at` and `history --column` of tables that changed in every way, against answers written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from glacierbase.model.shape import PartitionField, SortField
from glacierbase.project.project import Project
from tests.support.project_folder import ProjectFolder
from tests.support.story import Story, asked, column, shape

T, U = "lake.a.t", "lake.a.u"
ID, AT = column(1, "id", required=True), column(4, "at", "timestamp")
DAY, HOUR = PartitionField(1000, "at_day", "at", "day"), PartitionField(1002, "at_hour", "at", "hour")
BUCKET = PartitionField(1001, "id_bucket", "id", "bucket[4]")

# Name, version, change and version of the creation, where that is another one.
Blamed: TypeAlias = tuple[str, str, str, str]
Tell: TypeAlias = Callable[[Story], Project]


@pytest.fixture
def tell(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Return the project with a history."""
    return lambda story: asked(story, project, monkeypatch)


def blamed(project: Project, name: str = "t", *kinds: str) -> list[Blamed]:
    """Return the lines of `blame`, of columns by default."""
    [result] = project.blame(name)
    return [
        (
            each.name or each.type,
            each.version or "-",
            each.change,
            (each.created.version or "-") if each.created else "",
        )
        for each in result.lines_
        if each.kind in (kinds or ("column",))
    ]


def columns(project: Project, name: str, at: str | None = None) -> list[str] | None:
    """Return the names of the columns by `schema --at`; None where there is no shape."""
    [result] = project.schema(name, at=at)
    return [each.name for each in result.shape.columns] if result.shape else None


def changes(project: Project, table: str, name: str) -> list[tuple[str, str]]:
    """Return version and changes by `history --column`."""
    [result] = project.history(table=table, column=name)
    return [
        (each.version or "-", "; ".join(difference.line() for difference in each.differences))
        for each in result.changes or ()
    ]


def renamed_twice() -> Story:
    story = (
        Story()
        .file(1, {T: shape(T, ID, column(2, "a", "string"))})
        .file(2, {T: shape(T, ID, column(2, "b", "string"))})
    )
    story.file(3, {T: shape(T, ID, column(2, "c", "string"))})
    return story


def readded() -> Story:
    story = renamed_twice().file(4, {T: shape(T, ID)}).file(5, {T: shape(T, ID, column(3, "a", "string"))})
    return story.file(6, {T: shape(T, ID, column(3, "a", "string", comment="new"))})


def test_a_column_that_was_renamed_twice_keeps_its_line(tell: Tell) -> None:
    """The line names the last rename, the creation, and all former names."""
    project = tell(renamed_twice())
    assert blamed(project) == [("id", "0001", "", ""), ("c", "0003", "renamed from b", "0001")]
    [result] = project.blame("t.a")
    assert [(each.name, each.former_names) for each in result.lines_] == [("c", ("a", "b"))]
    assert [columns(project, "t", at) for at in ("1", "2", "3")] == [["id", "a"], ["id", "b"], ["id", "c"]]


def test_a_column_that_was_dropped_and_added_again_under_its_old_name_is_another_one(tell: Tell) -> None:
    """The line of the new column begins with the second file; the history of the name has both columns."""
    project = tell(readded())
    assert blamed(project) == [("id", "0001", "", ""), ("a", "0006", "another comment", "0005")]
    assert columns(project, "t", "0004") == ["id"]
    first = [
        ("0001", "+ column a: string"), ("0002", "~ column: a -> b"), ("0003", "~ column: b -> c"), ("0004", "- column c: string"),
    ]  # fmt: skip
    assert changes(project, "t", "a") == [*first, ("0005", "+ column a: string"), ("0006", "+ comment a: new")]
    assert changes(project, "t", "C") == first


def test_a_column_dropped_and_added_again_by_one_file_is_another_one(tell: Tell) -> None:
    """Only the field id tells them apart."""
    project = tell(Story().file(1, {T: shape(T, ID, column(2, "a"))}).file(2, {T: shape(T, ID, column(3, "a"))}))
    assert blamed(project) == [("id", "0001", "", ""), ("a", "0002", "", "")]


def test_a_field_inside_a_column_has_its_own_line(tell: Tell) -> None:
    """A rename of the column around it, and a change of a field beside it, are no changes of it."""
    model, firmware = column(3, "device.model", "string"), column(5, "device.firmware", "string")
    story = Story().file(1, {T: shape(T, ID, column(2, "device", "struct<model:string>"), model)})
    both = "struct<model:string,firmware:string>"
    story.file(2, {T: shape(T, ID, column(2, "device", both), model, firmware)})
    moved = [replace(each, name=each.name.replace("device", "sensor")) for each in (model, firmware)]
    story.file(3, {T: shape(T, ID, column(2, "sensor", both), *moved)})
    story.file(4, {T: shape(T, ID, column(2, "sensor", both), replace(moved[0], name="sensor.kind"), moved[1])})
    project = tell(story)
    assert blamed(project, "t.sensor") == [
        ("sensor", "0003", "renamed from device", "0001"),
        ("sensor.kind", "0004", "renamed from sensor.model", "0001"),
        ("sensor.firmware", "0002", "", ""),
    ]
    assert changes(project, "t", "device.model") == [
        ("0001", "+ column device.model: string"), ("0004", "~ column: sensor.model -> sensor.kind"),
    ]  # fmt: skip
    assert columns(project, "t", "2") == ["id", "device", "device.model", "device.firmware"]


def test_a_partition_field_that_replaced_another_is_its_change(tell: Tell) -> None:
    """A renamed column is no change of the fields and the sort order by it; one that was dropped and added is a new one."""
    order = (SortField("at", "identity", "asc", "first"),)
    first = shape(T, ID, AT, partitioning=(DAY, BUCKET))
    second = replace(first, partitioning=(HOUR, BUCKET), sorting=order)
    renamed = replace(
        second, columns=(ID, replace(AT, name="time")), partitioning=(replace(HOUR, source="time"), BUCKET),
        sorting=(replace(order[0], source="time"),),
    )  # fmt: skip
    without = replace(renamed, partitioning=(renamed.partitioning[0],))
    wider = replace(BUCKET, id=1003, transform="bucket[8]")
    story = Story()
    for version, each in enumerate((first, second, renamed, without), start=1):
        story.file(version, {T: each})
    project = tell(story.file(5, {T: replace(without, partitioning=(*without.partitioning, wider))}))
    assert blamed(project, "t", "partition", "sort order") == [
        ("at_hour", "0002", "was day(at)", "0001"),
        ("id_bucket", "0005", "", ""),
        ("time asc nulls first", "0002", "", ""),
    ]
    [result] = project.schema("t", diff="1..5")
    assert [each.line() for each in result.differences or ()] == [
        "~ column: at -> time",
        "~ partitioning: day(at), bucket(4, id) -> hour(time), bucket(8, id)",
        "+ sorting: time asc nulls first",
    ]


def test_properties_and_the_format_version_have_lines(tell: Tell) -> None:
    """A property that was unset has none; the owner, which the engine sets, has none either."""
    story = Story().file(1, {T: shape(T, ID, properties={"a": "1", "b": "1", "owner": "ann"})})
    story.file(2, {T: shape(T, ID, properties={"a": "2", "owner": "ben"})})
    project = tell(story.file(3, {T: replace(shape(T, ID, properties={"a": "2"}), format_version=3)}))
    assert blamed(project, "t", "property", "format") == [
        ("a", "0002", "was 1", "0001"),
        ("iceberg", "0003", "was 2", "0001"),
    ]


@pytest.mark.parametrize("uuids", [("u-1", "u-2"), (None, None)])
def test_a_table_that_was_dropped_and_made_anew_is_another_one(tell: Tell, uuids: tuple[str | None, ...]) -> None:
    """Each point in the history has the table that was there; the history of a column has both lives."""
    one, two = (shape(T, ID, column(2, name), uuid=uuid) for name, uuid in zip("ab", uuids, strict=True))
    project = tell(Story().file(1, {T: one}).file(2, {T: None}).file(3, {T: two}))
    assert blamed(project, "t") == [("id", "0003", "", ""), ("b", "0003", "", "")]
    assert [columns(project, "t", at) for at in ("1", "2", "3")] == [["id", "a"], None, ["id", "b"]]
    [dropped] = project.schema("t", at="2")
    assert (dropped.since and dropped.since.version, dropped.lines()[-1]) == (
        "0002", "dropped: 0002 on 2026-11-02, Team 2: why 2",
    )  # fmt: skip
    assert changes(project, "t", "id") == [
        ("0001", "+ column id: bigint required"),
        ("0002", "- column id: bigint required"),
        ("0003", "+ column id: bigint required"),
    ]


def table_renamed() -> Story:
    story = Story().file(1, {T: shape(T, ID)}).file(2, {T: None, U: shape(U, ID)})
    return story.file(3, {U: shape(U, ID, column(2, "x"))})


def test_a_renamed_table_keeps_its_lines_and_is_found_by_both_names(tell: Tell) -> None:
    """Before the rename it has the old name."""
    project = tell(table_renamed())
    for name in ("t", "u"):
        assert blamed(project, name) == [("id", "0001", "", ""), ("x", "0003", "", "")]
        assert blamed(project, name, "table") == [(U, "0002", f"renamed from {T}", "0001")]
        assert [project.schema(name, at=at)[0].table for at in ("1", "2")] == [T, U]
        assert changes(project, name, "id") == [("0001", "+ column id: bigint required")]


def test_a_new_table_under_the_name_of_a_renamed_one_is_another_one(tell: Tell) -> None:
    """The name means the new one from then on, and the old one before."""
    project = tell(table_renamed().file(4, {T: shape(T, ID, column(2, "y"), uuid="u-2")}))
    assert blamed(project, "t") == [("id", "0004", "", ""), ("y", "0004", "", "")]
    assert [columns(project, "t", at) for at in ("1", "3", "4")] == [["id"], ["id", "x"], ["id", "y"]]
    assert columns(project, "u") == ["id", "x"]


def test_a_change_from_outside_has_no_author_and_a_date_that_is_an_upper_bound(tell: Tell) -> None:
    """The file that found it is named, and not blamed for it; its own change is."""
    story = Story().file(1, {T: shape(T, ID)}).outside({T: shape(T, ID, column(2, "x"))})
    project = tell(story.file(4, {T: shape(T, ID, column(2, "x"), column(3, "y"))}))
    [result] = project.blame("t")
    x, y = (each for each in result.lines_ if each.name in "xy")
    assert (x.version, x.author, x.outside, x.since.seen_by, x.since.at_most) == (None, None, True, "0004", True)
    assert (x.since.day, x.since.why) == ("<= 2026-11-04", "not from a migration, first observed by 0004")
    assert (y.version, y.outside, y.since.day) == ("0004", False, "2026-11-04")
    [before] = project.schema("t", at="2026-11-02")
    assert before.later == x.since
    assert (
        before.lines()[-1]
        == "note: may have changed already: not from a migration, first observed by 0004 on 2026-11-04"
    )


def test_a_table_that_was_there_before_its_first_record_is_not_blamed_on_that_file(tell: Tell) -> None:
    """Columns that are older than the first record have no author."""
    project = tell(Story().outside({T: shape(T, ID)}).file(1, {T: shape(T, ID, column(2, "x"))}))
    [result] = project.blame("t")
    assert [each.since.why for each in result.lines_ if each.kind == "column"] == [
        "before the first record, observed by 0001", "why 1",
    ]  # fmt: skip


def test_a_file_without_a_record_is_a_gap_and_nobody_is_blamed(tell: Tell) -> None:
    """As long as no later file recorded the table, the version is named; what is found then is not recorded."""
    story = Story().file(1, {T: shape(T, ID)}).file(2, {T: shape(T, ID, column(2, "x"))}, recorded=False)
    project = tell(story)
    assert (blamed(project), columns(project, "t")) == ([("id", "0001", "", "")], ["id"])
    assert project.blame("t")[0].not_recorded == project.schema("t")[0].not_recorded == ("0002",)
    assert any("0002 changed it and left no record" in str(line) for line in project.blame("t")[0].lines())
    project = tell(story.file(3, {T: shape(T, ID, column(2, "x"), column(3, "y"))}))
    assert blamed(project) == [("id", "0001", "", ""), ("x", "-", "", ""), ("y", "0003", "", "")]
    assert project.blame("t")[0].lines_[1].since.why == "not recorded, first observed by 0003"
    assert [project.schema("t", at=at)[0].not_recorded for at in ("1", "2", "3")] == [(), ("0002",), ()]


def test_a_table_of_a_history_without_records_is_not_recorded(tell: Tell) -> None:
    """Such as a history of a former version: the table is known, its shape is not."""
    project = tell(Story().file(1, {T: shape(T, ID)}, recorded=False))
    [found] = project.schema("t")
    assert (found.table, found.shape, found.not_recorded) == (T, None, ("0001",))
    assert any("left no record" in str(line) for line in found.lines())
    assert project.blame("t")[0].lines_ == ()


def test_columns_without_ids_are_followed_by_name(tell: Tell) -> None:
    """A renamed column is a new one; where the format begins to have ids, the lines go on."""
    plain, named = shape(T, column(None, "id"), column(None, "a")), shape(T, column(None, "id"), column(None, "b"))
    mapped = shape(T, column(1, "id"), column(2, "b"))
    project = tell(Story().file(1, {T: plain}).file(2, {T: named}).file(3, {T: mapped, U: shape(U, ID, uuid="u-9")}))
    assert blamed(project) == [("id", "0001", "", ""), ("b", "0002", "", "")]
    assert changes(project, "t", "b") == [("0002", "+ column b: bigint")]
    story = Story().file(1, {T: named}).file(2, {T: mapped}).file(3, {T: shape(T, column(1, "id"), column(2, "c"))})
    assert blamed(tell(story)) == [("id", "0001", "", ""), ("c", "0003", "renamed from b", "0001")]


def test_each_line_has_author_and_reason(tell: Tell) -> None:
    """Each line has author and reason of the file, as the history recorded them."""
    story = Story().file(1, {T: shape(T, ID)}, author="Ana", description="first")
    [result] = tell(story).blame("t")
    line = result.lines_[0]
    assert (line.author, line.description, line.at) == ("Ana", "first", story.events[-1].recorded_at)


def test_two_points_between_which_nothing_changed_have_no_differences(tell: Tell) -> None:
    """The text says so."""
    [result] = tell(renamed_twice()).schema("t", diff="3..2026-12-01")
    assert result.differences == ()
    assert "no differences" in result.lines()


def test_the_order_of_identifiers_is_no_difference(tell: Tell) -> None:
    """Identifiers are a set; a table that was made anew has other field ids, which give another order."""
    before = shape(T, ID, column(2, "x", required=True), identifiers=("id", "x"))
    after = replace(before, identifiers=("x", "id"), properties={"a": "b"})
    project = tell(Story().file(1, {T: before}).file(2, {T: after}))
    assert [each.line() for each in project.schema("t", diff="1..2")[0].differences or ()] == ["+ property a: b"]
