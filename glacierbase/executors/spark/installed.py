"""The Spark of this Python: which one, and where it lies. Neither imports it, which takes as long as a JVM takes to begin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError

_INSTALL = "pip install 'glacierbase[spark]', or 'glacierbase[local]' for a machine without Java"


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
    raise ConfigurationError("SPARK_NOT_INSTALLED", "pyspark is not installed in this Python", _INSTALL)


def spark_home() -> Path:
    """The folder of its scripts and jars: `SPARK_HOME`, else the package's own.

    Raises:
        ConfigurationError: there is none.
    """
    named = os.environ.get("SPARK_HOME")
    for home in [Path(named)] if named else _packaged():
        if (home / "bin" / "spark-submit").is_file():
            return home
    raise ConfigurationError(
        "SPARK_NOT_INSTALLED",
        f"SPARK_HOME is {named}, where no Spark lies" if named else "the Spark of this Python can start none itself",
        "unset SPARK_HOME, or let it name a Spark" if named else _INSTALL,
    )


def _packaged() -> Iterator[Path]:
    package = find_spec("pyspark")
    for folder in map(Path, package.submodule_search_locations or () if package else ()):
        # Where one lies that was chosen at installation, by PYSPARK_HADOOP_VERSION:
        # https://spark.apache.org/docs/latest/api/python/getting_started/install.html
        yield folder / "spark-distribution"
        yield folder
