"""`python -m tests.histories [--engine spark] [BEGIN] [END] [--log]`: ask who made each change of histories, by seed, 0 to 120.

Plain DDL without an engine runs the files; with `--engine spark`, one Spark does.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.histories.asked import Answers, Story
from tests.histories.stage import SparkStage, Stage
from tests.support.beds import lake_bed
from tests.support.catalog_files import LAKE


@contextmanager
def stages(*, on_spark: bool) -> Iterator[Callable[[Path], Stage]]:
    """Return what makes the stage of a history."""
    if not on_spark:
        yield Stage
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "project"
        with lake_bed(LAKE.replace("WAREHOUSE", str(home / "warehouse")), home) as bed:
            yield partial(SparkStage, bed=bed)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    begin, end = (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0] if numbers else 120)
    answers = Answers()
    with stages(on_spark="spark" in sys.argv) as stage:
        for seed in range(begin, end):
            with tempfile.TemporaryDirectory() as folder:
                story = Story(seed, Path(folder), stage)
                one = story.run()
            answers.add(one)
            lines = (*(story.log if "--log" in sys.argv else ()), *one.wrong)
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()
    sys.stdout.write(f"{answers.asked} attributions: {len(answers.wrong)} wrong, {answers.unknown.total()} unknown\n")
    sys.stdout.write("".join(f"unknown {count} times: {why}\n" for why, count in sorted(answers.unknown.items())))
    sys.exit(bool(answers.wrong))
