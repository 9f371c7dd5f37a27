"""Make a plan from files and history, or raise the error that explains why there is none.

The plan depends on the arguments alone. The hints of errors repeat the options that the caller chose, as all commands in messages
do (`model.command`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from glacierbase.apply.failures import session_not_restored
from glacierbase.apply.results import PlanResult
from glacierbase.catalogs.needs import refused
from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees, NeedsRepair, raise_all
from glacierbase.history.items import Item, after_edit, after_lost_answer, items, out_of_order, without_file
from glacierbase.history.records import History, Record
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.git_lost import LostFile, Trace
from glacierbase.model.arguments import unknown_version
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command, git_command, move_command
from glacierbase.model.migration import EventType, Migration, State, Waiting, version_number
from glacierbase.model.text import counted, numbered
from glacierbase.run.run import statement_tag

# What git holds of deleted or edited files, by path.
Traces: TypeAlias = Mapping[str, Trace]
FindLost: TypeAlias = Callable[[tuple[LostFile, ...]], Traces]
FindUntracked: TypeAlias = Callable[[Sequence[Path]], Collection[Path]]


@dataclass(frozen=True, slots=True)
class ApprovedPlan:
    """The plan of one catalog that was made before and is to be applied as it is.

    Attributes:
        again: the command that writes its file again; None where a person confirmed it on a terminal, or a program holds it.
        digest: the digest of its file, or None.
    """

    plan: PlanResult
    again: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the pending migrations to run; default all.

    Attributes:
        to: the highest version to run.
        only: the single version to run, with the reason in `reason`.
        out_of_order: versions that may run although a higher one is applied; None allows all.
        approved: the plan that must still be the same; None where there is none.
    """

    to: str | None = None
    only: str | None = None
    reason: str | None = None
    out_of_order: Collection[str] | None = ()
    approved: ApprovedPlan | None = None

    @property
    def has_file(self) -> bool:
        """Whether a plan file is applied. Then no hint names `migrate`, which also applies other files; a plan settles nothing."""
        return self.approved is not None and self.approved.again is not None


@dataclass(frozen=True, slots=True)
class Planned:
    """One migration that would run, from the statement `resumes_at` (from 1) on."""

    migration: Migration
    resumes_at: int = 1
    record: Record | None = None

    @property
    def waiting(self) -> Waiting | None:
        """Why it waits, and since when; None where it does not."""
        return self.record.waiting if self.record else None


@dataclass(frozen=True, slots=True)
class Plan:
    """What would run, in order.

    Attributes:
        jumped_over: versions below the single one that the run selects.
        warnings: problems that do not prevent the run.
        history, selection: what the plan was made from.
        files: the pending files compiled, in the same order; empty before they are.
    """

    pending: tuple[Planned, ...]
    jumped_over: tuple[str, ...]
    warnings: tuple[str, ...]
    history: History
    selection: Selection
    files: tuple[Compiled, ...] = ()

    @property
    def migrations(self) -> tuple[Migration, ...]:
        """The files that would run."""
        return tuple(planned.migration for planned in self.pending)

    @property
    def digest(self) -> str | None:
        """The digest of the plan file that is applied, if there is one."""
        return self.selection.approved.digest if self.selection.approved else None


