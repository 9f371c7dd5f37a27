"""Where `pip` got this installation of glacierbase, and how it installs the same again.

https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import json
import shlex
from urllib.parse import unquote, urlsplit

import glacierbase

# The source of an installation from a package index.
INDEX = "index"


def source() -> str | None:
    """Return `INDEX`, `git+URL@COMMIT`, the address of an archive, or the path of a folder or an archive; None if none is known."""
    from importlib.metadata import (  # As slow as reading a project, and seldom needed.
        PackageNotFoundError,
        distribution,
    )

    try:
        text = distribution("glacierbase").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if text is None:
        return INDEX
    direct = json.loads(text)
    url, vcs = direct["url"], direct.get("vcs_info")
    if vcs:
        return f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return unquote(urlsplit(url).path) if url.startswith("file:") else url


def requirement(place: str, *extras: str) -> str:
    """Return the requirement by which `pip` installs glacierbase with extras.

    Args:
        place: as `source` returns it.
    """
    names = f"[{','.join(extras)}]" if extras else ""
    if place == INDEX:
        return f"glacierbase{names}=={glacierbase.__version__}"
    return f"glacierbase{names} @ {place}" if "://" in place else f"{place}{names}"


def pip_install(*extras: str) -> str:
    """Return the command that adds extras to this installation."""
    return shlex.join(["pip", "install", requirement(source() or INDEX, *extras)])
