"""`baseline`: record files as applied without running them, for tables that already exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from glacierbase.apply.locked import LockedCatalog, Recording, locked, recording
from glacierbase.apply.results import BaselinedFile, BaselineResult
from glacierbase.declared.declared import Declared, declared_shape, declared_tables
from glacierbase.declared.known import KnownTable
from glacierbase.errors import ConfigurationError, EngineError, HistoryDisagrees, TableNotFound, raise_all
from glacierbase.executors import Session
from glacierbase.executors.engine import Engine
from glacierbase.history.entries import Entry, baselined
from glacierbase.history.items import version_items
from glacierbase.history.records import History
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.compiled import Compiled, refused_secret
from glacierbase.migrations.headers import check_required
from glacierbase.model import differences
from glacierbase.model.arguments import unknown_version
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.migration import OriginalRun
from glacierbase.model.names import name_of, name_parts, snowflake_identifier
from glacierbase.model.shape import Shape
from glacierbase.model.text import quoted
from glacierbase.record.drift import is_kept_by_engine
from glacierbase.record.live import LiveTables, TableRead, TableShapes
from glacierbase.record.shapes import as_recorded
from glacierbase.record.table_records import TableRecords
from glacierbase.sql.dialects import SPARK, dialect_of
from glacierbase.sql.file import FileStatement, is_whole, names_within
from glacierbase.sql.qualified import qualified
from glacierbase.sql.statement import Name, ParsedStatement

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Baselined:
    """What `baseline` recorded.

    Attributes:
        files: the files, in order.
        differences: accepted ones between the tables that the files declare and those that exist.
        warnings: what was not compared, and why.
        left: the files that stay pending.
    """

    files: tuple[Compiled, ...] = ()
    differences: tuple[DeclaredDifference, ...] = ()
    warnings: tuple[str, ...] = ()
    left: tuple[Compiled, ...] = ()


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """How the tables that files declare differ from those that exist.

    Attributes:
        missing: the tables and views that do not exist, and the versions that create or change each.
        present: the versions that create or change a table that exists.
        differences: by the version of the file that creates the table.
        warnings: what was not compared, and why.
    """

    missing: Mapping[str, Sequence[str]]
    present: Collection[str]
    differences: Mapping[str, Sequence[DeclaredDifference]]
    warnings: tuple[str, ...]

    @property
    def all_differences(self) -> tuple[DeclaredDifference, ...]:
        return tuple(difference for group in self.differences.values() for difference in group)


def baseline_catalog(
    target: CatalogRun,
    result: BaselineResult,
    *,
    to: int,
    reason: str,
    accept: Collection[str],
    leave_missing: bool,
    lock_timeout: float,
) -> BaselineResult:
    """Record the files up to version `to` as applied; see `baseline`."""
    done = baseline(target, to, reason, lock_timeout, accept=accept, leave_missing=leave_missing)
    recorded, left = (
        tuple(BaselinedFile(file.migration.version, file.migration.location) for file in files)
        for files in (done.files, done.left)
    )
    return replace(result, baselined=recorded, left=left, differences=done.differences, warnings=done.warnings)


def baseline(
    target: CatalogRun,
    to: int,
    reason: str,
    lock_timeout: float = 0,
    *,
    accept: Collection[str] = (),
    leave_missing: bool = False,
    leave: Collection[int] = (),
) -> Baselined:
    """Record every file up to version `to` that was never started as applied, in one append.

    Args:
        accept: patterns of the differences that do not matter: `partitioning`, `column legacy`, `property *`.
        leave_missing: leave files pending whose tables do not exist; they may run later, out of order.
        leave: the numbers of further files that stay pending.

    Raises:
        ConfigurationError: there is no file of that version.
        HistoryDisagrees: a table or view that the files create does not exist or is not as they declare it, or one of the
            files was started and is not settled.
        MigrationFileError: a file lacks a required header.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    candidates = files_up_to(target, to)
    with recording() as change, target.opened() as opened:
        return baseline_opened(
            opened, change, candidates, reason, lock_timeout, accept=accept, leave_missing=leave_missing, leave=leave
        )


