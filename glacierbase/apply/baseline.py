"""`baseline`: record files as applied without running them, for tables that already exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from glacierbase.apply.comparison import Comparison, ExistingTables, compare
from glacierbase.apply.holding import LockedCatalog, locked
from glacierbase.apply.recording import Recording, recording
from glacierbase.apply.results import BaselinedFile, BaselineResult
from glacierbase.apply.table_records import TableRecords
from glacierbase.errors import HistoryDisagrees, raise_all
from glacierbase.history.entries import Entry, baselined
from glacierbase.history.opening import OpenCatalog, Target
from glacierbase.history.records import SETTLED, History
from glacierbase.history.squashes import fitted
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.headers import check_required
from glacierbase.model.accepted import DeclaredDifference
from glacierbase.model.arguments import unknown_version
from glacierbase.model.command import command
from glacierbase.model.migration import OriginalRun
from glacierbase.model.text import quoted
from glacierbase.sql.declared import declared_tables


@dataclass(frozen=True, slots=True)
class Baselined:
    """What `baseline` recorded.

    Attributes:
        files: the files, in order.
        differences: accepted ones between the tables that the files declare and those that exist.
        warnings: what was not compared, and why.
    """

    files: tuple[Compiled, ...] = ()
    differences: tuple[DeclaredDifference, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """What exists of what the files declare.

    Attributes:
        missing: the tables and views that do not exist.
        differences: by the version of the file that creates the table.
        warnings: what was not compared, and why.
    """

    missing: tuple[str, ...]
    differences: Mapping[str, Sequence[DeclaredDifference]]
    warnings: tuple[str, ...]

    @property
    def all_differences(self) -> tuple[DeclaredDifference, ...]:
        return tuple(difference for each in self.differences.values() for difference in each)


def baseline_catalog(
    target: Target, result: BaselineResult, *, to: int, reason: str, accept: Collection[str], lock_timeout: float
) -> BaselineResult:
    """Record the files up to version `to` as applied; see `baseline`."""
    done = baseline(target, to, reason, lock_timeout, accept=accept)
    recorded = (BaselinedFile(file.migration.version, file.migration.location) for file in done.files)
    return replace(result, baselined=tuple(recorded), differences=done.differences, warnings=done.warnings)


def baseline(
    target: Target,
    to: int,
    reason: str,
    lock_timeout: float = 0,
    *,
    accept: Collection[str] = (),
) -> Baselined:
    """Record every file up to version `to` that was never started as applied, in one append.

    Args:
        accept: patterns of the differences that do not matter: `partitioning`, `column legacy`, `property *`.

    Raises:
        ConfigurationError: there is no file of that version.
        HistoryDisagrees: a table or view that the files create does not exist or is not as they declare it, or one of the
            files was started and is not settled.
        MigrationFileError: a file lacks a required header.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    candidates = files_up_to(target, to)
    with recording() as change, target.opened() as opened:
        return baseline_opened(opened, change, candidates, reason, lock_timeout, accept=accept)


def baseline_opened(
    opened: OpenCatalog,
    change: Recording,
    candidates: Sequence[Compiled],
    reason: str,
    lock_timeout: float,
    *,
    accept: Collection[str],
    originals: Mapping[int, OriginalRun] = {},
) -> Baselined:
    """Record these files in an opened catalog, as `baseline` does.

    Args:
        candidates: all files up to a version, as `files_up_to` returns them.
        originals: who applied a file with another tool, by the number of its version.
    """
    state = read_state(opened)
    files = _not_started(candidates, state.history)
    check_required((compiled.migration for compiled in files), opened.target.catalog.required_headers)
    if not files:
        return Baselined()
    found = _compared(opened, candidates, files)
    _check(found, candidates[-1].migration.version, accept)
    with locked(opened, state, lock_timeout) as held:
        files = _not_started(candidates, held.state.history)
        entries = _entries(held, files, reason, found, originals)
        done = f"recorded as applied: {', '.join(compiled.migration.version for compiled in files)}"
        change.make(done, lambda: held.recorder.append(*entries))
    return Baselined(files, found.all_differences, found.warnings)


def _entries(
    held: LockedCatalog,
    files: Sequence[Compiled],
    reason: str,
    found: _Found,
    originals: Mapping[int, OriginalRun],
) -> list[Entry]:
    """Return the event of each file. The last one that changes a table records it."""
    tables, entries = TableRecords(held), []
    for number, file in reversed(list(enumerate(files, start=1))):
        differences = found.differences.get(file.migration.version, ())
        entry = baselined(file, reason, differences, originals.get(file.migration.number))
        entries.append(entry.with_tables(tables.baselined(files[:number])))
    return entries[::-1]


def files_up_to(target: Target, to: int) -> Sequence[Compiled]:
    """Return the files up to a version, compiled. Contacts nothing.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`: there is no file of that version.
    """
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


def _compared(opened: OpenCatalog, candidates: Sequence[Compiled], files: Sequence[Compiled]) -> _Found:
    """Compare what the files are about with the tables that exist.

    Args:
        candidates: these files and those before them, which declare the tables together.
    """
    recorded, dialect = {compiled.migration.version for compiled in files}, opened.target.dialect
    statements = ((compiled.migration.version, compiled.named) for compiled in candidates)
    with ExistingTables(opened.target.catalog, opened.engine) as existing:
        declared = declared_tables(statements, dialect, existing.names)
        tables = [each for each in declared.tables.values() if not recorded.isdisjoint(each.versions)]
        found = compare(existing, tables, dialect) if tables else Comparison()
    by_version: dict[str, list[DeclaredDifference]] = {}
    for table in tables:
        version = next(each for each in table.versions if each in recorded)
        by_version.setdefault(version, []).extend(found.differences.get(table.whole.key, ()))
    unclear = tuple(why for version, why in declared.not_understood if version in recorded)
    return _Found(found.missing, by_version, (*unclear, *found.not_compared))


def _check(found: _Found, to: str, accept: Collection[str]) -> None:
    """Refuse tables that are not as the files up to version `to` declare them."""
    if found.missing:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"these tables or views of the files do not exist: {', '.join(found.missing)}; nothing was recorded",
            "choose a lower --to, and let migrate run the rest; or create them as the file does",
            missing=list(found.missing),
        )
    refused = [each for each in found.all_differences if not each.is_accepted(accept)]
    if refused:
        accepted = dict.fromkeys([*accept, *(each.subject for each in refused)])
        options = [part for subject in accepted for part in ("--accept", subject)]
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            (
                "tables are not as the files declare them; nothing was recorded",
                *quoted("\n".join(difference.line() for difference in refused)),
            ),
            f"correct the files; or record the differences as accepted: `{command('baseline', '--to', to, *options, reason=True)}`",
            differences=refused,
        )
