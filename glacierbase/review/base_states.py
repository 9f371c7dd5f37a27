"""States of the copy after files of the base, in the user's cache: a review runs only the files that are new since then.

The key of a state covers the chain of the files' rendered checksums and all else that determines the state, so that it is never
stale. The state after plain files is the same in each engine, and without one. Cached data is not trusted: damaged or invalid
content is ignored, and the engine uses a state only inside its sandbox.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from glacierbase import __version__
from glacierbase.errors import ConfigurationError
from glacierbase.executors import CopyState
from glacierbase.review.copy import Copy
from glacierbase.review.statements import FileSummary, ReplayProblem
from glacierbase.run.cache import cache_folder, is_own, make_folder, replacing
from glacierbase.run.files import FileRefused, read_anywhere

# The version of the content of a file, and of the way in which the state after the same files is created.
_FORMAT = 2
_MOST_BYTES = 64 * 2**20
# A state is for one head of a base branch in one group of environments.
_MOST_KEPT = 20


class NotKept(Exception):
    """A state is not written into the cache; the message is the reason."""


@dataclass(frozen=True, slots=True)
class BaseState:
    """The state after the first files of a base.

    Attributes:
        files: their number.
        problems: the problems of their statements that did not run.
    """

    files: int
    problems: tuple[ReplayProblem, ...]
    state: CopyState


class BaseStates:
    """The states after the files of a base."""

    def __init__(self, copy: Copy, engine: str, base: Sequence[FileSummary]) -> None:
        """Args:
        engine: name and version.
        """
        catalog = copy.catalog
        conf = sorted(catalog.spark_conf.items())
        start = [_FORMAT, __version__, conf, copy.names, catalog.dependencies, catalog.digests]
        self._base = base
        parts = ([file.checksum, "" if file.is_plain else engine] for file in base)
        self._keys = list(accumulate(parts, _key, initial=_key(start)))
        self._folder = cache_folder("replays")

    @property
    def key(self) -> str:
        """The key of the state after all files."""
        return self._keys[-1]

    def latest(self) -> BaseState | None:
        """Return the state after the most files, or None."""
        for count in range(len(self._base), 0, -1):
            path = self._folder / self._keys[count]
            if is_own(path) and (state := self._read(path, count)):
                return state
        return None

    def keep(self, state: CopyState, problems: Sequence[ReplayProblem]) -> None:
        """Write the state after all files. A cache that cannot be written is not an error.

        Raises:
            NotKept: the state is too large.
        """
        if sum(map(len, state.files.values())) > _MOST_BYTES // 2:
            raise NotKept(f"it holds more than {_MOST_BYTES // 2**21} MiB")
        content = json.dumps(self._to_plain(state, problems)).encode()
        path = self._folder / self.key
        with suppress(OSError, ConfigurationError):
            make_folder(self._folder)
            with replacing(path) as draft:
                draft.write_bytes(_sealed(content))
            self._remove_old()

    def _remove_old(self) -> None:
        kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[_MOST_KEPT:]:
            path.unlink(missing_ok=True)

    def _read(self, path: Path, count: int) -> BaseState | None:
        with suppress(FileRefused):
            content = _opened(read_anywhere(path, _MOST_BYTES))
            # Any of these exceptions means that the content is not a state.
            with suppress(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
                return self._from_plain(json.loads(content), count)
        return None

    def _to_plain(self, state: CopyState, problems: Sequence[ReplayProblem]) -> dict[str, Any]:
        places = {id(file): number for number, file in enumerate(self._base)}
        return {
            "namespaces": [[name, dict(properties)] for name, properties in state.namespaces.items()],
            "tables": list(state.tables.items()),
            "views": list(state.views.items()),
            "files": {location: base64.b64encode(content).decode() for location, content in state.files.items()},
            "problems": [
                [places[id(problem.file)], problem.step.index, problem.code, problem.is_error, problem.message]
                for problem in problems
            ],
        }

    def _from_plain(self, plain: Mapping[str, Any], count: int) -> BaseState:
        state = CopyState(
            namespaces={_name(name): _texts(properties) for name, properties in plain["namespaces"]},
            tables={_name(name): _text(location) for name, location in plain["tables"]},
            views={_name(name): _text(location) for name, location in plain["views"]},
            files={location: base64.b64decode(content, validate=True) for location, content in plain["files"].items()},
        )
        return BaseState(count, tuple(self._problem(problem, count) for problem in plain["problems"]), state)

    def _problem(self, plain: Sequence[Any], count: int) -> ReplayProblem:
        number, index, code, is_error, message = plain
        file = self._base[range(count)[number]]
        step = file.steps[range(len(file.steps))[index - 1]]
        return ReplayProblem(_text(code), bool(is_error), _text(message), file, step)


def _key(before: Any, part: Sequence[str] = ()) -> str:
    return hashlib.sha256(json.dumps([before, part]).encode()).hexdigest()


def _sealed(content: bytes) -> bytes:
    """Return the content of a cache file: a digest, and the compressed content."""
    packed = zlib.compress(content, 1)
    return hashlib.sha256(packed).hexdigest().encode() + packed


def _opened(sealed: bytes) -> bytes:
    """Return the sealed content; empty if it was changed since, or is larger than a state may be."""
    digest, packed = sealed[:64], sealed[64:]
    if hashlib.sha256(packed).hexdigest().encode() != digest:
        return b""
    unpacking = zlib.decompressobj()
    with suppress(zlib.error):
        content = unpacking.decompress(packed, _MOST_BYTES)
        return b"" if unpacking.unconsumed_tail else content
    return b""


def _name(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < 2:
        raise TypeError("a name is a list of a catalog and more")
    return tuple(map(_text, value))


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {_text(key): _text(text) for key, text in value.items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