def baseline_opened(
    opened: OpenCatalog,
    change: Recording,
    candidates: Sequence[Compiled],
    reason: str,
    lock_timeout: float,
    *,
    accept: Collection[str],
    originals: Mapping[int, OriginalRun] = {},
    leave_missing: bool = False,
    leave: Collection[int] = (),
) -> Baselined:
    """Record these files in an opened catalog, as `baseline` does.

    Args:
        candidates: all files up to a version, as `files_up_to` returns them.
        originals: who applied a file with another tool, by the number of its version.
    """
    state = read_state(opened)
    unstarted = _not_started(candidates, state.history)
    files = [compiled for compiled in unstarted if compiled.migration.number not in leave]
    check_required((compiled.migration for compiled in files), opened.target.catalog.required_headers)
    raise_all([error for compiled in files if (error := refused_secret(compiled))])
    if not files:
        return Baselined(left=unstarted)
    declaring = [compiled for compiled in candidates if compiled.migration.number not in leave]
    comparison = _compared(opened, declaring, files)
    _check(comparison, candidates[-1].migration.version, accept, leave_missing)
    missing = {int(version) for versions in comparison.missing.values() for version in versions}
    with locked(opened, state, lock_timeout) as held:
        unstarted = _not_started(candidates, held.state.history)
        left = tuple(compiled for compiled in unstarted if compiled.migration.number in {*missing, *leave})
        recorded = tuple(compiled for compiled in unstarted if compiled not in left)
        if recorded:
            entries = _entries(held, recorded, reason, comparison, originals, left)
            done = f"recorded as applied: {', '.join(compiled.migration.version for compiled in recorded)}"
            change.make(done, lambda: held.recorder.append(*entries))
    return Baselined(recorded, comparison.all_differences, comparison.warnings, left)


def _entries(
    held: LockedCatalog,
    files: Sequence[Compiled],
    reason: str,
    comparison: _Comparisons,
    originals: Mapping[int, OriginalRun],
    left: Sequence[Compiled],
) -> list[Entry]:
    """Return the event of each file. The last one that changes a table records it.

    Args:
        left: the files that stay pending.
    """
    tables, entries = TableRecords(held.target.catalog, held.engine, held.state.history), []
    jumped_over = [file.migration.version for file in left if file.migration.number < files[-1].migration.number]
    for number, file in reversed(list(enumerate(files, start=1))):
        differences = comparison.differences.get(file.migration.version, ())
        passed = jumped_over if file is files[-1] else ()
        entry = baselined(file, reason, differences, originals.get(file.migration.number), passed)
        entries.append(entry.with_tables(tables.baselined(files[:number])))
    return entries[::-1]


def files_up_to(target: CatalogRun, to: int) -> Sequence[Compiled]:
    """Return the files up to a version, compiled. Contacts nothing.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`: there is no file of that version.
    """
    migrations = [migration for migration in target.migrations if migration.number <= to]
    if not migrations or migrations[-1].number != to:
        raise unknown_version(f"there is no migration with version {to:04}")
    return target.compile(migrations)


def _not_started(candidates: Sequence[Compiled], history: History) -> tuple[Compiled, ...]:
    known = version_items([compiled.migration for compiled in candidates], history)
    raise_all([item.error for item in known if item.error])
    first = next((item.record for item in known if item.file and item.record and not item.is_settled), None)
    if first:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"{first.started.path}: version {first.version} was started here and is {first.state}; nothing was recorded",
            f"`{command('repair', first.version)}` shows how to settle it",
            version=first.version,
        )
    unstarted = {item.number for item in known if item.record is None}
    return tuple(compiled for compiled in candidates if compiled.migration.number in unstarted)


