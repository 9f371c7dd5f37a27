"""`repair --as withdrawn`: end a version in every environment, where no statement of it took effect in any.

The history of each environment gets one event, under its lock, also where the version was never started. The version is *abandoned*
then: it is not pending, and not missing without its file. Recorded environments are left as they are, so that the same command
completes a withdrawal that was stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.apply.evidence import recorded_file
from glacierbase.apply.locked import Recording, locked, recording
from glacierbase.apply.repair import not_repairable, recorded_case
from glacierbase.apply.results import RepairCase, RepairResult
from glacierbase.apply.transitions import WITHDRAWN, why_not_withdrawn
from glacierbase.errors import ConfigurationError, GlacierbaseError, distinct, joined
from glacierbase.history.entries import FileColumns, repaired
from glacierbase.history.records import History, Record
from glacierbase.history.state import current_state, read_state
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.git_files import untracked
from glacierbase.model.arguments import check_reason, version_given
from glacierbase.model.command import Scope, command, on_catalog, remove_command
from glacierbase.model.migration import RESUMED, State
from glacierbase.model.result import Results, raise_first

_NO_HISTORY = "it has no history; delete the file before its first `migrate`"


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The request of a caller of `Project.repair`.

    Attributes:
        dry_run: record nothing.
    """

    numbers: tuple[int, ...]
    reason: str
    dry_run: bool
    lock_timeout: float

    @classmethod
    def of(cls, versions: Collection[str], reason: str | None, dry_run: bool, lock_timeout: float) -> Withdrawal:
        """Check the arguments, which are those of `Project.repair`.

        Raises:
            ConfigurationError: one of them is wrong or missing.
        """
        if not versions:
            raise ConfigurationError("UNKNOWN_VERSION", "no version to repair was given", "name it: repair VERSION")
        check_reason(reason)
        return cls(tuple(map(version_given, versions)), reason or "", dry_run, lock_timeout)


def withdraw(
    targets: Sequence[CatalogRun],
    failed: Mapping[tuple[str, str], GlacierbaseError],
    withdrawal: Withdrawal,
    scope: Scope,
) -> Results[RepairResult]:
    """Record the withdrawal in each environment of one catalog, and return a result for each of them.

    Args:
        targets: the catalog in its environments.
        failed: the errors of the environments in which it cannot be read.
        scope: the choice of the caller.

    Raises:
        ConfigurationError: `NOT_REPAIRABLE`: no environment has the version, or a statement of it took effect.
        GlacierbaseError: no environment can be read, or one cannot be recorded; `results` has the others.
        Stopped: for a KeyboardInterrupt, with what was recorded.
    """
    histories, errors = _read(targets, scope)
    errors = {**{environment: error for (_, environment), error in failed.items()}, **errors}
    if not histories and (error := joined(distinct(errors.values()))):
        raise error
    name = targets[0].catalog.name
    scope = replace(scope, catalog=name)
    files = {number: _file(number, targets, histories) for number in withdrawal.numbers}
    _check(histories, files, scope)
    results = [RepairResult(name, environment, skipped=_unread(error)) for environment, error in errors.items()]
    with recording(completes=True) as change:
        for target in (target for target in targets if target.catalog.environment in histories):
            environment = target.catalog.environment
            result, history = RepairResult(name, environment), histories[environment]
            cases = tuple(_case(file, history.records.get(number), target) for number, file in files.items())
            if not history.events:
                result = replace(result, skipped=_NO_HISTORY)
            elif withdrawal.dry_run:
                result = replace(result, cases=cases)
            else:
                with _about(target, scope):
                    result = _recorded(target, replace(result, cases=cases), files, withdrawal, scope, change)
            results.append(result)
    return raise_first(results)


def _read(targets: Sequence[CatalogRun], scope: Scope) -> tuple[dict[str, History], dict[str, GlacierbaseError]]:
    """Return the histories by environment, and the errors of those that cannot be read."""
    histories: dict[str, History] = {}
    errors: dict[str, GlacierbaseError] = {}
    for target in targets:
        try:
            with _about(target, scope):
                histories[target.catalog.environment] = current_state(target).history
        except GlacierbaseError as error:
            errors[target.catalog.environment] = error
    return histories, errors


@contextmanager
def _about(target: CatalogRun, scope: Scope) -> Iterator[None]:
    """Let commands in messages name the catalog and the environment."""
    with replace(scope, environment=target.catalog.environment).in_use(), on_catalog(target.catalog.name):
        yield


def _unread(error: GlacierbaseError) -> str:
    what = error.message.splitlines()[0]
    return f"not recorded there, because it cannot be read: {error.code}: {what}; run the same command where it can be read"


