"""`drift adopt`, `drift revert` and `drift ignore`: three ways to settle the differences between tables and their record.

`adopt` writes a migration that makes the changes in other environments. `revert` writes two: one makes the changes here, and is
recorded; the other undoes them. `ignore` shows the rules to add to the catalog file. The migrations name tables with the template
expressions of earlier files, so that they run in every environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from glacierbase.apply.locked import LockedCatalog, locked, recording
from glacierbase.apply.plan import Selection, make_plan
from glacierbase.declared.render import Written
from glacierbase.declared.writer import alteration
from glacierbase.errors import HistoryDisagrees, NeedsRepair
from glacierbase.history.entries import Entry, baselined
from glacierbase.history.records import History
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.folder import load_migration, migration_files
from glacierbase.migrations.new_files import as_template, draft_of, publish, write_migration
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import Migration
from glacierbase.model.result import Result
from glacierbase.model.text import Line, Verbatim, counted, quoted
from glacierbase.record.drift import TableDrift, compare_tables, drift_of, not_read, without_ignored
from glacierbase.record.live import LiveTables
from glacierbase.record.shapes import TableRecord, to_document
from glacierbase.record.tables import FileTables, TableChoice
from glacierbase.record.template_names import template_of, written_names
from glacierbase.record.timeline import timelines
from glacierbase.sql.qualified import why_unmanaged

_ADOPTED = "Written by `drift adopt`: environment {} has these changes already, and does not run them."
_REVERTED = "Written by `drift revert`: it changes environment {} only."
_RECORDED = "Written by `drift revert`: environment {} has these changes already. A new one makes and undoes them."

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class DriftFileResult(Result):
    """The migration that `drift adopt` or `drift revert` wrote.

    Attributes:
        path: the path of the file; empty where nothing differs.
        version: the version of the file.
        tables: the ones that it changes.
        sql: its statements.
        impossible: what no statement does; it is left as it is.
        settled: whether it is recorded as applied in this environment, where it does not run.
        recorded: the file that `drift revert` wrote before it, which makes the changes and is recorded as applied.
    """

    path: str = ""
    version: str = ""
    tables: tuple[str, ...] = ()
    sql: str = ""
    impossible: tuple[str, ...] = ()
    settled: bool = False
    recorded: str = ""

    def lines(self) -> Sequence[Line]:
        if not self.path:
            return ["no managed table differs from its record; nothing was written"]
        lines = [f"wrote {self.path}: {counted(len(self.tables), 'table')}", *self.sql.split("\n")]
        lines += [f"not in it: {change}" for change in self.impossible]
        lines += [f"recorded the changes in {self.recorded}"] if self.recorded else []
        ended = f"recorded as applied in {self.environment}; other environments run it"
        return [*lines, ended if self.settled else f"pending in {self.environment}; it changes no other environment"]


@dataclass(frozen=True, slots=True)
class IgnoredDrift:
    """A rule for the catalog file that ignores one difference of one table. `table` and `what` are patterns."""

    table: str
    what: str
    reason: str

    @classmethod
    def of(cls, table: str, what: str, reason: str) -> IgnoredDrift:
        """Return the rule, with the pattern characters in the names escaped. A control character becomes `?`, any character."""
        return cls(_CONTROL.sub("?", escape(table)), _CONTROL.sub("?", escape(what)), " ".join(reason.split()))

    def lines(self) -> Iterator[Line]:
        """Yield the rule as YAML, of which JSON is a subset: https://yaml.org/spec/1.2.2/#12-overview-of-yaml"""
        for key in ("table", "what", "reason"):
            text = f"{key}: {json.dumps(getattr(self, key), ensure_ascii=False)}"
            yield Verbatim(f"    {'- ' if key == 'table' else '  '}{text}")


@dataclass(frozen=True, slots=True)
class DriftIgnoreResult(Result):
    """The rules by which `drift` ignores what differs now.

    Attributes:
        path: the path of the catalog file to which to add them.
    """

    path: str = ""
    rules: tuple[IgnoredDrift, ...] = ()

    def lines(self) -> Sequence[Line]:
        if not self.rules:
            return ["no managed table differs from its record"]
        head = f"add to {self.path}, or to the list that `drift: ignore:` has in {self.environment}:"
        rules = (line for rule in self.rules for line in rule.lines())
        return [head, Verbatim("drift:"), Verbatim("  ignore:"), *rules]


