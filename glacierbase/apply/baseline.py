"""`baseline`: record files as applied without running them, for tables that already exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glacierbase.apply.comparison import Comparison, compare
from glacierbase.apply.holding import LockedCatalog, locked
from glacierbase.apply.recording import recording
from glacierbase.apply.seen import TablesSeen
from glacierbase.errors import HistoryDisagrees, raise_all
from glacierbase.executors.engine import Engine
from glacierbase.history.entries import Entry, baselined
from glacierbase.history.opening import Target
from glacierbase.history.records import SETTLED, History
from glacierbase.history.squashes import fitted
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.headers import check_required
from glacierbase.model.arguments import unknown_version
from glacierbase.model.columns import ColumnDifference
from glacierbase.model.command import command
from glacierbase.model.text import quoted
from glacierbase.sql.declared_tables import declared_tables


@dataclass(frozen=True, slots=True)
class Baselined:
    """What `baseline` recorded.

    Attributes:
        files: the files, in order.
        differences: accepted ones between the columns that the files declare and those of the tables.
        warnings: which tables were not compared, and why.
    """

    files: tuple[Compiled, ...] = ()
    differences: tuple[ColumnDifference, ...] = ()
    warnings: tuple[str, ...] = ()


def baseline(
    target: Target,
    to: int,
    reason: str,
    lock_timeout: float = 0,
    session: Any = None,
    *,
    accept_differences: bool = False,
) -> Baselined:
    """Record every file up to version `to` that was never started as applied, in one append.

    Args:
        accept_differences: record the files although the tables have other columns than the files declare.

    Raises:
        ConfigurationError: there is no file of that version.
        HistoryDisagrees: a table or view that the files create does not exist or has other columns, or one of the files was
            started and is not settled.
        MigrationFileError: a file lacks a required header.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    candidates = _files_up_to(target, to)
    with recording() as change, target.opened(session) as opened:
        state = read_state(opened)
        files = _not_started(candidates, state.history)
        check_required((compiled.migration for compiled in files), target.catalog.required_headers)
        found = _compared(opened.engine, files, target.dialect)
        _check(found, candidates[-1].migration.version, accept_differences)
        if not files:
            return Baselined()
        with locked(opened, state, lock_timeout) as held:
            files = _not_started(candidates, held.state.history)
            entries = _entries(held, files, reason, found)
            done = f"recorded as applied: {', '.join(compiled.migration.version for compiled in files)}"
            change.make(done, lambda: held.recorder.append(*entries))
    return Baselined(files, found.all_differences, found.not_compared)


def _entries(held: LockedCatalog, files: Sequence[Compiled], reason: str, found: Comparison) -> list[Entry]:
    """Return the event of each file. The last one that touches a table records it."""
    seen, entries = TablesSeen(held), []
    for file in reversed(files):
        entry = baselined(file, reason, found.differences.get(file.migration.version, ()))
        entries.append(seen.settled(entry, file.statements, compares=False))
    return entries[::-1]


def _files_up_to(target: Target, to: int) -> Sequence[Compiled]:
    migrations = [migration for migration in target.migrations if migration.number <= to]
    if not migrations or migrations[-1].number != to:
        raise unknown_version(f"there is no migration with version {to}")
    return target.compile(migrations)


def _not_started(candidates: Sequence[Compiled], history: History) -> tuple[Compiled, ...]:
    here = fitted([compiled.migration for compiled in candidates], history)
    raise_all(here.errors)
    numbers = {migration.number for migration in here.migrations} - set(history.records)
    records = [history.records.get(compiled.migration.number) for compiled in candidates]
    unsettled = [record for record in records if record and record.state not in SETTLED]
    if unsettled:
        first = unsettled[0]
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"{first.started.path}: version {first.version} was started here and is {first.state}; nothing was recorded",
            f"`{command('repair', first.version)}` shows how to settle it",
            version=first.version,
        )
    return tuple(compiled for compiled in candidates if compiled.migration.number in numbers)


def _compared(engine: Engine, files: Sequence[Compiled], dialect: str) -> Comparison:
    tables = declared_tables(((each.migration.version, each.statements) for each in files), dialect)
    return compare(engine.start(), tables) if tables else Comparison()


def _check(found: Comparison, to: str, accept_differences: bool) -> None:
    """Refuse tables that are not as the files up to version `to` declare them."""
    accept = command("baseline", "--to", to, "--accept-differences", reason=True)
    if found.missing:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"these tables or views of the files do not exist: {', '.join(found.missing)}; nothing was recorded",
            "choose a lower --to, and let migrate run the rest; or create them as the file does",
            missing=list(found.missing),
        )
    if found.all_differences and not accept_differences:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            (
                "tables have other columns than the files declare; nothing was recorded",
                *quoted("\n".join(difference.line() for difference in found.all_differences)),
            ),
            f"correct the files; or record the differences as accepted: `{accept}`",
            differences=list(found.all_differences),
        )
