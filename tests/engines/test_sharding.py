"""Sharded keys on the real DynamoDB Local: shards grow until nothing is throttled, and everything acknowledged is read back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from itertools import count, pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from glacierbase.capabilities.sharding import table as table_module
from glacierbase.capabilities.sharding.advise import advise
from glacierbase.capabilities.sharding.keys import calculated_shard
from glacierbase.capabilities.sharding.metadata import MOST_SHARDS
from glacierbase.errors import ConfigurationError
from glacierbase.sharding import ShardedTable
from tests.docs.pages import DOCS, blocks
from tests.support.dynamodb import ThrottlingProxy, client, dynamodb_local, make_table, throttling_proxy
from tests.support.shard_writer import COOLDOWN

QUICK = {"cooldown": 0.0, "waits": (0.0, 0.0), "staleness": 60.0, "patience": 2.0}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of DynamoDB Local."""
    with dynamodb_local() as address:
        yield address


@pytest.fixture
def proxy(server: str) -> Iterator[ThrottlingProxy]:
    """A proxy in front of it, and the empty tables `events` and `shards`."""
    made = client(server)
    for name in made.list_tables()["TableNames"]:
        made.delete_table(TableName=name)
    make_table(made, "events", ("device", "S"), ("at", "S"))
    make_table(made, "numbers", ("device", "S"), ("at", "N"))
    make_table(made, "bytes", ("device", "S"), ("at", "B"))
    make_table(made, "shards", ("device", "S"))
    with throttling_proxy(server) as proxy:
        yield proxy


def table(proxy: ThrottlingProxy, name: str = "events", **options: Any) -> ShardedTable:
    return ShardedTable(client(proxy.address), name, "shards", **{**QUICK, **options})


def metadata(proxy: ThrottlingProxy) -> dict[str, Any]:
    """Return the item of the key `d` in the metadata table."""
    item = client(proxy.address).get_item(TableName="shards", Key={"device": {"S": "d"}}, ConsistentRead=True)["Item"]
    return {
        "count": int(item["number_of_shards"]["N"]),
        "updated": int(item["last_updated"]["N"]),
        "history": sorted(
            (int(at), int(count)) for at, count in (each.split(":") for each in item["shard_history"]["SS"])
        ),
    }


def set_metadata(proxy: ThrottlingProxy, **values: Any) -> None:
    """Write the item of the key `d`, as by hand."""
    client(proxy.address).put_item(TableName="shards", Item={"device": {"S": "d"}, **values})


def sorts(sharded: ShardedTable, *arguments: Any, **options: Any) -> list[Any]:
    return [item["at"] for item in sharded.query("d", *arguments, **options)]


def test_eight_processes_grow_shards_until_nothing_is_throttled(proxy: ThrottlingProxy) -> None:
    """About ten shards for ten times the rate of one; everything acknowledged is read, once and in order."""
    proxy.rate = proxy.burst = 10.0
    command = [sys.executable, "-m", "tests.support.shard_writer", proxy.address]
    writers = [
        subprocess.Popen([*command, str(number), "11", "14"], stdout=subprocess.PIPE, text=True) for number in range(8)
    ]
    results = [json.loads(writer.communicate(timeout=120)[0]) for writer in writers]
    found = metadata(proxy)
    assert 8 <= found["count"] <= 16
    assert sum(result["growths"] for result in results) == found["count"] - 1 == len(found["history"]) - 1
    times = [at for at, _ in found["history"]]
    assert [count for _, count in found["history"]] == list(range(1, found["count"] + 1))
    assert min(later - earlier for earlier, later in pairwise(times)) >= COOLDOWN * 1000
    acknowledged = sorted(key for result in results for key in result["written"])
    assert sorts(table(proxy)) == acknowledged
    seconds = [int(key[:20]) / 1e9 for key in acknowledged]
    assert sum(at >= seconds[-1] - 3 for at in seconds) / 3 >= 5 * proxy.rate
    assert sum(at >= proxy.times[0] + 11 for at in proxy.times) <= 0.02 * len(acknowledged)


