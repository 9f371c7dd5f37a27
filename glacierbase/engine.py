"""The engine of one catalog, which is started when there is something to run on it, and not before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from glacierbase.executors import Executor


class Engine:
    """An executor that may not be there yet, and what else is given back when its catalog is done with."""

    def __init__(self, start: Callable[[], Executor]) -> None:
        self._start = start
        self._opening: Future[Executor] | None = None
        self._beside = ExitStack()

    def at_close(self, give_back: Callable[[], None]) -> None:
        """Call it when the engine is closed, started or not."""
        self._beside.callback(give_back)

    def begin(self) -> Future[Executor]:
        """Let it start in a thread of its own, once, while the caller does what needs no engine."""
        if self._opening is None:
            self._opening = Future()
            threading.Thread(target=self._open, args=(self._opening,), name="glacierbase-engine", daemon=True).start()
        return self._opening

    def _open(self, opening: Future[Executor]) -> None:
        try:
            opening.set_result(self._start())
        except BaseException as error:
            opening.set_exception(error)

    def start(self) -> Executor:
        """The executor, once it is open.

        Raises:
            ConfigurationError, EngineUnavailable: as `glacierbase.executors.open_executor` does.
        """
        return self.begin().result()

    @property
    def name(self) -> str | None:
        """Name and version, once it is open."""
        return self._opened.engine if self._opened else None

    @property
    def principal(self) -> str | None:
        """Who it takes us for, once it is open."""
        return self._opened.principal if self._opened else None

    @property
    def process(self) -> Mapping[str, Any]:
        """What tells others whether it lives; nothing before it is open."""
        return self._opened.process if self._opened else {}

    @property
    def _opened(self) -> Executor | None:
        opening = self._opening
        return opening.result() if opening and opening.done() and not opening.exception() else None

    def close(self) -> None:
        """End it, if it was started, and give back what is beside it."""
        with self._beside:
            if self._opening and not self._opening.exception():
                self._opening.result().close()
