"""The Iceberg catalogs of one catalog file, opened when a statement names them; names of tables as PyIceberg takes them."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from typing import Any

from glacierbase.errors import ConfigurationError, NotPlain, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import ListedTable
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.metadata import with_shared_parts
from glacierbase.executors.pyiceberg.opened import open_catalog
from glacierbase.executors.pyiceberg.preserved import check_preserved
from glacierbase.executors.pyiceberg.properties import opening
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts
from glacierbase.run.waiting import Caller, NoAnswer, result
from glacierbase.sql.qualified import DEFAULT_CATALOG, first_namespace, is_catalog, qualified
from glacierbase.sql.statement import Name

Identifier = tuple[str, ...]
# PyIceberg takes what follows these signs for no part of a location.
CUTS = frozenset("#?")
# The parts of a name of a table in a namespace of one level.
_IN_NAMESPACE = 2


class PyIcebergCatalogs:
    """The catalogs that a catalog file declares.

    Attributes:
        default: the catalog of names without one.
        default_namespace: the namespace of names without one, in that catalog.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._opened: dict[str, Any] = {}
        self._statement: str | None = None
        # The thread of statements, which the main thread, to which signals are delivered, can leave.
        self._caller: Caller | None = None
        self._is_left = False
        # The locations of metadata that PyIceberg writes again as it is.
        self._whole: set[str] = set()
        self.default = catalog.spark_conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)
        self.default_namespace = first_namespace(catalog, self.default)

    def open(self, name: str) -> Any:
        """Return a catalog, opened before or now. The tables of a SQL catalog are created, as Spark does.

        Raises:
            NotPlain: PyIceberg cannot open it.
        """
        if name not in self._opened:
            try:
                place = opening(replace(self._catalog, store=replace(self._catalog.store, catalog=name)))
                if place.file:
                    place.file.parent.mkdir(parents=True, exist_ok=True)
                opened = open_catalog(place)
            except ConfigurationError as error:
                raise NotPlain(error.message) from error
            if place.kind == "sql":
                opened.create_tables()
            opened.begin(self._statement)
            self._opened[name] = opened
        return self._opened[name]

    def call(self, change: Callable[[], None], cancelled: Callable[[], bool]) -> None:
        """Make a change in a thread, and wait for it until the run is cancelled.

        Raises:
            NoAnswer: it may still take effect. The catalogs stay open.
        """

        def mapped_change() -> None:
            with mapped():
                change()

        self._caller = self._caller or Caller()
        try:
            result(self._caller.submit(mapped_change), inf, cancelled)
        except BaseException as error:
            self._is_left = isinstance(error, (NoAnswer, KeyboardInterrupt))
            raise

    def begin(self, tag: str | None) -> None:
        """Let the commits of the next statement carry its tag."""
        self._statement = tag
        for opened in self._opened.values():
            opened.begin(tag)

    @property
    def in_doubt(self) -> bool:
        """Whether an error of the statement leaves open what it changed."""
        return any(opened.in_doubt for opened in self._opened.values())

    @contextmanager
    def sending(self, is_there: Callable[[], bool]) -> Iterator[None]:
        """Send a change in the block. A refusal leaves its outcome open where its effect is there: it may have been sent twice.

        Args:
            is_there: returns whether the catalog shows the effect, which it did not before.
        """
        try:
            with mapped():
                yield
        except StatementRefused as error:
            with mapped():
                if not self.in_doubt or not is_there():
                    raise
            raise sent_twice(error) from error

    def place(self, name: Name) -> tuple[Any, Identifier]:
        """Return the catalog of a table or a view, and its name there.

        Raises:
            NotPlain: it is in no namespace, a part of another table, or in a location that PyIceberg cuts.
        """
        first, *rest = name_parts(qualified(self._catalog, name.recorded))
        if len(rest) == 1:
            raise NotPlain(f"{name.recorded} is in no namespace, which needs the engine")
        catalog, identifier = self.open(first), tuple(rest)
        if CUTS.intersection("".join((catalog.properties.get("warehouse", ""), *identifier))):
            raise NotPlain(f"PyIceberg does not write to the location of {name.recorded}")
        with mapped():
            if len(identifier) > _IN_NAMESPACE and catalog.table_exists(identifier[:-1]):
                raise NotPlain(f"{name.recorded} is a part of a table")
        return catalog, identifier

    def namespace(self, name: Name) -> tuple[Any, Identifier]:
        """Return the catalog of a namespace, and its path there.

        Raises:
            StatementRefused: the name is that of a catalog.
        """
        parts = tuple(name_parts(name.recorded))
        if not is_catalog(self._catalog, parts[0]):
            return self.open(self.default), parts
        if len(parts) == 1:
            raise NotPlain(f"{name.recorded} is a catalog, which needs the engine")
        return self.open(parts[0]), parts[1:]

    def new_properties(self, name: Name, given: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of a new table, with those that the configuration of its catalog sets for all tables."""
        first = name_parts(qualified(self._catalog, name.recorded))[0]
        return {**self._set_by(first, "table-default"), **given, **self._set_by(first, "table-override")}

    def _set_by(self, catalog: str, key: str) -> dict[str, str]:
        prefix = f"spark.sql.catalog.{catalog}.{key}."
        conf = self._catalog.spark_conf
        return {name.removeprefix(prefix): value for name, value in conf.items() if name.startswith(prefix)}

    def table(self, name: Name) -> Any:
        """Return a table, freshly loaded, to be changed. Its metadata holds nothing that a commit of PyIceberg would lose.

        Raises:
            TableNotFound: Spark's error for it.
            NotPlain: PyIceberg does not read its metadata, or would lose a part of it.
            StatementRefused: the catalog does not answer.
        """
        catalog, identifier = self.place(name)
        try:
            with mapped():
                table = catalog.load_table(identifier)
                if table.metadata_location not in self._whole:
                    self._check(table)
        except TableNotFound as error:
            raise table_not_found(name) from error
        except OutcomeUnknown as error:  # Nothing was committed yet.
            if error.error_class == "ValidationError":
                raise NotPlain(error.message) from error
            raise StatementRefused(error.error_class, error.message, hint=error.hint) from error
        self._whole.add(table.metadata_location)
        table.metadata = with_shared_parts(table.metadata)
        return table

    def _check(self, table: Any) -> None:
        check_preserved(table)

    def wrote(self, table: Any) -> None:
        """Note that a commit of this process made the metadata of a table."""
        self._whole.add(table.metadata_location)

    def table_or_none(self, recorded: str) -> Any:
        """Return a table by its name as the history records it; None if it does not exist."""
        first, *rest = name_parts(qualified(self._catalog, recorded))
        try:
            with mapped():
                return self.open(first).load_table(tuple(rest))
        except TableNotFound:
            return None

    def listed(self, name: str) -> list[ListedTable]:
        """Return the tables and views in all namespaces of a catalog."""
        catalog, listed, left = self.open(name), list[ListedTable](), [()]
        while left:
            namespace = left.pop()
            if namespace:
                listed += (ListedTable(name_of((name, *table))) for table in catalog.list_tables(namespace))
                with suppress(NotImplementedError):
                    listed += (ListedTable(name_of((name, *view)), "view") for view in catalog.list_views(namespace))
            with suppress(StatementRefused), mapped():
                left += [inner for inner in catalog.list_namespaces(namespace) if inner[: len(namespace)] == namespace]
        return listed

    @property
    def opened(self) -> tuple[str, ...]:
        """The names of the opened catalogs."""
        return tuple(self._opened)

    def close(self) -> None:
        """Close the connections, unless a statement that was left still uses them."""
        if self._caller:
            self._caller.end()
        for opened in () if self._is_left else self._opened.values():
            opened.close()


def sent_twice(error: StatementRefused) -> OutcomeUnknown:
    """Return the error for a change that was refused although its effect is there."""
    return OutcomeUnknown(error.error_class, f"{error.message}; its effect is there, so it may have been sent twice")


def spark_user() -> str:
    """Return the user whom Spark would make the owner of what it creates here."""
    named = os.environ.get("SPARK_USER") or os.environ.get("HADOOP_USER_NAME")
    return named or pwd.getpwuid(os.getuid()).pw_name


def table_not_found(name: Name) -> TableNotFound:
    """Return Spark's error for a table that does not exist."""
    return TableNotFound("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {name.recorded} cannot be found.")
