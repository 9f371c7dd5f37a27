"""States of the copy after files of the base, in the user's cache: a review runs only the files that are new since then.

The key of a state covers the chain of the files' rendered checksums and all else that determines the state, so that it is never
stale. The state after plain files is the same in each engine, and without one. Cached data is not trusted: damaged or invalid
content is ignored, and the engine uses a state only inside its sandbox.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from glacierbase import __version__
from glacierbase.capabilities.review.copy import Copy
from glacierbase.capabilities.review.statements import FileSummary, ReplayProblem
from glacierbase.executors import CopyState
from glacierbase.run.sealed import MOST_BYTES, SealedFolder

# The version of the content of a file, and of the way in which the state after the same files is created.
_FORMAT = 2
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
        self._states = SealedFolder("replays", _MOST_KEPT)

    @property
    def key(self) -> str:
        """The key of the state after all files."""
        return self._keys[-1]

    def latest(self) -> BaseState | None:
        """Return the state after the most files, or None."""
        for count in range(len(self._base), 0, -1):
            if (content := self._states.read(self._keys[count])) and (state := self._read(content, count)):
                return state
        return None

    def keep(self, state: CopyState, problems: Sequence[ReplayProblem]) -> None:
        """Write the state after all files. A cache that cannot be written is not an error.

        Raises:
            NotKept: the state is too large.
        """
        if sum(map(len, state.files.values())) > MOST_BYTES // 2:
            raise NotKept(f"it holds more than {MOST_BYTES // 2**21} MiB")
        self._states.write(self.key, json.dumps(self._to_plain(state, problems)).encode())

    def _read(self, content: bytes, count: int) -> BaseState | None:
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
