"""Texts of catalog files for the tests' engines, with placeholders for what a test chooses."""

from __future__ import annotations

import uuid

from tests.support.sparks import installed

# The login of the checking proxy, which the tests have in the environment as MIGRATOR_LOGIN.
LOGIN = "migrator:canary-of-the-client"
RUNTIME = installed().iceberg
SQLITE = "org.xerial:sqlite-jdbc:3.54.1.0"
POSTGRESQL = "org.postgresql:postgresql:42.7.4"

_ICEBERG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
PLACE      spark.sql.catalog.lake.cache-enabled: true
    dependencies: [JARS]
"""


def _iceberg(jars: str, *place: str) -> str:
    """Return the catalog `lake` with Iceberg's cache on: every read of glacierbase must see past it."""
    lines = "".join(f"      spark.sql.catalog.lake.{line}\n" for line in place)
    return _ICEBERG.replace("PLACE", lines).replace("JARS", jars)


# The sample project's catalog, with one warehouse for all environments.
LAKE = _iceberg(
    f'"{RUNTIME}", "{SQLITE}"',
    "type: jdbc",
    "uri: jdbc:sqlite:WAREHOUSE/catalog.db?busy_timeout=30000",
    "jdbc.schema-version: V1",
    "warehouse: file://WAREHOUSE/tables",
)

# The same catalog behind a REST server.
WEB = _iceberg(f'"{RUNTIME}"', "type: rest", "uri: ADDRESS", "token: ${secret:WEB_TOKEN}")
WEB_TOKEN = "canary-of-the-web"

# The same catalog in a PostgreSQL server.
POSTGRES = _iceberg(
    f'"{RUNTIME}", "{POSTGRESQL}"',
    "type: jdbc",
    "uri: ADDRESS",
    "jdbc.user: migrator",
    "jdbc.password: ${secret:POSTGRES_PASSWORD}",
    "jdbc.schema-version: V1",
    "warehouse: file://WAREHOUSE",
)
POSTGRES_PASSWORD = "canary@the/postgres"

# A Connect server has its own jars and catalogs: the file holds only its address and the store of history and lock.
REMOTE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.remote: ADDRESS
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.shuffle.partitions: 3
store: {catalog: lake}
"""

SNOWFLAKE_PASSWORD = "canary-of-the-snow"

# A row for the table of the sample migration of `init`. Rows need Spark.
ADD_EVENT = "INSERT INTO lake.web.events VALUES (1, 2, 'a', TIMESTAMP '2026-01-01 00:00:00')"


def dynamodb_store(address: str, **options: str) -> str:
    """Return the value of `store` in a catalog file for a new table on a server."""
    given = {
        "type": "dynamodb",
        "table": f"g{uuid.uuid4().hex[:8]}",
        "region": "us-east-1",
        "endpoint": address,
        **options,
    }
    return f"{{{', '.join(f'{key}: {value}' for key, value in given.items())}}}"
