"""Spark sessions: the classic one in a JVM of ours, one on a Spark Connect server, one inside the caller's own."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from glacierbase.catalogs.catalog import Catalog
from glacierbase.errors import ConfigurationError, EngineUnavailable, StatementRefused
from glacierbase.executors import Evidence, Executor, InFlight, Row, Session
from glacierbase.executors.spark.archive import ClassArchive
from glacierbase.executors.spark.catalogs import close_catalogs
from glacierbase.executors.spark.errors import map_error
from glacierbase.executors.spark.evidence import Commit, assess
from glacierbase.executors.spark.flags import with_flags
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.installed import spark_home, spark_version
from glacierbase.executors.spark.jars import check_digests, check_jars, record_jars, resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.literals import bound, quoted_name
from glacierbase.run.clock import SKEW
from glacierbase.run.processes import engine_process
from glacierbase.run.run import Run
from glacierbase.run.waiting import Caller
from glacierbase.secrets import address, shown

logger = logging.getLogger("glacierbase")

# Of ours, where the catalog file does not say otherwise. A FAIR scheduler lets a heartbeat's job start beside a long one.
_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# One machine, one process: no look-up of its own host name.
_LOCAL_DEFAULTS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# What Iceberg remembers of its commits: https://iceberg.apache.org/docs/latest/spark-queries/#inspecting-tables
_COMMITS = (
    "SELECT unix_micros(committed_at), concat(operation, ' snapshot ', snapshot_id),"
    " coalesce(summary['spark.app.id'], '') FROM {}.snapshots",
    "SELECT unix_micros(timestamp), concat('metadata ', regexp_extract(file, '[^/]*$', 0)), NULL"
    " FROM {}.metadata_log_entries",
)
# And Delta: https://docs.delta.io/latest/delta-utility.html#retrieve-delta-table-history
_DELTA_COMMITS = "DESCRIBE HISTORY {}"
_USER_METADATA = 13  # Its column.
# What Delta writes into each commit's userMetadata: https://docs.delta.io/latest/delta-batch.html#set-user-defined-commit-metadata
_DELTA_TAG = "spark.databricks.delta.commitInfo.userMetadata"
# These keep the settings under which they were made.
_KEEPS_SETTINGS = re.compile(r"(?i)\b(?:VIEW|FUNCTION)\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_GRACE_SECONDS = 20
_POOL = "spark.scheduler.pool"
_SQLITE = re.compile(r"jdbc:sqlite:(?:file:)?(/[^?\n]+)")


def open_executor(catalog: Catalog, run: Run, session: Any = None) -> Executor:
    """Connect as the catalog's `sparkConf` says, or work inside the caller's `session`.

    Raises:
        ConfigurationError: Java, pyspark or the jars are missing or do not fit together.
        EngineUnavailable: Spark did not start, or the server does not answer.
    """
    # One JSON line on stderr for each refused statement, which is ours to report.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    if session is not None:
        return _BorrowedExecutor(catalog, session)
    if "spark.remote" in catalog.spark_conf:
        return _ConnectExecutor(catalog)
    return LocalExecutor(catalog, run)


class SparkSessionPort:
    """A Spark session behind the executor's port."""

    def __init__(self, spark: Any, *, bookkeeping: bool = False) -> None:
        """Args:
        spark: what `newSession()` made, where the port is going to be closed: that closes its catalogs.
        """
        self._spark = spark
        self._pool = "glacierbase" if bookkeeping else None
        self._tag: str | None = None  # Of the statement that runs.

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
        """Run a statement to its end. Spark runs commands at once but puts off questions: those are run without a result.

        The tag is that of its jobs, and what Delta keeps with its commits.
        """
        with self._answering(sql), self._tagged(tag, sql) if tag else nullcontext():
            frame = self._spark.sql(bound(sql, parameters) if parameters else sql)
            if not frame.isLocal():
                frame.write.format("noop").mode("overwrite").save()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a question."""
        with self._answering(sql):
            frame = self._spark.sql(bound(sql, parameters) if parameters else sql)
            return [tuple(row) for row in frame.collect()]

    @contextmanager
    def _answering(self, sql: str) -> Iterator[None]:
        try:
            with _in_pool(self._spark, self._pool) if self._pool else nullcontext():
                yield
        except Exception as error:
            raise map_error(error, sql) from error

    @contextmanager
    def _tagged(self, tag: str, sql: str) -> Iterator[None]:
        self._add_tag(tag)
        self._tag = tag
        try:
            with nullcontext() if _KEEPS_SETTINGS.search(sql) else self._signed(tag):
                yield
        finally:
            self._tag = None
            with suppress(Exception):  # The JVM may be gone, and what was raised inside is the answer.
                self._remove_tag(tag)

    @contextmanager
    def _signed(self, tag: str) -> Iterator[None]:
        """Let Delta's commits carry the tag, unless they carry something of the author's. To other formats it means nothing."""
        conf = self._spark.conf
        with suppress(Exception):  # Whatever it is, the statement will say so.
            if conf.get(_DELTA_TAG, None) is None:
                conf.set(_DELTA_TAG, tag)
        try:
            yield
        finally:
            with suppress(Exception):
                if conf.get(_DELTA_TAG, None) == tag:
                    conf.unset(_DELTA_TAG)

    def _add_tag(self, tag: str) -> None:
        self._spark.sparkContext.addJobTag(tag)

    def _remove_tag(self, tag: str) -> None:
        self._spark.sparkContext.removeJobTag(tag)

    def cancel(self) -> None:
        """Cancel the jobs of the statement. Where it runs none, it ends by itself."""
        if tag := self._tag:
            with suppress(Exception):
                self._cancel(tag)

    def _cancel(self, tag: str) -> None:
        self._spark.sparkContext.cancelJobsWithTag(tag)

    def close(self) -> None:
        """Close its catalogs; the rest of it ends with its JVM."""
        close_catalogs(self._spark)


class ConnectSessionPort(SparkSessionPort):
    """A session of ours on a Spark Connect server."""

    def _add_tag(self, tag: str) -> None:
        self._spark.addTag(tag)

    def _remove_tag(self, tag: str) -> None:
        self._spark.removeTag(tag)

    def _cancel(self, tag: str) -> None:
        self._spark.interruptTag(tag)

    def close(self) -> None:
        """End it: a server keeps the forgotten ones for an hour."""
        with suppress(Exception):  # The server may be gone; there is nothing left to end then.
            self._spark.stop()


@contextmanager
def _in_pool(spark: Any, pool: str) -> Iterator[None]:
    """Run this thread's jobs in a scheduler pool, and leave the thread as it was."""
    before = spark.sparkContext.getLocalProperty(_POOL)
    spark.sparkContext.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty(_POOL, before)