def adopt(
    target: CatalogRun, result: DriftFileResult, tables: Collection[str], reason: str, author: str, lock_timeout: float
) -> DriftFileResult:
    """Write a migration that changes other environments as the tables were changed here, and record it as applied here.

    Args:
        tables: patterns of names; none for all tables that differ.
        reason: why; also the description of the migration.

    Raises:
        HistoryDisagrees: something is pending, or no statement makes the changes.
        MigrationFileError: `NOT_WRITTEN`: in some environment, the file would be refused.
    """

    def write(files: _DriftFiles, drifts: Sequence[TableDrift]) -> _Pair:
        made = _made(result, drifts, _adopting)
        written = files.write(made, reason, _ADOPTED, files.template(made.sql), target.check_new, is_draft=True)
        return written, replace(written, settled=True)

    return _recording(target, result, tables, reason, author, lock_timeout, write)


def revert(
    target: CatalogRun, result: DriftFileResult, tables: Collection[str], reason: str, author: str, lock_timeout: float
) -> DriftFileResult:
    """Write a migration that undoes in this environment what no migration did, and changes nothing in others.

    A file before it makes the changes here, and is recorded as applied: a new copy of this environment runs both.

    Args:
        tables, reason: as for `adopt`.

    Raises:
        HistoryDisagrees: something is pending, or no statement undoes one of the changes.
        MigrationFileError: as for `adopt`.
    """

    def write(files: _DriftFiles, drifts: Sequence[TableDrift]) -> _Pair:
        undone = _made(result, drifts, _reverting)
        changed = (drift for drift in drifts if drift.table in undone.tables)
        changes = _sql(statement for drift in changed for statement in _changes(drift).statements)
        before: list[Migration] = []

        def check_alone(new: Sequence[Migration]) -> None:
            target.check_new(new)
            before[:] = new

        described = f"Record what changed outside of migrations in {target.catalog.environment}: {reason}"
        record = files.write(undone, described, _RECORDED, files.only_here(changes), check_alone, is_draft=True)
        try:
            written = files.write(
                undone, reason, _REVERTED, files.only_here(undone.sql), lambda new: target.check_new((*before, *new))
            )
        except BaseException:
            draft_of(files.root / record.path).unlink(missing_ok=True)
            raise
        return record, replace(written, recorded=record.path)

    return _recording(target, result, tables, reason, author, lock_timeout, write)


# The file that is recorded as applied, and the result of the command.
_Pair = tuple[DriftFileResult, DriftFileResult]


@dataclass(frozen=True, slots=True)
class _DriftFiles:
    """Writes the migrations of one command.

    Attributes:
        names: the template expressions of tables, by name.
    """

    target: CatalogRun
    author: str
    history: History
    names: Mapping[str, str]

    @property
    def root(self) -> Path:
        return Path(self.target.run.project)

    def template(self, sql: str) -> str:
        return template_of(sql, self.names)

    def only_here(self, sql: str) -> str:
        """Return the template of statements that only this environment has."""
        return f"{{% if environment == {self.target.catalog.environment!r} %}}\n{self.template(sql)}\n{{% endif %}}"

    def write(
        self,
        made: DriftFileResult,
        description: str,
        note: str,
        sql: str,
        check: Callable[[Sequence[Migration]], None],
        *,
        is_draft: bool = False,
    ) -> DriftFileResult:
        """Write a migration.

        Args:
            description: also the reason for the effects of its statements.
            sql: the template of its statements.
        """
        catalog = self.target.catalog
        notes = [note.format(catalog.environment), *(f"Not in it: {change}" for change in made.impossible)]
        lines = [f"-- {on_one_line(line)}" for line in notes]
        text = as_template("\n".join(lines)) + f"\n\n{sql}\n"
        path = write_migration(
            self.root / "migrations" / catalog.stem, self.root, description, self.author, sql=text,
            headers=catalog.required_headers, versions=catalog.versions, check=check, reason=description,
            recorded=[record.version for record in self.history.versions], is_draft=is_draft,
        )  # fmt: skip
        return replace(made, path=path.relative_to(self.root).as_posix(), version=path.name.partition("_")[0])


def _recording(
    target: CatalogRun, result: DriftFileResult, tables: Collection[str], reason: str, author: str, lock_timeout: float,
    write: Callable[[_DriftFiles, Sequence[TableDrift]], _Pair],
) -> DriftFileResult:  # fmt: skip
    """Write the files about the differences, record the first one as applied, and return the result.

    Args:
        write: writes them, the first one as a draft.
    """
    _check_headers(target, reason)
    with recording() as change, target.opened() as opened, LiveTables(target.catalog, opened.engine) as now:
        state = read_state(opened)
        if not chosen_drifts(target.catalog, state.history, now, tables):
            return replace(result, warnings=_nothing_recorded(state.history))
        with locked(opened, state, lock_timeout) as held:
            _check_nothing_pending(held)
            drifts = chosen_drifts(target.catalog, held.state.history, now, tables)
            if not drifts:  # Another run settled them before it released the lock.
                return result
            names = written_names(target, held.state.history, {drift.table for drift in drifts})
            record, written = write(_DriftFiles(target, author, held.state.history, names), drifts)
            entry = _entry_or_no_file(target, record, written, drifts, reason)
            change.make(f"recorded as applied: {record.version}", lambda: _recorded(held, entry, record))
    return written


