"""A throw-away copy in place of Spark: a table that `DROP` changes, and one that a migration may create."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from glacierbase.errors import GlacierbaseError, StatementRefused
from glacierbase.executors import CopiedView, CopyCheckpoint, CopyState
from glacierbase.model.catalog import Catalog
from glacierbase.model.session import SessionContext
from glacierbase.run.run import Run

TABLE = "lake.sleep.event"
LATER = "lake.sleep.later"


class FakeCopy:
    """A copy that holds the table `lake.sleep.event` with the columns `id` and `device`; `lake.sleep.later` once it is created.

    Attributes:
        ran: the statements that were run, in order.
        refusals: errors by a part of the statement that raises them.
        folder: the folder of the copy.
        is_closed: whether it was closed.
        sessions, starts: how many were opened, and how often the engine was started.
        views_after: the views, by how many statements were run.
        breaks: parts of trials, by a part of the statement after which they are refused.
        trial_error: the engine's message for these trials.
        is_whole: whether the copy holds nothing outside of its catalogs.
        held: what `state` returns.
        restored: the state that was restored.
        invalid_state: the error of restoring.
    """

    engine = "spark 4.1.4"
    runs_queries = True

    def __init__(self, does_not_start: GlacierbaseError | None = None) -> None:
        self._does_not_start = does_not_start
        self.ran: list[str] = []
        self._effective: list[str] = []
        self.refusals: dict[str, Exception] = {}
        self.folder: Path | None = None
        self.catalog: Catalog | None = None
        self.is_closed = False
        self.namespaces: list[tuple[str, ...]] = []
        self.sessions = self.starts = 0
        self.views_after: dict[int, dict[str, CopiedView]] = {}
        self.breaks: dict[str, str] = {}
        self.trial_error: str | None = None
        self.is_whole = True
        self.held: CopyState | None = CopyState({}, {}, {}, {})
        self.restored: CopyState | None = None
        self.invalid_state: GlacierbaseError | None = None

    @contextmanager
    def in_use(self) -> Iterator[FakeCopy]:
        """Let `review` open this copy."""
        with patch("glacierbase.capabilities.review.replay.open_copy", self._open):
            yield self

    def _open(self, catalog: Catalog, _run: Run, folder: Path, _names: Sequence[str]) -> FakeCopy:
        self.folder, self.catalog = folder, catalog
        self.starts += 1
        assert not any(folder.iterdir())
        if self._does_not_start:
            raise self._does_not_start
        return self

    def open_session(self, *, bookkeeping: bool = False) -> FakeCopy:
        self.sessions += 1
        return self

    def execute(self, sql: str) -> None:
        self.ran.append(sql)
        self._effective.append(sql)
        for part, error in self.refusals.items():
            if part in sql:
                raise error

    def query(self, sql: str) -> list[tuple[str]]:
        for part, error in self.refusals.items():
            if sql.startswith("DESCRIBE") and part in sql:
                raise error
        for cause, part in self.breaks.items():
            if part in sql and any(cause in effective for effective in self._effective):
                raise StatementRefused("X", self.trial_error or f"after {cause};\nthe plan")
        return [("lake",)]

    def context(self) -> SessionContext:
        return SessionContext("lake")

    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        self.namespaces.append((name, *levels))

    def locations(self) -> dict[str, str]:
        changes = ("DROP COLUMN", "REPLACE TABLE")
        ran = [
            "-".join(sql for sql in self._effective if name in sql and any(map(sql.count, changes)))
            for name in (TABLE, LATER)
        ]
        is_dropped = any("DROP TABLE" in sql for sql in self._effective)
        later = {LATER: f"later-{ran[1]}"} if any(f"CREATE TABLE {LATER}" in sql for sql in self._effective) else {}
        return later if is_dropped else {TABLE: ran[0], **later}

    def views(self) -> dict[str, CopiedView]:
        return self.views_after.get(len(self._effective), {})

    def checkpoint(self) -> CopyCheckpoint:
        return CopyCheckpoint(list(self._effective), self.is_whole)

    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        self._effective = list(checkpoint.content)

    def state(self) -> CopyState | None:
        return self.held

    def restore(self, state: CopyState) -> None:
        if self.invalid_state:
            raise self.invalid_state
        self.restored = state

    def metadata(self, location: str) -> str:
        found = metadata("id", *([] if "DROP COLUMN device" in location else ["device"]))
        return found.replace("a9407971", "b9407971") if location.startswith("later") else found

    def close(self) -> None:
        self.is_closed = True


def metadata(*columns: str) -> str:
    """Return the metadata of an Iceberg table with these columns of type string."""
    fields = [
        {"id": number, "name": name, "required": False, "type": "string"}
        for number, name in enumerate(columns, start=1)
    ]
    return json.dumps(
        {
            "format-version": 2,
            "table-uuid": "a9407971-98df-4e89-895b-dd00416536ef",
            "location": "s3://lake/event",
            "last-sequence-number": 0,
            "last-updated-ms": 1795379254776,
            "last-column-id": len(columns),
            "current-schema-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
        }
    )
