"""The model of partitions, against a slow one that counts second by second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from glacierbase.capabilities.load.partitions import StoreModel, simulated
from glacierbase.capabilities.load.schemes import keys_of
from glacierbase.capabilities.load.simulation import Split
from glacierbase.capabilities.load.traffic import Traffic

# Weights in parts of 64, so that sums of shares are exact.
TEXTS = {"12": 8, "123": 4, "1290": 4, "13": 8, "2": 16, "20": 1, "21": 3, "9": 4, "91": 4, "95": 12}
LIMIT = 100.0
MINUTES = 7 * 60


@dataclass
class Partition:
    """A range of keys: hot minutes while it is one, idle minutes while it is divided."""

    texts: Sequence[str]
    parts: list[Partition] = field(default_factory=list)
    hot: int = 0
    idle: int = 0

    @property
    def share(self) -> float:
        return sum(TEXTS[text] for text in self.texts) / 64

    def leaves(self) -> Iterator[Partition]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def end_minute(self, mean: float, store: StoreModel) -> None:
        """Count the minute; then merge or split."""
        load = mean * self.share
        if self.parts:
            for part in self.parts:
                part.end_minute(mean, store)
            self.idle = self.idle + 1 if load <= store.limit / 2 else 0
            is_flat = not any(part.parts for part in self.parts)
            if store.merge_after is not None and self.idle >= store.merge_after and is_flat:
                self.parts, self.hot = [], 0
            return
        self.hot = self.hot + 1 if load > store.trigger * store.limit else max(0, self.hot - 1)
        if self.hot >= store.delay:
            self.parts = [Partition(texts) for texts in divided(self.texts, store.split)]
            self.idle = 0


def divided(texts: Sequence[str], split: Split) -> list[list[str]]:
    """Return the keys of the parts; none if there is only one key."""
    if len(texts) == 1:
        return []
    if split is Split.RANGE:
        total, below = sum(TEXTS[text] for text in texts), 0
        for count, text in enumerate(texts, start=1):
            below += TEXTS[text]
            if 2 * below >= total or count == len(texts) - 1:
                return [list(texts[:count]), list(texts[count:])]
    length = 0
    while True:
        by_prefix: dict[str, list[str]] = {}
        for text in texts:
            by_prefix.setdefault(f"{text}/"[: length + 1], []).append(text)
        if len(by_prefix) > 1:
            return list(by_prefix.values())
        length += 1


def slow(store: StoreModel, rates: Sequence[Sequence[float]], restart: int | None) -> tuple[list[float], list[int]]:
    """Return the errors and the number of partitions of each minute."""
    errors, counts = [], []
    root = Partition(sorted(TEXTS, key=lambda text: f"{text}/"))
    for minute, steps in enumerate(rates):
        if restart and minute % restart == 0:
            root = Partition(root.texts)
        wrong, total = 0.0, 0.0
        leaves = list(root.leaves())
        for second in range(60):
            rate = steps[second * len(steps) // 60]
            total += rate
            wrong += sum(max(0.0, rate * leaf.share - store.limit) for leaf in leaves)
        errors.append(wrong)
        counts.append(len(leaves))
        root.end_minute(total / 60, store)
    return errors, counts


def rates_of(seed: int) -> np.ndarray:
    """Return rates in whole numbers: a wave over the limit of all keys, with noise and a burst."""
    random = np.random.default_rng(seed)
    wave = 90 + 80 * np.sin(np.arange(MINUTES) / 60)
    wave[100:180] *= 6
    return np.round(wave[:, None] * random.uniform(0.7, 1.3, (MINUTES, 2)))


@pytest.mark.parametrize("restart", [None, 180])
@pytest.mark.parametrize("merge_after", [None, 60, 25])
@pytest.mark.parametrize("split", Split)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_count_second_by_second_agrees(
    seed: int, split: Split, merge_after: int | None, restart: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors and partitions are the same in each minute, with and without merging, and where keys begin with a time."""
    monkeypatch.setattr("glacierbase.capabilities.load.partitions.DAY", 16)  # Several spans are searched.
    store = StoreModel(LIMIT, split, trigger=0.9, delay=20, merge_after=merge_after)
    rates = rates_of(seed)
    errors, counts = slow(store, rates.tolist(), restart)
    keys = keys_of(list(TEXTS), np.array(list(TEXTS.values())) / 64, restart)
    outcome = simulated(keys, store, Traffic(rates, 0, (0, 0)), 0)
    assert outcome.partitions.tolist() == counts
    np.testing.assert_allclose(outcome.errors, errors, rtol=1e-12, atol=1e-9)
    assert sum(errors) > 0
    assert len(set(counts)) > 2


def test_a_partition_with_one_key_is_never_split() -> None:
    """All requests of one id reach one partition, however hot it is."""
    rates = np.full((MINUTES, 1), 250.0)
    outcome = simulated(keys_of(["7"], np.ones(1)), StoreModel(LIMIT), Traffic(rates, 0, (0, 0)), 0)
    assert outcome.partitions.max() == 1
    assert outcome.errors.tolist() == [150.0 * 60] * MINUTES
