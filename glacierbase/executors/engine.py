"""The engine of one catalog, which is started when there is something to run on it, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from glacierbase.errors import Interrupted
from glacierbase.executors import Executor
from glacierbase.run.waiting import NoAnswer, result, start_thread

# A start that downloads jars takes minutes. A hung one is ended by a signal.
_START_SECONDS = 3600.0
# How long a run that ends waits for a start that is still under way.
_CLOSE_SECONDS = 5.0


class Engine:
    """An executor that may not be there yet, and what else is given back when its catalog is done with.

    Attributes:
        cancelled: whether the run was asked to end.
    """

    def __init__(self, start: Callable[[], Executor], cancelled: Callable[[], bool] = lambda: False) -> None:
        self._start = start
        self.cancelled = cancelled
        self._opening: Future[Executor] | None = None
        self._beside = ExitStack()

    def at_close(self, give_back: Callable[[], None]) -> None:
        """Call it when the engine is closed, started or not."""
        self._beside.callback(give_back)

    def begin(self) -> Future[Executor]:
        """Let it start in a thread of its own, once, while the caller does what needs no engine."""
        if self._opening is None:
            opening: Future[Executor] = Future()
            self._opening = opening
            start_thread(lambda: self._open(opening), "glacierbase-engine")
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
            Interrupted: the run was asked to end before the engine was open.
        """
        try:
            return result(self.begin(), _START_SECONDS, self.cancelled)
        except NoAnswer as error:
            raise Interrupted("INTERRUPTED", "stopped while the engine started; nothing was in flight") from error

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

    def end(self) -> None:
        """End the executor, whatever it is doing; what is beside it stays."""
        if self._opened:
            self._opened.close()

    def close(self) -> None:
        """End it, if it was started, and give back what is beside it. One that is still starting is ended once it is open."""
        with self._beside:
            if self._opening is None:
                return
            try:
                result(self._opening, _CLOSE_SECONDS).close()
            except NoAnswer:
                self._opening.add_done_callback(_close)
            except Exception:  # It never opened, which `start` reports.
                return


def _close(opening: Future[Executor]) -> None:
    if not opening.exception():
        opening.result().close()
