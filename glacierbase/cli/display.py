"""The display of a terminal: the current activity of a command, and results in the terminal's width.

The activity is a live line on a terminal, a line per minute in a log, and not shown with JSON. Of catalogs that run at the same
time, each has a line.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TextIO
from unicodedata import east_asian_width

from glacierbase.model.escape import on_one_line
from glacierbase.model.printable import Show, printable
from glacierbase.model.text import as_clock
from glacierbase.run.activity import Activity, watched
from glacierbase.run.waiting import Caller, NoAnswer, result, start_thread

logger = logging.getLogger("glacierbase")

# Activities that take less are not shown.
_SHORT_SECONDS = 1.0
# The interval of log lines about one activity.
_LINE_SECONDS = 60.0
# How long the lines wait for the engines' answers; without an answer a line shows the last one.
_ANSWER_SECONDS = 0.3
# How long the end of a command waits for a terminal that accepts no output.
_BLOCKED_SECONDS = 0.5
_ERASE, _ERASE_BELOW = "\x1b[K", "\x1b[J"
_UP = "\x1b[{}A"
_MOST_LINES = 10
_USUAL_WIDTH, _USUAL_HEIGHT = 80, 24


def open_display(form: str) -> Display:
    """Return the display of a command whose result has this format, `text` or `json`."""
    if form == "json":
        return Display()
    return LiveLine(sys.stderr) if _is_live(sys.stderr) else LogLines()


def _is_live(stream: TextIO | None) -> bool:
    """Return whether a line can be rewritten in place. A CI service records a terminal as it records a pipe."""
    return is_terminal(stream) and not is_dumb() and not os.environ.get("CI")


class Display:
    """Show nothing."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show the activities in the block."""
        yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Show nothing while the block writes to the same terminal."""
        yield

    def clear(self) -> None:
        """Remove the displayed line."""

    def close(self) -> None:
        """Remove the displayed line, and show nothing from now on."""


class _Poller(Display):
    """Read the newest activity each second, in a thread that is idle during the first."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self._details: defaultdict[int, _Details] = defaultdict(_Details)  # By the line of the activity.

    @contextmanager
    def watching(self) -> Iterator[None]:
        with watched() as activities:
            start_thread(lambda: self._poll(activities), "glacierbase-display")
            try:
                yield
            finally:
                self.close()

    def _poll(self, activities: Sequence[Activity]) -> None:
        wait = _SHORT_SECONDS
        while not self._closed.wait(wait):
            newest = _newest(activities)
            with suppress(OSError, ValueError):  # The terminal or the pipe was closed.
                self._show(newest, activities)
            # Just after the next full second of the first activity, so that no second of it is left out.
            wait = 1.02 - (_age(newest[0]) % 1 if newest else 0.02)

    def _show(self, newest: Sequence[Activity], activities: Sequence[Activity]) -> None:
        raise NotImplementedError

    def _texts(self, activities: Sequence[Activity]) -> list[str]:
        """Return the lines of activities, each of a different line."""
        deadline = time.monotonic() + _ANSWER_SECONDS
        for activity in activities:
            self._details[activity.line].request(activity)
        return [self._text(activity, max(0, deadline - time.monotonic())) for activity in activities]

    def _text(self, activity: Activity, seconds: float) -> str:
        detail = self._details[activity.line].read(activity, seconds)
        text = f"{activity.what} {as_clock(_age(activity))}"
        return on_one_line(f"{text}, {detail}" if detail else text)

    def close(self) -> None:
        self._closed.set()
        self.clear()


