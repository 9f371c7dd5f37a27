"""The engine of a catalog in a worker, behind the executor's port."""

from __future__ import annotations

import itertools
import logging
import queue
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from glacierbase.errors import EngineUnavailable, GlacierbaseError, OutcomeUnknown
from glacierbase.executors import Session
from glacierbase.executors.environments.folders import kept
from glacierbase.executors.worker.start import start_process
from glacierbase.executors.worker.wire import (
    Answer,
    Began,
    Channel,
    ChannelClosed,
    Ended,
    Handle,
    Logged,
    Message,
    MethodCall,
    NotAMessage,
    OpenedExecutor,
    packed,
    unpacked,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import scope_in_use
from glacierbase.run.activity import doing
from glacierbase.run.processes import kill_engine
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller, NoAnswer, start_thread
from glacierbase.secrets import mask, secrets_in_use

logger = logging.getLogger("glacierbase")

_ENGINES = 0
# A Python starts and imports the code in a fraction of a second.
_READY_SECONDS = 120.0
# The JVM of a worker has 20 s to end.
_CLOSE_SECONDS = 30.0
_EXIT_SECONDS = 5.0
# A command must not wait longer for a statement's progress, or until the engine knows that it is to cancel the statement.
_BESIDE_SECONDS = 5.0
_KEPT_LINES = 50


class WorkerLost(Exception):
    """The process of the worker has ended. The text describes how."""


class Worker:
    """A process that runs engines, and the calls that wait for its answers."""

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        """Start the process, and wait until it is ready.

        Raises:
            WorkerLost: the process ended before.
        """
        self._mutex = Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Message | None]] = {0: queue.SimpleQueue()}
        self._lost: str | None = None
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._engines: list[Mapping[str, Any]] = []
        try:
            with kept(python) as inherited:
                self._process = start_process(python, environment, inherited)
        except OSError as error:
            raise WorkerLost(f"did not start: {python}: {error.strerror}") from error
        assert self._process.stdin
        assert self._process.stdout
        self._channel = Channel(self._process.stdout, self._process.stdin)
        # In a thread: the pipe to a process that is stopped is full after 64 KiB, and no time limit would hold.
        self._sending = Caller()
        self._logging = start_thread(self._log_stderr, "glacierbase-worker-log")
        self._receiving = start_thread(self._receive, "glacierbase-worker")
        try:
            self._answer(0, _READY_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def is_running(self) -> bool:
        """Whether the process runs, as far as is known."""
        return self._lost is None

    def call(self, target: int, method: str, *args: Any, seconds: float = float("inf"), **kwargs: Any) -> Any:
        """Call a method in the worker, and return its result or raise its error. Its activities are those of this thread.

        Args:
            seconds: the time limit.

        Raises:
            WorkerLost: the process has ended.
            NoAnswer: the time limit passed.
        """
        number = next(self._numbers)
        request = MethodCall(number, target, method, packed((args, kwargs)), scope_in_use())
        with self._mutex:
            if self._lost is not None:
                raise WorkerLost(self._lost)
            self._waiting[number] = queue.SimpleQueue()
        # Where the process has ended, the answer is that.
        self._sending.submit(partial(self._channel.send, request))
        return self._answer(number, seconds)

    def call_engines(self, method: str, catalog: Catalog, run: Run, *args: Any) -> Any:
        """Call a method of the worker's `Engines` with a catalog, with the secrets to mask there, and with `args`.

        Raises:
            EngineUnavailable: the process has ended.
        """
        try:
            return self.call(_ENGINES, method, catalog, replace(run, shared=None), secrets_in_use().patterns(), *args)
        except WorkerLost as error:
            raise unavailable(catalog, error) from error

    def _answer(self, number: int, seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        activities: dict[int, AbstractContextManager[None]] = {}
        try:
            while not isinstance(message := self._next(number, deadline), Answer):
                if isinstance(message, Began):
                    detail = partial(self._detail, message.activity)
                    activities[message.activity] = doing(message.what, detail, announce=message.announce)
                    activities[message.activity].__enter__()
                elif isinstance(message, Ended):
                    activities.pop(message.activity).__exit__(None, None, None)
            return _value(message)
        finally:
            self._waiting.pop(number)
            for activity in reversed(activities.values()):
                activity.__exit__(None, None, None)

    def _next(self, number: int, deadline: float) -> Message:
        limit = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        try:
            message = self._waiting[number].get(timeout=limit)
        except queue.Empty:
            raise NoAnswer from None
        if message is None:
            raise WorkerLost(self._lost)
        return message

    def _detail(self, activity: int) -> str | None:
        with suppress(WorkerLost, NoAnswer):
            detail: str | None = self.call(_ENGINES, "detail", activity, seconds=_BESIDE_SECONDS)
            return detail
        return None

    def ends_with(self, process: Mapping[str, Any]) -> None:
        """Kill the engine of that `Executor.process` when the worker has ended, if it is a process."""
        self._engines.append(process)

    def close(self) -> None:
        """Close what runs in the worker, then end it; end it anyway if it does not answer in time. Never raises."""
        with suppress(WorkerLost, NoAnswer, RuntimeError):
            self.call(_ENGINES, "close", seconds=_CLOSE_SECONDS)
        self.kill()

    def close_executor(self, target: int) -> None:
        """Close an executor; kill the worker if it does not answer in time. Never raises."""
        try:
            self.call(target, "close", seconds=_CLOSE_SECONDS)
        except NoAnswer:
            self.kill()
        except (WorkerLost, RuntimeError):  # It has ended, or the executor is closed.
            return

    def kill(self) -> None:
        """Kill the process, and wait until every call has that answer. Never raises."""
        self._process.kill()
        self._receiving.join(_EXIT_SECONDS)
        with suppress(OSError, ValueError):
            self._channel.close()

    def _receive(self) -> None:
        """Pass on what the worker sends, until it ends; then let each call that waits raise that."""
        try:
            while True:
                self._accept(self._channel.receive())
        except NotAMessage as error:
            self._end(f"was ended: {error}", 0)
        except ChannelClosed:
            self._end(None, _EXIT_SECONDS)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Logged):
            logging.getLogger(message.logger).log(message.level, "%s", message.text)
        elif not isinstance(message, MethodCall) and (waiting := self._waiting.get(message.number)):
            waiting.put(message)

    def _end(self, why: str | None, seconds: float) -> None:
        """Let the process end, at most for that time, then kill it.

        Args:
            why: a description of its end; None to describe its exit code.
        """
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        code = self._process.wait()
        for process in self._engines:
            kill_engine(process)
        self._logging.join(_EXIT_SECONDS)
        with self._mutex:
            self._lost = why or _described(code, self._lines)
            for waiting in self._waiting.copy().values():
                waiting.put(None)

    def _log_stderr(self) -> None:
        assert self._process.stderr
        with self._process.stderr as stderr:
            for line in stderr:
                text = mask(line.decode(errors="replace").rstrip())
                self._lines.append(text)
                logger.debug("worker %s: %s", self._process.pid, text)


def _value(answer: Answer) -> Any:
    value = unpacked(answer.body) if answer.body else None
    if not answer.failed:
        return value
    if isinstance(value, GlacierbaseError):
        raise value
    raise RuntimeError(f"in the worker: {value}")


def _described(code: int, lines: Sequence[str]) -> str:
    """Return how a worker ended.

    Args:
        code: its exit code; the negative number of the signal that killed it.
        lines: the last lines that it printed.
    """
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}: {lines[-1] if lines else 'it printed nothing'}"


