"""A migration, its statements, the events of its history, its states; versions as numbers, and checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

# Metadata of a field whose text is JSON: a document has its value.
EMBEDDED: Mapping[str, object] = {"embedded": True}
# What identifies a file in the history of its catalog: the number of its version, or the name of a repeatable.
Key: TypeAlias = int | str
# The folder of a catalog's repeatables, in that of its migrations.
REPEATABLE_FOLDER = "repeatable"
REPEATABLE_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_REPEATABLE_PATH = re.compile(rf".*/{REPEATABLE_FOLDER}/([a-z][a-z0-9_]*)\.sql", re.DOTALL)


class State(str, Enum):
    """The state of one version of one catalog, as `status` shows it."""

    PENDING = "pending"
    RUNNING = "running"
    APPLIED = "applied"
    FAILED = "failed"
    ABANDONED = "abandoned"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    MISSING = "missing"
    AHEAD = "ahead"
    OUT_OF_ORDER = "out_of_order"

    __str__ = str.__str__


# The states of a file that began, has no statement in flight, and goes on with the next run.
RESUMED = frozenset({State.FAILED, State.INTERRUPTED, State.WAITING})


class AppliedBy(str, Enum):
    """How a version became applied: by running its statements, by `baseline`, or by hand after a failure (`repair`)."""

    RUN = "run"
    BASELINE = "baseline"
    REPAIR = "repair"

    __str__ = str.__str__


class EventType(str, Enum):
    """The kind of an event of the history (the column `event`)."""

    STARTED = "started"
    STATEMENT_DONE = "statement_done"
    APPLIED = "applied"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"
    UNKNOWN = "unknown"
    TAKEN_OVER = "taken_over"
    BASELINED = "baselined"
    REPAIRED = "repaired"
    UNLOCKED = "unlocked"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a rendered migration.

    Attributes:
        index: position in the file, from 1.
        line: line of its first character, from 1.
        column: column of its first character, from 1.
        text: the author's text, exactly, without the terminating semicolon.
        checksum: the checksum of the text without surrounding comments.
        comments: on the lines above the statement, as written.
    """

    index: int
    line: int
    column: int
    text: str
    checksum: str
    comments: str = field(default="", repr=False, compare=False)


class Squashed(NamedTuple):
    """A file that a squash replaces. In documents, a list.

    Attributes:
        is_squash: whether that file is a squash, which replaced the files up to its version in the same list.
    """

    version: str
    checksum: str
    is_squash: bool

    @property
    def number(self) -> int:
        return int(self.version)


class Identified:
    """What has a version; a repeatable has none, and is identified by its name."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def version(self) -> str | None: ...

        @property
        def name(self) -> str | None: ...

    @property
    def number(self) -> int:
        """The number by which the version is compared."""
        return int(self.version or "")

    @property
    def is_repeatable(self) -> bool:
        """Whether it has no version, and runs again whenever what it renders changes."""
        return not self.version

    @property
    def key(self) -> Key:
        return self.number if self.version else self.label

    @property
    def label(self) -> str:
        """The version, or the name of the repeatable: what commands take."""
        return self.version or self.name or ""

    @property
    def what(self) -> str:
        """It in a sentence: `version 0042`, or `repeatable daily_orders`."""
        return f"version {self.version}" if self.version else f"repeatable {self.name}"

    @property
    def identity(self) -> dict[str, str | None]:
        """It in a document: `version`, which is null for a repeatable, and for that its `name`."""
        return {"version": self.version} if self.version else {"version": None, "name": self.name}


@dataclass(frozen=True, slots=True)
class OriginalRun:
    """Who applied a file with another tool, and when, as the history table of that tool has it.

    Attributes:
        tool: its name.
        script: the name of the file there.
    """

    tool: str
    script: str
    author: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a file waits: the gate of one of its actions is shut. `since` is when the action first found it shut."""

    why: str
    since: datetime

    def text(self) -> str:
        """Return it as a clause."""
        return f"since {self.since:%Y-%m-%d %H:%M} UTC: {self.why}"


@dataclass(frozen=True, slots=True)
class Migration(Identified):
    """One migration file, read once per run.

    Attributes:
        version: the digits of the file name, as written; versions are compared by `number`. Empty for a repeatable.
        name: the words of the file name, which identify a repeatable.
        path: where the file is; `location` is the same relative to the project, for people and history.
        text: the file's text without a byte order mark; line ends as they are.
        checksum: the checksum of the raw file, `v1:sha256:…`.
        headers: the headers that the catalog file lists, by name: `{"TICKET": "OPS-17"}`.
        squashes: the files that a squash replaces.
        after: names of the repeatables that run before this repeatable.
    """

    version: str
    name: str
    description: str
    author: str
    path: Path
    location: str
    text: str = field(repr=False)
    checksum: str
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    squashes: tuple[Squashed, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the history table, column for column. Appended once, never changed.

    Stores read every column and do not alter existing tables (`stores.tables.check_columns`): put a new value into `details`.
    """

    fence: int
    sequence: int
    run_id: str
    catalog: str
    environment: str
    event: str
    state: str | None = None
    version: str | None = None
    description: str | None = None
    author: str | None = None
    path: str | None = None
    checksum: str | None = None
    rendered_checksum: str | None = None
    rendered_sql: str | None = None
    statement_index: int | None = None
    statement_total: int | None = None
    statement_checksum: str | None = None
    tables: str | None = field(default=None, metadata=EMBEDDED)
    started_at: datetime | None = None
    recorded_at: datetime | None = None
    duration_ms: int | None = None
    error_class: str | None = None
    error_message: str | None = None
    reason: str | None = None
    principal: str | None = None
    os_user: str | None = None
    host: str | None = None
    ci_url: str | None = None
    git_commit: str | None = None
    tool_version: str | None = None
    engine: str | None = None
    query_id: str | None = None
    details: str | None = field(default=None, metadata=EMBEDDED)

    @property
    def name(self) -> str | None:
        """The name of the repeatable that the event is about; None where it is about none."""
        match = _REPEATABLE_PATH.fullmatch(self.path) if self.version is None and self.path else None
        return match[1] if match else None

    @property
    def key(self) -> Key | None:
        """What identifies the file that the event is about; None where it is about the whole catalog."""
        return self.name if self.version is None else int(self.version)

    @property
    def label(self) -> str:
        """The version, or the name of the repeatable, that the event is about; empty where it is about the whole catalog."""
        return self.version or self.name or ""


def version_number(text: str) -> int | None:
    """Return the number by which a version is compared; None if the text is not a version, which consists of digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 250 else None


def checksum(content: bytes) -> str:
    """Return the checksum for the history: over the bytes without a UTF-8 byte order mark and with CRLF as LF.

    The value begins with the version of the algorithm, so that recorded checksums stay valid when it changes.
    """
    normalised = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    return f"v1:sha256:{hashlib.sha256(normalised).hexdigest()}"
