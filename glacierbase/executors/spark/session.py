"""Sessions of Spark behind the executor's port: classic sessions, and sessions on a Spark Connect server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta, timezone
from typing import Any

from glacierbase.errors import StatementRefused, TableNotFound
from glacierbase.executors import STATEMENT_TAG, ListedTable, Row
from glacierbase.executors.spark.errors import map_error
from glacierbase.executors.spark.listing import listed_tables, view_statements
from glacierbase.executors.spark.python_rows import use_this_python, with_function
from glacierbase.executors.spark.shape import read_shape
from glacierbase.model.names import name_parts, spark_identifier
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Shape
from glacierbase.run.installed import pip_install
from glacierbase.sql.dialects import SUBSTITUTES

# Delta writes its value into the userMetadata of each commit:
# https://docs.delta.io/latest/delta-batch.html#set-user-defined-commit-metadata
_DELTA_TAG = "spark.databricks.delta.commitInfo.userMetadata"
# Iceberg writes its value into the summary of each snapshot:
# https://iceberg.apache.org/docs/latest/spark-configuration/#spark-sql-options
_ICEBERG_TAG = f"spark.sql.iceberg.snapshot-property.{STATEMENT_TAG}"
# Objects with which Spark stores the settings of the session.
_STORES_SETTINGS = re.compile(r"(?i)\b(?:VIEW|FUNCTION)\b")
_POOL = "spark.scheduler.pool"
# History and lock are small: a job that finds the files to rewrite, and 200 shuffle partitions, cost more than they save.
_OF_BOOKKEEPING = {
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Value = str | int | datetime | None


class SparkSessionPort:
    """A classic Spark session behind the executor's port."""

    def __init__(self, spark: Any, *, bookkeeping: bool = False) -> None:
        """Args:
        spark: a session of `newSession()`, if the port is going to be closed: closing it closes the session's catalogs.
        bookkeeping: use the settings for history and lock, and a separate scheduler pool from the statements of migrations.
        """
        self._spark = spark
        self._pool = "glacierbase" if bookkeeping else None
        for key, value in _OF_BOOKKEEPING.items() if bookkeeping else ():
            spark.conf.set(key, value)
        self._tag: str | None = None  # Of the running statement.
        self._tasks = Tasks()

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> None:
        """Run a statement to its end. The tag is set on its jobs, and on its commits in Delta and Iceberg.

        Spark runs a command at once, but a query only when its result is used: the result is written to the `noop` sink.
        """
        with self._mapping_errors(sql), self._tagged(tag, sql) if tag else nullcontext():
            frame = self._spark.sql(bound(sql, parameters) if parameters else sql)
            if not self._has_rows(frame):
                frame.write.format("noop").mode("overwrite").save()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""
        with self._mapping_errors(sql):
            return [tuple(row) for row in self._frame(bound(sql, parameters) if parameters else sql).collect()]

    def make_view(self, view: str, sql: str, function: str, columns: str) -> None:
        """Make the view; the function runs in Python processes of the executors."""
        with self._mapping_errors(sql):
            self._prepare_python()
            frame = self._spark.sql(sql)
            try:
                frame = with_function(frame, function, columns)
            except ImportError as error:
                raise StatementRefused("PACKAGE_NOT_INSTALLED", str(error), hint=pip_install("rekey")) from error
            frame.createOrReplaceTempView(view)

    def _prepare_python(self) -> None:
        use_this_python(self._spark.sparkContext)

    def _has_rows(self, frame: Any) -> bool:
        """Return whether Spark has run the statement of a frame."""
        return bool(frame.isLocal())

    def _frame(self, sql: str) -> Any:
        """Return the frame of a query."""
        return self._spark.sql(sql)

    def setting(self, key: str) -> str:
        """Return the value of a setting, which may be a secret; empty without one."""
        with self._mapping_errors(""):
            return str(self._spark.conf.get(key, ""))

    @property
    def is_executing(self) -> bool:
        """Whether a tagged statement runs."""
        return self._tag is not None

    @contextmanager
    def _mapping_errors(self, sql: str) -> Iterator[None]:
        try:
            keep_off(self._spark)
            with _in_pool(self._spark, self._pool) if self._pool else nullcontext():
                yield
        except StatementRefused:
            raise
        except Exception as error:
            raise map_error(error, sql, self) from error

    @contextmanager
    def _tagged(self, tag: str, sql: str) -> Iterator[None]:
        self._add_tag(tag)
        self._tasks, self._tag = Tasks(), tag
        try:
            with nullcontext() if _STORES_SETTINGS.search(sql) else self._commits_tagged(tag):
                yield
        finally:
            self._tag = None
            with suppress(Exception):  # The JVM may have ended; the error from inside is raised then.
                self._remove_tag(tag)

    @contextmanager
    def _commits_tagged(self, tag: str) -> Iterator[None]:
        """Set the tag on the commits of Iceberg, and on Delta's unless the migration sets a value itself.

        Other formats ignore the settings.
        """
        conf = self._spark.conf
        with suppress(Exception):  # The statement fails for the same reason and reports it.
            conf.set(_ICEBERG_TAG, tag)
            if conf.get(_DELTA_TAG, None) is None:
                conf.set(_DELTA_TAG, tag)
        try:
            yield
        finally:
            with suppress(Exception):
                conf.unset(_ICEBERG_TAG)
                if conf.get(_DELTA_TAG, None) == tag:
                    conf.unset(_DELTA_TAG)

    def _add_tag(self, tag: str) -> None:
        self._spark.sparkContext.addJobTag(tag)

    def _remove_tag(self, tag: str) -> None:
        self._spark.sparkContext.removeJobTag(tag)

    def cancel(self) -> None:
        """Cancel the jobs of the running statement. A statement without jobs goes on."""
        if tag := self._tag:
            with suppress(Exception):
                self._cancel(tag)

    def _cancel(self, tag: str) -> None:
        self._spark.sparkContext.cancelJobsWithTag(tag)

    def progress(self) -> str | None:
        """Return how many stages and tasks the running statement has started and completed."""
        tag, tasks = self._tag, self._tasks
        with suppress(Exception):  # The JVM may have ended.
            if tag:
                self._count(tasks, tag)
        return str(tasks) if tag and tasks else None

    def _count(self, tasks: Tasks, tag: str) -> None:
        tasks.read(self._spark.sparkContext, tag)

    def shape(self, table: str) -> Shape | None:
        """Return the shape of a table as Spark describes it; None if the table does not exist."""
        try:
            with self._mapping_errors(f"DESCRIBE TABLE {table}"):
                return read_shape(self._spark, table)
        except TableNotFound:
            return None

    def tables(self, catalog: str) -> list[ListedTable]:
        """Return the tables and views of a catalog, by several statements for each namespace."""
        return list(listed_tables(self.query, catalog))

    def view_statements(self, view: str) -> tuple[str, ...]:
        """Return the statement that Spark prints for a view, and before it USE where its query has names without a catalog."""
        return view_statements(self.query, view)

    def context(self) -> SessionContext:
        """Return the current catalog and namespace. Contacts no catalog."""
        with self._mapping_errors("SELECT current_catalog(), current_schema()"):
            catalog = self._spark.catalog
            return SessionContext(catalog.currentCatalog(), catalog.currentDatabase())

    def select(self, context: SessionContext) -> None:
        """Run USE. Spark returns the name of a namespace with the quotes that it needs."""
        catalog = spark_identifier(context.catalog or "")
        self.execute(f"USE {catalog}.{context.namespace}" if context.namespace else f"SET CATALOG {catalog}")

    def close(self) -> None:
        """Close the session's catalogs; Spark keeps the rest of a session until its JVM ends."""
        close_catalogs(self._spark)


