"""What a run of `migrate` has done so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from glacierbase.apply.plan import Plan
from glacierbase.apply.results import AppliedFile, EngineVersion, FailedFile, WaitingFile


@dataclass(slots=True)
class Progress:
    """What a run has done so far; complete also when the run ends in an error.

    Each version and each repeatable that was pending is in one of `applied`, `failed`, `waiting` and `not_run`.

    Attributes:
        had_pending: whether there was something to apply when the run was first planned.
        engine: None if no engine was started.
    """

    applied: list[AppliedFile] = field(default_factory=list)
    failed: FailedFile | None = None
    waiting: WaitingFile | None = None
    not_run: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    had_pending: bool = False
    engine: EngineVersion | None = None

    def expect(self, plan: Plan) -> None:
        """Set what the run is about to do."""
        self.warnings = plan.warnings
        self.not_run = tuple(planned.migration.label for planned in plan.pending)
        self.had_pending = self.had_pending or bool(plan.pending)

    def warn(self, warnings: Iterable[str]) -> None:
        """Add warnings, each once."""
        self.warnings = tuple(dict.fromkeys((*self.warnings, *warnings)))

    def add_applied(self, file: AppliedFile) -> None:
        """Move the next expected file to the applied ones."""
        self.applied.append(file)
        self.not_run = self.not_run[1:]

    def add_failed(self, file: FailedFile) -> None:
        """Set the file that stopped the run, which is the next expected one."""
        self.failed = file
        self.not_run = self.not_run[1:]

    def add_waiting(self, file: WaitingFile) -> None:
        """Set the file whose gate is shut, which is the next expected one."""
        self.waiting = file
        self.not_run = self.not_run[1:]
