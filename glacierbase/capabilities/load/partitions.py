"""A model of how an object store partitions keys: which partitions exist when, and the requests above their limits.

A partition is a range of the sorted keys. It is divided when the mean of its minutes was above `trigger` times the limit for
`delay` minutes; other minutes count down. The parts are one again after `merge_after` minutes in which their sum stayed at or
below half of the limit. A range is divided and merged independently of the ranges beside it: each is computed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple, Protocol, TypeAlias

from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.simulation import Split
from glacierbase.capabilities.load.traffic import BACKFILL, DAY, Array, Traffic

np = required("numpy")

_IDLE = 0.5


@dataclass(frozen=True, slots=True)
class StoreModel:
    """What is assumed of an object store.

    Attributes:
        limit: requests per second of one partition.
        trigger: the part of the limit from which on a partition counts as hot; more than a half.
        delay: minutes.
        merge_after: minutes; None for never.
    """

    limit: float
    split: Split = Split.CHARACTER
    trigger: float = 0.95
    delay: int = 45
    merge_after: int | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """The sorted keys of a table, and how the requests are distributed over them.

    Attributes:
        characters: a row of bytes for each key.
        shares: of each key; their sum is 1.
        restart: the minutes after which the time at the start of the keys changes, and all requests reach one partition again.
        below: the sum of the shares of the keys before each key, and of all.
    """

    characters: Array
    shares: Array
    restart: int | None = None
    below: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "below", np.concatenate(([0.0], np.cumsum(self.shares))))


Bounds: TypeAlias = tuple[int, int]


class Ranges(Protocol):
    """Sorted keys and the requests for each range of them."""

    def load(self, bounds: Bounds) -> tuple[float, Traffic]:
        """Return a traffic, and the share of it that a range of keys gets."""

    def parts(self, bounds: Bounds, store: StoreModel, minute: int) -> Sequence[Bounds]:
        """Return the ranges into which a range is divided at a minute; none if all its keys are the same."""


class Lifetime(NamedTuple):
    """A partition: a range of keys with a share of a traffic, from a minute until before another one."""

    bounds: Bounds
    share: float
    traffic: Traffic
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MinuteCounts:
    """Errors and numbers of partitions, by minute."""

    errors: Array
    partitions: Array


def simulated(keys: Keys, store: StoreModel, traffic: Traffic, start: int) -> MinuteCounts:
    """Return what happens from a minute on, at which all keys are one partition."""
    ranges, whole = _Shares(keys, traffic), (0, len(keys.shares))
    periods = pairwise(_restarts(keys.restart, traffic.minutes, start))
    every = (lifetimes(ranges, whole, store, begin, end) for begin, end in periods)
    return minute_counts(chain.from_iterable(every), traffic.minutes, partial(_add_errors, limit=store.limit))


def minute_counts(
    every: Iterable[Lifetime], minutes: int, add_errors: Callable[[Array, Lifetime], None]
) -> MinuteCounts:
    """Return the errors and the number of partitions in each minute.

    Args:
        add_errors: adds the errors of a partition to those of the minutes.
    """
    errors, changes = np.zeros(minutes), np.zeros(minutes + 1, dtype=np.int64)
    for lifetime in every:
        changes[lifetime.start] += 1
        changes[lifetime.end] -= 1
        add_errors(errors, lifetime)
    return MinuteCounts(errors, np.cumsum(changes[:-1]))


def _add_errors(errors: Array, lifetime: Lifetime, limit: float) -> None:
    _, share, traffic, start, end = lifetime
    minutes = start + np.flatnonzero(traffic.peaks[start:end] * share > limit)
    if len(minutes):
        above = np.maximum(traffic.rates[minutes] * share - limit, 0)
        errors[minutes] += above.sum(axis=1) * traffic.step_seconds


def _restarts(period: int | None, minutes: int, start: int) -> list[int]:
    """Return the minutes at which all keys are one partition, and the end. Days begin at midnight, where the backfill ends."""
    changes = range(BACKFILL % period, minutes, period) if period else ()
    return [start, *(change for change in changes if change > start), minutes]


def lifetimes(ranges: Ranges, bounds: Bounds, store: StoreModel, start: int, end: int) -> Iterator[Lifetime]:
    """Yield the partitions of a range of keys in a period, at whose start it is one."""
    share, traffic = ranges.load(bounds)
    while start < end:
        divided = _divided(share, store, traffic, start, end)
        parts = ranges.parts(bounds, store, divided) if divided < end else ()
        if not parts:
            yield Lifetime(bounds, share, traffic, start, end)
            return
        yield Lifetime(bounds, share, traffic, start, divided)
        start = end if store.merge_after is None else _merged(share, store, traffic, divided, end)
        for part in parts:
            yield from lifetimes(ranges, part, store, divided, start)


def _divided(share: float, store: StoreModel, traffic: Traffic, start: int, end: int) -> int:
    """Return the minute from which on a range is divided, or `end`."""
    hot = store.trigger * store.limit
    count = 0
    for begin, stop in _spans(start, end):
        means = traffic.means[begin:stop]
        if means.max() * share <= hot:
            count = max(0, count - len(means))
            continue
        walk = count + np.cumsum(np.where(means * share > hot, 1, -1))
        counts = walk - np.minimum(np.minimum.accumulate(walk), 0)
        if counts.max() >= store.delay:
            return begin + int(np.argmax(counts >= store.delay)) + 1
        count = counts[-1]
    return end


def _merged(share: float, store: StoreModel, traffic: Traffic, divided: int, end: int) -> int:
    """Return the minute from which on the parts of a range are one again, or `end`."""
    last = divided - 1
    for begin, stop in _spans(divided, end):
        minutes = np.arange(begin, stop)
        busy = traffic.means[begin:stop] * share > _IDLE * store.limit
        latest = np.maximum.accumulate(np.where(busy, minutes, last))
        idle = minutes - latest >= store.merge_after
        if idle.any():
            return begin + int(np.argmax(idle)) + 1
        last = latest[-1]
    return end


def _spans(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive periods, each twice as long as the one before: the cost of a search is linear in the distance."""
    length = DAY
    while start < end:
        yield start, min(start + length, end)
        start += length
        length *= 2


class _Shares:
    """Keys whose shares of the requests do not change."""

    def __init__(self, keys: Keys, traffic: Traffic) -> None:
        self._keys, self._traffic = keys, traffic

    def load(self, bounds: Bounds) -> tuple[float, Traffic]:
        """Return the share of a range of keys."""
        low, high = bounds
        return float(self._keys.below[high] - self._keys.below[low]), self._traffic

    def parts(self, bounds: Bounds, store: StoreModel, _minute: int) -> Sequence[Bounds]:
        """Return the parts of a range, which are the same at any time."""
        return _parts(self._keys, bounds, store.split)


def _parts(keys: Keys, bounds: tuple[int, int], split: Split) -> Sequence[tuple[int, int]]:
    """Return the ranges into which a range is divided; none if all its keys are the same."""
    low, high = bounds
    if high - low < 2:
        return ()
    if split is Split.RANGE:
        below = keys.below[low : high + 1]
        middle = low + int(np.searchsorted(below, (below[0] + below[-1]) / 2))
        return tuple(pairwise((low, min(max(middle, low + 1), high - 1), high)))
    # The keys are sorted and differ: the first and the last have the longest prefix that is common to all.
    depth = np.argmax(keys.characters[low] != keys.characters[high - 1])
    column = keys.characters[low:high, depth]
    cuts = low + 1 + np.flatnonzero(column[1:] != column[:-1])
    return tuple(pairwise((low, *cuts.tolist(), high)))
