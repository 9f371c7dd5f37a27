"""`python -m tests.histories [--engine spark|delta] [BEGIN] [END] [--log]`: ask who made each change of histories, 0 to 120.

Plain DDL without an engine runs the files; with `--engine spark`, one Spark does; with `delta`, the tables are Delta's.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.engines.test_migrate_delta import with_delta
from tests.histories.asked import Answers, Story
from tests.histories.delta import DeltaStage, DeltaStory
from tests.histories.stage import SparkStage
from tests.support.beds import lake_bed
from tests.support.catalog_files import LAKE


@contextmanager
def stories(engine: str) -> Iterator[Callable[[int, Path], Story]]:
    """Return what makes the history of a seed in a folder."""
    if engine == "none":
        yield Story
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "project"
        warehouse = home / "warehouse"
        text = with_delta(warehouse) if engine == "delta" else LAKE.replace("WAREHOUSE", str(warehouse))
        with lake_bed(text, home) as bed:
            kind, stage = (DeltaStory, DeltaStage) if engine == "delta" else (Story, SparkStage)
            yield partial(kind, stage=partial(stage, bed=bed))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    begin, end = (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0] if numbers else 120)
    answers = Answers()
    with stories(next((name for name in ("spark", "delta") if name in sys.argv), "none")) as story_of:
        for seed in range(begin, end):
            with tempfile.TemporaryDirectory() as folder:
                story = story_of(seed, Path(folder))
                one = story.run()
            answers.add(one)
            lines = (*(story.log if "--log" in sys.argv else ()), *one.wrong)
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()
    sys.stdout.write(f"{answers.asked} attributions: {len(answers.wrong)} wrong, {answers.unknown.total()} unknown\n")
    sys.stdout.write("".join(f"unknown {count} times: {why}\n" for why, count in sorted(answers.unknown.items())))
    sys.exit(bool(answers.wrong))
