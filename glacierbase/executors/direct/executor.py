"""The executor of plain DDL, and its sessions: statements of Spark's dialect as commits of PyIceberg."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from threading import Event
from typing import Any

from glacierbase.errors import NotPlain, OutcomeUnknown, StatementRefused
from glacierbase.executors import Evidence, InFlight, ListedTable, Row, Session
from glacierbase.executors.direct.ddl import run
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.shape import shape_of
from glacierbase.model.catalog import Catalog
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Shape
from glacierbase.run.processes import engine_process
from glacierbase.run.waiting import NoAnswer
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.qualified import qualified, qualified_namespace


class IcebergExecutor:
    """An executor in this process."""

    dialect = SPARK.name

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lakes = PyIcebergCatalogs(catalog)
        self.engine = f"pyiceberg {version('pyiceberg')}"
        self.principal = getpass.getuser()
        self.process: Mapping[str, Any] = engine_process(os.getpid())

    def open_session(self, *, bookkeeping: bool = False) -> Session:  # noqa: ARG002 (the port's)
        """Open a session."""
        return IcebergSession(self._lakes)

    def evidence(self, statement: InFlight) -> Evidence:  # noqa: ARG002 (the port's)
        """Return nothing: a commit of metadata names no statement."""
        return Evidence()

    def proving_table(self, sql: str, file: str) -> str | None:  # noqa: ARG002 (the port's)
        """Return the qualified name of the table or the namespace: of a rename, the one that is renamed."""
        statement = read(sql, SPARK.name)
        if statement.namespace:
            return qualified_namespace(self._catalog, statement.namespace.recorded)
        return qualified(self._catalog, statement.targets[0].recorded) if statement.targets else None

    def close(self) -> None:
        """Close the connections to the catalogs."""
        self._lakes.close()


class IcebergSession:
    """A session, which holds nothing but the names of its catalogs."""

    def __init__(self, lakes: PyIcebergCatalogs) -> None:
        self._lakes = lakes
        self._is_cancelled = Event()

    def execute(
        self,
        sql: str,
        parameters: Sequence[Any] = (),
        *,
        tag: str | None = None,
    ) -> str | None:
        """Run one plain statement. Another one is refused."""
        if parameters:
            raise StatementRefused("UNSUPPORTED", "a plain statement has no parameters")
        statement = read(sql, SPARK.name)
        if why := why_not_plain(statement):
            raise NotPlain(why)
        self._lakes.begin(tag)
        self._is_cancelled.clear()
        try:
            self._lakes.call(partial(run, self._lakes, statement), self._is_cancelled.is_set)
        except NoAnswer as error:
            why = "the statement had no answer when the run was stopped, and may still take effect"
            raise OutcomeUnknown("NoAnswer", why) from error
        except OutcomeUnknown as error:
            if self._lakes.in_doubt:
                raise
            raise StatementRefused(error.error_class, error.message, hint=error.hint) from error
        return None

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:  # noqa: ARG002 (the port's)
        """Refuse a query: it needs an engine."""
        raise NotPlain("a query needs an engine")

    def cancel(self) -> None:
        """Leave the statement, which may wait in native code without a limit."""
        self._is_cancelled.set()

    def progress(self) -> str | None:
        """Return nothing."""
        return None

    def shape(self, table: str) -> Shape | None:
        """Return the shape of a table; None if it does not exist."""
        with mapped():
            loaded = self._lakes.table_or_none(table)
        return None if loaded is None else shape_of(table, loaded)

    def tables(self, catalog: str) -> list[ListedTable]:
        """Return the tables and views in all namespaces of a catalog."""
        with mapped():
            return self._lakes.listed(catalog)

    def view_statements(self, view: str) -> tuple[str, ...]:  # noqa: ARG002 (the port's)
        """Return none: PyIceberg does not show the text of a view."""
        return ()

    def make_view(self, view: str, sql: str, function: str, columns: str) -> None:  # noqa: ARG002 (the port's)
        """Refuse a view: it needs an engine."""
        raise NotPlain("a view needs an engine")

    def context(self) -> SessionContext:
        """Return the catalog and the namespace of a new session in Spark."""
        return SessionContext(self._lakes.default, self._lakes.default_namespace)

    def select(self, context: SessionContext) -> None:
        """Refuse another context than the only one."""
        if context != self.context():
            raise NotPlain(f"a session without an engine stays in {self.context()}")

    def close(self) -> None:
        """Do nothing."""
