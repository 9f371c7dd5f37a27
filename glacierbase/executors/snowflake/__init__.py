"""Snowflake: standard and Snowflake-managed Iceberg tables, through Snowflake's connector.

- `session`: sessions of the connector, the progress of a query, and evidence in the query history.
- `errors`: exceptions of the connector as engine errors.
- `shape`: the shape of a table from DESCRIBE TABLE.
- `grants`: who may change tables, from SHOW GRANTS.
- `statements`: who ran which statement on a table, and when, from the query history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import datetime

from glacierbase.executors import EngineType, Executor, Session
from glacierbase.model.access import NamespaceAccess
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import SCHEMA, Key, Kind
from glacierbase.model.shape import StatementLog
from glacierbase.run.run import Run
from glacierbase.sql.dialects import SNOWFLAKE


class Snowflake(EngineType):
    """Snowflake, as catalog files configure it."""

    name = "snowflake"
    dialect = SNOWFLAKE.name
    keys = (
        # A statement's outcome is recorded when the statement returns.
        Key(
            "connection",
            "Keywords of the Snowflake connector, except `autocommit` and `paramstyle`.",
            Kind.KEYS,
            fixed=("autocommit", "paramstyle"),
        ),
    )
    default_catalog = ("connection", "database")
    namespace = SCHEMA
    extra = "snowflake"
    grants = ("snowflake",)

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:
        """Log in with the catalog's `connection`."""
        from glacierbase.executors.snowflake.session import open_executor

        return open_executor(catalog, run)

    def check_installed(self, catalog: Catalog) -> None:
        """Check that the connector is installed.

        Raises:
            ConfigurationError: `SNOWFLAKE_NOT_INSTALLED`.
        """
        from glacierbase.executors.snowflake.session import import_connector

        import_connector(catalog)

    def access(self, executor: Executor, catalog: str, namespace: str, tables: Iterable[str]) -> NamespaceAccess:
        """Return which roles have rights to change tables."""
        from glacierbase.executors.snowflake.grants import schema_access

        with closing(executor.open_session()) as session:
            return schema_access(session, (catalog, namespace), tables)

    def logged_statements(self, session: Session, since: Mapping[str, datetime]) -> StatementLog:
        """Return the statements in the query history that name the tables."""
        from glacierbase.executors.snowflake.statements import logged_statements

        return logged_statements(session, since)

    def given_parts(self, catalog: Catalog) -> int:
        """Count database and schema; a schema without a database supplies nothing."""
        return ("database" in catalog.connection) * (1 + ("schema" in catalog.connection))


ENGINE = Snowflake()
