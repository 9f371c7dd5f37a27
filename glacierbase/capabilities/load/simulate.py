"""`layout simulate`: what an object store answers to a load with several key schemes, and how much depends on what is assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from glacierbase.capabilities.load.explain import ExplainResult
from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.ids import Batch, ids_in_file, is_file
from glacierbase.capabilities.load.partitions import Keys, MinuteCounts, StoreModel, simulated
from glacierbase.capabilities.load.schemes import (
    DEFAULT_SCHEMES,
    DISTRIBUTIONS,
    MOST_IDS,
    OF_FILES,
    SCHEMES,
    Ids,
    Scheme,
    drawn,
    first_characters,
)
from glacierbase.capabilities.load.simulation import Hour, PeriodLoad, SensitivityRow, SimulatedRun, Simulation, Split
from glacierbase.capabilities.load.template_keys import template_scheme, unknown_columns
from glacierbase.capabilities.load.traffic import (
    BACKFILL,
    WARM_UP_DAYS,
    Array,
    Demand,
    Traffic,
    burst_day,
    noise_of,
    traffic,
)
from glacierbase.errors import ConfigurationError
from glacierbase.layout.folders import raw_template
from glacierbase.layout.providers import AWS, CUSTOM, Provider, provider_of
from glacierbase.layout.template import VARIABLE, KeyTemplate, Segment
from glacierbase.model.amounts import percent
from glacierbase.model.arguments import check_one_of
from glacierbase.model.command import command

np = required("numpy")

# The costs grow with the days, and with the partitions that the mean load needs.
MOST_DAYS = 366
MOST_PARTITIONS = 100
_HOUR = 60
_MOST_SEED = 10**12 - 1
# The name of the scheme of a pattern.
_PATTERN = "layout"


@dataclass(frozen=True, slots=True)
class SimulationInputs:
    """What is simulated, and what is assumed: the options of the command.

    Attributes:
        schemes: of `SCHEMES`; by default `DEFAULT_SCHEMES`, and none with a layout.
        layout: also simulate the keys of this table, migration file or pattern, such as `date={date}/id={id}/{file}`.
        ids: one of `DISTRIBUTIONS`, or the file or the table that they are read from.
        column: with the ids, in keys and in what they are read from.
        provider, put_limit: as in `provider_of`.
        delay, merge_after: seconds; without `merge_after`, partitions are never merged.
    """

    schemes: Sequence[str] = ()
    layout: str | None = None
    days: int = 30
    seed: int = 0
    ids: str = "benford"
    column: str = "id"
    put_per_second: float = 1929.0
    peak_to_mean: float = 1.9
    noise: float = 0.05
    burst: float = 10.0
    burst_hours: float = 2.0
    provider: str = AWS.name
    put_limit: float | None = None
    trigger: float = 0.95
    delay: float = 45 * 60.0
    merge_after: float | None = None

    @property
    def needs_project(self) -> bool:
        """Whether keys or ids are those of a project's table or migration."""
        return bool(self.source or self.table)

    @property
    def source(self) -> str | None:
        """The table or the migration whose keys are simulated; None without one."""
        return self.layout if self.layout and not VARIABLE.search(self.layout) else None

    @property
    def table(self) -> str | None:
        """The table that ids are read from; None without one."""
        return self.ids if "." in self.ids and not is_file(self.ids) else None

    def demand(self, limit: float) -> Demand:
        """Return what is assumed of the requests.

        Args:
            limit: of a partition.

        Raises:
            ConfigurationError: `INVALID_VALUE`.
        """
        _check("--days", self.days, 1, MOST_DAYS)
        _check("--put-per-second", self.put_per_second, 0.001, MOST_PARTITIONS * limit)
        _check("--peak-to-mean", self.peak_to_mean, 1, 10)
        _check("--noise", self.noise, 0, 1)
        _check("--burst", self.burst, 1, 100)
        _check("--burst-hours", self.burst_hours, 1 / 60, 12)
        return Demand(
            self.put_per_second, self.peak_to_mean, self.noise, self.burst, round(self.burst_hours * 60), self.days
        )

    def store(self) -> StoreModel:
        """Return what is assumed of the store.

        Raises:
            ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`.
        """
        _check("--trigger", self.trigger, 0.51, 1)
        _check("--delay", self.delay, 60, 86400, "s")
        if self.merge_after is not None:
            _check("--merge-after", self.merge_after, 60, MOST_DAYS * 86400, "s")
        merge_after = None if self.merge_after is None else round(self.merge_after / 60)
        return StoreModel(
            self.limits().put_per_second, Split.CHARACTER, self.trigger, round(self.delay / 60), merge_after
        )

    def limits(self) -> Provider:
        """Return the limits of a partition.

        Raises:
            ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`.
        """
        if self.provider == CUSTOM and self.put_limit is None:
            what = f"--provider {CUSTOM} requires --put-limit: what one partition carries"
            raise ConfigurationError("INVALID_VALUE", what, "add --put-limit 1000")
        # Requests of a simulation are PUT.
        return provider_of(self.provider, self.put_limit, self.put_limit)


