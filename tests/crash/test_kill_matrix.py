"""Runs killed or stopped at every step of the path: after a truthful repair, each effect is there exactly once.

On Spark a run is two processes, and each may be killed alone.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from glacierbase.apply.results import MigrateResult
from glacierbase.errors import EngineUnavailable, LockLost, NeedsRepair
from tests.crash.shop import FINAL, INSIDE, STEPS, DynamoShop, RepeatableShop, Shop, SnowShop, SparkShop
from tests.support.processes import state_of
from tests.support.project_folder import ProjectFolder

# The session fixture that each kind of shop is on.
BEDS = {
    "snowflake": "emulated",
    "repeatable": "emulated",
    "dynamodb": "emulated_dynamodb",
    "sql": "lake",
    "iceberg": "lake",
}
# The seconds of a lease that a run is stopped for; on Spark a renewal through SQL takes a while.
LEASES = {"snowflake": 2, "repeatable": 2, "dynamodb": 2, "sql": 5, "iceberg": 5}
# A run on Spark is two processes.
WHOM = ("python", "jvm", "both")
# The kind of shop, the step, and the process.
Kill = tuple[str, str, str]


def places(bed: str) -> list[str]:
    """Return every step, and every statement inside of which a run can end."""
    return [*map(str, range(1, STEPS[bed] + 1)), *(f"inside:{number}" for number in INSIDE[bed])]


def moments(bed: str) -> list[Kill]:
    """Return kills at random moments after the first step, also inside of appends, proofs and commits."""
    return [(bed, f"after:{random.Random(number).uniform(0, 8):.2f}", WHOM[number % 3]) for number in range(45)]


KILLS: list[Kill] = [
    *((bed, at, "python") for bed in ("snowflake", "repeatable", "dynamodb") for at in reversed(places(bed))),
    *((bed, at, whom) for bed in ("sql", "iceberg") for at in reversed(places(bed)) for whom in WHOM),
    *moments("sql"),
    *moments("iceberg"),
]
# Before the first read under the lock; between an append and its proof; between a proof and its statement; inside a statement;
# after the last.
STOPS = [(bed, at) for bed in STEPS for at in reversed(places(bed))]


def on(bed: str) -> pytest.MarkDecorator:
    return pytest.mark.bed(BEDS[bed])


def new_shop(bed: str, project: ProjectFolder, request: pytest.FixtureRequest, lease: str) -> Shop:
    made = request.getfixturevalue(BEDS[bed])
    kinds = {"snowflake": SnowShop, "repeatable": RepeatableShop, "dynamodb": DynamoShop}
    return kinds[bed](made, project, lease) if bed in kinds else SparkShop(made, project, bed, lease)


@pytest.mark.parametrize(
    "bed",
    [pytest.param(bed, marks=on(bed)) for bed in ("repeatable", "snowflake", "dynamodb", "sql", "iceberg")],
)
def test_the_path_has_as_many_steps_as_the_matrix(
    bed: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """A step that is added to the path must be added to the matrix. The lease is long: a renewal would add to a compaction."""
    run = new_shop(bed, project, request, lease="10m").start("0", "SIGKILL")
    stdout, stderr = run.communicate(timeout=600)
    assert (run.returncode, int(stdout.splitlines()[-1])) == (0, STEPS[bed]), stderr


@pytest.mark.parametrize(("bed", "at", "whom"), [pytest.param(*kill, marks=on(kill[0])) for kill in KILLS])
def test_killed_anywhere_each_effect_is_there_once_in_the_end(
    bed: str, at: str, whom: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """The history has every run that wrote to it. A JVM ends after its Python; a Python whose JVM is gone ends with one error.

    Right after the kill, and in the end, no command says that anybody changed the table, and each record is true.

    On Iceberg through PyIceberg, no kill needs a person: the table proves the outcome. The lease is long, so that a run on a busy
    machine does not lose it before it is killed.
    """
    shop = new_shop(bed, project, request, lease="60s")
    run = shop.start(at, "SIGKILL", whom)
    stderr = run.communicate(timeout=600)[1]
    killed = {-signal.SIGKILL} | ({0} if at.startswith("after") else set())
    assert run.returncode in ({0, 4, 5, 6} if whom == "jvm" else killed), stderr
    assert "Traceback" not in stderr
    shop.end_lease()
    shop.check_who()
    shop.finish()
    shop.check()
    shop.check_who()
    settled = shop.check_history()
    print(f"killed {bed} {at} {whom}: outcomes open {settled}, decided by a person {shop.asked}")  # noqa: T201 (-rP)
    assert not (bed == "iceberg" and shop.asked)


def stopped(
    bed: str, at: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> tuple[Shop, subprocess.Popen[str]]:
    """Return a run that has stopped itself (SIGSTOP). One that loses its lease before, on a busy machine, gets a longer one."""
    for factor in (1, 3, 9):
        shop = new_shop(bed, project, request, f"{factor * LEASES[bed]}s")
        run = shop.start(at, "SIGSTOP")
        deadline = time.monotonic() + 120
        while state_of(run.pid) not in ("T", "Z"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        if state_of(run.pid) == "T":
            return shop, run
        stderr = run.communicate()[1]
        assert "the lease ran out" in stderr, stderr
    raise AssertionError("it lost every lease")


@pytest.mark.parametrize(("bed", "at"), [pytest.param(*stop, marks=on(stop[0])) for stop in STOPS])
def test_stopped_past_its_lease_a_run_leaves_the_rest_to_the_one_that_took_over(
    bed: str, at: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """A continued run executes no further statement, appends at most `interrupted`, and exits with 4.

    What it saw of the table counts for nothing.
    """
    shop, run = stopped(bed, at, project, request)
    try:
        take_over(shop, run, at)
    finally:
        run.kill()  # A process that is stopped in SQLite's commit keeps the database locked.
    shop.check()
    shop.check_who()


def take_over(shop: Shop, run: subprocess.Popen[str], at: str) -> None:
    """Migrate while the run is stopped, then continue it."""
    try:
        second = migrated(shop)
    except NeedsRepair:  # It may have begun a statement, whose outcome is open until the run continues.
        # On a busy machine its lease is over before the lock is looked at: then nobody has taken the lock from it.
        [status] = shop.load().status(spark=shop.session)
        go_on(run)
        assert run.returncode == (4 if status.lock is None else 0)
        shop.finish()
    except EngineUnavailable:  # Its heartbeat was stopped in SQLite's commit, which locks the database.
        stderr = go_on(run)
        assert run.returncode == 0, stderr
    else:
        assert shop.rows == FINAL
        stderr = go_on(run)
        # A run without the lock cannot lose it, and after the last statement no other run takes it.
        had_it = not at.isdigit() or int(at) > 3
        assert run.returncode == (4 if second.applied and had_it else 0), stderr


def migrated(shop: Shop) -> MigrateResult:
    """Migrate; a run on a busy machine that loses its short lease is repeated."""
    for _ in range(5):
        with suppress(LockLost):
            return shop.load().migrate(lock_timeout=300, spark=shop.session)[0]
    raise AssertionError("it lost every lease")


def go_on(run: subprocess.Popen[str]) -> str:
    """Continue the run to its end; return its stderr."""
    run.send_signal(signal.SIGCONT)
    return run.communicate(timeout=600)[1]
