"""Lock files of virtual environments: what uv resolved, and what `glacierbase env` installs.

`catalogs/STEM.lock` has a section for each value of `packages`: two head lines, then the output of `uv pip compile`, a requirements
file with versions, hashes and markers that is valid on every platform.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.command import command
from glacierbase.run.files import FileReader, FileRefused

_HEAD = "# Written by the command `env` of glacierbase. Commit it. To get newer versions, delete it and run the command again.\n"
_SECTION = re.compile(r"^# packages: (.*)\n# resolved for: Python 3\.(\d+) and newer\n", re.MULTILINE)
_MARKER = r"(?:[a-z_ ()<>=!~]|'[A-Za-z0-9_.+-]*')+"
# What uv writes. Options, addresses and paths do not match, so that uv reads none.
_ENTRY = re.compile(
    rf"#.*\n|\n|[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9._+!-]+(?: ; {_MARKER})?"
    r"(?: \\\n    --hash=sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128}))+\n"
)
_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class LockedPackages:
    """What is installed for one value of `packages`.

    Attributes:
        packages: the requirements that it was resolved from, as `canonical` returns them.
        oldest: the minor version of the oldest Python 3 that it was resolved for.
        requirements: the requirements file.
    """

    packages: tuple[str, ...]
    oldest: int
    requirements: str

    def is_for_this_python(self) -> bool:
        """Return whether this Python is not older than those that it was resolved for."""
        return sys.version_info[1] >= self.oldest


def canonical(packages: Iterable[str]) -> tuple[str, ...]:
    """Return requirements without white space, sorted."""
    return tuple(sorted({"".join(package.split()) for package in packages}))


def lock_path(catalog_file: Path) -> Path:
    """Return the path of the lock file of a catalog file."""
    return catalog_file.with_suffix(".lock")


def read_sections(catalog_file: Path) -> dict[tuple[str, ...], LockedPackages]:
    """Return the sections of the lock file of a catalog file, by their requirements; none without a lock file.

    Raises:
        ConfigurationError: `LOCK_FILE_INVALID`: it cannot be read.
    """
    path = lock_path(catalog_file)
    location = f"catalogs/{path.name}"
    try:
        content = FileReader(catalog_file.parent.parent, _LARGEST, _LARGEST).read(path)
    except FileRefused as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}
        raise ConfigurationError("LOCK_FILE_INVALID", f"{location}: {error.what}", error.hint, path=location) from error
    parts = _SECTION.split(checked_text(content.decode(errors="replace"), location))
    sections = (
        LockedPackages(canonical(packages.split()), int(oldest), requirements.strip("\n") + "\n")
        for packages, oldest, requirements in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    )
    return {section.packages: section for section in sections}


def lock_text(sections: Iterable[LockedPackages]) -> str:
    """Return the text of a lock file."""
    parts = (
        f"# packages: {' '.join(section.packages)}\n# resolved for: Python 3.{section.oldest} and newer\n{section.requirements}"
        for section in sorted(sections, key=lambda section: section.packages)
    )
    return _HEAD + "\n".join(parts)


def checked_text(text: str, location: str) -> str:
    """Return a requirements file that has versions with hashes and comments only; its lines end with a line feed.

    Args:
        location: the path, for messages.

    Raises:
        ConfigurationError: `LOCK_FILE_INVALID`.
    """
    text = "".join(f"{line}\n" for line in text.splitlines())
    position = 0
    while position < len(text):
        entry = _ENTRY.match(text, position)
        if not entry:
            line = text.count("\n", 0, position) + 1
            raise ConfigurationError(
                "LOCK_FILE_INVALID",
                f"{location}, line {line}: it is not `NAME==VERSION` with a `--hash=sha256:…` below; nothing was installed",
                f"restore the file from git, or delete it and run `{command('env')}`",
                path=location,
                line=line,
            )
        position = entry.end()
    return text
