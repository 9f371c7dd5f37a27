"""Breaks of the sizes, the profiles, the simulation and the logs of key layouts."""

from __future__ import annotations

from tests.breaks.running import Break

BREAKS = (
    Break(
        "targets count as limits, of which half is planned with",
        "layout/providers.py",
        "utilisation=1.0",
        "utilisation=0.5",
        "unit/capabilities/load/test_advise.py::test_65_536_prefixes_carry_millions_of_requests_and_over_a_trillion_keys",
    ),
    Break(
        "the degrees of freedom are the number of characters",
        "capabilities/load/safety.py",
        "len(counts) - 1",
        "len(counts)",
        "unit/capabilities/load/test_profile.py::test_chi_square_is_that_of_a_calculation_by_hand",
    ),
    Break(
        "partitions are never split",
        "capabilities/load/partitions.py",
        "if divided < end else ()",
        "if False else ()",
        "unit/capabilities/load/test_partitions.py::test_a_count_second_by_second_agrees",
    ),
    Break(
        "idle partitions are never merged",
        "capabilities/load/partitions.py",
        "if store.merge_after is None else _merged",
        "if True else _merged",
        "unit/capabilities/load/test_partitions.py::test_a_count_second_by_second_agrees",
    ),
    Break(
        "the load has no burst",
        "capabilities/load/traffic.py",
        "shape[slice(*burst)] = demand.burst",
        "pass",
        "unit/capabilities/load/test_simulate.py::test_a_burst_by_character_spares_keys_with_balanced_first_characters",
    ),
    Break(
        "the noise is the same with each seed",
        "capabilities/load/traffic.py",
        "np.random.default_rng([seed, 1])",
        "np.random.default_rng([0, 1])",
        "unit/capabilities/load/test_simulate.py::test_the_same_seed_gives_the_same_bytes_in_another_process",
    ),
    Break(
        "a damaged line ends the log",
        "capabilities/load/access_log.py",
        "except InvalidLine as damage:",
        "except ZeroDivisionError as damage:",
        "unit/capabilities/load/test_access_log.py::test_damaged_lines_are_counted_and_the_first_ones_shown",
    ),
)
