"""The command `review`: what the migrations of a branch do to the tables, shown on a throw-away copy. Contacts no catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, joined
from glacierbase.migrations.git_base import read_base
from glacierbase.migrations.in_environments import InEnvironment, in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.differences import Change, Difference, TableChange
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_parts
from glacierbase.model.result import Results, raise_first
from glacierbase.model.text import counted
from glacierbase.review.combined import of_rules, with_rules
from glacierbase.review.copy import Copy, copy_of
from glacierbase.review.explained import explained
from glacierbase.review.fixtures import fixtures_of
from glacierbase.review.look import Look, Looked, Step, looked, looked_as_is
from glacierbase.review.origin import origin
from glacierbase.review.replay import Replay, replay
from glacierbase.review.replay_results import (
    PREFIX,
    Replayed,
    ReviewedFile,
    ReviewedStatement,
    ReviewedTable,
    ReviewResult,
    SkippedStatement,
)
from glacierbase.review.results import Finding
from glacierbase.review.running import Problem, is_same
from glacierbase.review.severity import Severity

_REWRITES = frozenset(
    {"insert", "insert_overwrite", "insert_multi", "update", "delete", "merge", "truncate", "copy", "call", "optimize",
     "create_table_as", "drop_partition", "restore", "vacuum"}
)  # fmt: skip
_LOSES_TABLE = frozenset({"drop_table", "drop_namespace", "replace_table"})
_LOSES_COLUMNS = frozenset({"replace_columns", "replace_table"})
# The rules of `lint` about the same losses.
_DROPPED_TABLE, _DROPPED_COLUMN, _REPLACED_TABLE = "DS101", "DS103", "DS106"


def review(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str) -> tuple[ReviewResult, ...]:
    """Replay the base and the new migrations of the chosen catalogs, once for environments that render them equally.

    Args:
        base: a git ref; the migrations that it does not have are new.

    Raises:
        GlacierbaseError: a file does not render, a replay does not start, or a change is refused or destructive and not
            allowed. Its `results` have an entry per catalog and group of environments.
    """
    compared = read_base(root, base, {file.name: file.stem for file in choice.files}, read_name)
    configurations: dict[tuple[str, str], Catalog] = {}

    def look(sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]) -> Iterator[tuple[Looked, bool]]:
        configurations[catalog.name, catalog.environment] = catalog
        beside = compared.compared(catalog.name, migrations)
        new = {each.location for each in (*beside.new(), *beside.new_squashes())}
        fixtures = fixtures_of(catalog, root) if new else None
        for each in looked_as_is(sandbox, fixtures, catalog) if fixtures else ():
            yield each, False
        for each in looked(sandbox, migrations if new else (), catalog):
            yield each, each.migration.location in new

    found, _ = in_environments(root, choice.in_every_environment(catalogs), False, look)
    at = origin(root, "review", catalogs, base)
    groups = _grouped(found, configurations)
    ruled = of_rules(root, choice, catalogs, base)
    known = [error for group in groups for error in group.errors]
    results = (_failed(with_rules(_reviewed(group), ruled[group.name], known)) for group in groups)
    return raise_first(Results(replace(each, origin=at) for each in results))


@dataclass(frozen=True, slots=True)
class _Group:
    """Environments of a catalog that render its migrations equally.

    Attributes:
        catalog: in the first of them.
        copy: None where the engine has none.
        errors: why migrations were not rendered.
    """

    catalog: Catalog | None
    name: str
    environments: tuple[str, ...]
    copy: Copy | None
    base: tuple[Looked, ...]
    new: tuple[Looked, ...]
    errors: tuple[GlacierbaseError, ...]

    @property
    def squashes(self) -> tuple[Looked, ...]:
        """Those of the new files that make the tables of the base: they replace files of it."""
        return tuple(each for each in self.new if each.migration.squashes)


def _grouped(
    found: Sequence[InEnvironment[tuple[Looked, bool]]], configurations: Mapping[tuple[str, str], Catalog]
) -> list[_Group]:
    groups: dict[object, _Group] = {}
    for each in found:
        catalog = configurations.get((each.catalog, each.environment))
        copy = copy_of(catalog) if catalog and catalog.executor_type == "spark" else None
        rendered = tuple((file.migration.location, file.checksum) for file, _ in each.used)
        settings = tuple(sorted(copy.catalog.spark_conf.items())) if copy else None
        errors = tuple(error.message for error in each.errors)
        key = (each.catalog, rendered, settings, copy and (copy.catalog.dependencies, copy.catalog.fixtures), errors)
        if key in groups:
            groups[key] = replace(groups[key], environments=(*groups[key].environments, each.environment))
            continue
        base, new = (tuple(file for file, is_new in each.used if is_new is wanted) for wanted in (False, True))
        groups[key] = _Group(catalog, each.catalog, (each.environment,), copy, base, new, each.errors)
    return list(groups.values())


def _reviewed(group: _Group) -> ReviewResult:
    shown = ", ".join(group.environments)
    result = ReviewResult(group.name, shown, environments=group.environments, files=tuple(_files(group, None)))
    if group.errors or not group.new:
        return replace(result, error=joined(group.errors))
    if group.copy is None or not group.copy.names:
        return replace(result, warnings=(*result.warnings, _not_replayed(group)))
    errors: list[GlacierbaseError] = []
    with collected(errors):
        base = tuple(sorted((*group.base, *group.squashes), key=lambda each: each.migration.number))
        new = tuple(each for each in group.new if each not in group.squashes)
        return _judged(group, result, replay(group.copy, base, new))
    return replace(result, error=joined(errors))


def _not_replayed(group: _Group) -> str:
    engine = group.catalog.executor_type if group.catalog else ""
    if engine != "spark":
        return f"{engine} has no engine on this machine: the migrations were rendered, and not replayed"
    why = "; ".join(group.copy.left_out) if group.copy else ""
    return f"the migrations were rendered, and not replayed: {why or 'sparkConf declares no catalog of Iceberg'}"


def _judged(group: _Group, result: ReviewResult, found: Replay) -> ReviewResult:
    tables = tuple(ReviewedTable(each.table, each.change, each.before, each.after, each.diff) for each in found.changes)
    skipped = tuple(
        SkippedStatement(each.file.migration.location, each.step.line, each.message) for each in found.skipped
    )
    return replace(
        result,
        warnings=tuple(_warnings(group, found)),
        files=tuple(_files(group, found)),
        tables=tables,
        views=found.views,
        findings=tuple(_findings(group, found)),
        replay=Replayed(found.replayed, skipped, found.cached > 0),
    )


def _warnings(group: _Group, found: Replay) -> Iterator[str]:
    for each in group.copy.left_out if group.copy else ():
        yield f"{PREFIX}: {each}"
    for file in group.squashes:
        what = "replaces files of the base, and ran in their place; its tables are not compared with theirs"
        yield f"{PREFIX}: {file.migration.location} {what}"
    of_base = [each for each in found.base_problems if each.file not in group.squashes]
    if of_base:
        count = counted(len(of_base), "statement")
        place = f"{of_base[0].file.migration.location}, line {of_base[0].step.line}"
        yield f"{PREFIX}: {count} of the base did not run; the first is {place}: {of_base[0].message}"
    if found.not_kept:
        yield f"{PREFIX}: the state after the base is not cached: {found.not_kept}"


def _files(group: _Group, found: Replay | None) -> Iterator[ReviewedFile]:
    for each in group.new:
        at = each.migration
        kind = _kind(group, each, found) if found else None
        statements = tuple(ReviewedStatement(step.index, step.line, step.text) for step in each.steps)
        yield ReviewedFile(at.version, at.location, at.description, at.author, kind, group.environments, statements)


def _kind(group: _Group, file: Looked, found: Replay) -> str | None:
    if file in group.squashes:
        return "squash"
    if file.migration.number not in found.by_file:
        return None
    if any(_losses(file, found)):
        return "destructive"
    if any(_REWRITES.intersection(step.look.operations) for step in file.steps):
        return "rewrites data"
    is_partial = any(each.file is file and each.code != "REPLAY_LOCAL_PATH" for each in found.problems)
    return "replayed in part" if is_partial else "metadata only"


def _findings(group: _Group, found: Replay) -> Iterator[Finding]:
    for problem in (*(each for each in found.base_problems if each.file in group.squashes), *found.problems):
        message = _explained(problem)
        yield _finding(group, problem.code, problem.is_error, message, problem.file, problem.step)
    for file in group.new:
        for change, each in _losses(file, found):
            yield _finding(group, *_loss(change, each), file, _cause(file, change, each), change.table)


def _losses(file: Looked, found: Replay) -> Iterator[tuple[TableChange, Difference]]:
    """Yield the destructive differences of tables that the base has: what the same branch creates holds nothing yet."""
    for change in found.by_file.get(file.migration.number, ()):
        if change.before and change.before.uuid in found.existing:
            yield from ((change, each) for each in change.diff if each.destructive)


def _finding(
    group: _Group, code: str, is_error: bool, message: str, file: Looked, step: Step, table: str | None = None
) -> Finding:
    why, fix = explained(code)
    return Finding(
        code=code, severity=Severity.ERROR if is_error else Severity.WARNING, message=f"{PREFIX}: {message}", why=why, fix=fix,
        path=file.migration.location, line=step.line, column=step.column, statement_index=step.index,
        table=table, environments=group.environments,
        allowed=None if code == "REPLAY_TIMEOUT" else step.look.allowed.get(code),
    )  # fmt: skip


def _explained(problem: Problem) -> str:
    if problem.code == "REPLAY_NOT_RUN":
        return f"not replayed: {problem.message}"
    return problem.message


def _loss(change: TableChange, each: Difference) -> tuple[str, bool, str]:
    """Return the code, whether it is an error, and the message of a destructive difference."""
    if each.what == "column":
        return _DROPPED_COLUMN, True, f"the column {each.name} ({each.before}) is dropped, with its values"
    if change.change is Change.DROPPED:
        return _DROPPED_TABLE, True, "the table is dropped"
    return _REPLACED_TABLE, True, "the table is replaced by a new one, without its rows"


def _cause(file: Looked, change: TableChange, lost: Difference) -> Step:
    """Return the statement that most likely caused a loss: of those that name the table, the last that drops it."""
    names = [tuple(name_parts(shape.table)) for shape in (change.before, change.after) if shape]
    about = []
    for step in file.steps:
        if any(is_same(target, name) for target in step.look.targets for name in names):
            about.append(step)
            names += step.look.targets  # Of a rename also the new name.
    drops = [step for step in about if _drops(step.look, lost)]
    return (drops or about or file.steps[:1])[-1]


def _drops(look: Look, lost: Difference) -> bool:
    if lost.what != "column":
        return look.operation in _LOSES_TABLE
    path = tuple(name_parts(lost.name.lower()))
    dropped = (tuple(part.lower() for part in each) for each in look.dropped)
    return any(path[: len(each)] == each for each in dropped) or look.operation in _LOSES_COLUMNS


def _failed(result: ReviewResult) -> ReviewResult:
    """Return the result with its error, if its findings are the first one."""
    return result if result.error else replace(result, error=_failure(result))


def _failure(result: ReviewResult) -> MigrationFileError | None:
    wrong = [finding for finding in result.findings if finding.is_error]
    if not wrong:
        return None
    codes = tuple(dict.fromkeys(finding.code for finding in wrong))
    of_rules = [code for code in codes if not code.startswith("REPLAY_")]
    return MigrationFileError(
        "REVIEW_FAILED",
        f"catalog {result.catalog}: {counted(len(wrong), 'error')} {PREFIX}: {', '.join(codes)}",
        f"correct the statements; `{command('rules', *of_rules)}` explains them, and how to allow one"
        if of_rules
        else "correct the statements of the findings",
        state="no real table was changed",
        catalog=result.catalog,
        codes=list(codes),
    )
