"""Spark: Iceberg, Delta and Hudi tables, on a local, cluster or Spark Connect session."""

from glacierbase.executors.spark.session import open_executor
from glacierbase.executors.spark.warm import warm

__all__ = ["open_executor", "warm"]
