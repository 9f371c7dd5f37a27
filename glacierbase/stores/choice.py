"""Choose the store of a catalog: PyIceberg without the engine where it can open the catalog, else the engine's SQL."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cache

from glacierbase.catalogs.dependencies import is_plain_http
from glacierbase.catalogs.safe_store import CHOICES, DYNAMODB, EMBEDDED, IN_CATALOG, renaming_kind, why_unsafe
from glacierbase.errors import ConfigurationError
from glacierbase.executors import OWN
from glacierbase.executors.engine import Engine
from glacierbase.executors.pyiceberg.opened import file_access
from glacierbase.executors.pyiceberg.properties import extra_of, missing_package, opening
from glacierbase.model.catalog import Catalog
from glacierbase.run.installed import pip_install
from glacierbase.run.packages import STORES, offered
from glacierbase.sql.dialects import DIALECTS, dialect_of
from glacierbase.stores import Closable, LockRow, Store, StoreType, iceberg
from glacierbase.stores.bounded import BoundedStore
from glacierbase.stores.tables import history_name

logger = logging.getLogger("glacierbase")


class _Tables(StoreType):
    """Tables that the engine's SQL can create, whichever store accesses them."""

    def ddl(self, catalog: Catalog, free: LockRow) -> str:
        from glacierbase.stores import sql

        return "".join(f"{statement};\n\n" for statement in sql.ddl(catalog, free))


class _Iceberg(_Tables):
    """Iceberg tables, through PyIceberg."""

    name = "iceberg"

    def open(self, catalog: Catalog, engine: Engine) -> Closable:  # noqa: ARG002 (the port's)
        return iceberg.open_store(catalog)


class _Sql(_Tables):
    """Tables of the engine, through its SQL."""

    name = "sql"
    needs_engine = True

    def open(self, catalog: Catalog, engine: Engine) -> Closable:
        from glacierbase.stores import sql

        return sql.open_store(catalog, engine.start())


class _Embedded(StoreType):
    """Iceberg tables in files of the project, through PyIceberg. No engine reads them, so no SQL creates them."""

    name = EMBEDDED

    def open(self, catalog: Catalog, engine: Engine) -> Closable:  # noqa: ARG002 (the port's)
        return iceberg.open_store(catalog)


class _DynamoDb(StoreType):
    """A table of DynamoDB."""

    name = DYNAMODB

    def open(self, catalog: Catalog, engine: Engine) -> Closable:  # noqa: ARG002 (the port's)
        from glacierbase.stores import dynamodb

        return dynamodb.open_store(catalog)

    def ddl(self, catalog: Catalog, free: LockRow) -> str:  # noqa: ARG002 (the port's)
        from glacierbase.stores import dynamodb

        return dynamodb.commands(catalog.store)


_OWN: Mapping[str, StoreType] = {store.name: store for store in (_Iceberg(), _Sql(), _Embedded(), _DynamoDb())}


def open_store(catalog: Catalog, engine: Engine) -> Store:
    """Open the history and lock of `catalog`. The store is closed with the engine, which is started only if the store needs it.

    Where only a missing package makes the engine necessary, a warning names it, once for each engine.

    Raises:
        ConfigurationError: `STORE_NOT_SAFE`; `store.type` is iceberg and PyIceberg cannot open the catalog; or as for the start
            of the engine.
        EngineUnavailable: as for the start of the engine.
    """
    _check_safe(catalog)
    chosen = _chosen(catalog)
    if chosen.needs_engine:
        if engine.name is None and (slow := _missing(catalog)):
            logger.warning("catalog %s: %s", catalog.name, slow)
        engine.start()

    def opened() -> Store:
        store = chosen.open(catalog, engine)
        engine.at_close(store.close)
        return store

    store = BoundedStore(opened, engine.cancelled)
    engine.at_close(store.close)
    return store


def _check_safe(catalog: Catalog) -> None:
    """Refuse a catalog in which two runs could both acquire the lock."""
    store = catalog.store
    why = why_unsafe(catalog.spark_conf, store.catalog, is_chosen=store.is_chosen)
    if why and store.type in IN_CATALOG:
        location = f"catalogs/{catalog.file.name}"
        what = (
            f"history and lock cannot be in {store.catalog}: it is {why}, so that two runs could both acquire the lock"
        )
        raise ConfigurationError("STORE_NOT_SAFE", f"{location}: {what}", CHOICES, path=location)


