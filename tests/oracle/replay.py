"""Recorded cases on the direct engine, in a catalog on SQLite. What is not plain is not run: the recorded state is installed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables
from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from tests.oracle.records import Case
from tests.support.errors import error_of
from tests.support.lake_states import NAMESPACE, WAREHOUSE, State, differences, state_of, within

_TABLES = {"namespace": IcebergNamespaceProperties, "table": IcebergTables, "view": IcebergTables}


@dataclass(frozen=True)
class Replayed:
    """What came out of a replay.

    Attributes:
        differences: the first statement whose outcome is not the recorded one, and a line for each difference.
        not_plain: the statements that the direct engine left to Spark, with why.
    """

    differences: tuple[str, ...]
    not_plain: Mapping[str, str]


class Replay:
    """The catalog `lake` on SQLite, and a session of the direct engine on it."""

    def __init__(self, catalog: Catalog) -> None:
        self._lake: Any = PyIcebergCatalogs(catalog).open("lake")
        self._warehouse: str = self._lake.properties["warehouse"]
        self._executor = IcebergExecutor(catalog)

    def run(self, case: Case, begin: int, end: int) -> Replayed:
        """Run some statements of a case in a new namespace, which gets the recorded state before them."""
        namespace, state = f"r{uuid.uuid4().hex[:8]}", case.before(begin)
        not_plain: dict[str, str] = {}
        self._install(namespace, {}, state)
        for recorded in case.statements[begin:end]:
            with closing(self._executor.open_session()) as session:
                error, message = error_of(session, within(namespace, recorded.sql))
            after = recorded.after(state)
            if error == "NOT_PLAIN":
                not_plain[recorded.sql] = message
                self._install(namespace, state, after)
                error = recorded.error
            lines = [*differences(recorded.error, error, "error"), *differences(after, state_of(self._lake, namespace))]
            if lines:
                return Replayed((recorded.sql, *lines), not_plain)
            state = after
        return Replayed((), not_plain)

    def _install(self, namespace: str, before: State, after: State) -> None:
        """Change the namespace from one state to another, by the rows of the catalog."""
        with Session(self._lake.engine) as session:
            for key in (key for key in {*before, *after} if before.get(key) != after.get(key)):
                kind, name = key.split(" ", 1)
                path = [namespace if part == NAMESPACE else part for part in name_parts(name)]
                session.execute(_removal(kind, path))
                if key in after:
                    text = within(namespace, json.dumps(after[key])).replace(WAREHOUSE, self._warehouse)
                    for row in self._rows(kind, path, text):
                        session.execute(insert(_TABLES[kind]).values(**row))
            session.commit()

    def _rows(self, kind: str, path: list[str], text: str) -> Iterator[dict[str, Any]]:
        """Yield what a catalog of Iceberg holds of a namespace, a table or a view."""
        if kind == "namespace":
            for key, value in json.loads(text).items():
                namespace = {"catalog_name": "lake", "namespace": ".".join(path)}
                yield {**namespace, "property_key": key, "property_value": value}
            return
        location = f"{self._warehouse}/{uuid.uuid4()}.metadata.json"
        Path(location.removeprefix("file://")).write_text(text)
        row = self._lake._create_table_row(".".join(path[:-1]), path[-1], location)
        yield {**row, "iceberg_type": kind.upper()}

    def close(self) -> None:
        """Close the connections."""
        self._executor.close()
        self._lake.close()


def _removal(kind: str, path: list[str]) -> Any:
    """Return the statement that removes a namespace, a table or a view from the catalog."""
    if kind == "namespace":
        return delete(IcebergNamespaceProperties).where(IcebergNamespaceProperties.namespace == ".".join(path))
    of_path = (IcebergTables.table_namespace == ".".join(path[:-1]), IcebergTables.table_name == path[-1])
    return delete(IcebergTables).where(*of_path)
