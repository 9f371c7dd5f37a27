"""Names of tables and columns, points in a history, filters of `history`, the changes in `show`, and statements from a shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from glacierbase.cli import main
from glacierbase.errors import ConfigurationError
from glacierbase.model.migration import EventType, State
from glacierbase.model.shape import Shape
from glacierbase.project.project import Project
from glacierbase.record.points import point_given, since_given
from tests.support.hostile import PAYLOAD, check_safe
from tests.support.project_folder import ProjectFolder
from tests.support.story import Story, asked, column, shape

T, U = "lake.a.t", "lake.b.u"
ID = column(1, "id", required=True)
NOW = datetime(2026, 11, 20, 10, tzinfo=timezone.utc)


@pytest.fixture
def tell(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[[Story], Project]:
    """Return the project with a history."""
    return lambda story: asked(story, project, monkeypatch)


def code(call: Callable[[], object]) -> tuple[str, str]:
    """Return code and hint of the error that a call ends with."""
    with pytest.raises(ConfigurationError) as caught:
        call()
    return caught.value.code, caught.value.hint


def of(name: str) -> Shape:
    return shape(name, ID, uuid=name)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("lake.a.events", "lake.a.events"),
        ("a.events", "lake.a.events"),
        ("LAKE.A.Events", "lake.a.events"),
        ("lake.b.t", "lake.b.t"),
        ("lake.b.T", "lake.b.T"),
        ("`my-table`", "lake.a.`my-table`"),
        ("a.my-table", "lake.a.`my-table`"),
        ("old", "lake.a.old"),
    ],
)
def test_a_table_is_found_by_as_much_of_its_name_as_is_unique(
    tell: Callable[[Story], Project], written: str, meant: str
) -> None:
    """The first parts may be left out, and letters of the other case are accepted where one table remains."""
    names = ("lake.a.events", "lake.b.events", "lake.b.t", "lake.b.T", "lake.a.`my-table`")
    story = Story().file(1, {name: of(name) for name in names}).file(2, {"lake.a.old": of("x")}, recorded=False)
    assert tell(story).schema(written)[0].table == meant


def test_a_name_of_several_tables_is_an_error_that_lists_them(tell: Callable[[Story], Project]) -> None:
    """A name of several tables is an error that lists them, also where only the case of letters differs."""
    names = ("lake.a.events", "lake.b.events", "lake.b.t", "lake.b.T")
    project = tell(Story().file(1, {name: of(name) for name in names}))
    for name, candidates in (("events", ["lake.a.events", "lake.b.events"]), ("LAKE.B.T", ["lake.b.T", "lake.b.t"])):
        with pytest.raises(ConfigurationError) as caught:
            project.blame(name)
        assert (caught.value.code, caught.value.data["candidates"]) == ("AMBIGUOUS_TABLE", candidates)


def test_a_table_is_the_same_one_however_files_write_its_name(tell: Callable[[Story], Project]) -> None:
    """A file may leave out the catalog; the record has the qualified name."""
    story = Story().file(1, {"b.t": shape("lake.b.t", ID)}).file(2, {"lake.b.t": shape("lake.b.t", ID, column(2, "x"))})
    project = tell(story.file(3, {"b.t": shape("lake.b.t", ID)}, recorded=False))
    for name in ("b.t", "lake.b.t", "t"):
        [found] = project.schema(name)
        assert (found.table, found.not_recorded) == ("lake.b.t", ("0003",))
        assert [each.version for each in project.blame(name)[0].lines_ if each.kind == "column"] == ["0001", "0002"]
        assert rows(project, table=name) == ["0001", "0002", "0003"]


def test_an_unknown_table_or_column_is_an_error_with_the_nearest_name(tell: Callable[[Story], Project]) -> None:
    """Each command reports an unknown table or column with the nearest name."""
    project = tell(Story().file(1, {"lake.a.events": shape("lake.a.events", ID, column(2, "device"))}))
    unknown = ("UNKNOWN_TABLE", "did you mean a.events?")
    for call in (
        lambda: project.schema("a.event"),
        lambda: project.blame("a.event"),
        lambda: project.history(table="a.event"),
    ):
        assert code(call) == unknown
    column_ = ("UNKNOWN_COLUMN", "did you mean device?")
    assert code(lambda: project.blame("events.devices")) == column_
    assert code(lambda: project.history(table="events", column="devices")) == column_
    assert code(lambda: project.history(column="device"))[0] == "USAGE"
    assert code(lambda: project.schema("..."))[0] == "UNKNOWN_TABLE"


def test_a_table_of_one_of_several_catalogs_is_no_error(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others say that they have none, and have no statements."""
    told = asked(Story().file(1, {T: of(T)}), project, monkeypatch)
    from glacierbase.project import each as running

    [target] = running.load_targets(project.root, (), told.held_locks, ())
    project.catalog((project.root / "catalogs/shop.yaml").read_text(), "web")
    other = replace(target, catalog=replace(target.catalog, name="web"))
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [target, other])
    both = Project.load(project.root)
    assert [each.table for each in both.schema("t")] == [each.table for each in both.blame("t")] == [T, None]
    assert both.schema("t")[1].lines() == both.blame("t")[1].lines() == ["no such table"]
    assert both.schema("t", sql=True)[1].sql is None


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-20", datetime(2026, 11, 20, 23, 59, 59, 999999, timezone.utc)),
        ("2026-11-20T10:30:00Z", datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)),
        ("2026-11-20T10:30", datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)),
        ("2026-11-20 10", datetime(2026, 11, 20, 10, tzinfo=timezone.utc)),
        ("2026-11-20T10:30:00+02:00", datetime(2026, 11, 20, 8, 30, tzinfo=timezone.utc)),
    ],
)
def test_a_point_is_a_version_or_a_time(text: str, instant: datetime) -> None:
    """A date is its end in UTC, a time without a zone is in UTC, digits are a version."""
    assert point_given(text).instant == instant
    assert (point_given("20261120").version, point_given("0003").version) == (20261120, 3)


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-13-01", "2026-11", "3..5", "-1", "7d", "٣", "2026-W45-1", "20261101T1200"]
)
def test_a_point_that_is_neither_is_an_error(text: str, tell: Callable[[Story], Project]) -> None:
    """Before anything is read."""
    project = tell(Story())
    assert code(lambda: project.schema("t", at=text))[0] == "INVALID_TIME"


