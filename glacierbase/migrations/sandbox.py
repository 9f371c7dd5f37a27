"""Compile untrusted migrations, and read other tools' projects, in a process with limits of time and memory."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.compiled import Compiled, TemplateNames, mask_secrets
from glacierbase.migrations.worker import NO_MEMORY, Examiner, from_answer, to_line, to_request
from glacierbase.model.command import scope_in_use
from glacierbase.model.migration import Migration
from glacierbase.run.pythons import with_this_path

S = TypeVar("S")
T = TypeVar("T")

# For one file in one environment: processor time, and elapsed time, which is longer on a busy machine.
_SECONDS, _SECONDS_BY_CLOCK = 5.0, 120.0
_MEMORY = 2**30
_LONGEST_ANSWER = 48 * 2**20
# For all files of a command.
_SECONDS_IN_ALL, _SECONDS_EACH, _MOST_SECONDS = 60.0, 0.01, 900.0
_MOST_HELD = 100 * 2**20

_START = "from glacierbase.migrations.worker import main; main()"
# Variables that Python may need to start; the worker receives no others.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")


class Sandbox:
    """Compile files in a worker process, which is started again after a file that exceeds a limit.

    It is a context manager, and ends the process at exit.

    Attributes:
        is_spent: whether the budget of the command is used up.
    """

    def __init__(self, renderings: int) -> None:
        """Args:
        renderings: the number of files times environments in the command; the budget grows with it.
        """
        self.is_spent = False
        self._allowed = min(_SECONDS_IN_ALL + _SECONDS_EACH * renderings, _MOST_SECONDS)
        self._began = time.thread_time()
        self._spent = 0.0  # Seconds of workers that have ended.
        self._held = 0
        self._walks = 0
        self._texts: dict[str, str] = {}
        self._worker: _Worker | None = None
        self._refused: dict[str, MigrationFileError] = {}

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def compile_all(
        self, migrations: Iterable[Migration], catalog: TemplateNames, dialect: str, keep: Callable[[Compiled], bool]
    ) -> Iterator[Compiled]:
        """Yield the compiled files for which `keep` returns True, one after the other; the others are only checked.

        Args:
            keep: may raise an error of the file.

        Raises:
            MigrationFileError, SeveralErrors: all errors in all files, raised after the last one. `TEMPLATE_TOO_COSTLY`: a
                limit was exceeded; if it is the command's, `is_spent` is True and the remaining files are not checked.
        """

        def compile_(migration: Migration) -> Compiled | None:
            compiled = from_answer(migration, dialect, self._answer(migration, catalog, dialect))
            return self._kept(compiled) if keep(compiled) else None

        return self._run_each(migrations, compile_)

    def walk(
        self, files: Sequence[tuple[Migration, Examiner]], catalog: TemplateNames, dialect: str, *, alone: bool = False
    ) -> Iterator[tuple[Migration, Any]]:
        """Compile files in their order, and yield each one for which its examiner returns a value, with the value.

        Args:
            alone: whether no file is examined with what the files before it left.

        Raises:
            MigrationFileError, SeveralErrors: as `compile_all`.
        """
        self._walks += 1

        def examine(number: int) -> tuple[Migration, Any] | None:
            migration, examiner = files[number]
            # After a missing first file, nothing is left to a file.
            place = (-number, 1) if alone else (self._walks, number)
            result = self._answer(migration, catalog, dialect, replace(examiner, place=place))["examined"]
            self._hold(len(str(result)), migration.location)
            return None if result is None else (migration, result)

        return self._run_each(range(len(files)), examine)

    def _run_each(self, files: Iterable[S], run: Callable[[S], T | None]) -> Iterator[T]:
        """Yield what `run` returns for each file. Raise all errors after the last one."""
        errors: list[GlacierbaseError] = []
        for file in files:
            if self.is_spent:
                break
            result = None
            with collected(errors):
                result = run(file)
            if result is not None:
                yield result
        raise_all(errors)

    def check_time(self, location: str) -> None:
        """Raise a `MigrationFileError` if the command has used up its time."""
        taken = time.thread_time() - self._began + self._spent + (self._worker.seconds if self._worker else 0)
        if taken > self._allowed:
            raise self._stopped(location, f"the command has used {self._allowed:g} s of processor time")

    def _kept(self, compiled: Compiled) -> Compiled:
        """Count the text towards the budget, and share equal texts of several environments."""
        text = self._texts.setdefault(compiled.text, compiled.text)
        if text is compiled.text:
            self._hold(len(text), compiled.migration.location)
        return replace(compiled, text=text)

    def _hold(self, size: int, location: str) -> None:
        self._held += size
        if self._held > _MOST_HELD:
            raise self._stopped(location, f"the output is larger than {_MOST_HELD // 2**20} MiB")

    def _answer(
        self, migration: Migration, catalog: TemplateNames, dialect: str, examiner: Examiner | None = None
    ) -> Mapping[str, Any]:
        """Return the worker's answer for one file that has no error."""
        if migration.location in self._refused:
            raise self._refused[migration.location]
        self.check_time(migration.location)
        answer = self._any_answer(migration, catalog, dialect, examiner)
        self._hold(sum(len(error["message"]) for error in answer.get("errors", ())), migration.location)
        checked = _checked(answer)
        mask_secrets(migration.location, checked["secrets"])
        return checked

    def _any_answer(
        self, migration: Migration, catalog: TemplateNames, dialect: str, examiner: Examiner | None
    ) -> Mapping[str, Any]:
        self._worker = worker = self._worker or _Worker(_SECONDS)
        try:
            answer = worker.compile(migration, catalog, dialect, examiner)
        except _Ended as error:
            self._end()
            hint = "make its loops and values smaller"
            self._refused[migration.location] = refused = _too_costly(migration.location, str(error), hint)
            raise refused from error
        if answer["full"]:
            self._end()
        return answer

    def _stopped(self, location: str, why: str) -> MigrationFileError:
        self.is_spent = True
        hint = "correct the named files, or check fewer at a time with --catalog and --env"
        return _too_costly(location, f"this file and those after it were not checked: {why}", hint)

    def _end(self) -> None:
        if self._worker:
            self._worker.end()
            self._spent += self._worker.seconds
            self._worker = None


