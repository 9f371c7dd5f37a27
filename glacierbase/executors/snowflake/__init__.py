"""Snowflake: standard and Snowflake-managed Iceberg tables, through its own connector."""

from glacierbase.executors.snowflake.session import open_executor

__all__ = ["open_executor"]
