"""The record of tables under everything that happens to runs, against who changed what in truth.

Random sequences of migrations, runs that end at any step, failures, lost answers, `repair`, `baseline` and changes by hand, on real
Iceberg tables. A change is never blamed on anybody else: a record may only be missing, and is called so.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply import recover
from glacierbase.apply.evidence import Decision
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution
from glacierbase.capabilities.tables.blame import BlameResult, blame
from glacierbase.capabilities.tables.drift import DriftClass, DriftResult, drift
from glacierbase.errors import GlacierbaseError
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.model.migration import State
from glacierbase.model.shape import Shape
from glacierbase.record.shapes import table_records
from glacierbase.record.table_search import TableSearch
from glacierbase.record.tables import TableChoice
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.witnessed import HAND, Witness

TABLES = ("t", "u")
T = "ALTER TABLE lake.a.t"
# Statements of files that run without an incident, and statements by hand.
WELL = [
    ": CREATE TABLE lake.a.t (id BIGINT) USING iceberg", f": {T} ADD COLUMN b STRING; {T} ADD COLUMN c STRING",
    f"{HAND}: {T} ADD COLUMN d STRING", f": {T} RENAME COLUMN b TO e", f"{HAND}: {T} RENAME COLUMN c TO f",
    f": {T} SET TBLPROPERTIES ('p'='1')", ": CREATE TABLE lake.a.u (id BIGINT) USING iceberg",
    f"{HAND}: {T} SET TBLPROPERTIES ('p'='2')", f": {T} DROP COLUMN d", f": {T} ADD COLUMN d STRING",
]  # fmt: skip


class Story:
    """A sequence of what happens, chosen by chance.

    Attributes:
        told: what happened, in order.
        exact: how many parts of tables were blamed on who made them, and how many are called not recorded.
    """

    def __init__(self, project: ProjectFolder, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = Witness(project)
        self.told: list[str] = []
        self.exact = self.unknown = 0
        self._version = self._name = 0

    def file(self) -> None:
        """Write a file of one to three statements."""
        self._version += 1
        statements = [self._statement() for _ in range(self.random.randint(1, 3))]
        self._tell("file", self._version, "; ".join(statements))
        self.world.file(f"{self._version}_a.sql", ";\n".join(statements))

    def migrate(self) -> None:
        """Apply all files. The run may be killed, lose an answer or its lock, or not be able to read tables."""
        step, chance = self.random.randint(1, 40), self.random.random()
        if chance < 0.4:
            self._call(f"migrate, killed at {step}", self.world.migrate, step)
            return
        if chance < 0.55:
            self.world.meanwhile_at = self.world.steps + step
            self.world.meanwhile = lambda: self._other_run(step)
        elif chance < 0.7:
            self.world.loses_answers = True
        with self._reads(fail=chance > 0.85):
            self._call(f"migrate, {chance:.2f}", self.world.migrate)

    def _other_run(self, step: int) -> None:
        try:
            self.world.migrate()
        except GlacierbaseError as error:
            self._tell("another run at", step, error.code)
        else:
            self._tell("another run at", step, "done")

    @contextmanager
    def _reads(self, *, fail: bool) -> Iterator[None]:
        """Let one in three looks at a table in the block fail."""

        def read(reader: ShapeReader, table: str) -> Shape | None:
            if self.random.random() < 0.3:
                lost_answer()
            return original(reader, table)

        original = ShapeReader.read
        with pytest.MonkeyPatch.context() as patch:
            if fail:
                patch.setattr(ShapeReader, "read", read)
            yield

    def by_hand(self) -> None:
        sql = self._statement(is_by_hand=True)
        try:
            self.world.execute(sql)
        except GlacierbaseError:
            return
        self._tell("by hand", sql)

    def settle(self, *, is_calm: bool = False) -> None:
        """Decide what needs a decision, as a person who looked at the tables, or gave up.

        Args:
            is_calm: whether nobody changes a table meanwhile, and nothing is killed.
        """
        for number, record in self.world.state.history.records.items():
            if record.state is State.UNKNOWN:
                index = record.statements_done + 1
                truth = Resolution.DONE if (record.version, index) in self.done else Resolution.NOT_DONE
            elif record.state is State.FAILED:
                truth = Resolution.ABANDONED
            else:
                continue
            if not is_calm and self.random.random() < 0.3:
                self.by_hand()
            dies = 0 if is_calm else self.random.choice((0, 0, self.random.randint(1, 20)))
            self._call(
                f"repair {number} --as {truth}, dies after {dies}",
                lambda number=number, truth=truth: repair(
                    self.world.target(), [number], Decision(truth, "looked", True)
                ),
                dies,
            )

    @property
    def done(self) -> set[tuple[str, int]]:
        return self.world.done

    def _call(self, what: str, call: Any, dies: int = 0) -> None:
        try:
            killed = self.world.run(call, dies)
        except GlacierbaseError as error:
            self._tell(what, error.code)
        else:
            self._tell(what, "killed" if killed else "done")

    def _tell(self, *what: object) -> None:
        self.told.append(" ".join(map(str, what)))

    def _story(self, wrong: object) -> str:
        return "\n".join((str(wrong), *self.told))

    def _statement(self, is_by_hand: bool = False) -> str:
        self._name += 1
        name, chance = self.random.choice(TABLES), self.random
        shape = self.world.shape(name)
        if shape is None and (is_by_hand or chance.random() < 0.8):
            return f"CREATE TABLE lake.a.{name} (id BIGINT) USING iceberg"
        columns = [each.name for each in shape.columns] if shape else []
        column = chance.choice(columns) if columns else "id"
        kinds = [
            f"ALTER TABLE lake.a.{name} ADD COLUMN c{self._name} STRING",
            f"ALTER TABLE lake.a.{name} ADD COLUMN c{self._name} STRING",
            f"ALTER TABLE lake.a.{name} SET TBLPROPERTIES ('p{chance.randint(1, 3)}'='{self._name}')",
            f"ALTER TABLE lake.a.{name} RENAME COLUMN {column} TO c{self._name}",
            f"INSERT INTO lake.a.{name} VALUES (1)",
        ]
        if len(columns) > 1:
            kinds.append(f"ALTER TABLE lake.a.{name} DROP COLUMN {column}")
        if chance.random() < 0.2:
            kinds = [f"DROP TABLE lake.a.{name}", f"ALTER TABLE lake.a.{name} RENAME TO a.{'tu'.replace(name, '')}"]
        if not is_by_hand and chance.random() < 0.1:
            kinds = [
                f"FROBNICATE lake.a.{name} ADD COLUMN c{self._name} STRING",
                "INSERT INTO lake.a.missing VALUES (1)",
            ]
        return chance.choice(kinds)

    def check(self) -> None:
        """Check what every command says of who changed what."""
        for table in TABLES:
            self._check_blame(table)
        self._check_drift()
        self._check_shapes()

    def _check_blame(self, table: str) -> None:
        found = blame(self.world.target(), BlameResult("shop", "default"), TableSearch(f"lake.a.{table}"))
        if found.table != f"lake.a.{table}":
            return
        shape, made = self.world.shape(table), self.world.made.get(table, {})
        if found.dropped or shape is None:
            return
        ids = {each.name: each.id for each in shape.columns}
        for line in found.lines_:
            if line.kind == "column" and line.name in ids:
                who = made["column", ids[line.name] or 0]
            elif line.kind == "property" and ("property", line.name) in made:
                who = made["property", line.name]
            else:
                continue
            said = line.version or (HAND if line.outside else None)
            may_be_hand = HAND if shape.uuid in self.world.moved else None
            assert said in (who, None, may_be_hand), self._story(
                f"{line.kind} {line.name} of {table} is by {who}, not by {said}"
            )
            self.exact += said is not None
            self.unknown += said is None

    def _check_drift(self) -> None:
        for each in drift(self.world.target(), DriftResult("shop", "default"), TableChoice()).drifts:
            if each.class_ not in (DriftClass.STRUCTURAL, DriftClass.PROPERTY):
                continue
            table = each.table.rpartition(".")[2]
            makers = {*self.world.made.get(table, {}).values(), *self.world.gone.get(table, {}).values()}
            assert HAND in makers, self._story(each)

    def _check_shapes(self) -> None:
        """A recorded shape is one that the table has had."""
        for event in self.world.events:
            for record in table_records(event):
                if record.after and record.after.metadata_location in self.world.shapes:
                    truth = self.world.shapes[record.after.metadata_location]
                    assert replace(truth, table="") == replace(record.after, table=""), self._story(record)


def tell(story: Story, length: int) -> None:
    """Let things happen, and check after each of them."""
    for _ in range(length):
        story.file()
        story.migrate()
        story.check()
        if story.random.random() < 0.4:
            story.by_hand()
            story.check()
        story.settle()
        story.check()


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late commit is impossible here, so that no run has to wait for one."""
    monkeypatch.setattr(recover, "_wait", lambda *_: None)


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("seed", range(6, 300))
def test_whatever_happens_to_runs_a_change_is_blamed_on_nobody_else(seed: int, project: ProjectFolder) -> None:
    """Killed, robbed of the lock, refused, repaired and abandoned: `blame` and `drift` name who it was, or say not recorded."""
    tell(Story(project, seed), 10)