def make_plan(
    migrations: Sequence[Migration],
    history: History,
    selection: Selection = Selection(),
    find: FindLost = lambda _: {},
    untracked: FindUntracked = lambda _: (),
    *,
    plans_only: bool = False,
    repeatables: Sequence[Compiled] = (),
) -> Plan:
    """Return which of the migrations, and of the repeatables after them, are to run.

    Repeatables run only where no version is left out.

    Args:
        find: returns what git holds of deleted or edited files; called only if there are any.
        untracked: returns the files that git does not track; called only with those that need another version.
        plans_only: whether the environment runs plan files only.
        repeatables: in the order in which they run.

    Raises:
        NeedsRepair: a statement's outcome is unknown.
        HistoryDisagrees: an applied file was edited or deleted, a squash replaces files of which only some are applied, or a file
            is out of order; all of them at once.
        ConfigurationError: the selection names a version that does not exist.
    """
    known = items(migrations, [(file.migration, file.checksum) for file in repeatables], history)
    versions = [item for item in known.values() if not item.is_repeatable]
    files = [file for item in versions if (file := item.file)]
    _check_selection(files, selection)
    newest = max((file.number for file in files), default=-1)
    edited = [(file, item.recorded) for item in versions if (file := item.file) and item.state is State.CHANGED]
    # Also those whose outcome is unknown.
    missing = [item.recorded for item in versions if item.is_lost and item.number <= newest]
    ahead = [item.recorded for item in versions if item.state is State.AHEAD]
    left = [item.recorded for item in known.values() if item.is_repeatable and item.state is State.MISSING]
    lost = [*map(_lost, (*missing, *ahead, *left)), *(_lost(record, file.location) for file, record in edited)]
    traces = find(tuple(lost)) if lost else {}
    reused = [pair for pair in edited if pair[1].is_withdrawn]
    free = max((item.number for item in versions), default=0) + 1  # Also above those that were withdrawn.
    raise_all([
        *_unknown(known.values(), selection, plans_only), *(item.error for item in versions if item.error),
        *_changed([pair for pair in edited if pair not in reused], traces), *_reused(reused, free, untracked),
        *_missing(missing, traces),
    ])  # fmt: skip
    unsettled = [item for item in versions if item.file and not item.is_settled]
    chosen = [item for item in unsettled if _is_chosen(item, selection)]
    raise_all(_out_of_order(chosen, history, selection, free, untracked))
    jumped_over = [item.label for item in unsettled if selection.only and item.number < int(selection.only)]
    last = repeatables if len(chosen) == len(unsettled) and not selection.only else ()
    return Plan(
        pending=(
            *(Planned(file, item.resumes_at, item.record) for item in chosen if (file := item.file)),
            *(planned for file in last if (planned := _planned_repeatable(file, known[file.migration.name]))),
        ),
        jumped_over=tuple(jumped_over) if chosen else (),
        warnings=(*_ahead(ahead, traces), *_warned(left, traces)),
        history=history,
        selection=selection,
    )


def _warned(left: Sequence[Record], traces: Traces) -> Iterator[str]:
    for record in left:
        yield (
            f"repeatable {record.name} is {record.state}, but its file is gone; what it made is still there:"
            f" {without_file(record.name, _way_back(record, traces))}"
        )


def check_resumes(plan: Plan) -> None:
    """Refuse a file in which a statement that is already done was edited, or whose session cannot be set again.

    The statements after the done ones may be edited.

    Raises:
        HistoryDisagrees: for each file with such an edit.
        NeedsRepair: for each file with such a session.
    """
    pairs = zip(plan.pending, plan.files, strict=True)
    raise_all([error for planned, file in pairs for error in _not_resumed(planned, file)])


def _not_resumed(planned: Planned, compiled: Compiled) -> Iterator[GlacierbaseError]:
    if planned.resumes_at == 1:
        return
    from glacierbase.migrations.sessions import unrepeatable  # Imports the grammar.

    if edited := _edited(planned, compiled):
        yield _done_changed(planned, edited[0])
    elif obstacle := unrepeatable(compiled, planned.resumes_at - 1):
        statement, why = obstacle
        yield session_not_restored(compiled, planned.resumes_at, f"statement {statement.index} {why}", statement)


def check_statements(plan: Plan, catalog: Catalog | None) -> None:
    """Refuse a file with a statement to run that holds a secret, is misread by the engine, or needs what the catalog file lacks.

    Completed statements may be such.

    Args:
        catalog: None where the caller's session has settings of its own.

    Raises:
        MigrationFileError: for each such file.
    """
    pairs = zip(plan.pending, plan.files, strict=True)
    errors = (refused(file, catalog, planned.resumes_at) for planned, file in pairs)
    raise_all([error for error in errors if error])


def _edited(planned: Planned, compiled: Compiled) -> list[int]:
    """Return the indexes of the statements that are done and have another text now."""
    done = planned.record.statement_checksums[: planned.resumes_at - 1] if planned.record else ()
    now = compiled.statement_checksums
    return [index for index, recorded in enumerate(done, start=1) if now[index - 1 : index] != (recorded,)]


