"""Killed or stopped at every step of the path: whatever a person then says truthfully, each effect is there exactly once.

On Spark the run is two processes, and each may go alone.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import NeedsRepair
from tests.conftest import LakeBed, ProjectFolder, SnowBed
from tests.shop import FINAL, ON_SNOWFLAKE, ON_SPARK, Shop, SnowShop, SparkShop


@pytest.fixture
def snow_shop(emulated: SnowBed, project: ProjectFolder) -> Shop:
    """A fresh one."""
    return SnowShop(emulated, project)


@pytest.fixture
def spark_shop(lake: LakeBed, project: ProjectFolder) -> Shop:
    """A fresh one."""
    return SparkShop(lake, project)


# At any moment of a run behind its first step, its whole life long: inside of appends, proofs and commits, too.
MOMENTS = [f"after:{random.Random(number).uniform(0, 8):.2f}" for number in range(75)]


def sampled(matrix: list[Any], sample: list[Any]) -> list[Any]:
    """The matrix with all but the sample left to the long form."""
    assert set(sample) <= set(matrix)
    return [
        pytest.param(
            *(each if isinstance(each, tuple) else (each,)), marks=[] if each in sample else [pytest.mark.full]
        )
        for each in matrix
    ]


@pytest.mark.parametrize(
    ("fixture", "steps"),
    [("snow_shop", ON_SNOWFLAKE), pytest.param("spark_shop", ON_SPARK, marks=pytest.mark.full)],
)
def test_the_path_has_as_many_steps_as_the_matrix(
    fixture: str, steps: list[str], request: pytest.FixtureRequest
) -> None:
    """None is left out when one is added."""
    run = request.getfixturevalue(fixture).start("0", "SIGKILL")
    stdout, stderr = run.communicate(timeout=120)
    assert (run.returncode, stdout.splitlines()[-1]) == (0, [step for step in steps if step.isdigit()][-1]), stderr


@pytest.mark.parametrize("at", sampled(ON_SNOWFLAKE, [*ON_SNOWFLAKE[:34:4], "inside:2", "inside:6"]))
def test_killed_on_snowflake_each_effect_is_there_once_in_the_end(at: str, snow_shop: Shop) -> None:
    """And the history tells of every run that wrote to it."""
    run = snow_shop.start(at, "SIGKILL")
    stderr = run.communicate(timeout=120)[1]
    assert run.returncode == -signal.SIGKILL, stderr
    snow_shop.finish()
    snow_shop.check()
    snow_shop.check_history()


WHOM = ("python", "jvm", "both")


@pytest.mark.parametrize(
    ("at", "whom"),
    sampled(
        [*((at, whom) for at in ON_SPARK for whom in WHOM), *((at, WHOM[n % 3]) for n, at in enumerate(MOMENTS))],
        [("12", "jvm"), ("21", "both"), ("27", "python"), ("inside:2", "jvm"), ("inside:4", "python")],
    ),
)
def test_killed_on_spark_each_effect_is_there_once_in_the_end(at: str, whom: str, spark_shop: Shop) -> None:
    """The JVM follows its Python; a Python whose JVM is gone says in one sentence what is known, and ends."""
    run = spark_shop.start(at, "SIGKILL", whom)
    stderr = run.communicate(timeout=120)[1]
    codes = (0, 4, 5, 6) if whom == "jvm" else (-signal.SIGKILL, 0) if at.startswith("after") else (-signal.SIGKILL,)
    assert run.returncode in codes, stderr
    assert "Traceback" not in stderr
    spark_shop.finish()
    spark_shop.check()
    spark_shop.check_history()


def stop(run: subprocess.Popen[str]) -> None:
    """Wait until the run has stopped itself."""
    stat = Path(f"/proc/{run.pid}/stat")
    deadline = time.monotonic() + 60
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("fixture", "at"),
    sampled(
        [*(("snow_shop", at) for at in ON_SNOWFLAKE), *(("spark_shop", at) for at in ON_SPARK)],
        # Before the first read under the lock; between an append and its proof, a proof and its statement; inside of one; and
        # behind the last.
        [*(("snow_shop", at) for at in ("6", "11", "18", "inside:5")), ("spark_shop", "inside:2")],
    ),
)
def test_stopped_past_its_lease_a_run_leaves_the_rest_to_the_one_that_took_over(
    fixture: str, at: str, request: pytest.FixtureRequest
) -> None:
    """Continued, it runs no further statement, tells at most that it was interrupted, and exits with 4."""
    shop = request.getfixturevalue(fixture)
    run = shop.start(at, "SIGSTOP")
    stop(run)
    try:
        shop.load().migrate(lock_timeout=60, spark=shop.session)
    except NeedsRepair:  # It may have begun a statement: nobody can say what comes of it before it goes on.
        run.send_signal(signal.SIGCONT)
        run.communicate(timeout=120)
        assert run.returncode == 4
        shop.finish()
    else:
        assert shop.rows == FINAL
        run.send_signal(signal.SIGCONT)
        stderr = run.communicate(timeout=120)[1]
        # Before it had the lock there was nothing that it could lose.
        assert run.returncode == (0 if at.isdigit() and int(at) <= 3 else 4), stderr
    shop.check()
