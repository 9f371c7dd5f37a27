"""The user's cache folder: what can be made again at any time."""

from __future__ import annotations

import os
from pathlib import Path

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
