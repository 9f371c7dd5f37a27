"""Compare what would run now with an approved plan: the plan in a plan file, or the plan that a person confirmed.

If anything differs, nothing runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from glacierbase.apply.plan import Plan
from glacierbase.apply.preview import plan_result
from glacierbase.apply.results import HistoryHead, PlannedFile, PlanResult
from glacierbase.errors import HistoryDisagrees
from glacierbase.history.details import details_of
from glacierbase.history.records import History
from glacierbase.history.target import CatalogRun
from glacierbase.model.codec import to_json
from glacierbase.model.command import command
from glacierbase.model.migration import Event, Migration
from glacierbase.model.result import user_of
from glacierbase.model.text import counted, time_of

# The message names at most this many of the runs since the plan was made.
_MOST_RUNS = 5


def check_approved(target: CatalogRun, plan: Plan) -> None:
    """Refuse to run anything but the approved plan, where there is one.

    Raises:
        HistoryDisagrees: `PLAN_OUTDATED`, with what changed since.
    """
    approved = plan.selection.approved
    if approved is None:
        return
    then, now = approved.plan, plan_result(target, plan)
    if _binding(then) == _binding(now):
        return
    runs = list(_runs_since(then.head, plan.history)) if then.head != now.head else []
    moved = _moved(then, now)
    changes = (*moved, *_changed_files(then, now, target.files), *runs) or ("what would run now is not in the plan",)
    again = approved.again or command("migrate")
    raise HistoryDisagrees(
        "PLAN_OUTDATED",
        (f"catalog {now.catalog}: {counted(len(changes), 'change')} since the plan was made; nothing ran", *changes),
        f"`{again}` {'makes the plan again' if approved.again else 'shows the plan as it is now'}",
        changes=changes,
    )


def _binding(plan: PlanResult) -> object:
    """Return the parts of a plan that must not change, as JSON with secrets masked, as plan files have them."""
    return to_json((tuple(map(_without_engine, plan.plan)), plan.jumped_over, plan.head, plan.place))


def _without_engine(file: PlannedFile) -> PlannedFile:
    """Return what a file does, on whichever engine: that follows from what is installed."""
    return replace(file, engine=None, needs_engine=None)


def _moved(then: PlanResult, now: PlanResult) -> Iterator[str]:
    """Yield a line if the catalog file leads to other tables than at the time of the plan."""
    before, after = ({place_value.key: place_value.digest for place_value in plan.place} for plan in (then, now))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if keys:
        yield f"the catalog file leads to another place: {', '.join(keys)} changed"


def _changed_files(then: PlanResult, now: PlanResult, migrations: Sequence[Migration]) -> Iterator[str]:
    """Yield a line for each file that was added, removed or edited, or that renders differently."""
    planned, files = {file.label: file for file in now.plan}, {migration.label for migration in migrations}
    before = {file.label: file for file in then.plan}
    for label, file in before.items():
        if label not in files:
            yield f"{file.path}: the file was removed"
        elif label in planned and (what := _difference(file, planned[label], then, now)):
            yield f"{file.path}: {what}"
    yield from (f"{file.path}: the file was added" for label, file in planned.items() if label not in before)
    if then.jumped_over != now.jumped_over:
        yield f"--only now passes by {_listed(now.jumped_over)}; in the plan: {_listed(then.jumped_over)}"


def _difference(then: PlannedFile, now: PlannedFile, plan: PlanResult, new: PlanResult) -> str | None:
    """Return how a file differs from the one in the plan; None if only the history has advanced."""
    if then.checksum != now.checksum:
        return "the file was edited"
    if then.path != now.path:
        return f"the file was moved to {now.path}"
    if then.rendered_checksum != now.rendered_checksum:
        return "it renders differently: a variable changed"
    if plan.head == new.head and to_json(_without_engine(then)) != to_json(_without_engine(now)):
        versions = f"which glacierbase {plan.tool_version} made; this is {new.tool_version}"
        return f"its statements differ from those in the plan, {versions}"
    return None


def _runs_since(head: HistoryHead | None, history: History) -> Iterator[str]:
    """Yield a line for each run that wrote events after the head, and how the history differs otherwise."""
    place = (head.fence, head.sequence) if head else (0, 0)
    runs: dict[str, list[Event]] = {}
    for event in history.events:
        if (event.fence, event.sequence) > place and (event.fence, event.sequence) not in history.late:
            runs.setdefault(event.run_id, []).append(event)
    yield from map(_run, list(runs.values())[:_MOST_RUNS])
    if len(runs) > _MOST_RUNS:
        yield f"{counted(len(runs) - _MOST_RUNS, 'further run')}"
    if head and not any(
        (event.fence, event.sequence, event.run_id) == (*place, head.run_id) for event in history.events
    ):
        yield f"the history no longer holds event {head.sequence} of run {head.run_id}: it is another table, or was restored"


def _run(events: Sequence[Event]) -> str:
    """Return who wrote events, when, and what they record of each file."""
    last = events[-1]
    outcomes: Mapping[str, str] = {event.label: event.event for event in events}
    what = ", ".join(f"{label} {event}".strip() for label, event in outcomes.items())
    ci_actor = next(filter(None, (details_of(event).ci_actor for event in events)), None)
    user = user_of(last.os_user, last.host, ci_actor)
    return f"run {last.run_id} of {user} at {time_of(last.recorded_at)}: {what}"


def _listed(versions: Sequence[str]) -> str:
    return ", ".join(versions) or "no version"
