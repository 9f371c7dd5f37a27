"""`show`: the details of one version, from history and files, with the changes that its runs recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from glacierbase.errors import GlacierbaseError
from glacierbase.executors.direct.files import FileEngine
from glacierbase.history.details import details_of
from glacierbase.history.items import Item, next_step
from glacierbase.history.records import History, Record
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.inspect.history import event_table
from glacierbase.inspect.status import statuses
from glacierbase.migrations.allows import Allow, allows_of
from glacierbase.migrations.statements import split_statements
from glacierbase.model.arguments import unknown_version
from glacierbase.model.differences import Change, Difference, compare
from glacierbase.model.migration import RESUMED, Event, Key, OriginalRun, State, Statement
from glacierbase.model.result import Result, Status, user_of
from glacierbase.model.text import Cell, Line, Mark, Verbatim, table, time_of
from glacierbase.record.points import place_of
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.timeline import Moment, Timeline, records_in, timelines

# What would run, or go on.
_LEFT = RESUMED | {State.PENDING, State.OUT_OF_ORDER}
_ORIGINS = {
    ChangeOrigin.OUTSIDE: "found before it, not from a migration",
    ChangeOrigin.DURING: "while it ran, not by it",
    ChangeOrigin.BASELINE: "found at baseline",
    ChangeOrigin.NOT_RECORDED: "found before it, not recorded",
}


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement of a shown version. `state` is done, failed, unknown, running or pending."""

    index: int
    line: int
    state: str
    sql: str


@dataclass(frozen=True, slots=True)
class ShownRun:
    """The run that applied the version, or ran it last; for a baselined version the run of `baseline`.

    Attributes:
        plan: the digest of the plan file that the run applied, or None.
    """

    run_id: str
    os_user: str | None
    host: str | None
    principal: str | None
    ci_actor: str | None
    engine: str | None
    git_commit: str | None
    ci_url: str | None
    plan: str | None = None

    def rows(self) -> Iterator[tuple[Cell, Cell]]:
        """Yield the run, and its commit, CI job and plan file where it has them."""
        engine = f", {self.engine}" if self.engine else ""
        yield "run", f"{self.run_id} of {user_of(self.os_user, self.host, self.ci_actor)} as {self.principal}{engine}"
        more = (("commit", self.git_commit), ("ci", self.ci_url), ("plan", self.plan))
        yield from ((name, value) for name, value in more if value)


@dataclass(frozen=True, slots=True)
class ShowResult(Result):
    """The details of one version: description, author, run, statements, events, and the next step.

    Attributes:
        tables: the changes that its runs recorded: their own, and those that no migration made.
        original: who applied it with another tool, before `import --baseline` recorded it.
        engine: the one that would run what is left of it: `direct`, or the type of the catalog's engine; None if nothing is left.
        needs_engine: why that does not run directly where `migrationExecutor.direct` allows it, as a clause.
    """

    migration: Status | None = None
    run: ShownRun | None = None
    statements: tuple[ShownStatement, ...] = ()
    allows: tuple[Allow, ...] = ()
    events: tuple[Event, ...] = ()
    next: str = ""
    tables: tuple[MadeChange, ...] = ()
    original: OriginalRun | None = None
    engine: str | None = None
    needs_engine: str | None = None

    def lines(self) -> Sequence[Line]:
        status = self.migration
        if status is None:
            return ["no such version"]
        lines: list[Line] = [
            Mark(f"{status.label}  {status.description}"),
            *table((), self._rows(status)),
        ]
        if status.note:
            lines.append(f"note: {status.note}")
        for statement in self.statements:
            lines += ["", f"statement {statement.index}, line {statement.line}: {statement.state}\n{statement.sql}"]
        lines += change_lines(self.tables)
        if status.error_message and status.state is not State.APPLIED:
            lines += ["", f"error: {status.error_message}"]
        if status.waiting:
            lines += ["", f"waiting {status.waiting.text()}"]
        if self.events:
            lines += ["", *event_table(self.events)]
        return [*lines, "", f"next: {self.next}"] if self.next else lines

    def _rows(self, status: Status) -> Iterator[tuple[Cell, Cell]]:
        yield "state", Mark(f"{status.state_name}{status.place}")
        if status.progress:
            yield "done", f"{status.progress} statements"
        yield "author", status.author
        yield from status.headers.items()
        yield "file", status.path
        if status.applied_at:
            yield "applied at", status.applied_at
        if self.original:
            by = f"{self.original.author or 'an unknown user'}, {time_of(self.original.at) or 'at an unknown time'}"
            yield f"by {self.original.tool}", f"{self.original.script} by {by}"
        for allow in self.allows:
            yield f"allows {allow.code}", f"at statement {allow.statement_index}: {allow.reason}"
        if engine := FileEngine(self.engine or "", self.needs_engine).text():
            yield "would run", engine
        if self.run:
            yield from self.run.rows()


def show(target: CatalogRun, result: ShowResult, key: Key) -> ShowResult:
    """Return the details of one version or repeatable; `migration` stays None if there is none."""
    state = current_state(target)
    shown = next((pair for pair in statuses(target, state.history) if pair[0].key == key), None)
    if shown is None:
        return replace(result, warnings=state.warnings)
    item, status = shown
    # Of a repeatable that changed since it ran, those that are to run.
    statements, allows = statements_of(target, key, None if item.state is State.PENDING else item.record)
    engine = _engine(target, key) if item.state in _LEFT else None
    return replace(
        result,
        migration=status,
        run=shown_run(item.record) if item.record else None,
        statements=statements,
        allows=allows,
        events=tuple(event for event in state.history.events if event.key == key),
        next=next_of(target, item),
        tables=made_by(state.history, key),
        original=details_of(item.record.started).original if item.record else None,
        engine=engine.name if engine else None,
        needs_engine=engine.why if engine else None,
    )


