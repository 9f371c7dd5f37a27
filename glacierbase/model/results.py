"""What the public verbs answer, one value per catalog. Field names are the names in the JSON documents."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.migration import Event, State
from glacierbase.secrets import Secrets, mask, secrets_in_use


def to_json(value: Any) -> Any:
    """`value` in JSON's types, masked: times as ISO 8601 in UTC, dataclasses as objects, errors as their documented object.

    Masked before it is text, so that the document is JSON whatever the secret is. The format's own names are not data.
    """
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, GlacierbaseError):
        return error_to_json(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {mask(str(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else mask(str(value))


def error_to_json(error: GlacierbaseError) -> dict[str, Any]:
    """The object `error` of every document; of several errors, each stands in `errors` as well."""
    with error.secrets.in_use():
        document = {
            "code": error.code,
            "exit_code": error.exit_code,
            "message": mask(error.message),
            "hint": mask(error.hint),
        }
        document.update({key: to_json(value) for key, value in error.data.items() if key not in document})
    if isinstance(error, SeveralErrors):
        document["errors"] = [error_to_json(each) for each in error.errors]
    return document


@dataclass(frozen=True, slots=True)
class AppliedFile:
    """A migration that a run has applied, from statement `resumed_at` (from 1) on."""

    version: str
    path: str
    statements: int
    duration_ms: int
    resumed_at: int


@dataclass(frozen=True, slots=True)
class FailedFile:
    """The migration that stopped a run: in which statement and line, and what the engine said."""

    version: str
    path: str
    statement: int
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A migration that the next run would apply; `resumes_at` is its first statement (from 1) to run."""

    version: str
    description: str
    author: str
    path: str
    statements: int
    resumes_at: int


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement that would run: its place in the file and its rendered text."""

    index: int
    line: int
    sql: str


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A migration that would run, with the statements that would."""

    version: str
    description: str
    author: str
    path: str
    resumes_at: int
    statements: tuple[PlannedStatement, ...]


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A migration as one environment renders it."""

    version: str
    path: str
    sql: str


@dataclass(frozen=True, slots=True)
class Status:
    """Where one version stands. `note` says what is worth knowing and no error."""

    version: str
    description: str | None
    author: str | None
    path: str | None
    state: State
    statements_done: int
    statements_total: int | None
    applied_at: datetime | None
    run_id: str | None
    error_message: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The run that holds a catalog's lock."""

    owner: str
    host: str | None
    pid: int | None
    os_user: str | None
    ci_url: str | None
    acquired_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Result:
    """What every answer about one catalog says.

    Attributes:
        skipped: why nothing was asked of this catalog, or None.
        warnings: what a person should know and no error.
        error: why there is no whole answer, or None.
        secrets: those in use when the result was made; its documents are masked with them.
    """

    catalog: str
    environment: str
    skipped: str | None = None
    warnings: tuple[str, ...] = ()
    error: GlacierbaseError | None = None
    secrets: Secrets = field(default_factory=secrets_in_use, kw_only=True, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """This catalog's entry in the JSON document, masked."""
        names = [field.name for field in fields(self) if field.name != "secrets"]
        with self.secrets.in_use():
            return {name: to_json(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class MigrateResult(Result):
    """What `migrate` did: `not_run` are the versions that were pending and did not run."""

    applied: tuple[AppliedFile, ...] = ()
    failed: FailedFile | None = None
    not_run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingResult(Result):
    """What the next `migrate` would apply, in order."""

    pending: tuple[PendingFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanResult(Result):
    """What the next `migrate` would run, statement by statement."""

    plan: tuple[PlannedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusResult(Result):
    """Where every version stands, and who holds the lock."""

    migrations: tuple[Status, ...] = ()
    lock: LockHolder | None = None


@dataclass(frozen=True, slots=True)
class HistoryResult(Result):
    """The events of a catalog, in order."""

    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement of a shown version; `state` is done, failed, unknown, running or pending."""

    index: int
    line: int
    state: str
    sql: str


@dataclass(frozen=True, slots=True)
class ShowResult(Result):
    """All that is known of one version: why, who, its statements, its events and what comes next."""

    migration: Status | None = None
    statements: tuple[ShownStatement, ...] = ()
    events: tuple[Event, ...] = ()
    next: str = ""


@dataclass(frozen=True, slots=True)
class ValidateResult(Result):
    """How many files of one catalog and environment are in order."""

    files: int = 0


@dataclass(frozen=True, slots=True)
class RenderResult(Result):
    """The migrations of a catalog as `environments` render them, all alike."""

    environments: tuple[str, ...] = ()
    files: tuple[RenderedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` looked at: what it found, or what is wrong with it."""

    name: str
    detail: str = ""
    error: GlacierbaseError | None = None


@dataclass(frozen=True, slots=True)
class DoctorResult(Result):
    """What `doctor` looked at, in order; `ddl` is what it was asked to print instead."""

    checks: tuple[Check, ...] = ()
    ddl: str | None = None


@dataclass(frozen=True, slots=True)
class WarmResult(Result):
    """What `warm` made ready: jars in the cache, and the class archive with which Spark started in so many milliseconds."""

    dependencies: int = 0
    archive: Path | None = None
    start_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RepairCase:
    """A version that a person must decide about: what is known of it, and what may be said.

    Attributes:
        statement_index: the one that was in flight or failed, from 1; None where the file as a whole is in question.
        since: when it was about to start.
        evidence: what the engine remembers of it, in a line each.
        suggests: what that suggests, `done` or `not-done`.
        may_run: whether the statement may still be running, or its transaction.
        engine: the same for people, and where.
        choices: what `--as` takes.
        repaired_as: what was recorded just now.
    """

    version: str
    state: State
    path: str | None
    statement_index: int | None
    statements_total: int
    line: int | None
    sql: str | None
    error_message: str | None
    run_id: str
    os_user: str | None
    host: str | None
    ci_url: str | None
    since: datetime | None
    query_id: str | None
    query_tag: str | None
    evidence: tuple[str, ...]
    suggests: str | None
    may_run: bool
    engine: str
    choices: tuple[str, ...]
    repaired_as: str | None = None


@dataclass(frozen=True, slots=True)
class RepairResult(Result):
    """What `repair` knows of the versions it was asked about, and what it recorded."""

    cases: tuple[RepairCase, ...] = ()
    environment_was: str | None = None


@dataclass(frozen=True, slots=True)
class UnlockResult(Result):
    """Who was in the lock, if anybody was, what is known of that run, and whether the lock was freed."""

    lock: LockHolder | None = None
    says: str = "the lock is free"
    released: bool = False


@dataclass(frozen=True, slots=True)
class BaselinedFile:
    """A migration that was recorded as applied without running it."""

    version: str
    path: str


@dataclass(frozen=True, slots=True)
class BaselineResult(Result):
    """What `baseline` recorded, in order."""

    baselined: tuple[BaselinedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenResult(Result):
    """The files that `init` or `new` wrote."""

    files: tuple[str, ...] = ()