class LiveLine(_Poller):
    """The last lines of a terminal, usually one, which are rewritten in place."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._shown = 0  # The number of lines.
        # Reentrant: a signal handler logs in the main thread, which may be inside `paused`.
        self._lock = threading.RLock()

    def _show(self, newest: Sequence[Activity], activities: Sequence[Activity]) -> None:
        if max(map(_age, newest), default=0) < _SHORT_SECONDS:
            self.clear()
            return
        most = min(_MOST_LINES, _height_of(self._stream) - 1)
        shown = newest if len(newest) <= most else newest[: max(1, most - 1)]
        texts = dict(zip(shown, self._texts(shown), strict=True))
        with self._lock:
            # An activity may have ended, and other output may be on its line.
            lines = [text for activity, text in texts.items() if activity in activities]
            if lines and not self._closed.is_set() and self._is_foreground():
                left_out = len(newest) - len(shown)
                self._rewrite([*lines, *([f"…and {left_out} more"] if left_out else [])])

    def _rewrite(self, lines: Sequence[str]) -> None:
        """Write the lines over those that are shown. The cursor stays in the last one, so that the terminal does not scroll."""
        width = width_of(self._stream) - 1
        below = _ERASE_BELOW if len(lines) < self._shown else ""
        text = "\n".join(f"{_cut(line, width)}{_ERASE}" for line in lines)
        text, self._shown = f"{self._to_first()}{text}{below}", len(lines)
        self._write(text)

    def _to_first(self) -> str:
        """Return what moves the cursor to the beginning of the first line that is shown."""
        return "\r" + (_UP.format(self._shown - 1) if self._shown > 1 else "")

    def _is_foreground(self) -> bool:
        """Return whether this is the shell's foreground job; a background job must not overwrite the prompt."""
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except OSError:  # The stream is not the controlling terminal of this process.
            return True

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            self._erase()
            yield

    def clear(self) -> None:
        if self._lock.acquire(timeout=_BLOCKED_SECONDS):
            try:
                self._erase()
            finally:
                self._lock.release()

    def _erase(self) -> None:
        if self._shown:
            text = f"{self._to_first()}{_ERASE if self._shown == 1 else _ERASE_BELOW}"
            self._shown = 0
            with suppress(OSError, ValueError):
                self._write(text)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class LogLines(_Poller):
    """Log a line at the start of each phase that takes longer than a second, and one line per minute for longer ones."""

    def __init__(self) -> None:
        super().__init__()
        self._due: dict[Activity, float] = {}  # The age at which the next line is due.

    def _show(self, newest: Sequence[Activity], activities: Sequence[Activity]) -> None:  # noqa: ARG002 (the port's)
        for activity in newest:
            age = _age(activity)
            if age < self._due.get(activity, _SHORT_SECONDS if activity.announce else _LINE_SECONDS):
                continue
            announces = activity.announce and activity not in self._due
            logger.info("%s", on_one_line(activity.what) if announces else self._texts([activity])[0])
            self._due[activity] = age + _LINE_SECONDS


class _Details:
    """Read the details of activities, in a thread that an engine without an answer may block."""

    def __init__(self) -> None:
        self._caller: Caller | None = None
        self._activity: Activity | None = None
        self._answer: Future[str | None] | None = None
        self._last = ""

    def request(self, activity: Activity) -> None:
        """Request the detail, unless the engine still owes an answer for the same activity."""
        if activity is not self._activity:
            self._begin(activity)
        self._caller = self._caller or Caller()
        self._answer = self._answer or self._caller.submit(activity.detail)

    def read(self, activity: Activity, seconds: float) -> str:
        """Return the requested detail, or the last one if there is no answer in this time."""
        assert self._answer
        try:
            self._last = result(self._answer, seconds) or self._last
        except NoAnswer:
            return self._last
        except Exception as error:
            logger.debug("%s: no detail: %s", activity.what, error)
        self._answer = None
        return self._last

    def _begin(self, activity: Activity) -> None:
        if self._caller and self._answer:
            self._caller.end()
            self._caller = None
        self._activity, self._answer, self._last = activity, None, ""


def _newest(activities: Sequence[Activity]) -> list[Activity]:
    """Return the newest activity of each line, in the order of the lines."""
    newest = {activity.line: activity for activity in tuple(activities)}
    return [newest[line] for line in sorted(newest)]


def _age(activity: Activity) -> float:
    return time.monotonic() - activity.since


def _cut(line: str, columns: int) -> str:
    """Return the line cut to a width; it must not wrap, because the lines that are rewritten are counted."""
    used = 0
    for index, character in enumerate(line):
        used += 2 if east_asian_width(character) in "WF" else 1
        if used > columns:
            return line[:index]
    return line


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a standard stream is a terminal. A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()


def is_dumb() -> bool:
    """Return whether the terminal understands no control sequences: neither colours nor a line that is rewritten."""
    return (os.environ.get("TERM") or "dumb") in ("dumb", "unknown")


def show_on(stream: TextIO | None, colour: str) -> Show:
    """Return how lines are shown on a stream.

    Args:
        colour: `auto`, `always` or `never`, as in `--color`.
    """
    if stream is None or not (is_terminal(stream) or colour == "always"):
        return printable
    from glacierbase.output.screen import Screen  # Imports rich.

    return Screen(width_of(stream), colour == "always" or (colour == "auto" and _has_colour())).show


def _has_colour() -> bool:
    """Return whether the environment allows colours; https://no-color.org."""
    return not os.environ.get("NO_COLOR") and not is_dumb()


def width_of(stream: TextIO) -> int:
    """Return the value of `COLUMNS` if it is set, else the width of the terminal, else 80."""
    columns = os.environ.get("COLUMNS", "")
    try:
        if columns.isdecimal() and int(columns):
            return int(columns)
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH


def _height_of(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).lines or _USUAL_HEIGHT
    except (OSError, ValueError):
        return _USUAL_HEIGHT
