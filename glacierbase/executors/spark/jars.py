"""The jars of a catalog: checked against the installed Spark, resolved once, then taken by path.

Spark's own Ivy resolves the coordinates inside the first session that needs them. Which files they came to is kept in the
user's cache, so that later sessions ask no registry and no resolver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.cache import cache_folder, digest, replacing
from glacierbase.executors.spark.installed import spark_version

# Artifacts that carry the Spark version they were built for in their name, with the Scala version behind it.
_BUILT_FOR = re.compile(r"(?:iceberg-spark-runtime-|delta-spark_|hudi-spark)(\d+\.\d+)(?:-bundle)?_(\d+\.\d+)")
_JAR_KEYS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")
# What else decides which files a coordinate comes to.
_RESOLVER_KEYS = (
    "spark.jars",
    "spark.jars.packages",
    "spark.jars.repositories",
    "spark.jars.excludes",
    "spark.jars.ivy",
    "spark.jars.ivySettings",
)


def check_jars(conf: Mapping[str, str], dependencies: Sequence[str]) -> None:
    """Refuse a runtime jar whose name states another Spark than the installed one: it would fail in every statement.

    Raises:
        ConfigurationError: with the coordinates and what to install.
    """
    installed = spark_version()
    short = ".".join(installed.split(".")[:2])
    for jar in [*dependencies, *(conf.get(key, "") for key in _JAR_KEYS)]:
        for found in _BUILT_FOR.finditer(jar):
            if found[1] != short:
                raise ConfigurationError(
                    "SPARK_VERSION_MISMATCH",
                    f"{jar} is built for Spark {found[1]}, but pyspark {installed} is installed",
                    f"pip install 'pyspark=={found[1]}.*', or choose the artifact for Spark {short} where one is published",
                )


def resolved_jars(conf: Mapping[str, str], dependencies: Sequence[str]) -> list[Path] | None:
    """The files that `dependencies` came to last time, or None when they must be resolved (again)."""
    try:
        files = [Path(name) for name in json.loads(_record(conf, dependencies).read_text())]
    except (OSError, ValueError):
        return None
    return files if all(file.is_file() for file in files) else None


def record_jars(conf: Mapping[str, str], dependencies: Sequence[str], jars: Sequence[str]) -> None:
    """Keep the files that a session's resolver found. A cache that cannot be written is no error."""
    files = [unquote(urlparse(jar).path) for jar in jars]
    record = _record(conf, dependencies)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        with replacing(record) as draft:
            draft.write_text(json.dumps(files, indent=1))
    except OSError:
        return


def _record(conf: Mapping[str, str], dependencies: Sequence[str]) -> Path:
    question = [spark_version(), sorted(dependencies), [conf.get(key) for key in _RESOLVER_KEYS]]
    return cache_folder("jars", f"{digest(question)}.json")
