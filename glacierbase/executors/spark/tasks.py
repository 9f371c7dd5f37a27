"""How many stages and tasks of a statement have started and ended."""

from __future__ import annotations

from typing import Any


class Tasks:
    """The stages and tasks of one statement. No number ever decreases: a stage that Spark skips or forgets is not subtracted."""

    def __init__(self) -> None:
        self._stages: dict[int, tuple[int, int]] = {}  # Completed tasks and all tasks, by the stage's id.
        self._ended: set[int] = set()  # Jobs.

    def add(self, stage: int, completed: int, total: int) -> None:
        """Add what is known now of a stage that has started."""
        before = self._stages.get(stage, (0, 0))
        self._stages[stage] = max(before[0], completed), max(before[1], total)

    def read(self, context: Any, tag: str) -> None:
        """Add the jobs with a tag, those of threads that the statement started included.

        Iceberg's procedures replace the group of their jobs, not the tags.

        Args:
            context: a SparkContext; all calls may be made from any thread.
        """
        # Python's tracker lacks the time of submission. The count of active tasks cannot replace it: Spark writes it at
        # most once in spark.ui.liveUpdate.period, and a change that comes sooner stays unwritten until the next one.
        tracker = context._jsc.sc().statusTracker()
        for found in map(tracker.getJobInfo, set(tracker.getJobIdsForTag(tag)) - self._ended):
            if found.isDefined():
                job = found.get()
                stages = [each.get() for each in map(tracker.getStageInfo, job.stageIds()) if each.isDefined()]
                for stage in (each for each in stages if each.submissionTime()):
                    self.add(stage.stageId(), stage.numCompletedTasks(), stage.numTasks())
                if job.status().name() != "RUNNING":
                    self._ended.add(job.jobId())

    def __str__(self) -> str:
        completed, total = (sum(column) for column in zip(*tuple(self._stages.values()), strict=True))
        return f"stage {len(self._stages)}, {completed}/{total} tasks"

    def __bool__(self) -> bool:
        return bool(self._stages)