def opens_without_engine(catalog: Catalog) -> bool:
    """Return whether history and lock of the catalog are read without its engine.

    Raises:
        ConfigurationError: no installed package has its store, or the package cannot be used.
    """
    return not _chosen(catalog).needs_engine


def ddl(catalog: Catalog, free: LockRow) -> str:
    """Return what creates the tables and grants the least rights on them. Raises as `opens_without_engine` does."""
    return _chosen(catalog).ddl(catalog, free)


def _chosen(catalog: Catalog) -> StoreType:
    name = catalog.store.type
    if name == "auto":
        name = _preferred(catalog)
    store_type = _OWN.get(name) or _added(name)
    if store_type is None or (store_type is _OWN["sql"] and catalog.dialect not in DIALECTS):
        raise ConfigurationError(
            "NO_STORE",
            f"catalog {catalog.name}: glacierbase has no store for history and lock on {catalog.executor_type}",
            f"install the package that adds one by an entry point of the group {STORES}",
        )
    return store_type


def _preferred(catalog: Catalog) -> str:
    if catalog.executor_type not in OWN and _added(catalog.executor_type):
        return catalog.executor_type
    return "iceberg" if iceberg.can_open(catalog) else "sql"


def described(catalog: Catalog) -> str:
    """Return where history and lock are, whether they need the engine, and why. Raises as `opens_without_engine` does."""
    chosen, place = _chosen(catalog), catalog.store.place
    if chosen is _OWN[EMBEDDED]:
        return f"{place}, for one machine, without the engine"
    how = "through the engine" if chosen.needs_engine else "without the engine"
    why = _why_sql(catalog) if chosen is _OWN["sql"] else ""
    return f"{place}, {how}{f': {why}' if why else ''}"


def files_described(catalog: Catalog) -> str:
    """Return through what the files of history and lock are read and written; empty where PyIceberg does not access them.

    Raises:
        EngineError: the catalog does not answer.
    """
    if _chosen(catalog) is not _OWN["iceberg"]:
        return ""
    place, namespace = opening(catalog), catalog.store.namespace
    levels = (namespace,) if place.kind == "sql" else tuple(namespace.split("."))
    return file_access(place, (*levels, history_name(catalog.name)))


def _why_sql(catalog: Catalog) -> str:
    """Return why PyIceberg does not open a catalog of Spark; empty for other engines, which have none of its catalogs."""
    if catalog.store.type != "auto":
        return "as store.type says"
    if not dialect_of(catalog.dialect).names_follow_conf:
        return ""
    try:
        opening(catalog)
    except ConfigurationError as error:
        return error.message
    return _missing(catalog)


def _missing(catalog: Catalog) -> str:
    """Return what to install so that history and lock need no engine; empty if nothing is missing, or `store.type` says so."""
    try:
        package = missing_package(opening(catalog)) if catalog.store.type == "auto" else None
    except ConfigurationError:
        return ""
    command = pip_install(extra_of(catalog) or "iceberg")
    return f"history and lock need the engine, because {package} is not installed; faster: {command}" if package else ""


@cache
def _added(name: str) -> StoreType | None:
    return offered(STORES, name, StoreType)


def store_warnings(catalog: Catalog) -> tuple[str, ...]:
    """Return the warnings about where a catalog file has history and lock."""
    return (*renaming_warnings(catalog), *_plain_http_warnings(catalog))


def _plain_http_warnings(catalog: Catalog) -> Iterator[str]:
    """Yield a warning if requests to DynamoDB go to another machine without TLS, which alone proves who answers."""
    aws = catalog.store.aws
    if aws and aws.endpoint and is_plain_http(aws.endpoint):
        yield (
            f"history and lock are at {aws.endpoint}, which is another machine, without TLS: whoever is in between reads the SQL,"
            f" and can answer that the lock is free; write https:// in `store.endpoint` of catalogs/{catalog.file.name}"
        )


def renaming_warnings(catalog: Catalog) -> tuple[str, ...]:
    """Return a warning if the catalog of history and lock commits by checking that a file does not exist, then renaming one.

    On file systems that replace an existing file, another run can commit between the two steps.
    """
    kind = renaming_kind(catalog.spark_conf, catalog.store.catalog)
    if kind is None:
        return ()
    return (
        f"history and lock are in {catalog.store.catalog}, {kind}, which commits by renaming a file: two runs that start"
        " within milliseconds could both acquire the lock; name another Iceberg catalog, of type rest, glue, hive or jdbc,"
        f" with `store: {{catalog: NAME}}` in catalogs/{catalog.file.name}",
    )
