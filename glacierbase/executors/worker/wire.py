"""Messages between a worker and the process that started it: pickled, each with its length, over two pipes.

Both processes run the same code, so that a class is the same in both. A body is pickled apart: whoever waits for it reads it.
"""

from __future__ import annotations

import io
import pickle
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from glacierbase.model.command import Scope

# Written before each length: other output in the pipe is recognized.
_HEADER = struct.Struct(">4sQ")
_MARK = b"gbw1"
# Python 3.10 reads it.
_PROTOCOL = 5


class ChannelClosed(Exception):
    """The other process has ended, or this one closed the channel."""


class NotAMessage(ChannelClosed):
    """The pipe holds something else than messages."""


@dataclass(frozen=True, slots=True)
class MethodCall:
    """Call a method of an object in the worker. The body holds its arguments: a tuple and a mapping.

    Attributes:
        scope: the choice that commands in the messages of the call repeat.
    """

    number: int
    target: int
    method: str
    body: bytes
    scope: Scope


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a call. The body holds the returned value, or the raised error."""

    number: int
    body: bytes
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Began:
    """An activity of a call began; the fields are those of `Activity`."""

    number: int
    activity: int
    what: str
    announce: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """An activity of a call ended."""

    number: int
    activity: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A record of a logger, formatted and masked."""

    logger: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Handle:
    """An object that stays in the worker, by its number."""

    target: int


@dataclass(frozen=True, slots=True)
class OpenedExecutor:
    """An executor that stays in the worker, and its attributes."""

    handle: Handle
    dialect: str
    engine: str
    principal: str
    process: dict[str, Any]


Message = MethodCall | Answer | Began | Ended | Logged


class Channel:
    """The two pipes of one of the processes. Several threads may send."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._source, self._target = source, target
        self._mutex = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            ChannelClosed: the other process has ended.
        """
        content = packed(message)
        try:
            with self._mutex:
                self._target.write(_HEADER.pack(_MARK, len(content)) + content)
                self._target.flush()
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed here.
            raise ChannelClosed(str(error)) from error

    def receive(self) -> Message:
        """Wait for the next message, and return it.

        Raises:
            ChannelClosed: as the class describes.
        """
        mark, length = _HEADER.unpack(self._read(_HEADER.size))
        if mark != _MARK:
            raise NotAMessage("its pipe holds something else than messages")
        content = self._read(length)
        try:
            message: Message = unpacked(content)
        except Exception as error:
            raise NotAMessage(f"a message cannot be read: {error}") from error
        return message

    def _read(self, length: int) -> bytes:
        try:
            content = self._source.read(length)
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            raise ChannelClosed(str(error)) from error
        if len(content) < length:
            raise ChannelClosed("the pipe ended")
        return content

    def close(self) -> None:
        """Close the pipe to the other process. Never raises."""
        with suppress(OSError, ValueError):  # What is not flushed is lost.
            self._target.close()


class _Pickler(pickle.Pickler):
    """Write what another Python may not have: a row of a vendor's class as a tuple, and a path without its class's module."""

    def reducer_override(self, instance: Any) -> Any:
        if isinstance(instance, Path):  # Of `pathlib._local` in Python 3.13.
            return _path, (str(instance),)
        module = type(instance).__module__.partition(".")[0]
        if isinstance(instance, tuple) and module not in ("glacierbase", "builtins"):
            return tuple, (list(instance),)
        return NotImplemented


def _path(text: str) -> Path:
    return Path(text)


def packed(value: Any) -> bytes:
    """Return a value as bytes."""
    buffer = io.BytesIO()
    _Pickler(buffer, _PROTOCOL).dump(value)
    return buffer.getvalue()


def unpacked(content: bytes) -> Any:
    """Return the value that `packed` wrote. Only for bytes of a process that this one started or that started this one."""
    return pickle.loads(content)
