"""`import tables`: list the tables that exist, write a migration file for each, and record these files as applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.apply.baseline import baseline
from glacierbase.capabilities.adopt.table_file import (
    description_of,
    file_text,
    new_table_file,
    planned_path,
    statements_of,
    write_table_file,
)
from glacierbase.capabilities.adopt.table_results import ImportTablesResult, LiveTable, NotExact, Standing, TableFile
from glacierbase.declared.writer import creation
from glacierbase.errors import (
    ConfigurationError,
    EngineUnavailable,
    GlacierbaseError,
    MigrationFileError,
    Stopped,
    raise_all,
)
from glacierbase.executors import ListedTable
from glacierbase.history.items import version_items
from glacierbase.history.records import History
from glacierbase.history.state import current_state, read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.new_files import file_words, git_user, write_repeatable
from glacierbase.migrations.repeatables import repeatables, versioned
from glacierbase.model.command import command
from glacierbase.model.migration import REPEATABLE_FOLDER, Migration
from glacierbase.model.names import completed_like, name_parts
from glacierbase.model.text import counted, quoted
from glacierbase.record.live import Listing, LiveTables, TableRead
from glacierbase.record.tables import FileTables, TableChoice, is_own_table, tables_of_others
from glacierbase.record.template_names import varying_names
from glacierbase.record.timeline import timelines
from glacierbase.run.activity import doing, note
from glacierbase.sql import read
from glacierbase.sql.qualified import name_key, why_unmanaged
from glacierbase.stores.origin import TableOrigin
from glacierbase.stores.tables import is_own_name

# So many tables are read together, and written before the next ones are read.
_TOGETHER = 16


@dataclass(frozen=True, slots=True)
class TableImport:
    """What is wanted of the tables.

    Attributes:
        list_only: write nothing.
        author: of the files; None for git's `user.name`.
        reason: why the files are recorded as applied; None to record nothing.
    """

    list_only: bool = False
    author: str | None = None
    dry_run: bool = False
    reason: str | None = None
    lock_timeout: float = 0


def import_tables(
    target: CatalogRun, result: ImportTablesResult, choice: TableChoice, wanted: TableImport
) -> ImportTablesResult:
    """Return the chosen tables, and write a file for each that is new.

    A table whose file exists is not written again, so that the command can be repeated after it was interrupted.

    Raises:
        ConfigurationError: a pattern matches no table; or a file cannot be written, and those before it are.
        Stopped: for a KeyboardInterrupt, with the number of files that were written.
    """
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as live:
        state = read_state(opened)
        with doing(f"{target.catalog.name}: listing tables"):
            tables, listing = live_tables(opened, state.history, live, choice)
        warnings = [*state.warnings, *_not_listed_views(listing)]
        result = replace(
            result, tables=tuple(tables), list_only=wanted.list_only, dry_run=wanted.dry_run, warnings=tuple(warnings)
        )
        if listing.unlisted or wanted.list_only:
            return replace(result, error=_not_listed(target, listing))
        result = _written(target, choice.check(result), live, wanted)
    if wanted.dry_run:
        return result
    if wanted.reason is None:
        return replace(result, next=_next(result))
    try:
        return _recorded(target, result, wanted.reason, wanted.lock_timeout)
    except GlacierbaseError as error:
        return replace(result, error=error, next=_next(result))


def _not_listed_views(listing: Listing) -> Iterator[str]:
    for catalog in listing.without_views:
        yield f"the views of {catalog} are not listed: only the engine lists them"


def _not_listed(target: CatalogRun, listing: Listing) -> EngineUnavailable | None:
    """Return the error for what could not be listed."""
    if not listing.unlisted:
        return None
    names = listing.unlisted
    what = f"catalog {target.catalog.name}: the tables of {counted(len(names), 'namespace')} could not be listed"
    lines = quoted("\n".join(f"{name}: {why}" for name, why in names.items()))
    hint = f"remove the cause, and run the command again; `{command('doctor')}` checks the connection"
    return EngineUnavailable("TABLES_NOT_READ", (what, *lines), hint)


def _written(
    target: CatalogRun, result: ImportTablesResult, live: LiveTables, wanted: TableImport
) -> ImportTablesResult:
    """Write the files of the new tables, and return the result with them."""
    new = [table for table in result.tables if table.state is Standing.NEW and table.kind != "view"]
    views = [table for table in result.tables if table.state is Standing.NEW and table.kind == "view"]
    files: list[TableFile] = []
    not_exact: list[NotExact] = []
    author = wanted.author or ("" if wanted.dry_run or not (new or views) else git_user())
    names = varying_names(Path(target.run.project), target.catalog.stem, (table.table for table in new))
    writer = _TableWriter(target, names, author, wanted.dry_run, len(new))
    with doing(f"{target.catalog.name}: reading tables"), _stopping(files):
        for readings in _readings(new, live):
            for outcome in writer.write(readings):
                files += [outcome] if isinstance(outcome, TableFile) else []
                not_exact += [outcome] if isinstance(outcome, NotExact) else []
        for outcome in view_files(target, views, live, author, wanted.dry_run):
            files += [outcome] if isinstance(outcome, TableFile) else []
            not_exact += [outcome] if isinstance(outcome, NotExact) else []
    return replace(result, files=tuple(files), not_exact=tuple(not_exact))


@contextmanager
def _stopping(files: Sequence[TableFile]) -> Iterator[None]:
    """Raise a KeyboardInterrupt of the block with the number of files that it has written."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        written = f"{counted(len(files), 'file')} written"
        raise Stopped(written, "run the same command again: it writes those that are missing") from interrupt


