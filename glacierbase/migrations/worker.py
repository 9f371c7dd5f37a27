"""The process that compiles untrusted migrations, and reads projects of other tools; `migrations.sandbox` starts and ends it.

Requests and answers are lines of JSON. The process limits its memory before the first request, and its processor time before
each request. Exceeding a limit ends the process: memory with the status `NO_MEMORY`, time with the signal SIGPROF.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from glacierbase.errors import GlacierbaseError, collected
from glacierbase.migrations.compiled import Compiled, MisreadText, compile_migration, secrets_of, split_file
from glacierbase.model.command import Scope
from glacierbase.model.migration import Migration, Statement

NO_MEMORY = 3
# Compiled files that are kept for another function.
_MOST_KEPT = 1_000
_Left = TypeVar("_Left")


@dataclass(frozen=True, slots=True)
class _Names:
    name: str
    environment: str
    variables: Mapping[str, Any]


def to_line(value: Any) -> bytes:
    """Return a request or an answer as bytes for a pipe; file names may contain halves of characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


@dataclass(frozen=True, slots=True)
class Examiner:
    """A function that the worker calls with a compiled file, so that the same limits apply to its work.

    Attributes:
        function: its name, as `package.module:function`. Its arguments are the compiled file, `facts`, and the `Chain` of the file;
            it returns a value of JSON types.
        facts: values of JSON types.
        is_template: whether the file is rendered.
        is_read_again: whether another function gets the file, as the same environment renders it.
        place: the number of the walk and that of the file in it, which the sandbox gives.
    """

    function: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_template: bool = True
    is_read_again: bool = False
    place: tuple[int, int] = (0, 0)


class Chain:
    """The files of a walk up to a file, of which each function leaves a value to the next one."""

    def __init__(self, walk: int = 0, number: int = 0) -> None:
        """Args:
        number: of the first file; the files before it are missing.
        """
        self._is_complete = number == 0
        self._next = (walk, number)
        self._left: Any = None

    def left(self, start: Callable[[bool], _Left]) -> _Left:
        """Return the value that the file before left, or the first one.

        Args:
            start: returns the first value; its argument is whether no file is missing.
        """
        if self._left is None:
            self._left = start(self._is_complete)
        value: _Left = self._left
        return value

    def ends_before(self, place: Sequence[int]) -> bool:
        """Return whether a file follows the last one directly."""
        return self._next == tuple(place)

    def add(self) -> None:
        """Count a file whose function has returned."""
        self._next = (self._next[0], self._next[1] + 1)


class Compiler:
    """Compile files for one environment after the other, and call functions with them."""

    def __init__(self) -> None:
        self._names: _Names | None = None
        self._chain = Chain()
        # By location, checksum, and whether the file is rendered.
        self._kept: dict[tuple[str, str, bool], Compiled] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request for a compiled file."""
        if "names" in request:
            self._names = _Names(**request["names"])
            self._kept.clear()
        migration = Migration(**{**request["migration"], "path": Path(request["migration"]["path"])})
        examiner = Examiner(**request["examiner"]) if "examiner" in request else None
        compiled = self._compiled(migration, request["dialect"], examiner)
        secrets = {"secrets": secrets_of(compiled)}
        if examiner:
            return {**secrets, "examined": self._examined(compiled, examiner)}
        marks = [astuple(mark) for mark in compiled.misread]
        return {
            **secrets,
            "text": compiled.text,
            "checksum": compiled.checksum,
            "steps": [[astuple(statement) for statement in step] for step in compiled.steps],
            "misread": marks,
        }

    def _compiled(self, migration: Migration, dialect: str, examiner: Examiner | None) -> Compiled:
        assert self._names
        is_template = examiner is None or examiner.is_template
        key = (migration.location, migration.checksum, is_template)
        compiled = self._kept.get(key)
        if compiled is None:
            names = self._names
            compiled = compile_migration(migration, names, dialect) if is_template else split_file(migration, dialect)
            if examiner and examiner.is_read_again and len(self._kept) < _MOST_KEPT:
                self._kept[key] = compiled
        return compiled

    def _examined(self, compiled: Compiled, examiner: Examiner) -> Any:
        if not self._chain.ends_before(examiner.place):
            self._chain = Chain(*examiner.place)
        examined = _function(examiner.function)(compiled, examiner.facts, self._chain)
        self._chain.add()
        return examined


def to_request(migration: Migration) -> dict[str, Any]:
    return {**asdict(migration), "path": str(migration.path)}


def from_answer(migration: Migration, dialect: str, answer: Mapping[str, Any]) -> Compiled:
    """Return what `compile_migration` returned in the worker."""
    steps = tuple(tuple(Statement(*statement) for statement in step) for step in answer["steps"])
    marks = tuple(MisreadText(*mark) for mark in answer["misread"])
    return Compiled(migration, answer["text"], answer["checksum"], steps, dialect, marks)


def main() -> None:
    """Answer requests until the input ends. `sys.argv` holds the seconds for each and the bytes of memory for all."""
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    _restore_signals()
    enough = _limit_memory(memory)
    _write({"ready": True})
    compiler = Compiler()
    while True:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        line = sys.stdin.buffer.readline()
        if not line:
            return
        try:
            request = json.loads(line)
            answer = _answer(partial(_called if "called" in request else compiler.answer, request))
            # The sandbox replaces a worker whose memory is half full, so that the next file has enough.
            _write({**answer, "seconds": time.process_time(), "full": _memory() > enough})
        except MemoryError:
            os._exit(NO_MEMORY)


def _called(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request that names a function: what it returns where the caller is, with the caller's choice."""
    os.chdir(request["folder"])
    scope = request["scope"]
    with Scope(**{**scope, "root": scope["root"] and Path(scope["root"])}).in_use():
        return {"returned": _function(request["called"])(**request["arguments"])}


def _answer(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer that `work` returns, or the errors that it raises."""
    errors: list[GlacierbaseError] = []
    try:
        with collected(errors):
            return work()
    except MemoryError:
        raise
    except Exception:
        return {"bug": traceback.format_exc()}
    return {
        "errors": [
            {
                "kind": type(error).__name__,
                "code": error.code,
                "message": error.message,
                "hint": error.hint,
                "data": dict(error.data),
            }
            for error in errors
        ]
    }


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    attribute: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return attribute


def _write(answer: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(to_line(answer))
    sys.stdout.buffer.flush()


def _restore_signals() -> None:
    """Undo what a parent process ignores or blocks, because that is inherited."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Ctrl-C signals the whole process group. The parent ends this process; otherwise it would report the file as the cause.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _limit_memory(memory: int) -> int:
    """Limit the address space to its present size plus `memory` bytes, and return the mean of both. Only on Linux."""
    import glacierbase.migrations.render  # noqa: F401 (Every request needs Jinja.)

    now = _memory()
    if not _STATM.exists():
        return now
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = now + memory if allowed == resource.RLIM_INFINITY else min(now + memory, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return (now + most) // 2


_STATM = Path("/proc/self/statm")


def _memory() -> int:
    """Return the size of this process's address space in bytes; 0 where there is no `/proc`."""
    return int(_STATM.read_bytes().split()[0]) * resource.getpagesize() if _STATM.exists() else 0