@pytest.mark.parametrize("reason", ["TableWriteAccountLimitExceeded", "TableWriteProvisionedThroughputExceeded"])
def test_a_limit_of_the_table_adds_no_shard(proxy: ThrottlingProxy, reason: str) -> None:
    """The writer waits, writes when it may, and counts it."""
    proxy.rate, proxy.reasons = 20, (reason,)
    sharded = table(proxy)
    for number in range(5):
        sharded.put({"device": "d", "at": str(number)})
    assert (sharded.shards("d"), sharded.counters.growths, sharded.counters.throttles) == (1, 0, 0)
    assert sharded.counters.table_throttles == sharded.counters.retries > 0
    assert sorts(sharded) == list("01234")


@pytest.mark.parametrize(
    ("consumed", "grows"),
    [([], True), ([0.0], True), ([60_000.0], False), ([60_000.0, 0.0], True), ([0.0, 6e4], False)],
)
def test_without_a_reason_the_consumed_capacity_decides(
    proxy: ThrottlingProxy, consumed: list[float], grows: bool
) -> None:
    """A table that consumes its capacity in the last minute that has a metric is at its limit; else one partition is."""
    requests: list[float] = []

    class CloudWatch:
        """Returns the sums of the last minutes unordered, and none of the minute that has just ended, as the service does."""

        def get_metric_statistics(self, **asked: Any) -> Any:
            requests.append(asked["EndTime"])
            assert asked["Period"] == 60
            minutes = range(len(consumed), 0, -1)
            sums = [
                {"Timestamp": asked["EndTime"] - 60 * (minute + 1), "Sum": each}
                for minute, each in zip(minutes, consumed, strict=True)
            ]
            return {"Datapoints": [point for point in reversed(sums) if point["Timestamp"] >= asked["StartTime"]]}

    made = client(proxy.address)
    made.delete_table(TableName="events")
    keys = [{"AttributeName": "device", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
    types = [{"AttributeName": name, "AttributeType": "S"} for name in ("device", "at")]
    capacity = {"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1000}
    made.create_table(TableName="events", KeySchema=keys, AttributeDefinitions=types, ProvisionedThroughput=capacity)
    proxy.rate, proxy.reasons = 5, ()
    sharded = table(proxy, cloudwatch=CloudWatch(), cooldown=0.0)
    sharded.put({"device": "d", "at": "0"})
    sharded.put({"device": "d", "at": "1"})
    assert (sharded.shards("d") > 1) is grows
    assert len(requests) == len(set(requests)) > 0


def test_capacity_that_was_raised_meanwhile_is_not_exhausted(proxy: ThrottlingProxy) -> None:
    """What a table consumes is compared with the capacity that it has now, not with that of the first write."""

    class CloudWatch:
        """Returns what the raised capacity allows, and the former one did not."""

        def get_metric_statistics(self, **_: Any) -> Any:
            return {"Datapoints": [{"Timestamp": 1, "Sum": 120_000.0}]}

    capacity: dict[str, int] = {"WriteCapacityUnits": 1000}
    described = client(proxy.address).describe_table(TableName="events")["Table"]
    sharded = table(proxy, cloudwatch=CloudWatch())
    sharded._client.describe_table = lambda **_: {
        "Table": {**described, "ProvisionedThroughput": dict(capacity), "BillingModeSummary": {}}
    }
    sharded.put({"device": "d", "at": "0"})
    assert sharded._is_exhausted()
    capacity["WriteCapacityUnits"] = 10_000
    sharded._exhausted = (0.0, False)  # As after a minute.
    assert not sharded._is_exhausted()


@pytest.mark.parametrize("is_passed", [True, False])
@pytest.mark.parametrize("status", [0, 500])
def test_a_lost_answer_doubles_nothing(proxy: ThrottlingProxy, is_passed: bool, status: int) -> None:
    """The write is repeated into the same shard, whatever the other answers are."""
    lost: list[str] = []

    def lose(target: str, document: Any, passed: Callable[[], object]) -> tuple[int, Any] | None:
        if target != "PutItem" or "ConditionExpression" in document or len(lost) % 3 == 2:
            lost.append("")
            return None
        lost.append(document["Item"]["device"]["S"])
        if is_passed:
            passed()
        return status, {"__type": "InternalServerError", "message": "canary"}

    set_metadata(proxy, number_of_shards={"N": "50"}, last_updated={"N": "1"})
    sharded = table(proxy, patience=10.0)
    proxy.answer = lose
    for number in range(6):
        sharded.put({"device": "d", "at": str(number)})
    proxy.answer = lambda *_: None
    assert sorts(sharded) == list("012345")
    assert sharded.counters.retries >= 6


@pytest.mark.parametrize("is_passed", [True, False])
@pytest.mark.parametrize("status", [0, 500])
def test_a_growth_whose_answer_is_lost_counts_once(proxy: ThrottlingProxy, is_passed: bool, status: int) -> None:
    """Whether or not it took effect, one shard is added and `growths` is 1."""
    lost: list[str] = []

    def lose(target: str, document: Any, passed: Callable[[], object]) -> tuple[int, Any] | None:
        if target != "PutItem" or "last_updated" not in document.get("ConditionExpression", "") or lost:
            return None
        lost.append(target)
        if is_passed:
            passed()
        return status, {"__type": "InternalServerError", "message": "canary"}

    set_metadata(proxy, number_of_shards={"N": "1"}, last_updated={"N": "1"})
    proxy.answer, proxy.rate = lose, 0.001
    sharded = table(proxy, cooldown=60.0, suffix="calculated")
    for at in [at for at in map(str, range(20)) if calculated_shard("d", at, 2) == 2][:2]:
        sharded.put({"device": "d", "at": at})
    assert lost
    assert (sharded.counters.growths, sharded.counters.stood_down) == (1, 0)
    assert [number for _, number in metadata(proxy)["history"]] == [1, 2]


@pytest.mark.parametrize(
    ("target", "status", "document"),
    [
        ("PutItem", 400, {"__type": "x#TransactionConflictException", "message": "canary"}),
        ("PutItem", 400, {"__type": "x#ReplicatedWriteConflictException", "message": "canary"}),
        ("PutItem", 502, {"message": "Bad gateway"}),
        ("Query", 503, {"message": "Service unavailable"}),
        ("Query", 400, {"__type": "x#ThrottlingException", "message": "canary"}),
        ("GetItem", 504, {"message": "Gateway time-out"}),
        ("DescribeTable", 400, {"__type": "x#ThrottlingException", "message": "canary"}),
    ],
)
def test_a_refusal_that_passes_is_repeated(
    proxy: ThrottlingProxy, target: str, status: int, document: dict[str, str]
) -> None:
    """Of a write, of a read, and of the description that the first write requests."""
    left = [1, 1]
    proxy.answer = lambda of, *_: (status, document) if of == target and left and left.pop() else None
    sharded = table(proxy)
    sharded.put({"device": "d", "at": "0"})
    assert sorts(sharded) == ["0"]
    assert (left, sharded.counters.retries, sharded.shards("d")) == ([], 2, 1)


def test_a_connection_that_fails_is_repeated_until_the_patience_is_over() -> None:
    """No server listens on that port."""
    sharded = ShardedTable(client("http://127.0.0.1:9"), "events", "shards", patience=0.2)
    with pytest.raises(EndpointConnectionError):
        sharded.put({"device": "d", "at": "0"})
    assert sharded.counters.retries > 0


def test_a_key_with_the_most_shards_grows_no_further(proxy: ThrottlingProxy) -> None:
    """One shard more would make the item of the metadata unreadable."""
    set_metadata(proxy, number_of_shards={"N": str(MOST_SHARDS)}, last_updated={"N": "1"})
    left = [1, 1, 1]
    throttled = {
        "__type": "x#ThrottlingException",
        "message": "canary",
        "ThrottlingReasons": [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": "arn"}],
    }
    proxy.answer = lambda of, *_: (400, throttled) if of == "PutItem" and left and left.pop() else None
    sharded = table(proxy)
    sharded.put({"device": "d", "at": "0"})
    assert (left, sharded.shards("d"), sharded.counters.growths) == ([], MOST_SHARDS, 0)


def test_a_long_history_keeps_each_number_of_shards(proxy: ThrottlingProxy) -> None:
    """An item of DynamoDB has at most 400 KB; the last change to each number stays."""
    entries = [f"{10**12 + number}:{number % 9 + 1}" for number in range(1500)]
    set_metadata(proxy, number_of_shards={"N": "9"}, last_updated={"N": "1"}, shard_history={"SS": entries})
    sharded = table(proxy)
    sharded.shrink("d", 4)
    found = metadata(proxy)
    assert sorted(number for _, number in found["history"]) == list(range(1, 10))
    assert (found["updated"], 4) in found["history"]
    assert {f"{at}:{number}" for at, number in found["history"] if number != 4} <= set(entries[-9:])


def test_the_shards_of_a_limited_number_of_keys_are_kept_in_memory(
    proxy: ThrottlingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the keys written last: a writer of many keys reads the others again."""
    monkeypatch.setattr(table_module, "_MOST_CACHED", 2)
    read: list[str] = []

    def note(target: str, document: Any, _: object) -> None:
        if target == "GetItem":
            read.append(document["Key"]["device"]["S"])

    proxy.answer = note  # type: ignore[assignment]
    sharded = table(proxy)
    for device in "abcbca":
        sharded.put({"device": device, "at": "0"})
    assert read == ["a", "b", "c", "a"]


def test_a_float_is_refused_before_a_request(proxy: ThrottlingProxy) -> None:
    """DynamoDB has decimal numbers; the error of boto3 names them."""
    sharded = table(proxy, "numbers", suffix="calculated")
    for call in (
        lambda: sharded.put({"device": "d", "at": 1, "value": 0.5}),
        lambda: sharded.put({"device": "d", "at": 0.5}),
        lambda: sharded.get("d", 0.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="Use Decimal types"):
            call()
    assert client(proxy.address).scan(TableName="numbers")["Items"] == []


def test_writers_at_the_end_of_the_cooldown_add_one_shard(proxy: ThrottlingProxy) -> None:
    """The others stand down, and write to the new shard."""
    proxy.rate = 0.001
    writers = [table(proxy, cooldown=2.0, waits=(0.05, 0.05), patience=0.2) for _ in range(6)]
    table(proxy).put({"device": "d", "at": "first"})
    time.sleep(2.1)

    def put(number: int) -> None:
        with suppress(ClientError):  # Until its patience is over.
            for attempt in range(10):
                writers[number].put({"device": "d", "at": f"{number}-{attempt}"})

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(put, range(6)))
    counters = [writer.counters for writer in writers]
    assert sum(each.growths for each in counters) == metadata(proxy)["count"] - 1 == 1
    assert sum(each.stood_down for each in counters) <= 5


def test_a_thread_that_grows_lets_the_others_write(proxy: ThrottlingProxy) -> None:
    """One table object adds one shard, however many of its threads are throttled."""
    sharded = table(proxy, waits=(0.3, 0.3), patience=5.0)
    sharded.put({"device": "d", "at": "0"})
    proxy.rate = 10
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: sharded.put({"device": "d", "at": str(number)}), range(1, 9)))
    assert sharded.counters.growths == metadata(proxy)["count"] - 1
    assert sorts(sharded) == [str(number) for number in range(9)]


def test_a_stale_writer_and_a_shrunk_key_are_read_whole(proxy: ThrottlingProxy) -> None:
    """Readers ask the largest number of shards that the key ever had, in the order of the sort key."""
    stale, other = table(proxy), table(proxy, staleness=0.0)
    stale.put({"device": "d", "at": "00"})
    set_metadata(proxy, number_of_shards={"N": "8"}, last_updated={"N": "2"}, shard_history={"SS": ["1:1", "2:8"]})
    for number in range(1, 40):
        (stale if number % 3 else other).put({"device": "d", "at": f"{number:02d}"})
    other.shrink("d", 2)
    assert other.shards("d") == 2
    for number in range(40, 60):
        other.put({"device": "d", "at": f"{number:02d}"})
    everything = [f"{number:02d}" for number in range(60)]
    assert sorts(stale) == sorts(other) == sorts(table(proxy)) == everything
    assert sorts(other, descending=True) == everything[::-1]
    assert sorts(other, ("10", "19")) == everything[10:20]
    assert sorts(other, ("10", "19"), True) == everything[19:9:-1]
    assert other.counters.unlisted == 0
    assert [count for _, count in metadata(proxy)["history"]] == [1, 8, 2]
    for to in (0, 3, -1):
        with pytest.raises(ConfigurationError, match="cannot have"):
            other.shrink("d", to)
    for fraction in (1.0, 1.5):  # Half the shards, by a division.
        with pytest.raises(TypeError):
            other.shrink("d", fraction)  # type: ignore[arg-type]
    assert other.shards("d") == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda made, item: made.delete_item(TableName="shards", Key={"device": {"S": "d"}}),
        lambda made, item: made.put_item(TableName="shards", Item=item),
    ],
    ids=["deleted", "restored"],
)
def test_items_beyond_the_metadata_are_found(proxy: ThrottlingProxy, spoil: Callable[[Any, Any], object]) -> None:
    """The metadata was deleted, or is older than the items: readers go on until a shard has none, and count it."""
    made, sharded = client(proxy.address), table(proxy)
    sharded.put({"device": "d", "at": "00"})
    older = made.get_item(TableName="shards", Key={"device": {"S": "d"}})["Item"]
    set_metadata(proxy, number_of_shards={"N": "4"}, last_updated={"N": "2"}, shard_history={"SS": ["1:1", "2:4"]})
    writer = table(proxy)
    for number in range(1, 60):
        writer.put({"device": "d", "at": f"{number:02d}"})
    spoil(made, older)
    everything = [f"{number:02d}" for number in range(60)]
    assert sorts(sharded) == everything
    assert sharded.counters.unlisted == 3
    again = table(proxy)
    again.put({"device": "d", "at": "60"})
    assert sorts(again) == [*everything, "60"]
    assert again.get("d", "33") == {"device": "d", "at": "33"}


@pytest.mark.parametrize(
    "values",
    [
        None,
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["0:1", "1:2"]}},
        {"number_of_shards": {"N": "8"}, "last_updated": {"N": "1"}},
    ],
    ids=["deleted", "restored", "edited"],
)
def test_a_point_read_finds_what_the_metadata_does_not_place(
    proxy: ThrottlingProxy, values: dict[str, Any] | None
) -> None:
    """By a calculated suffix: an item that no recorded number of shards places is read from all shards."""
    set_metadata(proxy, number_of_shards={"N": "5"}, last_updated={"N": "1"}, shard_history={"SS": ["0:1", "1:5"]})
    sharded = table(proxy, suffix="calculated")
    for number in range(12):
        sharded.put({"device": "d", "at": f"{number:02d}"})
    client(proxy.address).delete_item(TableName="shards", Key={"device": {"S": "d"}})
    if values:
        set_metadata(proxy, **values)
    assert all(sharded.get("d", f"{number:02d}") for number in range(6))
    assert sharded.get("d", "no such") is None


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "-1"}},
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "1" + 20 * "0"}},
        {"number_of_shards": {"S": "2"}, "last_updated": {"N": "1"}},
        {"number_of_shards": {"N": "0"}, "last_updated": {"N": "1"}},
        {"number_of_shards": {"N": "1.5"}, "last_updated": {"N": "1"}},
        {"number_of_shards": {"N": "1000000000"}, "last_updated": {"N": "1"}},
        {"number_of_shards": {"N": "2"}},
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["1:two"]}},
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "1"}, "shard_history": {"SS": ["1:99999"]}},
        {"number_of_shards": {"N": "2"}, "last_updated": {"N": "1"}, "shard_history": {"N": "1"}},
    ],
)
def test_a_damaged_item_of_the_metadata_is_one_error(proxy: ThrottlingProxy, values: dict[str, Any]) -> None:
    """Nothing is written, and nothing is read."""
    set_metadata(proxy, **values)
    sharded = table(proxy)
    for call in (
        lambda: sharded.put({"device": "d", "at": "0"}),
        lambda: list(sharded.query("d")),
        lambda: sharded.shards("d"),
    ):
        with pytest.raises(ConfigurationError, match="has no valid number of shards"):
            call()
    assert client(proxy.address).scan(TableName="events")["Items"] == []


class Killing:
    """Kills a process at one of its requests, before or after the request takes effect."""

    def __init__(self, process: subprocess.Popen[str], at: int, *, is_after: bool) -> None:
        self._process, self._left, self._is_after = process, at, is_after

    def __call__(self, _: str, __: Any, passed: Callable[[], object]) -> tuple[int, Any] | None:
        self._left -= 1
        if self._left:
            return None
        if self._is_after:
            passed()
        self._process.kill()
        return 0, None


def test_a_writer_that_is_killed_at_any_request_leaves_the_metadata_right(proxy: ThrottlingProxy) -> None:
    """Before a request has an effect, or after it: the next writer goes on, and everything acknowledged is read."""
    script = (
        "import sys\nfrom tests.support.dynamodb import client\nfrom glacierbase.sharding import ShardedTable\n"
        "table = ShardedTable(client(sys.argv[1]), 'events', 'shards', 0.0, waits=(0.0, 0.0))\n"
        "for number in range(4):\n"
        "    table.put({'device': 'd', 'at': f'{sys.argv[2]}-{number}'})\n"
        "    print(f'{sys.argv[2]}-{number}', flush=True)\n"
    )
    acknowledged: list[str] = []
    for number in count():
        proxy.rate = 2
        proxy._tokens.clear()
        command = [sys.executable, "-c", script, proxy.address, f"{number:03d}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            proxy.answer = Killing(writer, number // 2 + 1, is_after=bool(number % 2))
            acknowledged += writer.communicate(timeout=60)[0].split()
        proxy.answer, proxy.rate = lambda *_: None, None
        if client(proxy.address).scan(TableName="shards")["Items"]:
            found = metadata(proxy)
            assert [shards for _, shards in found["history"]] == list(range(1, found["count"] + 1))
        read = sorts(table(proxy))
        assert len(set(read)) == len(read)
        assert set(acknowledged) <= set(read)
        if writer.returncode == 0:  # It ended before that request.
            break
    assert number >= 16
    assert metadata(proxy)["count"] > 1


def test_a_point_read_asks_one_shard_for_each_number_of_shards(proxy: ThrottlingProxy) -> None:
    """By a calculated suffix; the shards of a random one are all asked. The advice says the same numbers."""
    requests: list[str] = []
    proxy.answer = lambda target, *_: requests.append(target)  # type: ignore[func-returns-value]

    def asked(call: Callable[[], object]) -> int:
        requests.clear()
        call()
        return sum(request in ("GetItem", "Query") for request in requests)

    set_metadata(proxy, number_of_shards={"N": "4"}, last_updated={"N": "1"}, shard_history={"SS": ["0:1", "1:4"]})
    calculated, chosen = table(proxy, suffix="calculated"), table(proxy)
    for number in range(20):
        calculated.put({"device": "d", "at": str(number)})
    item = {"device": "d", "at": "7"}
    assert calculated.get("d", "7") == chosen.get("d", "7") == item
    none, random, fixed = advise(3500, 300).methods
    assert none.get_requests == 1
    assert asked(lambda: calculated.get("d", "7")) == fixed.get_requests == 2
    assert asked(lambda: chosen.get("d", "7")) == random.get_requests
    assert asked(lambda: list(chosen.query("d"))) == random.query_requests == fixed.query_requests
    calculated.shrink("d", 3)
    # Of 3, 4 and 1 shards, and whether there are items beyond the last one.
    places = {calculated_shard("d", "no such", number) for number in (3, 4, 1)}
    assert asked(lambda: calculated.get("d", "no such")) == len(places) + 2
    assert all(calculated.get("d", str(number)) for number in range(20))


def test_pages_are_read_as_they_are_needed(proxy: ThrottlingProxy) -> None:
    """Three shards with two pages each: the first item needs one page of each."""
    requests: list[str] = []
    set_metadata(proxy, number_of_shards={"N": "3"}, last_updated={"N": "1"})
    sharded = table(proxy, suffix="calculated")
    for number in range(24):
        sharded.put({"device": "d", "at": f"{number:02d}", "text": "x" * 300_000})
    proxy.answer = lambda target, *_: requests.append(target)  # type: ignore[func-returns-value]
    reading = sharded.query("d")
    assert next(reading)["at"] == "00"
    assert requests.count("Query") == 4
    assert [item["at"] for item in reading] == [f"{number:02d}" for number in range(1, 24)]
    assert requests.count("Query") > 4


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        ("numbers", [Decimal("-1E+20"), Decimal(-2), Decimal("0.5"), Decimal(3), Decimal(20), Decimal("1E+30")]),
        ("events", ["!", "A", "a", "z", "é", "\uffff", "\U0001f600"]),
        ("bytes", [b"\x00", b"\x00\x01", b"\x7f", b"\x80", b"\xff"]),
    ],
)
def test_the_order_is_that_of_one_shard(proxy: ThrottlingProxy, name: str, ordered: list[Any]) -> None:
    """Numbers by value, text by its bytes in UTF-8, bytes unsigned; values are plain Python values."""
    set_metadata(proxy, number_of_shards={"N": "3"}, last_updated={"N": "1"})
    sharded = table(proxy, name)
    for sort in reversed(ordered):
        sharded.put({"device": "d", "at": sort, "more": [b"\x01", {"n": 1}, True, None, {"a", "b"}]})
    one = client(proxy.address)
    make_table(one, "alone", ("device", "S"), ("at", {"numbers": "N", "events": "S", "bytes": "B"}[name]))
    assert sorts(sharded) == ordered
    first = next(iter(sharded.query("d")))
    assert first["more"] == [b"\x01", {"n": 1}, True, None, {"a", "b"}]
    assert sharded.get("d", ordered[1])["at"] == ordered[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"at": "1"}, "has no device"),
        ({"device": "d"}, "has no at"),
        ({"device": 7, "at": "1"}, "takes no suffix"),
        ({"device": 1022 * "é", "at": "1"}, "has 2044 bytes"),
    ],
)
def test_an_item_that_cannot_be_sharded_is_refused(proxy: ThrottlingProxy, item: Any, says: str) -> None:
    """Before a request."""
    with pytest.raises(ConfigurationError, match=says):
        table(proxy).put(item)


def test_the_code_of_the_guide_runs(server: str, proxy: ThrottlingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """On tables with the names and the keys that it gives them."""
    made = client(server)
    made.delete_table(TableName="events")
    make_table(made, "events", ("device", "S"), ("at", "N"))
    make_table(made, "events-shards", ("device", "S"))
    for name, value in {
        "DEFAULT_REGION": "us-east-1",
        "ENDPOINT_URL": proxy.address,
        "ACCESS_KEY_ID": "glacierbase",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    [code] = [block.text for block in blocks(DOCS / "guides" / "dynamodb-sharding.md", "python")]
    exec(code, {})
    assert code.count("assert") == 3


def test_tables_that_cannot_be_sharded_are_refused(proxy: ThrottlingProxy) -> None:
    """Without a sort key, or with a number as partition key."""
    make_table(client(proxy.address), "counted", ("device", "N"), ("at", "S"))
    for name, says in (("shards", "no sort key"), ("counted", "is no text")):
        with pytest.raises(ConfigurationError, match=says):
            table(proxy, name).put({"device": "d", "at": "1"})


def test_a_clock_that_was_wrong_stops_growth_for_no_longer_than_a_day(proxy: ThrottlingProxy) -> None:
    """A growth recorded for a far future is taken for a wrong clock, and the next growth has the time of now."""
    future = str((int(time.time()) + 10 * 365 * 86400) * 1000)
    set_metadata(proxy, number_of_shards={"N": "1"}, last_updated={"N": future})
    proxy.rate = 5
    sharded = table(proxy, cooldown=30.0)
    for number in range(3):
        sharded.put({"device": "d", "at": str(number)})
    assert sharded.counters.growths == 1
    assert abs(metadata(proxy)["updated"] / 1000 - time.time()) < 60
    assert sorts(sharded) == list("012")
