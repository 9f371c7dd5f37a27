"""Apache Iceberg. https://iceberg.apache.org/docs/latest/"""

from __future__ import annotations

from glacierbase.formats.table_format import TableFormat

FORMAT_VERSION, DISTRIBUTION, METRICS_OF_COLUMN = (
    "format-version", "write.distribution-mode", "write.metadata.metrics.column.",
)  # fmt: skip
# Iceberg writes these in the properties of new tables. https://iceberg.apache.org/docs/latest/configuration/#write-properties
OF_NEW_TABLES = {"write.parquet.compression-codec": "zstd"}
# The codecs that the writers accept; the compression levels of gzip and zstd.
_PARQUET_CODECS = "zstd|gzip|snappy|lz4|lz4_raw|brotli|uncompressed"
_AVRO_CODECS = "gzip|zstd|snappy|uncompressed"
_ORC_CODECS = "zstd|zlib|snappy|lz4|lzo|none"
LEVEL = r"-?[0-9]{1,2}"
_METRICS = r"none|counts|full|truncate\([1-9][0-9]*\)"
_CHANGES = ("delete", "update", "merge")
# https://iceberg.apache.org/docs/latest/configuration/
_VALUES = {
    DISTRIBUTION: "none|hash|range",
    **{f"write.{change}.distribution-mode": "none|hash|range" for change in _CHANGES},
    **{f"write.{change}.mode": "copy-on-write|merge-on-read" for change in _CHANGES},
    **{f"write.{change}.isolation-level": "serializable|snapshot" for change in _CHANGES},
    "write.delete.granularity": "file|partition",
    **{f"{kind}.format.default": "parquet|orc|avro" for kind in ("write", "write.delete")},
    **dict.fromkeys(("write.metadata.metrics.default", METRICS_OF_COLUMN), _METRICS),
    FORMAT_VERSION: "1|2|3",
    "write.metadata.compression-codec": "none|gzip",
    "write.manifest.compression-codec": _AVRO_CODECS,
    **{
        f"{kind}.{key}": pattern
        for kind in ("write", "write.delete")
        for key, pattern in {
            "parquet.compression-codec": _PARQUET_CODECS, "avro.compression-codec": _AVRO_CODECS,
            "orc.compression-codec": _ORC_CODECS, "parquet.compression-level": LEVEL, "avro.compression-level": LEVEL,
            "orc.compression-strategy": "speed|compression",
        }.items()
    },
}  # fmt: skip

ICEBERG = TableFormat(
    name="iceberg",
    title="Iceberg",
    catalogs=("org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg.spark.SparkSessionCatalog"),
    in_place=False,
    words=("iceberg",),
    package="org.apache.iceberg.spark.",
    extension="org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    group="org.apache.iceberg",
    jar="iceberg-spark-runtime",
    jar_end=r"-[\w.-]+",
    jar_shown="org.apache.iceberg:iceberg-spark-runtime-…",
    prefixes=("commit.", "write.", "read.", "history.expire.", "gc.", FORMAT_VERSION),
    values=_VALUES,
    defaults=r"spark\.sql\.catalog\.(?P<catalog>[^.]+)\.table-(?:default|override)\.(?P<key>.+)",
    # https://iceberg.apache.org/docs/latest/configuration/#reserved-table-properties
    not_stored=frozenset(
        {
            FORMAT_VERSION, "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
            "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order",
        }
    ),
    unshaped=frozenset({"current-snapshot-id"}),
    upgrades=(FORMAT_VERSION,),
    has_identifiers=True,
    session_settings=("spark.sql.iceberg.",),
)  # fmt: skip
