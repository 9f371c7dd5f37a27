"""A package that adds an engine, a dialect and a store to glacierbase, as another project would; here is how tests install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SQLITE_ENGINE = """\
migrationExecutor:
  type: sqlite
  conf:
    path: ${projectRoot}/shop.db
"""


def install_sqlite(folder: Path) -> Path:
    """Install the package into a folder for `sys.path`, without a network, and return the folder."""
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(Path(__file__).parent)]
    subprocess.run(command, check=True)
    return folder