def test_a_point_that_is_empty_is_an_error(tell: Callable[[Story], Project]) -> None:
    """One side of a comparison, too: it usually comes from a variable that is not set."""
    project = tell(Story())
    assert code(lambda: project.schema("t", at="\n"))[0] == "EMPTY_VALUE"
    for diff in ("..", "1..", "..1"):
        with pytest.raises(ConfigurationError, match=rf"^{diff} is not A\.\.B$"):
            project.schema("t", diff=diff)


def test_since_is_no_version() -> None:
    """The error says which times are possible."""
    with pytest.raises(ConfigurationError, match=r"^0002 is no time$") as caught:
        since_given("0002", NOW)
    assert caught.value.hint.endswith("2026-11-20T10:30:00Z, or 7d")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("90m", NOW - timedelta(minutes=90)),
        ("12h", NOW - timedelta(hours=12)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-19", datetime(2026, 11, 19, tzinfo=timezone.utc)),
        ("999999w", datetime.min.replace(tzinfo=timezone.utc)),
    ],
)
def test_since_is_a_time_or_a_duration_before_now(text: str, instant: datetime) -> None:
    """A date is its begin in UTC."""
    assert since_given(text, NOW) == instant


def test_a_version_that_never_ran_is_no_point(tell: Callable[[Story], Project]) -> None:
    """A comparison needs two points, and excludes `--at` and statements."""
    project = tell(Story().file(1, {T: of(T)}))
    assert code(lambda: project.schema("t", at="7"))[0] == "UNKNOWN_VERSION"
    assert code(lambda: project.schema("t", diff="1"))[0] == "INVALID_TIME"
    assert code(lambda: project.schema("t", diff="1..2", at="1"))[0] == "CONFLICTING_OPTIONS"
    assert code(lambda: project.schema("t", diff="1..2", sql=True))[0] == "CONFLICTING_OPTIONS"


def test_versions_are_points_in_the_order_in_which_they_ran(tell: Callable[[Story], Project]) -> None:
    """A lower version that ran later is the later point; a failed file is one too."""
    story = Story().file(5, {T: shape(T, ID)}).file(
        3, {T: shape(T, ID, column(2, "x"))}, event=EventType.FAILED, state=State.FAILED
    )  # fmt: skip
    project = tell(story)
    columns = [
        [each.name for each in found.columns] for at in ("5", "3") if (found := project.schema("t", at=at)[0].shape)
    ]
    assert columns == [["id"], ["id", "x"]]
    assert project.blame("t.x")[0].lines_[0].version == "0003"


