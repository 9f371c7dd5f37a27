"""What was ordered on the command line, and the projects that benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.applied import numbered_project


@dataclass
class Order:
    """One run of the benchmarks.

    Attributes:
        runs: of each command, beside the one that does not count.
        largest: project in applied files, and history in events; smaller ones are measured, too.
        folder: for whatever they write; removed at the end.
    """

    runs: int
    largest: int
    folder: Path
    _projects: dict[int, Path] = field(default_factory=dict)

    def sizes(self, *sizes: int) -> Sequence[int]:
        """Return the sizes that were ordered."""
        return [size for size in sizes if size <= self.largest]

    def project(self, files: int) -> Path:
        """A project with so many applied files, made once."""
        if files not in self._projects:
            self._projects[files] = numbered_project(self.folder / f"applied-{files}", files)
        return self._projects[files]
