"""A run on an object store is killed at each of its requests, before or after the server executes it; and four runs at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from glacierbase.model.catalog import Catalog
from glacierbase.stores.iceberg import open_store
from tests.support.objectstore import ObjectStore, catalog_file
from tests.support.project_folder import ProjectFolder, only_catalog

# Of a `migrate` of one ALTER: nine reads; four writes each for the lock, the announcement, the outcome and the release; the ALTER.
REQUESTS = 26


@pytest.fixture
def altering(project: ProjectFolder, s3: ObjectStore) -> ProjectFolder:
    """A project on the server with a table, and a pending ALTER of it."""
    (project.root / "warehouse").mkdir()
    project.catalog(f"{catalog_file(s3, project.root / 'warehouse/catalog.db')}store: {{lockLease: 2s}}\n")
    project.file("1_create.sql", "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id BIGINT)")
    assert project.run("migrate").code == 0
    project.file("2_alter.sql", "ALTER TABLE lake.a.t ADD COLUMN b INT")
    return project


def check_applied_once(project: ProjectFolder) -> None:
    """Check that history and table hold the ALTER once, and that the lock is free."""
    catalog: Catalog = only_catalog(project.root)
    store = open_store(catalog)
    row, events = store.read_lock_and_history()
    assert row
    assert row.owner == ""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.version for event in events if event.state == "applied"] == ["1", "2"]
    table = store._catalog.load_table(("a", "t"))
    assert [field.name for field in table.schema().fields] == ["id", "b"]
    assert len(table.metadata.metadata_log) == 1


def killing(pid: Callable[[], int], number: int, effect: str | None) -> Callable[[int, str, str], str | None]:
    """Return the fault of a server that kills a process at a request, which has its effect or not."""

    def fault(at: int, *_: str) -> str | None:
        if at < number:
            return None
        if at == number:
            os.kill(pid(), signal.SIGKILL)
        return effect if at == number else "drop"

    return fault


@pytest.mark.parametrize("effect", ["drop", "lose"])
@pytest.mark.parametrize("number", range(REQUESTS))
def test_killed_at_any_request_the_next_run_completes(
    altering: ProjectFolder, s3: ObjectStore, number: int, effect: str
) -> None:
    """The ALTER is there once, without a person."""
    started: list[int] = []
    s3.fault = killing(lambda: started[0], len(s3.log) + number, effect)
    process = altering.start("migrate")
    started.append(process.pid)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    s3.fault = lambda *_: None
    done = altering.run("migrate")
    assert done.code == 0, done.stderr
    check_applied_once(altering)


def test_of_four_runs_one_applies_the_file(altering: ProjectFolder) -> None:
    """The others wait for the lock, then find nothing to do."""
    processes = [altering.start("migrate", "--lock-timeout", "2m") for _ in range(4)]
    outputs = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    check_applied_once(altering)
