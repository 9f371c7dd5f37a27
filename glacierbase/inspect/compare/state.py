"""The state of one catalog in one environment, as `compare` reads it and `export-state` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from glacierbase.history.shapes import ChangeOrigin
from glacierbase.model.codec import ADDED
from glacierbase.model.differences import Difference
from glacierbase.model.migration import AppliedBy, State
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted


@dataclass(frozen=True, slots=True)
class VersionState:
    """A version in one environment.

    Attributes:
        checksums: of its file: as recorded, where it was started. Several where a squash replaced it: any of them is that version.
        rendered_checksum: as recorded; None where it was not.
        has_file: whether the checkout has its file, or a squash that replaces it.
        squash: the version of the squash that was applied in its place.
        tables: that the file touches, in the order of its statements; empty where that is not known.
    """

    version: str
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


def render_differently(states: Iterable[VersionState]) -> bool:
    """Return whether one file was rendered differently: a variable differs. A squash is another file than those it replaces."""
    rendered = {
        (each.checksums[0], each.rendered_checksum) for each in states if each.checksums and each.rendered_checksum
    }
    return len(rendered) > len({file for file, _ in rendered})


@dataclass(frozen=True, slots=True)
class PartChanges:
    """Parts of a table that were changed at one time, and not since.

    Attributes:
        version: that made the changes; of changes that no migration is known to have made, the one whose run found them.
        parts: in lower case, as `Difference.subject` names them; the facts of a column that changed with it are left out.
    """

    version: str | None
    origin: ChangeOrigin
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartStatements:
    """What the statements of a version say about the parts of a table.

    Attributes:
        parts: a digest of it, by the subject that `glacierbase.sql.about` gives; none where the statement was not understood.
    """

    version: str
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableParts:
    """Where the parts of a table are from.

    Attributes:
        changes: the last one of each part that ever changed, in order.
        statements: of the versions that are about the table, in the order in which they began; without those that did not run.
    """

    changes: tuple[PartChanges, ...] = ()
    statements: tuple[PartStatements, ...] = ()


@dataclass(frozen=True, slots=True)
class TableState:
    """A table that migrations of one environment touch.

    Attributes:
        shape: as the last migration left it, by its record; without a record, as it was read. None where there was no table.
        is_recorded: whether it is that of the record.
        recorded_at: when that was written.
        is_whole: whether all that made the shape is recorded, from the creation on, and nothing came from outside.
        unread: why the table itself could not be read; None where it was.
        altered: how the table differed from its record when it was read, without what engines set and what rules ignore.
        parts: where they are from; None where the table is not recorded, and in files that earlier versions wrote.
    """

    table: str
    shape: Shape | None
    is_recorded: bool
    recorded_at: datetime | None
    is_whole: bool
    unread: str | None
    altered: tuple[Difference, ...]
    parts: TableParts | None = field(default=None, metadata=ADDED)

    @property
    def is_known(self) -> bool:
        """Whether the shape is known, from the table or from its record."""
        return self.is_recorded or self.unread is None


@dataclass(frozen=True, slots=True)
class StateResult(Result):
    """The state of every version, and of every table that migrations touch.

    Attributes:
        read_at: when it was read.
    """

    read_at: datetime | None = None
    tool_version: str = ""
    versions: tuple[VersionState, ...] = ()
    tables: tuple[TableState, ...] = ()

    def lines(self) -> Sequence[str]:
        return [f"{counted(len(self.versions), 'version')} and {counted(len(self.tables), 'table')} exported"]
