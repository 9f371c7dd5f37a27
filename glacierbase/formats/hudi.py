"""Apache Hudi. https://hudi.apache.org/docs/sql_ddl"""

from __future__ import annotations

from glacierbase.formats.table_format import BOOLEAN, TableFormat

_TABLE_TYPES = "cow|mor|copy_on_write|merge_on_read"

HUDI = TableFormat(
    name="hudi",
    title="Hudi",
    catalogs=("org.apache.spark.sql.hudi.catalog.HoodieCatalog",),
    words=("hudi", "hoodie"),
    package="org.apache.spark.sql.hudi.",
    extension="org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    group="org.apache.hudi",
    jar="hudi-spark",
    jar_end=r"[\d.]+-bundle_[\w.]+",
    jar_shown="org.apache.hudi:hudi-spark…-bundle_…",
    prefixes=("hoodie.",),
    values={
        "type": _TABLE_TYPES, "hoodie.table.type": _TABLE_TYPES, "hoodie.datasource.write.table.type": _TABLE_TYPES,
        "hoodie.datasource.write.hive_style_partitioning": BOOLEAN, "hoodie.metadata.enable": BOOLEAN,
    },
    # Each commit that is reported to a metastore changes some of them.
    unshaped=frozenset(
        {
            "last_commit_time_sync", "last_commit_completion_time_sync", "hudi_writer_version",
            "option.hoodie.query.as.ro.table",
        }
    ),
    column_prefix="_hoodie_",
    keeps_columns=False,
    copy_settings={
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        # A server of Hudi for its tasks, to which they would connect.
        "hoodie.embed.timeline.server": "false",
        "hoodie.metadata.enable": "false",
    },
    # Without these it refuses to rename or drop a column.
    session_settings=("hoodie.schema.on.read.", "hoodie.datasource.write.schema.allow.auto.evolution."),
    unsafe="Hudi's catalog, in which two updates of a row can both succeed",
)  # fmt: skip
