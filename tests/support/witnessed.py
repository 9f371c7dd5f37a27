"""A project on real Iceberg tables without an engine, whose runs end at any step, and the truth about who changed what."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from glacierbase.errors import StatementRefused
from glacierbase.executors.pyiceberg.shape import shape_of
from glacierbase.model.shape import Shape
from tests.support.fakes import FakeExecutor, FakeSession, lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

HAND = "by hand"
# What a part of a table is found by: `column`, `property` or `table`, and its field id, its key or nothing.
Part = tuple[str, int | str]

_STATEMENT = re.compile(
    r"(?P<verb>CREATE|DROP|ALTER|INSERT INTO|FROBNICATE)(?: TABLE)? lake\.a\.(?P<table>\w+)"
    r"(?: (?P<change>ADD COLUMN|ALTER COLUMN|DROP COLUMN|RENAME COLUMN|RENAME TO|SET TBLPROPERTIES) ?(?P<rest>.*))?"
)


class Killed(BaseException):
    """The run ended here: nothing that it would have done afterwards happens."""


class Witness(World):
    """A project whose statements change tables of Iceberg through PyIceberg.

    Attributes:
        made: by table and part, who made it what it is: a version, or `HAND`.
        gone: by table, who dropped the columns and properties of these names, and the table itself under "".
        moved: the ids of tables that were renamed by hand: under its new name, a table may be called one from outside.
        shapes: every shape that a table ever had, by the location of its metadata.
        steps: how many steps runs have done; a step is before or after a call of the store, or a statement.
        dies_at: the step at which the run ends; 0 for none.
        meanwhile, meanwhile_at: what another process does at a step, which takes the lock of the run for one of a dead process.
        loses_answers: whether the next append is committed twice, and not answered.
        done: the statements that took effect, each by version and index.
        others: what another client does at a step, by its number.
        times: by the table and the part that another client changed last, when it was committed.
    """

    def __init__(self, project: ProjectFolder) -> None:
        super().__init__(project)
        warehouse = project.root / "warehouse"
        warehouse.mkdir()
        self.warehouse = str(warehouse)
        self.client = SqlCatalog(
            "lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}/tables"
        )
        self.client.create_namespace("a")
        self.made: dict[str, dict[Part, str]] = {}
        self.gone: dict[str, dict[str, str]] = {}
        self.moved: set[str] = set()
        self.shapes: dict[str, Shape] = {}
        self.steps = 0
        self.dies_at = 0
        self.done: set[tuple[str, int]] = set()
        self.is_dead = False
        self.version = HAND
        self.engine = WitnessedEngine(self)
        self.store_before = self._before
        self.meanwhile: Callable[[], object] | None = None
        self.meanwhile_at = 0
        self.loses_answers = False
        self.tables.commit_seconds = 0.0
        self.others: dict[int, str] = {}
        self.times: dict[tuple[str, Part], datetime] = {}

    def step(self) -> None:
        """Count a step; the run ends at the one that was chosen."""
        self.steps += 1
        if self.is_dead or self.steps == self.dies_at:
            self.is_dead = True
            raise Killed
        if sql := self.others.pop(self.steps, None):
            with suppress(StatementRefused):
                self.execute(sql)
        if self.steps == self.meanwhile_at and self.meanwhile:
            call, self.meanwhile = self.meanwhile, None
            self.end_holder()
            call()

    def _before(self, verb: str) -> None:
        """Count a step of the store. An append may be committed without an answer, and then be repeated."""
        self.step()
        if verb == "append answered" and self.loses_answers:
            self.loses_answers = False
            events = self.tables.histories["shop"]
            events.append(events[-1])
            lost_answer()

    def run(self, call: Callable[[], Any], dies_after: int = 0) -> bool:
        """Make the call, which ends after so many steps; return whether it did. Its lock is that of a dead process then."""
        self.dies_at = self.steps + dies_after if dies_after else 0
        try:
            call()
        except Killed:
            pass
        finally:
            was_killed, self.is_dead, self.dies_at = self.is_dead, False, 0
            self.meanwhile, self.loses_answers = None, False
        if was_killed:
            self.end_holder()
        return was_killed

    def end_holder(self) -> None:
        """Let the process that holds the lock, if there is one, look as if it had ended."""
        row = self.tables.locks.get("shop")
        if row and row.holder:
            self.tables.locks["shop"] = replace(row, holder=json.dumps(json.loads(row.holder) | {"pid_started": "0"}))

    def shape(self, table: str) -> Shape | None:
        """Return the shape that a table has now."""
        with suppress(NoSuchTableError):
            return shape_of(f"lake.a.{table}", self.client.load_table(f"a.{table}"))
        return None

    def execute(self, sql: str) -> None:
        """Do what a statement says, and remember who did."""
        found = _STATEMENT.match(sql)
        assert found, sql
        table, verb, change, rest = found["table"], found["verb"], found["change"], found["rest"] or ""
        if verb == "INSERT INTO":
            if not self.client.table_exists(f"a.{table}"):
                raise StatementRefused("NoSuchTable", f"there is no table {table}")
            return
        before = self.shape(table)
        if (before is None) is not (verb == "CREATE"):
            raise StatementRefused("NoSuchTable", f"{table} exists, or not")
        try:
            self._change(table, verb, change, rest)
        except (TableAlreadyExistsError, ValueError) as error:  # Such as a column that is gone.
            raise StatementRefused(type(error).__name__, str(error)) from error
        renamed = rest.rpartition(".")[2] if change == "RENAME TO" else table
        self._remember(table, renamed, before, self.shape(renamed))

    def _change(self, table: str, verb: str, change: str | None, rest: str) -> None:
        name = f"a.{table}"
        if verb == "CREATE":
            self.client.create_table(name, Schema(NestedField(1, "id", LongType())))
        elif verb == "DROP":
            self.client.drop_table(name)
        elif change == "RENAME TO":
            self.client.rename_table(name, rest)
        elif change == "SET TBLPROPERTIES":
            key, value = re.findall(r"'([^']*)'", rest)
            with self.client.load_table(name).transaction() as transaction:
                transaction.set_properties({key: value})
        else:
            with self.client.load_table(name).update_schema() as update:
                if change == "ADD COLUMN":
                    update.add_column(rest.split()[0], StringType())
                elif change == "RENAME COLUMN":
                    update.rename_column(*rest.split(" TO "))
                elif change == "ALTER COLUMN":
                    column, _, comment = rest.partition(" COMMENT ")
                    update.update_column(column, doc=comment.strip("'"))
                else:
                    update.delete_column(rest)

    def _remember(self, old: str, table: str, before: Shape | None, after: Shape | None) -> None:
        made, gone = self.made.pop(old, {}), self.gone.pop(old, {})
        was, now = _parts(before), _parts(after)
        if before is None:
            made, gone = {}, {}
        for part, value in now.items():
            if was.get(part) != value:
                made[part] = self.version
                if self.version == HAND and after and part[0] != "table":
                    milliseconds = self.client.load_table(f"a.{table}").metadata.last_updated_ms
                    self.times[table, part] = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
        for part in was.keys() - now.keys():
            made.pop(part, None)
            gone[was[part].partition("\0")[0] if part[0] == "column" else str(part[1])] = self.version
        if after is None or old != table:
            self.gone.setdefault(old, {})[""] = self.version
        if after is None:
            gone[""] = self.version
        elif old != table and self.version == HAND:
            self.moved.add(after.uuid or "")
        elif after.metadata_location:
            self.shapes[after.metadata_location] = after
        self.made[table], self.gone[table] = made, gone


def _parts(shape: Shape | None) -> dict[Part, str]:
    if shape is None:
        return {}
    columns: dict[Part, str] = {("column", each.id or 0): f"{each.name}\0{each.comment}" for each in shape.columns}
    properties: dict[Part, str] = {("property", key): value for key, value in shape.properties.items()}
    return columns | properties | {("table", ""): shape.table}


class WitnessedSession(FakeSession):
    """A session whose statements change the tables of a witness."""

    def __init__(self, witness: Witness) -> None:
        super().__init__("file::memory:", lambda sql: None)
        self._witness = witness

    def execute(self, sql: str, parameters: Any = (), *, tag: str | None = None) -> None:
        self._witness.step()
        assert tag
        # At the last moment: another run may have executed statements in the step.
        self._witness.version, index = tag.split(";")[2:]
        try:
            self._witness.execute(sql)
            self._witness.done.add((self._witness.version, int(index)))
        finally:
            self._witness.version = HAND
        self._witness.step()


class WitnessedEngine(FakeExecutor):
    """An engine whose process has ended whenever somebody looks."""

    def __init__(self, witness: Witness) -> None:
        super().__init__()
        self._witness = witness
        self.process = {"application": None, "engine_pid": 1, "engine_pid_started": "0"}

    def open_session(self, *, bookkeeping: bool = False) -> FakeSession:
        return WitnessedSession(self._witness)