class _SparkExecutor:
    """What the three have in common."""

    dialect = "spark"
    _is_elsewhere = False  # Whether its clock is another machine's, and its application also that of others.

    def __init__(self, catalog: Catalog, spark: Any, process: Mapping[str, Any], principal: str) -> None:
        self._catalog = catalog
        self._spark = spark
        self.engine = f"spark {spark.version}"
        self.process = process
        self.principal = principal

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        try:
            return self._new_session(bookkeeping=bookkeeping)
        except Exception as error:
            raise _unavailable(self._catalog, error, "is Spark still running and reachable from here?") from error

    def _new_session(self, *, bookkeeping: bool) -> Session:
        """`newSession` shares jars, catalogs and configuration, and nothing that `USE` or `SET` changes."""
        return SparkSessionPort(self._spark.newSession(), bookkeeping=bookkeeping)

    def evidence(self, statement: InFlight) -> Evidence:
        """What was committed to its tables since, and by whom."""
        with closing(self.open_session()) as session:
            commits = [commit for table in statement.tables for commit in _commits(session, table)]
        return assess(commits, statement, SKEW if self._is_elsewhere else timedelta(0))

    def close(self) -> None:
        """Nothing here was started by us."""


class _BorrowedExecutor(_SparkExecutor):
    """Inside the caller's session: dependencies are the caller's, and nothing is stopped."""

    def __init__(self, catalog: Catalog, spark: Any) -> None:
        for key, value in catalog.spark_conf.items():
            present = spark.conf.get(key, None)
            if key.startswith("spark.sql.catalog.") and present != value:
                raise ConfigurationError(
                    "SESSION_DIFFERS",
                    f"catalog {catalog.name}: {key} is {shown(key, value)} in {catalog.file.name}, but"
                    f" {shown(key, present)} in the given session",
                    "create the session with the catalog file's sparkConf, or correct the file",
                )
        super().__init__(catalog, spark, {"application": _application(spark)}, _current_user(spark))
        self._is_elsewhere = not hasattr(type(spark), "newSession") or "connect" in type(spark).__module__

    def _new_session(self, *, bookkeeping: bool) -> Session:
        if self._is_elsewhere:
            return ConnectSessionPort(self._spark.cloneSession())
        return super()._new_session(bookkeeping=bookkeeping)


