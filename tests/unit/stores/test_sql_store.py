"""The store through an engine's SQL: the guards of its tables."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

import pytest

from glacierbase.errors import ConfigurationError, TableNotFound
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.stores.origin import COLLECTS_GARBAGE, DELETES
from glacierbase.stores.sql import SYNTAX, SqlStore
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog


class Engine:
    """A session of Spark whose catalog sets properties of all tables, whatever a statement sets."""

    def __init__(self, overridden: dict[str, str]) -> None:
        self.created: dict[str, dict[str, str]] = {}
        self.executed: list[str] = []
        self._overridden = overridden

    def execute(self, sql: str, parameters: Any = ()) -> None:
        self.executed.append(sql)
        if match := re.match(r"(?:CREATE TABLE IF NOT EXISTS|ALTER TABLE) (\S+)", sql):
            properties = re.search(r"TBLPROPERTIES \((.*)\)", sql)
            given = dict(re.findall(r"'(.*?)'='(.*?)'", properties[1] if properties else ""))
            self.created[match[1]] = self.created.get(match[1], {}) | given | self._overridden

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[str, str]]:
        if (table := sql.split()[-1]) not in self.created:
            raise TableNotFound("TABLE_OR_VIEW_NOT_FOUND", "there is no such table")
        return list(self.created[table].items())

    def deletions(self) -> list[str]:
        """Return the statements so far that delete files, and forget all statements."""
        executed, self.executed = self.executed, []
        deletes = {table for table, properties in self.created.items() if properties[DELETES] == "true"}
        commits = r"(?:INSERT INTO|UPDATE|DELETE FROM|MERGE INTO) (\S+)"
        return [
            sql
            for sql in executed
            if "expire_snapshots" in sql or ((table := re.match(commits, sql)) and table[1] in deletes)
        ]


@pytest.mark.parametrize(("overridden", "is_refused"), [({}, False), ({"commit.retry.num-retries": "4"}, True)])
def test_a_catalog_that_overrides_the_properties_of_new_tables_is_refused(
    overridden: dict[str, str], is_refused: bool, project: ProjectFolder
) -> None:
    """The properties by which the lock is a lock are read from each table that was just created."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root)))
    engine = Engine(overridden)
    store = SqlStore(only_catalog(project.root), engine, SYNTAX["spark"])  # type: ignore[arg-type]
    free = free_row(LockTerms("shop", "dev", 60))
    if not is_refused:
        store.create(free)
        assert len(engine.created) == 2
        return
    with pytest.raises(ConfigurationError, match=r"commit\.retry\.num-retries") as refused:
        store.create(free)
    assert refused.value.code == "STORE_PROPERTIES"


def used(engine: Engine, project: ProjectFolder) -> SqlStore:
    """Return a store that was used as a run uses it: created, written, compacted."""
    store = SqlStore(only_catalog(project.root), engine, SYNTAX["spark"])  # type: ignore[arg-type]
    store.create(free_row(LockTerms("shop", "dev", 60)))
    store.append([])
    store.compact()
    return store


def test_in_a_clone_the_engine_deletes_nothing(project: ProjectFolder) -> None:
    """Spark deletes files with each commit and with expired snapshots only in the catalog in which the tables were made."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root)))
    engine = Engine({})
    assert used(engine, project).other_catalog() is None
    assert len(engine.deletions()) == 3
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root / "clone")))
    clone = used(engine, project)
    assert engine.deletions() == []
    assert clone.other_catalog() == f"sql sqlite:{project.root}/catalog.db lake glacierbase.history_shop"
    clone.own_files()
    assert clone.other_catalog() is None
    assert {properties[COLLECTS_GARBAGE] for properties in engine.created.values()} == {"false"}
    used(engine, project)
    assert engine.deletions() == []


def test_a_lock_that_is_rebuilt_in_a_clone_deletes_nothing(project: ProjectFolder) -> None:
    """`unlock --rebuild` creates no tables first, so that the store itself looks at their properties."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root)))
    engine = Engine({})
    used(engine, project)
    engine.deletions()
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root / "clone")))
    store = SqlStore(only_catalog(project.root), engine, SYNTAX["spark"])  # type: ignore[arg-type]
    row = free_row(LockTerms("shop", "dev", 60))
    with patch.object(SqlStore, "lock_rows", return_value=(row,)):
        store.replace_rows([row], row)
    store.append([])
    assert engine.deletions() == []
