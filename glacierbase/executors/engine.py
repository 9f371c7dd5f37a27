"""The engine of one catalog, started only when a statement has to run on it, and the executor of files that run without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from glacierbase.errors import Interrupted
from glacierbase.executors import Executor
from glacierbase.executors.direct.files import DIRECT
from glacierbase.run.waiting import NoAnswer, result, start_thread

if TYPE_CHECKING:
    from glacierbase.executors.direct.table_versions import TableVersions

# A start that downloads jars takes minutes. A start that hangs is cancelled by a signal.
_START_SECONDS = 3600.0
# How long the end of a run waits for a start in progress.
_CLOSE_SECONDS = 5.0


class Engine:
    """An executor that may not be open yet, and the resources that are released with it.

    Attributes:
        cancelled: returns True once the run is cancelled.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        cancelled: Callable[[], bool] = lambda: False,
        open_direct: Callable[[], Executor] | None = None,
        open_tables: Callable[[], TableVersions] | None = None,
    ) -> None:
        """Args:
        open_direct: opens the executor of files that run directly; None where the engine runs every file.
        open_tables: opens the reader of the versions of users' tables.
        """
        self._start = start
        self.cancelled = cancelled
        self._open_direct = open_direct
        self._open_tables = open_tables
        self._tables: TableVersions | None = None
        self._opening: Future[Executor] | None = None
        # The executor of files that run directly, and that of the file that runs, each once it is open.
        self._direct: Executor | None = None
        self._used: Executor | None = None
        self._resources = ExitStack()

    def at_close(self, release: Callable[[], None]) -> None:
        """Call `release` when the engine is closed, started or not."""
        self._resources.callback(release)

    def start_in_background(self) -> Future[Executor]:
        """Start the executor in a thread, unless it was started before."""
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
        """Start the executor unless it was started before, and return it once it is open.

        Raises:
            ConfigurationError, EngineUnavailable: as `glacierbase.executors.open_executor` does.
            Interrupted: the run was cancelled before the engine was open.
        """
        try:
            return result(self.start_in_background(), _START_SECONDS, self.cancelled)
        except NoAnswer as error:
            raise Interrupted("INTERRUPTED", "stopped while the engine started; nothing was in flight") from error

    def use(self, name: str) -> Executor:
        """Return the executor of a file, which name, principal and process describe from now on. Raises as `start` does.

        Args:
            name: as `FileEngine.name`.
        """
        if name == DIRECT and self._open_direct:
            if self._direct is None:
                self._direct = self._open_direct()
                self.at_close(self._direct.close)
            self._used = self._direct
        else:
            self._used = self.start()
        return self._used

    @property
    def tables(self) -> TableVersions:
        """The reader of the versions of users' tables, without the engine."""
        if self._tables is None:
            assert self._open_tables
            self._tables = self._open_tables()
            self.at_close(self._tables.close)
        return self._tables

    @property
    def executor(self) -> Executor:
        """The executor of the file that runs, else the engine. Raises as `start` does."""
        return self._used or self.start()

    @property
    def name(self) -> str | None:
        """Name and version of the engine; None before it is open."""
        return self._opened.engine if self._opened else None

    @property
    def described(self) -> tuple[str, str, str | None] | None:
        """Name and version of the engine, and the version of its Java if it has one; None before it is open."""
        if self._opened is None:
            return None
        name, _, version = self._opened.engine.partition(" ")
        return name.rstrip(","), version, self._opened.process.get("java")

    @property
    def principal(self) -> str | None:
        """The identity under which the engine runs statements; None before it is open."""
        return self._opened.principal if self._opened else None

    @property
    def process(self) -> Mapping[str, Any]:
        """The values that identify the process of the engine; empty before it is open."""
        return self._opened.process if self._opened else {}

    @property
    def _opened(self) -> Executor | None:
        if self._used:
            return self._used
        opening = self._opening
        return opening.result() if opening and opening.done() and not opening.exception() else None

    def close_executor(self) -> None:
        """Close the executor, also while it executes a statement. The other resources stay open."""
        if self._opened:
            self._opened.close()

    def close(self) -> None:
        """Release the resources and close the executor if it was started. A starting executor is closed once it is open."""
        with self._resources:
            if self._opening is None:
                return
            try:
                result(self._opening, _CLOSE_SECONDS).close()
            except NoAnswer:
                self._opening.add_done_callback(_close)
            except Exception:  # The executor never opened; `start` raises the reason.
                return


def _close(opening: Future[Executor]) -> None:
    if not opening.exception():
        opening.result().close()
