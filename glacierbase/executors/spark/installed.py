"""The Spark of this Python: which one, and where it lies. Neither imports it, which takes as long as a JVM takes to begin."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError


def spark_version() -> str:
    """The installed Spark's version.

    Raises:
        ConfigurationError: there is none.
    """
    for package in ("pyspark", "pyspark-client"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise _not_installed("pyspark is not installed in this Python")


def spark_home() -> Path:
    """The folder of its scripts and jars: `SPARK_HOME`, else the package's own.

    Raises:
        ConfigurationError: there is none.
    """
    if named := os.environ.get("SPARK_HOME"):
        return Path(named)
    package = find_spec("pyspark")
    for folder in map(Path, package.submodule_search_locations or () if package else ()):
        # The first is where a Spark lies that was chosen at installation, by PYSPARK_HADOOP_VERSION:
        # https://spark.apache.org/docs/latest/api/python/getting_started/install.html
        for home in (folder / "spark-distribution", folder):
            if (home / "bin" / "spark-submit").is_file():
                return home
    raise _not_installed("this Python has no Spark of its own to start")


def _not_installed(message: str) -> ConfigurationError:
    return ConfigurationError(
        "SPARK_NOT_INSTALLED",
        message,
        "pip install 'glacierbase[spark]', or 'glacierbase[local]' for a machine without Java",
    )
