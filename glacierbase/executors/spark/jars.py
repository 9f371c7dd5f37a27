"""The jars of a catalog: checked against the installed Spark, resolved once, then taken by path.

Spark's own Ivy resolves the coordinates inside the first session that needs them. Which files they came to is kept in the
user's cache, so that later sessions ask no registry and no resolver.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.cache import cache_folder, digest, is_own, make_folder, replacing
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
    record = _record(conf, dependencies)
    try:
        files = [Path(name) for name in json.loads(record.read_text())] if is_own(record) else None
    except (OSError, ValueError):
        return None
    return files if files is not None and all(file.is_file() for file in files) else None


def record_jars(conf: Mapping[str, str], dependencies: Sequence[str], jars: Sequence[str]) -> list[Path]:
    """Keep, and return, the files that a resolver found. A cache that cannot be written is no error."""
    files = [unquote(urlparse(jar).path) for jar in jars]
    record = _record(conf, dependencies)
    try:
        make_folder(record.parent)
        with replacing(record) as draft:
            draft.write_text(json.dumps(files, indent=1))
    except (OSError, ConfigurationError):
        pass
    return list(map(Path, files))


def check_digests(jars: Sequence[Path], digests: Sequence[tuple[str, str]]) -> None:
    """Compare the jars that coordinates came to with the digests that the catalog file gives for them.

    Raises:
        ConfigurationError: `DEPENDENCY_DIGEST`: a jar is another one, or missing.
    """
    for coordinate, expected in digests:
        group, artifact, version = coordinate.split(":")
        # Spark's resolver puts the group in front.
        names = {f"{group}_{artifact}-{version}.jar", f"{artifact}-{version}.jar"}
        found = {_sha256(jar) for jar in jars if jar.name in names}
        if found != {expected}:
            said = ", ".join(sorted(found)) or "no jar"
            raise ConfigurationError(
                "DEPENDENCY_DIGEST",
                f"{coordinate}: expected SHA-256 {expected}, found {said}; no session was started",
                "find out who changed the jar; correct sha256 in the catalog file if the new one is right",
                coordinate=coordinate,
                expected=expected,
                found=said,
            )


def _sha256(jar: Path) -> str:
    found = hashlib.sha256()
    try:
        with jar.open("rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                found.update(part)
    except OSError as error:
        return f"a file that cannot be read: {error.strerror}"
    return found.hexdigest()


def _record(conf: Mapping[str, str], dependencies: Sequence[str]) -> Path:
    question = [spark_version(), sorted(dependencies), [conf.get(key) for key in _RESOLVER_KEYS]]
    return cache_folder("jars", f"{digest(question)}.json")
