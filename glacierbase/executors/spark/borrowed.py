"""Spark inside the SparkSession of the API's caller."""

from __future__ import annotations

from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.executors import Session
from glacierbase.executors.spark.executor import SparkExecutor, application_id, current_user
from glacierbase.executors.spark.session import ConnectSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.secrets import shown


class BorrowedExecutor(SparkExecutor):
    """Works in new sessions of the caller's Spark. It resolves no dependencies and stops nothing."""

    def __init__(self, catalog: Catalog, spark: Any) -> None:
        """Raises:
        ConfigurationError: a catalog is configured otherwise in the given session.
        """
        _check_catalogs(catalog, spark)
        super().__init__(catalog, spark, {"application": application_id(spark)}, current_user(spark))
        self._is_remote = not hasattr(type(spark), "newSession") or "connect" in type(spark).__module__

    def _new_session(self, *, bookkeeping: bool) -> Session:
        if self._is_remote:
            return ConnectSessionPort(self._spark.cloneSession())
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
