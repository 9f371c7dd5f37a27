"""The store through an engine's SQL: the guards of its tables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from glacierbase.errors import ConfigurationError, TableNotFound
from glacierbase.history.lockrow import Terms, free_row
from glacierbase.stores.sql import SYNTAX, SqlStore
from glacierbase.stores.tables import ICEBERG_PROPERTIES
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog


class Engine:
    """A session of Spark whose catalog sets properties of all tables, whatever a statement sets."""

    def __init__(self, overridden: dict[str, str]) -> None:
        self.created: set[str] = set()
        self._properties = ICEBERG_PROPERTIES | overridden

    def execute(self, sql: str, parameters: Any = ()) -> None:
        if match := re.match(r"CREATE TABLE IF NOT EXISTS (\S+)", sql):
            self.created.add(match[1])

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[str, str]]:
        if sql.split()[-1] not in self.created:
            raise TableNotFound("TABLE_OR_VIEW_NOT_FOUND", "there is no such table")
        return list(self._properties.items())


@pytest.mark.parametrize(("overridden", "is_refused"), [({}, False), ({"commit.retry.num-retries": "4"}, True)])
def test_a_catalog_that_overrides_the_properties_of_new_tables_is_refused(
    overridden: dict[str, str], is_refused: bool, project: ProjectFolder
) -> None:
    """The properties by which the lock is a lock are read from each table that was just created."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root)))
    engine = Engine(overridden)
    store = SqlStore(only_catalog(project.root), engine, SYNTAX["spark"])  # type: ignore[arg-type]
    free = free_row(Terms("shop", "dev", 60))
    if not is_refused:
        store.create(free)
        assert len(engine.created) == 2
        return
    with pytest.raises(ConfigurationError, match=r"commit\.retry\.num-retries") as refused:
        store.create(free)
    assert refused.value.code == "STORE_PROPERTIES"
