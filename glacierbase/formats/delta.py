"""Delta Lake. https://docs.delta.io/latest/"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from glacierbase.formats.table_format import BOOLEAN, TableFormat

# What Spark lists beside the properties that a statement sets.
CLUSTERED, CONSTRAINT = "clusteringColumns", "delta.constraints."
NOT_CREATED = frozenset({"Type", "comment", "owner", CLUSTERED, "delta.feature.clustering"})
# Set by the engine, or by other statements than SET TBLPROPERTIES.
NOT_ALTERED = re.compile(
    rf"{'|'.join(map(re.escape, sorted(NOT_CREATED)))}|{re.escape(CONSTRAINT)}.*|delta\.min(?:Reader|Writer)Version"
    r"|delta\.feature\.domainMetadata"
)
_UNITS = "weeks?|days?|hours?|minutes?|seconds?|milliseconds?|microseconds?"
INTERVAL = rf"(interval\s+)?(-?[0-9]+\s*(?:{_UNITS})|'[^']*'\s*({_UNITS})?)(\s+-?[0-9]+\s+\w+)*"
_SWITCHES = (
    "appendOnly", "autoOptimize.optimizeWrite", "checkpoint.writeStatsAsJson", "checkpoint.writeStatsAsStruct",
    "enableChangeDataFeed", "enableDeletionVectors", "enableExpiredLogCleanup", "enableIcebergCompatV2",
    "enableInCommitTimestamps", "enableRowTracking", "enableTypeWidening", "randomizeFilePrefixes",
)  # fmt: skip

DELTA = TableFormat(
    name="delta",
    title="Delta",
    catalogs=("org.apache.spark.sql.delta.catalog.DeltaCatalog", "io.unitycatalog.spark.UCSingleCatalog"),
    words=("delta",),
    package="io.delta.",
    extension="io.delta.sql.DeltaSparkSessionExtension",
    group="io.delta",
    jar="delta-spark",
    jar_end=r"_[\w.]+",
    jar_shown="io.delta:delta-spark_…",
    prefixes=("delta.",),
    values={
        **{f"delta.{switch}": BOOLEAN for switch in _SWITCHES},
        # `DL107` reads the other intervals.
        "delta.setTransactionRetentionDuration": INTERVAL,
        "delta.columnMapping.mode": "none|id|name",
        "delta.isolationLevel": "serializable|writeserializable|snapshotisolation",
        "delta.checkpointPolicy": "classic|v2",
        "delta.checkpointInterval": "[1-9][0-9]{0,8}",
        "delta.dataSkippingNumIndexedCols": "-1|[0-9]{1,9}",
    },
    defaults=r"spark\.databricks\.delta\.properties\.defaults\.(?P<key>.+)",
    defaults_prefix="delta.",
    kept=(
        "delta.minReaderVersion", "delta.minWriterVersion", "delta.rowTracking.materialized*",
        "delta.inCommitTimestampEnablement*",
    ),
    # Each column that is added changes it.
    unshaped=frozenset({"delta.columnMapping.maxColumnId"}),
    upgrades=("delta.minreaderversion", "delta.minwriterversion", "delta.columnmapping.mode", "delta.feature."),
    copy_settings={
        # Delta's default opens files by another interface of Hadoop, which the copy's file system does not have.
        "spark.delta.logStore.class": "io.delta.storage.LocalLogStore",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    renames="Delta's catalog of files",
)  # fmt: skip


def clustering_text(paths: Iterable[Sequence[str]]) -> str:
    """Return the value of `CLUSTERED` for these columns."""
    return json.dumps([list(path) for path in paths], separators=(",", ":"), ensure_ascii=False)


def clustering_of(text: str) -> list[tuple[str, ...]]:
    """Return the columns of a value of `CLUSTERED`; none for a text that Delta does not write."""
    with suppress(ValueError, TypeError, RecursionError):
        return [tuple(map(str, path)) for path in json.loads(text)]
    return []
