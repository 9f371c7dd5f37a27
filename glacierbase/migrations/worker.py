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
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from glacierbase.errors import GlacierbaseError, collected
from glacierbase.migrations.compiled import Compiled, MisreadText, compile_migration, secrets_of
from glacierbase.model.command import Scope
from glacierbase.model.migration import Migration, Statement

NO_MEMORY = 3


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
    """A function that the worker calls with each compiled file, so that the same limits apply to its work.

    Attributes:
        function: its name, as `package.module:function`. Its arguments are the compiled file, `facts`, and a dictionary in which
            the functions of its module can keep values for later files in the same process; it returns a value of JSON types.
        facts: values of JSON types.
    """

    function: str
    facts: Mapping[str, Any]


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
    names: _Names | None = None
    kept: dict[str, Any] = {}
    while True:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        line = sys.stdin.buffer.readline()
        if not line:
            return
        try:
            request = json.loads(line)
            if "names" in request:
                names = _Names(**request["names"])
            answer = _answer(
                partial(_called, request) if "called" in request else partial(_compiled, request, names, kept)
            )
            # The sandbox replaces a worker whose memory is half full, so that the next file has enough.
            _write({**answer, "seconds": time.process_time(), "full": _memory() > enough})
        except MemoryError:
            os._exit(NO_MEMORY)


def _compiled(request: Mapping[str, Any], names: _Names | None, kept: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request for a compiled file.

    Args:
        kept: what examiners keep from one file to the next, by their module.
    """
    assert names
    migration = Migration(**{**request["migration"], "path": Path(request["migration"]["path"])})
    compiled = compile_migration(migration, names, request["dialect"])
    secrets = {"secrets": secrets_of(compiled)}
    if examiner := request.get("examiner"):
        examine = _function(examiner["function"])
        own = kept.setdefault(examine.__module__, {})
        return {**secrets, "examined": examine(compiled, examiner["facts"], own)}
    marks = [astuple(mark) for mark in compiled.misread]
    return {
        **secrets,
        "text": compiled.text,
        "checksum": compiled.checksum,
        "steps": [[astuple(statement) for statement in step] for step in compiled.steps],
        "misread": marks,
    }


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
