"""The user's cache folder: what can be made again at any time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError


def cache_folder(*parts: str) -> Path:
    """A folder below `$XDG_CACHE_HOME/glacierbase` (default `~/.cache`, by the XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "glacierbase", *parts)


def make_folder(folder: Path) -> None:
    """Make a folder of the cache.

    Raises:
        ConfigurationError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            "CACHE_NOT_WRITABLE",
            f"the cache's folder {folder} cannot be made: {error.strerror}",
            "XDG_CACHE_HOME names another place for it",
        ) from error


def digest(question: Sequence[Any]) -> str:
    """A file's name for the answer to a question, given in JSON's types."""
    return hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what then takes the place of `path` as a whole: other processes may be reading it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