def rows(project: Project, **filters: str) -> list[str]:
    """Return the versions of the outcomes; those of the events are the same."""
    [result] = project.history(**filters)
    found = [each.version for each in result.outcomes]
    assert list(dict.fromkeys(each.version for each in result.events)) == list(dict.fromkeys(found))
    return found


def test_the_filters_of_history_can_be_combined(tell: Callable[[Story], Project]) -> None:
    """Every one given must fit, for outcomes and events alike; the events are all of the file."""
    story = (
        Story()
        .file(1, {T: of(T)}, author="Ana")
        .file(2, {U: of(U)}, author="Ben")
        .file(3, {T: of(T), U: of(U)}, author="Ana M")
    )
    project = tell(story)
    assert rows(project) == ["0001", "0002", "0003"]
    assert rows(project, table="t") == ["0001", "0003"]
    assert rows(project, author="ana") == ["0001", "0003"]
    assert rows(project, author="ANA", table="u") == ["0003"]
    assert rows(project, since="2026-11-02") == ["0002", "0003"]
    assert rows(project, version="2") == rows(project, version="0002", table="b.u") == ["0002"]
    assert rows(project, version="2", table="t") == []
    [none] = project.history(author="nobody")
    assert (none.total, none.lines()) == (6, ["no outcome fits the options; the history has 6 events"])
    assert none.event_lines() == ["no event fits the options; the history has 6 events"]
    [found] = project.history(table="t")
    assert [each.event for each in found.events] == ["started", "applied"] * 2


def test_the_history_of_a_table_follows_its_former_names(tell: Callable[[Story], Project]) -> None:
    """What a new table under the former name went through is not part of it; what is recorded nowhere is found by name."""
    story = Story().file(1, {U: of(U)}, recorded=False).file(2, {T: shape(T, ID)}).file(3, {T: None, U: shape(U, ID)})
    story.file(4, {T: shape(T, ID, uuid="new")}).file(5, {U: shape(U, ID, column(2, "x"))})
    project = tell(story)
    assert rows(project, table="u") == ["0001", "0002", "0003", "0005"]
    assert rows(project, table="t") == ["0004"]


def test_the_history_of_a_column_has_its_changes_only(tell: Callable[[Story], Project]) -> None:
    """Filters apply to them; a change from outside has no author, so that none fits."""
    story = Story().file(1, {T: shape(T, ID)}).file(2, {T: shape(T, ID, column(2, "x", "int"))}, author="Ben")
    story.file(3, {T: shape(T, ID, column(2, "x", "int"), column(3, "z"))})
    story.outside({T: shape(T, ID, column(2, "x"), column(3, "z"))})
    project = tell(story.file(4, {T: shape(T, ID, column(2, "y"), column(3, "z"))}))
    [result] = project.history(table="t", column="x")
    assert [(each.version, each.outside) for each in result.changes or ()] == [
        ("0002", False), (None, True), ("0004", False),
    ]  # fmt: skip
    assert [each.version for each in result.events] == ["0002", "0004"]
    assert [each.version for each in project.history(table="t", column="x", author="team 4")[0].changes or ()] == [
        "0004"
    ]
    assert project.history(table="t", column="x", since="2026-11-05")[0].changes == ()
    assert project.history(table="t", column="x", since="2026-11-05")[0].lines() == [
        "no change fits the options; the history has 8 events"
    ]


def test_a_column_needs_no_quotes(tell: Callable[[Story], Project]) -> None:
    """`history` reads its name as `blame` does: only a dot inside a name needs them."""
    project = tell(Story().file(1, {T: shape(T, ID, column(2, "`my column`"), column(3, "`a.b`"))}))
    for name in ("my column", "`my column`", "`a.b`"):
        assert len(project.history(table="t", column=name)[0].changes or ()) == 1
        assert len(project.blame(f"t.{name}")[0].lines_) == 1


def test_a_table_that_a_file_only_looked_for_is_not_recorded(tell: Callable[[Story], Project]) -> None:
    """`DROP TABLE IF EXISTS` of a table that never was leaves a record of its absence."""
    project = tell(Story().file(1, {T: None}))
    for at in (None, "2026-10-01"):
        assert project.schema("t", at=at)[0].lines() == [T, "not recorded: no file had created or changed it"]