class _InWorker:
    """An object in a worker: a method that is not defined here is called there, and its result is returned."""

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class WorkerExecutor(_InWorker):
    """An executor in a worker."""

    def __init__(
        self, worker: Worker, catalog: Catalog, run: Run, release: Callable[[], None], opening: str = "open", *args: Any
    ) -> None:
        """Open the executor in the worker.

        Args:
            release: called once when the executor is closed, or cannot be opened.
            opening: the method of `Engines` that opens it.
            args: what that method gets besides catalog and run.

        Raises:
            ConfigurationError, EngineUnavailable: as `EngineType.open_executor` does, or the worker has ended.
        """
        self._worker, self._catalog, self._release = worker, catalog, release
        try:
            opened: OpenedExecutor = worker.call_engines(opening, catalog, run, *args)
        except BaseException:
            release()
            raise
        self._handle = opened.handle.target
        self.dialect, self.engine, self.principal = opened.dialect, opened.engine, opened.principal
        self.process: Mapping[str, Any] = opened.process
        worker.ends_with(opened.process)

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """Open a session in the worker."""
        handle: Handle = self._call("open_session", bookkeeping=bookkeeping)
        return WorkerSession(self._worker, handle.target)

    def close(self) -> None:
        """Close the executor in the worker, also while it executes a statement."""
        self._worker.close_executor(self._handle)
        self._release()

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._worker.call(self._handle, method, *args, **kwargs)
        except WorkerLost as error:
            raise unavailable(self._catalog, error) from error


class WorkerSession(_InWorker):
    """A session in a worker. Its calls run one after the other; `cancel` and `progress` run beside them."""

    def __init__(self, worker: Worker, target: int) -> None:
        self._worker, self._target = worker, target
        self._is_closed = False

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._worker.call(self._target, method, *args, **kwargs)
        except WorkerLost as error:
            raise OutcomeUnknown(type(error).__name__, f"the process of the engine {error}") from error

    def _beside(self, method: str) -> Any:
        with suppress(WorkerLost, NoAnswer, RuntimeError):
            return None if self._is_closed else self._worker.call(self._target, method, seconds=_BESIDE_SECONDS)

    def cancel(self) -> None:
        """Cancel the tagged statement that `execute` runs in another thread, if there is one."""
        self._beside("cancel")

    def progress(self) -> str | None:
        """Return the progress of the tagged statement; None if the worker does not answer soon."""
        progress: str | None = self._beside("progress")
        return progress

    def close(self) -> None:
        """Close the session in the worker, after its last call."""
        if not self._is_closed:
            self._is_closed = True
            with suppress(WorkerLost, NoAnswer, RuntimeError):
                self._worker.call(self._target, "close", seconds=_CLOSE_SECONDS)


def unavailable(catalog: Catalog, error: WorkerLost) -> EngineUnavailable:
    """Return the error of a worker that has ended."""
    return EngineUnavailable(
        "ENGINE_PROCESS_ENDED",
        f"catalog {catalog.name}: the process of the engine {error}",
        "run the command again with -v, which shows what the process prints",
    )


class WorkerCopy(WorkerExecutor):
    """A throw-away copy in a worker. The content of its checkpoints stays there."""

    runs_queries = True