def _readings(tables: Sequence[LiveTable], live: LiveTables) -> Iterator[Sequence[tuple[LiveTable, TableRead]]]:
    """Yield the tables that are read together, with what was read of each. Of another kind than a table nothing is read."""
    for first in range(0, len(tables), _TOGETHER):
        together = tables[first : first + _TOGETHER]
        readings = live.read(table.table for table in together if table.kind == "table")
        yield [(table, readings.get(table.table, TableRead(unread=f"it is a {table.kind}"))) for table in together]


@dataclass
class _TableWriter:
    """Writes the files of tables.

    Attributes:
        names: the names of tables as templates.
        count: the number of all tables.
    """

    target: CatalogRun
    names: Mapping[str, str]
    author: str
    dry_run: bool
    count: int
    _number: int = 0

    def write(self, readings: Sequence[tuple[LiveTable, TableRead]]) -> Iterator[TableFile | NotExact]:
        """Write the files of tables that were read together, and yield each, and what it does not create."""
        made: list[tuple[str, int, str, Sequence[str]]] = []
        for table, reading in readings:
            self._number += 1
            note(f"{self._number} of {self.count}")
            if reading.shape is None:
                yield _no_file(table.table, reading.unread or "it was dropped meanwhile")
                continue
            creation_ = creation(replace(reading.shape, table=table.table))
            if creation_.statements:
                statements = statements_of(reading.shape, creation_, self.target.dialect)
                text = file_text(self.target, statements, creation_.not_exact, self.names)
                made.append((table.table, len(statements), text, creation_.not_exact))
            else:
                yield from (_no_file(table.table, what) for what in creation_.not_exact)
        refused = self._refused([(table, text) for table, _, text, _ in made])
        for name, count, text, not_exact in made:
            outcome = _no_file(name, refused[name]) if name in refused else self._written(name, count, text)
            yield outcome
            if isinstance(outcome, TableFile):
                yield from (NotExact(name, what) for what in not_exact)

    def _refused(self, made: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Return why files are refused by `validate` or `lint`, by table."""
        author = self.author or "unknown"
        files = [new_table_file(self.target, table, text, author, number) for number, (table, text) in enumerate(made)]
        try:
            self.target.check_new(files)
        except MigrationFileError as error:
            reasons = error.data["refusals"]
            tables = {file.location: table for file, (table, _) in zip(files, made, strict=True)}
            return {tables[location]: "; ".join(lines) for location, lines in reasons.items()}
        return {}

    def _written(self, table: str, statements: int, text: str) -> TableFile | NotExact:
        if self.dry_run:
            return TableFile(planned_path(self.target, table), table, statements)
        try:
            return TableFile(write_table_file(self.target, table, text, self.author), table, statements)
        except ConfigurationError as error:
            if error.code != "ALREADY_EXISTS":
                raise
            return _no_file(table, "another file has this description")


def _no_file(table: str, why: str) -> NotExact:
    return NotExact(table, f"no file was written: {why}")


def _next(result: ImportTablesResult) -> str:
    """Return the command that records the written files of tables as applied."""
    versions = (Path(file.path).name.partition("_")[0] for file in result.files)
    numbers = [version for version in versions if version.isdecimal()]
    return f"`{command('baseline', '--to', numbers[-1], reason=True)}`" if numbers else ""


def _recorded(target: CatalogRun, result: ImportTablesResult, reason: str, lock_timeout: float) -> ImportTablesResult:
    """Record the files of the chosen tables that never ran as applied, those of an earlier call included."""
    root = Path(target.run.project)
    migrations, errors = load_migrations(root / "migrations" / target.catalog.stem, root)
    raise_all(errors)
    target = replace(target, migrations=versioned(migrations), repeatables=repeatables(migrations))
    pending, of_tables = _pending(target, result)
    if not of_tables:
        return result
    last = max(migration.number for migration in of_tables)
    with doing(f"{target.catalog.name}: comparing tables with their files"):
        others = [migration.number for migration in pending if migration not in of_tables]
        done = baseline(target, last, reason, lock_timeout, leave=others)
    versions = tuple(file.migration.version for file in done.files)
    return replace(result, baselined=versions, warnings=(*result.warnings, *done.warnings))


def _pending(target: CatalogRun, result: ImportTablesResult) -> tuple[Sequence[Migration], Sequence[Migration]]:
    """Return the files that never ran in this environment, and those of them that change nothing but new and declared tables.

    A pending file that changes a recorded table is yet to run, and `baseline` does not compare unmanaged tables.
    """
    history, catalog = current_state(target).history, target.catalog
    adopted = (table.table for table in result.tables if table.state in (Standing.NEW, Standing.DECLARED))
    chosen = {name_key(catalog, table) for table in adopted}
    known = version_items(target.migrations, history)
    files = [file for item in known if (file := item.file) and item.record is None]

    def keys(file: Migration) -> set[tuple[str, ...]]:
        names = (whole for named in target.compile([file])[0].named for _, whole in named.names if whole)
        return {name_key(catalog, name) for name in names}

    return files, [file for file in files if (tables := keys(file)) and tables <= chosen]


_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManagedNames:
    """The tables that a catalog manages, by their `name_key`.

    Attributes:
        recorded: those of its history.
        declared: those of its files.
        of_others: those of other histories in the same namespace, and the catalog of each.
    """

    recorded: frozenset[_Key]
    declared: frozenset[_Key]
    of_others: dict[_Key, str]

    @classmethod
    def of(cls, opened: OpenCatalog, history: History) -> ManagedNames:
        """Return the tables of a history and of the files of its catalog."""
        target = opened.target
        catalog, known = target.catalog, timelines(history)
        recorded = [timeline.table for timeline in known if timeline.shape]
        recorded += FileTables.of(catalog, history).never_recorded(known)
        statements = (named for compiled in target.compile(target.migrations) for named in compiled.named)
        declared = (whole for named in statements for _, whole in named.names if whole)
        return cls(
            frozenset(name_key(catalog, name) for name in recorded),
            frozenset(name_key(catalog, name) for name in declared),
            dict(tables_of_others(opened)),
        )

    def standing(self, key: _Key) -> tuple[Standing, str | None]:
        """Return the state of a table, and more about it."""
        if key in self.recorded:
            return Standing.RECORDED, None
        if key in self.of_others:
            return Standing.RECORDED, f"by catalog {self.of_others[key]}"
        return (Standing.DECLARED if key in self.declared else Standing.NEW), None


def live_tables(
    opened: OpenCatalog, history: History, live: LiveTables, choice: TableChoice
) -> tuple[Sequence[LiveTable], Listing]:
    """Return the chosen tables and views with their states, in order of name, and the listing that they are from.

    History and lock tables are left out, also those of other projects.
    """
    listing, catalog = live.listed(choice.may_match_in), opened.target.catalog
    by_name = {listed.name: listed for listed in listing.tables if not is_own_table(catalog, listed.name)}
    for name in _of_other_projects(list(by_name), live):
        del by_name[name]
    chosen = (by_name[name] for name in choice.among(sorted(by_name)))
    return tuple(_with_standing(opened, chosen, ManagedNames.of(opened, history))), listing


def _of_other_projects(names: Sequence[str], live: LiveTables) -> Collection[str]:
    """Return the histories and locks of other projects: those of the tables whose properties name a catalog of glacierbase.

    Only tables with such a name are read; one that cannot be read is none.
    """
    readings = live.read(name for name in names if is_own_name(name_parts(name.casefold())[-1]))
    return {
        name for name, reading in readings.items() if reading.shape and TableOrigin.is_marked(reading.shape.properties)
    }


def _with_standing(opened: OpenCatalog, tables: Iterator[ListedTable], managed: ManagedNames) -> Iterator[LiveTable]:
    catalog = opened.target.catalog
    for listed in tables:
        if reason := why_unmanaged(catalog, listed.name):
            yield LiveTable(listed.name, listed.kind, Standing.UNMANAGED, reason)
        else:
            state, reason = managed.standing(name_key(catalog, listed.name))
            yield LiveTable(listed.name, listed.kind, state, reason)


_USE = "USE "


def view_files(
    target: CatalogRun, views: Sequence[LiveTable], live: LiveTables, author: str, dry_run: bool
) -> Iterator[TableFile | NotExact]:
    """Write the file of each view, and yield it, or why there is none. The engine is started for their texts."""
    root, texts = Path(target.run.project), dict[str, tuple[str, ...]]()
    for view in views:
        try:
            if statements := live.view_statements(view.table):
                texts[view.table] = statements
            else:
                yield NotExact(view.table, "no file was written: the engine does not show its text")
        except GlacierbaseError as error:
            yield NotExact(view.table, f"no file was written: {error.message}")
    names = {name_key(target.catalog, name): _name(name) for name in texts}
    for name, statements in texts.items():
        path = _path(target, name)
        try:
            if not dry_run:
                write_repeatable(
                    root / "migrations" / target.catalog.stem,
                    root,
                    _name(name),
                    description_of(name),
                    author,
                    target.catalog.required_headers,
                    sql=file_text(target, statements, (), {}, "view"),
                    after=sorted(_after(target, name, statements, names)),
                    check=target.check_new,
                )
            yield TableFile(path.as_posix(), name, len(statements))
        except GlacierbaseError as error:
            yield NotExact(name, f"no file was written: {error.message}")


def _name(view: str) -> str:
    """Return the name of a file: the words of namespace and view."""
    return file_words("_".join(name_parts(view)[1:]))


def _path(target: CatalogRun, view: str) -> Path:
    return Path("migrations", target.catalog.stem, REPEATABLE_FOLDER, f"{_name(view)}.sql")


def _after(
    target: CatalogRun, view: str, statements: Sequence[str], names: Mapping[tuple[str, ...], str]
) -> Iterator[str]:
    """Yield the names of the files of other views that a view reads."""
    first, *_, last = ("", *statements)[-2:]
    place = name_parts(first.removeprefix(_USE)) if first.startswith(_USE) else name_parts(view)[:-1]
    for source in read(last, target.dialect).sources or ():
        name = names.get(name_key(target.catalog, completed_like(source.recorded, (*place, ""))))
        if name is not None and name != _name(view):
            yield name
