"""A history with records of tables, told file by file, without an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from glacierbase.history.details import Details, to_json
from glacierbase.history.records import History, fold
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Event, EventType, State, checksum
from glacierbase.model.shape import Column, Shape
from glacierbase.project.project import Project
from glacierbase.record.shapes import TableRecord, to_document
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

BEGIN = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)


class Story:
    """Tables, and the events of the files that changed them. Version N ran on the Nth of November 2026 at noon (UTC).

    Attributes:
        events: of the history, so far.
        tables: as they are.
    """

    def __init__(self, catalog: str = "shop", environment: str = "default") -> None:
        self.events: list[Event] = []
        self.tables: dict[str, Shape] = {}
        self._recorded: dict[str, Shape | None] = {}
        self._catalog, self._environment = catalog, environment

    def outside(self, changed: Mapping[str, Shape | None]) -> Story:
        """Change tables past the tool; None drops one."""
        for name, shape in changed.items():
            if shape is None:
                del self.tables[name]
            else:
                self.tables[name] = shape
        return self

    def file(
        self, version: int, changed: Mapping[str, Shape | None], *, recorded: bool = True, author: str | None = None,
        description: str | None = None, event: EventType = EventType.APPLIED, state: State = State.APPLIED,
        sql: str = "SELECT 1",
    ) -> Story:  # fmt: skip
        """Run a file that changes tables.

        Args:
            recorded: whether its run records what it sees of them.
            sql: the statements, rendered.
        """
        names = tuple(changed)
        before = {name: self.tables.get(name) for name in names}
        self.outside({name: shape for name, shape in changed.items() if shape is not None or name in self.tables})
        records = [self._record(name, before[name]) for name in names] if recorded else []
        at = BEGIN + timedelta(days=version - 1)
        start = Event(
            1, len(self.events) + 1, f"run-{version}", self._catalog, self._environment, EventType.STARTED.value,
            State.RUNNING.value, f"{version:04}", description or f"why {version}", author or f"Team {version}",
            checksum=checksum(f"file {version}".encode()), rendered_checksum=checksum(sql.encode()), statement_index=1,
            statement_total=len(split_statements(sql, "spark")), tables=json.dumps(names),
            recorded_at=at - timedelta(minutes=1), os_user="ann", host="ci-7", rendered_sql=sql,
        )  # fmt: skip
        details = to_json(Details(tables=tuple(map(to_document, records))))
        end = replace(
            start, sequence=start.sequence + 1, event=event.value, state=state.value, details=details, recorded_at=at
        )
        self.events += [start, end]
        return self

    @property
    def history(self) -> History:
        return fold(self.events)

    def _record(self, name: str, before: Shape | None) -> TableRecord:
        is_changed = self._recorded.get(name) != before
        after = self._recorded[name] = self.tables.get(name)
        return TableRecord(name, after, before if is_changed else None, is_changed)


def column(id: int | None, name: str, type: str = "bigint", **more: object) -> Column:
    return Column(id, name, type, **more)  # type: ignore[arg-type]


def shape(name: str, *columns: Column, uuid: str | None = "u-1", **more: object) -> Shape:
    return Shape(name, uuid, "iceberg", 2, columns, **more)  # type: ignore[arg-type]


def asked(story: Story, folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project whose catalog `shop` has the history of a story, and whose tables are as recorded."""
    world = World(folder)
    world.target()  # Writes the catalog file.
    world.tables.histories["shop"] = story.events
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [world.target()])
    for module in ("capabilities.tables.blame", "inspect.history"):
        monkeypatch.setattr(f"glacierbase.{module}.with_changes_since", lambda _, moments, **__: (moments, ""))
    monkeypatch.chdir(folder.root)
    return Project.load(folder.root)
