"""The keys that Spark reserves in the properties of tables of every format."""

from __future__ import annotations

from collections.abc import Mapping

# What Spark's message says of each.
# https://github.com/apache/spark/blob/v4.1.0/sql/core/src/main/scala/org/apache/spark/sql/execution/SparkSqlParser.scala
OF_SPARK: Mapping[str, str] = {
    "provider": "please use the USING clause to specify it",
    "location": "please use the LOCATION clause to specify it",
    "owner": "it will be set to the current user",
    "external": "please use CREATE EXTERNAL TABLE",
    "is_managed_location": "please remove it from the TBLPROPERTIES list",
    "table_type": "please remove it from the TBLPROPERTIES list",
    "collation": "please use the DEFAULT COLLATION clause to specify it",
}
