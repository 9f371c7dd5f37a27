"""`python -m tests.matrix [3.5|4.0|4.1]…`: run the engine tests and the cells on each Spark, in an environment for each."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.matrix.cells import SAMPLE
from tests.support.project_folder import REPOSITORY
from tests.support.sparks import SPARKS, Spark, installed, spark_programs

# What depends on the version of Spark: the contracts, the path of `migrate` on each catalog, kills, races and faults.
TESTS = (
    "tests/engines/contract",
    *(f"tests/engines/test_migrate_{kind}.py" for kind in ("iceberg", "rest", "postgres", "connect", "delta")),
    "tests/engines/test_doctor.py",
    "tests/engines/test_rekey_iceberg.py",
    "tests/engines/test_signals.py",
    "tests/engines/test_spark_processes.py",
    *(f"tests/crash/test_{kind}.py" for kind in ("kill_matrix", "race", "recovery", "faults")),
)
# The catalog files of `init` name the jars for the default Spark.
_OF_DEFAULT = ("sqlite_engine", "init")


def main() -> int:
    """Return the greatest exit code of the runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("sparks", metavar="SPARK", nargs="*", choices=[*SPARKS, []], help="default: all")
    parser.add_argument("--sample", action="store_true", help="only what `.ci/run` has for a second Spark")
    arguments = parser.parse_args()
    return max(_run(SPARKS[short], arguments.sample) for short in arguments.sparks or SPARKS)


def _run(spark: Spark, is_sample: bool) -> int:
    """Run the tests, and unless it is the sample the cells, whose results are recorded."""
    python = Path(sys.executable) if installed() is spark else spark_programs(spark.short) / "python"
    if is_sample:
        return _pytest(python, *SAMPLE, "-m", "not full")
    without = " and ".join(f"not {name}" for name in _OF_DEFAULT)
    tested = _pytest(python, *TESTS, "-m", "not full and not snowflake", "-k", without)
    return max(tested, _pytest(python, "tests/matrix", "-m", "", "--record"))


def _pytest(python: Path, *arguments: str) -> int:
    command = [python, "-m", "pytest", "-n", "1", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=REPOSITORY, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