def _too_costly(location: str, what: str, hint: str) -> MigrationFileError:
    return MigrationFileError("TEMPLATE_TOO_COSTLY", f"{location}, line 1: {what}", hint, path=location, line=1)


def _checked(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer; raise the errors in it."""
    if "bug" in answer:
        raise RuntimeError(f"the worker failed:\n{answer['bug']}")
    raise_all([_error(error) for error in answer.get("errors", ())])
    return answer


def _error(plain: Mapping[str, Any]) -> GlacierbaseError:
    kind = ConfigurationError if plain["kind"] == ConfigurationError.__name__ else MigrationFileError
    return kind(plain["code"], plain["message"], plain["hint"], **plain["data"])


def called(function: str, arguments: Mapping[str, Any], what: str, hint: str) -> Any:
    """Return what a function returns in a worker, which has the limits of a whole command.

    Args:
        function: its name, as `package.module:function`. It returns a value of JSON types.
        arguments: by their names, of JSON types.
        what: what the function does, for the message about an exceeded limit.

    Raises:
        ConfigurationError, MigrationFileError, SeveralErrors: what the function raises. `UNREADABLE_FILE`: it exceeds a limit.
    """
    worker = _Worker(_SECONDS_IN_ALL, what)
    try:
        return _checked(worker.call(function, arguments))["returned"]
    except _Ended as error:
        raise ConfigurationError("UNREADABLE_FILE", str(error), hint) from error
    finally:
        worker.end()


class _Ended(Exception):
    """The worker ended or was killed before it returned an answer; the message is the reason."""


def _start(arguments: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the process of a worker.

    Args:
        arguments: what `glacierbase.migrations.worker.main` requires.
        environ: its variables.
    """
    return subprocess.Popen(
        with_this_path(_START, *arguments), env=environ, cwd=Path(sys.executable).anchor,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


class _Worker:
    """A running worker.

    Attributes:
        seconds: the processor time that it has used, as last reported.
    """

    def __init__(self, limit: float, what: str = "rendering and splitting it") -> None:
        """Args:
        limit: the processor time for each request, in seconds.
        what: what a request does, for messages.
        """
        self.seconds = 0.0
        self._limit, self._what = limit, what
        self._names: TemplateNames | None = None
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._process = _start([str(limit), str(_MEMORY)], kept)
        assert self._process.stdout
        self._answers = select.poll()
        self._answers.register(self._process.stdout, select.POLLIN)
        try:
            self._exchange(b"")
        except BaseException as error:
            self.end()
            if isinstance(error, _Ended):
                raise RuntimeError(f"the worker did not start: {error}") from error
            raise

    def compile(
        self, migration: Migration, catalog: TemplateNames, dialect: str, examiner: Examiner | None
    ) -> Mapping[str, Any]:
        """Return the worker's answer for one file.

        Raises:
            _Ended: a limit was exceeded.
        """
        request: dict[str, Any] = {"migration": to_request(migration), "dialect": dialect}
        if examiner:
            request["examiner"] = asdict(examiner)
        if catalog is not self._names:
            names = {"name": catalog.name, "environment": catalog.environment, "variables": catalog.variables}
            request["names"] = names
        answer = self._exchange(to_line(request))
        self._names = catalog
        self.seconds = answer["seconds"]
        return answer

    def call(self, function: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the worker's answer to a call of a function.

        Raises:
            _Ended: a limit was exceeded.
        """
        scope = asdict(scope_in_use())
        scope["root"] = scope["root"] and str(scope["root"])
        request = {"called": function, "arguments": arguments, "folder": str(Path.cwd()), "scope": scope}
        return self._exchange(to_line(request))

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _exchange(self, request: bytes) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        began, line = time.monotonic(), b""
        with suppress(BrokenPipeError):
            self._process.stdin.write(request)
            self._process.stdin.flush()
            # The worker writes a whole answer at once.
            if not self._answers.poll(_SECONDS_BY_CLOCK * 1000):
                self._process.kill()
            line = self._process.stdout.readline(_LONGEST_ANSWER)
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.seconds += time.monotonic() - began
        raise _Ended(self._why(len(line), time.monotonic() - began))

    def _why(self, received: int, seconds: float) -> str:
        if received == _LONGEST_ANSWER:
            return f"the result of {self._what} is larger than {_LONGEST_ANSWER // 2**20} MiB"
        code = self._process.wait()
        if code == -signal.SIGPROF:
            return f"{self._what} needs more than {self._limit:g} s of processor time"
        if code == NO_MEMORY:
            return f"{self._what} needs more than {_MEMORY // 2**20} MiB of memory"
        if seconds >= _SECONDS_BY_CLOCK:
            return f"{self._what} needs more than {_SECONDS_BY_CLOCK:g} s"
        return f"the process for {self._what} ended with status {code}"