def test_of_runs_that_end_well_every_change_has_its_maker(project: ProjectFolder) -> None:
    """Nothing is called not recorded, so that the test above does not pass because nothing is ever blamed."""
    story = Story(project, 7)
    for number, sql in enumerate(WELL, start=1):
        who, _, statement = sql.partition(": ")
        if who == HAND:
            story.world.execute(statement)
        else:
            story.world.file(f"{number}_a.sql", statement)
            story.world.run(story.world.migrate)
        story.check()
    assert (story.exact > 20, story.unknown) == (True, 0)


def test_killed_at_any_step_a_run_leaves_a_true_record_or_none(tmp_path: Path, no_waits: None) -> None:
    """The first files are applied; the steps of the run of the others end it one by one, and a person settles what is open."""
    step, exact, unknown, was_killed = 0, 0, 0, True
    while was_killed:
        step += 1
        story = Story(ProjectFolder(tmp_path / str(step)), step)
        world = story.world
        world.file("1_a.sql", "CREATE TABLE lake.a.t (id BIGINT) USING iceberg")
        world.run(world.migrate)
        world.file("2_a.sql", "ALTER TABLE lake.a.t ADD COLUMN b STRING; ALTER TABLE lake.a.t RENAME COLUMN id TO key")
        world.file("3_a.sql", "ALTER TABLE lake.a.t ADD COLUMN c STRING")
        was_killed = world.run(world.migrate, step)
        story.check()
        story.settle(is_calm=True)
        story.check()
        world.run(world.migrate)
        story.check()
        assert [str(each.state) for each in world.state.history.records.values()] == ["applied"] * 3
        exact, unknown = exact + story.exact, unknown + story.unknown
    assert step > 15
    assert 0 < unknown < exact
