"""A REST catalog behind a proxy: tokens that expire, headers, vended credentials, refusals, and bursts of errors."""

from __future__ import annotations

import base64
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glacierbase.apply.lock import Lock
from glacierbase.errors import LockLost, OutcomeUnknown, StatementRefused
from glacierbase.executors.engine import Engine
from glacierbase.executors.pyiceberg import rest
from glacierbase.executors.pyiceberg.file_access import TableFiles
from glacierbase.history.entries import environment_accepted
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.history.recorder import Recorder
from glacierbase.history.records import fold
from glacierbase.model.migration import Event
from glacierbase.run.run import Run
from glacierbase.stores import tables
from glacierbase.stores.bounded import BoundedStore
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.support.checkingproxy import CUT, RESET, TOKENS, CheckingProxy, Fault, checking_proxy
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.pythoncatalog import PythonCatalog

TERMS = LockTerms("shop", "default", 60)
FREE = free_row(TERMS)
CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: ADDRESS
      spark.sql.catalog.lake.credential: ${secret:MIGRATOR_LOGIN}
"""
LOCK, HISTORY = "tables/lock_shop$", "tables/history_shop$"
CREATED = "POST /v1/namespaces/glacierbase/tables$"


def event(sequence: int) -> Event:
    return Event(1, sequence, "run", "shop", "default", "started")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckingProxy]:
    """One server for the module; the tables and their namespace are dropped after each test."""
    with checking_proxy(PythonCatalog(tmp_path_factory.mktemp("catalog")).answer) as proxy:
        yield proxy


@pytest.fixture
def proxy(server: CheckingProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[CheckingProxy]:
    """The server without faults; waits of a client are short."""
    monkeypatch.setattr(rest, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(tables, "_PAUSE_SECONDS", 0.001)
    yield server
    for name, value in vars(CheckingProxy(server.answer, address=server.address)).items():
        setattr(server, name, value)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the client so far, which take no time."""
    waits: list[float] = []
    now = time.monotonic
    monkeypatch.setattr(rest, "time", SimpleNamespace(monotonic=lambda: now() + sum(waits), sleep=waits.append))
    return waits


@pytest.fixture
def shop(proxy: CheckingProxy, project: ProjectFolder) -> ProjectFolder:
    """A project with the catalog `shop` on the server."""
    project.catalog(CATALOG.replace("ADDRESS", proxy.address))
    project.file("1_a.sql", "SELECT 1")
    return project


@pytest.fixture
def opened(shop: ProjectFolder, proxy: CheckingProxy) -> Iterator[Callable[[], IcebergStore]]:
    """Opens stores of that catalog; they share one login, and are closed at the end."""
    catalog = only_catalog(shop.root)
    with ExitStack() as stores:
        yield lambda: stores.enter_context(closing(open_store(catalog)))
    proxy.faults, proxy.headers, proxy.vends = [], {}, dict
    with closing(open_store(catalog)) as store:
        store.drop(namespace=True)


@pytest.fixture
def store(opened: Callable[[], IcebergStore], proxy: CheckingProxy) -> IcebergStore:
    """A store whose tables exist, and whose requests are counted from now on."""
    store = opened()
    store.create(FREE)
    proxy.log.clear()
    return store


@pytest.mark.parametrize(
    ("status", "count"), [(429, 1), (429, 5), (502, 2), (503, 1), (503, 5), (504, 2), (RESET, 1), (RESET, 3)]
)
def test_a_burst_of_errors_delays_every_operation_and_ends_none(
    status: int, count: int, opened: Callable[[], IcebergStore], proxy: CheckingProxy
) -> None:
    """Tokens, loads, creations and commits are answered so, none of them executed."""
    busy = (TOKENS, f"GET .*{LOCK}", CREATED, f"POST .*{LOCK}")
    proxy.faults = [Fault(request, [status] * count, retry_after="0") for request in busy]
    store = opened()
    assert store.read_lock() is None
    store.create(FREE)
    assert store.compare_and_set(FREE, replace(FREE, owner="a", fence=1))
    assert [fault.statuses for fault in proxy.faults] == [[]] * len(busy)
    assert store.lock_rows() == (replace(FREE, owner="a", fence=1),)


@pytest.mark.parametrize("status", [500, 502, 503, 504, RESET, CUT])
def test_a_change_that_took_effect_despite_its_answer_is_not_made_again(
    status: int, opened: Callable[[], IcebergStore], proxy: CheckingProxy
) -> None:
    """After an answer that proves nothing, the store reads what is there."""
    changes = (CREATED, f"POST .*{LOCK}")
    proxy.faults = [Fault(change, [status] * 2, is_after=True) for change in changes]
    store, mine = opened(), replace(FREE, owner="a", fence=1)
    store.create(FREE)  # Two tables, and a row.
    assert store.compare_and_set(FREE, mine)
    assert [proxy.statuses(change) for change in changes] == [[status] * 2] * 2
    assert store.lock_rows() == (mine,)