def _compared(opened: OpenCatalog, candidates: Sequence[Compiled], files: Sequence[Compiled]) -> _Comparisons:
    """Compare the tables of the files with those that exist.

    Args:
        candidates: these files and those before them, which declare the tables together.
    """
    recorded, dialect = {compiled.migration.version for compiled in files}, opened.target.dialect
    statements = ((compiled.migration.version, compiled.named) for compiled in candidates)
    with ExistingTables(opened.target.catalog, opened.engine) as existing:
        declared = declared_tables(statements, dialect, existing.names)
        tables = [candidate for candidate in declared.tables.values() if not recorded.isdisjoint(candidate.versions)]
        comparison = compare(existing, tables, dialect) if tables else Comparison()
    by_version: dict[str, list[DeclaredDifference]] = {}
    for table in tables:
        version = next(version for version in table.versions if version in recorded)
        by_version.setdefault(version, []).extend(comparison.differences.get(table.whole.key, ()))
    unclear = tuple(why for version, why in declared.not_understood if version in recorded)
    missing = {
        comparison.missing[table.whole.key]: sorted(recorded.intersection(table.versions))
        for table in tables
        if table.whole.key in comparison.missing
    }
    present = {version for table in tables if table.whole.key not in comparison.missing for version in table.versions}
    return _Comparisons(missing, present, by_version, (*unclear, *comparison.not_compared))


def _check(comparison: _Comparisons, to: str, accept: Collection[str], leave_missing: bool) -> None:
    """Refuse tables that are not as the files up to version `to` declare them."""
    accepted = [part for subject in accept for part in ("--accept", subject)]
    if comparison.missing and not leave_missing:
        again = command("baseline", "--to", to, "--leave-missing", *accepted, reason=True)
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"these tables or views of the files do not exist: {', '.join(comparison.missing)}; nothing was recorded",
            f"record the others, and let `migrate` run the files of these: `{again}`",
            missing=list(comparison.missing),
        )
    partly = {table: set(versions) & set(comparison.present) for table, versions in comparison.missing.items()}
    if lines := [f"{table}: {', '.join(sorted(versions))}" for table, versions in partly.items() if versions]:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            ("files have tables that exist and tables that do not; nothing was recorded", *quoted("\n".join(lines))),
            "create these tables as their files do, and run the command again",
            missing=list(comparison.missing),
        )
    refused = [difference for difference in comparison.all_differences if not difference.is_accepted(accept)]
    if refused:
        subjects = dict.fromkeys([*accept, *(difference.subject for difference in refused)])
        options = [part for subject in subjects for part in ("--accept", subject)]
        options += ["--leave-missing"] if leave_missing else []
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            (
                "tables are not as the files declare them; nothing was recorded",
                *quoted("\n".join(difference.line() for difference in refused)),
            ),
            f"correct the files; or record the differences as accepted: `{command('baseline', '--to', to, *options, reason=True)}`",
            differences=refused,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """How declared tables differ from those that exist.

    Attributes:
        missing: the names of the tables and views that do not exist, by the key of the qualified name.
        differences: by the key of the table's qualified name.
        not_compared: a sentence for each table or view that was not compared, or not as a whole.
    """

    missing: Mapping[_Key, str] = field(default_factory=dict)
    differences: Mapping[_Key, tuple[DeclaredDifference, ...]] = field(default_factory=dict)
    not_compared: tuple[str, ...] = ()


def compare(existing: ExistingTables, tables: Collection[Declared], dialect: str) -> Comparison:
    """Compare each declared table with the one that exists. Changes nothing.

    Raises:
        EngineError: the engine does not answer whether one of them exists.
    """
    missing: dict[_Key, str] = {}
    differing: dict[_Key, tuple[DeclaredDifference, ...]] = {}
    not_compared: list[str] = []
    for table, reading in zip(tables, existing.read(tables), strict=True):
        name = existing.name(table)
        if reading.unread is None and reading.shape is None:
            missing[table.whole.key] = name
        elif reading.shape is None or table.known is None:
            not_compared.append(f"not compared: {name} ({table.why or reading.unread})")
        else:
            differing[table.whole.key], unknown = _difference(name, table.known, reading.shape, dialect)
            if unknown:
                not_compared.append(f"not compared: {name}: {', '.join(unknown)} (not derived from the files)")
    return Comparison(missing, differing, tuple(not_compared))


def _difference(
    name: str, known: KnownTable, actual: Shape, dialect: str
) -> tuple[tuple[DeclaredDifference, ...], Sequence[str]]:
    """Return the differences of a table, and its parts that are not known."""
    declared = declared_shape(known, actual, dialect)
    changes = differences.compare({name: as_recorded(declared.shape)}, {name: as_recorded(actual)})
    declared_differences = (
        DeclaredDifference(name, difference.name, difference.before, difference.after, difference.what)
        for change in changes
        for difference in change.diff
        if not is_kept_by_engine(difference)
    )
    return tuple(declared_differences), declared.unknown