def _check(option: str, value: float, low: float, high: float, unit: str = "") -> None:
    if not low <= value <= high:  # A number that is none is in no range.
        what = f"{option} is {value:.12g}{unit}; allowed: {low:g}{unit} to {high:,.12g}{unit}"
        nearest = high if value > high else low
        raise ConfigurationError("INVALID_VALUE", what, command("layout", "simulate", option, f"{nearest:.12g}{unit}"))


def simulate(
    inputs: SimulationInputs, templates: Sequence[KeyTemplate] | None = None, batches: Iterable[Batch] | None = None
) -> Simulation:
    """Return the runs of each scheme, with both ways to split and with warm and cold partitions, and their sensitivity.

    Args:
        templates: of the layout, which is a table or a migration; by default it is a pattern.
        batches: the ids that are read from a table.

    Raises:
        ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`: an option has a wrong value; as `ids_in_file`.
    """
    _check("--seed", inputs.seed, 0, _MOST_SEED)
    store = inputs.store()
    demand = inputs.demand(store.limit)
    names = inputs.schemes or (() if inputs.layout else DEFAULT_SCHEMES)
    for name in names:
        check_one_of("scheme", name, SCHEMES)
    schemes = {name: SCHEMES[name] for name in names}
    if templates is None:
        templates = [raw_template(inputs.layout)] if inputs.layout else []
    schemes |= {template.table or _PATTERN: template_scheme(template, inputs.column) for template in templates}
    simulator = _Simulator(schemes, inputs.seed, demand, store, inputs.ids, _ids(inputs, batches))
    runs = tuple(simulator.runs())
    rows = tuple(simulator.sensitivity(runs))
    return Simulation(inputs.days, inputs.seed, runs, rows, tuple(_assumed(inputs, store.limit, templates)))


def templates_of(layout: str, results: Iterable[ExplainResult]) -> list[KeyTemplate]:
    """Return the templates of tables; one that differs between environments has the name of the environment too.

    Raises:
        ConfigurationError: `INVALID_VALUE`: no template is known.
    """
    explained = [keys for result in results for keys in result.templates]
    groups: dict[str, dict[tuple[Segment, ...], KeyTemplate]] = {}
    for keys in explained:
        if keys.template:
            groups.setdefault(keys.table, {}).setdefault(keys.segments, replace(keys.template, table=keys.environment))
    if not groups:
        reasons = "; ".join(dict.fromkeys(filter(None, (keys.why for keys in explained)))) or "it changes no table"
        hint = command("layout", "explain", layout)
        raise ConfigurationError("INVALID_VALUE", f"the keys of {layout} are not known: {reasons}", hint)
    return [
        replace(template, table=table if len(different) == 1 else f"{table} in {template.table}")
        for table, different in groups.items()
        for template in different.values()
    ]


def _ids(inputs: SimulationInputs, batches: Iterable[Batch] | None) -> Ids:
    """Return the chosen ids; of those that are read, each has the share of the values that it is.

    Raises:
        ConfigurationError: as `simulate`.
    """
    if batches is None and is_file(inputs.ids):
        batches = ids_in_file(inputs.ids, inputs.column, MOST_IDS)
    if batches is None:
        check_one_of("distribution of ids", inputs.ids, DISTRIBUTIONS)
        return drawn(inputs.ids, inputs.seed)
    counts = Counter(id for batch in batches for id in batch if id is not None)
    return Ids.of(list(counts), np.array(list(counts.values()), dtype=float))


