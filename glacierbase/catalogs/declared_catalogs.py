"""The catalogs that `sparkConf` declares: misspelt types and classes, which Iceberg would refuse when Spark has started."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.properties import REQUIRED
from glacierbase.formats import FORMATS, ICEBERG
from glacierbase.model.text import did_you_mean, nearest, suggestion
from glacierbase.sql.qualified import DECLARED

if TYPE_CHECKING:
    from glacierbase.catalogs.yamlfile import MappingNode

HADOOP = "org.apache.iceberg.hadoop.HadoopCatalog"
_CLASSES = tuple(name for known in FORMATS.values() for name in known.catalogs)
# The types and classes of `CatalogUtil` in Iceberg 1.12; any other implementation is named by its class:
# https://iceberg.apache.org/docs/latest/spark-configuration/#catalog-configuration
_TYPES = ("rest", "glue", "hive", "jdbc", "hadoop", "nessie", "bigquery")
_IMPLEMENTATIONS = (
    "org.apache.iceberg.rest.RESTCatalog",
    "org.apache.iceberg.aws.glue.GlueCatalog",
    "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog",
    "org.apache.iceberg.hive.HiveCatalog",
    "org.apache.iceberg.jdbc.JdbcCatalog",
    HADOOP,
    "org.apache.iceberg.nessie.NessieCatalog",
    "org.apache.iceberg.snowflake.SnowflakeCatalog",
    "org.apache.iceberg.gcp.bigquery.BigQueryMetastoreCatalog",
)
# One or two typing errors in names of about forty letters. Any other class may be the user's.
_TYPING_ERROR = 0.94
# Keys of PyIceberg's properties that are not misspelt ones.
_OF_ALL_KINDS = ("type", *dict.fromkeys(key for keys in REQUIRED.values() for key in keys))
# Comparing long names takes milliseconds each.
_LONGEST = 100


def wrong_catalogs(node: MappingNode, spark_conf: Mapping[str, str]) -> Iterator[ConfigurationError]:
    """Yield an error for each misspelt type or class.

    Args:
        node: `sparkConf` as written.
        spark_conf: its values with references resolved, as far as they are known.
    """
    for key, implementation in spark_conf.items():
        if DECLARED.fullmatch(key):
            yield from _misspelt_class(node, key, implementation, _CLASSES)
            if implementation in ICEBERG.catalogs:
                yield from _wrong_type(node, f"{key}.type", spark_conf)
                key = f"{key}.catalog-impl"
                yield from _misspelt_class(node, key, spark_conf.get(key, ""), _IMPLEMENTATIONS)


def wrong_properties(
    node: MappingNode, properties: Mapping[str, object], unread: Collection[str]
) -> Iterator[ConfigurationError]:
    """Yield an error for a missing or misspelt type of a catalog of PyIceberg, and for each missing property.

    Args:
        node: the properties as written.
        properties: their values with references resolved.
        unread: the keys whose values hold references that were not read.
    """
    allowed, kind = f"allowed: {', '.join(REQUIRED)}", str(properties.get("type") or "")
    if "type" in unread:
        return
    if not kind:
        yield node.place.error("MISSING_KEY", "properties.type is missing", _misspelt_key("type", node) or allowed)
    elif kind not in REQUIRED:
        what = f"properties.type: {kind!r} is no type of a catalog that glacierbase opens through PyIceberg"
        hint = did_you_mean(kind.lower()[:_LONGEST], REQUIRED, allowed)
        yield node.values["type"].place.error("INVALID_VALUE", what, hint)
    for key in REQUIRED.get(kind, ()):
        if not properties.get(key):
            hint = f"a catalog of type {kind} requires {' and '.join(REQUIRED[kind])}"
            yield node.place.error("MISSING_KEY", f"properties.{key} is missing", _misspelt_key(key, node) or hint)


def _misspelt_key(key: str, node: MappingNode) -> str:
    """Return the hint that names the key which was written in place of another one; empty where none is similar."""
    near = nearest(key, [written for written in node.values if written not in _OF_ALL_KINDS])
    return f"write {key} in place of {near}" if near else ""


def _wrong_type(node: MappingNode, key: str, spark_conf: Mapping[str, str]) -> Iterator[ConfigurationError]:
    written = spark_conf.get(key)
    if written is not None and written.lower() not in _TYPES:
        other = f"allowed: {', '.join(_TYPES)}; catalog-impl names any other implementation by its class"
        what = f"{key}: Iceberg has no catalog type {written!r}"
        hint = did_you_mean(written.lower()[:_LONGEST], _TYPES, other)
        yield node.values[key].place.error("INVALID_VALUE", what, hint)


def _misspelt_class(node: MappingNode, key: str, name: str, known: Sequence[str]) -> Iterator[ConfigurationError]:
    spelt = {name.lower(): name for name in known}
    near = None if name in known else nearest(name.lower()[:_LONGEST], spelt, _TYPING_ERROR)
    if near is not None:
        what = f"{key}: unknown class {name!r}"
        yield node.values[key].place.error("INVALID_VALUE", what, suggestion(spelt[near]))
