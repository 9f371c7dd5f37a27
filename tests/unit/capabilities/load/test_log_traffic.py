"""Requests are counted by second and prefix, in bounded memory."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

import pytest

from glacierbase.capabilities.load.access_log import Request
from glacierbase.capabilities.load.log_traffic import LogTraffic, counted_traffic, shortened
from glacierbase.errors import GlacierbaseError

NOON = 1_764_072_000


def request(key: bytes, second: int = NOON, is_read: bool = False, bucket: bytes = b"lake") -> Request:
    return Request(second, bucket, key, is_read, b"200", b"-")


def mixed(count: int) -> Iterator[Request]:
    """Yield requests for one folder of random names and one of days and ids."""
    rng = random.Random(1)
    for number in range(count):
        name, id = rng.getrandbits(64), rng.randrange(1000)
        key = b"tmp/%016x" % name if number % 10 == 0 else b"wh/d=%d/id=%d/%08x" % (number * 3 // count, id, name)
        yield request(key, NOON + number // 1000, number % 3 == 0)


def counts_of(traffic: LogTraffic) -> Counter[tuple[int, int, bool]]:
    rows = zip(traffic.seconds, traffic.places, traffic.writes, traffic.reads, strict=True)
    return Counter(
        {
            (int(second), int(place), is_read): int(count)
            for second, place, *both in rows
            for is_read, count in zip((False, True), both, strict=True)
            if count
        }
    )


def test_few_keys_are_counted_by_themselves() -> None:
    """A key that is the beginning of another one has its own counts."""
    traffic = counted_traffic([request(b"a"), request(b"a/b"), request(b"a", is_read=True), request(b"a", NOON + 1)])
    assert traffic.prefixes == (b"lake/a", b"lake/a/b")
    assert counts_of(traffic) == {
        (NOON, 0, False): 1, (NOON, 0, True): 1, (NOON, 1, False): 1, (NOON + 1, 0, False): 1,
    }  # fmt: skip


def test_no_requests_give_no_prefixes() -> None:
    """The arrays are empty."""
    traffic = counted_traffic([])
    assert (traffic.prefixes, len(traffic.seconds)) == ((), 0)


@pytest.mark.parametrize(("most_prefixes", "most_pairs"), [(4000, 10**6), (1000, 10_000), (2, 10**6)])
def test_prefixes_are_merged_until_they_fit_and_no_request_is_lost(most_prefixes: int, most_pairs: int) -> None:
    """Each request counts for the only prefix that its key begins with."""
    requests = list(mixed(60_000))
    traffic = counted_traffic(requests, most_prefixes, most_pairs)
    expected: Counter[tuple[int, int, bool]] = Counter()
    for one in requests:
        place = bisect_right(traffic.prefixes, b"lake/" + one.key) - 1
        assert (b"lake/" + one.key).startswith(traffic.prefixes[place])
        expected[one.second, place, one.is_read] += 1
    assert counts_of(traffic) == expected
    assert len(traffic.prefixes) <= most_prefixes
    assert len(traffic.seconds) <= most_pairs


def test_busy_parts_keep_their_detail() -> None:
    """Random names of few requests share a prefix; the ids of a busy day do not."""
    names = [b"d=1/id=%d" % id for id in range(10, 20)] + [b"tmp/%02x" % name for name in range(16, 256)]
    merged = shortened(names, [1000] * 10 + [1] * 240, 30)
    assert merged == [*names[:10], b"tmp/"]


def test_the_result_does_not_depend_on_the_hashes_of_a_process() -> None:
    """Keys in any order of a batch give the same prefixes and counts."""
    requests = list(mixed(30_000))
    first, second = (counted_traffic(order, 500) for order in (requests, requests[::-1]))
    assert first.prefixes == second.prefixes
    assert counts_of(first) == counts_of(second)


def test_hostile_keys_are_counted() -> None:
    """Keys with NULs, with bytes that are no UTF-8, and with every first byte."""
    keys = [
        b"a\0",
        b"a\0b",
        b"",
        *(bytes([byte]) * 3 for byte in range(256)),
        *(b"a\xff%c" % byte for byte in range(256)),
    ]
    traffic = counted_traffic([request(key) for key in keys], 16)
    assert traffic.writes.sum() == len(keys)
    assert len(traffic.prefixes) <= 16


def test_a_log_of_more_than_31_days_is_refused() -> None:
    """One line with the time of another year does not make a simulation of years."""
    with pytest.raises(GlacierbaseError) as caught:
        counted_traffic([request(b"a"), request(b"a", NOON - 40 * 86400)])
    assert caught.value.code == "TRACE_TOO_LONG"
    assert "2025-10-16" in caught.value.message
