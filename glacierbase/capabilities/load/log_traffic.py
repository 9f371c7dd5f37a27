"""Requests by second and by prefix of the keys, counted in bounded memory.

Every key is counted by itself until there are too many. Then keys with few requests are merged into the longest prefix that they
have in common, so that the busy parts of the keys keep their detail, in whatever folder they are.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import accumulate

from glacierbase.capabilities.load.access_log import Request
from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.traffic import Array
from glacierbase.errors import ConfigurationError
from glacierbase.model.text import time_of

np = required("numpy")

# The most prefixes, and the most pairs of a second and a prefix: about 500 MB.
MOST_PREFIXES = 1 << 15
MOST_PAIRS = 4_000_000
# From the first request to the last.
LONGEST = timedelta(days=31)
# Requests that are collected before they are counted.
_BATCH = 50_000
# Ends a whole key, so that no key is a prefix of another.
_END = b"\0"
_READ_BIT, _PREFIX_BITS, _SECOND_BITS = 1, 17, 18
_PREFIX_MASK = (1 << _PREFIX_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class LogTraffic:
    """The requests of a log: how many in a second, by prefix. The arrays have one length, and are in the order of the seconds.

    Attributes:
        prefixes: bucket, `/`, and the first characters of keys, in the order of the keys; none is a prefix of another.
        seconds: since 1970.
        places: the positions of the prefixes.
        writes, reads: the numbers of requests.
    """

    prefixes: tuple[bytes, ...]
    seconds: Array
    places: Array
    writes: Array
    reads: Array


def counted_traffic(
    requests: Iterable[Request], most_prefixes: int = MOST_PREFIXES, most_pairs: int = MOST_PAIRS
) -> LogTraffic:
    """Count requests.

    Raises:
        ConfigurationError: `TRACE_TOO_LONG`: the requests are from more than `LONGEST`.
    """
    counter = _Counter(most_prefixes, most_pairs)
    for request in requests:
        counter.add(request)
    return counter.traffic()


class _Counter:
    """Counts pairs of a second and a prefix. A code holds the second, the number of the prefix, and whether it is a read."""

    def __init__(self, most_prefixes: int, most_pairs: int) -> None:
        self._most_prefixes, self._most_pairs = most_prefixes, most_pairs
        self._keys: list[bytes] = []
        self._rest: list[int] = []
        self._prefixes: list[bytes] = []  # Sorted.
        self._numbers: dict[bytes, int] = {}
        self._codes = np.empty(0, np.int64)
        self._counts = np.empty(0, np.int32)
        self._new: list[Array] = []
        self._first, self._last = sys.maxsize, 0

    def add(self, request: Request) -> None:
        """Count a request."""
        # No key that is XML holds a NUL.
        self._keys.append(b"%b/%b%b" % (request.bucket, request.key.replace(_END, b"\1"), _END))
        self._rest.append(request.second << _SECOND_BITS | request.is_read)
        if len(self._keys) >= _BATCH:
            self._count()

    def traffic(self) -> LogTraffic:
        """Return what was counted."""
        self._count()
        self._merge()
        places = np.empty(len(self._prefixes), np.int64)
        places[[self._numbers[prefix] for prefix in self._prefixes]] = np.arange(len(places))
        is_read = self._codes & 1
        pairs, writes = _summed(self._codes >> _READ_BIT, self._counts * (1 - is_read))
        _, reads = _summed(self._codes >> _READ_BIT, self._counts * is_read)
        shown = tuple(prefix.removesuffix(_END) for prefix in self._prefixes)
        return LogTraffic(shown, pairs >> _PREFIX_BITS, places[pairs & _PREFIX_MASK], writes, reads)

    def _count(self) -> None:
        if not self._keys:
            return
        self._check_period()
        self._add_prefixes()
        numbers = np.fromiter(map(self._number, self._keys), np.int64, len(self._keys))
        self._new.append(np.array(self._rest, np.int64) | numbers << _READ_BIT)
        self._keys, self._rest = [], []
        if len(self._prefixes) > self._most_prefixes:
            self._shorten(self._most_prefixes // 2)
        if sum(map(len, self._new)) > self._most_pairs // 4:
            self._merge()

    def _check_period(self) -> None:
        seconds = [rest >> _SECOND_BITS for rest in (min(self._rest), max(self._rest))]
        self._first, self._last = min(self._first, seconds[0]), max(self._last, seconds[1])
        if self._last - self._first > LONGEST.total_seconds():
            first, last = (
                time_of(datetime.fromtimestamp(second, timezone.utc)) for second in (self._first, self._last)
            )
            what = f"the log has requests from {first} to {last}, more than {LONGEST.days} days"
            raise ConfigurationError("TRACE_TOO_LONG", what, "pass the files of fewer days")

    def _add_prefixes(self) -> None:
        new = {key for key in self._keys if not self._is_counted(key)}
        self._prefixes = sorted([*self._prefixes, *new])
        self._numbers |= {prefix: number for number, prefix in enumerate(new, len(self._numbers))}

    def _is_counted(self, key: bytes) -> bool:
        place = bisect_right(self._prefixes, key) - 1
        return place >= 0 and key.startswith(self._prefixes[place])

    def _number(self, key: bytes) -> int:
        return self._numbers[self._prefixes[bisect_right(self._prefixes, key) - 1]]

    def _merge(self) -> None:
        """Add the counts of equal codes; shorten the prefixes until there are few enough pairs."""
        counts = np.ones(len(self._codes) + sum(map(len, self._new)), np.int32)
        counts[: len(self._counts)] = self._counts
        self._codes, self._new = np.concatenate([self._codes, *self._new]), []
        order = np.argsort(self._codes)
        self._codes, self._counts = _summed(self._codes[order], counts[order])
        if len(self._codes) > self._most_pairs and len(self._prefixes) > 1:
            self._shorten(len(self._prefixes) // 2)
            self._merge()

    def _shorten(self, most: int) -> None:
        """Merge prefixes until there are at most `most`."""
        numbers = self._codes >> _READ_BIT & _PREFIX_MASK
        counts = np.bincount(numbers, self._counts, len(self._numbers))
        for codes in self._new:
            counts += np.bincount(codes >> _READ_BIT & _PREFIX_MASK, minlength=len(self._numbers))
        merged = shortened(self._prefixes, [int(counts[self._numbers[prefix]]) for prefix in self._prefixes], most)
        changed = np.empty(len(self._numbers), np.int64)
        for prefix, number in self._numbers.items():
            changed[number] = bisect_right(merged, prefix) - 1
        self._prefixes, self._numbers = merged, {prefix: number for number, prefix in enumerate(merged)}
        self._codes, *self._new = (self._renumbered(codes, changed) for codes in (self._codes, *self._new))

    def _renumbered(self, codes: Array, changed: Array) -> Array:
        numbers = codes >> _READ_BIT & _PREFIX_MASK
        return codes & ~(_PREFIX_MASK << _READ_BIT) | changed[numbers] << _READ_BIT


def _summed(codes: Array, counts: Array) -> tuple[Array, Array]:
    """Return each of the sorted codes once, with the sum of its counts."""
    is_first = np.ones(len(codes), bool)
    is_first[1:] = codes[1:] != codes[:-1]
    return codes[is_first], np.add.reduceat(counts, np.flatnonzero(is_first)) if len(codes) else counts


def shortened(prefixes: Sequence[bytes], counts: Sequence[int], most: int) -> list[bytes]:
    """Return at most `most` prefixes: those with few requests are merged.

    Args:
        prefixes: sorted; none is a prefix of another.
    """
    sums = [0, *accumulate(counts)]
    weight = max(2, sums[-1] // most)
    while len(merged := list(_merged(prefixes, sums, weight))) > most:
        weight *= 2
    return merged


def _merged(prefixes: Sequence[bytes], sums: Sequence[int], weight: int) -> Iterator[bytes]:
    """Yield the common prefix of each part of the keys that has less than `weight` requests, and each that is not divided."""
    parts = [(0, len(prefixes))]
    while parts:
        start, end = parts.pop()
        common = common_prefix(prefixes[start], prefixes[end - 1])
        if end - start == 1 or sums[end] - sums[start] < weight:
            yield common
            continue
        divided = []
        while start < end:
            nth = prefixes[start][len(common)]
            after = bisect_left(prefixes, common + bytes([nth + 1]), start, end) if nth < 255 else end
            divided.append((start, after))
            start = after
        parts += reversed(divided)


def common_prefix(first: bytes, last: bytes) -> bytes:
    """Return the longest common prefix of two texts; of sorted ones, it is that of all between them."""
    differing = (place for place, (left, right) in enumerate(zip(first, last, strict=False)) if left != right)
    return first[: next(differing, min(len(first), len(last)))]
