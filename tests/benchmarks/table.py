"""The table: each line one figure of ours against one of a peer's or a floor's, and what the ratio was to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.measure import Failed, Sample

HEAD = """\
| measured | glacierbase | against | theirs | ratio | target | met |
| --- | --- | --- | --- | --- | --- | --- |"""


@dataclass(frozen=True)
class Figure:
    """The median of several runs and how far they lie apart.

    Attributes:
        unit: of all values: `s`, `bytes`, or what is counted.
    """

    value: float
    low: float
    high: float
    runs: int
    unit: str

    @classmethod
    def of(cls, values: Sequence[float], unit: str = "s") -> Figure:
        return cls(median(values), min(values), max(values), len(values), unit)

    @classmethod
    def limit(cls, value: float, unit: str = "s") -> Figure:
        """A figure that was not measured but set."""
        return cls(value, value, value, 0, unit)

    def __str__(self) -> str:
        unit, factor, digits = _shown_as(self.unit, self.value)
        value, low, high = (f"{each * factor:,.{digits}f}" for each in (self.value, self.low, self.high))
        if self.runs < 2:
            return f"{value} {unit}" + (", 1 run" if self.runs else "")
        return f"{value} {unit} ({low}–{high}), {self.runs} runs"


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        at_most: the required ratio, or None.
    """

    what: str
    ours: Figure
    against: str
    theirs: Figure
    at_most: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours.value / self.theirs.value

    def __str__(self) -> str:
        target, met = "", ""
        if self.at_most is not None:
            target, met = f"≤ {self.at_most:g}", "yes" if self.ratio <= self.at_most else "**no**"
        return _line(self.what, self.ours, self.against, self.theirs, f"{self.ratio:.3g}", target, met)


@dataclass(frozen=True)
class Absent:
    """A line for what could not be measured, and why."""

    what: str
    against: str
    why: str

    def __str__(self) -> str:
        return _line(self.what, "", self.against, self.why, "", "", "")


Samples = list[Sample] | Failed


def seconds(samples: Sequence[Sample]) -> Figure:
    """How long the runs took."""
    return Figure.of([sample.seconds for sample in samples])


def worked(samples: Sequence[Sample]) -> Figure:
    """How much processor time they took, which depends less on what else the machine does."""
    return Figure.of([sample.worked for sample in samples])


def peak(samples: Sequence[Sample]) -> Figure:
    """How much memory they needed."""
    return Figure.of([sample.peak for sample in samples], "bytes")


def compared(
    what: str,
    ours: Samples,
    against: str,
    theirs: Samples,
    at_most: float | None = None,
    figure: Callable[[Sequence[Sample]], Figure] = seconds,
) -> Row | Absent:
    """The line for two series of runs, by what `figure` makes of each."""
    if isinstance(ours, Failed):
        return Absent(what, against, f"failed: {ours}")
    if isinstance(theirs, Failed):
        return Absent(what, against, f"failed: {theirs}")
    return Row(what, figure(ours), against, figure(theirs), at_most)


def _line(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', '¦') for cell in cells)} |"


def _shown_as(unit: str, value: float) -> tuple[str, float, int]:
    """Return the unit for the reader, the factor to it, and the number of decimals."""
    if unit == "bytes":
        return "MiB", 2**-20, 0
    if unit != "s":
        return unit, 1, 0
    return ("ms", 1000, 0 if value >= 0.02 else 1) if value < 1 else ("s", 1, 2)
