"""The results of `layout simulate`: runs, how much they depend on what is assumed, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from glacierbase.capabilities.load.trace import LogComparison
from glacierbase.model.amounts import exponential, percent, rate_text, significant
from glacierbase.model.result import StandaloneResult
from glacierbase.model.text import Line, Mark, counted, table


class Split(str, Enum):
    """How a partition is split: into a part for each next character, or into two at its median key."""

    CHARACTER = "character"
    RANGE = "range"

    __str__ = str.__str__


# Schemes in a table of the sensitivity: its lines have at most 100 characters.
_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class PeriodLoad:
    """The requests of a period, and how many of them the store answered with 503.

    Attributes:
        rate: errors by requests; 0 without errors.
        nines: -log10 of the rate; None without errors, which is not a rate of 0.
    """

    requests: int
    errors: int
    rate: float
    nines: float | None

    @classmethod
    def of(cls, requests: float, errors: float) -> PeriodLoad:
        """Return the load with these numbers, which are rounded."""
        whole, wrong = round(requests), round(errors)
        rate = significant(wrong / whole, 4) if whole else 0.0
        return cls(whole, wrong, rate, round(-math.log10(rate), 2) if rate else None)


@dataclass(frozen=True, slots=True)
class Hour:
    """An hour of a run.

    Attributes:
        hour: from the start of the first day that counts; negative in the days before it.
        partitions: the highest number in this hour.
    """

    hour: int
    errors: int
    partitions: int


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """The simulation of one key scheme.

    Attributes:
        scheme: such as `hash`, or the name of a table.
        split: see `Split`.
        warm: whether a backfill has divided the partitions before.
        steady: the days that count, without the burst.
        burst: the hours of the burst.
        first_character_max_min: the share of the most frequent first character by that of the least frequent one that occurs;
            None where keys begin with the time.
        first_characters: the share of the requests by the first character that varies; `time` if the key begins with it.
        partitions: the highest number of partitions with requests at one time in the days that count.
        timeline: the hours with errors, and those with another number of partitions than the hour before, in order.
    """

    scheme: str
    split: Split
    warm: bool
    steady: PeriodLoad
    burst: PeriodLoad
    first_character_max_min: float | None
    first_characters: dict[str, float]
    partitions: int
    timeline: tuple[Hour, ...]


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The result for one scheme if one assumption is another: `trigger` is `80 %`."""

    assumption: str
    value: str
    scheme: str
    steady: PeriodLoad
    burst: PeriodLoad


@dataclass(frozen=True, slots=True)
class Simulation(StandaloneResult):
    """What the model of an object store answers to a load, for several key schemes, or to the requests of a log.

    Attributes:
        days: those that count; None of a log.
        seed: None of a log.
        assumptions: what is modelled, and what is unknown, in sentences.
        trace: the log; None of a load for key schemes. A log has no runs.
        written: the paths of the page and the pictures.
    """

    days: int | None
    seed: int | None
    runs: tuple[SimulatedRun, ...]
    sensitivity: tuple[SensitivityRow, ...]
    assumptions: tuple[str, ...]
    trace: LogComparison | None = None
    written: tuple[str, ...] = ()

    def lines(self) -> Sequence[Line]:
        """Return the runs and the sensitivity, or the log and its predictions; and the assumptions."""
        shown = self.trace.text() if self.trace else self._simulated()
        files = [f"written: {', '.join(self.written)}"] if self.written else []
        return [*shown, "", Mark("assumptions"), *(f"- {sentence}" for sentence in self.assumptions), *files]

    def _simulated(self) -> Sequence[Line]:
        return [
            *self._periods(),
            "",
            *table(_RUN_HEADER, map(_run_row, self.runs)),
            *_RUN_LEGEND,
            "",
            Mark("if one assumption is another: 503s in the steady state, in the burst; split by character, cold"),
            *_sensitivity_tables(self.sensitivity),
        ]

    def _periods(self) -> Iterator[Line]:
        first = self.runs[0]
        yield (
            f"{counted(self.days or 0, 'day')}, seed {self.seed}: {first.steady.requests:,} requests in the steady state, "
            f"{first.burst.requests:,} in the burst"
        )


_RUN_HEADER = (
    "scheme", "split by", "start", "503s", "rate", "nines", "in burst", "of it", "partitions", "max/min",
)  # fmt: skip

_RUN_LEGEND = (
    "503s, rate, nines: of the steady state; in burst, of it: 503s of the burst, and their share",
    "partitions: the most at a time; max/min: requests of the most and least frequent first character",
)


def _run_row(run: SimulatedRun) -> tuple[str, ...]:
    nines, ratio = run.steady.nines, run.first_character_max_min
    return (
        run.scheme,
        run.split,
        "warm" if run.warm else "cold",
        f"{run.steady.errors:,}",
        rate_text(run.steady.rate, run.steady.requests),
        "" if nines is None else f"{nines:.1f}",
        f"{run.burst.errors:,}",
        _share(run.burst),
        f"{run.partitions:,}",
        "" if ratio is None else f"{ratio:.2f}",
    )


def _sensitivity_tables(rows: Sequence[SensitivityRow]) -> Iterator[Line]:
    """Yield a line for each value of an assumption, and a column for each scheme: so many tables that each fits on a screen."""
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        cells.setdefault((row.assumption, row.value), {})[row.scheme] = f"{_short(row.steady)}, {_share(row.burst)}"
    for start in range(0, len(schemes), _COLUMNS):
        names = schemes[start : start + _COLUMNS]
        body = ((*place, *(texts[name] for name in names)) for place, texts in cells.items())
        yield from ("", *table(("assumption", "value", *names), body))


def _short(load: PeriodLoad) -> str:
    return exponential(load.rate) if load.errors else "0"


def _share(load: PeriodLoad) -> str:
    return percent(load.rate, 2) if load.errors else "0"
