"""Record what real Spark does, or compare it with the record: `python -m tests.oracle [--check] [PATTERN]`."""

from __future__ import annotations

import argparse
import random
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator

import click

from tests.oracle.cases import groups
from tests.oracle.records import Case, names, recorded, write
from tests.oracle.spark import Spark, started
from tests.support.lake_states import State, differences


def main(arguments: list[str]) -> int:
    """Run the command, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression; only cases whose name it matches")
    parser.add_argument("--check", action="store_true", help="compare with the record; exit 1 if an outcome differs")
    parser.add_argument("--seed", default="", help="shuffle the cases to check by this text")
    parser.add_argument("--seconds", type=float, help="start no further case to check after this time")
    options = parser.parse_args(arguments)
    if not any(re.search(options.pattern, name) for cases in groups().values() for name in cases):
        parser.error(f"no case matches {options.pattern!r}")
    if options.check:
        return check(options.pattern, options.seed, options.seconds)
    record(options.pattern)
    return 0


def record(pattern: str) -> None:
    """Renew the recorded outcomes of the cases whose name matches a pattern."""
    with started() as spark:
        for group, cases in groups().items():
            new = {name: spark.run(name, cases[name]) for name in _shown(cases, pattern)}
            kept = {name: recorded(group, name) for name in names(group) if name in cases}
            write(group, [new.get(name) or kept[name] for name in cases if name in {*new, *kept}])


def _shown(cases: Iterable[str], pattern: str) -> Iterator[str]:
    for name in cases:
        if re.search(pattern, name):
            click.echo(name)
            yield name


def check(pattern: str, seed: str, seconds: float | None) -> int:
    """Run recorded cases on Spark, in an order that the seed decides, until the time has passed. Return the exit code."""
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    cases = [(group, name) for group in groups() for name in names(group) if re.search(pattern, name)]
    random.Random(seed).shuffle(cases)
    click.echo(f"seed {seed}")
    ran: list[bool] = []
    with started() as spark:
        for group, name in cases:
            case = recorded(group, name)
            different = list(_differences(spark, case))
            click.echo("\n".join([f"{name}: {'DIFFERENT' if different else 'as recorded'}", *different]))
            if different:
                again = shlex.join(["python", "-m", "tests.oracle", "--check", f"^{re.escape(name)}$"])
                click.echo(f"  repeat this case: {again}")
            ran.append(not different)
            if time.monotonic() > end:
                break
    limit = [] if seconds is None else ["--seconds", f"{seconds:g}"]
    again = shlex.join(["python", "-m", "tests.oracle", "--check", "--seed", seed, *limit, *filter(None, [pattern])])
    click.echo(f"ran {len(ran)} of {len(cases)} cases, {ran.count(False)} of them different; repeat: {again}")
    return 0 if ran and all(ran) else 1


def _differences(spark: Spark, case: Case) -> Iterator[str]:
    """Yield what differs between the recorded outcomes and those on Spark, up to the first statement that differs."""
    observed = spark.run(case.name, [one.sql for one in case.statements])
    if (versions := (observed.spark, observed.iceberg)) != (case.spark, case.iceberg):
        yield f"  recorded on Spark {case.spark} with Iceberg {case.iceberg}, run on Spark {versions[0]} with {versions[1]}"
    before: State = {}
    for number, (expected, other) in enumerate(zip(case.statements, observed.statements, strict=True), 1):
        after = expected.after(before)
        lines = [*differences(expected.error, other.error, "error"), *differences(after, other.after(before))]
        if lines:
            yield f"  statement {number}: {expected.sql}"
            yield from (f"    {line}" for line in lines)
            return
        before = after


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
