"""Resolve squashes: the files have one where the history has what it replaces, or the reverse. Pure.

A squash runs only where none of the files that it replaces was started; the history then records it as any other file, with the
list of those files. Where all of them are applied, the squash is settled: nothing runs, nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from glacierbase.errors import HistoryDisagrees
from glacierbase.history.records import History, Record
from glacierbase.model.command import command, git_command
from glacierbase.model.migration import Key, Migration, Squashed


@dataclass(frozen=True, slots=True)
class ResolvedFiles:
    """The files with squashes resolved for one history.

    Attributes:
        migrations: in order. The files that a squash replaces are in its place if any of them was started. Of the files that a
            squash in the history replaced, the one of its version is left, with the recorded checksum.
        replaced_by: the version of the squash, by the number of each file that it replaces and that is left.
        errors: why nothing can run, by the number of the version that it is about.
    """

    migrations: tuple[Migration, ...]
    replaced_by: Mapping[int, str] = field(default_factory=dict)
    errors: Mapping[int, HistoryDisagrees] = field(default_factory=dict)


def resolve_squashes(migrations: Sequence[Migration], history: History) -> ResolvedFiles:
    """Return the migrations as the history records them, squashed or not."""
    squash = max((migration for migration in migrations if migration.squashes), key=_number, default=None)
    origin = max((record for record in history.records.values() if record.squashes), key=_number, default=None)
    if squash is not None and (origin is None or origin.number < squash.number):
        return _unsquashed(squash, migrations, history, origin)
    if origin is not None and (squash is None or squash.number < origin.number):
        return _squashed(origin, migrations)
    return ResolvedFiles(tuple(migrations))


def _number(version: Migration | Record) -> int:
    return version.number


def _unsquashed(
    squash: Migration, migrations: Sequence[Migration], history: History, origin: Record | None
) -> ResolvedFiles:
    """Return the files that the squash replaces in its place, unless none of them was ever started.

    Args:
        origin: the squash below it that this history began with.
    """
    begins = origin.number if origin else -1
    # This history has only the squash of the files up to its version.
    replaced = [squashed for squashed in squash.squashes if squashed.number > begins and not squashed.is_squash]
    replaced[:0] = [squashed for squashed in squash.squashes if squashed.number == begins and squashed.is_squash]
    if not any(squashed.number in history.records for squashed in squash.squashes):
        return ResolvedFiles(tuple(migrations))
    open_ = {squashed.version: why for squashed in replaced if (why := _why_open(squashed, history.records))}
    files = [_replaced(squashed, squash, history.records.get(squashed.number)) for squashed in replaced]
    errors = {squash.number: _partly(squash, open_)} if open_ else {}
    others = (migration for migration in migrations if migration is not squash)
    return ResolvedFiles((*files, *others), dict.fromkeys((file.number for file in files), squash.version), errors)


def _why_open(replaced: Squashed, records: Mapping[Key, Record]) -> str | None:
    """Return why a file that a squash replaces is not settled in this history; None where it is."""
    record = records.get(replaced.number)
    if record is None:
        return "never started"
    if not record.is_settled:
        return record.state.value
    return None if record.last.checksum == replaced.checksum else "applied from a file with another checksum"


def _replaced(replaced: Squashed, squash: Migration, record: Record | None) -> Migration:
    """Return a file that a squash replaces, without its text."""
    return replace(
        squash,
        version=replaced.version,
        description=(record and record.started.description) or squash.description,
        author=(record and record.started.author) or squash.author,
        text="",
        checksum=(record and record.last.checksum) or replaced.checksum,
        headers={},
        squashes=(),
    )


def _partly(squash: Migration, open_: Mapping[str, str]) -> HistoryDisagrees:
    versions = ", ".join(f"{version} ({why})" for version, why in open_.items())
    added = git_command("log", "-1", "--diff-filter=A", "--format=%H", "--", squash.location)
    return HistoryDisagrees(
        "SQUASH_DISAGREES",
        f"{squash.location}: this environment is in the middle of the files that it replaces; not done here: {versions};"
        " nothing ran",
        f"complete them as they were before the squash: `{git_command('checkout')} $({added})~1`,"
        f" then `{command('migrate', '--to', squash.version)}`; then return to this commit",
        version=squash.version,
        path=squash.location,
        versions=list(open_),
    )


def _squashed(origin: Record, migrations: Sequence[Migration]) -> ResolvedFiles:
    """Return the files without those that a squash in the history replaced: this is a checkout from before the squash."""
    listed = {(squashed.number, squashed.checksum) for squashed in origin.squashes}
    versions = {number for number, _ in listed}
    left: list[Migration] = []
    replaced_by: dict[int, str] = {}
    errors: dict[int, HistoryDisagrees] = {}
    for migration in migrations:
        is_listed = (migration.number, migration.checksum) in listed
        if migration.number == origin.number and not origin.is_settled:
            what = f"is {origin.state} here, started from a squash ({origin.started.path})"
            errors[migration.number] = _other_file(migration, what)
        elif migration.number == origin.number and is_listed:
            migration = replace(migration, checksum=origin.last.checksum or "")
            replaced_by[migration.number] = origin.version
        elif migration.number in versions and migration.number != origin.number and not is_listed:
            squash = f"{origin.started.path}, a squash that is {origin.state} here"
            errors[migration.number] = _other_file(migration, f"differs from the file that was replaced by {squash}")
        elif is_listed:
            continue
        left.append(migration)
    return ResolvedFiles(tuple(left), replaced_by, errors)


def _other_file(file: Migration, what: str) -> HistoryDisagrees:
    return HistoryDisagrees(
        "SQUASH_DISAGREES",
        f"{file.location}: version {file.version} {what}; nothing ran",
        f"check out a commit that has the squash, and run `{command('migrate')}` there; put a change into a new migration",
        version=file.version,
        path=file.location,
        versions=[file.version],
    )
