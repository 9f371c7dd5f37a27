"""How environments stand with a version, from their states alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.capabilities.tables.compare.compare import EnvironmentState, compare
from glacierbase.capabilities.tables.compare.exporting import export
from glacierbase.capabilities.tables.compare.results import CompareResult, Verdict
from glacierbase.capabilities.tables.compare.state import (
    PartChanges,
    StateResult,
    TableState,
    VersionState,
)
from glacierbase.capabilities.tables.compare.tables import differences
from glacierbase.model.migration import AppliedBy, State
from glacierbase.model.shape import Column, Shape
from glacierbase.record.shapes import ChangeOrigin
from tests.support.project_folder import ProjectFolder
from tests.support.world import World
from tests.unit.history.test_squashes import LATER, OLD, add, squash

NOON = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
ONE, OTHER = "v1:sha256:aaaaaaaa", "v1:sha256:bbbbbbbb"
APPLIED = VersionState(
    "0001", "A change", State.APPLIED, NOON, AppliedBy.RUN, 2, 2, None, (ONE,), ONE, has_file=True, squash=None,
    tables=("lake.a.t",),
)  # fmt: skip
PENDING = replace(
    APPLIED, state=State.PENDING, applied_at=None, applied_by=None, statements_done=0, statements_total=None,
    rendered_checksum=None, tables=(),
)  # fmt: skip
FAILED = replace(PENDING, state=State.FAILED, statements_done=1, statements_total=2, stopped_at=2, tables=("lake.a.t",))
ABANDONED = replace(FAILED, state=State.ABANDONED, stopped_at=None)
GONE = replace(APPLIED, state=State.MISSING, has_file=False)
ID, NAME = Column(1, "id", "bigint", required=True), Column(2, "name", "string")
SHAPE = Shape("lake.a.t", "u-1", "iceberg", 2, (ID,), metadata_location="s3://b/1.json", schema_id=0)
WIDER = replace(SHAPE, columns=(ID, NAME))
# The first version made the table; in the other environment, it was rendered without the column `name`.
FEWER = (PartChanges("0001", ChangeOrigin.MIGRATION, {"table": "1", "column id": "1", "type id": "1"}),)
PARTS = (replace(FEWER[0], parts={**FEWER[0].parts, "column name": "1", "type name": "1"}),)
TABLE = TableState("lake.a.t", SHAPE, True, NOON, True, None, (), FEWER)


def of(*states: VersionState | None, tables: Sequence[TableState | None] = ()) -> CompareResult:
    """Return the comparison of environments that have these states of one version, and these tables."""
    sides = []
    for number, state in enumerate(states):
        table = tables[number] if tables else None
        found = StateResult(
            "shop", f"e{number}", read_at=NOON + timedelta(days=3),
            versions=(state,) if state else (), tables=(table,) if table else (),
        )  # fmt: skip
        sides.append(EnvironmentState(found.environment, found))
    return compare("shop", sides)


def held(shape: Shape | None, **fields: Any) -> TableState:
    """Return a table as the last migration left it."""
    return replace(TABLE, shape=shape, **fields)


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        ((APPLIED, APPLIED), Verdict.EQUAL),
        ((APPLIED, replace(APPLIED, rendered_checksum=OTHER)), Verdict.VARIABLES),
        ((APPLIED, replace(APPLIED, rendered_checksum=None)), Verdict.EQUAL),
        ((APPLIED, replace(APPLIED, applied_by=AppliedBy.BASELINE)), Verdict.BASELINED),
        ((replace(APPLIED, applied_by=AppliedBy.BASELINE),) * 2, Verdict.EQUAL),
        ((PENDING, PENDING), Verdict.PENDING),
        ((PENDING, None), Verdict.PENDING),
        ((APPLIED, PENDING), Verdict.BEHIND),
        ((APPLIED, replace(PENDING, state=State.OUT_OF_ORDER)), Verdict.BEHIND),
        ((APPLIED, None), Verdict.BEHIND),
        ((APPLIED, replace(APPLIED, checksums=(OTHER,))), Verdict.EDITED),
        ((APPLIED, replace(PENDING, checksums=(OTHER,))), Verdict.EDITED),
        ((replace(APPLIED, state=State.CHANGED),) * 2, Verdict.EDITED),
        ((GONE, None), Verdict.EXTRA),
        ((replace(GONE, state=State.AHEAD), None), Verdict.EXTRA),
        ((GONE, GONE), Verdict.MISSING),
        ((GONE, APPLIED), Verdict.EQUAL),
        ((ABANDONED, APPLIED), Verdict.ABANDONED),
        ((ABANDONED, ABANDONED), Verdict.EQUAL),
        ((ABANDONED, replace(ABANDONED, statements_done=0)), Verdict.ABANDONED),
        ((FAILED, APPLIED), Verdict.FAILED),
        ((FAILED, FAILED), Verdict.FAILED),
        ((replace(FAILED, state=State.INTERRUPTED), APPLIED), Verdict.INTERRUPTED),
        ((replace(FAILED, state=State.RUNNING), APPLIED), Verdict.RUNNING),
        ((replace(FAILED, state=State.UNKNOWN), FAILED, APPLIED), Verdict.UNKNOWN),
    ],
)
def test_a_version_has_one_verdict(states: tuple[VersionState | None, ...], verdict: Verdict) -> None:
    """The most serious one, in either order of the environments."""
    for order in (states, states[::-1]):
        result = of(*order)
        assert [each.verdict for each in result.versions] == [verdict]
        assert result.differs is verdict.is_difference


def test_a_state_has_its_age_when_it_was_read() -> None:
    """Counted from the newest time of reading, so that a file that is old shows no other age."""
    line = of(APPLIED, PENDING).lines()[0]
    assert not isinstance(line, str)
    assert line.rows == (("0001", "applied 3d", "pending", "behind", "A change"),)


def test_ids_and_places_are_no_difference_of_a_table() -> None:
    """Each environment has other uuids, field ids, schema ids and metadata."""
    other = replace(
        SHAPE, uuid="u-2", columns=(replace(ID, id=7),), metadata_location="s3://c/9.json", schema_id=4,
        properties={"owner": "bob"},
    )  # fmt: skip
    result = of(APPLIED, APPLIED, tables=[TABLE, held(other)])
    assert [each.verdict for each in result.tables] == ["equal"]
    assert not result.differs


def test_the_environment_that_differs_is_named_and_not_the_others() -> None:
    """The commonest shape is the one to compare with, whatever the order of the environments."""
    for tables in ([held(WIDER), TABLE, TABLE], [TABLE, TABLE, held(WIDER)]):
        [table] = of(APPLIED, APPLIED, APPLIED, tables=tables).tables
        [found] = table.differences
        assert found.environment == f"e{tables.index(held(WIDER))}"
        assert (found.cause.value, found.line()) == ("unexplained", "+ column name: string")


def test_a_difference_that_the_versions_explain_is_not_one_by_itself() -> None:
    """The text has rows for the versions, and none for the difference."""
    result = of(APPLIED, PENDING, tables=[held(WIDER, parts=PARTS), TABLE])
    [found] = result.tables[0].differences
    assert (found.cause.value, found.versions) == ("versions", ("0001",))
    assert "name" not in str(result.lines())
    [gone] = of(APPLIED, PENDING, tables=[TABLE, None]).tables
    assert [(each.environment, each.cause.value) for each in gone.differences] == [("e1", "versions")]


RENDERED = replace(APPLIED, rendered_checksum=OTHER)


@pytest.mark.parametrize(
    ("parts", "cause"),
    [
        (PARTS, "variables"),
        ((*PARTS, PartChanges("0002", ChangeOrigin.OUTSIDE, {"column name": None})), "outside"),
        ((*PARTS, PartChanges("0002", ChangeOrigin.NOT_RECORDED, {"column name": None})), "unexplained"),
        ((*PARTS, PartChanges("0002", ChangeOrigin.OUTSIDE, {"property note": None})), "variables"),
        ((*FEWER, replace(PARTS[0], parts={"column name": None})), "unexplained"),
        (None, "unexplained"),
    ],
)
def test_a_column_is_a_variables_only_where_a_statement_determines_it(
    parts: tuple[PartChanges, ...] | None, cause: str
) -> None:
    """A statement on another part proves nothing, and a query determines no column."""
    [table] = of(APPLIED, RENDERED, tables=[TABLE, held(WIDER, parts=parts)]).tables
    found = {each.cause.value for each in table.differences}
    assert found == ({"outside", "variables"} if cause == "outside" else {cause})
    assert table.verdict == cause


def test_what_was_altered_by_hand_is_compared_with_the_record_and_only_once() -> None:
    """A rename by hand is a rename, because ids are those of the same table."""
    renamed = replace(SHAPE, columns=(replace(ID, name="user_id"),))
    [table] = of(APPLIED, APPLIED, tables=[TABLE, held(SHAPE, altered=tuple(differences(SHAPE, renamed)))]).tables
    assert [(each.cause.value, each.line()) for each in table.differences] == [("outside", "~ column: id -> user_id")]


def test_a_table_that_could_not_be_read_is_compared_by_its_record() -> None:
    """A warning says why, and of when the record is. Without a record, nothing is claimed."""
    unread = replace(TABLE, unread="no answer")
    result = of(APPLIED, APPLIED, tables=[TABLE, unread])
    assert result.tables[0].verdict == "equal"
    assert result.warnings == (
        "e1: 1 table not read: no answer; 1 compared by their records, the oldest of 2026-11-02 12:00:00 UTC",
    )
    blank = replace(unread, is_recorded=False, shape=None, recorded_at=None)
    result = of(APPLIED, APPLIED, tables=[TABLE, blank])
    assert (result.tables[0].verdict, result.differs) == ("unknown", False)


def test_a_table_that_exists_nowhere_is_left_out() -> None:
    """Such as a view, or a table that a file dropped."""
    assert of(APPLIED, APPLIED, tables=[held(None), held(None)]).tables == ()


def test_a_table_that_an_applied_version_does_not_name_here_is_not_called_missing() -> None:
    """The statements were not understood, or a squash was applied in its place."""
    result = of(APPLIED, replace(APPLIED, tables=()), tables=[TABLE, None])
    assert ([each.verdict for each in result.tables], result.differs) == (["unknown"], False)


def test_a_table_that_a_version_makes_in_some_environments_only_is_by_design() -> None:
    """Such as one for each region in a list of variables."""
    renders = replace(APPLIED, rendered_checksum=OTHER, tables=("lake.a.t", "lake.a.u"))
    sides = [
        EnvironmentState("dev", StateResult("shop", "dev", read_at=NOON, versions=(APPLIED,), tables=(TABLE,))),
        EnvironmentState(
            "prod",
            StateResult(
                "shop", "prod", read_at=NOON, versions=(renders,), tables=(TABLE, replace(TABLE, table="lake.a.u"))
            ),
        ),
    ]
    result = compare("shop", sides)
    assert [(each.table, each.verdict) for each in result.tables] == [("lake.a.t", "equal"), ("lake.a.u", "variables")]
    assert not result.differs


def states_of(world: World, name: str) -> StateResult:
    return export(world.target(), StateResult("shop", name))


@pytest.mark.parametrize("is_older", [False, True])
def test_a_squash_counts_as_the_versions_that_it_replaces(project: ProjectFolder, is_older: bool) -> None:
    """An environment that has the files and one that began with the squash have had the same updates."""
    old, new = World(project), World(project)
    add(old, OLD)
    old.migrate()
    before = states_of(old, "old")
    squash(old)
    assert [each.version for each in states_of(new, "new").versions if each.state is State.PENDING] == [
        "0001", "0002", "0003",
    ]  # fmt: skip
    new.migrate()
    add(new, LATER)
    sides = [before if is_older else states_of(old, "old"), states_of(new, "new")]
    result = compare("shop", [EnvironmentState(each.environment, each) for each in sides])
    assert [(each.version, str(each.verdict)) for each in result.versions] == [
        ("0001", "equal"), ("0002", "equal"), ("0003", "equal"), ("0004", "pending"), ("0005", "pending"),
    ]  # fmt: skip
    assert result.versions[0].states["new"].squash == "0003"
