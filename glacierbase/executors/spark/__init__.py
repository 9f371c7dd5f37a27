"""Spark: Iceberg, Delta and Hudi tables, on a local, cluster or Spark Connect session."""

from __future__ import annotations

import logging
from typing import Any

from glacierbase.executors import Executor
from glacierbase.executors.spark.borrowed import BorrowedExecutor
from glacierbase.executors.spark.connect import ConnectExecutor
from glacierbase.executors.spark.jars import check_jars
from glacierbase.executors.spark.launch import session_conf
from glacierbase.executors.spark.local import LocalExecutor
from glacierbase.executors.spark.warm import warm
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run

__all__ = ["check_installed", "open_executor", "session_conf", "warm"]


def check_installed(catalog: Catalog) -> None:
    """Check that a Spark which would be started here fits the catalog's jars.

    Raises:
        ConfigurationError: `SPARK_VERSION_MISMATCH`, or no Spark is installed.
    """
    if "spark.remote" not in catalog.spark_conf:
        check_jars(catalog.spark_conf, catalog.dependencies, catalog.dependency_places)


def open_executor(catalog: Catalog, run: Run, session: Any = None) -> Executor:
    """Connect with the catalog's `sparkConf`, or work inside the caller's `session`.

    Raises:
        ConfigurationError: Java, pyspark or the jars are missing or do not fit together.
        EngineUnavailable: Spark did not start, or the server does not answer.
    """
    # pyspark would log a line of JSON on stderr for each refused statement; glacierbase reports the error itself.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    if session is not None:
        return BorrowedExecutor(catalog, session)
    if "spark.remote" in catalog.spark_conf:
        return ConnectExecutor(catalog)
    return LocalExecutor(catalog, run)