class ConnectSessionPort(SparkSessionPort):
    """A session on a Spark Connect server behind the executor's port."""

    def __init__(self, spark: Any, *, bookkeeping: bool = False) -> None:
        super().__init__(spark, bookkeeping=bookkeeping)
        self._pool = None  # The server has one queue.
        if hasattr(spark, "registerProgressHandler"):  # Since Spark 4.0.
            spark.registerProgressHandler(self._keep)

    def _keep(self, stages: Iterable[Any] | None, **_: Any) -> None:
        """Count the stages that the server reports. An exception here would end the statement."""
        with suppress(Exception):
            for stage in stages or ():
                self._tasks.add(stage.stage_id, stage.num_completed_tasks, stage.num_tasks)

    def _has_rows(self, frame: Any) -> bool:
        """Return the same without a request where the answer to a command holds its rows."""
        return frame._plan.plan(self._spark.client).HasField("local_relation") or super()._has_rows(frame)

    def _frame(self, sql: str) -> Any:
        """Return a frame that sends the query when it is collected. `sql` would send it at once, and again for its rows."""
        from pyspark.sql.connect.dataframe import DataFrame
        from pyspark.sql.connect.plan import SQL

        # The constructor of Spark 3.5 takes no plan.
        return getattr(DataFrame, "withPlan", DataFrame)(SQL(sql), self._spark)

    def _prepare_python(self) -> None:
        """Do nothing: the server is configured with its Python."""

    def _count(self, tasks: Tasks, tag: str) -> None:
        """Do nothing: the server reports the stages."""

    def _add_tag(self, tag: str) -> None:
        self._spark.addTag(tag)

    def _remove_tag(self, tag: str) -> None:
        self._spark.removeTag(tag)

    def _cancel(self, tag: str) -> None:
        self._spark.interruptTag(tag)

    def close(self) -> None:
        """End the session; the server would keep it for an hour otherwise."""
        with suppress(Exception):  # The server may have ended, and the session with it.
            self._spark.stop()