class _Simulator:
    """Simulates key schemes under the same noise and with the same ids, so that only what is varied differs."""

    def __init__(
        self, schemes: Mapping[str, Scheme], seed: int, demand: Demand, store: StoreModel, name: str, ids: Ids
    ) -> None:
        self._schemes, self._seed, self._demand, self._store, self._ids = schemes, seed, demand, store, name
        self._noise = noise_of(demand.days, seed)
        self._traffic = traffic(demand, self._noise)
        self._keys = self._keys_of(ids, {})

    def _keys_of(self, ids: Ids, known: Mapping[str, Keys]) -> dict[str, Keys]:
        return {
            name: known[name] if name in known else scheme(ids, np.random.default_rng([self._seed, 3]))
            for name, scheme in self._schemes.items()
        }

    def runs(self) -> Iterator[SimulatedRun]:
        """Yield the runs of each scheme."""
        for (scheme, keys), split, is_warm in product(self._keys.items(), Split, (False, True)):
            outcome = simulated(keys, replace(self._store, split=split), self._traffic, 0 if is_warm else BACKFILL)
            yield _run(scheme, split, is_warm, keys, outcome, self._traffic)

    def sensitivity(self, runs: Sequence[SimulatedRun]) -> Iterator[SensitivityRow]:
        """Yield the results with one other assumption each, after those of the cold runs that split by character."""
        for split, is_warm in product(Split, (False, True)):
            value = f"{split}, {'warm' if is_warm else 'cold'}"
            for run in runs:
                if (run.split, run.warm) == (split, is_warm):
                    yield SensitivityRow("split", value, run.scheme, run.steady, run.burst)
        for assumption, value, store in _other_stores(self._store):
            yield from self._rows(assumption, value, self._keys, store, self._traffic)
        for assumption, value, demand in _other_demands(self._demand):
            yield from self._rows(assumption, value, self._keys, self._store, traffic(demand, self._noise))
        same = {name: keys for name, keys in self._keys.items() if name in OF_FILES}
        for name in ("even", "sequential", "zipf"):
            if name != self._ids:
                keys = self._keys_of(drawn(name, self._seed), same)
                yield from self._rows("ids", name, keys, self._store, self._traffic)

    def _rows(
        self, assumption: str, value: str, every: Mapping[str, Keys], store: StoreModel, traffic: Traffic
    ) -> Iterator[SensitivityRow]:
        for scheme, keys in every.items():
            steady, burst = _loads(simulated(keys, store, traffic, BACKFILL).errors, traffic)
            yield SensitivityRow(assumption, value, scheme, steady, burst)


def _other_stores(store: StoreModel) -> Iterator[tuple[str, str, StoreModel]]:
    for hours in (6, 12, 24):
        if hours * _HOUR != store.merge_after:
            yield "merging", f"after {hours} h", replace(store, merge_after=hours * _HOUR)
    for trigger in (0.7, 0.8, 0.9, 1.0):
        if trigger != store.trigger:
            yield "trigger", percent(trigger), replace(store, trigger=trigger)
    for delay in (15, 90):
        if delay != store.delay:
            yield "delay", f"{delay} min", replace(store, delay=delay)
    yield "limit", f"{store.limit * 1.3:,.0f}/s", replace(store, limit=store.limit * 1.3)


def _other_demands(demand: Demand) -> Iterator[tuple[str, str, Demand]]:
    for peak in (1.5, 1.8, 2.5):
        if peak != demand.peak_to_mean:
            yield "peak/mean", f"{peak}", replace(demand, peak_to_mean=peak)
    for noise in (0.0, 0.05, 0.2):
        if noise != demand.noise:
            yield "noise", percent(noise), replace(demand, noise=noise)
    for factor in (0.75, 2.0):
        yield "mean load", f"{demand.mean * factor:,.0f}/s", replace(demand, mean=demand.mean * factor)
    yield "burst", f"{demand.burst * 2:g} x", replace(demand, burst=demand.burst * 2)


