"""The state of one catalog in one environment, as `compare` reads it and `export-state` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.codec import InvalidDocument, from_json, parsed
from glacierbase.model.command import command
from glacierbase.model.differences import Difference
from glacierbase.model.migration import AppliedBy, Identified, State, version_number
from glacierbase.model.result import Result, document, json_text
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.run.files import FileRefused, check_replaceable, read_anywhere, replace_file, writing

_SCHEMA = "glacierbase/export-state/1"
_FORMAT = re.compile(r"glacierbase/export-state/[0-9]{1,9}")
# Four times the size of 5,000 versions and 500 tables of 100 columns.
_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class VersionState(Identified):
    """A version, or a repeatable, in one environment.

    Attributes:
        checksums: of its file, as recorded if it was started. Several where a squash replaced it: each identifies the version.
        rendered_checksum: as recorded; None without a record.
        has_file: whether the checkout has its file, or a squash that replaces it.
        squash: the version of the squash that was applied in its place.
        tables: the ones that the file changes, in the order of its statements; empty where that is not known.
    """

    version: str | None
    description: str | None
    state: State
    applied_at: datetime | None
    applied_by: AppliedBy | None
    statements_done: int
    statements_total: int | None
    stopped_at: int | None
    checksums: tuple[str, ...]
    rendered_checksum: str | None
    has_file: bool
    squash: str | None
    tables: tuple[str, ...]
    name: str | None = None


def render_differently(states: Iterable[VersionState]) -> bool:
    """Return whether one file was rendered differently: a variable differs. A squash and the files it replaces are distinct."""
    rendered = {
        (version.checksums[0], version.rendered_checksum)
        for version in states
        if version.checksums and version.rendered_checksum
    }
    return len(rendered) > len({file for file, _ in rendered})


@dataclass(frozen=True, slots=True)
class PartChanges:
    """Parts of a table that changed together.

    Attributes:
        version: the one that made the changes; where no migration is known to have made them, the one whose run observed them.
        parts: digests of their values, by `Difference.subject` in lower case; empty for a part that was removed, None where the
            statements of the version do not determine the value.
    """

    version: str | None
    origin: ChangeOrigin
    parts: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TableState:
    """A table that migrations of one environment change.

    Attributes:
        shape: after the last migration, by its record; without a record, as it was read. None where there was no table.
        is_recorded: whether the shape is that of the record.
        recorded_at: when the record was written.
        is_whole: whether all changes since the creation are recorded and made by migrations.
        unread: why the table itself could not be read; None where it was.
        altered: how the table differed from its record when it was read, except what engines set and rules ignore.
        parts: the changes of its parts, oldest first; None where the table is not recorded.
        unmanaged: why the catalog file leaves the table to others, so that it was not read; None for one that migrations manage.
    """

    table: str
    shape: Shape | None
    is_recorded: bool
    recorded_at: datetime | None
    is_whole: bool
    unread: str | None
    altered: tuple[Difference, ...]
    parts: tuple[PartChanges, ...] | None = None
    unmanaged: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether the shape is known, from the table or from its record."""
        return self.is_recorded or self.unread is None


@dataclass(frozen=True, slots=True)
class StateResult(Result):
    """The state of every version and repeatable, and of every table that migrations change.

    Attributes:
        read_at: when it was read.
    """

    read_at: datetime | None = None
    tool_version: str = ""
    versions: tuple[VersionState, ...] = ()
    tables: tuple[TableState, ...] = ()
    repeatables: tuple[VersionState, ...] = ()

    def lines(self) -> Sequence[str]:
        versions, tables = counted(len(self.versions), "version"), counted(len(self.tables), "table")
        others = f", {counted(len(self.repeatables), 'repeatable')}" if self.repeatables else ""
        return [f"{versions}{others} and {tables} exported"]


