"""The user's cache folder: what can be made again at any time."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(*parts: str) -> Path:
    """A folder below `$XDG_CACHE_HOME/glacierbase` (default `~/.cache`, by the XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "glacierbase", *parts)
