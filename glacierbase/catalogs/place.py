"""The values, without secrets, that identify where a catalog file leads: its tables, and the history and lock tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.model.catalog import Catalog
from glacierbase.secrets import is_secret, mask

# Settings of Spark that locate tables; none that only affect how, by whom, or on which machines they are read.
_OF_SPARK = re.compile(
    r"spark\.remote|spark\.sql\.(defaultCatalog|warehouse\.dir)"
    r"|spark\.hadoop\.(fs\.defaultFS|hive\.metastore\.(uris|warehouse\.dir)|javax\.jdo\.option\.ConnectionURL)"
    r"|spark\.sql\.catalog\.[^.]+(\.(type|catalog-impl|uri|url|warehouse|prefix|ref|default-namespace|table-prefix"
    r"|glue\.(id|account-id|endpoint)|client\.region|s3\.endpoint|dynamodb\.(endpoint|table-name)))?"
)
_OF_SNOWFLAKE = frozenset({"account", "host", "port", "region", "database", "schema", "connection_name"})
_LOGIN = re.compile(r"(?<=://)[^/?#\s@]*@")
_PARAMETER = re.compile(r"(?P<before>[?&;])(?P<name>[^=?&;]+)=[^&;]*")
_USER = re.compile(r"(?i)user(name|_id)?|login")


def place(catalog: Catalog) -> dict[str, str]:
    """Return the values that identify the place of a catalog, by their keys, without secrets and users."""
    return {key: _without_login(mask(value)) for key, value in _values(catalog)}


def _values(catalog: Catalog) -> Iterator[tuple[str, str]]:
    yield "store.catalog", catalog.store.catalog
    if catalog.store.folder is not None:  # Without its path: each checkout has another.
        yield "store.type", catalog.store.type
    if aws := catalog.store.aws:
        yield "store.type", catalog.store.type
        yield from (
            (f"store.{key}", value) for key, value in (("region", aws.region), ("endpoint", aws.endpoint)) if value
        )
    yield "store.namespace", catalog.store.namespace
    yield from ((key, value) for key, value in sorted(catalog.spark_conf.items()) if _OF_SPARK.fullmatch(key))
    for key, value in sorted(catalog.connection.items()):
        if key in _OF_SNOWFLAKE:
            yield f"connection.{key}", str(value)
    for key, value in sorted(catalog.conf.items()):
        if not is_secret(key):
            yield f"conf.{key}", str(value)


def _without_login(address: str) -> str:
    """Return an address without its user, password and token: a plan may be made with another login."""
    return _PARAMETER.sub(_kept, _LOGIN.sub("", address))


def _kept(parameter: re.Match[str]) -> str:
    name = parameter["name"]
    return "" if is_secret(name) or _USER.fullmatch(name) else parameter[0]