def _file(number: int, targets: Sequence[CatalogRun], histories: Mapping[str, History]) -> FileColumns:
    """Return the columns of the file: as it is here, else as it was recorded.

    Raises:
        ConfigurationError: `NOT_REPAIRABLE`: there is neither.
    """
    for migration in (migration for migration in targets[0].migrations if migration.number == number):
        return FileColumns(
            version=migration.version,
            description=migration.description,
            author=migration.author,
            path=migration.location,
            checksum=migration.checksum,
            rendered_checksum=None,
            statement_total=0,
        )
    records = (history.records.get(number) for history in histories.values())
    if record := next(filter(None, records), None):
        return recorded_file(record)
    raise not_repairable(f"catalog {targets[0].catalog.name} has no version {number}, neither a file nor in a history")


def _check(histories: Mapping[str, History], files: Mapping[int, FileColumns], scope: Scope, where: str = "") -> None:
    """Refuse to withdraw a version of which a statement took effect, or may have, in an environment."""
    for number, file in files.items():
        refusals = {
            environment: why
            for environment, history in histories.items()
            if (record := history.records.get(number)) and (why := why_not_withdrawn(record))
        }
        if refusals:
            reasons = "; ".join(f"in {environment} {why}" for environment, why in refusals.items())
            with replace(scope, environment=next(iter(refusals))).in_use():
                shown = command("show", file.version or "")
            raise ConfigurationError(
                "NOT_REPAIRABLE",
                f"version {file.version} cannot be withdrawn: {reasons}; nothing was recorded{where}",
                f"{_ended_elsewhere(histories, number, refusals, scope)}`{shown}` prints its statements there; write what"
                " undoes them into a new file",
                version=file.version,
                environments=list(refusals),
            )


def _ended_elsewhere(histories: Mapping[str, History], number: int, refused: Collection[str], scope: Scope) -> str:
    """Return the commands that end a version where it failed; empty where it failed nowhere."""
    commands = []
    for environment, history in histories.items():
        record = history.records.get(number)
        if record and environment not in refused and record.state in RESUMED:
            with replace(scope, environment=environment).in_use():
                commands.append(f"`{command('repair', record.version, '--as', 'abandoned', reason=True)}`")
    return f"{', '.join(commands)} ends it where it failed alone; " if commands else ""


def _recorded(
    target: CatalogRun,
    result: RepairResult,
    files: Mapping[int, FileColumns],
    withdrawal: Withdrawal,
    scope: Scope,
    change: Recording,
) -> RepairResult:
    """Return the result after the event of each version is recorded; with the error where it cannot be."""
    what = f"recorded: {', '.join(f'version {file.version}' for file in files.values())} as {WITHDRAWN}"
    environment = target.catalog.environment
    try:
        with target.opened() as opened:
            state = read_state(opened)
            if not all(_is_withdrawn(state.history, number) for number in files):
                with locked(opened, state, withdrawal.lock_timeout) as held:
                    history = held.state.history
                    _check({environment: history}, files, scope, " there")
                    entries = [
                        repaired(
                            _columns(file, history.records.get(number)),
                            State.ABANDONED, 0, WITHDRAWN, withdrawal.reason, engine_stopped=False,
                        )
                        for number, file in files.items()
                        if not _is_withdrawn(history, number)
                    ]  # fmt: skip
                    done = f"{change.made}, {environment}" if change.made else f"{what} in {environment}"
                    change.make(done, lambda: held.recorder.append(*entries))
    except GlacierbaseError as error:
        return replace(result, cases=(), error=error)
    return replace(result, cases=tuple(replace(case, repaired_as=WITHDRAWN) for case in result.cases))


def _is_withdrawn(history: History, number: int) -> bool:
    record = history.records.get(number)
    return record is not None and record.is_withdrawn


def _columns(file: FileColumns, record: Record | None) -> FileColumns:
    """Return the columns of the event: the file, and what the environment ran of it."""
    if record is None:
        return file
    total, rendered = record.statements_total, record.last.rendered_checksum
    return replace(file, statement_total=total, rendered_checksum=rendered)


def _case(file: FileColumns, record: Record | None, target: CatalogRun) -> RepairCase:
    case = recorded_case(record, record.state) if record else RepairCase(file.version, State.PENDING, file.path)
    return replace(case, version=file.version, path=file.path, commands=tuple(_removals(file, target)))


def _removals(file: FileColumns, target: CatalogRun) -> Iterator[str]:
    """Yield the command that deletes the file, if it is here."""
    paths = [migration.path for migration in target.migrations if migration.version == file.version]
    no_commit = untracked(Path(target.run.project), paths)
    yield from (remove_command(file.path or "", tracked=path not in no_commit) for path in paths)
