"""The configuration of the throw-away copy of a catalog: the same names, Spark and table format, without any outside address.

Only listed settings are kept. Everything else is left out: credentials, addresses, master, listeners, further classes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from glacierbase import executors
from glacierbase.formats import FORMATS, ICEBERG
from glacierbase.model.catalog import Catalog, Hooks
from glacierbase.sql.qualified import DECLARED, DEFAULT_CATALOG

# Settings that change the meaning of a statement, and that load no class and contain no address.
_KEPT = frozenset(
    {
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.defaultCatalog",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.parser.quotedRegexColumnNames",
        "spark.sql.session.timeZone",
        "spark.sql.shuffle.partitions",
        "spark.sql.sources.partitionOverwriteMode",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.timestampType",
    }
)
_KEPT_PREFIX = tuple(prefix for known in FORMATS.values() for prefix in known.session_settings)
# Settings of a catalog: `spark.sql.catalog.NAME.KEY`.
_OF_NEW_TABLES = ".table-"
_KEPT_OF_CATALOG = ("default-namespace", "table-default.", "table-override.")
_CATALOG = ICEBERG.catalogs[0]
# The only jars that are loaded: Iceberg's runtime and Hudi's bundle, which have no dependencies, and Delta with its dependencies.
# Other jars could contain any code, and the copy does not need them.
_JAR = re.compile(
    "|".join(rf"{re.escape(known.group)}:{known.jar}{known.jar_end}:[\w.-]+" for known in FORMATS.values())
)
# The tables are small.
_FEW_TASKS = {"spark.sql.shuffle.partitions": "2"}


# By the class that replaces Spark's own catalog.
_IN_PLACE = {known.catalogs[0]: known for known in FORMATS.values() if known.in_place}
# Tables and data are in the JVM's memory, whatever their location: its FileIO is InMemoryFileIO, and opens no file or address.
_IN_MEMORY = {
    "catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
    "warehouse": "memory://copy",
    "cache-enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Copy:
    """The throw-away copy of a catalog in one environment.

    Attributes:
        catalog: the catalog with the configuration of the copy. It runs on this Python or in the environment of `packages`.
        names: the names of the Spark catalogs in the copy. Spark's own is always there, and among the names if it holds Delta
            or no other catalog is declared: in another project, its tables may be those of a metastore.
        absent: the names of the Spark catalogs that are not in the copy.
        left_out: sentences on what the copy lacks.
    """

    catalog: Catalog
    names: tuple[str, ...]
    absent: tuple[str, ...]
    left_out: tuple[str, ...]


def copy_of(catalog: Catalog) -> Copy:
    """Return the copy of a Spark catalog. It has no `names` if none of its tables can be copied."""
    given = catalog.spark_conf
    jars = (*catalog.dependencies, *given.get("spark.jars.packages", "").split(","))
    kept = tuple(dict.fromkeys(jar.strip() for jar in jars if _JAR.fullmatch(jar.strip())))
    declared = {match[1]: value for key, value in given.items() if (match := DECLARED.fullmatch(key))}
    store, has_iceberg = catalog.store.catalog, any(jar.startswith(f"{ICEBERG.group}:") for jar in kept)
    if DEFAULT_CATALOG in declared and declared.get(store) == _CATALOG and not has_iceberg:
        del declared[store]  # Only PyIceberg opens it: Spark has no class for it.
    in_place = _IN_PLACE.get(declared.get(DEFAULT_CATALOG, ""))
    if in_place and not any(jar.startswith(f"{in_place.group}:") for jar in kept):
        in_place = None
    icebergs = tuple(name for name, value in declared.items() if value == _CATALOG)
    names = (*icebergs, DEFAULT_CATALOG) if in_place or not declared else icebergs
    extensions = [*([ICEBERG.extension] if icebergs else ()), *([in_place.extension] if in_place else ())]
    conf = {"spark.master": "local[2]"}
    conf |= {"spark.sql.extensions": ",".join(extensions)} if extensions else {}
    if in_place:
        conf |= {f"spark.sql.catalog.{DEFAULT_CATALOG}": declared[DEFAULT_CATALOG]}
        conf |= {**in_place.copy_settings, **_FEW_TASKS}
    conf |= {key: value for key, value in given.items() if may_be_set(key)}
    for name in icebergs:
        conf |= _rebound(given, f"spark.sql.catalog.{name}")
    copied = replace(
        catalog,
        spark_conf=conf,
        dependencies=kept,
        digests=tuple(digest for digest in catalog.digests if digest[0] in kept),
        connection={},
        hooks=Hooks(),
        python=None,  # A program that the branch names is not started.
    )
    absent = tuple(name for name in {**declared, DEFAULT_CATALOG: ""} if name not in names)
    return Copy(copied, names, absent, tuple(_left_out(catalog, declared, names, extensions)))


def without_engine(copy: Copy) -> Copy | None:
    """Return the copy for plain DDL, which needs no engine; None where a setting of the copy has an effect only in the engine."""
    if any(_OF_NEW_TABLES in key for key in copy.catalog.spark_conf) or DEFAULT_CATALOG in copy.names:
        return None
    return replace(copy, catalog=executors.without_engine(copy.catalog))


def may_be_set(key: str) -> bool:
    """Return whether the copy keeps a setting of Spark, and a statement may change it there."""
    return key in _KEPT or key.startswith(_KEPT_PREFIX)


def _rebound(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    conf = {prefix: _CATALOG, **{f"{prefix}.{key}": value for key, value in _IN_MEMORY.items()}}
    for key, value in given.items():
        if key.startswith(f"{prefix}.") and key.removeprefix(f"{prefix}.").startswith(_KEPT_OF_CATALOG):
            conf[key] = value
    return conf


def _left_out(
    catalog: Catalog, declared: Mapping[str, str], names: Collection[str], extensions: Collection[str]
) -> Iterator[str]:
    for name, value in declared.items():
        if name not in names and value in _IN_PLACE:
            yield f"it does not hold the catalog {name} ({value}): `dependencies` name no jar {_IN_PLACE[value].jar_shown}"
        elif name not in names:
            yield f"it does not hold the catalog {name} ({value}): only Iceberg's SparkCatalog, Delta's and Hudi's are copied"
    for extension in catalog.spark_conf.get("spark.sql.extensions", "").split(","):
        if extension.strip() not in ("", ICEBERG.extension, *extensions):
            yield f"the extension {extension.strip()} is not loaded"