@pytest.mark.parametrize("status", [503, RESET, CUT])
def test_an_append_without_a_clear_answer_is_left_to_the_caller(
    status: int, store: IcebergStore, proxy: CheckingProxy
) -> None:
    """The store sends an append once. The recorder looks the event up before it repeats the append."""
    proxy.faults = [Fault(f"POST .*{HISTORY}", [status], is_after=True)]
    with pytest.raises(OutcomeUnknown):
        store.append([event(1)])
    assert proxy.statuses(f"POST .*{HISTORY}") == [status]
    assert store.read_history() == (event(1),)


@pytest.mark.parametrize("status", [RESET, CUT])
def test_a_read_whose_answer_is_lost_is_repeated_some_times(
    status: int, store: IcebergStore, proxy: CheckingProxy, waits: list[float]
) -> None:
    """A holder that could not prove its lock would stop."""
    lock = Lock(store, TERMS, Run.here(Path()), {})
    lock.acquire(None, 0, 0, lambda: False)
    proxy.faults = [Fault(f"GET .*{LOCK}", [status] * 3, is_after=True)]
    lock.prove()
    assert waits == list(rest._RESET_PAUSES_SECONDS)
    proxy.faults = [Fault(f"GET .*{LOCK}", [status] * 4, is_after=True)]
    with pytest.raises(LockLost):
        lock.prove()


def test_a_server_that_cannot_be_reached_is_an_error_at_once(project: ProjectFolder, waits: list[float]) -> None:
    """The address is wrong, or no server is running there."""
    project.catalog(CATALOG.replace("ADDRESS", "http://127.0.0.1:1"))
    with pytest.raises(OutcomeUnknown, match="refused"):
        open_store(only_catalog(project.root)).read_lock()
    assert waits == []


def test_the_wait_that_the_server_requests_is_kept(
    store: IcebergStore, proxy: CheckingProxy, waits: list[float]
) -> None:
    """The store waits before it repeats a read, and before it reads whether a change took effect."""
    proxy.faults = [Fault(f"GET .*{LOCK}", [429], retry_after="1"), Fault(f"POST .*{LOCK}", [503], retry_after="1")]
    assert store.read_lock() == FREE
    assert waits == [1]
    assert store.compare_and_set(FREE, replace(FREE, owner="a", fence=1))
    assert waits == [1, 1]


@pytest.mark.parametrize(
    ("retry_after", "lease", "limit"), [("3600", "60s", 0), ("2", "60s", 20), ("2", "15s", 5), ("2", "24h", 20)]
)
def test_a_server_that_stays_busy_is_an_error_after_a_bounded_wait(
    retry_after: str, lease: str, limit: float, shop: ProjectFolder, proxy: CheckingProxy, waits: list[float]
) -> None:
    """The command ends with exit 5, after 20 s or a third of the lease; a longer wait than the rest is not begun."""
    shop.catalog(CATALOG.replace("ADDRESS", proxy.address) + f"store: {{lockLease: {lease}}}\n")
    proxy.faults = [Fault("GET .*tables/", [503] * 100, retry_after=retry_after)]
    done = ask_here(shop, "pending")
    error = done.document["error"]
    # A wait of 2 s that would end at the limit is not begun, because the requests take time.
    assert limit - 4 <= sum(waits) <= limit
    assert (done.code, error["code"], error["hint"]) == (5, "STORE_UNAVAILABLE", "run it again later")
    assert "catalog shop: " in error["message"]
    assert "HTTP 503: the server accepts no more requests for now: SlowDownException: not now" in error["message"]


def test_tokens_that_expire_are_replaced_while_the_lock_is_held(
    opened: Callable[[], IcebergStore], proxy: CheckingProxy
) -> None:
    """The heartbeat and the run share a token, which either replaces by itself, also while the token server is busy."""
    store = opened()
    store.create(FREE)
    lock = Lock(store, replace(TERMS, lease_seconds=0.3), Run.here(Path()), {})
    lock.acquire(None, 0, 0, lambda: False)
    lock.start_heartbeat(opened)
    proxy.log.clear()
    for number in range(1, 5):
        time.sleep(0.15)
        proxy.expire_tokens()
        proxy.faults = [Fault(TOKENS, [500, 503])]
        lock.renew_if_expired()
        store.append([event(number)])
        lock.prove()
    lock.finish()
    assert proxy.statuses(TOKENS).count(200) >= 4
    # 409: where the lease has expired, the run renews it itself, perhaps at the same time as the heartbeat.
    assert {status for request, status in proxy.log if request != TOKENS} - {409} == {200, 401}
    assert len(store.read_history()) == 4
    assert lock._heartbeat.is_stopped


