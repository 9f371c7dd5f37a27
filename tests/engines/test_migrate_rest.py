"""Migrations on a REST catalog: Spark and PyIceberg over HTTP, and responses that are lost."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from glacierbase.errors import CommitConflict, OutcomeUnknown
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.migration import Event
from glacierbase.stores.iceberg import IcebergStore, open_store, writes
from tests.support.beds import WebBed
from tests.support.catalog_files import ADD_EVENT, WEB_TOKEN
from tests.support.catalogserver import check_it_migrates, check_refused, check_spark_tells_it, describe
from tests.support.project_folder import ProjectFolder

FREE = free_row(LockTerms("contract", "default", 60))


@pytest.fixture
def namespace() -> str:
    """A new namespace."""
    return f"g{uuid.uuid4().hex[:8]}"


@pytest.fixture
def store(web: WebBed, namespace: str) -> IcebergStore:
    """A store whose tables exist."""
    store = open_store(replace(web.catalog, store=replace(web.catalog.store, namespace=namespace)))
    store.create(FREE)
    return store


def test_a_migration_runs_and_is_recorded_there(web: WebBed, namespace: str, project: ProjectFolder) -> None:
    """Spark and PyIceberg use the same address and token, and read the same history."""
    describe(web, namespace, project)
    check_it_migrates(web, namespace, project, WEB_TOKEN)
    web.server.requests.clear()
    assert project.ask("pending").entry()["pending"] == []
    tables = f"GET /v1/namespaces/{namespace}/tables"
    assert web.server.requests == ["GET /v1/config", f"{tables}/lock_shop", f"{tables}/history_shop"]
    check_spark_tells_it(web, namespace, project)


def test_the_catalog_file_of_init_works_with_its_variables(web: WebBed, project: ProjectFolder) -> None:
    """Spark and PyIceberg log in with the credential: one makes the table of the sample migration, the other writes its row."""
    assert project.run("init", "--type", "rest", "web").code == 0
    project.file("0002_add_event.sql", ADD_EVENT, "web")
    address = web.catalog.spark_conf["spark.sql.catalog.lake.uri"]
    environ = {"CATALOG_URI": address, "CATALOG_WAREHOUSE": "lake", "CATALOG_CREDENTIAL": f"migrator:{WEB_TOKEN}"}
    web.server.requests.clear()
    done = project.run("migrate", environ=environ)
    assert done.code == 0, done.stderr
    assert WEB_TOKEN not in done.stdout + done.stderr
    assert web.server.requests.count("POST /v1/oauth/tokens") >= 2
    assert web.rows("SELECT id, user_id, kind FROM lake.web.events") == [(1, 2, "a")]
    migrations = project.ask("status", environ=environ).entry()["migrations"]
    assert [(migration["state"], migration["engine"].split()[0]) for migration in migrations] == [
        ("applied", "pyiceberg"),
        ("applied", "spark"),
    ]
    refused = project.ask("status", environ={**environ, "CATALOG_CREDENTIAL": "migrator:canary-of-another"})
    assert refused.code == 5
    assert "canary" not in refused.stdout + refused.stderr


def test_a_token_that_is_not_known_is_one_clear_message(
    web: WebBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Spark is started before the refusal."""
    monkeypatch.setenv("WEB_TOKEN", "canary-of-another")
    check_refused(web, project, "NotAuthorizedException: the token is not one of ours")


def test_a_lost_answer_of_an_append_proves_nothing(web: WebBed, namespace: str, store: IcebergStore) -> None:
    """The outcome is unknown to the writer, and the event is in the history."""
    web.server.loses.append(f"POST /v1/namespaces/{namespace}/tables/history_contract")
    event = Event(1, 1, "run", "contract", "default", "started")
    with pytest.raises(OutcomeUnknown):
        store.append([event])
    assert web.server.loses == []
    assert store.read_history() == (event,)


def test_a_lost_answer_of_the_lock_is_settled_by_looking(web: WebBed, namespace: str, store: IcebergStore) -> None:
    """The store reads the row to find the lock holder."""
    web.server.loses.append(f"POST /v1/namespaces/{namespace}/tables/lock_contract")
    mine = replace(FREE, owner="a", fence=1)
    assert store.compare_and_set(FREE, mine)
    assert web.server.loses == []
    assert store.read_lock() == mine


def test_of_two_compactions_at_once_the_second_is_refused_as_such(store: IcebergStore) -> None:
    """The server refuses it because the snapshots are gone, not because of a newer commit."""
    mine = replace(FREE, owner="a", fence=1)
    assert store.compare_and_set(FREE, mine)
    assert store.compare_and_set(mine, replace(mine, beat=1))
    before = store._load(store._lock)
    store.compact()
    with pytest.raises(CommitConflict):
        writes.compact(before, store._origin(store._lock))
