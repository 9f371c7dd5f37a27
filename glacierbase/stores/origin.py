"""The catalog to which history and lock belong: a property of each table, without which no file of the table is deleted.

A catalog refers to a table by the location of a metadata file. A clone of the catalog, a restored dump, a branch, a copied folder
or a second registration refers to the same files, and no file shows how many catalogs do. So files are deleted only where the table
names the catalog in which it is open. Iceberg deletes former metadata files with each commit while `DELETES` is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from glacierbase.catalogs.declared_catalogs import HADOOP
from glacierbase.executors.pyiceberg.properties import KINDS, is_harmless
from glacierbase.model.catalog import Catalog
from glacierbase.secrets import address, is_secret, mask

DELETES = "write.metadata.delete-after-commit.enabled"
KEPT_VERSIONS = "write.metadata.previous-versions-max"
# Where it is false, Iceberg deletes no file of a table: not in a purge, and not with expired snapshots.
COLLECTS_GARBAGE = "gc.enabled"
# The end of the location of a table that was given files of its own.
COPY = re.compile(r"-[0-9a-f]{8}\Z")
# How many former metadata files Iceberg keeps. A compaction deletes most of them together.
_KEPT = "100"
_CATALOG, _SERVER = "glacierbase.catalog", "glacierbase.catalog-server"

# The settings that decide which catalog it is, by its kind; the first is required.
_DECISIVE = {
    "rest": ("uri", "warehouse", "prefix"),
    "glue": ("glue.id", "client.region", "glue.endpoint"),
    "hive": ("uri",),
    "sql": ("uri",),
    "hadoop": ("warehouse",),
}
# Where the metastore of Hive is, unless the catalog sets its own.
_METASTORE = "spark.hadoop.hive.metastore.uris"
# The parameters of a database's address that decide which tables a name means.
_SCHEMA = re.compile(r"\b(?:currentSchema|options)=[^&]*")
_DATABASE = re.compile(r"(?:jdbc:)?(sqlite|postgresql|mysql|mariadb)(?:\+\w+)?:([^?]*)")
_DEFAULT_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "http": 80, "https": 443, "thrift": 9083}


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """One of the two tables in the catalog in which it is open.

    Attributes:
        table: the catalog and the name of the table there; None where the catalog file does not show which catalog it is.
        server: what the catalog's server adds, such as the account; empty where it adds nothing, or nothing was read yet.
    """

    table: str | None
    server: str = ""

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a table that is made here."""
        named = {_CATALOG: self.table or "", _SERVER: self.server}
        deletes = "false" if self.table is None else "true"
        return {key: value for key, value in named.items() if value} | {DELETES: deletes, KEPT_VERSIONS: _KEPT}

    def is_own(self, properties: Mapping[str, str]) -> bool:
        """Return whether a table with these properties was made here, or has files of its own."""
        is_named = self.table is not None and properties.get(_CATALOG) == self.table
        return is_named and properties.get(_SERVER, self.server) == self.server

    @staticmethod
    def is_marked(properties: Mapping[str, str]) -> bool:
        """Return whether a table with these properties is the history or the lock of some catalog."""
        return _CATALOG in properties

    def may_delete(self, properties: Mapping[str, str]) -> bool:
        """Return whether files of a table with these properties may be deleted."""
        return self.is_own(properties) and properties.get(COLLECTS_GARBAGE, "true").lower() != "false"

    def changes(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties that a commit to a table with these properties has to set, so that it deletes no file of others."""
        wanted = {DELETES: "true" if self.may_delete(properties) else "false"}
        if self.is_own(properties):
            wanted |= {KEPT_VERSIONS: _KEPT} | ({_SERVER: self.server} if self.server else {})
        return {key: value for key, value in wanted.items() if properties.get(key) != value}

    def other(self, properties: Mapping[str, str]) -> str | None:
        """Return the catalog that a table with these properties names; None for this one, or where that cannot be known."""
        if self.table is None or self.is_own(properties):
            return None
        return " ".join(filter(None, map(properties.get, (_CATALOG, _SERVER)))) or "an unnamed catalog"


def table_origin(catalog: Catalog, table: str, server: str | None = None) -> TableOrigin:
    """Return the origin of one of the tables of history and lock.

    Args:
        server: as `TableOrigin.server`; None where the store cannot know it.
    """
    place = _place(catalog, knows_server=server is not None)
    name = place and f"{mask(place)} {catalog.store.namespace}.{table}"
    return TableOrigin(name, server or "")


def _place(catalog: Catalog, *, knows_server: bool) -> str | None:
    """Return kind and address of the catalog that holds history and lock; None where the catalog file does not show it."""
    if catalog.store.folder is not None:
        return f"embedded {catalog.store.folder.resolve()}"
    settings = _settings(catalog)
    if not settings:  # The catalogs of a Connect server are configured there.
        remote = catalog.spark_conf.get("spark.remote")
        return f"connect {address(remote)} {catalog.store.catalog}" if remote else None
    named = settings.pop("catalog-impl", None) or settings.pop("type", "hive").lower()
    kind = "hadoop" if named == HADOOP else KINDS.get(named, named)
    if kind == "sql":
        database = _database(settings.get("uri", ""))
        schema = _SCHEMA.findall("&".join(f"{key}={value}" for key, value in settings.items()))
        return database and " ".join(["sql", database, *schema, catalog.store.catalog])
    if kind == "hive" and "uri" not in settings:
        settings["uri"] = catalog.spark_conf.get(_METASTORE, "")
    required = _DECISIVE.get(kind, ("",))[0]
    if required and not settings.get(required) and not (kind == "glue" and knows_server):
        return None
    place = " ".join([kind, *_decisive(settings, _DECISIVE.get(kind))])
    return None if kind not in _DECISIVE and "@" in place else place  # It may be a login.


def _settings(catalog: Catalog) -> dict[str, str]:
    name = catalog.store.catalog
    if catalog.conf.get("properties") and catalog.conf.get("name") == name:
        return {key: str(value) for key, value in catalog.conf["properties"].items()}
    prefix = f"spark.sql.catalog.{name}."
    conf = catalog.spark_conf
    return {key.removeprefix(prefix): value for key, value in conf.items() if key.startswith(prefix)}


def _decisive(settings: Mapping[str, str], keys: Iterable[str] | None) -> Iterator[str]:
    """Yield the settings that decide which catalog it is; of a kind that is not known, all that may do so."""
    for key in keys or sorted(key for key in settings if not is_secret(key) and not is_harmless(key)):
        if settings.get(key):
            yield f"{key}={','.join(sorted(map(_address, settings[key].split(','))))}"


def _database(uri: str) -> str | None:
    """Return the address of a database without login and parameters; None for a brand that may have its login elsewhere."""
    match = _DATABASE.fullmatch(uri.partition("?")[0])
    if match is None:
        return None
    brand, place = match.groups()
    if brand != "sqlite":
        return _address(f"{brand}:{place if place.startswith('//') else f'//localhost/{place}'}")
    path = place.removeprefix("///")
    return f"sqlite:{Path(unquote(urlsplit(path).path) if path.startswith('file:') else path).resolve()}"


def _address(text: str) -> str:
    """Return an address in one spelling, without login and parameters; another text as it is."""
    uri = urlsplit(text.strip())
    if uri.scheme in ("", "file") and uri.path.startswith("/"):
        return str(Path(unquote(uri.path)).resolve())
    if not uri.netloc:
        return text.strip()
    host = uri.netloc.rpartition("@")[2].lower().removesuffix(f":{_DEFAULT_PORTS.get(uri.scheme)}")
    return f"{uri.scheme}://{host}{uri.path.rstrip('/')}"
