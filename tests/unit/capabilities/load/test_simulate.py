"""`layout simulate`: the results at its defaults, seeds, wrong options, and the text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from glacierbase.capabilities.load.schemes import drawn
from glacierbase.capabilities.load.simulate import SimulationInputs, simulate
from glacierbase.capabilities.load.simulation import PeriodLoad, SensitivityRow, SimulatedRun, Simulation, Split
from glacierbase.capabilities.load.traffic import DAY, Demand, noise_of, traffic
from glacierbase.errors import ConfigurationError
from glacierbase.model.amounts import rate_text
from glacierbase.model.codec import to_json
from glacierbase.model.printable import printable


@pytest.fixture(scope="module")
def default() -> Simulation:
    """The simulation with all defaults."""
    return simulate(SimulationInputs())


def run_of(simulation: Simulation, scheme: str, split: Split = Split.CHARACTER, warm: bool = False) -> SimulatedRun:
    return next(run for run in simulation.runs if (run.scheme, run.split, run.warm) == (scheme, split, warm))


def row_of(simulation: Simulation, assumption: str, value: str, scheme: str) -> SensitivityRow:
    return next(
        row for row in simulation.sensitivity if (row.assumption, row.value, row.scheme) == (assumption, value, scheme)
    )


def test_each_scheme_is_run_with_both_splits_and_both_starts(default: Simulation) -> None:
    """Five schemes by default, four runs each."""
    assert len(default.runs) == 5 * 4
    assert len({(run.scheme, run.split, run.warm) for run in default.runs}) == 5 * 4


def test_keys_that_begin_with_the_date_get_errors_every_day(default: Simulation) -> None:
    """The rate of 503s is between 3e-4 and 3e-3; partitions that existed before do not help."""
    for split in Split:
        for warm in (False, True):
            steady = run_of(default, "date-first", split, warm).steady
            assert 3e-4 <= steady.rate <= 3e-3
            assert steady.requests == pytest.approx(1929 * 86400 * 30, rel=0.01)
    assert run_of(default, "date-first").first_character_max_min is None


@pytest.mark.parametrize("scheme", ["id-first", "hash", "base2", "reversed-id"])
def test_other_keys_get_no_errors_in_the_steady_state(default: Simulation, scheme: str) -> None:
    """The partitions of the first day remain."""
    assert [run.steady.errors for run in default.runs if run.scheme == scheme] == [0] * 4


def test_a_burst_by_character_spares_keys_with_balanced_first_characters(default: Simulation) -> None:
    """A burst of 10 times the mean: no error for hash and reversed-id, errors for id-first and base2."""
    burst = {name: run_of(default, name).burst.errors for name in ("id-first", "hash", "base2", "reversed-id")}
    assert (burst["hash"], burst["reversed-id"]) == (0, 0)
    assert 0 < burst["id-first"] < burst["base2"]


@pytest.mark.parametrize("scheme", ["id-first", "hash", "base2", "reversed-id"])
def test_a_burst_by_range_needs_partitions_that_exist(default: Simulation, scheme: str) -> None:
    """Cold partitions fail for every scheme, and warm ones for none."""
    assert run_of(default, scheme, Split.RANGE).burst.errors > 0
    assert run_of(default, scheme, Split.RANGE, warm=True).burst.errors == 0


def test_shares_of_first_characters_are_those_of_the_ids(default: Simulation) -> None:
    """The first digits of the default ids follow Benford's law; their last digits are uniform."""
    first, last = run_of(default, "id-first"), run_of(default, "reversed-id")
    assert first.first_character_max_min is not None
    assert last.first_character_max_min is not None
    assert first.first_character_max_min >= 6
    assert last.first_character_max_min <= 1.05
    assert first.first_characters["1"] == pytest.approx(np.log10(2), abs=0.005)
    assert set(last.first_characters) == set("0123456789")


def test_the_sensitivity_names_what_the_result_depends_on(default: Simulation) -> None:
    """Each assumption has rows for each scheme; even ids cost reversed-id errors in the burst, and merging costs every scheme."""
    assert row_of(default, "ids", "even", "reversed-id").burst.errors > 0
    assert row_of(default, "merging", "after 6 h", "hash").steady.errors > 0
    assert row_of(default, "merging", "after 24 h", "hash").steady.errors == 0
    assert row_of(default, "trigger", "70 %", "date-first").steady.errors == 0
    assert row_of(default, "split", "range, cold", "hash").burst == run_of(default, "hash", Split.RANGE).burst
    named = {"split", "merging", "trigger", "delay", "limit", "peak/mean", "noise", "mean load", "burst", "ids"}
    assert {row.assumption for row in default.sensitivity} == named
    assert len({(row.assumption, row.value) for row in default.sensitivity}) * 5 == len(default.sensitivity)


def test_the_timeline_adds_up(default: Simulation) -> None:
    """The errors of the hours that count are those of the steady state and the burst; the burst is at noon of day 21."""
    run = run_of(default, "date-first")
    assert sum(hour.errors for hour in run.timeline if hour.hour >= 0) == pytest.approx(
        run.steady.errors + run.burst.errors, abs=len(run.timeline)
    )
    assert max(run.timeline, key=lambda hour: hour.errors).hour == 20 * 24 + 12
    assert max(hour.partitions for hour in run.timeline) == run.partitions
    assert run.timeline[0].hour == -48


