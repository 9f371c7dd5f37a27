"""The table formats of Spark: one value for each. Pure data, which every room above reads.

- `table_format`: the class of the values, and the keys that Spark reserves for tables of every format.
- `iceberg`, `delta`, `hudi`: the values.
"""

from __future__ import annotations

from glacierbase.formats.delta import DELTA
from glacierbase.formats.hudi import HUDI
from glacierbase.formats.iceberg import ICEBERG
from glacierbase.formats.table_format import OF_SPARK

__all__ = ["DELTA", "FILE_FORMATS", "FORMATS", "HUDI", "ICEBERG", "OF_SPARK", "UPGRADES"]

# Formats of the files of a table without a log, which Spark reads without further jars.
FILE_FORMATS = frozenset({"parquet", "orc", "avro", "csv", "json", "text"})
# By name.
FORMATS = {known.name: known for known in (ICEBERG, DELTA, HUDI)}
# The beginnings of keys of properties, in lower case, that enable what no UNSET disables.
UPGRADES = tuple(key for known in FORMATS.values() for key in known.upgrades)
