"""`doctor` on the fakes: which checks it makes, and what it reports. `tests/engines/test_doctor.py` has the real engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glacierbase.errors import EngineUnavailable
from glacierbase.inspect.doctor import doctor, examine
from glacierbase.inspect.results import DoctorResult
from glacierbase.model.access import Protection
from glacierbase.stores import LockRow
from tests.support.fakes import MemoryStore
from tests.support.project_folder import ProjectFolder
from tests.support.world import World


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project with one file, whose engine and tables are in memory."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    return world


def test_every_check_passes_and_the_tables_of_the_check_are_dropped(world: World) -> None:
    """The opening is that of every command, so the fakes serve here as well."""
    checks = list(examine(world.target()))
    assert [check.name for check in checks] == [
        "configuration",
        "store",
        "files",
        "history",
        "connection",
        "rights",
        "lock",
    ]
    assert [check.error for check in checks] == [None] * 7
    assert "3 × 1 winners" in checks[-1].detail
    assert (world.tables.histories, world.tables.locks) == ({}, {})
    assert world.engine.closed == 1


class EveryoneWins(MemoryStore):
    """A store whose compare-and-set compares nothing."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        return True


def test_a_lock_that_two_sessions_can_acquire_is_an_error(world: World) -> None:
    """All four sessions succeed in each round, which proves that the check can fail."""
    target = replace(world.target(), open_store=lambda catalog, _: EveryoneWins(world.tables, catalog.name))
    error = list(examine(target))[-1].error
    assert error
    assert (error.code, error.data["winners"]) == ("LOCK_NOT_EXCLUSIVE", [4, 4, 4])


def test_an_engine_that_does_not_start_ends_the_checks(world: World) -> None:
    """After an engine does not start, no check that needs a connection runs."""

    def refuse(*_: Any) -> Any:
        raise EngineUnavailable("SPARK_UNAVAILABLE", "no engine")

    checks = list(examine(replace(world.target(), open_executor=refuse)))
    assert checks[-1].name == "connection"
    assert checks[-1].error
    assert checks[-1].error.code == "SPARK_UNAVAILABLE"


def test_a_store_that_needs_no_engine_is_read_before_the_engine_starts(world: World) -> None:
    """A refused login is known in a second. Where the store needs the engine, the engine is first."""

    def refuse(*_: Any) -> Any:
        raise EngineUnavailable("STORE_UNAVAILABLE", "HTTP 401")

    target = replace(world.target(), open_store=refuse, open_executor=lambda *_: pytest.fail("the engine was started"))
    checks = list(examine(target))
    assert [check.name for check in checks] == ["configuration", "store", "files", "history"]
    assert checks[-1].error
    sql = replace(target.catalog, store=replace(target.catalog.store, type="sql"))
    by_engine = list(examine(replace(target, catalog=sql, open_executor=lambda *_: world.engine)))
    assert [check.name for check in by_engine] == ["configuration", "store", "files", "connection", "history"]


def test_it_shows_for_each_namespace_of_recorded_tables_who_else_may_change_them(world: World) -> None:
    """A JDBC catalog keeps no rights: what it does not show is unknown, and that is no error."""
    world.file("2_b.sql", "CREATE TABLE u (a INT)")
    world.migrate()
    result = doctor(world.target(), DoctorResult("shop", "default"), print_ddl=False)
    assert result.error is None
    assert [access.namespace for access in result.access] == ["lake.glacierbase", "spark_catalog.default"]
    assert {access.verdict for access in result.access} == {Protection.UNKNOWN}
    assert "a JDBC catalog has no rights" in result.access[0].detail
    assert result.access[1].detail == "the rights are those of the metastore and its files"


def test_where_the_history_cannot_be_read_nothing_is_shown(world: World) -> None:
    """The namespaces are those of the recorded tables."""

    def refuse(*_: Any) -> Any:
        raise EngineUnavailable("SPARK_UNAVAILABLE", "no engine")

    result = doctor(replace(world.target(), open_store=refuse), DoctorResult("shop", "default"), print_ddl=False)
    assert result.access == ()
