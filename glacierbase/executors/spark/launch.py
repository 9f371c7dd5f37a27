"""Start Spark's JVM: its settings, flags, jars and class archive."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.executors.spark.executor import unavailable
from glacierbase.executors.spark.gateway import Gateway, defaults_file
from glacierbase.executors.spark.installed import spark_home, spark_version
from glacierbase.executors.spark.jars import record_jars
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
from glacierbase.run.cache import cache_folder, digest, is_own, make_folder, replacing
from glacierbase.run.files import one_at_a_time
from glacierbase.run.run import Run
from glacierbase.sql.dialects import SUBSTITUTES

# The catalog file's settings override these. With the FAIR scheduler a heartbeat's job starts beside a long one.
_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# A local Spark needs no address that other machines reach, and so no look-up of the host name.
_LOCAL_DEFAULTS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# How long to wait for another process that resolves dependencies.
_RESOLVE_SECONDS = 600
# How long a JVM may take to end.
GRACE_SECONDS = 20
# For a JVM that runs for seconds: the serial collector, only the C1 compiler, and a metaspace that holds Spark's classes.
_COLLECTOR = "-XX:+UseSerialGC"
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m"
# These flags precede `spark.driver.extraJavaOptions`, wherever it is set; of two equal flags a JVM takes the last.
_KEY = "spark.driver.defaultJavaOptions"
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
# Silence warnings about mismatched archives.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


def is_local(conf: Mapping[str, str]) -> bool:
    """Return whether the driver's JVM is the whole engine."""
    return conf.get("spark.master", _DEFAULTS["spark.master"]).startswith("local")


def class_archive(java_home: Path, conf: Mapping[str, str]) -> ClassArchive:
    """Return the archive for the class path of a local Spark."""
    return ClassArchive(java_home, f"{spark_version()} {conf.get('spark.driver.extraClassPath', '')}")


def session_conf(catalog: Catalog) -> dict[str, str]:
    """Return the settings of a session that the caller creates: the catalog's, with dependencies that Spark resolves.

    A Spark Connect server has its own jars.
    """
    dependencies = () if "spark.remote" in catalog.spark_conf else catalog.dependencies
    return _appended(dict(catalog.spark_conf), "spark.jars.packages", ",", dependencies)


def launch_conf(catalog: Catalog, jars: Sequence[Path] | None) -> dict[str, str]:
    """Return the settings that Spark starts with: the catalog's, the defaults and the dependencies.

    Args:
        jars: the files of the dependencies; None lets Spark resolve their coordinates.
    """
    conf = _with_defaults(catalog)
    if jars is None:
        return _appended(conf, "spark.jars.packages", ",", catalog.dependencies)
    if is_local(conf):
        # A JVM loads jars on its class path fastest. The extra class path precedes Spark's own jars, and a dependency may
        # bring other versions of them: Spark's are put first, as they are when Spark resolves the dependencies.
        return _appended(conf, "spark.driver.extraClassPath", ":", [f"{spark_home()}/jars/*", *jars])
    return _appended(conf, "spark.jars", ",", jars)


def _with_defaults(catalog: Catalog) -> dict[str, str]:
    conf = {**_DEFAULTS, "spark.app.name": f"glacierbase {catalog.name}", **catalog.spark_conf, SUBSTITUTES: "false"}
    return {**_LOCAL_DEFAULTS, **conf} if is_local(conf) else conf


def _appended(conf: dict[str, str], key: str, separator: str, values: Sequence[Any]) -> dict[str, str]:
    parts = [*filter(None, [conf.get(key)]), *map(str, values)]
    return {**conf, key: separator.join(parts)} if parts else conf


def resolve(catalog: Catalog, run: Run, java_home: Path) -> list[Path]:
    """Resolve the dependencies in a JVM without a session, so that their digests can be checked before a session loads them.

    Raises:
        EngineUnavailable: the dependencies cannot be resolved.
    """
    with resolving(catalog):
        gateway = Gateway(launch_conf(catalog, None), run, java_home)
    try:
        jars = gateway.py4j.jvm.java.lang.System.getProperty("spark.jars") or ""
    except Exception as error:
        raise unavailable(catalog, error, f"see {gateway.log}") from error
    finally:
        gateway.close(GRACE_SECONDS)
    return record_jars(catalog.spark_conf, catalog.dependencies, list(filter(None, jars.split(","))))