def test_show_tells_what_a_version_made_from_what_it_found(tell: Callable[[Story], Project]) -> None:
    """What was changed from outside comes first, and is named as such."""
    story = Story().file(1, {T: shape(T, ID)}).outside({T: shape(T, ID, column(2, "x"))})
    project = tell(story.file(2, {T: shape(T, ID, column(2, "x", comment="c")), U: of(U)}).file(3, {T: None}))
    [found] = project.show("2")
    assert [(each.table, str(each.change), str(each.origin), [one.line() for one in each.diff]) for each in found.tables] == [
        (T, "altered", "outside", ["+ column x: bigint"]),
        (T, "altered", "migration", ["+ comment x: c"]),
        (U, "created", "migration", ["+ column id: bigint required", "+ format version: 2"]),
    ]  # fmt: skip
    text = "\n".join(map(str, found.lines()))
    assert f"table {T}: altered (found before it, not from a migration)" in text
    assert [str(each.change) for each in project.show("3")[0].tables] == ["dropped"]


def test_statements_are_those_of_the_whole_table_or_an_error(tell: Callable[[Story], Project]) -> None:
    """Nothing is left out silently: neither a part that SQL cannot say, nor a record that is missing."""
    story = Story().file(1, {T: shape(T, ID, properties={"write.data.path": "s3://b"})})
    project = tell(story)
    [made] = project.schema("t", sql=True)
    assert (made.sql or "").splitlines()[:2] == [
        "-- left out: the property write.data.path, which says where files are", "CREATE TABLE lake.a.t (",
    ]  # fmt: skip
    changes: list[tuple[dict[str, Shape | None], bool]] = [
        ({T: shape(T, ID, column(2, "x", "uuid"))}, True),
        ({T: replace(shape(T, ID, column(2, "x")), format="delta")}, True),
        ({T: shape(T, ID)}, False),
        ({T: None}, True),
    ]
    for changed, recorded in changes:
        project = tell(Story().file(1, {T: shape(T, ID)}).file(2, changed, recorded=recorded))
        assert code(lambda: project.schema("t", sql=True))[0] == "NO_STATEMENTS"  # noqa: B023 (called at once)


def test_sql_is_a_script_and_nothing_else(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warnings and titles are comments, so that the output can be run."""
    asked(Story().file(1, {T: shape(T, ID)}), project, monkeypatch)
    with pytest.raises(SystemExit) as caught:
        main(["schema", "t", "--format", "sql"])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("--")]
    assert (caught.value.code, lines[0]) == (0, "CREATE TABLE lake.a.t (")


def test_a_catalog_without_the_table_is_a_comment_of_the_script() -> None:
    """Several catalogs are asked; the output can be run as it is."""
    from glacierbase.capabilities.tables.schema import SchemaResult
    from glacierbase.output.documents import text_document

    found = SchemaResult("shop", "prod", table="lake.a.t", sql="CREATE TABLE lake.a.t (id INT);\n")
    others = [
        SchemaResult("web", "prod", warnings=("the history is old",)),
        SchemaResult("old", "prod", skipped="no prod"),
    ]
    lines = text_document([found, *others]).splitlines()
    assert [line for line in lines if line and not line.startswith("--")] == ["CREATE TABLE lake.a.t (id INT);"]
    assert "--   no such table" in lines
    assert "--" not in text_document(others)


def test_hostile_names_and_values_are_text(tell: Callable[[Story], Project]) -> None:
    """Wherever a table, a file or a caller can put them."""
    from glacierbase.inspect.history import HistoryResult
    from glacierbase.output.documents import text_document

    name = f"lake.a.`{PAYLOAD.replace('`', '')}`"
    hostile = shape(
        name, column(1, f"`{PAYLOAD.replace('`', '')}`", "string", comment=PAYLOAD, default=PAYLOAD),
        properties={PAYLOAD: PAYLOAD},
    )  # fmt: skip
    story = Story().file(1, {name: hostile}, author=PAYLOAD, description=PAYLOAD)
    project = tell(story.file(2, {name: replace(hostile, properties={PAYLOAD: "2"})}))
    results = (
        *project.schema(name), *project.schema(name, diff="1..2"), *project.blame(name), *project.show("2"),
        *project.history(table=name, column=hostile.columns[0].name),
    )  # fmt: skip
    for result in results:
        check_safe(text_document([result]))
    check_safe(text_document(project.history(table=name), HistoryResult.event_lines))
