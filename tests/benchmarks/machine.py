"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.java import find_java_home
from tests.support.catalog_files import RUNTIME
from tests.support.project_folder import REPOSITORY

PACKAGES = ("click", "pyiceberg", "pyarrow", "sqlalchemy", "pyspark", "snowflake-connector-python")


def description() -> str:
    """Return the head of the page: day, machine, load and versions, as a list in Markdown."""
    return "\n".join(f"- {line}" for line in _lines())


def load() -> str:
    """Return the load averages of the machine over 1, 5 and 15 minutes."""
    return "load " + " ".join(f"{value:.1f}" for value in os.getloadavg())


def _lines() -> Iterator[str]:
    yield f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC, glacierbase at commit {_commit()}"
    yield f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} {platform.release()}, {load()}"
    yield f"Python {platform.python_version()}, {', '.join(_versions())}, {RUNTIME.partition(':')[2]}, {_java()}"


def _commit() -> str:
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _versions() -> Iterator[str]:
    for package in PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"no {package}"


def _java() -> str:
    try:
        java = find_java_home() / "bin" / "java"
    except ConfigurationError:
        return "no Java"
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr.splitlines()[0]
