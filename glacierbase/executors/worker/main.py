"""The process of a worker: the engine of a catalog, whose sessions another process uses by messages."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.executors import CopyCheckpoint, CopyExecutor, EngineType, Executor, Warmed, engine_type
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
    OpenedExecutor,
    packed,
    unpacked,
)
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import Activity, watched
from glacierbase.run.processes import engine_process
from glacierbase.run.run import Run
from glacierbase.run.shared import Shared
from glacierbase.run.waiting import Caller, start_thread
from glacierbase.secrets import Secrets, mask

# The number of the object that opens executors.
ENGINES = 0
# Methods of a session that run beside its statement.
_BESIDE = ("cancel", "progress")


def main(level: int) -> None:
    """Serve the process that started this one, until that process closes the pipe or ends.

    Args:
        level: the level of the log records that are sent.
    """
    channel = _own_channel()
    server = Server(channel)
    logger = logging.getLogger("glacierbase")
    logger.setLevel(level)
    logger.addHandler(_Handler(server))
    channel.send(Answer(0, b""))
    try:
        while True:
            server.accept(channel.receive())
    except ChannelClosed:
        # Nobody waits for an answer any more. What an engine started ends by itself, as its stdin is closed.
        os._exit(0)


def _own_channel() -> Channel:
    """Take stdin and stdout for the messages: what anything prints goes to stderr, and nothing else reads stdin."""
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return channel


class _Handler(logging.Handler):
    """Send the records of glacierbase's loggers."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record as it is formatted."""
        self._server.send(Logged(record.name, record.levelno, mask(self.format(record))))


class Engines:
    """Open executors of the engine types that this Python has."""

    def __init__(self) -> None:
        self._shared = Shared()
        self._secrets = Secrets()  # Masked in all threads, because no other secrets are in use.

    def open(self, catalog: Catalog, run: Run, patterns: Mapping[str, str]) -> Executor:
        """Open an executor, as `EngineType.open_executor` does.

        Args:
            patterns: those of the secrets to mask.
        """
        engine, run = self._prepared(catalog, run, patterns)
        return engine.open_executor(catalog, run)

    def open_copy(
        self, catalog: Catalog, run: Run, patterns: Mapping[str, str], folder: Path, names: Sequence[str]
    ) -> CopyExecutor:
        """Start the engine of a throw-away copy, as `EngineType.open_copy` does."""
        engine, run = self._prepared(catalog, run, patterns)
        return engine.open_copy(catalog, run, folder, names)

    def check_installed(self, catalog: Catalog, run: Run, patterns: Mapping[str, str]) -> None:
        """Check what is installed here, as `EngineType.check_installed` does."""
        self._prepared(catalog, run, patterns)[0].check_installed(catalog)

    def warm(self, catalog: Catalog, run: Run, patterns: Mapping[str, str]) -> Warmed:
        """Prepare the engine's start, as `EngineType.warm` does."""
        engine, run = self._prepared(catalog, run, patterns)
        return engine.warm(catalog, run)

    def _prepared(self, catalog: Catalog, run: Run, patterns: Mapping[str, str]) -> tuple[EngineType, Run]:
        self._secrets.add_patterns(patterns)
        engine = engine_type(catalog.executor_type)
        if engine is None:
            raise ConfigurationError(
                "ENGINE_NOT_INSTALLED",
                f"catalog {catalog.name}: no package in {sys.prefix} adds the executor {catalog.executor_type}",
                f"install the package there: {sys.executable} -m pip install PACKAGE",
            )
        return engine, replace(run, shared=self._shared)

    def close(self) -> None:
        """Close what the executors share, such as a JVM."""
        self._shared.close()


