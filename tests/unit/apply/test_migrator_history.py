"""Histories that `migrate` refuses, warns about, or reads past."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.errors import (
    ConfigurationError,
    HistoryDisagrees,
    NeedsRepair,
)
from glacierbase.history.lockrow import LockTerms, free_row
from tests.support.world import World


def test_another_environments_history_is_refused(world: World) -> None:
    """A run of `dev` does not start on the history of `prod`."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.environment = "prod"
    world.migrate()
    world.environment = "dev"
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrate()
    assert caught.value.code == "ENVIRONMENT_MISMATCH"


def test_a_renamed_catalog_is_recognised_by_its_files(world: World) -> None:
    """The new name has no history, and the old name has applied all files."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    (world.project.root / "migrations/shop").rename(world.project.root / "migrations/store")
    (world.project.root / "catalogs/shop.yaml").unlink()
    with pytest.raises(HistoryDisagrees) as caught:
        world.migrator("store").migrate(Selection(), Progress())
    assert caught.value.code == "CATALOG_RENAMED"
    assert "name: shop" in caught.value.hint


def test_a_lost_history_is_noticed_by_the_lock(world: World) -> None:
    """The lock row holds the last event that was acknowledged."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    for kept in (0, 1):
        del world.events[kept:]
        with pytest.raises(NeedsRepair) as caught:
            world.migrate()
        assert caught.value.code == "HISTORY_LOST"
        assert world.values() == []


def test_a_history_with_a_hole_is_refused(world: World) -> None:
    """A version whose events are missing would run again."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    del world.events[0]
    with pytest.raises(NeedsRepair) as caught:
        world.migrate()
    assert caught.value.code == "HISTORY_DAMAGED"


def test_a_lost_or_restored_lock_is_a_warning_and_the_fence_goes_on(world: World) -> None:
    """A fence is never given out twice, nor one below that of a run which acquired the lock and has recorded nothing yet."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    del world.tables.locks["shop"]
    assert "is gone" in world.migrate().warnings[0]
    assert world.events[-1].fence == 1002
    world.file("3_c.sql", "INSERT INTO t VALUES (2)")
    world.tables.locks["shop"] = free_row(LockTerms("shop", "default", 60))
    assert "restored" in world.migrate().warnings[0]
    assert world.events[-1].fence == 2003


def test_an_event_of_a_run_that_had_lost_the_lock_is_shown_and_ignored(world: World) -> None:
    """The statement that the event announces never ran, so the file is not unknown."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "INSERT INTO t VALUES (1)")
    world.migrate(Selection(to="1"))
    world.tables.locks["shop"] = replace(world.tables.locks["shop"], fence=2)
    late = replace(world.events[0], fence=1, sequence=3, version="2", run_id="late")
    world.migrate()
    world.events.append(late)
    state = world.state
    assert late in state.history.events
    assert state.history.records[2].state == "applied"
    assert world.migrate().applied == []


def test_a_history_of_a_newer_format_is_refused_by_name(world: World) -> None:
    """A newer format may mean what this version does not support; an older format is read."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    row = world.tables.locks["shop"]
    world.tables.locks["shop"] = replace(row, format_version=2)
    with pytest.raises(ConfigurationError) as caught:
        world.migrate()
    assert caught.value.code == "FORMAT_TOO_NEW"
    assert "upgrade" in caught.value.hint
    world.tables.locks["shop"] = replace(row, format_version=0)
    assert world.migrate().applied == []
