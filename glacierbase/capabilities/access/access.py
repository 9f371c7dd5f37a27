"""`access plan`: the grants by which only the migrator's role changes tables. Nothing is contacted, and nothing is granted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from glacierbase.capabilities.access.grants import FLAVOURS, Flavour, Rights
from glacierbase.errors import ConfigurationError
from glacierbase.executors import type_of
from glacierbase.history.target import CatalogRun
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.result import Result
from glacierbase.model.text import Line, Verbatim
from glacierbase.sql.qualified import place_of
from glacierbase.stores.tables import history_name, lock_name

# By the class of a Spark catalog, and by the kind of an Iceberg catalog.
_BY_CLASS = {
    "io.unitycatalog.spark.UCSingleCatalog": "unity",
    "org.apache.polaris.spark.SparkCatalog": "polaris",
}
_GLUE = ("glue", "org.apache.iceberg.aws.glue.GlueCatalog")
# By a part of a REST server's address. https://docs.databricks.com/aws/en/external-access/iceberg,
# https://polaris.apache.org/in-dev/unreleased/getting-started/using-polaris/
_BY_ADDRESS = {"/unity-catalog": "unity", "/api/catalog": "polaris"}


@dataclass(frozen=True, slots=True)
class Grant:
    """A statement or command that gives or takes rights, and the vendor's page that it follows."""

    statement: str
    source: str


@dataclass(frozen=True, slots=True)
class AccessResult(Result):
    """The grants by which only the migrator's role changes the tables of one catalog. None of them was run."""

    grants: tuple[Grant, ...] = ()

    def lines(self) -> Sequence[Line]:
        return list(_with_sources(self.grants))


def _with_sources(grants: Sequence[Grant]) -> Iterator[Verbatim]:
    source = None
    for grant in grants:
        is_sql = grant.statement.startswith(("GRANT", "REVOKE"))
        if grant.source != source:
            yield Verbatim(f"{'--' if is_sql else '#'} {grant.source}")
        source = grant.source
        yield Verbatim(f"{grant.statement};" if is_sql else grant.statement)


@dataclass(frozen=True, slots=True)
class _Place:
    """A namespace in a catalog of the engine.

    Attributes:
        database: the catalog's name on its server.
        location: of its files; empty where the catalog file does not name it.
    """

    database: str
    namespace: str
    flavour: Flavour
    location: str


def plan(
    target: CatalogRun, result: AccessResult, *, migrator: str, writers: Sequence[str], flavour: str | None
) -> AccessResult:
    """Return the grants for the namespaces of the tables that the files change, and for those of history and lock.

    Raises:
        ConfigurationError: `UNKNOWN_FLAVOUR`: the catalog file does not show which kind of catalog it is.
    """
    catalog = target.catalog
    places = [(_place(catalog, *place, flavour), False) for place in _namespaces(target)]
    options = catalog.store
    if options.is_in_catalog:
        places.append((_place(catalog, options.catalog, options.namespace, flavour), True))
    roles = [(migrator, "migrator"), *((writer, "writer") for writer in writers)]
    grants = [grant for role, kind in roles for grant in _granted(catalog, role, kind, places)]
    limits = dict.fromkeys(limit for place, _ in places for limit in place.flavour.limits)
    return replace(result, grants=tuple(dict.fromkeys(grants)), warnings=tuple(limits))


def _namespaces(target: CatalogRun) -> Sequence[tuple[str, str]]:
    """Return catalog and namespace of every table that a file changes, each once, in the order of the files."""
    wholes = (
        whole for file in target.compile(target.migrations) for named in file.named for _, whole in named.names if whole
    )
    places = (place_of(target.catalog, whole) for whole in wholes)
    by_name = {tuple(map(str.casefold, place)): place for place in places if place}
    return tuple(by_name.values())