def test_the_text_has_at_most_100_columns(default: Simulation) -> None:
    """Errors that did not occur are an upper bound of the rate, and the text says what is unknown."""
    text = printable(default.lines())
    assert max(map(len, text.splitlines())) <= 100
    assert "< 2.0e-10" in text
    for column in ("nines", "of it", "partitions", "max/min"):
        assert re.search(f"^.*{column}.*: ", text, re.MULTILINE), f"the text does not say what {column} is"
    assert "unknown: how S3 splits and merges partitions" in text


def test_a_load_without_errors_has_no_nines() -> None:
    """A rate of 0 is shown as what the number of requests proves."""
    assert PeriodLoad.of(5e9, 0) == PeriodLoad(5_000_000_000, 0, 0.0, None)
    assert rate_text(0.0, 5_000_000_000) == "< 2.0e-10"
    assert rate_text(PeriodLoad.of(1e6, 1300).rate, 10**6) == "1.3e-3"
    assert PeriodLoad.of(1e6, 1000).nines == 3


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    """Another seed gives other numbers; the order of sets and dicts of another process changes nothing. 2k is 2000."""
    command = [
        sys.executable,
        "-m",
        "glacierbase",
        "layout",
        "simulate",
        "--days",
        "1",
        "--format",
        "json",
        "--seed",
        "3",
        "--put-per-second",
        "2k",
    ]
    command += ["--scheme", "date-first", "--scheme", "reversed-id"]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, check=True)
    inputs = SimulationInputs(schemes=("date-first", "reversed-id"), days=1, seed=3, put_per_second=2000.0)
    head = {"schema": "glacierbase/layout-simulate/1", "ok": True, "error": None, "catalogs": []}
    assert json.dumps(json.loads(done.stdout)) == json.dumps({**head, **to_json(simulate(inputs))})
    assert not np.array_equal(noise_of(1, 3), noise_of(1, 4))
    assert drawn("benford", 3).values != drawn("benford", 4).values


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": 0},
        {"days": 100_000},
        {"put_per_second": 0.0},
        {"put_per_second": -1.0},
        {"put_per_second": float("nan")},
        {"put_per_second": 350_001.0},
        {"peak_to_mean": 0.5},
        {"noise": -0.1},
        {"burst": 0.0},
        {"burst_hours": 13.0},
        {"trigger": 0.5},
        {"delay": 1.0},
        {"merge_after": 0.0},
        {"seed": -1},
        {"seed": 10**12},
        {"provider": "azure"},
        {"provider": "custom"},
        {"provider": "custom", "put_limit": 0.0},
        {"schemes": ("hsh",)},
        {"ids": "bnford"},
        {"ids": "shop.orders"},
    ],
)
def test_a_wrong_option_is_refused(wrong: dict[str, object]) -> None:
    """The message names the option or its value, and what is allowed."""
    with pytest.raises(ConfigurationError) as refused:
        simulate(SimulationInputs(**wrong))  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.exit_code) == ("INVALID_VALUE", 2)
    assert refused.value.hint


def test_a_pattern_of_keys_is_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that begin with a date are those of date-first; columns without known values are named."""
    monkeypatch.setattr("glacierbase.capabilities.load.schemes.MOST_IDS", 2000)
    pattern = "date={date}/region={region}/id={id}/{file}"
    simulation = simulate(SimulationInputs(layout=pattern, schemes=("date-first",), days=2))
    ours, same = run_of(simulation, "layout"), run_of(simulation, "date-first")
    assert (ours.steady, ours.burst, ours.timeline) == (same.steady, same.burst, same.timeline)
    assert f"keys of the pattern: {pattern}" in simulation.assumptions
    assert "unknown: the values of region in it, modelled as one value" in simulation.assumptions


def test_ids_are_read_from_a_file(tmp_path: Path) -> None:
    """Each id has the share of the rows that contain it."""
    path = tmp_path / "ids.csv"
    path.write_text("user,day\n10,1\n10,2\n2,1\n,1\n10,3\n")
    simulation = simulate(SimulationInputs(schemes=("id-first",), ids=str(path), column="user", days=1))
    assert run_of(simulation, "id-first").first_characters == {"1": 0.75, "2": 0.25}
    assert any(sentence.startswith(f"ids: {path}, 200,000 values at most") for sentence in simulation.assumptions)
    path.write_text("user,day\n,1\n")
    with pytest.raises(ConfigurationError, match="has no values"):
        simulate(SimulationInputs(schemes=("id-first",), ids=str(path), column="user", days=1))


@pytest.mark.parametrize("peak", [1.0, 1.5, 2.5, 10.0])
def test_a_day_has_the_mean_and_the_peak_that_were_chosen(peak: float) -> None:
    """The curve is exact for every ratio of peak and mean."""
    rates = traffic(Demand(mean=100, peak_to_mean=peak, noise=0, burst=1, days=1), noise_of(1, 0)).means[-DAY // 2 :]
    assert rates.max() == pytest.approx(100 * peak, rel=1e-6)
    day = traffic(Demand(mean=100, peak_to_mean=peak, noise=0, days=1), noise_of(1, 0)).means[-2 * DAY : -DAY]
    assert day.mean() == pytest.approx(100, rel=1e-6)


def test_ids_are_drawn_as_their_distribution_says() -> None:
    """Even ids are even, sequential ones are distinct and at most 2,500,000, and one id of zipf has 13 % of the requests."""
    assert {value[-1] for value in drawn("even", 0).values} == set("02468")
    sequential = [int(value) for value in drawn("sequential", 0).values]
    assert (len(set(sequential)), max(sequential) <= 2_500_000) == (200_000, True)
    assert drawn("zipf", 0).shares.max() == pytest.approx(0.13, abs=0.005)