def test_after_an_append_that_had_to_wait_the_lock_is_proven(
    opened: Callable[[], IcebergStore], store: IcebergStore, proxy: CheckingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run takes the lock while the server lets the holder wait. The holder runs no statement after it."""
    lock, taker = (Lock(store_, TERMS, Run.here(Path()), {}) for store_ in (store, opened()))
    lock.acquire(None, 0, 0, lambda: False)
    taken: list[bool] = []
    waiting = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: taken.append(taker.seize(lock.row, 0)))
    monkeypatch.setattr(rest, "time", waiting)
    proxy.faults = [Fault(f"GET .*{HISTORY}", [503])]
    store.append([event(1)])
    assert taken == [True]
    with pytest.raises(LockLost):
        lock.prove()


def test_vended_credentials_that_expired_are_replaced_and_no_event_is_doubled(
    opened: Callable[[], IcebergStore], store: IcebergStore, proxy: CheckingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of the last append has those of its load. The recorder reads the history, and repeats the append."""
    numbers, valid, refused = map(str, itertools.count()), [""], []

    def vend() -> dict[str, str]:
        valid.append(next(numbers))
        return {"s3.session-token": valid[-1]}

    def write(files: TableFiles, location: str, write: Any = TableFiles.new_output) -> Any:
        if (token := files.properties.get("s3.session-token", "")) not in valid:
            refused.append(token)
            raise OSError("AWS Error UNKNOWN (HTTP status 400) during PutObject operation: ExpiredToken")
        return write(files, location)

    monkeypatch.setattr(TableFiles, "new_output", write)
    proxy.vends = vend
    lock = Lock(store, TERMS, Run.here(Path()), {})
    lock.acquire(None, 0, 0, lambda: False)
    engine = Engine(lambda: pytest.fail("the engine was started"))
    with closing(BoundedStore(opened)) as bounded:
        recorder = Recorder(bounded, lock, Run.here(Path()), engine, fold(()))
        for number in range(3):
            recorder.append(environment_accepted("a", f"event {number}"))
            valid[1:] = []
    assert len(refused) == 2
    assert [event.reason for event in store.read_history()] == ["event 0", "event 1", "event 2"]


def test_a_credential_that_is_refused_is_named(store: IcebergStore, shop: ProjectFolder, proxy: CheckingProxy) -> None:
    """The message has the catalog, the address of the tokens, and the key, at the start and when a token is replaced."""
    what = f"{proxy.address}/v1/oauth/tokens: HTTP 401: it does not accept the credential"
    proxy.faults = [Fault(f"GET .*{LOCK}", [401]), Fault(TOKENS, [401])]
    with pytest.raises(StatementRefused, match=re.escape(what)):
        store.read_lock()
    store.close()
    proxy.faults = [Fault(TOKENS, [401])]
    done = ask_here(shop, "pending")
    error = done.document["error"]
    assert (done.code, error["code"]) == (5, "STORE_UNAVAILABLE")
    assert f"catalog shop: history and lock in lake.glacierbase cannot be used: {what}" in error["message"]
    assert "canary" not in done.stdout


def test_no_part_of_a_secret_with_colons_is_in_a_message(
    shop: ProjectFolder, proxy: CheckingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything after the first colon of a credential is the secret."""
    monkeypatch.setenv("OTHER_LOGIN", "migrator:canary:of:colons")
    shop.catalog(CATALOG.replace("ADDRESS", proxy.address).replace("MIGRATOR_LOGIN", "OTHER_LOGIN"))
    proxy.faults = [Fault("", [403])]
    message = ask_here(shop, "pending").document["error"]["message"]
    assert "the principal migrator may not" in message
    assert "canary" not in message


JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, {"sub": "ann"})
)
REFUSED = [
    ("GET", "read the table glacierbase.lock_shop", f"GET .*{LOCK}"),
    ("POST", "change the table glacierbase.lock_shop", f"POST .*{LOCK}"),
    ("POST", "create a table in glacierbase", CREATED),
    ("POST", "create a namespace", "POST /v1/namespaces$"),
    ("GET", "read the configuration of the catalog", "GET /v1/config"),
]


@pytest.mark.parametrize(("method", "right", "request_"), REFUSED)
def test_a_refused_right_is_named_with_catalog_and_principal(
    method: str,
    right: str,
    request_: str,
    shop: ProjectFolder,
    opened: Callable[[], IcebergStore],
    proxy: CheckingProxy,
) -> None:
    """Exit 5. Nothing is lost: without the refusal, the same command goes on."""
    proxy.faults = [Fault(request_, [403] * 20)]
    command = ("baseline", "--to", "1", "--reason", "a test", "--yes")
    done = ask_here(shop, *command)
    error = done.document["error"]
    assert (done.code, error["code"]) == (5, "STORE_UNAVAILABLE")
    assert "catalog shop: history and lock in lake.glacierbase cannot be used: " in error["message"]
    assert f"HTTP 403: the principal migrator may not {right}: ForbiddenException: not now" in error["message"]
    assert "grant the right" in error["hint"]
    assert "canary" not in done.stdout
    proxy.faults = []
    again = ask_here(shop, *command)
    assert again.code == 0, again.document["error"]["message"]
    [row] = opened().lock_rows() or ()
    assert (row.owner, row.head_sequence) == ("", 1)


def test_the_principal_of_a_token_is_its_subject(store: IcebergStore, proxy: CheckingProxy) -> None:
    """A token that is a JSON Web Token names it; a token of another form does not."""
    for token, principal in ((f"{JWT}.s", "the principal ann"), ("a.b.c", "the principal of the login")):
        catalog = store._opened
        catalog._client_id = ""
        catalog._session = catalog._create_session()
        catalog._session.auth.auth_manager._token = token
        proxy._tokens[token] = time.monotonic() + 60
        proxy.faults = [Fault("GET", [403])]
        with pytest.raises(StatementRefused, match=re.escape(f"{principal} may not read the table")):
            store.read_lock()


def test_required_headers_are_sent_with_every_request(
    opened: Callable[[], IcebergStore], shop: ProjectFolder, proxy: CheckingProxy
) -> None:
    """The requests for the configuration and for the token have them too."""
    proxy.headers = {"X-Project": "shop"}
    path = shop.root / "catalogs/shop.yaml"
    assert ask_here(shop, "pending").code == 5
    path.write_text(f"{path.read_text()}      spark.sql.catalog.lake.header.X-Project: shop\n")
    proxy.received.clear()
    assert ask_here(shop, "pending").code == 0
    assert {headers.get("X-Project") for headers in proxy.received} == {"shop"}


@pytest.fixture
def signed(shop: ProjectFolder, proxy: CheckingProxy, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """The project on a server as that of S3 Tables: no token, each request signed, no staged creation.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-tables-integrating-open-source.html
    """
    proxy.aws_key = ("AKIDEXAMPLE", "canary-of-aws")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", proxy.aws_key[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", proxy.aws_key[1])
    more = {"sigv4-enabled": "true", "signing-name": "s3tables", "signing-region": "eu-central-1"}
    lines = "".join(f"      spark.sql.catalog.lake.rest.{key}: {value}\n" for key, value in more.items())
    login = "      spark.sql.catalog.lake.credential: ${secret:MIGRATOR_LOGIN}\n"
    shop.catalog(CATALOG.replace("ADDRESS", proxy.address).replace(login, lines))
    return shop


def test_requests_to_aws_are_signed_each_time_that_they_are_sent(
    signed: ProjectFolder,
    opened: Callable[[], IcebergStore],
    proxy: CheckingProxy,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Creation, commits and repeated reads. A request that is repeated after a wait is signed again: signatures expire."""
    proxy.clock = lambda: time.time() + sum(waits)
    monkeypatch.setattr(
        "botocore.auth.get_current_datetime", lambda: datetime.fromtimestamp(proxy.clock(), timezone.utc)
    )
    burst = [503, 429, RESET]
    proxy.faults = [
        Fault(request, [*burst], retry_after="5") for request in (f"GET .*{LOCK}", CREATED, f"POST .*{LOCK}")
    ]
    store = opened()
    store.create(FREE)
    store.append([event(1)])
    assert store.compare_and_set(FREE, replace(FREE, owner="a", fence=1))
    assert store.read_history() == (event(1),)
    assert [fault.statuses for fault in proxy.faults] == [[]] * 3
    assert {status for _, status in proxy.log} == {200, 404, *burst}
    assert proxy.statuses(TOKENS) == []
    scope = re.compile(r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-central-1/s3tables/aws4_request, .+")
    assert {bool(scope.fullmatch(headers["Authorization"])) for headers in proxy.received} == {True}


def test_a_refused_right_in_aws_is_named_with_the_key(signed: ProjectFolder, proxy: CheckingProxy) -> None:
    """The server knows whose key it is; no secret is in the message."""
    proxy.aws_key = ("AKIDEXAMPLE", "another")
    done = ask_here(signed, "pending")
    error = done.document["error"]
    what = (
        "HTTP 403: the AWS access key AKIDEXAMPLE may not read the configuration of the catalog: ForbiddenException: "
    )
    assert (done.code, error["code"]) == (5, "STORE_UNAVAILABLE")
    assert what in error["message"]
    assert "canary" not in done.stdout
