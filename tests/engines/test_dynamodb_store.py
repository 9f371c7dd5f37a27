"""The store in DynamoDB on the real DynamoDB Local: what throttling, lost answers, restored tables and edits by hand do to it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import (
    CommitConflict,
    ConfigurationError,
    OutcomeUnknown,
    StatementRefused,
)
from glacierbase.history.lockrow import HolderWatch, LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores.dynamodb import DynamoDbStore, open_store
from glacierbase.stores.dynamodb.definition import definition, policy
from glacierbase.stores.dynamodb.items import CATALOG, ENTRY
from tests.docs.pages import DOCS, blocks
from tests.engines.contract.test_store_contract import event
from tests.support.catalog_files import dynamodb_store
from tests.support.dynamodb import LOGIN_VARIABLES, ThrottlingProxy, client, throttling_proxy
from tests.support.program import ask_here, call_program, run_here
from tests.support.project_folder import ProjectFolder, only_catalog

# Plain DDL, which runs without Spark.
ENGINE = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///ROOT/catalog.db", warehouse: "file://ROOT/warehouse"}
"""
FREE = free_row(LockTerms("shop", "default", 60))
HELD = replace(FREE, owner="a", fence=1)
WRITES = ("PutItem", "TransactWriteItems")


@dataclass
class Shop:
    """A project with history and lock in DynamoDB, and the proxy in front of that.

    Attributes:
        requests: the operations that reached the proxy, in order.
        answer: replaces the answers of the server, as `ThrottlingProxy.answer` does.
    """

    project: ProjectFolder
    proxy: ThrottlingProxy
    requests: list[str] = field(default_factory=list)
    answer: Callable[[str, Any, Callable[[], Any]], tuple[int, Any] | None] = lambda *_: None

    @property
    def catalog(self) -> Catalog:
        return only_catalog(self.project.root)

    @property
    def store(self) -> DynamoDbStore:
        return open_store(self.catalog)

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items of the table, as the console shows them."""
        pages = client(self.proxy.address).get_paginator("scan").paginate(TableName=self.catalog.store.namespace)
        return sorted((item for page in pages for item in page["Items"]), key=lambda item: item[ENTRY]["S"])

    def configure(self, place: str = "lake", **options: str) -> None:
        """Write the catalog file, for a new table, with the catalog of the engine in a folder of the project."""
        engine = ENGINE.replace("ROOT", f"{self.project.root}/{place}")
        self.project.catalog(f"{engine}store: {dynamodb_store(self.proxy.address, **options)}\n")

    def put(self, item: dict[str, Any]) -> None:
        client(self.proxy.address).put_item(TableName=self.catalog.store.namespace, Item=item)

    def delete(self, item: dict[str, Any]) -> None:
        keys = {key: item[key] for key in (CATALOG, ENTRY)}
        client(self.proxy.address).delete_item(TableName=self.catalog.store.namespace, Key=keys)

    def files(self) -> None:
        """Write two files of plain DDL."""
        self.project.file("1_create.sql", "CREATE NAMESPACE lake.s;\nCREATE TABLE lake.s.t (a INT) USING iceberg;")
        self.project.file("2_alter.sql", "ALTER TABLE lake.s.t ADD COLUMN b INT;")

    def migrate(self) -> dict[str, Any]:
        """Migrate until the command succeeds, and return the last document."""
        for _ in range(4):
            done = ask_here(self.project, "migrate", "--lock-timeout", "60s")
            if done.code == 0:
                return done.document
        raise AssertionError(done.stdout)

    def check(self) -> None:
        """Check that each effect is there once: what ran, and its events without a gap."""
        assert self.migrate()["ok"]
        events = self.store.read_history()
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert [event.version for event in events if event.state == "applied"] == ["1", "2"]
        assert run_here(self.project, "pending").stdout.endswith("nothing is pending\n")


@pytest.fixture
def shop(dynamodb: str, project: ProjectFolder) -> Iterator[Shop]:
    """A project that reaches DynamoDB through a proxy."""
    with throttling_proxy(dynamodb) as proxy:
        made = Shop(project, proxy)

        def answer(target: str, document: Any, passed: Callable[[], object]) -> tuple[int, Any] | None:
            made.requests.append(target)
            return made.answer(target, document, passed)

        proxy.answer = answer
        made.configure()
        yield made


def refused(code: str, **more: Any) -> tuple[int, Any]:
    return 400, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **more}


def at_write(number: int, act: Callable[[Callable[[], Any]], tuple[int, Any] | None]) -> Any:
    """Return an answer that acts on the write of this number, from 1."""
    count = iter(range(1, 10_000))
    return lambda target, _, passed: act(passed) if target in WRITES and next(count) == number else None


def after(passed: Callable[[], object]) -> tuple[int, Any]:
    """Pass a request on, and lose the answer."""
    passed()
    return 0, None


def test_a_question_takes_two_requests_and_an_alter_eight(shop: Shop) -> None:
    """One more question where there is no history yet, and the creation of the table with the first run."""

    def requests(command: str) -> Counter[str]:
        shop.requests.clear()
        assert run_here(shop.project, command).code == 0
        return Counter(shop.requests)

    shop.files()
    assert requests("pending") == {"GetItem": 1, "Query": 1, "Scan": 1}
    requests("migrate")
    assert requests("pending") == requests("status") == {"GetItem": 1, "Query": 1}
    shop.project.file("3_more.sql", "ALTER TABLE lake.s.t ADD COLUMN c INT;")
    assert requests("migrate") == {"GetItem": 2, "Query": 2, "PutItem": 2, "TransactWriteItems": 2}


def test_the_table_is_protected_and_the_policy_has_what_the_commands_need(shop: Shop) -> None:
    """`doctor` makes and drops a table of its own before there is one, and items of its own afterwards."""
    shop.files()
    for _ in range(2):
        assert run_here(shop.project, "doctor").code == 0
        shop.migrate()
    made = client(shop.proxy.address)
    described = made.describe_table(TableName=shop.catalog.store.namespace)["Table"]
    assert described["DeletionProtectionEnabled"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [name for name in made.list_tables()["TableNames"] if name.startswith("doctor_")] == []
    assert {item[CATALOG]["S"] for item in shop.items} == {"shop"}
    of_table, of_scratch = policy(shop.catalog.store)["Statement"]
    used = {f"dynamodb:{'PutItem' if name in WRITES else name}" for name in shop.requests}
    assert used - {"dynamodb:ListTables"} == set(of_scratch["Action"])
    assert set(of_scratch["Action"]) - set(of_table["Action"]) == {"dynamodb:UpdateTable", "dynamodb:DeleteTable"}


@pytest.mark.parametrize("action", ["UpdateTable", "DeleteTable", "DeleteItem"])
def test_doctor_names_what_it_may_not_drop(action: str, shop: Shop) -> None:
    """A table that nobody knows of is protected against deletion, and its items stay with those of the catalogs."""
    if action == "DeleteItem":
        shop.store.create(FREE)
    shop.answer = lambda target, *_: refused("AccessDeniedException") if target == action else None
    done = run_here(shop.project, "doctor")
    assert done.code == 5
    assert re.search(r"what this check made as doctor_\w{8} in .* was not dropped: .*AccessDenied", done.stderr)
    assert "glacierbase doctor --print-ddl" in done.stderr


def test_doctor_drops_its_table_once_the_protection_is_off(shop: Shop) -> None:
    """A table that is being changed is not deleted: the service refuses it until the change is made."""
    states = iter(["UPDATING", "ACTIVE"])
    state = "ACTIVE"

    def answer(target: str, _: Any, passed: Callable[[], Any]) -> tuple[int, Any] | None:
        nonlocal state
        if target == "DeleteTable" and state == "UPDATING":
            return refused("ResourceInUseException")
        if target == "UpdateTable":
            state = next(states)
        elif target == "DescribeTable" and state == "UPDATING":
            status, content = passed()
            document = json.loads(content)
            document["Table"]["TableStatus"], state = state, next(states)
            return status, document
        return None

    shop.answer = answer
    done = run_here(shop.project, "doctor")
    assert done.code == 0, done.stderr
    assert shop.requests.count("DeleteTable") == 1
    assert next(states, None) is None


def test_a_role_that_may_not_create_the_table_reads_how_to(shop: Shop) -> None:
    """The printed definition makes a table in which that role migrates."""
    shop.files()
    shop.answer = lambda target, *_: refused("AccessDeniedException") if target == "CreateTable" else None
    done = run_here(shop.project, "migrate")
    assert done.code == 5
    assert "glacierbase doctor --print-ddl" in done.stderr
    printed = run_here(shop.project, "doctor", "--print-ddl").stdout
    given = json.loads(printed.partition("--cli-input-json '")[2].partition("'")[0])
    assert given == definition(shop.catalog.store.namespace)
    shop.answer = lambda *_: None
    client(shop.proxy.address).create_table(**given)
    shop.answer = lambda target, *_: refused("AccessDeniedException") if target == "CreateTable" else None
    shop.check()


def test_every_read_is_consistent(shop: Shop) -> None:
    """A replica that has received nothing answers each read that is not: the commands notice nothing of it."""

    def stale(target: str, document: Any, _: Any) -> tuple[int, Any] | None:
        if document.get("ConsistentRead") or target not in ("GetItem", "Query", "Scan"):
            return None
        return 200, {} if target == "GetItem" else {"Items": [], "Count": 0, "ScannedCount": 0}

    shop.answer = stale
    store, other = shop.store, open_store(replace(shop.catalog, name="other"))
    store.create(FREE)
    store.append([event(1)])
    assert (store.read_lock(), store.read_history()) == (FREE, (event(1),))
    assert other.read_other_histories() == {"shop": (event(1),)}


THROTTLES = {
    "throughput": refused("ProvisionedThroughputExceededException"),
    "account": refused("RequestLimitExceeded"),
    "transaction": refused("TransactionCanceledException", CancellationReasons=[{"Code": "ThrottlingError"}]),
    "conflict": refused("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]),
}


@pytest.mark.parametrize("kind", THROTTLES)
def test_throttled_requests_are_repeated_and_write_once(kind: str, shop: Shop) -> None:
    """Of three requests two are refused: a whole run ends as without it."""
    count = iter(range(10_000))
    shop.files()
    shop.answer = lambda *_: THROTTLES[kind] if next(count) % 3 else None
    assert shop.migrate()["ok"]
    shop.answer = lambda *_: None
    shop.check()


def test_a_table_that_only_throttles_ends_a_request_within_a_third_of_the_lease(shop: Shop) -> None:
    """The refusal proves that nothing was written, so that the caller may still hold the lock when it learns of it."""
    shop.configure(lockLease="6s")
    store = shop.store
    store.create(FREE)
    shop.answer = lambda *_: THROTTLES["throughput"]
    started = time.monotonic()
    with pytest.raises(StatementRefused, match="ProvisionedThroughputExceeded"):
        store.append([event(1)])
    assert time.monotonic() - started < 3
    shop.answer = lambda *_: None
    assert store.read_history() == ()


@pytest.mark.parametrize("is_written", [True, False], ids=["after", "before"])
def test_each_lost_answer_of_a_write_leaves_a_true_history(is_written: bool, shop: Shop) -> None:
    """A whole run for each of its writes, whose answer is lost after or before it took effect."""
    for number in range(1, 40):
        shop.configure(f"run{number}")
        shop.files()
        shop.requests.clear()
        shop.answer = at_write(number, after if is_written else lambda _: (0, None))
        done = run_here(shop.project, "migrate")
        writes = sum(target in WRITES for target in shop.requests)
        shop.answer = lambda *_: None
        assert done.code == 0, done.stderr
        shop.check()
        if writes < number:
            return
    raise AssertionError("the run has more writes than the test")


@pytest.mark.parametrize("is_received", [True, False], ids=["after", "before"])
def test_a_run_killed_at_each_request_leaves_what_the_next_run_completes(is_received: bool, shop: Shop) -> None:
    """A whole run for each of its requests, killed after or before the service received it. No person decides anything."""
    shop.files()
    for number in range(1, 60):
        shop.configure(f"run{number}", lockLease="5s")  # A statement in flight is settled a lease later.
        count = iter(range(1, 1000))
        runs: list[subprocess.Popen[str]] = []

        def kill(
            _target: str,
            _: Any,
            passed: Callable[[], object],
            number: int = number,
            count: Any = count,
            runs: Any = runs,
        ) -> tuple[int, Any] | None:
            if next(count) != number:
                return None
            if is_received:
                passed()
            runs[0].kill()
            return 0, None

        shop.answer = kill
        runs.append(shop.project.start("migrate"))
        runs[0].communicate()
        shop.answer = lambda *_: None
        if runs[0].returncode == 0:
            print(f"killed at each of {number - 1} requests")  # noqa: T201 (-rP)
            assert number > 15
            return
        shop.check()
    raise AssertionError("the run has more requests than the test")


def test_a_write_that_arrives_after_its_time_limit_counts_once(shop: Shop) -> None:
    """The service answers nothing for a while, and carries out the first append after the second attempt."""
    shop.configure(lockLease="3s")
    store = shop.store
    store.create(FREE)
    late: list[threading.Thread] = []

    def delay(target: str, _: Any, passed: Callable[[], object]) -> tuple[int, Any] | None:
        if target != "TransactWriteItems" or late:
            return None
        late.append(threading.Timer(2, lambda: passed()))
        late[0].start()
        time.sleep(1.5)
        return 0, None

    shop.answer = delay
    with pytest.raises(OutcomeUnknown):
        store.append([event(1)])
    assert store.read_history() == ()
    store.append([event(1), event(2)])
    late[0].join()
    store.append([event(1), event(2)])
    assert store.read_history() == (event(1), event(2))


def test_two_runs_with_one_fence_do_not_write_one_event(shop: Shop) -> None:
    """The second gets a conflict, and none of its events is there."""
    store = shop.store
    store.create(FREE)
    store.append([event(1)])
    with pytest.raises(CommitConflict):
        shop.store.append([replace(event(1), run_id="other"), replace(event(2), run_id="other")])
    assert store.read_history() == (event(1),)


LARGE = {
    "text": [event(1), event(2, rendered_sql="ü€𝄞x" * 150_000, details='{"a": [1]}'), event(3)],
    "many-texts": [event(number, rendered_sql="é" * 190_000, error_message="x" * 200_000) for number in range(1, 16)],
    "events": [event(number) for number in range(1, 351)],
}


@pytest.mark.parametrize("events", LARGE.values(), ids=LARGE.keys())
def test_large_events_and_many_come_back_whole(events: list[Event], shop: Shop) -> None:
    """The events exceed an item of 400 KB, a page of 1 MB, a transaction of 4 MB, and one of 100 items."""
    store = shop.store
    store.create(FREE)
    store.append(events)
    store.append(events)  # As after a lost answer.
    assert store.read_history() == tuple(events)
    assert open_store(replace(shop.catalog, name="other")).read_other_histories() == {"shop": tuple(events)}


@pytest.mark.parametrize("name", ["many-texts", "events"])
def test_an_append_of_several_transactions_is_there_whole_or_not_at_all(name: str, shop: Shop) -> None:
    """A run that dies between two of them leaves items that no reader counts; a second attempt completes them."""
    store, events = shop.store, LARGE[name]
    store.create(FREE)
    count = iter(range(100))
    shop.answer = lambda target, *_: (0, None) if target == "TransactWriteItems" and next(count) else None
    with pytest.raises(OutcomeUnknown):
        store.append(events)
    shop.answer = lambda *_: None
    assert len(shop.items) > 1
    assert store.read_history() == ()
    later = replace(event(1), fence=2, run_id="later")
    store.append([later])
    assert store.read_history() == (later,)
    store.append(events)
    assert store.read_history() == (*events, later)


def test_a_repeated_append_with_more_events_shows_none_before_all(shop: Shop) -> None:
    """What the first attempt wrote ends before the last event of the second: no reader counts a part of it."""
    store, events = shop.store, [event(number) for number in range(1, 351)]
    store.create(FREE)
    count = iter(range(100))
    shop.answer = lambda target, *_: (0, None) if target == "TransactWriteItems" and next(count) else None
    with pytest.raises(OutcomeUnknown):
        store.append(events[:150])
    seen = []

    def read_after(target: str, _: Any, passed: Callable[[], Any]) -> tuple[int, Any] | None:
        if target != "TransactWriteItems":
            return None
        status, content = passed()
        seen.append(len(store.read_history()))
        return status, json.loads(content)

    shop.answer = read_after
    store.append(events)
    assert set(seen) == {0, 350}
    assert store.read_history() == tuple(events)


@pytest.mark.parametrize("absent", [1, 2, 3, 4])
def test_a_transaction_that_a_query_returns_in_part_is_read_again(absent: int, shop: Shop) -> None:
    """DynamoDB isolates a transaction from a read of one item, not from a query: no item of it was deleted."""
    store, events = shop.store, [event(1), event(2, rendered_sql="x" * 500_000), event(3), event(4)]
    store.create(FREE)
    store.append(events)
    queries = iter(range(10))

    def answer(target: str, _: Any, passed: Callable[[], Any]) -> tuple[int, Any] | None:
        if target != "Query" or next(queries):
            return None
        status, content = passed()
        document = json.loads(content)
        del document["Items"][absent]  # The first one names the table.
        return status, document

    shop.answer = answer
    assert store.read_history() == tuple(events)


DAMAGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a text in place of a number": lambda item: {**item, "fence": {"S": "7"}},
    "no owner": lambda item: {key: value for key, value in item.items() if key != "owner"},
    "a fraction": lambda item: {**item, "beat": {"N": "0.5"}},
    "a list": lambda item: {**item, "owner": {"L": []}},
    "empty": lambda item: {key: item[key] for key in (CATALOG, ENTRY)},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_lock_that_was_edited_is_damaged_until_it_is_rebuilt(damage: str, shop: Shop) -> None:
    """No run acquires it; `unlock --rebuild` does, whatever the types of its values are."""
    shop.files()
    shop.migrate()
    [lock] = [item for item in shop.items if item[ENTRY]["S"] == "lock"]
    shop.put(DAMAGES[damage](lock))
    shop.project.file("3_more.sql", "ALTER TABLE lake.s.t ADD COLUMN c INT;")
    done = ask_here(shop.project, "migrate")
    assert (done.code, done.entry()["error"]["code"]) == (6, "LOCK_DAMAGED")
    assert run_here(shop.project, "unlock", "--rebuild", "--reason", "edited", "--yes").code == 0
    assert shop.migrate()["catalogs"][0]["applied"]


EDITS: dict[str, tuple[str, Callable[[Shop, list[dict[str, Any]]], object]]] = {
    "the last event deleted": ("HISTORY_LOST", lambda shop, events: shop.delete(events[-1])),
    "an event deleted": ("HISTORY_DAMAGED", lambda shop, events: shop.delete(events[1])),
    "a number as text": (
        "HISTORY_DAMAGED", lambda shop, events: shop.put({**events[1], "statement_index": {"S": "1"}})
    ),
    "a time that is none": (
        "HISTORY_DAMAGED", lambda shop, events: shop.put({**events[1], "recorded_at": {"S": "noon"}})
    ),
    "a part deleted": ("HISTORY_DAMAGED", lambda shop, events: shop.delete(events[-1])),
    "a first part deleted": ("HISTORY_DAMAGED", lambda shop, events: shop.delete(events[-2])),
    "the event's name removed": (
        "HISTORY_DAMAGED",
        lambda shop, events: shop.put({key: value for key, value in events[1].items() if key != "event"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_history_that_was_edited_is_refused(edit: str, shop: Shop) -> None:
    """No file runs a second time because an event is missing or says something else."""
    shop.files()
    shop.migrate()
    if "part" in edit:
        last = shop.store.read_history()[-1]
        long = replace(last, sequence=last.sequence + 1, run_id="b", version="9", rendered_sql="x" * 500_000)
        shop.store.append([long])
    code, change = EDITS[edit]
    change(shop, [item for item in shop.items if item[ENTRY]["S"].startswith("event ")])
    for command in ("migrate", "status"):
        done = ask_here(shop.project, command)
        assert done.code == 6
        assert done.entry()["error"]["code"] == code


def test_an_unknown_attribute_changes_nothing(shop: Shop) -> None:
    """Somebody tags the items."""
    shop.files()
    shop.migrate()
    for item in shop.items:
        shop.put({**item, "owned_by": {"S": "data platform"}, "ttl": {"N": "0"}})
    shop.check()


def restored(shop: Shop, items: list[dict[str, Any]]) -> None:
    """Point the catalog file at a new table with these items, as a restore to a point in time makes one."""
    shop.configure()
    made = client(shop.proxy.address)
    made.create_table(**definition(shop.catalog.store.namespace))
    for item in items:
        shop.put(item)


def test_a_restored_table_is_named_until_it_is_accepted(shop: Shop) -> None:
    """The lock names the table in which it was made. Both went back together, so that no gap shows it."""
    shop.files()
    shop.migrate()
    table, earlier = shop.catalog.store.namespace, shop.items
    shop.project.file("3_more.sql", "ALTER TABLE lake.s.t ADD COLUMN c INT;")
    shop.migrate()
    restored(shop, earlier)
    for command in ("pending", "status"):
        done = run_here(shop.project, command)
        assert f"the DynamoDB table {table}" in done.stdout
    accept = ("repair", "--environment-was", "default", "--reason", "the table is the restored one", "--yes")
    assert run_here(shop.project, *accept).code == 0
    assert "the DynamoDB table" not in run_here(shop.project, "pending").stdout


def test_a_lock_restored_alone_gets_a_fence_above_the_history(shop: Shop) -> None:
    """An older lock is overtaken; a run that still holds it by its former fence loses it."""
    shop.files()
    shop.migrate()
    [old] = [item for item in shop.items if item[ENTRY]["S"] == "lock"]
    shop.project.file("3_more.sql", "ALTER TABLE lake.s.t ADD COLUMN c INT;")
    shop.migrate()
    shop.put({**old, "fence": {"N": "0"}})
    shop.project.file("4_more.sql", "ALTER TABLE lake.s.t ADD COLUMN d INT;")
    done = run_here(shop.project, "migrate")
    assert done.code == 0
    assert "is older than its history" in done.stdout
    fences = [event.fence for event in shop.store.read_history()]
    assert fences == sorted(fences)
    assert fences[-1] > 1000


def test_a_service_that_stops_answering_under_the_lock_stops_the_run(shop: Shop) -> None:
    """After the announcement of a statement nothing answers: the statement does not run, and a later run continues."""
    shop.configure(lockLease="3s")
    shop.files()
    count = iter(range(100))
    is_down = threading.Event()

    def answer(target: str, _: Any, passed: Callable[[], Any]) -> tuple[int, Any] | None:
        if is_down.is_set():
            return 0, None
        if target == "TransactWriteItems" and next(count) == 1:  # The first one names the table.
            is_down.set()
            status, content = passed()
            return status, json.loads(content)
        return None

    shop.answer = answer
    done = ask_here(shop.project, "migrate")
    assert (done.code, done.entry()["error"]["code"]) == (4, "LOCK_LOST")
    assert not (shop.project.root / "lake/warehouse").exists()
    shop.answer = lambda *_: None
    assert ask_here(shop.project, "migrate", "--lock-timeout", "60s").code == 6
    settled = ("repair", "1", "--as", "not-done", "--reason", "the service was down", "--engine-stopped", "--yes")
    assert run_here(shop.project, *settled).code == 0
    shop.check()


def test_a_lease_is_over_by_the_time_of_the_service(shop: Shop) -> None:
    """A holder on another machine, whose clock is not known, is dead two leases later, not ten minutes later."""
    store = shop.store
    assert not store.has_clock
    store.create(FREE)
    store.read_lock()
    assert store.has_clock
    assert abs((store.now() - datetime.now(timezone.utc)).total_seconds()) < 5
    expired = store.now() - timedelta(seconds=61)
    held = replace(HELD, acquired_at=expired, expires_at=expired, holder='{"host": "elsewhere", "lease_seconds": 60}')
    assert store.compare_and_set(FREE, held)
    row = store.read_lock()
    assert row
    assert HolderWatch(60, store).is_dead(row)


REFUSALS: dict[str, tuple[Any, int, str]] = {
    "login": (refused("UnrecognizedClientException"), 5, "aws sts get-caller-identity"),
    "expired": (refused("ExpiredTokenException"), 5, "aws sts get-caller-identity"),
    "right": (refused("AccessDeniedException"), 5, "doctor --print-ddl"),
    "keys": (refused("ValidationException"), 5, "doctor --print-ddl"),
    "fault": ((500, {"__type": "InternalServerError", "message": "no"}), 5, "glacierbase doctor"),
    "another server": ((404, "<html>"), 5, "store.endpoint"),
    "no JSON": ((200, []), 5, "store.endpoint"),
    "nothing": ((200, {}), 5, "store.endpoint"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_an_error_of_the_service_is_one_of_glacierbase(kind: str, shop: Shop) -> None:
    """Exit code 5, with the next step."""
    answer, code, hint = REFUSALS[kind]
    shop.answer = lambda *_: answer
    done = run_here(shop.project, "pending")
    assert done.code == code
    assert "error: STORE_UNAVAILABLE" in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_login_that_expired_is_named(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token of `aws sso login` is over: no request is sent, and the hint is about the login."""
    config = tmp_path / "config"
    config.write_text(
        "[default]\nsso_session = s\nsso_account_id = 1\nsso_role_name = migrator\n"
        "[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://localhost/start\n"
    )
    token = tmp_path / ".aws/sso/cache" / f"{hashlib.sha1(b's').hexdigest()}.json"
    token.parent.mkdir(parents=True)
    token.write_text('{"accessToken": "canary", "expiresAt": "2020-01-01T00:00:00Z"}')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    for name in LOGIN_VARIABLES:
        monkeypatch.delenv(name)
    run = shop.project.start("pending")
    _, errors = run.communicate()
    assert run.returncode == 5
    assert "Token has expired" in errors
    assert "aws sts get-caller-identity" in errors
    assert shop.requests == []


