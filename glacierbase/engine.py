"""The engine of one catalog, which is started when there is something to run on it, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from glacierbase.executors import Executor


class Engine:
    """An executor that may not be there yet."""

    def __init__(self, start: Callable[[], Executor]) -> None:
        self._start = start
        self._executor: Executor | None = None

    def start(self) -> Executor:
        """The executor, opened by the first call.

        Raises:
            ConfigurationError, EngineUnavailable: as `glacierbase.executors.open_executor` does.
        """
        if self._executor is None:
            self._executor = self._start()
        return self._executor

    @property
    def name(self) -> str | None:
        """Name and version, once it is started."""
        return self._executor.engine if self._executor else None

    @property
    def principal(self) -> str | None:
        """Who it takes us for, once it is started."""
        return self._executor.principal if self._executor else None

    @property
    def process(self) -> Mapping[str, Any]:
        """What tells others whether it lives; nothing before it is started."""
        return self._executor.process if self._executor else {}

    def close(self) -> None:
        """End it, if it was started."""
        if self._executor:
            self._executor.close()
