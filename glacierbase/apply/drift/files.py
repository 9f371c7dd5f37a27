"""`drift adopt` and `drift revert`: a migration that makes the changes elsewhere, or one that undoes them here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from glacierbase.apply.drift.choice import chosen_drifts, refused
from glacierbase.apply.drift.results import DriftFileResult
from glacierbase.apply.holding import LockedCatalog, locked
from glacierbase.apply.plan import Selection, make_plan
from glacierbase.apply.recording import recording
from glacierbase.apply.table_names import template_of, written_names
from glacierbase.errors import NeedsRepair
from glacierbase.history.drift import TableDrift, drift_of
from glacierbase.history.entries import Entry, baselined
from glacierbase.history.opening import Target
from glacierbase.history.shapes import TableRecord, to_document
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.folder import load_migration, migration_files
from glacierbase.migrations.new_files import as_template, draft_of, publish, write_migration
from glacierbase.model.command import command
from glacierbase.model.escape import on_one_line
from glacierbase.model.shape import Shape
from glacierbase.secrets import MASK
from glacierbase.sql.render import Alters, alter_statements
from glacierbase.stores.live import LiveTables

_ADOPTED = "Written by `drift adopt`: environment {} has these changes already, and does not run them."
_REVERTED = "Written by `drift revert`: it changes environment {} only."


def adopt(
    target: Target, result: DriftFileResult, tables: Collection[str], reason: str, author: str, lock_timeout: float
) -> DriftFileResult:
    """Write a migration that changes other environments as the tables were changed here, and record it as applied here.

    Args:
        tables: patterns of names; none for all tables that differ.
        reason: why; also the description of the migration.

    Raises:
        HistoryDisagrees: something is pending, or no statement makes the changes.
    """
    _check_headers(target, reason)
    with recording() as change, target.opened() as opened, LiveTables(target.catalog, opened.engine) as now:
        state = read_state(opened)
        if not chosen_drifts(target.catalog, state.history, now, tables):
            return result
        with locked(opened, state, lock_timeout) as held:
            _check_nothing_pending(held)
            drifts = chosen_drifts(target.catalog, held.state.history, now, tables)
            if not drifts:  # Another run settled them before it released the lock.
                return result
            made = _made(result, drifts, _adopting)
            sql = template_of(made.sql, written_names(target, held.state.history, made.tables))
            written = _written(target, made, reason, author, _ADOPTED, sql, is_draft=True)
            entry = _entry_or_no_file(target, written, drifts, reason)
            change.make(f"recorded as applied: {written.version}", lambda: _recorded(held, entry, written))
    return replace(written, settled=True)


def revert(
    target: Target, result: DriftFileResult, tables: Collection[str], reason: str, author: str
) -> DriftFileResult:
    """Write a migration that undoes in this environment what no migration did, and changes nothing in others.

    Args:
        tables, reason: as for `adopt`.

    Raises:
        HistoryDisagrees: no statement undoes the changes.
    """
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as now:
        history = read_state(opened).history
        drifts = chosen_drifts(target.catalog, history, now, tables)
        if not drifts:
            return result
        made = _made(result, drifts, _reverting)
    sql = template_of(made.sql, written_names(target, history, made.tables))
    only_here = f"{{% if environment == {target.catalog.environment!r} %}}\n{sql}\n{{% endif %}}"
    return _written(target, made, reason, author, _REVERTED, only_here)


def _check_headers(target: Target, reason: str) -> None:
    """Refuse to record a file that nobody could complete afterwards."""
    if required := target.catalog.required_headers:
        what = f"files of {target.catalog.name} need the headers {', '.join(required)}, which only a person can fill in"
        by_hand = command("baseline", "--to", "VERSION", reason=True)
        raise refused(what, f"write the file with `{command('new', reason)}`, and record it with `{by_hand}`")


def _check_nothing_pending(held: LockedCatalog) -> None:
    """Refuse a version above files that are pending: they would be out of order afterwards."""
    selection, plans_only = Selection(out_of_order=None), held.target.catalog.plan_required
    plan = make_plan(held.target.migrations, held.state.history, selection, plans_only=plans_only)
    if plan.pending:
        versions = ", ".join(each.migration.version for each in plan.pending)
        raise refused(f"these versions are pending: {versions}", f"`{command('migrate')}` first")


def _check_whole(drift: TableDrift) -> None:
    """Refuse a table of which rules ignore more than properties: statements would settle that, too."""
    whole = drift_of(drift.recorded, drift.actual, is_certain=True)
    more = [each.subject for each in whole.differences if each not in drift.differences] if whole else []
    if more:
        what = (
            f"{drift.table}: rules of the catalog file ignore {', '.join(more)}, and other changes of the table remain"
        )
        raise refused(what, f"write the migration by hand: `{command('new', 'what it changes')}`")


def _adopting(drift: TableDrift) -> Alters:
    """Return the statements that make the changes in an environment that is as recorded."""
    if impossible := _impossible(drift):
        return Alters((), (impossible,))
    if drift.actual is None:
        # Here it may have been renamed. Elsewhere it has its rows.
        why = "was dropped or renamed; a statement that drops its rows elsewhere is written by hand, as DROP TABLE IF EXISTS"
        return Alters((), (f"{drift.table} {why}",))
    found, secret = _alters(drift.recorded, drift.actual)
    # The table is recorded as it is: what no statement does would be recorded as done, and be missing elsewhere.
    return Alters((), found.impossible) if found.impossible else Alters(found.statements, secret)


def _reverting(drift: TableDrift) -> Alters:
    """Return the statements that undo the changes."""
    if drift.actual is None:
        return Alters((), (f"{drift.table} is gone, and so are its rows",))
    if impossible := _impossible(drift):
        return Alters((), (impossible,))
    found, secret = _alters(drift.actual, drift.recorded)
    return Alters(found.statements, (*found.impossible, *secret))


def _alters(before: Shape, after: Shape) -> tuple[Alters, tuple[str, ...]]:
    """Return the statements that turn one shape into the other, and the properties that they leave: a secret is masked in them."""
    old, new = before.properties, after.properties
    masked = [key for key, value in new.items() if MASK in value and old.get(key) != value]
    kept = {key: value for key, value in new.items() if key not in masked}
    left = {key: old[key] for key in masked if key in old}
    secret = tuple(f"the value of the property {key} holds a secret" for key in masked)
    return alter_statements(before, replace(after, properties={**kept, **left})), secret


def _impossible(drift: TableDrift) -> str | None:
    """Return why no statement settles a table as a whole; None where statements do."""
    shapes = [each for each in (drift.recorded, drift.actual) if each]
    if not drift.is_of_iceberg:
        return f"{drift.table} is no Iceberg table, and statements are written for Iceberg only"
    if drift.actual is not None and drift.actual.uuid != drift.recorded.uuid:
        return f"{drift.table} is another table than the recorded one"
    if drift.is_renamed and drift.actual is not None:
        return f"{drift.table} was renamed to {drift.actual.table}; a statement that renames it is written by hand"
    if any(column.id is None for each in shapes for column in each.columns):
        return (
            f"{drift.table} was read without the ids of its columns: a renamed column cannot be told from a dropped one"
        )
    return None


def _made(
    result: DriftFileResult, drifts: Sequence[TableDrift], alters_of: Callable[[TableDrift], Alters]
) -> DriftFileResult:
    """Return the result with what a migration does and what it cannot do."""
    for each in drifts:
        _check_whole(each)
    found = [(each.table, alters_of(each)) for each in drifts]
    impossible = tuple(each for _, alters in found for each in alters.impossible)
    statements = [each for _, alters in found for each in alters.statements]
    if not statements:
        hint = f"repair the table by hand; or `{command('drift', 'ignore', reason=True)}`"
        raise refused("no statement settles the differences", hint, impossible)
    tables = tuple(table for table, alters in found if alters.statements)
    return replace(result, tables=tables, sql="".join(f"{each};\n" for each in statements), impossible=impossible)


def _written(
    target: Target, made: DriftFileResult, reason: str, author: str, note: str, sql: str, *, is_draft: bool = False
) -> DriftFileResult:
    """Write the migration; `sql` is the template of its statements."""
    root, environment = Path(target.run.project), target.catalog.environment
    notes = [note.format(environment), *(f"Not in it: {each}" for each in made.impossible)]
    lines = [f"-- {on_one_line(each)}" for each in notes]
    sql = as_template("\n".join(lines)) + f"\n\n{sql}\n"
    folder = root / "migrations" / target.catalog.stem
    headers = target.catalog.required_headers
    path = write_migration(folder, root, reason, author, sql=sql, headers=headers, is_draft=is_draft)
    return replace(made, path=path.relative_to(root).as_posix(), version=path.name.partition("_")[0])


def _entry_or_no_file(target: Target, written: DriftFileResult, drifts: Sequence[TableDrift], reason: str) -> Entry:
    """Return the entry that `_settled` returns; if it raises, delete the draft."""
    try:
        return _settled(target, written, [each for each in drifts if each.table in written.tables], reason)
    except BaseException:
        draft_of(Path(target.run.project) / written.path).unlink(missing_ok=True)
        raise


def _settled(target: Target, written: DriftFileResult, drifts: Sequence[TableDrift], reason: str) -> Entry:
    """Return the entry that records the migration as applied, with the tables as they are: what it adopts is its doing."""
    root = Path(target.run.project)
    draft = draft_of(root / written.path)
    migration = load_migration(draft, written.path, migration_files(root), listed=None)
    entry = baselined(compile_migration(migration, target.catalog, target.dialect), reason)
    records = (TableRecord(each.table, each.actual) for each in drifts)
    return replace(entry, details=replace(entry.details, tables=tuple(map(to_document, records))))


def _recorded(held: LockedCatalog, entry: Entry, written: DriftFileResult) -> None:
    """Append the entry, and then name the file: one that is not recorded would run here.

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
