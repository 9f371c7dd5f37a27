"""A replayed log: what the model predicts for its requests, against an independent model that wrote the log."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from glacierbase.capabilities.load.partitions import StoreModel
from glacierbase.capabilities.load.replay import replay, replayed
from glacierbase.capabilities.load.simulation import Split
from glacierbase.capabilities.load.trace import LogComparison
from glacierbase.errors import GlacierbaseError
from glacierbase.model.codec import to_json
from glacierbase.model.printable import printable
from tests.support.accesslogs import record

NOON = 1_764_072_000
LIMIT, DELAY, MINUTES = 4, 3, 70
STORE = StoreModel(LIMIT, delay=DELAY)
IDS = [f"id={number}/{letter}" for number in range(10, 16) for letter in "ab"]


@dataclass
class Partition:
    """The keys from `low` on, and the minutes that they were hot."""

    low: str
    hot: int = 0


class SlowStore:
    """An object store that answers second by second, and splits its partitions after each minute."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self.partitions, self._lows = [Partition("")], [""]
        self._recent: list[list[str]] = []

    def _of(self, key: str) -> Partition:
        return self.partitions[bisect_right(self._lows, key) - 1]

    def answer_minute(self, seconds: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
        """Yield the key and the status of each request; what is above the limit of a second is answered with 503."""
        for keys in seconds:
            used: dict[str, int] = {}
            for key in keys:
                low = self._of(key).low
                used[low] = used.get(low, 0) + 1
                yield key, 200 if used[low] <= LIMIT else 503
        self._recent = [*self._recent, [key for keys in seconds for key in keys]][-DELAY:]
        for partition in list(self.partitions):
            mean = sum(self._of(key) is partition for key in self._recent[-1]) / 60
            partition.hot = partition.hot + 1 if mean > STORE.trigger * LIMIT else max(0, partition.hot - 1)
            if partition.hot >= DELAY:
                self._split_up(
                    partition, sorted(key for keys in self._recent for key in keys if self._of(key) is partition)
                )

    def _split_up(self, partition: Partition, keys: Sequence[str]) -> None:
        names = sorted(set(keys))
        if len(names) < 2:
            return
        depth = next(at for at, (left, right) in enumerate(zip(names[0], names[-1], strict=False)) if left != right)
        if self._split is Split.CHARACTER:
            lows = [name for before, name in pairwise(names) if before[: depth + 1] != name[: depth + 1]]
        else:
            middle = names.index(keys[-(-len(keys) // 2) - 1]) + 1
            lows = [names[min(max(middle, 1), len(names) - 1)]]
        self.partitions.remove(partition)
        self.partitions = sorted(
            [*self.partitions, Partition(partition.low), *map(Partition, lows)], key=lambda one: one.low
        )
        self._lows = [one.low for one in self.partitions]


def load(rng: random.Random, minute: int) -> Iterator[list[str]]:
    """Yield the keys of each second: of one day, then of the next, more and more of them."""
    day = "d=1" if minute < MINUTES // 2 else "d=2"
    for second in range(60):
        count = 3 + minute % (MINUTES // 2) // 3 + (second % 7 == 0)
        yield [f"{day}/{rng.choice(IDS)}" for _ in range(count)]


def log_of(split: Split, path: Path) -> tuple[int, int]:
    """Write the log of a store; return its answers 503 and the highest number of its partitions."""
    rng, store, errors, partitions = random.Random(7), SlowStore(split), 0, 1
    lines = []
    for minute in range(MINUTES):
        seconds = list(load(rng, minute))
        answers = iter(list(store.answer_minute(seconds)))
        for second, keys in enumerate(seconds):
            for key, status in (next(answers) for _ in keys):
                errors += status == 503
                code = "SlowDown" if status == 503 else "-"
                lines.append(record(key, NOON + minute * 60 + second, status=status, error=code))
        if minute < MINUTES - 1:
            partitions = max(partitions, len(store.partitions))
    rng.shuffle(lines)  # Records appear in no particular order.
    path.write_text("".join(lines))
    return errors, partitions


@pytest.mark.parametrize("split", list(Split))
def test_the_prediction_of_the_model_that_wrote_the_log_is_exact(split: Split, tmp_path: Path) -> None:
    """The 503s of the log, of each of its hours, and the number of partitions are those of the cold prediction."""
    errors, partitions = log_of(split, tmp_path / "log")
    trace = replayed([tmp_path / "log"], STORE, read_weight=1)
    [prediction] = [one for one in trace.predicted if one.split == split and not one.warm]
    assert errors > 500
    assert trace.observed.slow_down == prediction.errors == errors
    assert prediction.hours == tuple(hour.slow_down for hour in trace.hours)
    assert prediction.partitions == partitions > 3
    others = [one.errors for one in trace.predicted if one is not prediction]
    assert errors not in others


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(lines))
    return path


def errors_of(trace: LogComparison) -> list[int]:
    """Return the predictions: by character cold and warm, by range cold and warm."""
    return [prediction.errors for prediction in trace.predicted]


def test_each_bucket_has_partitions_of_its_own(tmp_path: Path) -> None:
    """Two buckets with four requests a second each stay at the limit of four; one bucket with eight does not."""
    times = [(NOON + second, name) for second in range(60) for name in "abcd"]
    two = [record(name, time, bucket=bucket) for time, name in times for bucket in ("lake", "pond")]
    one = [record(name, time) for time, name in times * 2]
    log = written(tmp_path / "two", *two)
    assert errors_of(replayed([log], STORE, 1)) == [0, 0, 0, 0]
    assert replayed([log], STORE, 1).buckets == ("lake", "pond")
    assert errors_of(replayed([written(tmp_path / "one", *one)], STORE, 1))[0] == 240


def test_a_read_takes_its_part_of_the_limit(tmp_path: Path) -> None:
    """Eight reads a second are four writes if a read counts half; of reads and writes above the limit, each gets its part."""
    reads = [record("a", NOON + second, operation="REST.GET.OBJECT") for second in range(60)] * 8
    log = written(tmp_path / "log", *reads)
    assert errors_of(replayed([log], STORE, 0.5)) == [0, 0, 0, 0]
    assert errors_of(replayed([log], STORE, 1))[0] == 240
    mixed = written(tmp_path / "mixed", *reads, *[record("a", NOON + second) for second in range(60)] * 4)
    trace = replayed([mixed], STORE, 0.5)
    assert (trace.requests, trace.writes, trace.reads, errors_of(trace)[0]) == (720, 240, 480, 360)


def test_warm_partitions_take_a_load_that_cold_ones_refuse(tmp_path: Path) -> None:
    """A burst over twelve keys, before any partition was split."""
    lines = [record(key, NOON + second) for second in range(60) for key in IDS]
    cold, warm, *_ = errors_of(replayed([written(tmp_path / "log", *lines)], STORE, 1))
    assert (cold, warm) == (60 * 8, 0)


def test_503s_of_other_causes_are_kept_apart(tmp_path: Path) -> None:
    """SlowDown is the store's limit; ServiceUnavailable may have any cause. Requests about a bucket do not count."""
    log = written(
        tmp_path / "log",
        record("a", NOON, status=503, error="SlowDown"),
        record("a", NOON + 3600, status=503, error="ServiceUnavailable"),
        record("a", NOON + 3600, status=500, error="InternalError"),
        record("-", NOON, status=503, error="SlowDown", operation="REST.GET.BUCKET"),
        "damaged\n",
    )
    trace = replayed([log], STORE, 1)
    assert (trace.observed.slow_down, trace.observed.other, trace.observed.rate) == (1, 1, 0.3333)
    assert [(hour.requests, hour.slow_down, hour.other) for hour in trace.hours] == [(1, 1, 0), (2, 0, 1)]
    assert (trace.lines, trace.damaged, trace.not_replayed, trace.requests) == (5, 1, 1, 3)


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    """A log cannot move the cursor of a terminal by a bucket, a key, or its own name."""
    log = written(
        tmp_path / "log\x1b[2J", record("a\x1b[31m\n::error::", NOON, bucket="lake\x1b[31m"), "\x1b[31m damaged\n"
    )
    simulation = replay([log], {})
    text = printable(simulation.lines())
    assert "\x1b" not in text
    assert "lake\\x1b[31m" in text
    json.dumps(to_json(simulation))


@pytest.mark.parametrize("option", ["schemes", "days", "seed", "ids", "put_per_second", "burst_hours"])
def test_options_of_a_load_are_refused(option: str, tmp_path: Path) -> None:
    """The load is that of the log."""
    with pytest.raises(GlacierbaseError) as caught:
        replay([tmp_path], {option: 1, "trigger": 0.9})
    assert caught.value.code == "CONFLICTING_OPTIONS"
    assert f"--{option.replace('schemes', 'scheme').replace('_', '-')} would" in caught.value.message


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    """The message says how much was read, and what is wrong with the first line."""
    with pytest.raises(GlacierbaseError) as caught:
        replay([written(tmp_path / "README.md", "# A project\n", "\n", "text\n")], {})
    assert caught.value.code == "TRACE_EMPTY"
    assert "2 lines, 2 damaged" in caught.value.message
    assert "README.md, line 1" in caught.value.message


def test_a_limit_that_is_too_low_for_the_log_is_refused(tmp_path: Path) -> None:
    """A model of thousands of partitions would take hours."""
    log = written(tmp_path / "log", *[record(f"{number}", NOON) for number in range(500)])
    with pytest.raises(GlacierbaseError) as caught:
        replay([log], {"provider": "custom", "put_limit": 0.001})
    assert caught.value.code == "INVALID_VALUE"