class _ConnectExecutor(_SparkExecutor):
    """On a Spark Connect server, which brings its own jars."""

    _is_elsewhere = True

    def __init__(self, catalog: Catalog) -> None:
        spark_version()
        self._conf = dict(catalog.spark_conf)
        self._name = catalog.name
        self._created: list[Any] = []
        try:
            spark = self._create()
            super().__init__(catalog, spark, {"application": address(self._conf["spark.remote"])}, _current_user(spark))
        except ImportError as error:
            raise ConfigurationError(
                "CONNECT_NOT_INSTALLED",
                f"catalog {catalog.name}: spark.remote needs packages that this Python lacks: {error}",
                "pip install 'pyspark[connect]'",
            ) from error
        except Exception as error:
            # The client waits for ever in its own clearing up where the end of the process is left to do it.
            self.close()
            raise _unavailable(
                catalog, error, "is the server of spark.remote running and reachable from here?"
            ) from error

    def _create(self) -> Any:
        # Not the one of pyspark.sql: that switches the whole process to Connect, and another catalog may be a local one.
        from pyspark.sql.connect.session import SparkSession

        spark = SparkSession(self._conf["spark.remote"])
        self._created.append(spark)
        # One request, one answer: the client would send a statement again to a server that has forgotten it (started
        # anew, say), and ask one that is gone for ten minutes.
        spark.client.set_retry_policies([])
        spark.client.disable_reattachable_execute()
        for key, value in self._conf.items():
            if key != "spark.remote":
                self._set(spark, key, value)
        return spark

    def _set(self, spark: Any, key: str, value: str) -> None:
        """Configure a session; what only the server's start can set must be so already."""
        from pyspark.errors import AnalysisException

        try:
            spark.conf.set(key, value)
        except AnalysisException as error:
            present = spark.conf.get(key, None)
            if present != value:
                raise ConfigurationError(
                    "SESSION_DIFFERS",
                    f"catalog {self._name}: {key} is {shown(key, value)} in the catalog file, but"
                    f" {shown(key, present)} on the server",
                    "only the start of the server sets it: correct it there, or leave it out of the catalog file",
                ) from error

    def _new_session(self, *, bookkeeping: bool) -> Session:  # noqa: ARG002 (the server has one queue)
        """Connect has no `newSession`; a new one costs milliseconds."""
        return ConnectSessionPort(self._create())

    def close(self) -> None:
        """End all sessions."""
        for spark in self._created:
            ConnectSessionPort(spark).close()


class LocalExecutor(_SparkExecutor):
    """In a JVM of our own, which is driver and, for a local master, engine."""

    def __init__(self, catalog: Catalog, run: Run, flags: str | None = None) -> None:
        """Args:
        flags: of the JVM, where they are not to be chosen here.
        """
        if _is_active():
            raise ConfigurationError(
                "SPARK_ALREADY_RUNS",
                f"catalog {catalog.name}: this process has a Spark session already, and a JVM holds only one",
                "pass it: migrate(spark=session)",
            )
        check_jars(catalog.spark_conf, catalog.dependencies)
        jars = resolved_jars(catalog.spark_conf, catalog.dependencies) if catalog.dependencies else []
        java_home = find_java_home()
        if jars is None and catalog.digests:
            jars = _resolve(catalog, run, java_home)
        check_digests(jars or [], catalog.digests)
        conf = launch_conf(catalog, jars)
        for place in _SQLITE.findall("\n".join(conf.values())):
            Path(place).parent.mkdir(parents=True, exist_ok=True)  # SQLite creates its file, but not the folder.
        what = f"resolving {len(catalog.dependencies)} dependencies (first time)" if jars is None else "starting Spark"
        logger.info("%s: %s", catalog.name, what)
        self._gateway = _start(conf, run, java_home, flags)
        logger.debug("%s: the JVM's output is in %s", catalog.name, self._gateway.log)
        try:
            spark = _create_session(self._gateway, conf)
            if jars is None:
                found = [jar for jar in spark.sparkContext.getConf().get("spark.jars", "").split(",") if jar]
                record_jars(catalog.spark_conf, catalog.dependencies, found)
            process = {**engine_process(self._gateway.pid), "application": _application(spark)}
            super().__init__(catalog, spark, process, spark.sparkContext.sparkUser())
        except Exception as error:
            self.close()
            raise _unavailable(catalog, error, f"see {self._gateway.log}") from error

    def close(self, grace_seconds: float = _GRACE_SECONDS) -> None:
        """End the JVM, which stops Spark on its way out, so that the next catalog gets one of its own."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        self._gateway.close(grace_seconds)
        # pyspark holds its JVM for the life of the process; only without these will it take another.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None


def _is_active() -> bool:
    """Whether this process has a Spark; one that never imported it has none."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def _with_defaults(catalog: Catalog) -> dict[str, str]:
    conf = {**_DEFAULTS, "spark.app.name": f"glacierbase {catalog.name}", **catalog.spark_conf}
    return {**_LOCAL_DEFAULTS, **conf} if is_local(conf) else conf


