"""The rate of requests over time: a daily curve with noise, one burst, and a backfill before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from glacierbase.capabilities.load.extra import required

np = required("numpy")

# An array of numpy, which has no type where it is not installed.
Array: TypeAlias = Any

DAY = 24 * 60
# Minutes before the first day, in which a backfill may divide the partitions.
BACKFILL = 6 * 60
WARM_UP_DAYS = 2
BACKFILL_FACTOR = 10
_BURST_HOUR, _PEAK_HOUR = 12, 18
# Changes of the rate in a minute: noise is correlated for as long as a step, 30 s.
_STEPS = 2


@dataclass(frozen=True, slots=True)
class Demand:
    """What is assumed of the requests.

    Attributes:
        mean: requests per second without the burst.
        peak_to_mean: of the daily curve.
        noise: standard deviation of the rate, as a part of it.
        burst: the rate in the burst, by the mean.
        burst_minutes: from noon.
        days: those that count, after `WARM_UP_DAYS`.
    """

    mean: float = 1929.0
    peak_to_mean: float = 1.9
    noise: float = 0.05
    burst: float = 10.0
    burst_minutes: int = 120
    days: int = 30


@dataclass(frozen=True, slots=True)
class Traffic:
    """The rates of a period, from the backfill on.

    Attributes:
        rates: requests per second, a row for each minute; the steps of a minute are equally long.
        first: the first minute that counts.
        burst: the first minute of the burst, and the one after its last.
        means: of each minute.
        peaks: the highest rate of each minute.
    """

    rates: Array
    first: int
    burst: tuple[int, int]
    means: Array = field(init=False)
    peaks: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", self.rates.mean(axis=1))
        object.__setattr__(self, "peaks", self.rates.max(axis=1))

    @property
    def minutes(self) -> int:
        """The number of minutes."""
        return len(self.means)

    @property
    def step_seconds(self) -> float:
        """The seconds for which a rate lasts."""
        return 60.0 / len(self.rates[0])


def noise_of(days: int, seed: int) -> Array:
    """Return standard normal noise for each step of a period."""
    return np.random.default_rng([seed, 1]).standard_normal((_minutes(days), _STEPS))


def traffic(demand: Demand, noise: Array) -> Traffic:
    """Return the traffic of a demand. In the burst and the backfill the rate is a multiple of the mean at any time of the day."""
    first = BACKFILL + WARM_UP_DAYS * DAY
    start = first + (burst_day(demand.days) - 1) * DAY + _BURST_HOUR * 60
    burst = (start, start + demand.burst_minutes)
    shape = _daily(demand.peak_to_mean)[(np.arange(_minutes(demand.days)) - BACKFILL) % DAY]
    shape[:BACKFILL] = BACKFILL_FACTOR
    shape[slice(*burst)] = demand.burst
    rates = demand.mean * shape[:, None] * np.maximum(1 + demand.noise * noise, 0)
    return Traffic(rates, first, burst)


def _minutes(days: int) -> int:
    return BACKFILL + (WARM_UP_DAYS + days) * DAY


def burst_day(days: int) -> int:
    """Return the day of the burst, from 1: day 21 of 30."""
    return max(1, days * 7 // 10)


def _daily(peak_to_mean: float) -> Array:
    """Return a smooth curve of a day, with the mean 1: exp(k cos(t)), with the k that gives the peak."""
    phase = np.cos((np.arange(DAY) / 60 - _PEAK_HOUR) * 2 * np.pi / 24)
    low, high = 0.0, 700.0  # exp(710) overflows.
    for _ in range(60):
        middle = (low + high) / 2
        if np.exp(middle * (phase - 1)).mean() * peak_to_mean > 1:
            low = middle
        else:
            high = middle
    curve = np.exp(low * (phase - 1))
    return curve / curve.mean()
