"""The jars of a catalog: checked against the installed Spark, resolved once, then used by path; errors of their resolution."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.executors.spark.installed import spark_version
from glacierbase.formats import FORMATS
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.run.cache import cache_folder, digest, is_own, make_folder, replacing

# Artifacts whose names contain the Spark version and then the Scala version that they were built for.
_BUILT_FOR = re.compile(
    rf"(?:{'|'.join(known.jar for known in FORMATS.values())})[-_]?(\d+\.\d+)(?:-bundle)?_(\d+\.\d+)"
)
# Before 1.11, the JDBC catalog leaves a read of the database open. SQLite then refuses every later commit.
_OLD_ICEBERG = re.compile(r"(iceberg-spark-runtime-[\d.]+_[\d.]+)[:-](?:0|1\.\d|1\.10)(?:\.[\w.-]+)?(?![\d.])")
_IN_SQLITE = re.compile(r"spark\.sql\.catalog\.(\w+)\.uri")
_JAR_KEYS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")
# Settings that decide which files a coordinate is resolved to.
_RESOLVER_KEYS = (
    "spark.jars",
    "spark.jars.packages",
    "spark.jars.repositories",
    "spark.jars.excludes",
    "spark.jars.ivy",
    "spark.jars.ivySettings",
)
# The output of Ivy 2.5, which Spark uses: the exception's message, then the addresses that it tried, then those that failed.
_MISSING = re.compile(r"(?:unresolved dependency|download failed): ([^#\s]+)#([^;\s]+);([^:!\s\]]+)")
_TRIED = re.compile(r"^[ \t]+https?://([^/\s]+)/\S+\.(?:pom|jar)$", re.MULTILINE)
_NO_ANSWER = re.compile(
    r"^[ \t]+(?:Host (?P<unknown>\S+) not found\."
    r"|Server access error at url https?://(?P<silent>[^/\s]+)/\S* \((?P<why>.*)\)"
    r"|(?:SERVER|CLIENT) ERROR: (?P<status>.*) url=https?://(?P<refusing>[^/\s]+)/)",
    re.MULTILINE,
)
# The second of the two repositories in which Spark searches besides those in `spark.jars.repositories`.
_SECOND = "repos.spark-packages.org"


def check_jars(conf: Mapping[str, str], dependencies: Sequence[str], places: Mapping[str, tuple[str, int]]) -> None:
    """Refuse a runtime jar with which every statement would fail: built for another Spark, or too old for SQLite.

    Args:
        places: file and line of the dependencies.

    Raises:
        ConfigurationError: `SPARK_VERSION_MISMATCH`, `ICEBERG_TOO_OLD`.
    """
    installed = spark_version()
    short = ".".join(installed.split(".")[:2])
    sqlite = _catalog_in_sqlite(conf)
    for jar in [*dependencies, *(conf.get(key, "") for key in _JAR_KEYS)]:
        if sqlite and (old := _OLD_ICEBERG.search(jar)):
            path, line = places.get(jar, (None, None))
            raise ConfigurationError(
                "ICEBERG_TOO_OLD",
                f"{f'{path}, line {line}: ' if path else ''}{old[0]} cannot commit to catalog {sqlite}, which is in SQLite:"
                " `database is locked`; Spark was not started",
                f"name {old[1]} 1.11.0 or newer, or a catalog in PostgreSQL",
                path=path,
                line=line,
            )
        for match in _BUILT_FOR.finditer(jar):
            if match[1] != short:
                path, line = places.get(jar, (None, None))
                where = f"{path}, line {line}: " if path else ""
                raise ConfigurationError(
                    "SPARK_VERSION_MISMATCH",
                    f"{where}{jar} is built for Spark {match[1]}, but pyspark {installed} is installed; Spark was not started",
                    f'set migrationExecutor.packages to ["pyspark=={match[1]}.*"], then run `{command("env")}`; or choose the '
                    f"artifact for Spark {short} where one is published",
                    path=path,
                    line=line,
                )


def _catalog_in_sqlite(conf: Mapping[str, str]) -> str | None:
    """Return the catalog in SQLite that statements write to; with Delta or Hudi tables, it may hold history and lock only."""
    if "spark.sql.catalog.spark_catalog" in conf:
        return None
    names = (
        match[1] for key, value in conf.items() if (match := _IN_SQLITE.fullmatch(key)) and "jdbc:sqlite:" in value
    )
    return next(names, None)


def resolved_jars(conf: Mapping[str, str], dependencies: Sequence[str]) -> list[Path] | None:
    """Return the files that `dependencies` were last resolved to, or None if they must be resolved."""
    record = _record(conf, dependencies)
    try:
        files = [Path(name) for name in json.loads(record.read_text())] if is_own(record) else None
    except (OSError, ValueError):
        return None
    return files if files is not None and all(file.is_file() for file in files) else None


def record_jars(conf: Mapping[str, str], dependencies: Sequence[str], jars: Sequence[str]) -> list[Path]:
    """Record the files that Spark resolved, and return them. A cache that cannot be written is not an error."""
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
    """Compare the resolved jars with the digests in the catalog file.

    Raises:
        ConfigurationError: `DEPENDENCY_DIGEST`: a jar has another digest, or is missing.
    """
    for coordinate, expected in digests:
        group, artifact, version = coordinate.split(":")
        # Spark's resolver prefixes the name with the group.
        names = {f"{group}_{artifact}-{version}.jar", f"{artifact}-{version}.jar"}
        jar_digests = {_sha256(jar) for jar in jars if jar.name in names}
        if jar_digests != {expected}:
            actual = ", ".join(sorted(jar_digests)) or "no jar"
            raise ConfigurationError(
                "DEPENDENCY_DIGEST",
                f"{coordinate}: expected SHA-256 {expected}, found {actual}; no session was started",
                "find out why the jar differs; correct sha256 in the catalog file if the new one is right",
                coordinate=coordinate,
                expected=expected,
                found=actual,
            )


def _sha256(jar: Path) -> str:
    sha256 = hashlib.sha256()
    try:
        with jar.open("rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                sha256.update(part)
    except OSError as error:
        return f"a file that cannot be read: {error.strerror}"
    return sha256.hexdigest()


def _record(conf: Mapping[str, str], dependencies: Sequence[str]) -> Path:
    key = [spark_version(), sorted(dependencies), [conf.get(key) for key in _RESOLVER_KEYS]]
    return cache_folder("jars", f"{digest(key)}.json")


@contextmanager
def explaining(catalog: Catalog) -> Iterator[None]:
    """Name the dependencies, with their lines in the catalog file, if Spark did not start because it lacks them.

    Raises:
        EngineUnavailable: as inside the block; if the JVM ended, `data` names the `log`.
    """
    try:
        yield
    except EngineUnavailable as error:
        log = error.data.get("log")
        explained = _explained(catalog, error, Path(log).read_text(errors="replace")) if log else None
        if explained is None:
            raise
        raise explained from error


def _explained(catalog: Catalog, error: EngineUnavailable, log: str) -> EngineUnavailable | None:
    coordinates = list(dict.fromkeys(":".join(match.groups()) for match in _MISSING.finditer(log)))
    if not coordinates:
        return None
    failed = _without_answer(log)
    searched = [host for host in dict.fromkeys(_TRIED.findall(log)) if host not in failed]
    # The second repository holds little, so it does not matter whether it answers.
    silent = {host: why for host, why in failed.items() if host != _SECOND}
    if silent:
        why = f"not reachable: {', '.join(f'{host} ({reason})' for host, reason in silent.items())}"
        hint = "check network and proxy, or name another repository in spark.jars.repositories"
    else:
        why = f"not found in {', '.join(searched) or 'any repository'}"
        hint = "correct group, artifact or version"
    lines = [f"{_place(catalog, coordinate)}: {coordinate}: {why}" for coordinate in coordinates]
    path, line = catalog.dependency_places.get(coordinates[0], (f"catalogs/{catalog.file.name}", None))
    return EngineUnavailable(
        error.code, (*lines, "Spark did not start"), f"{hint}; {error.hint}",
        path=path, line=line, coordinates=coordinates, reachable=not silent, log=error.data["log"],
    )  # fmt: skip


def _without_answer(log: str) -> dict[str, str]:
    """Return the repositories that did not answer, each with the reason."""
    return {
        match["unknown"] or match["silent"] or match["refusing"]: match["why"] or match["status"] or "unknown host"
        for match in _NO_ANSWER.finditer(log)
    }


def _place(catalog: Catalog, coordinate: str) -> str:
    if coordinate in catalog.dependency_places:
        path, line = catalog.dependency_places[coordinate]
        return f"{path}, line {line}"
    return f"catalogs/{catalog.file.name}, required by one of its dependencies"
