"""The plots of `layout simulate`: requests by first character; 503s and partitions over time; observed and predicted 503s."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from glacierbase.capabilities.load.plots import picture, visible
from glacierbase.capabilities.load.simulation import SimulatedRun, Simulation, Split
from glacierbase.capabilities.load.trace import LogComparison, Prediction
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import time_of

# After the palette of Okabe and Ito, which all kinds of colour vision distinguish, on white and on black. Lines differ as well.
_ERRORS, _PARTITIONS, _WARM, _OBSERVED = "#d55e00", "#1a80c4", "#e69f00", "#b3b3b3"
_WIDTH = 10.0
_COLUMNS = 3
_HEIGHT_OF_CHARACTERS, _HEIGHT_OF_TIME, _MARGIN = 2.0, 1.7, 1.1
_HEIGHT_OF_TRACE = 4.2
_LEAST_BARS, _MOST_BARS, _MOST_LABELS = 5, 64, 20
_LONGEST_NAME = 30
_HOURS = 24
_MODEL = "A model: how S3 splits partitions is not documented."


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot.

    Attributes:
        draw: draws on a figure, or a part of one.
        height: in inches.
    """

    draw: Callable[[Any], None]
    height: float


def plots_of(simulation: Simulation) -> Mapping[str, Plot]:
    """Return the plots by their titles."""
    if simulation.trace:
        trace = simulation.trace
        return {"Observed and predicted 503s": Plot(lambda figure: _draw_trace(figure, trace), _HEIGHT_OF_TRACE)}
    schemes = len(_by_scheme(simulation.runs))
    heights = -(-schemes // _COLUMNS) * _HEIGHT_OF_CHARACTERS, schemes * _HEIGHT_OF_TIME
    return {
        "Requests by first character": Plot(lambda figure: _draw_characters(figure, simulation), heights[0] + _MARGIN),
        "503s and partitions over time": Plot(lambda figure: _draw_time(figure, simulation), heights[1] + _MARGIN),
    }


def drawn(plots: Sequence[Plot], form: str) -> bytes:
    """Return plots below each other as one picture, `png` or `svg`."""
    heights = [plot.height for plot in plots]

    def draw(figure: Any) -> None:
        for plot, part in zip(
            plots, figure.subfigures(len(plots), 1, squeeze=False, height_ratios=heights).flat, strict=True
        ):
            plot.draw(part)

    return picture(draw, form, (_WIDTH, sum(heights)))


def _by_scheme(runs: Sequence[SimulatedRun]) -> dict[str, list[SimulatedRun]]:
    schemes: dict[str, list[SimulatedRun]] = {}
    for run in runs:
        schemes.setdefault(run.scheme, []).append(run)
    return schemes


def _draw_characters(figure: Any, simulation: Simulation) -> None:
    figure.suptitle("Requests by the first character that differs between keys", fontsize=12)
    schemes = _by_scheme(simulation.runs)
    rows = -(-len(schemes) // _COLUMNS)
    panels = figure.subplots(rows, min(_COLUMNS, len(schemes)), squeeze=False).flat
    for panel in panels[len(schemes) :]:
        panel.set_axis_off()
    for panel, (scheme, [run, *_]) in zip(panels, schemes.items(), strict=False):
        even = _draw_shares(panel, scheme, run)
    figure.legend([even], ["the same for each character"], loc="outside lower center", fontsize=9)


def _draw_shares(panel: Any, scheme: str, run: SimulatedRun) -> Any:
    """Draw the shares of a scheme, and return the line of an even distribution."""
    shares = _most_frequent(run.first_characters)
    places = range(len(shares))
    panel.bar(places, [share * 100 for share in shares.values()], color=_PARTITIONS)
    even = panel.axhline(100 / len(run.first_characters), color=_ERRORS, linestyle="--", linewidth=1.2)
    least = max(0, _LEAST_BARS - len(shares)) / 2
    panel.set_xlim(-0.6 - least, len(shares) - 0.4 + least)
    step = -(-len(shares) // _MOST_LABELS)
    panel.set_xticks(places[::step], [name if len(name) > 1 else visible(name) for name in [*shares][::step]])
    ratio = run.first_character_max_min
    name = on_one_line(scheme, _LONGEST_NAME)
    panel.set_title(name if ratio is None else f"{name}: max/min {ratio:.2f}", fontsize=10)
    panel.set_ylabel("requests (%)", fontsize=9)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    return even


def _most_frequent(shares: Mapping[str, float]) -> Mapping[str, float]:
    """Return the characters with the highest shares, in their order."""
    chosen = sorted(shares, key=lambda name: -shares[name])[:_MOST_BARS]
    return {name: share for name, share in shares.items() if name in set(chosen)}


def _draw_time(figure: Any, simulation: Simulation) -> None:
    figure.suptitle(f"503s and partitions in {simulation.days} days. {_MODEL}", fontsize=12)
    schemes = _by_scheme(simulation.runs)
    panels = figure.subplots(len(schemes), len(Split), sharex=True, sharey=True, squeeze=False)
    counts = [axes.twinx() for axes in panels.flat]
    lines: dict[str, Any] = {}
    for panel, count, ((scheme, runs), split) in zip(panels.flat, counts, product(schemes.items(), Split), strict=True):
        panel.set_title(f"{on_one_line(scheme, _LONGEST_NAME)}, split by {split}", fontsize=10)
        for run in runs:
            if run.split == split:
                lines |= _draw_run(panel, count, run, simulation.days or 0)
    _scale(panels, counts, simulation)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=2, fontsize=9)


def _draw_run(panel: Any, count: Any, run: SimulatedRun, days: int) -> dict[str, Any]:
    """Draw the hours of a run, and return the lines by their names in the legend."""
    hours, errors, partitions = _hours(run, days)
    at = [hour / _HOURS for hour in hours]
    start = "split by a backfill before (warm)" if run.warm else "from one partition (cold)"
    # The narrower line of warm partitions leaves that of cold ones visible below.
    color, style, width = (_WARM, "--", 0.7) if run.warm else (_ERRORS, "-", 2.2)
    area = panel.fill_between(at, errors, step="post", color=color, linewidth=width, zorder=2 + run.warm)
    [line] = count.step(at, partitions, where="post", color=_PARTITIONS, linestyle=style, linewidth=1.2)
    return {f"503s, {start}": area, f"partitions, {start}": line}


def _hours(run: SimulatedRun, days: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the hours of the days that count after which something changes, with the errors and the partitions of each."""
    listed = {hour.hour: hour for hour in run.timeline}
    before = [hour.partitions for hour in run.timeline if hour.hour <= 0]
    partitions = before[-1] if before else 1
    # Between two hours that are listed, nothing changes.
    drawn = {0, days * _HOURS, *listed, *(hour + 1 for hour in listed)}
    hours, rows = [hour for hour in sorted(drawn) if 0 <= hour <= days * _HOURS], []
    for number in hours:
        hour = listed.get(number)
        partitions = hour.partitions if hour else partitions
        rows.append((hour.errors if hour else 0, partitions))
    errors, counts = zip(*rows, strict=True)
    return hours, errors, counts


def _scale(panels: Any, counts: Sequence[Any], simulation: Simulation) -> None:
    """Give all panels the same axes: 503s in powers of ten, and partitions."""
    most = max((hour.partitions for run in simulation.runs for hour in run.timeline), default=1)
    errors = max((hour.errors for run in simulation.runs for hour in run.timeline), default=0)
    for panel, count in zip(panels.flat, counts, strict=True):
        _set_powers(panel, errors)
        panel.set_xlim(0, simulation.days)
        count.set_ylim(0, most * 1.1 + 1)
        for axes in (panel, count):
            axes.tick_params(labelsize=8)
            axes.spines["top"].set_visible(False)
        panel.tick_params(axis="y", colors=_ERRORS)
        count.tick_params(axis="y", colors=_PARTITIONS)
    for row in range(len(panels)):
        panels[row, 0].set_ylabel("503s per hour", fontsize=9, color=_ERRORS)
        counts[(row + 1) * panels.shape[1] - 1].set_ylabel("partitions", fontsize=9, color=_PARTITIONS)
    for panel in panels[-1]:
        panel.set_xlabel("day", fontsize=9)


def _set_powers(panel: Any, most: int) -> None:
    """Set an axis of zero and powers of ten."""
    power = max(2, len(str(most)))
    steps = range(2, power + 1, 2 if power > 4 else 1)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(0, 10**power)
    panel.set_yticks([0, *(10**step for step in steps)], ["0", *map(_power_of_ten, steps)])
    panel.minorticks_off()


def _power_of_ten(power: int) -> str:
    """Return `100`, `10 k` or `1 M`."""
    thousands, zeros = divmod(power, 3)
    return f"1{'0' * zeros} {('', 'k', 'M', 'G', 'T')[thousands]}".rstrip()


def _draw_trace(figure: Any, trace: LogComparison) -> None:
    figure.suptitle(f"503s of a log, and what models predict for its requests. {_MODEL}", fontsize=12)
    start = trace.hours[0].hour
    hours = [int((hour.hour - start).total_seconds()) // 3600 for hour in trace.hours]
    panels = figure.subplots(1, len(Split), sharey=True, squeeze=False)[0]
    lines: dict[str, Any] = {}
    for panel, split in zip(panels, Split, strict=True):
        lines["observed: Slow Down"] = panel.bar(
            hours, [hour.slow_down for hour in trace.hours], 1, align="edge", color=_OBSERVED
        )
        for prediction in trace.predicted:
            if prediction.split == split:
                lines |= _draw_prediction(panel, hours, prediction)
        panel.set_title(f"split by {split}", fontsize=10)
        panel.set_xlabel(f"hours since {time_of(start)}", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("503s per hour", fontsize=9)
    predicted = [count for prediction in trace.predicted for count in prediction.hours]
    _set_powers(panels[0], max(*predicted, *(hour.slow_down for hour in trace.hours)))
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3, fontsize=9)


def _draw_prediction(panel: Any, hours: Sequence[int], prediction: Prediction) -> dict[str, Any]:
    """Draw a prediction, and return the line by its name in the legend."""
    # A line ends where an hour has no request.
    counts = dict(zip(hours, prediction.hours, strict=True))
    every = range(hours[-1] + 2)
    color, style, start = (_WARM, "--", "warm") if prediction.warm else (_ERRORS, "-", "cold")
    [line] = panel.step(
        every, [counts.get(hour, 0) for hour in every], where="post", color=color, linestyle=style, linewidth=1.8
    )
    return {f"predicted, {start}": line}
