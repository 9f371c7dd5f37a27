"""The steps of a run, which a test counts to interrupt the run between two of them.

A step is before or after each call of the main thread that leaves the process: a write of the store, a statement, a part of a
compaction, which comes every few events here. Calls of the heartbeat are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from glacierbase.executors.pyiceberg.file_access import TableFiles
from glacierbase.executors.snowflake.session import SnowflakeSession
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.stores.dynamodb import DynamoDbStore
from glacierbase.stores.iceberg import IcebergStore, writes
from glacierbase.stores.sql import SqlStore

EVENTS_BETWEEN_COMPACTIONS = 4


class Steps:
    """Counts steps for the rest of the process.

    Attributes:
        count: the number of steps so far.
        statements: the number of migration statements begun so far.
        on_step, on_statement: called with each number.
    """

    def __init__(self) -> None:
        self.count = self.statements = 0
        self.on_step: Callable[[int], None] = lambda number: None
        self.on_statement: Callable[[int], None] = lambda number: None
        for port in (SnowflakeSession, SparkSessionPort):
            port.execute = self._watched(port.execute)  # type: ignore[attr-defined]
        for store in (SqlStore, IcebergStore, DynamoDbStore):
            store.compacts_every = EVENTS_BETWEEN_COMPACTIONS
            for verb in ("create", "append", "compare_and_set", "compact"):
                setattr(store, verb, self._counted(getattr(store, verb)))
        for owner, part in ((writes, "compact"), (TableFiles, "delete_all")):
            setattr(owner, part, self._counted(getattr(owner, part)))

    def _pass(self) -> None:
        if "heartbeat" not in threading.current_thread().name:
            self.count += 1
            self.on_step(self.count)

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self._pass()
            answer = method(*arguments, **options)
            self._pass()
            return answer

        return wrapped

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        counted = self._counted(original)

        def execute(session: Any, sql: str, parameters: Any = (), *, tag: str | None = None) -> Any:
            if tag is None and not sql.startswith("CALL"):
                return original(session, sql, parameters)
            if tag is not None:
                self.statements += 1
                self.on_statement(self.statements)
            return counted(session, sql, parameters, tag=tag)

        return execute
