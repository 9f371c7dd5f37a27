"""What would run: files and history in, a plan out, or the error that says why there is none. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees, NeedsRepair, raise_all
from glacierbase.history.records import SETTLED, History, Record
from glacierbase.model.migration import EventType, Migration, State, version_number
from glacierbase.model.result import Status
from glacierbase.run.run import statement_tag


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the pending migrations a run is asked for.

    Attributes:
        to: the highest version to run.
        only: the single version to run, with the reason in `reason`.
        out_of_order: versions that may run although a higher one is applied; None allows all.
    """

    to: str | None = None
    only: str | None = None
    reason: str | None = None
    out_of_order: Collection[str] | None = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """One migration that would run, from the statement `resumes_at` (from 1) on."""

    migration: Migration
    resumes_at: int = 1
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What would run, in order; what `only` passes by; and what a person should know."""

    pending: tuple[Planned, ...]
    jumped_over: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def make_plan(migrations: Sequence[Migration], history: History, selection: Selection = Selection()) -> Plan:
    """What would run of `migrations`, after what `history` says.

    Raises:
        NeedsRepair: a statement's outcome is unknown.
        HistoryDisagrees: an applied file was edited or deleted, or a file came too late; all of them at once.
        ConfigurationError: the selection names a version that is not there.
    """
    _check_selection(migrations, selection)
    raise_all([*_unknown(history), *_changed(migrations, history), *_missing(migrations, history)])
    open_ones = [m for m in migrations if not _is_settled(m, history)]
    chosen = [m for m in open_ones if _is_chosen(m, selection)]
    raise_all(_out_of_order(chosen, history, selection))
    jumped_over = [m.version for m in open_ones if selection.only and m.number < int(selection.only)]
    return Plan(
        pending=tuple(_planned(migration, history) for migration in chosen),
        jumped_over=tuple(jumped_over) if chosen else (),
        warnings=tuple(_ahead(migrations, history)),
    )


def make_status(migrations: Sequence[Migration], history: History) -> tuple[Status, ...]:
    """Where every version of files and history stands, in order."""
    files = {migration.number: migration for migration in migrations}
    numbers = sorted({*files, *history.records})
    return tuple(_status(files.get(n), history.records.get(n), migrations, history) for n in numbers)


def _status(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> Status:
    told = migration or (record.started if record else None)
    assert told is not None
    last = record.last if record else None
    return Status(
        version=migration.version if migration else record.version if record else "",
        description=told.description,
        author=told.author,
        path=migration.location if migration else record.started.path if record else None,
        state=_state(migration, record, migrations, history),
        statements_done=record.statements_done if record else 0,
        statements_total=record.statements_total if record else None,
        applied_at=record.applied_at if record else None,
        run_id=last.run_id if last else None,
        error_message=last.error_message if last else None,
    )


def _state(
    migration: Migration | None, record: Record | None, migrations: Sequence[Migration], history: History
) -> State:
    if record is None:
        late = migration is not None and _is_late(migration, history)
        return State.OUT_OF_ORDER if late else State.PENDING
    if migration is None:
        if record.is_removed:
            return record.state
        ahead = record.number > _newest(migrations) and record.state in SETTLED
        return State.AHEAD if ahead else State.MISSING
    if record.state in SETTLED and record.last.checksum != migration.checksum:
        return State.CHANGED
    return record.state


def _check_selection(migrations: Sequence[Migration], selection: Selection) -> None:
    known = {migration.number for migration in migrations}
    named = [selection.to, selection.only, *(selection.out_of_order or ())]
    for version in named:
        if version is not None and version_number(version) not in known:
            raise ConfigurationError(
                "UNKNOWN_VERSION",
                f"there is no migration with version {version}",
                "`glacierbase status` lists all versions",
            )
    if selection.only and not (selection.reason or "").strip():
        raise ConfigurationError(
            "REASON_MISSING", "running a single version needs its reason", "add --reason 'why this one now'"
        )
    if selection.only and selection.to:
        raise ConfigurationError(
            "CONFLICTING_OPTIONS", "a run goes up to a version or takes a single one, not both", "drop one"
        )


def _unknown(history: History) -> list[GlacierbaseError]:
    return [_outcome_unknown(record) for record in history.records.values() if record.state is State.UNKNOWN]


def _outcome_unknown(record: Record) -> NeedsRepair:
    last, index = record.last, record.statements_done + 1
    tag = statement_tag(last.run_id, record.version, index) if record.is_tagged else None
    # The event before an unrecorded end carries the id of the statement before.
    query_id = last.query_id if last.event == EventType.UNKNOWN else None
    named = "".join(f", {what} {value}" for what, value in (("query tag", tag), ("query id", query_id)) if value)
    return NeedsRepair(
        "OUTCOME_UNKNOWN",
        f"{record.started.path}: run {last.run_id} of {last.os_user} on {last.host} ended inside statement {index} of"
        f" {record.statements_total}{named}; whether it took effect is unknown; nothing ran",
        f"`glacierbase repair {record.version}` shows the statement, what the engine remembers of it, and the choices",
        version=record.version,
        path=record.started.path,
        statement_index=index,
        run_id=last.run_id,
        query_tag=tag,
        query_id=query_id,
    )


def _changed(migrations: Sequence[Migration], history: History) -> list[GlacierbaseError]:
    pairs = [(m, history.records[m.number]) for m in migrations if _is_settled(m, history)]
    return [
        HistoryDisagrees(
            "CHECKSUM_MISMATCH",
            f"{migration.location}: edited since it was {record.state} ({_when(record)}): recorded {record.last.checksum},"
            f" the file has {migration.checksum}; nothing ran",
            "restore the file (`git log -p` shows who edited it), and put the change into a new migration; an edit that is"
            f" meant to stay is accepted by `glacierbase repair {migration.version} --as edited`",
            version=migration.version,
            path=migration.location,
            recorded_checksum=record.last.checksum,
            file_checksum=migration.checksum,
        )
        for migration, record in pairs
        if record.last.checksum != migration.checksum
    ]


def _missing(migrations: Sequence[Migration], history: History) -> list[GlacierbaseError]:
    files = {migration.number for migration in migrations}
    return [
        HistoryDisagrees(
            "MIGRATION_MISSING",
            f"{record.started.path}: version {record.version} is {record.state} ({_when(record)}), but its file is gone;"
            " nothing ran",
            f"restore it: git checkout $(git rev-list -n 1 HEAD -- {record.started.path})~1 -- {record.started.path}; one that"
            f" is gone on purpose is accepted by `glacierbase repair {record.version} --as removed`",
            version=record.version,
            path=record.started.path,
        )
        for number, record in history.records.items()
        if number not in files and number <= _newest(migrations) and not record.is_removed
    ]


def _ahead(migrations: Sequence[Migration], history: History) -> list[str]:
    ahead = [record for number, record in sorted(history.records.items()) if number > _newest(migrations)]
    return [
        f"version {record.version} ({record.started.description}) is {record.state}, but newer than every file here:"
        " this is an older checkout"
        for record in ahead
    ]


def _out_of_order(chosen: Sequence[Migration], history: History, selection: Selection) -> list[GlacierbaseError]:
    if selection.out_of_order is None:
        return []
    allowed = {int(version) for version in selection.out_of_order}
    return [
        HistoryDisagrees(
            "OUT_OF_ORDER",
            f"{migration.location}: version {migration.version} came after version {history.records[history.newest].version}"
            f" was {history.records[history.newest].state}; nothing ran",
            "give it a version above that one (`git mv`), or run it where it stands:"
            f" --allow-out-of-order {migration.version}",
            version=migration.version,
            path=migration.location,
            newest=history.records[history.newest].version,
        )
        for migration in chosen
        if _is_late(migration, history) and migration.number not in allowed
    ]


def _is_late(migration: Migration, history: History) -> bool:
    """Never begun, not passed by on purpose, and below a version that was begun."""
    begun = migration.number in history.records or migration.number in history.jumped_over
    return not begun and migration.number < history.newest


def _is_settled(migration: Migration, history: History) -> bool:
    record = history.records.get(migration.number)
    return record is not None and record.state in SETTLED


def _is_chosen(migration: Migration, selection: Selection) -> bool:
    if selection.only:
        return migration.number == int(selection.only)
    return not selection.to or migration.number <= int(selection.to)


def _planned(migration: Migration, history: History) -> Planned:
    record = history.records.get(migration.number)
    return Planned(migration, record.statements_done + 1 if record else 1, record)


def _newest(migrations: Sequence[Migration]) -> int:
    return migrations[-1].number if migrations else -1


def _when(record: Record) -> str:
    return f"{record.last.recorded_at:%Y-%m-%d %H:%M} UTC" if record.last.recorded_at else "at an unknown time"
