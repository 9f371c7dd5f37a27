"""The page of compatibility: what it says of a cell was run."""

from __future__ import annotations

import subprocess
import sys

from tests.matrix.cells import CELLS, SAMPLE, SECOND
from tests.matrix.record import results
from tests.matrix.scenarios import SCENARIOS
from tests.support.project_folder import REPOSITORY
from tests.support.sparks import DEFAULT


def test_a_cell_in_ci_names_a_test_that_exists() -> None:
    """CI runs it with each commit, or in its rotating part. The second Spark has the tests of the sample."""
    tests = {(cell.name, spark): test for cell in CELLS for spark, (test, _) in cell.ci.items()}
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", "-m", "", *set(tests.values())]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [test for test in tests.values() if test not in done.stdout] == []
    second = {name: test for (name, spark), test in tests.items() if spark not in ("", DEFAULT)}
    assert [name for name, test in second.items() if name != "hudi" and test.partition("[")[0] not in SAMPLE] == []
    ci = (REPOSITORY / ".ci/run").read_text()
    assert f"tests.matrix --sample {SECOND}" in ci


def test_a_cell_in_ci_names_its_scenarios() -> None:
    """A test of other things does not make a cell one that CI checks."""
    named = [scenarios for cell in CELLS for _, scenarios in cell.ci.values()]
    assert [scenarios for scenarios in named if not scenarios or set(scenarios) - set(SCENARIOS)] == []


def test_a_result_belongs_to_a_cell_and_has_all_scenarios() -> None:
    """A scenario passed, or it is the one that failed and ended the run."""
    known = {(cell.name, spark) for cell in CELLS for spark in cell.sparks or ("",)}
    assert results()
    assert results().keys() <= known
    for result in results().values():
        names = [*result.seconds, *result.failed]
        assert names == list(SCENARIOS)[: len(names)]
        assert result.failed or len(names) == len(SCENARIOS)
