"""The command `review`: show the effects of a branch's migrations on tables, on a throw-away copy. Contacts no catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from threading import Thread
from types import MappingProxyType

from glacierbase.capabilities.review.breakage import Broken
from glacierbase.capabilities.review.catalogue import FAMILIES
from glacierbase.capabilities.review.copy import Copy, copy_of, without_engine
from glacierbase.capabilities.review.cost import Affected, Cost, StatementEffect, combined
from glacierbase.capabilities.review.lint import Examined, Linting
from glacierbase.capabilities.review.reading import FileToRead, read_files
from glacierbase.capabilities.review.replay import Replay, Replays, is_same
from glacierbase.capabilities.review.results import (
    PREFIX,
    LintResult,
    Replayed,
    ReviewedFile,
    ReviewedStatement,
    ReviewedTable,
    ReviewResult,
    SkippedStatement,
    origin,
)
from glacierbase.capabilities.review.statements import FileSummary, Parts, ReplayProblem, ReplayStep, StatementSummary
from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.errors import (
    ConfigurationError,
    EngineUnavailable,
    GlacierbaseError,
    MigrationFileError,
    SeveralErrors,
    collected,
    joined,
)
from glacierbase.executors import import_plain, type_of
from glacierbase.migrations.git_base import read_base
from glacierbase.migrations.in_environments import InEnvironment, in_environments
from glacierbase.migrations.repeatables import versioned
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.differences import Change, Difference, TableChange
from glacierbase.model.finding import Finding, Severity
from glacierbase.model.migration import Migration, checksum
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.result import Results, raise_first
from glacierbase.model.text import counted
from glacierbase.prose import sections
from glacierbase.run.files import FileReader, FileRefused
from glacierbase.run.waiting import start_thread
from glacierbase.sql.operations import ROWS

_REWRITES = ROWS | {"call", "optimize", "create_table_as", "drop_partition", "restore", "vacuum"}
_CREATES_TABLE = frozenset({"create_table", "create_table_as"})
_LOSES_TABLE = frozenset({"drop_table", "drop_namespace", "replace_table"})
_LOSES_COLUMNS = frozenset({"replace_columns", "replace_table"})
# The rules of `lint` about the same losses.
_DROPPED_TABLE, _DROPPED_COLUMN, _REPLACED_TABLE = "DS101", "DS103", "DS106"
# By a code of the replay: rules about the same loss by statements of another form.
_SAME_LOSS: Mapping[str, tuple[str, ...]] = {
    "DS101": ("DS102",),
    "DS103": ("DS104", "DS105"),
    "DS106": ("DS101", "DS102"),  # DROP and CREATE.
}
_REFUSALS = ("REPLAY_REFUSED", "REPLAY_BROKEN_TABLE")
# Rules about what lets the engine refuse later statements on the table.
_BROKEN_BY = ("PR102", "PR113", "TY113")
_REPLACED = Difference("table", "", "replaced: its rows are gone", "a new table", destructive=True)
_VIEWS = frozenset({"create_view", "replace_view", "alter_view", "drop_view", "rename_view"})
_RULES = {rule.code: rule for _, rules in FAMILIES.values() for rule in rules}
# Why findings matter, and their fix, by code.
REPLAY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        code: (why.removeprefix("Why: "), fix.removeprefix("Fix: "))
        for code, (why, fix) in sections(Path(__file__).with_name("replay.md"))
    }
)

_MOST_BYTES = 10 * 2**20


def review(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str) -> tuple[ReviewResult, ...]:
    """Replay the base and the new migrations of the chosen catalogs, once for environments that render them equally.

    Args:
        base: a git ref; the migrations that it lacks are new.

    Raises:
        GlacierbaseError: a file does not render, a replay does not start, or a change is refused or destructive and not
            allowed. Its `results` have an entry per catalog and group of environments.
    """
    results = reviewed(root, choice, catalogs, base)
    at = origin(root, "review", catalogs, base)
    return raise_first(Results(replace(result, origin=at) for result in results))


def reviewed(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str, *, must_replay: bool = True
) -> list[ReviewResult]:
    """Return the results of `review`, each with its error.

    Args:
        must_replay: whether a replay that does not start is an error; otherwise it is a warning.
    """
    compared = read_base(root, base, {file.name: file.stem for file in choice.files}, read_name)
    configurations: dict[tuple[str, str], Catalog] = {}
    linting = Linting(root, choice.in_every_environment(catalogs), compared)
    linted: list[InEnvironment[Examined]] = []
    importing: list[Thread] = []

    def read(sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]) -> Iterable[tuple[FileSummary, bool]]:
        configurations[catalog.name, catalog.environment] = catalog
        beside = compared.compared(catalog.name, migrations)
        changed = beside.changed_repeatables()
        new = {migration.location for migration in (*beside.new(), *beside.new_squashes(), *changed)}
        if new and not importing and type_of(catalog).has_copies:  # While the sandbox's process reads the files.
            importing.append(start_thread(import_plain, "glacierbase-import"))
        linted.append(_linted(linting, sandbox, catalog, migrations))
        if not new:
            return ()
        fixtures = fixtures_of(catalog, root)
        return read_files(
            sandbox,
            catalog,
            [
                *([FileToRead(fixtures, is_new=False, is_template=False)] if fixtures else ()),
                *(FileToRead(file, file.location in new) for file in versioned(migrations)),
                # A repeatable that was edited ran in the base as the base has it.
                *(FileToRead(file, is_new=False) for file in beside.repeatables_before()),
                *(FileToRead(file, is_new=True) for file in changed),
            ],
        )

    outcomes, _ = in_environments(root, linting.chosen, False, read)
    for thread in importing:
        thread.join()
    groups = _grouped(outcomes, configurations)
    ruled = {result.catalog: result for result in linting.results(linted)}
    known = [error for group in groups for error in group.errors]
    with closing(Replays()) as replays:
        replayed = [_reviewed(group, replays, must_replay=must_replay) for group in groups]
    results = [_failed(with_rules(result, ruled[result.catalog], known)) for result in replayed]
    return list(in_all_environments(results))


def in_all_environments(results: Sequence[ReviewResult]) -> Iterator[ReviewResult]:
    """Yield results in which each finding names all environments of its catalog that have it, also those of other results."""
    where: dict[tuple[str, Finding], dict[str, None]] = {}
    for result in results:
        for finding in result.findings:
            key = result.catalog, replace(finding, environments=())
            where.setdefault(key, {}).update(dict.fromkeys(finding.environments))
    for result in results:
        yield replace(
            result,
            findings=tuple(
                replace(finding, environments=tuple(where[result.catalog, replace(finding, environments=())]))
                for finding in result.findings
            ),
        )


def _linted(
    linting: Linting, sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]
) -> InEnvironment[Examined]:
    """Return what the rules say of a catalog in one environment, with the errors."""
    used: list[Examined] = []
    errors: list[GlacierbaseError] = []
    with collected(errors):
        for examined in linting.examine(sandbox, catalog, migrations):
            used.append(examined)
    return InEnvironment(catalog.name, catalog.environment, tuple(migrations), tuple(used), tuple(errors))


@dataclass(frozen=True)
class _Group:
    """Environments of a catalog that render its migrations equally.

    Attributes:
        catalog: in the first of the environments.
        copy: None if the engine has no copies.
        errors: why migrations were not rendered.
    """

    catalog: Catalog | None
    name: str
    environments: tuple[str, ...]
    copy: Copy | None
    base: tuple[FileSummary, ...]
    new: tuple[FileSummary, ...]
    errors: tuple[GlacierbaseError, ...]

    @cached_property
    def created(self) -> frozenset[str]:
        """The tables that new files create, and that no earlier statement names."""
        named = {name for file in self.base for step in file.steps for name in step.summary.tables}
        created: set[str] = set()
        for summary in (step.summary for file in self.new for step in file.steps):
            if summary.operation in _CREATES_TABLE:
                created |= summary.tables - named
            named |= summary.tables
        return frozenset(created)

    @property
    def squashes(self) -> tuple[FileSummary, ...]:
        """The new files that replace files of the base and create its tables."""
        return tuple(file for file in self.new if file.migration.squashes)


def _grouped(
    outcomes: Sequence[InEnvironment[tuple[FileSummary, bool]]], configurations: Mapping[tuple[str, str], Catalog]
) -> list[_Group]:
    groups: dict[object, _Group] = {}
    for outcome in outcomes:
        catalog = configurations.get((outcome.catalog, outcome.environment))
        copy = copy_of(catalog) if catalog and type_of(catalog).has_copies else None
        rendered = tuple((file.migration.location, file.checksum) for file, _ in outcome.used)
        settings = tuple(sorted(copy.catalog.spark_conf.items())) if copy else None
        errors = tuple(error.message for error in outcome.errors)
        key = (outcome.catalog, rendered, settings, copy and (copy.catalog.dependencies, copy.catalog.fixtures), errors)
        if key in groups:
            groups[key] = replace(groups[key], environments=(*groups[key].environments, outcome.environment))
            continue
        base, new = (tuple(file for file, is_new in outcome.used if is_new is wanted) for wanted in (False, True))
        groups[key] = _Group(catalog, outcome.catalog, (outcome.environment,), copy, base, new, outcome.errors)
    return list(groups.values())


def _reviewed(group: _Group, replays: Replays, *, must_replay: bool) -> ReviewResult:
    shown = ", ".join(group.environments)
    result = ReviewResult(group.name, shown, environments=group.environments, files=tuple(_files(group, None)))
    if group.errors or not group.new:
        return replace(result, error=joined(group.errors))
    if group.copy is None or not group.copy.names or _needs_other_python(group):
        return _by_text(group, result, _not_replayed(group))
    errors: list[GlacierbaseError] = []
    with collected(errors):
        base = tuple(sorted((*group.base, *group.squashes), key=_place_of))
        new = tuple(file for file in group.new if file not in group.squashes)
        return _judged(group, result, _replay(replays, group.copy, base, new))
    if not must_replay and all(isinstance(error, (ConfigurationError, EngineUnavailable)) for error in errors):
        return _by_text(
            group, result, *(f"the migrations were rendered, and not replayed: {error.message}" for error in errors)
        )
    return replace(result, error=joined(errors))


def _by_text(group: _Group, result: ReviewResult, *warnings: str) -> ReviewResult:
    """Return the result of a group that is not replayed: its tables by the text of the statements."""
    tables = tuple(_table(group, change) for change in _changes_by_text(group))
    return replace(result, tables=tables, warnings=(*result.warnings, *warnings))


def _replay(replays: Replays, copy: Copy, base: Sequence[FileSummary], new: Sequence[FileSummary]) -> Replay:
    """Replay on a copy without an engine where all statements are plain and no rows are needed, else in the engine."""
    is_plain = all(file.is_plain for file in (*base, *new))
    if is_plain and not _needs_trial(base, new) and (direct := without_engine(copy)):
        return replays.replay(direct, base, new)
    return replays.replay(copy, base, new)


def _needs_trial(base: Sequence[FileSummary], new: Sequence[FileSummary]) -> bool:
    """Return whether new files change a table with a property that only rows show the effect of, under any of its names."""
    tried: list[Sequence[str]] = []
    for summary in (step.summary for file in (*base, *new) for step in file.steps):
        is_renamed = summary.operation == "rename_table" and _has_same(summary.targets, tried)
        if summary.needs_trial or is_renamed:
            tried += summary.targets
    changed = [target for file in new for step in file.steps for target in step.summary.targets]
    return _has_same(changed, tried)


def _has_same(names: Iterable[Sequence[str]], others: Sequence[Sequence[str]]) -> bool:
    return any(is_same(name, other) for name in names for other in others)


def _needs_other_python(group: _Group) -> str | None:
    """Return why the copy of a catalog with `migrationExecutor.python` cannot run on this Python; None if it can."""
    if group.copy and group.catalog and group.catalog.python:
        try:
            type_of(group.copy.catalog).check_installed(group.copy.catalog)
        except ConfigurationError as error:
            return error.message
    return None


def _place_of(file: FileSummary) -> tuple[bool, int]:
    """Return what sorts files by version, and leaves repeatables behind them in their order."""
    return (True, 0) if file.migration.is_repeatable else (False, file.migration.number)


def _not_replayed(group: _Group) -> str:
    if not (group.catalog and type_of(group.catalog).has_copies):
        engine = group.catalog.executor_type if group.catalog else ""
        return f"{engine} has no engine on this machine: the migrations were rendered, and not replayed"
    if other := _needs_other_python(group):
        what = (
            "a review does not start `migrationExecutor.python`, which may be any program, but the Spark of `packages`"
        )
        return f"the migrations were rendered, and not replayed: {what}; {other}"
    why = "; ".join(group.copy.left_out) if group.copy else ""
    return f"the migrations were rendered, and not replayed: {why or 'sparkConf declares no catalog of Iceberg'}"


def _judged(group: _Group, result: ReviewResult, replayed: Replay) -> ReviewResult:
    skipped = tuple(
        SkippedStatement(problem.file.migration.location, problem.step.line, problem.message)
        for problem in replayed.skipped
    )
    refused = [
        problem.step
        for problem in replayed.problems
        if problem.code == "REPLAY_REFUSED" and problem.code not in problem.step.summary.allowed
    ]
    return replace(
        result,
        warnings=tuple(_warnings(group, replayed)),
        files=tuple(_files(group, replayed)),
        tables=tuple(_table(group, change, refused) for change in replayed.changes),
        views=replayed.views,
        findings=tuple(_findings(group, replayed)),
        replay=Replayed(replayed.replayed, skipped, replayed.cached > 0, _engine_of(group, replayed)),
    )


def _engine_of(group: _Group, replayed: Replay | None) -> str | None:
    if replayed is None or group.catalog is None:
        return None
    return "direct" if replayed.is_direct else group.catalog.executor_type


def _warnings(group: _Group, replayed: Replay) -> Iterator[str]:
    for left_out in group.copy.left_out if group.copy else ():
        yield f"{PREFIX}: {left_out}"
    for file in group.squashes:
        what = "replaces files of the base, and ran in their place; its tables are not compared with theirs"
        yield f"{PREFIX}: {file.migration.location} {what}"
    of_base = [problem for problem in replayed.base_problems if problem.file not in group.squashes]
    if of_base:
        count = counted(len(of_base), "statement")
        place = f"{of_base[0].file.migration.location}, line {of_base[0].step.line}"
        yield f"{PREFIX}: {count} of the base did not run; the first is {place}: {of_base[0].message}"
    for table in replayed.unread:
        yield f"{PREFIX}: the table {table} is not compared: neither the copy nor PyIceberg can describe it"
    if replayed.not_kept:
        yield f"{PREFIX}: the state after the base is not cached: {replayed.not_kept}"


def _files(group: _Group, replayed: Replay | None) -> Iterator[ReviewedFile]:
    for file in group.new:
        at = file.migration
        kind = _kind(group, file, replayed) if replayed else None
        statements = tuple(_statement(group, step) for step in file.steps)
        yield ReviewedFile(
            at.version or None, at.location, at.description, at.author, kind, group.environments, statements,
            at.identity.get("name"), _engine_of(group, replayed) if kind else None,
        )  # fmt: skip


def _statement(group: _Group, step: ReplayStep) -> ReviewedStatement:
    effect = _effect(group, step)
    return ReviewedStatement(step.index, step.line, step.text, effect.cost, effect.undo, effect.breaks)


def _effect(group: _Group, step: ReplayStep) -> StatementEffect:
    """Return the effect of a statement of a new file; one on tables that the branch creates loses nothing, and breaks nobody."""
    effect, targets = step.summary.effect, step.summary.tables
    if effect.cost is Cost.STATE or not targets or not targets <= group.created:
        return effect
    return StatementEffect(Cost.METADATA if effect.cost is Cost.METADATA else Cost.EXPENSIVE, effect.undo)


def _table(group: _Group, change: TableChange, refused: Sequence[ReplayStep] = ()) -> ReviewedTable:
    """Return what happens to a table. A refused statement costs nothing, and there is nothing to undo."""
    refused_ids = set(map(id, refused))
    steps = list(_about([step for file in group.new for step in file.steps if id(step) not in refused_ids], change))
    effects = [_effect(group, step) for step in steps]
    whole = combined(effects)
    names = [target for step in steps for target in step.summary.targets]
    return ReviewedTable(
        **{part.name: getattr(change, part.name) for part in fields(change)},
        cost=whole.cost,
        undo=tuple(dict.fromkeys(effect.undo for effect in reversed(effects) if effect.undo)),
        affects=whole.breaks,
        views=tuple(_views_on(group, names)) if Affected.READERS in whole.breaks else (),
    )


def _views_on(group: _Group, tables: Sequence[Parts]) -> list[str]:
    """Return the views that files declare on tables, and the views on these."""
    views: dict[str, Parts] = {}
    for step in (step for file in (*group.base, *group.new) for step in file.steps):
        below = (*tables, *views.values())
        for name in step.summary.tables if step.summary.operation in ("drop_view", "rename_view") else ():
            views.pop(name, None)
        if step.summary.operation in ("create_view", "replace_view") and any(
            is_same(source, name) for source in step.summary.sources for name in below
        ):
            views[name_of(step.summary.targets[0])] = step.summary.targets[0]
    return sorted(views)


def _changes_by_text(group: _Group) -> Iterator[TableChange]:
    """Yield the tables that the statements of new files change, without shapes: for engines without a copy."""
    changes: dict[str, Change] = {}
    emptied: set[str] = set()
    for summary in (step.summary for file in group.new for step in file.steps):
        names = [] if summary.operation in _VIEWS else [name_of(target) for target in summary.targets]
        if not names:
            continue
        if summary.operation == "rename_table":
            was = changes.pop(names[0], Change.RENAMED)
            changes[names[-1]] = was if was is Change.CREATED else Change.RENAMED
        elif summary.operation == "drop_table":
            if changes.pop(names[0], None) is not Change.CREATED:
                changes[names[0]] = Change.DROPPED
        else:
            is_new = summary.operation.startswith("create_table")
            earlier = changes.get(names[0])
            is_again = is_new and earlier is Change.DROPPED
            if is_again or (summary.operation == "replace_table" and earlier is not Change.CREATED):
                changes[names[0]] = Change.ALTERED
                emptied.add(names[0])
            changes.update(
                (name, Change.CREATED if is_new else Change.ALTERED) for name in names if name not in changes
            )
    return (
        TableChange(name, changes[name], None, None, (_REPLACED,) if name in emptied else ())
        for name in sorted(changes)
    )


def _kind(group: _Group, file: FileSummary, replayed: Replay) -> str | None:
    if file in group.squashes:
        return "squash"
    if file.migration.key not in replayed.by_file:
        return None
    if any(_losses(file, replayed)):
        return "destructive"
    if any(_REWRITES.intersection(step.summary.operations) for step in file.steps):
        return "rewrites data"
    is_partial = any(problem.file is file and problem.code != "REPLAY_LOCAL_PATH" for problem in replayed.problems)
    return "replayed in part" if is_partial else "metadata only"


def _findings(group: _Group, replayed: Replay) -> Iterator[Finding]:
    for problem in (
        *(problem for problem in replayed.base_problems if problem.file in group.squashes),
        *replayed.problems,
    ):
        message, targets = _explained(problem), problem.step.summary.targets
        table = name_of(targets[0]) if targets else None
        yield _finding(group, problem.code, problem.is_error, message, problem.file, problem.step, table)
    for broken, *others in _with_one_cause(replayed.broken):
        message = broken.message([other.name for other in others])
        yield _finding(group, broken.code, True, message, broken.file, broken.step, broken.name)
    for file in group.new:
        for change, difference in _losses(file, replayed):
            yield _finding(group, *_loss(change, difference), file, _cause(file, change, difference), change.table)


def _with_one_cause(all_broken: Iterable[Broken]) -> Iterable[list[Broken]]:
    """Return what is broken; views that a statement breaks with one error are together."""
    causes: dict[object, list[Broken]] = {}
    for broken in all_broken:
        cause = (id(broken.step), broken.why, "" if broken.is_view else broken.name)
        causes.setdefault(cause, []).append(broken)
    return causes.values()


def _losses(file: FileSummary, replayed: Replay) -> Iterator[tuple[TableChange, Difference]]:
    """Yield the destructive differences of tables and columns of the base: what the branch creates holds no data yet."""
    new = set(_new_columns(file, replayed))
    for change in replayed.by_file.get(file.migration.key, ()):
        if change.before and change.before.uuid in replayed.existing:
            lost = [difference for difference in change.diff if difference.destructive]
            # The columns that a new table lacks are lost with the table.
            lost = [difference for difference in lost if difference.what == "table"] or lost
            dropped = [tuple(name_parts(difference.name)) for difference in lost if difference.what == "column"]
            renamed = set(_renamed_without_ids(file, change))
            for difference in lost:
                path = tuple(name_parts(difference.name))
                is_inside = any(path[:size] in dropped for size in range(1, len(path)))
                is_new = (change.before.uuid, difference.what, difference.name) in new
                is_renamed = tuple(map(str.lower, path)) in renamed
                if not is_new and not (difference.what == "column" and (is_inside or is_renamed)):
                    yield change, difference


def _renamed_without_ids(file: FileSummary, change: TableChange) -> Iterator[Parts]:
    """Yield the earlier names of columns that a file renames, in lower case. Columns without ids are compared by name."""
    added = {part.name.lower() for part in change.diff if part.what == "column" and part.before is None}
    if change.before and all(column.id is None for column in change.before.columns):
        pairs = (pair for step in _about(file.steps, change) for pair in step.summary.renamed)
        yield from (tuple(map(str.lower, before)) for before, after in pairs if name_of(after).lower() in added)


def _new_columns(file: FileSummary, replayed: Replay) -> Iterator[tuple[str | None, str, str]]:
    """Yield the columns that files of the branch before this one add, each with the id of its table."""
    for key, changes in replayed.by_file.items():
        if key == file.migration.key:
            return
        for change in changes:
            added = (
                difference for difference in change.diff if difference.what == "column" and difference.before is None
            )
            uuid = change.after.uuid if change.after else None
            yield from ((uuid, "column", difference.name) for difference in added)


def _finding(
    group: _Group,
    code: str,
    is_error: bool,
    message: str,
    file: FileSummary,
    step: ReplayStep,
    table: str | None = None,
) -> Finding:
    why, fix = explained(code)
    return Finding(
        code=code, severity=Severity.ERROR if is_error else Severity.WARNING, message=f"{PREFIX}: {message}", why=why, fix=fix,
        path=file.migration.location, line=step.line, column=step.column, statement_index=step.index,
        table=table, environments=group.environments,
        allowed=None if code == "REPLAY_TIMEOUT" else step.summary.allowed.get(code),
    )  # fmt: skip


def _explained(problem: ReplayProblem) -> str:
    if problem.code == "REPLAY_NOT_RUN":
        return f"not replayed: {problem.message}"
    return problem.message


def _loss(change: TableChange, difference: Difference) -> tuple[str, bool, str]:
    """Return the code, whether it is an error, and the message of a destructive difference."""
    if difference.what == "column":
        return _DROPPED_COLUMN, True, f"the column {difference.name} ({difference.before}) is dropped, with its values"
    if change.change is Change.DROPPED:
        return _DROPPED_TABLE, True, "the table is dropped"
    return _REPLACED_TABLE, True, "the table is replaced by a new one, without its rows"


def _cause(file: FileSummary, change: TableChange, lost: Difference) -> ReplayStep:
    """Return the statement that most likely caused a loss: the last statement on the table that drops the lost part."""
    about = list(_about(file.steps, change))
    drops = [step for step in about if _drops(step.summary, lost)]
    return (drops or about or file.steps[:1])[-1]


def _about(steps: Iterable[ReplayStep], change: TableChange) -> Iterator[ReplayStep]:
    """Yield the statements that change a table, also under another name before or after a rename."""
    names = [tuple(name_parts(name)) for name in (change.table, change.before.table if change.before else None) if name]
    for step in steps:
        if any(is_same(target, name) for target in step.summary.targets for name in names):
            yield step
            names += step.summary.targets  # Includes the new name of a rename.


def _drops(summary: StatementSummary, lost: Difference) -> bool:
    if lost.what != "column":
        return summary.operation in _LOSES_TABLE
    path = tuple(name_parts(lost.name.lower()))
    dropped = (tuple(part.lower() for part in path) for path in summary.dropped)
    return any(path[: len(prefix)] == prefix for prefix in dropped) or summary.operation in _LOSES_COLUMNS


def _failed(result: ReviewResult) -> ReviewResult:
    """Return the result with the error of its findings, unless it has one already."""
    wrong = [finding for finding in result.findings if finding.is_error]
    if result.error or not wrong:
        return result
    codes = tuple(dict.fromkeys(finding.code for finding in wrong))
    of_rules = [code for code in codes if not code.startswith("REPLAY_")]
    error = MigrationFileError(
        "REVIEW_FAILED",
        f"catalog {result.catalog}: {counted(len(wrong), 'error')} {PREFIX}: {', '.join(codes)}",
        f"correct the statements; `{command('rules', *of_rules)}` explains them, and how to allow one"
        if of_rules
        else "correct the statements of the findings",
        state="no real table was changed",
        catalog=result.catalog,
        codes=list(codes),
    )
    return replace(result, error=error)


def with_rules(result: ReviewResult, ruled: LintResult, known: Collection[GlacierbaseError]) -> ReviewResult:
    """Return a result with the findings of the rules, in the order of their places, notes last, and with the errors of `lint`.

    A finding of a rule is left out if the replay has found the same, because the replay shows what is lost.

    Args:
        known: errors that other results of the catalog already have.
    """
    shown = [_named(finding, ruled.findings) for finding in result.findings]
    findings = (*shown, *_others(result, shown, ruled.findings))
    reported = {error.message for error in known}
    errors = [error for error in _parts(ruled.error) if error.code != "LINT_FAILED" and error.message not in reported]
    return replace(
        result,
        findings=tuple(sorted(findings, key=_order)),
        error=joined([*_parts(result.error), *errors]),
    )


def _order(finding: Finding) -> tuple[bool, str, int, int]:
    return (finding.is_note, finding.path, finding.line, finding.column)


def _named(shown: Finding, ruled: Sequence[Finding]) -> Finding:
    """Return a finding of the replay with the code of the rule about the same cause, so that one comment allows both."""
    codes = [finding for finding in ruled if _place(finding) == _place(shown)]
    same = [finding for finding in codes if _is_same_cause(shown.code, finding)]
    if not same or any(finding.code == shown.code for finding in codes):
        return shown
    rule = same[0]
    allowed = shown.allowed if rule.allowed is None else rule.allowed
    return replace(shown, code=rule.code, why=rule.why, fix=rule.fix, allowed=allowed)


def _is_same_cause(replayed: str, ruled: Finding) -> bool:
    """Return whether a rule's finding is about what a finding of the replay with this code shows, at the same statement."""
    if replayed in _REFUSALS:
        rule = _RULES.get(ruled.code)
        is_broken_by = replayed == "REPLAY_BROKEN_TABLE" and ruled.code in _BROKEN_BY
        return is_broken_by or bool(rule and rule.refuses)
    if replayed == "REPLAY_BROKEN_VIEW":
        return ruled.code == "BC106"
    return ruled.code in _SAME_LOSS.get(replayed, ())


