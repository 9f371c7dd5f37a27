"""CREATE, ALTER, DROP and COMMENT ON of namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from glacierbase.errors import NotPlain, StatementRefused, TableNotFound
from glacierbase.executors.direct.lakes import Identifier, PyIcebergCatalogs, spark_user
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.sql.statement import Name, ParsedStatement, Property


def create_namespace(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Create a namespace, with the properties that the statement names and its owner."""
    name = _named(statement)
    catalog, path = lakes.namespace(name)
    try:
        with mapped():
            if not catalog.namespace_exists(path):
                with lakes.sending(lambda: not statement.options.if_not_exists and catalog.namespace_exists(path)):
                    catalog.create_namespace(path, {"owner": spark_user(), **properties_set_by(statement)})
                return
    except StatementRefused as error:
        if error.error_class != "NamespaceAlreadyExistsError":
            raise
    if not statement.options.if_not_exists:
        what = f"Cannot create schema {name.recorded} because it already exists."
        raise StatementRefused("SCHEMA_ALREADY_EXISTS", what)


def alter_namespace(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Set properties, the location or the comment of a namespace."""
    name = _named(statement)
    catalog, path = lakes.namespace(name)
    try:
        with lakes.sending(lambda: is_set(statement, catalog.load_namespace_properties(path))):
            catalog.update_namespace_properties(path, updates=properties_set_by(statement))
    except TableNotFound as error:
        raise _not_found(name) from error


def drop_namespace(lakes: PyIcebergCatalogs, statement: ParsedStatement) -> None:
    """Drop an empty namespace. Iceberg ignores CASCADE.

    Raises:
        StatementRefused: it is not empty.
    """
    name = _named(statement)
    catalog, path = lakes.namespace(name)
    try:
        with mapped():
            if not catalog.namespace_exists(path):
                raise _not_found(name)
            if inside := _inside(catalog, path):
                what = f"Namespace {name.recorded} is not empty. Contains {inside}."
                raise StatementRefused("NamespaceNotEmptyException", what)
            with lakes.sending(lambda: not catalog.namespace_exists(path)):
                catalog.drop_namespace(path)
    except TableNotFound as error:
        if not statement.options.if_exists:
            raise _not_found(name) from error


def _named(statement: ParsedStatement) -> Name:
    if statement.namespace is None:
        raise NotPlain("the name of the namespace is computed")
    return statement.namespace


def is_set(statement: ParsedStatement, properties: Mapping[str, str]) -> bool:
    """Return whether a namespace has the properties that a statement sets."""
    return properties_set_by(statement).items() <= properties.items()


def properties_set_by(statement: ParsedStatement) -> dict[str, str]:
    """Return the properties that a statement sets. COMMENT ON … IS NULL sets an empty comment."""
    options = statement.options
    given = {part.key: part.value or "" for part in statement.parts if isinstance(part, Property)}
    comment = options.comment or "" if statement.operation == "comment_on" else options.comment
    clauses = {"comment": comment, "location": options.location}
    return given | {key: value for key, value in clauses.items() if value is not None}


def _inside(catalog: Any, path: Identifier) -> str:
    """Return what a namespace contains; empty where it contains nothing."""
    children = [inner for inner in catalog.list_namespaces(path) if inner != path]
    contents = {"table(s)": catalog.list_tables(path), "child namespace(s)": children}
    with suppress(NotImplementedError):
        contents["view(s)"] = catalog.list_views(path)
    return ", ".join(f"{len(names)} {what}" for what, names in contents.items() if names)


def _not_found(name: Name) -> TableNotFound:
    return TableNotFound("SCHEMA_NOT_FOUND", f"The schema {name.recorded} cannot be found.")
