"""Spark in a JVM that glacierbase starts."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.executors import Session
from glacierbase.executors.spark import ENGINE, of_session
from glacierbase.executors.spark.executor import SparkExecutor, application_id, unavailable
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.jars import check_digests, check_jars, explaining, record_jars, resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.launch import GRACE_SECONDS, launch_conf, resolve, resolving, start_jvm
from glacierbase.executors.spark.memory_files import define
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.executors.spark.session import SparkSessionPort, configure, fix_off
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
from glacierbase.run.processes import engine_process
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller

logger = logging.getLogger("glacierbase")

_SQLITE = re.compile(r"jdbc:sqlite:(?:file:)?(/[^?\n]+)")


# The slot of what the runs of a command share. A process has one Spark at most.
_SLOT = "spark"


class LocalSpark:
    """A JVM, which is Spark's driver and, for a local master, the whole engine; and a session in it.

    Attributes:
        gateway: the JVM.
        spark: the session.
        process: the values that identify the JVM, for the history and the lock.
    """

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        flags: str | None = None,
        sandbox: JvmSandbox | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        """Args:
        flags: JVM flags in place of the class archive's.
        sandbox: restricts the JVM; by default it has the rights of this process.
        is_shared: leave out the settings that catalogs with equal needs do not share.
        """
        _check_no_session(catalog)
        java_home = find_java_home()
        with doing(f"{catalog.name}: starting Spark"):
            with explaining(catalog):
                jars = _jars(catalog, run, java_home, resolves=sandbox is not None)
                conf = launch_conf(catalog, jars)
                if sandbox:
                    conf |= sandbox.conf(jars or [])
                if is_shared:
                    conf = {key: value for key, value in conf.items() if not of_session(key)}
                with resolving(catalog) if jars is None else nullcontext():
                    self.gateway = start_jvm(conf, run, java_home, flags, sandbox)
            logger.debug("%s: the JVM's output is in %s", catalog.name, self.gateway.log)
            try:
                if sandbox:
                    define(self.gateway.py4j.jvm)
                self.spark = _create_session(self.gateway, conf)
                fix_off(self.spark)
                if jars is None:
                    resolved = self.spark.sparkContext.getConf().get("spark.jars", "")
                    record_jars(catalog.spark_conf, catalog.dependencies, list(filter(None, resolved.split(","))))
                java = str(self.gateway.py4j.jvm.java.lang.System.getProperty("java.version"))
                application = application_id(self.spark)
                self.process = {**engine_process(self.gateway.pid), "application": application, "java": java}
            except Exception as error:
                try:  # Before the JVM ends, which holds the message.
                    failed = self.unavailable(catalog, error)
                finally:
                    self.close()
                raise failed from error
            except BaseException:  # A signal.
                self.close()
                raise

    @property
    def is_running(self) -> bool:
        """Whether the JVM has not ended."""
        return self.gateway.is_running

    def unavailable(self, catalog: Catalog, error: Exception) -> GlacierbaseError:
        """Return the error for this Spark if it cannot be used."""
        return unavailable(catalog, error, f"see {self.gateway.log}")

    def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the JVM, which stops Spark. The next one can then start in this process."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        self.gateway.close(grace_seconds)
        # pyspark keeps using the JVM in these attributes until the process ends.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None


class LocalExecutor(SparkExecutor):
    """Spark in a JVM that glacierbase starts, or that another catalog of the same command started."""

    def __init__(self, catalog: Catalog, run: Run, flags: str | None = None, sandbox: JvmSandbox | None = None) -> None:
        """Args:
        flags, sandbox: as for `LocalSpark`; a JVM with one of them is not shared.
        """
        check_jars(catalog.spark_conf, catalog.dependencies, catalog.dependency_places)
        self._is_shared = run.shared is not None and flags is None and sandbox is None
        self._sessions: WeakSet[SparkSessionPort] = WeakSet()
        self._local = _shared_spark(catalog, run) if self._is_shared else _own_spark(catalog, run, flags, sandbox)
        _make_sqlite_folders(catalog.spark_conf)
        try:
            super().__init__(
                catalog, self._local.spark, self._local.process, self._local.spark.sparkContext.sparkUser()
            )
        except BaseException as error:
            failed = self._local.unavailable(catalog, error) if isinstance(error, Exception) else error
            self.close()
            raise failed from error

    def _new_session(self, *, bookkeeping: bool) -> Session:
        spark = self._spark.newSession()
        if self._is_shared:
            configure(spark, {key: value for key, value in self._catalog.spark_conf.items() if of_session(key)})
        session = SparkSessionPort(spark, bookkeeping=bookkeeping)
        self._sessions.add(session)
        return session

    def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the JVM; one that is shared only if it executes a statement, which is cancelled in vain.

        A shared JVM ends with the command, or when the next catalog needs another one.
        """
        if not self._is_shared or any(session.is_executing for session in list(self._sessions)):
            self._local.close(grace_seconds)


def _shared_spark(catalog: Catalog, run: Run) -> LocalSpark:
    """Return the Spark of the catalogs with equal needs."""
    assert run.shared
    start = partial(LocalSpark, catalog, run, is_shared=True)
    needs = json.dumps(ENGINE.needs(catalog))
    return run.shared.get(_SLOT, needs, start, LocalSpark.close, lambda local: local.is_running)


def _own_spark(catalog: Catalog, run: Run, flags: str | None, sandbox: JvmSandbox | None) -> LocalSpark:
    if run.shared:
        run.shared.discard(_SLOT)
    return LocalSpark(catalog, run, flags, sandbox)


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
        context = SparkContext(gateway=gateway.py4j, conf=jvm_conf)
        # At its end, the JVM closes the connection for the accumulators of Python tasks; pyspark would print that.
        context._accumulatorServer.handle_error = lambda *_: None
        return SparkSession(context)

    caller = Caller()
    try:
        return caller.submit(create).result()
    finally:
        caller.end()