def _run(scheme: str, split: Split, is_warm: bool, keys: Keys, outcome: MinuteCounts, traffic: Traffic) -> SimulatedRun:
    steady, burst = _loads(outcome.errors, traffic)
    characters = first_characters(keys)
    shares = characters.values()
    ratio = None if keys.restart else round(max(shares) / min(shares), 4)
    partitions = int(outcome.partitions[traffic.first :].max())
    hours = tuple(_hours(outcome, traffic.first))
    return SimulatedRun(scheme, split, is_warm, steady, burst, ratio, characters, partitions, hours)


def _loads(errors: Array, traffic: Traffic) -> tuple[PeriodLoad, PeriodLoad]:
    """Return the loads of the steady state and of the burst."""
    requests, burst = traffic.means * 60, slice(*traffic.burst)
    is_steady = np.arange(traffic.minutes) >= traffic.first
    is_steady[burst] = False
    return (
        PeriodLoad.of(requests[is_steady].sum(), errors[is_steady].sum()),
        PeriodLoad.of(requests[burst].sum(), errors[burst].sum()),
    )


def _hours(outcome: MinuteCounts, first: int) -> Iterator[Hour]:
    """Yield the hours of a timeline: see `SimulatedRun`."""
    errors = np.rint(outcome.errors[BACKFILL:].reshape(-1, _HOUR).sum(axis=1)).astype(np.int64)
    partitions = outcome.partitions[BACKFILL:].reshape(-1, _HOUR).max(axis=1)
    is_listed = (errors > 0) | (np.diff(partitions, prepend=0) != 0)
    before = (first - BACKFILL) // _HOUR
    for hour in np.flatnonzero(is_listed).tolist():
        yield Hour(hour - before, int(errors[hour]), int(partitions[hour]))


def _assumed(inputs: SimulationInputs, limit: float, templates: Sequence[KeyTemplate]) -> Iterator[str]:
    """Yield what is modelled, and what is unknown."""
    merging = (
        "are never merged" if inputs.merge_after is None else f"are merged after {inputs.merge_after / _HOUR**2:g} h"
    )
    yield "unknown: how S3 splits and merges partitions; documented are the limits and gradual scaling"
    yield f"a partition is a range of the sorted keys with a limit of {limit:,.12g} PUT/s ({inputs.provider})"
    yield "what is above the limit in a second is answered with 503; retries are not modelled"
    yield "a rate after < is that of one 503: the model has none"
    yield f"a split follows {inputs.delay / 60:g} min above {percent(inputs.trigger)} of the limit; cooler minutes count down"
    yield "split by character: a partition for each next character that occurs"
    yield "split by range: two partitions, cut at the key at which half of the load is reached"
    yield f"partitions {merging}; they are idle while their sum stays at or below half of the limit"
    yield "where keys begin with the date, all requests reach one partition again at midnight"
    yield f"cold: one partition, {WARM_UP_DAYS} days before the first day that counts"
    yield "warm: split by a backfill of 6 h at 10 times the mean before that, whose errors do not count"
    yield f"load: {inputs.put_per_second:,.12g} PUT/s on average, peak/mean {inputs.peak_to_mean:g}, at 18:00"
    yield f"noise: {percent(inputs.noise)} of the rate, another one every 30 s"
    yield (
        f"burst: {inputs.burst:g} times the mean for {inputs.burst_hours:g} h from noon of day {burst_day(inputs.days)}, "
        "not counted in the steady state"
    )
    source = (
        "drawn"
        if inputs.ids in DISTRIBUTIONS
        else "values at most, from the start, each as often requested as it occurs"
    )
    yield f"ids: {inputs.ids}, {MOST_IDS:,} {source}"
    for template in templates:
        yield f"keys of {template.table or 'the pattern'}: {template.text}"
        if columns := unknown_columns(template, inputs.column):
            yield f"unknown: the values of {', '.join(columns)} in it, modelled as one value"
        yield from template.notes
    yield "base2 and random have a prefix for each file, the other schemes one for each id"
