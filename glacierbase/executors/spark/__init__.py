"""Spark: Iceberg, Delta and Hudi tables, on a local, cluster or Spark Connect session.

Executors:
- `executor`: the common part of all executors, and the executor inside an external session.
- `local`, `connect`: a JVM that glacierbase starts; a Spark Connect server.

The JVM:
- `java`, `jars`, `installed`: which Java, jars and Spark are used.
- `launch`, `gateway`: start the JVM, and connect to it.
- `sandbox`, `confine`: restrict what the JVM of a copy can reach.
- `memory_files`: the files of a copy.
- `warm`: resolve jars and build the class archive ahead of time.

Sessions:
- `session`: run statements; literals, progress, substitution.
- `python_rows`: a Python function on the tasks.
- `errors`: exceptions as engine errors, and whether they prove that a statement had no effect.
- `evidence`, `delta`, `hudi`: what the log of a table proves; the log of a Delta table; the timeline of a Hudi table.
- `listing`, `shape`: the tables of a catalog as Spark lists them; their shapes as Spark describes them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.executors import CopyExecutor, EngineType, Executor, Session, Warmed
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import BOOLEAN, COORDINATE, SHA256, Key, Kind
from glacierbase.model.shape import Past, TableVersion
from glacierbase.run.run import Run
from glacierbase.sql.dialects import SPARK

_DEPENDENCY = (
    Key("coordinate", "The jar, as group:artifact:version.", type=COORDINATE, required=True),
    Key("sha256", "The digest that the jar must have.", type=SHA256),
)


class Spark(EngineType):
    """Spark, as catalog files configure it."""

    name = "spark"
    dialect = SPARK.name
    keys = (
        Key("sparkConf", "Spark's configuration; values reach Spark as written.", Kind.VALUES),
        Key(
            "dependencies",
            "Jars that Spark loads: Maven coordinates, or mappings of `coordinate` and `sha256`.",
            Kind.LIST,
            COORDINATE,
            keys=_DEPENDENCY,
        ),
        Key(
            "allowFloating",
            "Whether versions such as `latest.release` and `1.+`, which can resolve to another jar later, are allowed.",
            type=BOOLEAN,
            default="false",
        ),
    )
    default_catalog = ("sparkConf", "spark.sql.defaultCatalog")
    extra = "local"
    has_copies = True
    grants = ("polaris", "unity", "lake-formation")

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:
        """Connect with the catalog's `sparkConf`.

        Raises:
            ConfigurationError: Java, pyspark or the jars are missing or incompatible.
            EngineUnavailable: Spark did not start, or the server does not answer.
        """
        _silence()
        if _is_remote(catalog):
            from glacierbase.executors.spark.connect import ConnectExecutor

            return ConnectExecutor(catalog)
        from glacierbase.executors.spark.local import LocalExecutor

        return LocalExecutor(catalog, run)

    def open_in_session(self, catalog: Catalog, session: Any) -> Executor:
        """Use new sessions of the caller's Spark, which is never stopped."""
        from glacierbase.executors.spark.executor import ExternalExecutor

        _silence()
        return ExternalExecutor(catalog, session)

    def needs(self, catalog: Catalog) -> Sequence[Any] | None:
        """Return what a JVM starts with; a session has the settings of `of_session`. None for a Spark Connect server.

        A JVM has one `spark_catalog`, in its memory or in a metastore. Catalogs that use it do not share a JVM.
        """
        if _is_remote(catalog):
            return None
        conf = {key: value for key, value in catalog.spark_conf.items() if not of_session(key)}
        own = catalog.name if "spark.sql.catalog.spark_catalog" in catalog.spark_conf else ""
        return [own, sorted(conf.items()), list(catalog.dependencies), sorted(catalog.digests)]

    def worker_environment(self, catalog: Catalog) -> Mapping[str, str]:
        """Return the home of the Java of this Python, which may be a wheel that the other Python lacks."""
        if _is_remote(catalog):
            return {}
        from glacierbase.executors.spark.java import find_java_home

        try:
            return {"JAVA_HOME": str(find_java_home())}
        except ConfigurationError:  # The other Python may have one.
            return {}

    def check_installed(self, catalog: Catalog) -> None:
        """Check the installed Spark and, if it would be started here, that a Java runs it and the catalog's jars are built for it.

        The digests of jars that were never resolved are checked when Spark starts.

        Raises:
            ConfigurationError: `SPARK_VERSION_MISMATCH`, `ICEBERG_TOO_OLD`, `SPARK_NOT_INSTALLED`, `JAVA_NOT_FOUND`,
                `DEPENDENCY_DIGEST`.
        """
        from glacierbase.executors.spark.installed import spark_home, spark_version
        from glacierbase.executors.spark.jars import check_digests, check_jars, resolved_jars
        from glacierbase.executors.spark.java import check_java

        if _is_remote(catalog):
            spark_version()
            return
        check_jars(catalog.spark_conf, catalog.dependencies, catalog.dependency_places)
        spark_home()
        check_java()
        jars = resolved_jars(catalog.spark_conf, catalog.dependencies) if catalog.digests else None
        if jars is not None:
            check_digests(jars, catalog.digests)

    def given_parts(self, catalog: Catalog) -> int:
        """Count the default catalog; Spark's configuration supplies no namespace."""
        default = "spark.sql.defaultCatalog" in catalog.spark_conf
        return int(default or "spark.sql.catalog.spark_catalog" in catalog.spark_conf)

    def table_version(self, catalog: Catalog, session: Session, table: str) -> TableVersion | None:
        """Return the newest version of a Delta table."""
        from glacierbase.executors.spark.delta import table_version

        return table_version(catalog, session, table)

    def past(self, session: Session, table: str, since: str | None) -> Past | None:
        """Return the versions of a Delta table, by its log."""
        from glacierbase.executors.spark.delta import past_of

        return past_of(session, table, since)

    def warm(self, catalog: Catalog, run: Run) -> Warmed:
        """Resolve the jars and build the class archive of a Spark that is started here."""
        from glacierbase.executors.spark.warm import warm

        return warm(catalog, run)

    def spark_conf(self, catalog: Catalog) -> dict[str, str]:
        """Return the configuration with the paths of the jars."""
        from glacierbase.executors.spark.launch import session_conf

        return session_conf(catalog)

    def open_copy(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> CopyExecutor:
        """Start Spark for a throw-away copy, in a sandbox."""
        from glacierbase.executors.copies.isolated import IsolatedExecutor

        _silence()
        return IsolatedExecutor(catalog, run, folder, names)


def of_session(key: str) -> bool:
    """Return whether a setting is one of the session: catalogs that share a JVM each have their own."""
    return key.startswith("spark.sql.catalog.") or key == "spark.sql.defaultCatalog"


def _is_remote(catalog: Catalog) -> bool:
    return "spark.remote" in catalog.spark_conf


def _silence() -> None:
    """Stop pyspark from logging a line of JSON on stderr for each refused statement; glacierbase reports the error itself."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)


ENGINE = Spark()
