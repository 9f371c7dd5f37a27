"""The common part of all Spark executors: sessions and evidence; and the executor inside an external session."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from typing import Any

from glacierbase.errors import ConfigurationError, EngineUnavailable, GlacierbaseError
from glacierbase.executors import Evidence, InFlight, Session
from glacierbase.executors.spark.errors import map_error
from glacierbase.executors.spark.evidence import assess, commits, proving_table
from glacierbase.executors.spark.hudi import instants
from glacierbase.executors.spark.session import ConnectSessionPort, SparkSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.run.clock import SKEW
from glacierbase.secrets import shown


class SparkExecutor:
    """An executor on a SparkSession."""

    dialect = "spark"
    _is_remote = (
        False  # Whether Spark runs on another machine with its own clock, as one application for several clients.
    )

    def __init__(self, catalog: Catalog, spark: Any, process: Mapping[str, Any], principal: str) -> None:
        self._catalog = catalog
        self._spark = spark
        self.engine = f"spark {spark.version}"
        self.process = process
        self.principal = principal

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """Open a new session, in which `USE` and `SET` do not affect other sessions."""
        try:
            return self._new_session(bookkeeping=bookkeeping)
        except Exception as error:
            raise unavailable(self._catalog, error, "is Spark still running and reachable from here?") from error

    def _new_session(self, *, bookkeeping: bool) -> Session:
        """Return a new session, which shares jars, catalogs and configuration."""
        return SparkSessionPort(self._spark.newSession(), bookkeeping=bookkeeping)

    def evidence(self, statement: InFlight) -> Evidence:
        """Assess the commits to the statement's tables since it started."""
        with closing(self.open_session()) as session:
            table_commits = [
                commit
                for table in statement.tables
                for commit in (*commits(session, table), *instants(session, table, statement.sql))
            ]
        return assess(table_commits, statement, SKEW if self._is_remote else timedelta(0))

    def proving_table(self, sql: str, file: str) -> str | None:
        """Return the table whose version proves whether the statement took effect; None without such a table."""
        return proving_table(sql, file)

    def close(self) -> None:
        """Stop what the executor started: here, nothing."""


def current_user(spark: Any) -> str:
    """Return the user of a session, which may be the caller's: its settings are not changed."""
    try:
        return str(spark.sql("SELECT current_user()").collect()[0][0])
    except Exception as error:
        raise map_error(error, "") from error


def application_id(spark: Any) -> str | None:
    """Return the id of Spark's application; None on Spark Connect, which has no SparkContext."""
    try:
        return str(spark.sparkContext.applicationId)
    except Exception:
        return None


def unavailable(catalog: Catalog, error: Exception, hint: str) -> GlacierbaseError:
    """Return the error for a Spark that cannot be used: a `ConfigurationError` unchanged, else `EngineUnavailable`."""
    if isinstance(error, ConfigurationError):
        return error
    cause = error if isinstance(error, EngineUnavailable) else map_error(error, "")
    return EngineUnavailable("SPARK_UNAVAILABLE", f"catalog {catalog.name}: {cause.message}", hint)


class ExternalExecutor(SparkExecutor):
    """Work in new sessions of the caller's Spark. No dependency is resolved, and nothing is stopped."""

    def __init__(self, catalog: Catalog, spark: Any) -> None:
        """Raises:
        ConfigurationError: the given session configures a catalog differently.
        """
        _check_catalogs(catalog, spark)
        super().__init__(catalog, spark, {"application": application_id(spark)}, current_user(spark))
        self._is_remote = not hasattr(type(spark), "newSession") or "connect" in type(spark).__module__

    def _new_session(self, *, bookkeeping: bool) -> Session:
        if self._is_remote:
            return ConnectSessionPort(self._spark.cloneSession(), bookkeeping=bookkeeping)
        return super()._new_session(bookkeeping=bookkeeping)


def _check_catalogs(catalog: Catalog, spark: Any) -> None:
    for key, value in catalog.spark_conf.items():
        present = spark.conf.get(key, None)
        if key.startswith("spark.sql.catalog.") and present != value:
            raise ConfigurationError(
                "SESSION_DIFFERS",
                f"catalog {catalog.name}: {key} is {shown(key, value)} in {catalog.file.name}, but"
                f" {shown(key, present)} in the given session",
                "create the session with the catalog file's sparkConf, or correct the file",
            )