def _resolve(catalog: Catalog, run: Run, java_home: Path) -> list[Path]:
    """Resolve the dependencies in a JVM that ends without a session, so that their digests are compared before one has them.

    Raises:
        EngineUnavailable: they cannot be resolved.
    """
    logger.info("%s: resolving %d dependencies (first time)", catalog.name, len(catalog.dependencies))
    gateway = Gateway(launch_conf(catalog, None), run, java_home)
    try:
        found = gateway.py4j.jvm.java.lang.System.getProperty("spark.jars") or ""
    except Exception as error:
        raise _unavailable(catalog, error, f"see {gateway.log}") from error
    finally:
        gateway.close(_GRACE_SECONDS)
    return record_jars(catalog.spark_conf, catalog.dependencies, list(filter(None, found.split(","))))


def _start(conf: Mapping[str, str], run: Run, java_home: Path, flags: str | None) -> Gateway:
    """The JVM, by a class archive where there is one. A damaged one ends it, and it is started without."""
    if not is_local(conf):
        return Gateway(conf, run, java_home)
    if flags is not None:
        return Gateway(with_flags(conf, flags), run, java_home)
    archive = class_archive(java_home, conf).flags
    try:
        return Gateway(with_flags(conf, archive), run, java_home)
    except EngineUnavailable:
        if not archive:
            raise
        return Gateway(with_flags(conf, ""), run, java_home)


def is_local(conf: Mapping[str, str]) -> bool:
    """Whether the driver's JVM is the whole engine."""
    return conf.get("spark.master", _DEFAULTS["spark.master"]).startswith("local")


def class_archive(java_home: Path, conf: Mapping[str, str]) -> ClassArchive:
    """The archive of what a local Spark has on its class path."""
    return ClassArchive(java_home, f"{spark_version()} {conf.get('spark.driver.extraClassPath', '')}")


def launch_conf(catalog: Catalog, jars: Sequence[Path] | None) -> dict[str, str]:
    """What Spark starts with: the catalog's own, our defaults, and its dependencies as the files they came to, or as coordinates
    for Spark to resolve."""
    conf = _with_defaults(catalog)
    if jars is None:
        return _appended(conf, "spark.jars.packages", ",", catalog.dependencies)
    if is_local(conf):
        # On the class path the JVM loads them fastest. That stands in front of Spark's own jars, some of which a dependency
        # brings in another version: Spark's go first here, as they do where Spark resolves by itself.
        return _appended(conf, "spark.driver.extraClassPath", ":", [f"{spark_home()}/jars/*", *jars])
    return _appended(conf, "spark.jars", ",", jars)


def _appended(conf: dict[str, str], key: str, separator: str, values: Sequence[Any]) -> dict[str, str]:
    parts = [*filter(None, [conf.get(key)]), *map(str, values)]
    return {**conf, key: separator.join(parts)} if parts else conf


def _create_session(gateway: Gateway, conf: Mapping[str, str]) -> Any:
    """A session on the started JVM, in a thread: pyspark takes SIGINT for itself wherever it starts on the main one."""
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


def _commits(session: Session, table: str) -> Iterator[Commit]:
    """What was committed to a table; nothing where it is not there or its format keeps no log."""
    for question in _COMMITS:
        with suppress(StatementRefused):
            for micros, what, application in session.query(question.format(quoted_name(table))):
                yield Commit(table, _EPOCH + timedelta(microseconds=micros), what, application)
    with suppress(StatementRefused):
        for row in session.query(_DELTA_COMMITS.format(quoted_name(table))):
            version, at, operation, tag = row[0], row[1], row[4], row[_USER_METADATA]
            yield Commit(table, at.astimezone(timezone.utc), f"{operation} version {version}", tag=tag)


def _current_user(spark: Any) -> str:
    return str(SparkSessionPort(spark).query("SELECT current_user()")[0][0])


def _application(spark: Any) -> str | None:
    try:
        return str(spark.sparkContext.applicationId)
    except Exception:  # Spark Connect has no context.
        return None


def _unavailable(catalog: Catalog, error: Exception, hint: str) -> Exception:
    if isinstance(error, ConfigurationError):
        return error
    cause = map_error(error, "") if not isinstance(error, EngineUnavailable) else error
    return EngineUnavailable("SPARK_UNAVAILABLE", f"catalog {catalog.name}: {cause.message}", hint)