def _place(catalog: Catalog, name: str, namespace: str, flavour: str | None) -> _Place:
    conf = {
        key.removeprefix(f"spark.sql.catalog.{name}."): value
        for key, value in catalog.spark_conf.items()
        if key.startswith(f"spark.sql.catalog.{name}.")
    }
    flavour_of_catalog = _flavour(catalog, name, conf, flavour)
    # For a REST server the warehouse is the catalog's name there; for Glue it is the location of its files.
    warehouse = conf.get("warehouse", "")
    is_location = "://" in warehouse
    return _Place(
        name if is_location or not warehouse else warehouse,
        namespace,
        flavour_of_catalog,
        warehouse if is_location else "",
    )


def _flavour(catalog: Catalog, name: str, conf: Mapping[str, str], given: str | None) -> Flavour:
    kinds = type_of(catalog).grants
    chosen = given or (kinds[0] if len(kinds) == 1 else _decided(catalog, name, conf))
    if chosen in kinds:
        return FLAVOURS[chosen]
    plan = ("access", "plan", "--migrator", "ROLE", "--writers", "ROLE")
    raise ConfigurationError(
        "UNKNOWN_FLAVOUR",
        f"catalogs/{catalog.file.name}: there are no grants of {given or 'a known kind'} for the catalog {name}"
        f" of type {catalog.executor_type}",
        f"name the kind of its server: `{command(*plan, '--flavour', kinds[0])}`"
        if len(kinds) > 1
        else f"`{command(*plan)}` without --flavour prints the grants of the other catalogs",
    )


def _decided(catalog: Catalog, name: str, conf: Mapping[str, str]) -> str | None:
    """Return the kind of server that the configuration of the catalog shows; None if it shows none."""
    kind = conf.get("catalog-impl") or conf.get("type", "")
    if kind in _GLUE:
        return "lake-formation"
    address = urlsplit(conf.get("uri", "")).path
    by_address = next((flavour for part, flavour in _BY_ADDRESS.items() if part in address), None)
    return _BY_CLASS.get(catalog.spark_conf.get(f"spark.sql.catalog.{name}", "")) or by_address


def _granted(catalog: Catalog, role: str, kind: str, places: Iterable[tuple[_Place, bool]]) -> Iterator[Grant]:
    """Yield the grants of a role.

    Args:
        places: each with whether history and lock are there.
    """
    for place, is_store in places:
        rights: Rights = getattr(place.flavour, kind)
        names = _names(catalog, role, place)
        templates = (*rights.catalog, *(rights.store if is_store else rights.namespace))
        for template, source in templates:
            if "{location_resource}" not in template or place.location:
                yield Grant(template.format_map(names), source)


def _names(catalog: Catalog, role: str, place: _Place) -> dict[str, str]:
    quoted = place.flavour.quoted
    parts = [*([place.database] if place.flavour.joined else []), *place.namespace.split(".")]
    namespace = ".".join(map(quoted, parts))
    history, lock = history_name(catalog.name), lock_name(catalog.name)
    return {
        "role": quoted(role),
        "database": quoted(place.database),
        "warehouse": quoted(str(catalog.connection.get("warehouse") or "WAREHOUSE")),
        "namespace": namespace,
        "history": f"{namespace}.{quoted(history)}",
        "lock": f"{namespace}.{quoted(lock)}",
        "database_resource": _resource("Database", Name=place.namespace),
        "tables_resource": _resource("Table", DatabaseName=place.namespace, TableWildcard={}),
        "history_resource": _resource("Table", DatabaseName=place.namespace, Name=history),
        "lock_resource": _resource("Table", DatabaseName=place.namespace, Name=lock),
        "location_resource": _resource("DataLocation", ResourceArn=_arn(place.location)),
    }


def _resource(kind: str, **parts: object) -> str:
    """Return a resource of Lake Formation as an argument of a shell command."""
    return shlex.quote(json.dumps({kind: parts}))


def _arn(location: str) -> str:
    return f"arn:aws:s3:::{location.partition('://')[2]}"