def _done_changed(planned: Planned, index: int) -> HistoryDisagrees:
    migration, done = planned.migration, planned.resumes_at - 1
    return HistoryDisagrees(
        "DONE_STATEMENT_CHANGED",
        f"{migration.location}: statement {index} was edited, or renders differently, since it took effect; done in this"
        f" file: {counted(done, 'statement')}; nothing ran",
        f"restore {numbered('statement', 1, done)} (`{command('show', migration.version)}` prints them); only the statements"
        " after them may change",
        version=migration.version,
        path=migration.location,
        statement_index=index,
    )


def _check_selection(migrations: Sequence[Migration], selection: Selection) -> None:
    numbers = {migration.number for migration in migrations}
    named = [selection.to, selection.only, *(selection.out_of_order or ())]
    for version in named:
        # If a file of an approved plan was deleted, the comparison with the plan names it.
        if version is not None and version_number(version) not in numbers and selection.approved is None:
            raise unknown_version(f"there is no migration with version {version}")
    if selection.only and not (selection.reason or "").strip():
        raise ConfigurationError(
            "REASON_MISSING", "running a single version requires a reason", "add --reason 'why this one now'"
        )
    if selection.only and selection.to:
        raise ConfigurationError("CONFLICTING_OPTIONS", "--to and --only exclude each other", "use one of them")


def _unknown(known: Iterable[Item], selection: Selection, plans_only: bool) -> list[GlacierbaseError]:
    has_file = plans_only or selection.has_file
    unknown = (item.recorded for item in known if item.state is State.UNKNOWN)
    return [_outcome_unknown(record, may_settle=record.before is not None and not has_file) for record in unknown]


def _outcome_unknown(record: Record, *, may_settle: bool) -> NeedsRepair:
    """Return the error for a version.

    Args:
        may_settle: whether the hint names `migrate`, which may settle it.
    """
    last, index = record.last, record.statements_done + 1
    tag = statement_tag(last.run_id, record.label, index) if record.has_query_tags else None
    # Other events have the query id of the statement before.
    query_id = last.query_id if last.event == EventType.UNKNOWN else None
    named = "".join(f", {what} {value}" for what, value in (("query tag", tag), ("query id", query_id)) if value)
    return NeedsRepair(
        "OUTCOME_UNKNOWN",
        f"{record.started.path}: run {last.run_id} of {last.os_user} on {last.host} ended inside statement {index} of"
        f" {record.statements_total}{named}; whether it took effect is unknown; nothing ran",
        after_lost_answer(record.label, may_settle=may_settle),
        **record.identity,
        path=record.started.path,
        statement_index=index,
        run_id=last.run_id,
        query_tag=tag,
        query_id=query_id,
    )


def _changed(edited: Sequence[tuple[Migration, Record]], traces: Traces) -> list[GlacierbaseError]:
    return [
        HistoryDisagrees(
            "CHECKSUM_MISMATCH",
            f"{migration.location}: edited since it was {record.state} ({_when(record)}): recorded {record.last.checksum},"
            f" the file has {migration.checksum}; nothing ran",
            after_edit(migration.version, _restoring(migration.location, traces)),
            version=migration.version,
            path=migration.location,
            recorded_checksum=record.last.checksum,
            file_checksum=migration.checksum,
        )
        for migration, record in edited
    ]


def _reused(
    reused: Sequence[tuple[Migration, Record]], free: int, untracked: FindUntracked
) -> Iterator[GlacierbaseError]:
    """Yield the errors of files whose version was withdrawn with another text. Accepted by a repair, they would never run."""
    commands = _renaming([migration for migration, _ in reused], free, untracked)
    for (migration, record), renaming in zip(reused, commands, strict=True):
        yield HistoryDisagrees(
            "CHECKSUM_MISMATCH",
            f"{migration.location}: version {record.version} was withdrawn with another text, and never runs; nothing ran",
            f"give the file a version above all others: `{renaming}`",
            version=migration.version,
            path=migration.location,
            recorded_checksum=record.last.checksum,
            file_checksum=migration.checksum,
        )


def _restoring(path: str, traces: Traces) -> str:
    """Return how to undo the edit of a file."""
    return _checkout(path, traces) or f"restore the file (`{git_command('log', '-p', '--', path)}` shows who edited it)"


def _checkout(path: str, traces: Traces) -> str | None:
    """Return the command that restores a file as it was recorded; None where git has no such file."""
    trace = traces.get(path)
    return f"restore it: {git_command('checkout', trace.commit, '--', path)}" if trace and trace.commit else None


