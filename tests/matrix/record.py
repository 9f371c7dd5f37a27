"""The results of the cells, as JSON files that are committed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Result:
    """The last recorded run of a cell.

    Attributes:
        spark: the version of Spark as jars name it, empty where the engine is not Spark.
        day: of the run, in UTC.
        versions: of the packages and jars that decide.
        seconds: of each scenario that passed.
        failed: the scenario that failed, and the first line of the reason; empty where all passed.
    """

    cell: str
    spark: str
    day: str
    versions: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return FOLDER / f"{'-on-'.join(filter(None, (self.cell, self.spark)))}.json"

    def write(self) -> None:
        self.file.write_text(json.dumps(asdict(self), indent=2) + "\n")


def results() -> dict[tuple[str, str], Result]:
    """Return the recorded results by cell and Spark."""
    read = [Result(**json.loads(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.json"))]
    return {(result.cell, result.spark): result for result in read}
