"""Spark in a JVM that glacierbase starts."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.executor import SparkExecutor, application_id, unavailable
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.jars import check_digests, check_jars, explaining, record_jars, resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.launch import GRACE_SECONDS, launch_conf, resolve, resolving, start_jvm
from glacierbase.executors.spark.memory_files import define
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.executors.spark.session import fix_off
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
from glacierbase.run.processes import engine_process
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller

logger = logging.getLogger("glacierbase")

_SQLITE = re.compile(r"jdbc:sqlite:(?:file:)?(/[^?\n]+)")


class LocalExecutor(SparkExecutor):
    """Start a JVM, which is Spark's driver and, for a local master, the whole engine."""

    def __init__(self, catalog: Catalog, run: Run, flags: str | None = None, sandbox: JvmSandbox | None = None) -> None:
        """Args:
        flags: JVM flags in place of the class archive's.
        sandbox: restricts the JVM; by default it has the rights of this process.
        """
        _check_no_session(catalog)
        check_jars(catalog.spark_conf, catalog.dependencies, catalog.dependency_places)
        java_home = find_java_home()
        with doing(f"{catalog.name}: starting Spark"):
            with explaining(catalog):
                jars = _jars(catalog, run, java_home, resolves=sandbox is not None)
                conf = launch_conf(catalog, jars)
                if sandbox:
                    conf |= sandbox.conf(jars or [])
                _make_sqlite_folders(conf)
                with resolving(catalog) if jars is None else nullcontext():
                    self._gateway = start_jvm(conf, run, java_home, flags, sandbox)
            logger.debug("%s: the JVM's output is in %s", catalog.name, self._gateway.log)
            try:
                if sandbox:
                    define(self._gateway.py4j.jvm)
                spark = _create_session(self._gateway, conf)
                fix_off(spark)
                if jars is None:
                    resolved = spark.sparkContext.getConf().get("spark.jars", "")
                    record_jars(catalog.spark_conf, catalog.dependencies, list(filter(None, resolved.split(","))))
                process = {**engine_process(self._gateway.pid), "application": application_id(spark)}
                super().__init__(catalog, spark, process, spark.sparkContext.sparkUser())
            except Exception as error:
                try:  # Before the JVM ends, which holds the message.
                    failed = unavailable(catalog, error, f"see {self._gateway.log}")
                finally:
                    self.close()
                raise failed from error
            except BaseException:  # A signal.
                self.close()
                raise

    def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the JVM, which stops Spark. The next catalog starts its own."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        self._gateway.close(grace_seconds)
        # pyspark keeps using the JVM in these attributes until the process ends.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None


def _check_no_session(catalog: Catalog) -> None:
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.SparkContext._active_spark_context is not None:
        raise ConfigurationError(
            "SPARK_ALREADY_RUNS",
            f"catalog {catalog.name}: this process already has a Spark session, and a process can have only one",
            "pass it: migrate(spark=session)",
        )


def _jars(catalog: Catalog, run: Run, java_home: Path, *, resolves: bool) -> list[Path] | None:
    """Return the files of the dependencies, or None if Spark is to resolve them.

    Args:
        resolves: whether to resolve them before Spark starts even if there is no digest to check.

    Raises:
        ConfigurationError: a digest of the catalog file differs.
    """
    jars = resolved_jars(catalog.spark_conf, catalog.dependencies) if catalog.dependencies else []
    if jars is None and (catalog.digests or resolves):
        jars = resolve(catalog, run, java_home)
    check_digests(jars or [], catalog.digests)
    return jars


def _make_sqlite_folders(conf: Mapping[str, str]) -> None:
    """Create the folders of SQLite databases: SQLite creates a missing file, but no folder."""
    for database in _SQLITE.findall("\n".join(conf.values())):
        Path(database).parent.mkdir(parents=True, exist_ok=True)


def _create_session(gateway: Gateway, conf: Mapping[str, str]) -> Any:
    """Create a session on the started JVM, in a thread: on the main thread, pyspark installs a handler for SIGINT."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    def create() -> Any:
        jvm_conf = SparkConf(_jvm=gateway.py4j.jvm).setAll(list(conf.items()))
        return SparkSession(SparkContext(gateway=gateway.py4j, conf=jvm_conf))

    caller = Caller()
    try:
        return caller.submit(create).result()
    finally:
        caller.end()