def ignore(target: CatalogRun, result: DriftIgnoreResult, tables: Collection[str], reason: str) -> DriftIgnoreResult:
    """Return a rule for each difference of the tables. Nothing is written.

    Args:
        tables: patterns of names; none for all tables that differ.

    Raises:
        EngineUnavailable: a table cannot be read.
    """
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as now:
        history = read_state(opened).history
        drifts = chosen_drifts(target.catalog, history, now, tables)
    return replace(
        result,
        path=target.catalog.file.relative_to(Path(target.run.project)).as_posix(),
        warnings=_nothing_recorded(history),
        rules=tuple(
            IgnoredDrift.of(drift.table, difference.subject, reason)
            for drift in drifts
            for difference in drift.differences
        ),
    )


def _nothing_recorded(history: History) -> tuple[str, ...]:
    """Return a warning where the history has no table, so that nothing was compared."""
    listing = command("import", "tables", "--list")
    return () if timelines(history) else (f"no table is recorded; `{listing}` lists those that exist",)


def _check_headers(target: CatalogRun, reason: str) -> None:
    """Refuse to record a file whose required headers cannot be completed afterwards."""
    if required := target.catalog.required_headers:
        what = f"files of {target.catalog.name} need the headers {', '.join(required)}, which only a person can fill in"
        by_hand = command("baseline", "--to", "VERSION", reason=True)
        raise refused(what, f"write the file with `{command('new', reason)}`, and record it with `{by_hand}`")


def _check_nothing_pending(held: LockedCatalog) -> None:
    """Refuse a version above files that are pending: they would be out of order afterwards."""
    selection, plans_only = Selection(out_of_order=None), held.target.catalog.plan_required
    plan = make_plan(held.target.migrations, held.state.history, selection, plans_only=plans_only)
    if plan.pending:
        versions = ", ".join(planned.migration.version for planned in plan.pending)
        raise refused(f"these versions are pending: {versions}", f"`{command('migrate')}` first")


def _check_whole(drift: TableDrift) -> None:
    """Refuse a table with ignored differences other than properties: the statements would settle those, too."""
    whole = drift_of(drift.recorded, drift.actual, is_certain=True)
    differences = whole.differences if whole else ()
    more = [difference.subject for difference in differences if difference not in drift.differences]
    if more:
        what = (
            f"{drift.table}: rules of the catalog file ignore {', '.join(more)}, and other changes of the table remain"
        )
        raise refused(what, f"write the migration by hand: `{command('new', 'what it changes')}`")


def _adopting(drift: TableDrift) -> Written:
    """Return the statements that make the changes in an environment that is as recorded."""
    if impossible := _impossible(drift):
        return Written((), (impossible,))
    if drift.actual is None:
        # Here it may have been renamed. Elsewhere it has its rows.
        why = "was dropped or renamed; a statement that drops its rows elsewhere is written by hand, as DROP TABLE IF EXISTS"
        return Written((), (f"{drift.table} {why}",))
    made = alteration(drift.recorded, drift.actual, elsewhere=True)
    # The whole table is recorded: a change that no statement makes would never be made elsewhere.
    return Written((), made.impossible) if made.impossible else made


def _reverting(drift: TableDrift) -> Written:
    """Return the statements that undo the changes. A part of them would leave the others in the record."""
    if drift.actual is None:
        return Written((), (f"{drift.table} is gone, and so are its rows",))
    if impossible := _impossible(drift):
        return Written((), (impossible,))
    undone = alteration(drift.actual, drift.recorded)
    return Written((), undone.not_exact) if undone.not_exact else undone


def _changes(drift: TableDrift) -> Written:
    """Return the statements that change the recorded table as far as statements can."""
    return alteration(drift.recorded, drift.actual) if drift.actual else Written(())


def _impossible(drift: TableDrift) -> str | None:
    """Return why no statement settles a table as a whole; None where statements do."""
    shapes = [shape for shape in (drift.recorded, drift.actual) if shape]
    if not drift.has_statements:
        return f"{drift.table} is no table of Iceberg or Delta, for which alone statements are written"
    if drift.actual is not None and drift.actual.uuid != drift.recorded.uuid:
        return f"{drift.table} is another table than the recorded one"
    if drift.is_renamed and drift.actual is not None:
        return f"{drift.table} was renamed to {drift.actual.table}; a statement that renames it is written by hand"
    if drift.recorded.format == "iceberg" and any(column.id is None for shape in shapes for column in shape.columns):
        return (
            f"{drift.table} was read without the ids of its columns: a renamed column cannot be told from a dropped one"
        )
    return None