@contextmanager
def resolving(catalog: Catalog) -> Iterator[None]:
    """Show the resolution of the dependencies as the activity of the block. The detail is the file that Spark downloads.

    One process of this user resolves at a time: two that download the same jar into Ivy's cache make one of them fail.
    """
    with (
        doing(f"{catalog.name}: resolving {len(catalog.dependencies)} dependencies (first time)"),
        ExitStack() as stack,
    ):
        folder = cache_folder("jars")
        with suppress(ConfigurationError, OSError):  # A cache that cannot be written is not an error.
            make_folder(folder)
            stack.enter_context(one_at_a_time(folder, _RESOLVE_SECONDS))
        yield


def start_jvm(
    conf: Mapping[str, str], run: Run, java_home: Path, flags: str | None, sandbox: JvmSandbox | None = None
) -> Gateway:
    """Start Spark's JVM, with the class archive if there is one. A JVM that a damaged archive ends is started again without it.

    Args:
        flags: JVM flags in place of the class archive's.
        sandbox: restricts the JVM; by default it has the rights of this process.
    """
    if not is_local(conf):
        return Gateway(conf, run, java_home)
    if flags is not None:
        return Gateway(with_flags(conf, flags), run, java_home)
    archive = class_archive(java_home, conf).flags
    try:
        return Gateway(with_flags(conf, archive), run, java_home, sandbox)
    except EngineUnavailable:
        if not archive:
            raise
        return Gateway(with_flags(conf, ""), run, java_home, sandbox)


def with_flags(conf: Mapping[str, str], archive: str) -> dict[str, str]:
    """Return `conf` with the flags, and those of a class archive, before the user's flags."""
    given = " ".join([*(os.environ.get(name, "") for name in _VARIABLES), _defaults(), *conf.values()])
    if _KEY in given:  # A value set here would override it.
        return dict(conf)
    # A JVM does not start with flags of two collectors.
    collector = [] if re.search(r"-XX:[+]Use\w+GC", given) else [_COLLECTOR]
    flags = [*collector, _FLAGS, archive, conf.get(_KEY, "")]
    return {**conf, _KEY: " ".join(filter(None, flags))}


def _defaults() -> str:
    """Return the content of the administrator's defaults."""
    file = defaults_file()
    return file.read_text(errors="replace") if file.is_file() else ""


class ClassArchive:
    """The archive's file, and the JVM flags that use it or write it.

    Attributes:
        path: the file, which may not exist.
    """

    def __init__(self, java_home: Path, class_path: str) -> None:
        """Args:
        class_path: the class path, with the version of Spark in place of Spark's own jars.
        """
        self._java = java_home / "bin" / "java"
        java = [str(java_home), _text(java_home / "release")]
        # A dynamic archive needs a base archive of the Java's classes, which is made first if the Java has none built in.
        built_in = (java_home / "lib" / "server" / "classes.jsa").is_file()
        self._base = None if built_in else _place("base", java)
        self.path = _place("spark", [*java, class_path])

    @property
    def flags(self) -> str:
        """The flags that use the archive; empty if this user has no archive."""
        files = [self._base, self.path] if self._base else [self.path]
        if not all(map(is_own, files)):  # Archives hold code: a file that another user could have written is not used.
            return ""
        return f"-XX:SharedArchiveFile={':'.join(map(str, files))} {_QUIET}"

    @contextmanager
    def making(self) -> Iterator[str]:
        """Yield the flags of a JVM that writes the archive at its end, with the classes that it used.

        Raises:
            ConfigurationError: the cache cannot be written.
            EngineUnavailable: the JVM wrote no archive.
        """
        make_folder(self.path.parent)
        if self._base and not is_own(self._base):
            with replacing(self._base) as draft:
                dump = (self._java, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}")
                subprocess.run(dump, capture_output=True, check=False)
                _check_made(draft)
        with replacing(self.path) as draft:
            base = f"-XX:SharedArchiveFile={self._base} " if self._base else ""
            yield f"{base}-XX:ArchiveClassesAtExit={draft}"
            _check_made(draft)


def _check_made(archive: Path) -> None:
    if not archive.is_file():
        raise EngineUnavailable(
            "ARCHIVE_NOT_MADE",
            "this Java wrote no class archive",
            "see its output in .glacierbase/logs/; Spark also starts without an archive, more slowly",
        )


def _place(kind: str, key: list[str]) -> Path:
    return cache_folder("archives", f"{kind}-{digest(key)}.jsa")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
