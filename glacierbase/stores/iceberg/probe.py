"""Try as another identity whether a REST server lets it change tables: on a table made for that, which is dropped afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from glacierbase.errors import ConfigurationError, EngineError, TableNotFound
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.opened import open_catalog
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings, is_signed, opening
from glacierbase.formats import FORMATS
from glacierbase.model.access import NamespaceAccess, Protection
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of
from glacierbase.sql.qualified import DEFAULT_CATALOG

# The properties by which an identity logs in. `scope` stays where the other identity has none.
_LOGIN = ("credential", "token")
# The answers by which a server refuses a right. Some hide a table that the identity has no right to.
_REFUSALS = ("ForbiddenError", "UnauthorizedError")
_OF_METASTORE = "the rights are those of the metastore and its files"
_WITHOUT_RIGHTS = {
    "glue": "Glue shows no rights of Lake Formation: `aws lakeformation list-permissions` does",
    "hive": _OF_METASTORE,
    "sql": "a JDBC catalog has no rights: whoever may write to its database may change tables",
}
_IN_PLACE = tuple(known.catalogs[0] for known in FORMATS.values() if known.in_place)
_SECOND = "name the login of a writer in the catalog file: `access: {probeAs: {credential: …}}`"


def namespace_access(catalog: Catalog, name: str, namespace: str) -> NamespaceAccess:
    """Return whether the identity of `access.probeAs` may change tables in a namespace of a catalog of Spark.

    Args:
        name: of the catalog in Spark.
    """
    where = f"{name}.{namespace}"
    if name == DEFAULT_CATALOG and catalog.spark_conf.get(f"spark.sql.catalog.{name}") in (None, *_IN_PLACE):
        return NamespaceAccess(where, Protection.UNKNOWN, _OF_METASTORE)
    if f"spark.sql.catalog.{name}" not in catalog.spark_conf:
        return NamespaceAccess(where, Protection.UNKNOWN, f"the catalog file does not declare the catalog {name}")
    try:
        place = opening(replace(catalog, store=replace(catalog.store, catalog=name)))
        if reason := _reason(catalog, place):
            return NamespaceAccess(where, Protection.UNKNOWN, reason)
        return _tried(catalog, place, namespace, where)
    except (ConfigurationError, EngineError) as error:
        return NamespaceAccess(where, Protection.UNKNOWN, error.message)


def _reason(catalog: Catalog, place: PyIcebergSettings) -> str | None:
    """Return why nothing can be tried; None where it can."""
    if reason := _WITHOUT_RIGHTS.get(place.kind):
        return reason
    if is_signed(place.properties):
        return "its requests are signed with the AWS credentials of this machine, which are those of one identity"
    if not catalog.probe_as:
        return _SECOND
    return None if find_spec("pyiceberg") else "PyIceberg, which tries it, is not installed"


def _tried(catalog: Catalog, place: PyIcebergSettings, namespace: str, where: str) -> NamespaceAccess:
    """Try each change on a new table, drop it, and return what was allowed.

    Raises:
        EngineError: the migrator could not log in.
    """
    rest = {key: value for key, value in place.properties.items() if key not in _LOGIN and not _is_login_header(key)}
    other = replace(place, properties={**rest, **catalog.probe_as})
    levels = (*namespace.split("."), f"doctor_{uuid.uuid4().hex[:8]}")
    second = (*levels[:-1], f"{levels[-1]}_2")
    with _opened(place) as migrator:
        with mapped():
            if not migrator.namespace_exists(levels[:-1]):  # Some servers create it with a table.
                return NamespaceAccess(where, Protection.UNKNOWN, "the namespace does not exist yet")
        try:
            access = _as_other(migrator, other, where, levels, second)
        finally:
            left = [name_of((place.name, *made)) for made in (levels, second) if not _is_dropped(migrator, made)]
    what = f"{access.detail}; drop {' and '.join(left)} if it exists: the server did not drop it"
    return replace(access, detail=what) if left else access


def _as_other(
    migrator: Any, other: PyIcebergSettings, where: str, levels: Sequence[str], second: Sequence[str]
) -> NamespaceAccess:
    try:
        with mapped():
            table = migrator.create_table(levels, _schema("a"))
        with _opened(other) as writer:
            return _verdict(where, list(_attempts(writer, table, levels, second)))
    except EngineError as error:
        return NamespaceAccess(where, Protection.UNKNOWN, error.message)


def _is_dropped(migrator: Any, table: Sequence[str]) -> bool:
    """Drop a table, and its files where the server lets clients purge; return whether it is known not to exist."""
    for drop in (migrator.purge_table, migrator.drop_table):
        try:
            with mapped():
                drop(table)
            return True
        except TableNotFound:
            return True
        except EngineError:
            continue
    with suppress(EngineError), mapped():
        return not migrator.table_exists(table)
    return False


def _is_login_header(key: str) -> bool:
    return key.lower() == "header.authorization"


@contextmanager
def _opened(place: PyIcebergSettings) -> Iterator[Any]:
    with mapped():
        catalog = open_catalog(place)
    with closing(catalog):
        yield catalog


def _schema(*columns: str) -> Any:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    fields = [NestedField(number, name, LongType(), required=False) for number, name in enumerate(columns, start=1)]
    return Schema(*fields, schema_id=len(columns) - 1)


def _attempts(
    writer: Any, table: Any, levels: Sequence[str], second: Sequence[str]
) -> Iterator[tuple[str, EngineError | None]]:
    """Try the changes, and yield each with the error by which it was not made; dropping the table is the last."""
    from pyiceberg.table.update import AddSchemaUpdate, SetCurrentSchemaUpdate, SetPropertiesUpdate

    column = (AddSchemaUpdate(schema=_schema("a", "b")), SetCurrentSchemaUpdate(schema_id=-1))
    changes: Sequence[tuple[str, Callable[[], object]]] = (
        ("add a column", lambda: writer.commit_table(table, (), column)),
        ("set a property", lambda: writer.commit_table(table, (), (SetPropertiesUpdate(updates={"doctor": "1"}),))),
        ("create a table", lambda: writer.create_table(second, _schema("a"))),
        ("drop a table", lambda: writer.drop_table(levels)),
    )
    for what, change in changes:
        try:
            with mapped():
                change()
            yield what, None
        except EngineError as error:
            yield what, error


def _verdict(where: str, attempts: Sequence[tuple[str, EngineError | None]]) -> NamespaceAccess:
    """Return the verdict: prevented only if every change was refused as not allowed."""
    allowed = [what for what, error in attempts if error is None]
    if allowed:
        return NamespaceAccess(where, Protection.DETECTED, f"the identity of access.probeAs may {', '.join(allowed)}")
    unclear = [error for _, error in attempts if error and not _is_refusal(error)]
    if unclear:
        return NamespaceAccess(where, Protection.UNKNOWN, f"the server did not say who may: {unclear[0].message}")
    refused = ", ".join(what for what, _ in attempts)
    return NamespaceAccess(where, Protection.PREVENTED, f"the identity of access.probeAs may not {refused}")


def _is_refusal(error: EngineError) -> bool:
    return error.error_class in _REFUSALS or isinstance(error, TableNotFound)
