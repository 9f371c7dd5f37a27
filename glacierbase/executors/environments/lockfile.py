"""Lock files of virtual environments: the version and the hashes of each package that `glacierbase env` installs.

`catalogs/STEM.lock` is a requirements file of pip. Environments of a catalog file with different `packages` have a section each.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.command import command
from glacierbase.run.files import FileReader, FileRefused

_HEAD = "# Written by the command `env` of glacierbase. Commit it. To get newer versions, delete it and run the command again.\n"
_PACKAGES, _RESOLVED = "# packages: ", "# resolved for: "
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9._+!-]+)(?P<hashes>(?:\s+--hash=\S+)*)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class Pin:
    """The version of a package, and the SHA-256 of each file that may be installed."""

    version: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LockedPackages:
    """What is installed for one value of `packages`.

    Attributes:
        packages: the requirements that it was resolved from, as `canonical` returns them.
        platforms: the Pythons and platforms that it was resolved for.
        pins: by the normalized name of the package.
    """

    packages: tuple[str, ...]
    platforms: tuple[str, ...] = ()
    pins: Mapping[str, Pin] = field(default_factory=dict)

    def requirements(self) -> str:
        """Return the packages as a requirements file of pip."""
        return "".join(
            " \\\n    ".join((f"{name}=={pin.version}", *(f"--hash=sha256:{sha256}" for sha256 in sorted(pin.hashes))))
            + "\n"
            for name, pin in sorted(self.pins.items())
        )

    def versions(self) -> dict[str, str]:
        """Return the version of each package."""
        return {name: pin.version for name, pin in self.pins.items()}

    def with_pins(self, pins: Mapping[str, Pin]) -> LockedPackages:
        """Return the section after it was resolved for this platform, too, with further packages and hashes."""
        merged = {**self.pins}
        for name, pin in pins.items():
            known = merged[name].hashes if name in merged else ()
            merged[name] = Pin(pin.version, tuple(sorted({*known, *pin.hashes})))
        return LockedPackages(self.packages, tuple(sorted({*self.platforms, platform()})), merged)


def platform() -> str:
    """Return the name of this Python and platform in a lock file."""
    return f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"


def canonical(packages: Iterable[str]) -> tuple[str, ...]:
    """Return requirements without white space, sorted."""
    return tuple(sorted({"".join(package.split()) for package in packages}))


def normalized(name: str) -> str:
    """Return the normalized name of a package. Source: https://packaging.python.org/en/latest/specifications/name-normalization/"""
    return re.sub(r"[-_.]+", "-", name).lower()


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
    return {section.packages: section for section in _sections(content.decode(errors="replace"), location)}


def lock_text(sections: Iterable[LockedPackages]) -> str:
    """Return the text of a lock file."""
    parts = (
        f"{_PACKAGES}{' '.join(section.packages)}\n{_RESOLVED}{' '.join(section.platforms)}\n{section.requirements()}"
        for section in sorted(sections, key=lambda section: section.packages)
    )
    return _HEAD + "\n".join(parts)


def read_pins(text: str, location: str) -> dict[str, Pin]:
    """Return the packages of a requirements file in which each has a version. Comments are ignored.

    Args:
        location: the path, for messages.

    Raises:
        ConfigurationError: `LOCK_FILE_INVALID`.
    """
    pins: dict[str, Pin] = {}
    for number, line in _logical_lines(text):
        if not line.startswith("#"):
            name, pin = _pin(line, location, number)
            if name in pins:
                raise _invalid(location, number, f"{name} is there twice")
            pins[name] = pin
    return pins


def _sections(text: str, location: str) -> Iterator[LockedPackages]:
    heads = list(re.finditer(rf"^{_PACKAGES}(.*)\n(?:{_RESOLVED}(.*)\n)?", text, re.MULTILINE))
    before = text[: heads[0].start()] if heads else text
    if read_pins(before, location):
        raise _invalid(location, 1, f"a package is above the first line that begins with `{_PACKAGES.strip()}`")
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=True):
        above = "\n" * text.count("\n", 0, head.end())  # So that messages have the line in the file.
        pins = read_pins(above + text[head.end() : end], location)
        yield LockedPackages(canonical(head[1].split()), tuple((head[2] or "").split()), pins)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, each with its number; a line that ends in a backslash continues in the next."""
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        parts.append(line.strip().removesuffix("\\").strip())
        if line.rstrip().endswith("\\") and not line.lstrip().startswith("#"):
            continue
        if joined := " ".join(filter(None, parts)):
            yield number - len(parts) + 1, joined
        parts = []
    if any(parts):
        yield len(text.splitlines()), " ".join(parts)


def _pin(line: str, location: str, number: int) -> tuple[str, Pin]:
    match = _PIN.fullmatch(line)
    hashes: Sequence[str] = match["hashes"].split() if match else ()
    digests = [digest[1] for text in hashes if (digest := _HASH.fullmatch(text))]
    if not match or not digests or len(digests) != len(hashes):
        raise _invalid(location, number, "it is not `NAME==VERSION --hash=sha256:…`")
    return normalized(match["name"]), Pin(match["version"], tuple(sorted(digests)))


def _invalid(location: str, number: int, why: str) -> ConfigurationError:
    return ConfigurationError(
        "LOCK_FILE_INVALID",
        f"{location}, line {number}: {why}; nothing was installed",
        f"restore the file from git, or delete it and run `{command('env')}`",
        path=location,
        line=number,
    )