@contextmanager
def _in_pool(spark: Any, pool: str) -> Iterator[None]:
    """Run this thread's jobs in a scheduler pool, and restore the thread's pool afterwards."""
    before = spark.sparkContext.getLocalProperty(_POOL)
    spark.sparkContext.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty(_POOL, before)


def bound(sql: str, parameters: Sequence[Value]) -> str:
    """Return `sql` with each `?` replaced by the literal of its parameter."""
    parts = sql.split("?")
    literals = [*map(_literal, parameters), ""]
    return "".join(part + literal for part, literal in zip(parts, literals, strict=True))


def quoted_name(name: str) -> str:
    """Return the recorded name of a table as an identifier, each part in backticks."""
    return ".".join(map(spark_identifier, name_parts(name)))


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):  # As a number, which does not depend on the session's time zone.
        return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
    if isinstance(value, int):
        return str(value)
    # Hexadecimal bytes do not depend on the session's settings for escapes, quotes and `${…}`.
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


class Tasks:
    """The stages and tasks of one statement. No number ever decreases: a stage that Spark skips or drops is not subtracted."""

    def __init__(self) -> None:
        self._stages: dict[int, tuple[int, int]] = {}  # Completed tasks and all tasks, by the stage's id.
        self._ended: set[int] = set()  # Jobs.

    def add(self, stage: int, completed: int, total: int) -> None:
        """Add the present counts of a stage that has started."""
        before = self._stages.get(stage, (0, 0))
        self._stages[stage] = max(before[0], completed), max(before[1], total)

    def read(self, context: Any, tag: str) -> None:
        """Add the jobs with a tag, including those of threads that the statement started.

        Iceberg's procedures replace the group of their jobs, not the tags.

        Args:
            context: a SparkContext; all calls may be made from any thread.
        """
        # Python's tracker lacks the time of submission. The count of active tasks cannot replace it: Spark writes it at
        # most once in spark.ui.liveUpdate.period, and a change that comes sooner stays unwritten until the next one.
        tracker = context._jsc.sc().statusTracker()
        for reported in map(tracker.getJobInfo, set(tracker.getJobIdsForTag(tag)) - self._ended):
            if reported.isDefined():
                job = reported.get()
                stages = [info.get() for info in map(tracker.getStageInfo, job.stageIds()) if info.isDefined()]
                for stage in (stage for stage in stages if stage.submissionTime()):
                    self.add(stage.stageId(), stage.numCompletedTasks(), stage.numTasks())
                if job.status().name() != "RUNNING":
                    self._ended.add(job.jobId())

    def __str__(self) -> str:
        completed, total = (sum(column) for column in zip(*tuple(self._stages.values()), strict=True))
        return f"stage {len(self._stages)}, {completed}/{total} tasks"

    def __bool__(self) -> bool:
        return bool(self._stages)


