"""The table formats of Spark: one value for each. Pure data, which every room above reads.

- `table_format`: the class of the values.
- `iceberg`, `delta`, `hudi`: the values.
- `reserved`: the keys that Spark reserves in the properties of tables of every format.
"""

from __future__ import annotations

from glacierbase.formats.delta import DELTA
from glacierbase.formats.hudi import HUDI
from glacierbase.formats.iceberg import ICEBERG

__all__ = ["DELTA", "FILE_FORMATS", "FORMATS", "HUDI", "ICEBERG"]

# Formats of the files of a table without a log, which Spark reads without further jars.
FILE_FORMATS = frozenset({"parquet", "orc", "avro", "csv", "json", "text"})
# By name.
FORMATS = {known.name: known for known in (ICEBERG, DELTA, HUDI)}