def test_a_table_with_other_keys_or_replicas_is_refused(shop: Shop) -> None:
    """Nothing is written there."""
    made = client(shop.proxy.address)
    given = definition(shop.catalog.store.namespace)
    made.create_table(
        **{**given, "KeySchema": given["KeySchema"][:1], "AttributeDefinitions": given["AttributeDefinitions"][:1]}
    )
    with pytest.raises(ConfigurationError, match="has other keys"):
        shop.store.create(FREE)
    shop.configure()
    shop.store.create(FREE)

    def with_replica(target: str, _: Any, passed: Callable[[], Any]) -> tuple[int, Any] | None:
        if target != "DescribeTable":
            return None
        status, content = passed()
        document = json.loads(content)
        document["Table"]["Replicas"] = [{"RegionName": "eu-west-1"}]
        return status, document

    shop.answer = with_replica
    with pytest.raises(ConfigurationError, match="replicas"):
        shop.store.create(FREE)


def test_the_commands_of_the_guide_run(dynamodb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in the project that they make; the client of AWS reads the address of the server from the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynamodb)
    monkeypatch.chdir(tmp_path)
    ran = []
    for block in blocks(DOCS / "guides" / "dynamodb-store.md", "sh"):
        for line in block.text.splitlines():
            program, *words = shlex.split(line)
            if program == "export":
                monkeypatch.setenv(*words[0].split("=", 1))
            elif program == "cd":
                monkeypatch.chdir(words[0])
            elif program == "glacierbase":
                done = call_program(words)
                assert done.code == 0, done.stderr
                ran.append(words[0])
    assert ran == ["init", "doctor", "migrate", "pending", "doctor", "repair", "doctor"]
    assert "glacierbase_dev" in call_program(["doctor", "--print-ddl"]).stdout
