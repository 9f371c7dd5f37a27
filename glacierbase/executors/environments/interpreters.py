"""Which Python runs the engine of a catalog: that of `migrationExecutor.python` or `.packages`, else this one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import Catalog
from glacierbase.run.pythons import isolated

OLDEST = (3, 10)
# A Python starts in some hundredths of a second.
_VERSION_SECONDS = 30
_PROBE = "import sys; print('glacierbase', *sys.version_info[:2])"
_ANSWER = re.compile(r"glacierbase ([0-9]+) ([0-9]+)\s*")


def interpreter_of(catalog: Catalog, root: Path) -> Path:
    """Return the Python that the engine of a catalog runs with.

    Args:
        root: the root of the project, which a relative path of the catalog file starts from.

    Raises:
        ConfigurationError: `PYTHON_NOT_USABLE`; for `packages`, as `environment_python` raises it.
    """
    if catalog.python:
        return _checked(root / Path(catalog.python).expanduser(), catalog)
    if catalog.packages:
        from glacierbase.executors.environments.folders import environment_python

        return environment_python(catalog)
    return Path(sys.executable)


def _checked(path: Path, catalog: Catalog) -> Path:
    why = _unusable(path)
    if why:
        raise ConfigurationError(
            "PYTHON_NOT_USABLE",
            f"catalog {catalog.name}: migrationExecutor.python is {path}, {why}",
            f"set migrationExecutor.python to a Python {'.'.join(map(str, OLDEST))} or newer with the engine's packages",
        )
    return path


@cache
def _unusable(path: Path) -> str | None:
    """Return why no engine runs with the Python at `path`, or None if one can."""
    if not path.is_file():
        return "which is no file"
    if not os.access(path, os.X_OK):
        return "which is not executable"
    version = _version(path)
    if version is None:
        return "which is no Python"
    return f"which is Python {'.'.join(map(str, version))}" if version < OLDEST else None


def _version(path: Path) -> tuple[int, ...] | None:
    """Return the version of the Python at `path`; None if that is another program, or does not answer."""
    try:
        done = subprocess.run(
            isolated(path, "-c", _PROBE), capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = _ANSWER.fullmatch(done.stdout)
    return tuple(map(int, answer.groups())) if done.returncode == 0 and answer else None