def _made(
    result: DriftFileResult, drifts: Sequence[TableDrift], write: Callable[[TableDrift], Written]
) -> DriftFileResult:
    """Return the result with what a migration does and what it cannot do."""
    for drift in drifts:
        _check_whole(drift)
    made = [(drift.table, write(drift)) for drift in drifts]
    impossible = tuple(change for _, written in made for change in written.not_exact)
    statements = [statement for _, written in made for statement in written.statements]
    if not statements:
        hint = f"repair the table by hand; or `{command('drift', 'ignore', reason=True)}`"
        raise refused("no statement settles the differences", hint, impossible)
    tables = tuple(table for table, written in made if written.statements)
    return replace(result, tables=tables, sql=_sql(statements), impossible=impossible)


def _sql(statements: Iterable[str]) -> str:
    return "".join(f"{statement};\n" for statement in statements)


def _entry_or_no_file(
    target: CatalogRun, record: DriftFileResult, written: DriftFileResult, drifts: Sequence[TableDrift], reason: str
) -> Entry:
    """Return the entry that `_settled` returns; if it raises, delete the files, of which the first is a draft."""
    try:
        return _settled(target, record, [drift for drift in drifts if drift.table in record.tables], reason)
    except BaseException:
        root = Path(target.run.project)
        draft_of(root / record.path).unlink(missing_ok=True)
        if written.recorded:
            (root / written.path).unlink(missing_ok=True)
        raise


def _settled(target: CatalogRun, written: DriftFileResult, drifts: Sequence[TableDrift], reason: str) -> Entry:
    """Return the entry that records the migration as applied, and attributes the adopted changes to it."""
    root = Path(target.run.project)
    draft = draft_of(root / written.path)
    migration = load_migration(draft, written.path, migration_files(root), listed=None)
    compiled = compile_migration(migration, target.catalog, target.dialect)
    entry = baselined(compiled, reason)
    records = (TableRecord(drift.table, drift.actual) for drift in drifts)
    return replace(entry, details=replace(entry.details, tables=tuple(map(to_document, records))))


def _recorded(held: LockedCatalog, entry: Entry, written: DriftFileResult) -> None:
    """Append the entry, then publish the file: a file without a record would run here.

    Raises:
        NeedsRepair: the entry is not in the history, or may not be; the file is a draft.
    """
    try:
        held.recorder.append(entry)
    except NeedsRepair as error:
        lines = (*error.lines, f"what it adopts is in {draft_of(Path(written.path))}, which no command reads")
        shows = command("drift")
        hint = f"restore access to the history table; adopt again if `{shows}` still shows the changes"
        raise NeedsRepair(error.code, lines, hint, **error.data) from error
    publish(Path(held.target.run.project), written.path)


def chosen_drifts(
    catalog: Catalog, history: History, tables: LiveTables, patterns: Collection[str]
) -> tuple[TableDrift, ...]:
    """Return the managed tables that differ from their records, with the differences that no rule ignores and no engine keeps.

    Ignored properties have the table's values in both shapes.

    Args:
        patterns: patterns of table names; none for all tables.

    Raises:
        ConfigurationError: a pattern matches no table of the history.
        EngineUnavailable: `TABLES_NOT_READ`.
        HistoryDisagrees: a file may have made the differences of a table.
    """
    choice = TableChoice(patterns)
    known = choice.check(choice.of(timelines(history)))
    managed = [timeline for timeline in known if why_unmanaged(catalog, timeline.table) is None]
    compared = compare_tables(managed, tables, FileTables.of(catalog, history))
    chosen = tuple(left for drift in compared.drifts if (left := without_ignored(drift, catalog.drift_rules)))
    if compared.unread:
        raise not_read(catalog.name, compared.unread, compared.tables)
    wrong = [
        f"{drift.table}: a file that changed it left no record, and may have made the change"
        for drift in chosen
        if not drift.is_certain
    ]
    if wrong:
        hint = f"choose other tables with --table; `{command('drift')}` shows all"
        raise refused("the differences of these tables cannot be settled", hint, wrong)
    return chosen


def refused(what: str, hint: str, lines: Sequence[str] = ()) -> HistoryDisagrees:
    """Return the error for differences that cannot be settled.

    Args:
        lines: details, below the first line of the message.
    """
    return HistoryDisagrees("DRIFT_REFUSED", (f"{what}; nothing was written", *quoted("\n".join(lines))), hint)