def close_catalogs(spark: Any) -> None:
    """Close the Iceberg catalogs that a classic session has loaded, and their connections. Never raises.

    Args:
        spark: a session of `newSession()`, which does not share its catalogs. It cannot use them afterwards.
    """
    with suppress(Exception):  # Private in another version, or the JVM has ended.
        for catalog in _loaded(spark):
            with suppress(Exception):  # Not a catalog of Iceberg, or one without `close`.
                _without_cache(catalog.icebergCatalog()).close()


def share_catalogs(spark: Any, other: Any, names: Iterable[str]) -> None:
    """Let the session `other` use the catalogs of `spark`, with the content of their memory."""
    manager = spark._jsparkSession.sessionState().catalogManager()
    catalogs = private(other._jsparkSession.sessionState().catalogManager(), "catalogs")
    for name in names:
        catalogs.put(name, manager.catalog(name))


def _loaded(spark: Any) -> Iterator[Any]:
    """Yield the catalogs that a statement has used. The methods of the catalog manager would load all of them."""
    catalogs = private(spark._jsparkSession.sessionState().catalogManager(), "catalogs").valuesIterator()
    while catalogs.hasNext():
        yield catalogs.next()


def _without_cache(catalog: Any) -> Any:
    """Return the catalog that a CachingCatalog wraps; a CachingCatalog has no `close`."""
    while catalog.getClass().getName() == "org.apache.iceberg.CachingCatalog":
        catalog = private(catalog, "catalog")
    return catalog


def private(instance: Any, name: str) -> Any:
    """Return the value of a private field of an object in the JVM."""
    field = instance.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(instance)


def configure(spark: Any, conf: Mapping[str, str]) -> None:
    """Set the settings that a session begins with, and to which `RESET` returns.

    Args:
        spark: a session of `newSession()`, which was not used.
    """
    instance = spark._jsparkSession
    _set(instance, instance.getClass(), "initialSessionOptions", spark._jvm.PythonUtils.toScalaMap(dict(conf)))


def fix_off(spark: Any) -> None:
    """Turn the substitution off for good in a JVM that glacierbase started.

    The setting becomes static: `SET` and `RESET` of it are refused, also inside a script or EXECUTE IMMEDIATE. Its value is
    always read as false, because Spark parses a stored view with the settings of the view, not the session's.
    """
    jvm = spark._jvm
    settings = jvm.org.apache.spark.sql.internal.SQLConf
    entry = settings.VARIABLE_SUBSTITUTE_ENABLED()
    kind = entry.getClass()
    _set(entry, kind, "_defaultValue", False)
    # The function that reads a stored value; an empty set is a function that returns false.
    _set(entry, kind.getSuperclass(), "valueConverter", jvm.scala.collection.mutable.HashSet())
    settings.registerStaticConfigKey(SUBSTITUTES)


def _set(instance: Any, kind: Any, name: str, value: Any) -> None:
    field = kind.getDeclaredField(name)
    field.setAccessible(True)
    field.set(instance, value)


def keep_off(spark: Any) -> None:
    """Turn the substitution off in a session where the last statement turned it on, as `RESET` does.

    Raises:
        StatementRefused: the session keeps it on; the statement is not sent.
    """
    conf = spark.conf
    if conf.get(SUBSTITUTES) != "false":
        conf.set(SUBSTITUTES, "false")
        if conf.get(SUBSTITUTES) != "false":
            raise StatementRefused(
                "SUBSTITUTION_ON",
                f"the session does not turn {SUBSTITUTES} off, and would replace `${{…}}` in the statement; it was not sent",
            )
