"""Where `pip` got this installation of glacierbase, how it installs the same again, its commit, and its extras.

https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import json
import operator
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import glacierbase

# The source of an installation from a package index.
INDEX = "index"
# What the build records in the wheel, `hatch_build.py`.
_BUILD = Path(glacierbase.__file__).with_name("build.json")
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?![\w.-])(?:\[(?P<extras>[\w,-]+)\])?(?P<limits>[^;]*); extra == ['\"](?P<extra>[\w-]+)['\"]"
)
_LIMIT = re.compile(r"(>=|<|==)([\d.]+)")
_ALLOWS = {">=": operator.ge, "<": operator.lt, "==": operator.eq}
_OF_DEVELOPERS = ("dev", "docs", "test")


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


def built_from() -> tuple[str | None, str | None]:
    """Return the commit that this installation was built from, and its repository on GitHub; each None if it is not known."""
    if not _BUILD.exists():
        return None, None
    facts = json.loads(_BUILD.read_text("utf-8"))
    return facts["commit"], facts["repository"]


def extras() -> list[str]:
    """Return the extras, of those for users, whose packages are all installed in a version that they allow."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        metadata = distribution("glacierbase").metadata
    except PackageNotFoundError:
        return []
    needed: dict[str, list[re.Match[str]]] = {}
    for text in metadata.get_all("Requires-Dist") or ():
        if match := _REQUIREMENT.fullmatch(text):
            needed.setdefault(match["extra"], []).append(match)
    return [name for name in needed if name not in _OF_DEVELOPERS and _is_installed(name, needed)]


def _is_installed(extra: str, needed: Mapping[str, Sequence[re.Match[str]]]) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    for requirement in needed.get(extra, ()):
        if requirement["name"] == "glacierbase":
            if not all(_is_installed(inner, needed) for inner in requirement["extras"].split(",")):
                return False
            continue
        try:
            installed = _numbers(version(requirement["name"]))
        except PackageNotFoundError:
            return False
        if any(not _ALLOWS[sign](installed, _numbers(text)) for sign, text in _LIMIT.findall(requirement["limits"])):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


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