def check_output(path: str | Path) -> None:
    """Refuse a path that cannot be written, or that `compare` would not read as a state file. Writes nothing.

    Raises:
        ConfigurationError: `EMPTY_VALUE`, `INVALID_VALUE`, `UNREADABLE_FILE`.
    """
    check_not_empty("output", path)
    if not str(path).endswith(".json"):
        hint = f"`{command('export-state', '--output', 'state.json')}` writes one that `compare` reads"
        raise ConfigurationError("INVALID_VALUE", f"output is {path}, which does not end in .json", hint)
    with writing(path):
        check_replaceable(Path(path))


def write_states(path: str | Path, states: Sequence[StateResult]) -> None:
    """Write a state file. An existing one is replaced as a whole.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    with writing(path):
        replace_file(Path(path), json_text(document("export-state", states, None)) + "\n")


def read_states(path: str | Path) -> tuple[StateResult, ...]:
    """Read a state file: a state for each catalog in it.

    Raises:
        ConfigurationError: `STATE_INVALID`: it is not a state file, or is incomplete; `UNREADABLE_FILE`.
    """
    hint = f"`{command('export-state', '--output', str(path))}` writes it, in a job that reaches the environment"
    try:
        return _states(parsed(read_anywhere(Path(path), _LARGEST)))
    except FileRefused as error:
        raise ConfigurationError(error.code, f"{path}: {error.what}", hint, path=str(path)) from error
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, InvalidDocument) else f"it is no JSON ({error})"
        what = "it is nested too deeply" if isinstance(error, RecursionError) else what
        message = f"{path} is not a state file of glacierbase: {what}; nothing was compared"
        raise ConfigurationError("STATE_INVALID", message, hint, path=str(path)) from error


def _states(content: object) -> tuple[StateResult, ...]:
    """Return the states in a document.

    Raises:
        InvalidDocument: it is not the document of an `export-state` that succeeded.
    """
    schema = content.get("schema") if isinstance(content, dict) else None
    if isinstance(schema, str) and _FORMAT.fullmatch(schema) and schema != _SCHEMA:
        raise InvalidDocument(f"another version of glacierbase wrote it ({schema}); this one reads {_SCHEMA}")
    if not isinstance(content, dict) or schema != _SCHEMA:
        raise InvalidDocument(f"its schema is not {_SCHEMA}")
    if content.get("ok") is not True or not isinstance(content.get("catalogs"), list):
        raise InvalidDocument("it is the document of an export that failed")
    states = tuple(from_json(StateResult, state, f"catalogs[{i}]") for i, state in enumerate(content["catalogs"]))
    if not states:
        raise InvalidDocument("it holds no catalog")
    if len({(state.catalog, state.environment) for state in states}) < len(states):
        raise InvalidDocument("a catalog and an environment are listed twice")
    for state in states:
        _check(state)
    return states


def _check(state: StateResult) -> None:
    """Check what the types do not express.

    Raises:
        InvalidDocument: a name is empty, a time is missing, a version is none, or a version or a table is listed twice.
    """
    if not state.catalog.strip() or not state.environment.strip():
        raise InvalidDocument("a catalog or an environment has no name")
    if state.read_at is None and not state.skipped:
        raise InvalidDocument(f"catalog {state.catalog} has no time at which it was read")
    if not all(table.table.strip() for table in state.tables):
        raise InvalidDocument(f"catalog {state.catalog}: a table has no name")
    numbers = [version_number(version.version or "") for version in state.versions]
    if None in numbers or len(set(numbers)) < len(numbers):
        raise InvalidDocument(f"catalog {state.catalog}: a version is none, or listed twice")
    if len({repeatable.name for repeatable in state.repeatables} - {None}) < len(state.repeatables):
        raise InvalidDocument(f"catalog {state.catalog}: a repeatable has no name, or is listed twice")
    changes = (change.version for table in state.tables for change in table.parts or ())
    if any(version is not None and version_number(version) is None for version in changes):
        raise InvalidDocument(f"catalog {state.catalog}: a change of a table has a version that is none")
    if len({table.table for table in state.tables}) < len(state.tables):
        raise InvalidDocument(f"catalog {state.catalog}: a table is listed twice")
