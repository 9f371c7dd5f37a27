"""Starting Spark's JVM: its settings, its jars, its class archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark.archive import ClassArchive
from glacierbase.executors.spark.cell import Cell
from glacierbase.executors.spark.executor import unavailable
from glacierbase.executors.spark.flags import with_flags
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.installed import spark_home, spark_version
from glacierbase.executors.spark.jars import record_jars
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
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
# How long a JVM may take to end.
GRACE_SECONDS = 20


def is_local(conf: Mapping[str, str]) -> bool:
    """Return whether the driver's JVM is the whole engine."""
    return conf.get("spark.master", _DEFAULTS["spark.master"]).startswith("local")


def class_archive(java_home: Path, conf: Mapping[str, str]) -> ClassArchive:
    """Return the archive for the class path of a local Spark."""
    return ClassArchive(java_home, f"{spark_version()} {conf.get('spark.driver.extraClassPath', '')}")


def session_conf(catalog: Catalog) -> dict[str, str]:
    """Return the settings of a session that the caller creates: the catalog's, with the dependencies for Spark to resolve.

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
        # bring other versions of them: Spark's are put first, which is the order where Spark resolves the dependencies.
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
        EngineUnavailable: they cannot be resolved.
    """
    with resolving(catalog):
        gateway = Gateway(launch_conf(catalog, None), run, java_home)
    try:
        found = gateway.py4j.jvm.java.lang.System.getProperty("spark.jars") or ""
    except Exception as error:
        raise unavailable(catalog, error, f"see {gateway.log}") from error
    finally:
        gateway.close(GRACE_SECONDS)
    return record_jars(catalog.spark_conf, catalog.dependencies, list(filter(None, found.split(","))))


def resolving(catalog: Catalog) -> AbstractContextManager[None]:
    """Name the resolution of the dependencies in the block. The detail is the file that Spark downloads."""
    return doing(f"{catalog.name}: resolving {len(catalog.dependencies)} dependencies (first time)")


def start_jvm(
    conf: Mapping[str, str], run: Run, java_home: Path, flags: str | None, cell: Cell | None = None
) -> Gateway:
    """Start Spark's JVM, with the class archive where there is one. A JVM that a damaged archive ends is started without it.

    Args:
        flags: JVM flags in place of the class archive's.
        cell: what the JVM may reach; by default all that this process may.
    """
    if not is_local(conf):
        return Gateway(conf, run, java_home)
    if flags is not None:
        return Gateway(with_flags(conf, flags), run, java_home)
    archive = class_archive(java_home, conf).flags
    try:
        return Gateway(with_flags(conf, archive), run, java_home, cell)
    except EngineUnavailable:
        if not archive:
            raise
        return Gateway(with_flags(conf, ""), run, java_home, cell)
