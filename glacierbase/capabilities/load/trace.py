"""What server access logs show and what the model predicts for the same requests: values and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from glacierbase.capabilities.load.access_log import DamagedLine
from glacierbase.model.amounts import rate_text
from glacierbase.model.text import Cell, Line, Mark, first_of, table, time_of

# The hours that the text shows: those with the most 503s.
_MOST_HOURS = 24
_MOST_BUCKETS = 5


@dataclass(frozen=True, slots=True)
class Observed:
    """The answers 503 in a log.

    Attributes:
        slow_down: with the error code SlowDown.
        other: with another code, such as ServiceUnavailable.
        rate: of `slow_down` by requests.
    """

    slow_down: int
    other: int
    rate: float


@dataclass(frozen=True, slots=True)
class ObservedHour:
    """An hour in UTC with requests.

    Attributes:
        slow_down, other: as in `Observed`.
    """

    hour: datetime
    requests: int
    slow_down: int
    other: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model answers to the requests of a log.

    Attributes:
        split, warm: as in a run of a simulation. Warm: a backfill of the same keys has split the partitions before.
        errors: 503s.
        rate: by requests.
        partitions: the highest number at one time.
        hours: the 503s in each of the hours of the trace.
    """

    split: str
    warm: bool
    errors: int
    rate: float
    partitions: int
    hours: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogComparison:
    """A log, and the predictions for it.

    Attributes:
        lines: that were read.
        damaged: lines that are no record; `damaged_lines` are the first of them.
        not_replayed: records of no object, and of operations of S3 itself.
        requests: that were replayed: `writes` and `reads`.
        prefixes: to which the keys were reduced.
        hours: those with requests, in order.
    """

    lines: int
    damaged: int
    damaged_lines: tuple[DamagedLine, ...]
    not_replayed: int
    requests: int
    writes: int
    reads: int
    first: datetime
    last: datetime
    buckets: tuple[str, ...]
    prefixes: int
    observed: Observed
    predicted: tuple[Prediction, ...]
    hours: tuple[ObservedHour, ...]

    def text(self) -> Iterator[Line]:
        """Yield what was read, the comparison in all, and by hour."""
        yield from self._read()
        yield ""
        yield from table(("", "503s", "rate", "partitions"), self._rows())
        errors = [prediction.errors for prediction in self.predicted]
        yield f"observed: {self.observed.slow_down:,}; predicted: from {min(errors):,} to {max(errors):,}"
        if hours := self._hours():
            yield ""
            yield Mark("503s by hour")
            yield from table(("hour", "requests", "Slow Down", "other", *map(_name, self.predicted)), hours)

    def _read(self) -> Iterator[Line]:
        yield (
            f"{self.requests:,} requests ({self.writes:,} writes, {self.reads:,} reads) of "
            f"{first_of(self.buckets, _MOST_BUCKETS)}, from {time_of(self.first)} to {time_of(self.last)}"
        )
        yield (
            f"{self.lines:,} lines: {self.damaged:,} damaged, {self.not_replayed:,} not replayed; "
            f"the keys are reduced to {self.prefixes:,} prefixes"
        )
        for line in self.damaged_lines:
            yield f"damaged: {line.path}:{line.line}: {line.why}"

    def _rows(self) -> Iterator[Sequence[Cell]]:
        observed = self.observed
        yield "observed: 503 Slow Down", f"{observed.slow_down:,}", rate_text(observed.rate, self.requests), ""
        yield "observed: other 503", f"{observed.other:,}", "", ""
        for prediction in self.predicted:
            yield (
                f"predicted: split by {_name(prediction)}",
                f"{prediction.errors:,}",
                rate_text(prediction.rate, self.requests),
                f"{prediction.partitions:,}",
            )

    def _hours(self) -> Sequence[Sequence[Cell]]:
        """Return rows of the hours with the most 503s, in order."""
        every = [
            (hour, [prediction.hours[place] for prediction in self.predicted]) for place, hour in enumerate(self.hours)
        ]
        worst = sorted(every, key=lambda row: -max(row[0].slow_down, row[0].other, *row[1]))[:_MOST_HOURS]
        return [
            (
                f"{hour.hour:%Y-%m-%d %H:00}",
                *(f"{number:,}" for number in (hour.requests, hour.slow_down, hour.other, *errors)),
            )
            for hour, errors in sorted(worst, key=lambda row: row[0].hour)
            if any((hour.slow_down, hour.other, *errors))
        ]


def _name(prediction: Prediction) -> str:
    return f"{prediction.split}, {'warm' if prediction.warm else 'cold'}"
