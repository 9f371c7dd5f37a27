"""What the column `details` of the history table holds: one typed value, stored as a JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from glacierbase.errors import NeedsRepair
from glacierbase.migrations.allows import Allow
from glacierbase.model.codec import InvalidDocument, from_stored, parsed, to_stored
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.migration import Event, EventType, OriginalRun, Squashed, State, Waiting, version_number
from glacierbase.model.session import RecordedSession
from glacierbase.model.shape import TableVersion
from glacierbase.secrets import masked
from glacierbase.stores.tables import without_value

_KINDS = frozenset(EventType)
_STATES = frozenset(
    {
        State.RUNNING, State.APPLIED, State.FAILED, State.ABANDONED, State.INTERRUPTED, State.WAITING, State.UNKNOWN,
    }
)  # fmt: skip
# The statement that these events name determines how many statements are done.
_COUNTS = frozenset({EventType.STATEMENT_DONE, EventType.REPAIRED})
# These have no version where they are about the whole catalog.
_OF_CATALOG = frozenset({EventType.TAKEN_OVER, EventType.UNLOCKED, EventType.REPAIRED})


@dataclass(frozen=True, slots=True)
class Details:
    """What an event records beyond the other columns. Each kind of event uses some of the fields.

    Attributes:
        statement_checksums: the checksums of all statements of the file, in order (started, baselined).
        process: the processes of the run and its engine, as `Run.holder` describes them (started).
        headers: the headers of the file, those that the catalog file lists (started, baselined).
        allows: findings of `lint` that comments of the file allow (started, baselined).
        squashes: the files that the file replaces, where it is a squash (started, baselined).
        jumped_over: versions that a run with `--only`, or a baseline, skipped (started, baselined).
        plan: the digest of the plan file that the run applied (started).
        differences: accepted ones between tables as declared and as they exist (baselined).
        original: who applied the file with another tool, and when (baselined).
        former_owner, former_fence, former_process: of the run that the lock was taken from: its id, its fence, and its process as
            the lock row described it (taken_over, unlocked).
        resolution: the value of `repair --as` (repaired).
        engine_stopped: whether a person confirmed that the lost run's engine has stopped (repaired).
        environment_was: the former name of the environment (repaired).
        ci_actor: who started the CI job of the run (each event that has details).
        before: the version of the announced statement's table before the statement (started, statement_done).
        session: the session at the announcement of a statement (started, statement_done).
        tables: the records of the tables that the file changes, as `glacierbase.record.shapes` writes and reads it
            (applied, failed, interrupted, unknown, repaired, baselined).
        is_action: whether the announced statement is an action of glacierbase, which continues where it stopped (started,
            statement_done).
        waiting: why the file waits, and since when (waiting).
        read_fence: the newest fence that a run had read before its first append (the first event of each run).
    """

    statement_checksums: tuple[str, ...] | None = None
    process: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    allows: tuple[Allow, ...] = ()
    squashes: tuple[Squashed, ...] = ()
    jumped_over: tuple[str, ...] = ()
    plan: str | None = None
    differences: tuple[DeclaredDifference, ...] = ()
    original: OriginalRun | None = None
    former_owner: str | None = None
    former_fence: int | None = None
    former_process: Mapping[str, object] | None = None
    resolution: str | None = None
    engine_stopped: bool = False
    environment_was: str | None = None
    ci_actor: str | None = None
    before: TableVersion | None = None
    session: RecordedSession | None = None
    tables: tuple[Mapping[str, object], ...] = ()
    is_action: bool = False
    waiting: Waiting | None = None
    read_fence: int | None = None

    @property
    def application(self) -> str | None:
        """The engine's name for the application that ran the file, where the engine has one."""
        application = self.process.get("application")
        return application if isinstance(application, str) else None

    @property
    def is_direct(self) -> bool:
        """Whether the file ran directly, in the process of its run."""
        return self.process.get("engine_pid") is not None and self.process["engine_pid"] == self.process.get("pid")

    @property
    def has_query_tags(self) -> bool:
        """Whether the engine keeps a log in which each statement carries its tag."""
        return "query_tag" in self.process


NO_DETAILS = Details()


def details_of(event: Event) -> Details:
    """Read the column `details` of an event. Unknown keys, which a later version may write, are ignored.

    Raises:
        NeedsRepair: the column holds no JSON object, or a known key has a value of the wrong type.
    """
    if not event.details:
        return NO_DETAILS
    try:
        return _checked(from_stored(Details, _present(parsed(event.details))))
    except (ValueError, RecursionError) as error:
        raise damaged(event, "details", f"not readable: {error or 'too deeply nested'}") from error


def to_json(details: Details) -> str | None:
    """Return the text of the column, with secrets masked; None where there is nothing to store."""
    before = details.before and replace(details.before, previous=None, tag=None, shape=None)
    document = to_stored(replace(details, before=before))
    return json.dumps(masked(document)) if document else None


def _present(document: object) -> object:
    """Return a document without nulls, and with an empty object in place of each record that is not an object.

    Records decide nothing about a run, so only a command that reads them refuses them.
    """
    if not isinstance(document, dict):
        return document
    present = {key: value for key, value in document.items() if value is not None}
    if "tables" in present:
        records = present["tables"] if isinstance(present["tables"], list) else [None]
        present["tables"] = [record if isinstance(record, dict) else {} for record in records]
    return present


def _checked(details: Details) -> Details:
    """Return the details.

    Raises:
        InvalidDocument: a version is not one.
    """
    for key, versions in (
        ("jumped_over", details.jumped_over),
        ("squashes", [file.version for file in details.squashes]),
    ):
        for index, version in enumerate(versions):
            if version_number(version) is None:
                raise InvalidDocument(f"{key}[{index}]: {version!r} is not a version")
    return details


def checked_event(event: Event) -> Event:
    """Return an event whose columns, from which the state of its version or repeatable follows, are as runs write them.

    Raises:
        NeedsRepair: a column has no value, or one that no run writes.
    """
    column = without_value(event)
    if column is not None:
        raise damaged(event, column, "null")
    if event.event not in _KINDS:
        raise damaged(event, "event", f"{event.event!r}, which is no event")
    if event.version is None and event.name is None:
        if event.event in _OF_CATALOG:
            return event
        raise damaged(event, "version", "null")
    if event.version is not None and version_number(event.version) is None:
        raise damaged(event, "version", f"{event.version!r}, which is no version")
    if event.state not in _STATES:
        raise damaged(
            event, "state", "null" if event.state is None else f"{event.state!r}, which is no state of a version"
        )
    _check_place(event)
    return event


def _check_place(event: Event) -> None:
    """Check the number of a statement: the next run resumes after it."""
    index, total = event.statement_index, event.statement_total
    if index is None and event.event in _COUNTS:
        raise damaged(event, "statement_index", "null")
    # The start of a file without statements names the first one.
    last = total if total is not None and event.event != EventType.STARTED else index
    if index is not None and last is not None and not 0 <= index <= last:
        raise damaged(event, "statement_index", f"{index}, which is no statement of {total}")


def damaged(event: Event, column: str, problem: str) -> NeedsRepair:
    """Return the error for an event with a column that cannot be read.

    Args:
        problem: what the column is.
    """
    return NeedsRepair(
        "HISTORY_DAMAGED",
        f"the history of {event.catalog}: the column `{column}` of event {event.sequence} (fence {event.fence}) of run"
        f" {event.run_id} is {problem}; nothing ran",
        "restore the history table from a snapshot or backup in which the column is intact; nothing runs until then",
        fence=event.fence,
        sequence=event.sequence,
        column=column,
    )