def _missing(lost: Sequence[Record], traces: Traces) -> list[GlacierbaseError]:
    return [
        HistoryDisagrees(
            "MIGRATION_MISSING",
            f"{record.started.path}: version {record.version} is {record.state} ({_when(record)}), but its file is gone;"
            " nothing ran",
            without_file(record.version, _way_back(record, traces)),
            version=record.version,
            path=record.started.path,
        )
        for record in lost
    ]


def _ahead(ahead: Sequence[Record], traces: Traces) -> Iterator[str]:
    for record in ahead:
        applied = f"version {record.version} ({record.started.description}) is {record.state}, but"
        trace = traces.get(record.started.path or "")
        if trace and trace.draft:
            yield f"{applied} its file is still a draft; {_way_back(record, traces)}"
        elif trace and trace.was_here:
            yield f"{applied} its file was deleted here; {_way_back(record, traces)}"
        else:
            pull = f"; {git_command('pull')}" if trace else ""
            yield f"{applied} newer than every file here: this is an older checkout{pull}"


def _way_back(record: Record, traces: Traces) -> str:
    """Return the step that restores a deleted file."""
    path = record.started.path or ""
    trace = traces.get(path)
    if trace and trace.draft:
        return f"restore it: {move_command(trace.draft, path, tracked=False)}"
    if checkout := _checkout(path, traces):
        return checkout
    shown = f"`{command('show', record.label)}` prints what ran"
    if trace is None:
        return f"restore the file; {shown}"
    if trace.was_here:
        return f"git has no such file with the recorded checksum; {shown}"
    return f"git has no such file on this branch: merge the branch that has it; {shown}"


def _lost(record: Record, path: str | None = None) -> LostFile:
    """Return the recorded file; `path` is the path of the edited file, which may have been moved."""
    return LostFile(path or record.started.path or "", record.last.checksum, record.started.git_commit)


def _out_of_order(
    chosen: Sequence[Item], history: History, selection: Selection, free: int, untracked: FindUntracked
) -> list[GlacierbaseError]:
    """Args:
    free: a version above all others.
    """
    if selection.out_of_order is None:
        return []
    allowed = {int(version) for version in selection.out_of_order}
    late = [
        file
        for item in chosen
        if (file := item.file) and item.state is State.OUT_OF_ORDER and item.number not in allowed
    ]
    return [
        _late(migration, history, renaming)
        for migration, renaming in zip(late, _renaming(late, free, untracked), strict=True)
    ]


def _renaming(files: Sequence[Migration], free: int, untracked: FindUntracked) -> Iterator[str]:
    """Yield the command that gives each file a version from `free` on."""
    moved = untracked([file.path for file in files]) if files else ()
    for number, file in enumerate(files, start=free):
        path = PurePosixPath(file.location)
        renamed = path.with_name(f"{str(number).zfill(len(file.version))}_{file.name}.sql")
        yield move_command(str(path), str(renamed), tracked=file.path not in moved)


def _late(migration: Migration, history: History, renaming: str) -> HistoryDisagrees:
    newest = history.records[history.newest]
    return HistoryDisagrees(
        "OUT_OF_ORDER",
        f"{migration.location}: version {migration.version} came after version {newest.version} was {newest.state}; nothing ran",
        out_of_order(migration.version, f"give it a version above that one: `{renaming}`"),
        version=migration.version,
        path=migration.location,
        newest=newest.version,
    )


def _is_chosen(item: Item, selection: Selection) -> bool:
    if selection.only:
        return item.number == int(selection.only)
    return not selection.to or item.number <= int(selection.to)


def _planned_repeatable(file: Compiled, item: Item) -> Planned | None:
    """Return a repeatable as it would run; None where it is applied as it is.

    One that failed resumes where it renders as it did, and its session can be set again; else it begins again.
    """
    record, planned = item.record, Planned(file.migration, item.resumes_at, item.record)
    if item.state is State.PENDING:
        return planned
    if record is None or record.is_settled:
        return None
    may_resume = record.last.rendered_checksum == file.checksum and not any(_not_resumed(planned, file))
    return planned if may_resume else replace(planned, resumes_at=1)


def _when(record: Record) -> str:
    at = record.applied_at or record.outcome.recorded_at
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "at an unknown time"