class Server:
    """The objects of this process, and the threads that call them.

    The calls on a session run one after the other in one thread, because Spark keeps the state of some things per thread.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._mutex = Lock()
        self._numbers = itertools.count(1)
        self._objects: dict[int, Any] = {ENGINES: Engines()}
        self._executors: dict[int, list[int]] = {}  # The sessions and checkpoints of each.
        self._callers: dict[tuple[int, str], Caller] = {}
        self._activities: dict[int, Activity] = {}

    def accept(self, message: Message) -> None:
        """Start the call of a request; the answer is sent when it returns."""
        assert isinstance(message, MethodCall)
        if message.target == ENGINES:
            start_thread(partial(self._answer, message), message.method)
            return
        with self._mutex:
            if message.target in self._objects:
                is_own = message.target in self._executors or message.method in _BESIDE
                lane = message.target, message.method if is_own else ""
                caller = self._callers.get(lane) or self._callers.setdefault(lane, Caller())
                caller.submit(partial(self._answer, message))
                return
        self._answer(message)  # An error: the object was closed.

    def _answer(self, request: MethodCall) -> None:
        try:
            with request.scope.in_use(), watched(_Mirrored(self, request.number)):
                body, failed = packed(self._result(request)), False
        except GlacierbaseError as error:
            body, failed = _packed_error(error), True
        except BaseException:  # A bug here, which the other process reports.
            body, failed = packed(mask(traceback.format_exc())), True
        self.send(Answer(request.number, body, failed))

    def _result(self, request: MethodCall) -> Any:
        args, kwargs = unpacked(request.body)
        if request.method == "detail":
            return self._detail(*args)
        if request.target not in self._objects:
            raise RuntimeError(f"{request.method}: the session or the executor was closed")
        if request.method == "rewind":
            args = (self._kept_checkpoint(*args),)
        value = getattr(self._objects[request.target], request.method)(*args, **kwargs)
        return self._with_handle(request, value)

    def _with_handle(self, request: MethodCall, value: Any) -> Any:
        """Return the value to send; an executor, a session or the content of a checkpoint stays here.

        An executor or a session that is closed is forgotten.
        """
        if request.method == "close" and request.target != ENGINES:
            self._forget(request.target)
        elif request.method in ("open", "open_copy"):
            handle = self._keep(value)
            self._executors[handle.target] = []
            return OpenedExecutor(handle, value.dialect, value.engine, value.principal, _process(value))
        elif request.method == "open_session":
            return self._keep(value, request.target)
        elif request.method == "checkpoint":
            return replace(value, content=self._keep(value.content, request.target))
        return value

    def _kept_checkpoint(self, checkpoint: CopyCheckpoint) -> CopyCheckpoint:
        """Return a checkpoint that was sent, with its content."""
        return replace(checkpoint, content=self._objects[checkpoint.content.target])

    def _keep(self, instance: Any, executor: int | None = None) -> Handle:
        with self._mutex:
            number = next(self._numbers)
            self._objects[number] = instance
            if executor is not None:
                self._executors[executor].append(number)
            return Handle(number)

    def _forget(self, number: int) -> None:
        with self._mutex:
            numbers = {number, *self._executors.pop(number, ())}
            for target in numbers:
                self._objects.pop(target, None)
            for target, lane in [key for key in self._callers if key[0] in numbers]:
                self._callers.pop((target, lane)).end()

    def _detail(self, number: int) -> str | None:
        activity = self._activities.get(number)
        return activity.detail() if activity else None

    def begin(self, request: int, activity: Activity) -> None:
        """Send that an activity of a request began."""
        self._activities[id(activity)] = activity
        self.send(Began(request, id(activity), mask(activity.what), activity.announce))

    def end(self, request: int, activity: Activity) -> None:
        """Send that an activity of a request ended."""
        self._activities.pop(id(activity), None)
        self.send(Ended(request, id(activity)))

    def send(self, message: Message) -> None:
        """Send a message. The other process may have ended, and this one ends then."""
        with suppress(ChannelClosed):
            self._channel.send(message)


class _Mirrored(list[Activity]):
    """The activities of a request, which the other process shows."""

    def __init__(self, server: Server, request: int) -> None:
        super().__init__()
        self._server, self._request = server, request

    def append(self, activity: Activity) -> None:
        super().append(activity)
        self._server.begin(self._request, activity)

    def remove(self, activity: Activity) -> None:
        super().remove(activity)
        self._server.end(self._request, activity)


def _process(executor: Executor) -> dict[str, Any]:
    """Return the values that identify the engine: this process, where the engine is neither a process nor an application."""
    process = dict(executor.process)
    is_here = process.get("engine_pid") is None and not process.get("application")
    return {**process, **engine_process(os.getpid())} if is_here else process


def _packed_error(error: GlacierbaseError) -> bytes:
    try:
        return packed(error)
    except Exception:  # An engine's package may have put anything into the error.
        return packed(mask("".join(traceback.format_exception(error))))