def _others(result: ReviewResult, shown: Sequence[Finding], ruled: Sequence[Finding]) -> Iterator[Finding]:
    replayed = {(finding.code, _place(finding)) for finding in shown}
    paths = {file.path for file in result.files}
    for finding in ruled:
        environments = tuple(name for name in finding.environments if name in result.environments)
        there = (other.code for other in result.findings if _place(other) == _place(finding))
        is_shown = (finding.code, _place(finding)) in replayed or any(_is_same_cause(code, finding) for code in there)
        if environments and finding.path in paths and not is_shown:
            yield replace(finding, environments=environments)


def _place(finding: Finding) -> tuple[str, int | None]:
    return finding.path, finding.statement_index


def _parts(error: GlacierbaseError | None) -> Sequence[GlacierbaseError]:
    return error.errors if isinstance(error, SeveralErrors) else [error] if error else []


def explained(code: str) -> tuple[str, str]:
    """Return why the findings of a code matter, and the fix."""
    return REPLAY[code] if code in REPLAY else (_RULES[code].why, _RULES[code].fix)


def fixtures_of(catalog: Catalog, root: Path) -> Migration | None:
    """Return the catalog's fixtures as a file before all others, or None.

    Raises:
        ConfigurationError: the file is outside of the project, or cannot be read.
    """
    if catalog.fixtures is None:
        return None
    path = root / catalog.fixtures
    try:
        content = FileReader(root, _MOST_BYTES, _MOST_BYTES).read(path)
    except FileRefused as error:
        what = f"review.fixtures of catalog {catalog.name}: {catalog.fixtures} {error.what}"
        raise ConfigurationError(error.code, what, error.hint, path=catalog.fixtures) from error
    text = content.decode(errors="replace")
    return Migration("0", "fixtures", "", "", path, catalog.fixtures, text, checksum(content))
