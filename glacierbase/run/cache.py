"""The user's cache folder, which may be deleted at any time."""

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

# Only the owner may write.
_MODE = 0o755


def cache_folder(*parts: str) -> Path:
    """Return a folder below `$XDG_CACHE_HOME/glacierbase` (default `~/.cache`, by the XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "glacierbase", *parts)


def make_folder(folder: Path) -> None:
    """Create a folder of the cache that only this user may write to.

    Raises:
        ConfigurationError: the folder cannot be created, or belongs to another user.
    """
    try:
        cache_folder().parent.mkdir(parents=True, exist_ok=True)
        for path in reversed(_in_cache(folder)):
            path.mkdir(mode=0o700, exist_ok=True)
            if path.stat().st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "it belongs to another user")
            path.chmod(path.stat().st_mode & _MODE)  # Earlier versions did not set the mode.
    except OSError as error:
        raise ConfigurationError(
            "CACHE_NOT_WRITABLE",
            f"the cache folder {folder} cannot be made: {error.strerror}",
            "set XDG_CACHE_HOME to a folder that you may write to",
        ) from error


def is_own(path: Path) -> bool:
    """Return whether a file of the cache exists that only this user can have written."""
    try:
        return path.is_file() and all(map(_is_private, [path, *_in_cache(path.parent)]))
    except OSError:
        return False


def _in_cache(folder: Path) -> list[Path]:
    """Return the folder and its parents, up to the cache folder."""
    return [parent for parent in (folder, *folder.parents) if parent.is_relative_to(cache_folder())]


def _is_private(path: Path) -> bool:
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def digest(key: Sequence[Any]) -> str:
    """Return a file name for the entry of a key, which consists of JSON's types."""
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft that replaces `path` at the end, because other processes may read `path` meanwhile."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.chmod(draft.stat().st_mode & _MODE)  # The umask may allow more.
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
