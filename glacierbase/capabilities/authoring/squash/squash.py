"""`squash`: replace the files up to a version by one file that creates the tables of one environment.

Only files are written. The statements come from the tables, the list of tables from the statements in the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.apply.plan import Selection, make_plan
from glacierbase.capabilities.authoring.squash.effects import EffectKind
from glacierbase.capabilities.authoring.squash.file import (
    SquashFile,
    commit_squash,
    not_committed,
    replace_files,
    squash_text,
    variables_in,
)
from glacierbase.capabilities.authoring.squash.source import (
    KEEP,
    SquashedStatement,
    SquashedTable,
    missing_tables,
    refused,
    statements_ran,
    tables_of,
)
from glacierbase.declared.render import table_name
from glacierbase.history.items import version_items
from glacierbase.history.records import History
from glacierbase.history.state import read_state
from glacierbase.history.target import CatalogRun, OpenCatalog
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.folder import as_migration
from glacierbase.model.arguments import unknown_version
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, State
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape
from glacierbase.model.text import Line, Verbatim, counted, quoted
from glacierbase.record.drift import changed_from_outside
from glacierbase.record.template_names import without_names, written_names

_LEFT_OUT = (
    EffectKind.ROWS, EffectKind.VIEW, EffectKind.FUNCTION, EffectKind.RIGHTS, EffectKind.REFERENCE, EffectKind.CALL,
    EffectKind.NAMESPACE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SquashResult(Result):
    """The file that `squash` wrote; with `--dry-run` the one that it would write.

    Attributes:
        path: the path of the file.
        removed: the files that it replaces.
        tables: those that it creates.
        left_out: what the files did and it does not do in a new environment.
        sql: the text of the file.
        commit: the commit of the replacement, or None.
    """

    path: str = ""
    removed: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    sql: str = ""
    dry_run: bool = False
    commit: str | None = None

    def lines(self) -> Sequence[Line]:
        if self.dry_run:
            return [*map(Verbatim, quoted(self.sql)), f"nothing was written; the file would be {self.path}"]
        made = (
            f"wrote {self.path}: {counted(len(self.tables), 'table')}, in place of {counted(len(self.removed), 'file')}"
        )
        ended = f"committed as {self.commit}" if self.commit else "staged in git, not committed"
        return [made, *(f"left out: {line}" for line in self.left_out), ended]


def squash(
    target: CatalogRun, result: SquashResult, *, to: int, author: str, dry_run: bool, commit: bool
) -> SquashResult:
    """Write the squash of all files up to version `to`, and remove them.

    Args:
        dry_run: only return its text.
        commit: commit both.

    Raises:
        ConfigurationError: there is no such version, or git refuses.
        HistoryDisagrees: this environment is not exactly at that version, or no statements create one of its tables.
        MigrationFileError: `NOT_WRITTEN`: in some environment, the file would be refused.
    """
    root = Path(target.run.project)
    again = ("squash", *(("--dry-run",) if dry_run else ()), "--to")
    source = _source(target, _files(target.migrations, to, root), again)
    squash = _squash_file(source, author)
    result = replace(
        result,
        path=squash.path.relative_to(root).as_posix(),
        removed=tuple(file.location for file in source.files),
        tables=tuple(table.shape.table for table in source.tables),
        left_out=tuple(_left_out(source)),
        sql=squash.text,
        dry_run=dry_run,
    )
    if dry_run:
        return result
    replace_files(squash, root)
    message = f"Squash migrations up to {source.last.version} of {target.catalog.name}"
    return replace(result, commit=commit_squash(squash, root, message) if commit else None)


@dataclass(frozen=True, slots=True)
class _Source:
    """The files to replace, and the statements and tables of an environment that has applied exactly these."""

    target: CatalogRun
    files: tuple[Migration, ...]
    history: History
    ran: tuple[SquashedStatement, ...]
    tables: tuple[SquashedTable, ...]

    @property
    def names(self) -> Mapping[str, str]:
        """The names of tables as templates."""
        return written_names(self.target, self.history, {shape.table for shape in self.shapes})

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(table.shape for table in self.tables)

    @property
    def last(self) -> Migration:
        return self.files[-1]

    @property
    def environment(self) -> str:
        return self.target.catalog.environment


def _files(migrations: Sequence[Migration], to: int, root: Path) -> tuple[Migration, ...]:
    """Return the files to replace."""
    files = tuple(migration for migration in migrations if migration.number <= to)
    if not files or files[-1].number != to:
        raise unknown_version(f"there is no migration with version {to:04}")
    if len(files) == 1 and files[0].squashes:
        raise refused(f"{files[0].location} is a squash already, the only file up to it", "name a later --to")
    if uncommitted := not_committed(files, root):
        raise refused(
            f"git does not have these files as they are here: {', '.join(uncommitted)}",
            "commit them first: after the squash, only git has them",
            paths=uncommitted,
        )
    return files


def _source(target: CatalogRun, files: tuple[Migration, ...], again: Sequence[str]) -> _Source:
    """Args:
    again: the words of the command that runs, before its version.
    """
    with target.opened() as opened:
        history = _at_version(opened, files[-1], again)
        ran = statements_ran(target, files, history)
        tables = tables_of(target, ran)
        if read_state(opened).history.events != history.events:
            hint = f"`{command(*again, files[-1].version)}`"
            raise refused("a run changed the history while the tables were read", hint)
    _check_as_recorded(target, history, (table.shape for table in tables))
    return _Source(target, files, history, ran, tables)


def _check_as_recorded(target: CatalogRun, history: History, shapes: Iterable[Shape]) -> None:
    """Refuse changes that no migration made: new environments would have them, and those that ran the files would not."""
    changed = changed_from_outside(target.catalog, history, shapes)
    if changed:
        lines = [f"{drift.table}: {difference.subject}" for drift in changed for difference in drift.differences]
        what = f"environment {target.catalog.environment} has changes that no migration made"
        raise refused(what, f"`{command('drift')}` shows them, and three ways out", quoted("\n".join(lines)))


def _at_version(opened: OpenCatalog, last: Migration, again: Sequence[str]) -> History:
    """Return the history, which has applied `last` and nothing above it."""
    migrations, history = opened.target.migrations, read_state(opened).history
    plans_only = opened.target.catalog.plan_required
    make_plan(migrations, history, Selection(out_of_order=None), plans_only=plans_only)  # Raises what `migrate` would.
    known = version_items(migrations, history)
    where = f"environment {opened.target.catalog.environment}"
    here = [item for item in known if item.file and item.number <= last.number]
    if unsettled := [item.label for item in here if not item.is_settled]:
        hint = f"`{command('migrate', '--to', last.version)}`, or squash to a lower version"
        raise refused(f"{where} has not applied {', '.join(unsettled)}", hint, versions=unsettled)
    records = [item.record for item in known if item.record and item.number > last.number]
    above = [record for record in records if not record.is_removed]
    if above:
        what = f"{where} is past {last.version}: {', '.join(f'{record.version} is {record.state}' for record in above)}"
        hint = f"squash where {last.version} is the last one, or `{command(*again, above[-1].version)}`"
        raise refused(what, hint, versions=[record.version for record in above])
    return history


def _squash_file(source: _Source, author: str) -> SquashFile:
    last, catalog = source.last, source.target.catalog
    left_out = [f"  - {line}" for line in _left_out(source)]
    comments = [
        f"Written by `squash` from the tables of environment {source.environment}.",
        "It runs in new environments only. Where the files that it replaces are applied, nothing runs.",
        "Left out:",
        *left_out,
    ]
    statements = [*_namespaces(source), *(sql for table in source.tables for sql in table.made.statements)]
    description = f"Create the tables of versions {source.files[0].version} to {last.version}"
    text = squash_text(source.files, description, author, comments, statements, source.names)
    root = Path(source.target.run.project)
    path = root / "migrations" / catalog.stem / f"{last.version}_squashed.sql"
    file = as_migration(text.encode(), path, path.relative_to(root).as_posix(), None)
    made = compile_migration(file, catalog, source.target.dialect)
    if [statement.text for statement in made.statements] != statements:
        raise refused(f"{path.name} would not render to the statements that create the tables", KEEP)
    source.target.check_new([file], [replaced.location for replaced in source.files])
    return SquashFile(path, text, source.files)


def _namespaces(source: _Source) -> Iterator[str]:
    """Yield a statement for each namespace of a table that the replaced files create."""
    needed = {tuple(name_parts(shape.table)[:-1]) for shape in source.shapes}
    created = [tuple(name_parts(statement.effect.namespace)) for statement in source.ran if statement.effect.namespace]
    for parts in sorted(needed):
        if parts in created or parts[1:] in created:
            yield f"CREATE NAMESPACE IF NOT EXISTS {table_name(name_of(parts))}"


def _left_out(source: _Source) -> Iterator[str]:
    """Yield what the files did and the squash does not do in a new environment."""
    for kind in _LEFT_OUT:
        ran = (
            statement
            for statement in source.ran
            if statement.effect.kind is kind or (kind is EffectKind.ROWS and statement.effect.has_rows)
        )
        if versions := list(dict.fromkeys(statement.version for statement in ran)):
            yield f"{kind.value} ({counted(len(versions), 'version')}: {', '.join(versions)})"
    if lost := missing_tables(source.ran, source.shapes):
        yield f"tables that do not exist in {source.environment}, although no file drops them: {', '.join(lost)}"
    for table in source.tables:
        yield from (f"Not exact: {table.shape.table}: {what}" for what in table.made.not_exact)
    yield "locations of tables: the catalog chooses them"
    if names := variables_in(without_names(file.text, source.names) for file in source.files):
        yield f"variables: it has the values of {source.environment} of {', '.join(names)}"
    abandoned = [record.version for record in source.history.versions if record.state is State.ABANDONED]
    if abandoned:
        yield f"statements of abandoned versions that did not run in {source.environment}: {', '.join(abandoned)}"
