"""`python -m tests.histories [BEGIN] [END] [--log]`: ask who made each change of the histories with these seeds, 0 to 120."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.histories.asked import Answers, Story

if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    begin, end = (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0] if numbers else 120)
    answers = Answers()
    for seed in range(begin, end):
        with tempfile.TemporaryDirectory() as folder:
            story = Story(seed, Path(folder))
            one = story.run()
        answers.add(one)
        sys.stdout.write("".join(f"{line}\n" for line in (*(story.log if "--log" in sys.argv else ()), *one.wrong)))
    sys.stdout.write(f"{answers.asked} attributions: {len(answers.wrong)} wrong, {answers.unknown.total()} unknown\n")
    sys.stdout.write("".join(f"unknown {count} times: {why}\n" for why, count in sorted(answers.unknown.items())))
    sys.exit(bool(answers.wrong))