class ExistingTables:
    """The tables and views of a catalog as they exist. A context manager, which closes what it opened."""

    def __init__(self, catalog: Catalog, engine: Engine) -> None:
        """Contact nothing. The engine is started when it is needed."""
        self._catalog = catalog
        self._engine = engine
        self._shapes = TableShapes(catalog)
        # Catalog and namespace after the statements of a session, which are the key; None where they do not exist.
        self._places: dict[_Key, Sequence[str] | None] = {}
        self._nowhere: set[_Key] = set()

    def names(self, parsed: ParsedStatement, uses: Sequence[FileStatement]) -> Sequence[Name]:
        """Return the qualified names of what a statement changes, after the statements of its session before it."""
        is_moved = any(named.parsed.moves for named in uses)
        before = tuple(named.statement.text for named in uses) if is_moved else ()
        names = zip(parsed.targets, names_within(parsed, self._catalog.dialect), strict=True)
        return [self._whole(name, written, before) for name, written in names]

    def name(self, table: Declared) -> str:
        """Return the qualified name of a table; as its file writes it in a namespace that does not exist."""
        return table.name if table.whole.key in self._nowhere else table.whole.recorded

    def read(self, tables: Collection[Declared]) -> Sequence[TableRead]:
        """Return each table as it is, in the same order; of a view, why it is not read.

        Raises:
            EngineError: the engine does not answer whether one of them exists.
        """
        near = [declared.whole.recorded for declared in tables if not declared.uses and not declared.is_view]
        with LiveTables(self._catalog, self._engine) as live:
            readings = live.read(near)
        return [self._read(declared, readings.get(declared.whole.recorded)) for declared in tables]

    def _read(self, table: Declared, reading: TableRead | None) -> TableRead:
        if reading and reading.unread is None:
            return reading
        name = table.whole.recorded
        if table.whole.key in self._nowhere:
            return TableRead()
        with self._session(table.uses) as session:
            try:
                session.query(f"SELECT 1 FROM {name} LIMIT 0")
            except TableNotFound:
                return TableRead()
            try:
                return TableRead(unread="a view") if table.is_view else TableRead(self._shapes.read(name, session))
            except (ConfigurationError, EngineError) as error:
                return TableRead(unread=error.message)

    def _whole(self, name: Name, written: str, uses: _Key) -> Name:
        """Return a name that the rest of its statement has completed, with its catalog and namespace."""
        if not uses or is_whole(self._catalog, written):
            return self._with_parts(name, name_parts(qualified(self._catalog, written)))
        if uses not in self._places:
            self._places[uses] = self._place(uses)
        place = self._places[uses]
        if place is None:
            self._nowhere.add((*uses, *name.key))
            return Name((*uses, *name.parts), (*uses, *name.key), (*uses, *name.written))
        above = place if len(name.parts) == 1 else place[:1]
        return self._with_parts(name, (*above, *name.parts))

    def _with_parts(self, name: Name, parts: Sequence[str]) -> Name:
        """Return a name with further parts before it."""
        above = tuple(parts[: len(parts) - len(name.parts)])
        facts = dialect_of(self._catalog.dialect)
        is_exact = not facts.quotes_fold
        key = above if is_exact else tuple(map(facts.folds, above))
        written = (snowflake_identifier(f'"{part}"') if is_exact else name_of((part,)) for part in above)
        return Name((*above, *name.parts), (*key, *name.key), (*written, *name.written))

    def _place(self, uses: _Key) -> Sequence[str] | None:
        try:
            with self._session(uses) as session:
                context = session.context()
        except TableNotFound:
            return None
        catalog, namespace = context.catalog or "", context.namespace or ""
        return (catalog, *name_parts(namespace)) if self._catalog.dialect == SPARK.name else (catalog, namespace)

    @contextmanager
    def _session(self, uses: Sequence[str]) -> Iterator[Session]:
        with closing(self._engine.start().open_session()) as session:
            for sql in uses:
                session.execute(sql)
            yield session

    def __enter__(self) -> ExistingTables:
        return self

    def __exit__(self, *_: object) -> None:
        self._shapes.close()
