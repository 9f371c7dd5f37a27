"""Spark on a Spark Connect server, which has its own jars."""

from __future__ import annotations

from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.executors import Session
from glacierbase.executors.spark.executor import SparkExecutor, current_user, unavailable
from glacierbase.executors.spark.installed import spark_version
from glacierbase.executors.spark.session import ConnectSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
from glacierbase.run.installed import pip_install
from glacierbase.secrets import address, shown

_REMOTE = "spark.remote"


class ConnectExecutor(SparkExecutor):
    """Create sessions on the server of `spark.remote`."""

    _is_remote = True

    def __init__(self, catalog: Catalog) -> None:
        """Raises:
        ConfigurationError: packages are missing, or the server has other settings.
        EngineUnavailable: the server does not answer.
        """
        spark_version()
        self._catalog = catalog
        self._created: list[Any] = []
        # The session of the connection, until it is opened: only `SELECT current_user()` ran in it.
        self._unused: list[Any] = []
        try:
            server = address(catalog.spark_conf[_REMOTE])
            with doing(f"{catalog.name}: connecting to {server}"):
                spark = self._create()
                super().__init__(catalog, spark, {"application": server}, current_user(spark))
                self._unused.append(spark)
        except ImportError as error:
            raise ConfigurationError(
                "CONNECT_NOT_INSTALLED",
                f"catalog {catalog.name}: spark.remote needs packages that this Python lacks: {error}",
                pip_install("connect"),
            ) from error
        except Exception as error:
            self.close()  # Otherwise the client waits for the server without limit at the end of the process.
            raise unavailable(
                catalog, error, "is the server of spark.remote running and reachable from here?"
            ) from error

    def _create(self) -> Any:
        # pyspark.sql.SparkSession would switch the whole process to Connect, and another catalog may run on a local Spark.
        from pyspark.sql.connect.session import SparkSession

        spark = SparkSession(self._catalog.spark_conf[_REMOTE])
        self._created.append(spark)
        _never_retry(spark.client)
        self._configure(spark)
        return spark

    def _configure(self, spark: Any) -> None:
        """Set what differs from the server. A static setting must be the same there.

        One request reads all settings: a refused one costs four, in each session.
        """
        from pyspark.errors import AnalysisException

        wanted = {key: value for key, value in self._catalog.spark_conf.items() if key != _REMOTE}
        present = spark.client.get_config_with_defaults(*((key, None) for key in wanted))
        differing = (
            (key, wanted[key], value) for key, value in zip(wanted, present, strict=True) if value != wanted[key]
        )
        for key, value, on_server in differing:
            try:
                spark.conf.set(key, value)
            except AnalysisException as error:
                raise ConfigurationError(
                    "SESSION_DIFFERS",
                    f"catalog {self._catalog.name}: {key} is {shown(key, value)} in the catalog file, but"
                    f" {shown(key, on_server)} on the server",
                    "set it where the server is started, or remove it from the catalog file",
                ) from error

    def _new_session(self, *, bookkeeping: bool) -> Session:
        """Return the session of the connection once, then others: Connect has no `newSession`."""
        try:
            spark = self._unused.pop()  # Several threads may open a session.
        except IndexError:
            spark = self._create()
        return ConnectSessionPort(spark, bookkeeping=bookkeeping)

    def close(self) -> None:
        """End all sessions."""
        for spark in self._created:
            ConnectSessionPort(spark).close()


def _never_retry(client: Any) -> None:
    """Stop the client from sending a statement twice: a restarted server would run it again."""
    if hasattr(client, "set_retry_policies"):
        client.set_retry_policies([])
    else:  # The client of Spark 3.5 has one policy, and no method for it.
        client._retry_policy["max_retries"] = 0
    client.disable_reattachable_execute()