def next_of(target: CatalogRun, item: Item) -> str:
    """Return the next steps for an item of a catalog; empty where there is nothing to do."""
    obstacle = ""
    if item.state is State.FAILED and item.file:
        from glacierbase.migrations.sessions import why_not_continued  # Imports the grammar.

        with suppress(GlacierbaseError):  # A file that does not compile.
            obstacle = why_not_continued(target.compile([item.file])[0], item.resumes_at)
    return next_step(item, obstacle)


def _engine(target: CatalogRun, key: Key) -> FileEngine | None:
    """Return the engine that would run a file; None where the file is gone or does not compile."""
    with suppress(GlacierbaseError):
        for compiled in target.compile([file for file in target.files if file.key == key]):
            return target.file_engines().of(compiled)
    return None


def check_known(results: tuple[ShowResult, ...], version: str) -> tuple[ShowResult, ...]:
    """Return the results of `show` for all catalogs; raise an error if none of them has the version.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`.
    """
    if not any(result.migration for result in results):
        raise unknown_version(f"no catalog has a version {version}")
    return results


def shown_run(record: Record) -> ShownRun:
    """Return the run that applied the version, or ran it last."""
    event = record.outcome
    return ShownRun(
        run_id=event.run_id,
        os_user=event.os_user,
        host=event.host,
        principal=event.principal,
        ci_actor=details_of(record.started).ci_actor,
        engine=event.engine,
        git_commit=event.git_commit,
        ci_url=event.ci_url,
        plan=details_of(record.started).plan,
    )


def statements_of(
    target: CatalogRun, key: Key, record: Record | None
) -> tuple[tuple[ShownStatement, ...], tuple[Allow, ...]]:
    """Return the statements of a version or repeatable, and the findings of `lint` that it allows.

    Both are as recorded at its start, else as in the file.
    """
    statements = _statements(target, key, record)
    shown = tuple(
        ShownStatement(statement.index, statement.line, _state_of(statement.index, record), statement.text)
        for statement in statements
    )
    return shown, details_of(record.started).allows if record else allows_of(statements)


def _statements(target: CatalogRun, key: Key, record: Record | None) -> tuple[Statement, ...]:
    if record and record.started.rendered_sql is not None:
        return split_statements(record.started.rendered_sql, target.dialect)
    files = target.compile([file for file in target.files if file.key == key])
    return files[0].statements if files else ()


def _state_of(index: int, record: Record | None) -> str:
    if record is None:
        return State.PENDING.value
    if index <= record.statements_done:
        return "done"
    return record.state.value if index == record.stopped_at else State.PENDING.value


@dataclass(frozen=True, slots=True)
class MadeChange:
    """A recorded change of a table.

    Attributes:
        table: its name after the change; its last name, if it was dropped.
        change: None where the table could not be read.
        origin: `migration` if the version made it; else the run observed it.
        unread: why the table could not be read; None where it was.
    """

    table: str
    change: Change | None
    origin: ChangeOrigin
    diff: tuple[Difference, ...] = ()
    unread: str | None = None


def made_by(history: History, key: Key) -> tuple[MadeChange, ...]:
    """Return the changes that the runs of a version or repeatable recorded; those of others first."""
    return _in_order(
        (change for timeline in timelines(history) for _, change in changes_in(timeline.moments, key)),
        history,
        key,
    )


def made_by_version(history: History, known: Iterable[Timeline]) -> dict[Key, tuple[MadeChange, ...]]:
    """Return the result of `made_by` for every version and repeatable that ran.

    Args:
        known: the timelines of the history.
    """
    made: dict[Key, list[MadeChange]] = {record.key: [] for record in history.records.values()}
    for timeline in known:
        for key, change in changes_in(timeline.moments):
            made.setdefault(key, []).append(change)
    return {key: _in_order(changes, history, key) for key, changes in made.items()}


def changes_in(moments: Sequence[Moment], only: Key | None = None) -> Iterator[tuple[Key, MadeChange]]:
    """Yield the change of a table at each of its moments, with the key of the version or repeatable that recorded it.

    Args:
        only: the key of the requested one; default all.
    """
    before = None
    for moment in moments:
        earlier, before = before, moment.shape
        key = moment.event.key or 0
        if only is None or key == only:
            shapes = [{shape.table: shape} if shape else {} for shape in (earlier, moment.shape)]
            for change in compare(*shapes):
                yield key, MadeChange(change.table, change.change, moment.origin, change.diff)


def change_lines(changes: Sequence[MadeChange]) -> Iterator[Line]:
    """Yield the changes as lines of text."""
    for change in changes:
        origin = _ORIGINS.get(change.origin)
        if change.unread is not None:
            yield from ("", f"table {change.table}: not recorded: {change.unread}")
        else:
            yield from ("", f"table {change.table}: {change.change}{f' ({origin})' if origin else ''}")
            yield from (Verbatim(f"  {difference.line()}") for difference in change.diff)


def _in_order(made: Iterable[MadeChange], history: History, key: Key) -> tuple[MadeChange, ...]:
    return (*sorted(made, key=lambda change: change.origin is ChangeOrigin.MIGRATION), *_unread(history, key))


def _unread(history: History, key: Key) -> Iterator[MadeChange]:
    """Yield the tables that the newest run of a version or repeatable could not read."""
    record = history.records.get(key)
    if record is not None and place_of(record.outcome) not in history.late:
        for table_record in records_in(history, record.outcome):
            if table_record.unread is not None:
                yield MadeChange(table_record.table, None, ChangeOrigin.NOT_RECORDED, unread=table_record.unread)
