"""The virtual environments of `migrationExecutor.packages` in the user's cache: where each is, and whether it is complete.

A folder of the cache belongs to one content of a lock file, on one Python. Catalogs, also of other projects, with the same content
share it. A file that is written last marks it as complete.
"""

from __future__ import annotations

import errno
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.executors.environments.lockfile import (
    LockedPackages,
    canonical,
    lock_path,
    read_sections,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.run.cache import cache_folder, digest, is_own
from glacierbase.run.files import in_use


@dataclass(frozen=True, slots=True)
class Environment:
    """The place of a virtual environment.

    Attributes:
        folder: in the cache. It need not exist.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def complete(self) -> Path:
        """The file that marks it as complete: the packages that were installed, a line each."""
        return self.folder / "complete"

    @property
    def users(self) -> Path:
        """The file with the paths of the catalog files that use it, a line each."""
        return self.folder / "users"

    def is_complete(self) -> bool:
        """Return whether `glacierbase env` of this user completed it, and its Python is still installed."""
        return is_own(self.complete) and self.python.exists()

    def installed(self) -> list[str]:
        """Return the installed packages, each as its name, a space and its version."""
        base = str(self.folder / "venv")
        place = sysconfig.get_path("purelib", "posix_prefix", {"base": base, "platbase": base})
        return sorted(f"{package.name} {package.version}" for package in distributions(path=[place]))

    def completed(self) -> list[str]:
        """Return the packages that were installed when it was completed, as `installed` does."""
        return self.complete.read_text().splitlines()

    def changed(self) -> list[str]:
        """Return the packages that were installed or removed since it was completed."""
        return sorted({*self.installed()} ^ {*self.completed()})

    def user_files(self) -> set[str]:
        """Return the paths of the catalog files that use it."""
        return set(self.users.read_text(errors="replace").splitlines()) if is_own(self.users) else set()


def environments() -> list[Environment]:
    """Return all environments in the cache, complete or not."""
    root = environments_folder()
    return [Environment(folder) for folder in sorted(root.iterdir()) if folder.is_dir()] if root.is_dir() else []


def environments_folder() -> Path:
    """Return the folder of all environments."""
    return cache_folder("environments")


def environment_of(section: LockedPackages) -> Environment:
    """Return the environment of a section of a lock file, on this Python and platform."""
    key = [section.requirements, sys.implementation.cache_tag, sysconfig.get_platform(), sys.base_prefix]
    return Environment(cache_folder("environments", digest(key)))


@contextmanager
def kept(python: Path) -> Iterator[Sequence[int]]:
    """Keep the environment of a Python, if it has one here, from being deleted by `env`.

    Yields the descriptors with which a process inherits that: the environment is kept until the process ends, too.

    Raises:
        OSError: it is being deleted.
    """
    if not python.is_relative_to(environments_folder()):
        yield ()
        return
    with in_use(environments_folder() / python.relative_to(environments_folder()).parts[0]) as held:
        if held is None:
            raise BlockingIOError(errno.EAGAIN, "its virtual environment is being deleted")
        yield [held]


def environment_python(catalog: Catalog) -> Path:
    """Return the Python of the virtual environment of a catalog's `packages`. Nothing is contacted or written.

    Raises:
        ConfigurationError: `ENVIRONMENT_MISSING`; `ENVIRONMENT_STALE`: the lock file, the requirements or the Python changed;
            `LOCK_FILE_INVALID`.
    """
    return _complete(catalog).python


def checked(catalog: Catalog) -> Environment:
    """Return the environment of a catalog's `packages`; its packages are compared with those that `env` installed.

    Raises:
        ConfigurationError: as `environment_python`, which compares nothing.
    """
    environment = _complete(catalog)
    if changed := environment.changed():
        raise _stale(catalog, f"after `env`, other commands installed or removed {', '.join(changed)}")
    return environment


def _complete(catalog: Catalog) -> Environment:
    """Return the environment for the catalog's `packages` and this Python. Raises as `environment_python`."""
    section = read_sections(catalog.file).get(canonical(catalog.packages))
    location = f"catalogs/{lock_path(catalog.file).name}"
    if section is None and lock_path(catalog.file).exists():
        raise _stale(catalog, f"{location} was written for other `packages`")
    if section is None:
        raise _missing(catalog)
    if not section.is_for_this_python():
        raise _stale(catalog, f"{location} was resolved for Python 3.{section.oldest} and newer")
    environment = environment_of(section)
    if environment.is_complete():
        return environment
    raise _stale(catalog, "its lock file or this Python changed") if _had_one(catalog) else _missing(catalog)


def _had_one(catalog: Catalog) -> bool:
    return any(
        str(catalog.file) in environment.user_files() for environment in environments() if environment.is_complete()
    )


def _missing(catalog: Catalog) -> ConfigurationError:
    what = f"catalog {catalog.name}: the virtual environment of its `packages` does not exist"
    return ConfigurationError("ENVIRONMENT_MISSING", what, command("env"))


def _stale(catalog: Catalog, why: str) -> ConfigurationError:
    what = f"catalog {catalog.name}: the virtual environment of its `packages` is out of date: {why}"
    return ConfigurationError("ENVIRONMENT_STALE", what, command("env"))
