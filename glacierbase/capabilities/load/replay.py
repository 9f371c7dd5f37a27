"""`layout simulate --trace`: the 503s that the model of partitions predicts for the requests of server access logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain, groupby, pairwise, product
from pathlib import Path
from typing import Any

from glacierbase.capabilities.load.access_log import AccessLog, Request
from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.log_traffic import LogTraffic, common_prefix, counted_traffic
from glacierbase.capabilities.load.partitions import Bounds, Lifetime, StoreModel, lifetimes, minute_counts
from glacierbase.capabilities.load.simulate import MOST_PARTITIONS, SimulationInputs
from glacierbase.capabilities.load.simulation import Simulation, Split
from glacierbase.capabilities.load.trace import LogComparison, Observed, ObservedHour, Prediction
from glacierbase.capabilities.load.traffic import BACKFILL, BACKFILL_FACTOR, Array, Traffic
from glacierbase.errors import ConfigurationError
from glacierbase.layout.providers import CUSTOM, Provider
from glacierbase.model.amounts import percent, significant
from glacierbase.model.arguments import option_of
from glacierbase.model.text import counted
from glacierbase.run import activity

np = required("numpy")

_MINUTE, _HOUR = 60, 3600
# The options that say what is assumed of the store; the others make a load.
_OF_STORE = ("provider", "put_limit", "trigger", "delay", "merge_after")


def replay(paths: Sequence[str | Path], options: Mapping[str, Any]) -> Simulation:
    """Return what the model answers to the requests of logs.

    Args:
        paths: files, plain or gzip, and folders.
        options: of the command that the caller set, by the names of `SimulationInputs`.

    Raises:
        ConfigurationError: as `replayed`; `INVALID_VALUE`; `CONFLICTING_OPTIONS`: an option makes a load.
    """
    if others := [option_of({"schemes": "scheme"}.get(name, name)) for name in options if name not in _OF_STORE]:
        what = f"--trace replays the requests of a log; {', '.join(others)} would make others"
        raise ConfigurationError("CONFLICTING_OPTIONS", what, f"leave out --trace, or {' and '.join(others)}")
    inputs = SimulationInputs(**options)
    limits = inputs.limits()
    trace = replayed(paths, inputs.store(), limits.put_per_second / limits.get_per_second)
    return Simulation(None, None, (), (), tuple(_assumed(inputs, limits)), trace)


def replayed(paths: Sequence[str | Path], store: StoreModel, read_weight: float) -> LogComparison:
    """Return what a log shows, and what the model predicts for its requests.

    Args:
        store: its limit is of writes.
        read_weight: how much of the limit a read takes, in writes.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`, `TRACE_TOO_LONG`; `TRACE_EMPTY`: there is no request for an object; `INVALID_VALUE`:
            the limit is too low for the log.
    """
    log, hours = AccessLog(paths), _Hours()
    traffic = counted_traffic(hours.counted(log))
    if not len(traffic.seconds):
        raise _without_requests(log)
    with activity.doing("computing the 503s of the model"):
        ranges = _LoggedRanges(traffic, read_weight)
        _check_limit(ranges.busiest_hour(), store.limit)
        predicted = tuple(
            _predicted(ranges, replace(store, split=split), is_warm, hours.numbers)
            for split, is_warm in product(Split, (False, True))
        )
    writes, reads = (round(float(counts.sum())) for counts in (traffic.writes, traffic.reads))
    return LogComparison(
        lines=log.lines,
        damaged=log.damaged,
        damaged_lines=tuple(log.examples),
        not_replayed=log.not_replayed,
        requests=writes + reads,
        writes=writes,
        reads=reads,
        first=_time(traffic.seconds[0]),
        last=_time(traffic.seconds[-1]),
        buckets=tuple(bucket.decode(errors="backslashreplace") for bucket, _ in ranges.buckets),
        prefixes=len(traffic.prefixes),
        observed=hours.in_all(),
        predicted=predicted,
        hours=hours.observed(),
    )


def _without_requests(log: AccessLog) -> ConfigurationError:
    what = f"the log has no request for an object: {counted(log.lines, 'line')}, {log.damaged:,} damaged"
    if log.examples:
        first = log.examples[0]
        what += f"; {first.path}, line {first.line}: {first.why}"
    return ConfigurationError("TRACE_EMPTY", what, "pass files of S3 server access logs")


def _check_limit(load: float, limit: float) -> None:
    if load > MOST_PARTITIONS * limit:
        what = f"the busiest hour of the log has {load:,.0f} requests per second, for which a limit of {limit:g} is too low"
        hint = f"--provider {CUSTOM} --put-limit {load / MOST_PARTITIONS:.0f}"
        raise ConfigurationError("INVALID_VALUE", f"{what}: the model has {MOST_PARTITIONS} partitions at most", hint)


def _time(second: float) -> datetime:
    return datetime.fromtimestamp(int(second), timezone.utc)


class _Hours:
    """Counts the requests and the answers 503 by hour."""

    def __init__(self) -> None:
        self._counts: dict[int, list[int]] = {}

    def counted(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Yield the requests, and count them."""
        for request in requests:
            counts = self._counts.setdefault(request.second // _HOUR, [0, 0, 0])
            counts[0] += 1
            if request.status == b"503":
                counts[1 if request.error == b"SlowDown" else 2] += 1
            yield request

    @property
    def numbers(self) -> list[int]:
        """The hours since 1970 with requests, in order."""
        return sorted(self._counts)

    def observed(self) -> tuple[ObservedHour, ...]:
        """Return the hours, in order."""
        return tuple(ObservedHour(_time(hour * _HOUR), *self._counts[hour]) for hour in self.numbers)

    def in_all(self) -> Observed:
        """Return the sums of all hours."""
        requests, slow_down, other = map(sum, zip(*self._counts.values(), strict=True))
        return Observed(slow_down, other, significant(slow_down / requests, 4))


class _LoggedRanges:
    """The requests of a log by ranges of its prefixes, after a backfill of the same keys.

    Attributes:
        start: the second of the first minute after the backfill.
        minutes: of the backfill and the log.
        requests: their number.
        buckets: with the range of each.
    """

    def __init__(self, traffic: LogTraffic, read_weight: float) -> None:
        self._prefixes = traffic.prefixes
        self.start = int(traffic.seconds[0]) // _MINUTE * _MINUTE
        order = np.argsort(traffic.places, kind="stable")
        self._places = traffic.places[order]
        self._seconds = traffic.seconds[order] - self.start + BACKFILL * _MINUTE
        self._requests = (traffic.writes + traffic.reads)[order]
        self._load = (traffic.writes + traffic.reads * read_weight)[order]
        self.minutes = int(self._seconds.max()) // _MINUTE + 1
        self.requests = round(float(self._requests.sum()))
        self.buckets = tuple(self._of_buckets())

    def _of_buckets(self) -> Iterator[tuple[bytes, Bounds]]:
        places = groupby(range(len(self._prefixes)), lambda place: self._prefixes[place].partition(b"/")[0])
        for bucket, [*inside] in places:
            yield bucket, (inside[0], inside[-1] + 1)

    def load(self, bounds: Bounds) -> tuple[float, Traffic]:
        """Return the load of a range, in writes per second."""
        rates = self._by_second(bounds, self._load)
        seconds = (self.minutes - BACKFILL) * _MINUTE
        rates[:BACKFILL] = BACKFILL_FACTOR * rates.sum() / seconds
        return 1.0, Traffic(rates, BACKFILL, (0, 0))

    def busiest_hour(self) -> float:
        """Return the mean load of the hour with the highest one, in writes per second."""
        return float(np.bincount(self._seconds // _HOUR, self._load).max()) / _HOUR

    def _by_second(self, bounds: Bounds, values: Array) -> Array:
        inside = slice(*np.searchsorted(self._places, bounds))
        counts = np.bincount(self._seconds[inside], values[inside], self.minutes * _MINUTE)
        return counts.reshape(self.minutes, _MINUTE)

    def parts(self, bounds: Bounds, store: StoreModel, minute: int) -> Sequence[Bounds]:
        """Return the parts by the load in the minutes that count for a split; in the backfill, by the load of all keys."""
        low, high = bounds
        inside = slice(*np.searchsorted(self._places, bounds))
        since = minute - store.delay
        counts = (self._seconds[inside] >= since * _MINUTE) & (self._seconds[inside] < minute * _MINUTE)
        weights = self._load[inside] * (counts if since >= BACKFILL else 1)
        loads = np.bincount(self._places[inside] - low, weights, high - low)
        busy = np.flatnonzero(loads)
        if len(busy) < 2:
            return ()
        if store.split is Split.RANGE:
            below = np.cumsum(loads)
            middle = int(np.searchsorted(below, below[-1] / 2)) + 1
            cuts = [low + min(max(middle, int(busy[0]) + 1), int(busy[-1]))]
        else:
            cuts = self._changes((low + busy).tolist())
        return tuple(pairwise((low, *cuts, high)))

    def _changes(self, places: Sequence[int]) -> list[int]:
        """Return the places at which the first character that differs between the prefixes changes."""
        depth = len(common_prefix(self._prefixes[places[0]], self._prefixes[places[-1]]))
        characters = [self._prefixes[place][depth : depth + 1] for place in places]
        return [place for place, (left, right) in zip(places[1:], pairwise(characters), strict=True) if left != right]

    def add_errors(self, errors: Array, lifetime: Lifetime, limit: float) -> None:
        """Add the requests above the limit in the minutes of a partition: of each second, the same part of reads and of writes."""
        traffic, start, end = lifetime.traffic, max(lifetime.start, BACKFILL), lifetime.end
        minutes = start + np.flatnonzero(traffic.peaks[start:end] > limit)
        if len(minutes):
            rates = traffic.rates[minutes]
            part = np.maximum(1 - limit / np.maximum(rates, limit), 0)
            errors[minutes] += (self._by_second(lifetime.bounds, self._requests)[minutes] * part).sum(axis=1)


def _predicted(ranges: _LoggedRanges, store: StoreModel, is_warm: bool, hours: Sequence[int]) -> Prediction:
    """Return the 503s of the model, in which each bucket has one partition at the start."""
    start = 0 if is_warm else BACKFILL
    every = (lifetimes(ranges, bounds, store, start, ranges.minutes) for _, bounds in ranges.buckets)
    counts = minute_counts(chain.from_iterable(every), ranges.minutes, partial(ranges.add_errors, limit=store.limit))
    times = (ranges.start // _MINUTE + np.arange(ranges.minutes - BACKFILL)) // (_HOUR // _MINUTE)
    by_hour = np.bincount(times - times[0], counts.errors[BACKFILL:])
    in_hours = tuple(round(float(by_hour[hour - times[0]])) for hour in hours)
    partitions, total = int(counts.partitions[BACKFILL:].max()), round(float(counts.errors.sum()))
    return Prediction(str(store.split), is_warm, total, significant(total / ranges.requests, 4), partitions, in_hours)


def _assumed(inputs: SimulationInputs, limits: Provider) -> Iterator[str]:
    """Yield what is documented, modelled and unknown."""
    yield "documented: S3 delivers access logs on a best-effort basis; records may be missing, late or twice"
    yield "retries are in the log, each as a request; a client that waited after a 503 sent less than it had to send"
    yield "unknown: which partitions there were at the first record, and how S3 splits and merges partitions"
    yield "cold: one partition for each bucket at the first record"
    yield "warm: split by a backfill of 6 h at 10 times the mean of each key before the first record"
    yield (
        f"a partition has a limit of {limits.put_per_second:,.12g} PUT, COPY, POST and DELETE, or "
        f"{limits.get_per_second:,.12g} GET and HEAD in a second ({limits.name}), which share it"
    )
    yield (
        f"a split follows {inputs.delay / 60:g} min above {percent(inputs.trigger)} of the limit, by the keys of these minutes; "
        "cooler minutes count down"
    )
    yield "not replayed, and their 503s not counted: listings, requests about a bucket, operations of S3 itself"
    yield "keys with few requests are counted by the prefix that they have in common"
    yield "a prediction near the observed number proves no model; one far from it shows that an assumption is wrong"
