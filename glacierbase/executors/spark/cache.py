"""The user's cache folder: what can be made again at any time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError

# Nobody else may write.
_MODE = 0o755


def cache_folder(*parts: str) -> Path:
    """A folder below `$XDG_CACHE_HOME/glacierbase` (default `~/.cache`, by the XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "glacierbase", *parts)


def make_folder(folder: Path) -> None:
    """Make a folder of the cache, in which only this user may write.

    Raises:
        ConfigurationError: it cannot be made, or is another user's.
    """
    try:
        cache_folder().parent.mkdir(parents=True, exist_ok=True)
        for each in reversed(_in_cache(folder)):
            each.mkdir(mode=0o700, exist_ok=True)
            if each.stat().st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "it belongs to another user")
            each.chmod(each.stat().st_mode & _MODE)  # Earlier versions left it to the umask.
    except OSError as error:
        raise ConfigurationError(
            "CACHE_NOT_WRITABLE",
            f"the cache's folder {folder} cannot be made: {error.strerror}",
            "XDG_CACHE_HOME names another place for it",
        ) from error


def is_own(path: Path) -> bool:
    """Return whether a file of the cache is there, and nobody but this user can have written it or put it there."""
    try:
        return path.is_file() and all(map(_is_private, [path, *_in_cache(path.parent)]))
    except OSError:
        return False


def _in_cache(folder: Path) -> list[Path]:
    """The folder and those above it, up to the cache's own."""
    return [each for each in (folder, *folder.parents) if each.is_relative_to(cache_folder())]


def _is_private(path: Path) -> bool:
    found = path.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def digest(question: Sequence[Any]) -> str:
    """A file's name for the answer to a question, given in JSON's types."""
    return hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what then takes the place of `path` as a whole: other processes may be reading it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.chmod(draft.stat().st_mode & _MODE)  # Whatever the umask.
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
