"""What no longer works on the copy after the new files, and the statement that broke it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from glacierbase.capabilities.review.copied_tables import CopiedTable, CopyReader
from glacierbase.capabilities.review.statements import FileSummary, ReplayStep
from glacierbase.capabilities.review.trials import SETTINGS, Trial, kind_of, may_differ, table_trials, view_trial
from glacierbase.errors import EngineError
from glacierbase.executors import CopiedView, CopyCheckpoint, CopyExecutor, Session
from glacierbase.model.differences import TableChange

T = TypeVar("T")
# The start of the security manager's message, whichever library calls it.
BOUNDARY = "access denied ("
# The starts of messages about what only the copy lacks: rights, and other jars than Iceberg's.
_OF_COPY = (BOUNDARY, "no jar holds the class ")


class Bounded(Protocol):
    """Make a call to the engine within the time of the replay."""

    def __call__(self, call: Callable[[], T]) -> T:
        """Return the result of the call. Raises `TimeIsUp` if it does not return in time."""


Step = tuple[FileSummary, ReplayStep]


@dataclass(frozen=True, slots=True)
class Broken:
    """A view or a table on which the engine refuses statements that it ran before.

    Attributes:
        name: its name after the new files.
        actions: what is refused: `SELECT`, `INSERT`, `DELETE`.
        why: the engine's message.
        file, step: the statement that broke it.
    """

    name: str
    is_view: bool
    actions: tuple[str, ...]
    why: str
    file: FileSummary
    step: ReplayStep

    @property
    def code(self) -> str:
        return "REPLAY_BROKEN_VIEW" if self.is_view else "REPLAY_BROKEN_TABLE"

    def message(self, others: Sequence[str]) -> str:
        """Return what is broken; `others` are further views that the statement breaks with the same error."""
        if self.is_view:
            what = f"views {', '.join([self.name, *others])}" if others else f"view {self.name}"
            return f"the {what} can no longer be read: {self.why}"
        return f"the table {self.name} refuses {', '.join(self.actions)} afterwards: {self.why}"


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the copy at one moment."""

    tables: Mapping[str, CopiedTable]
    views: Mapping[str, CopiedView]


@dataclass(slots=True)
class _Suspect:
    """A view or a table on which trials are refused after the new files.

    Attributes:
        actions: the refused ones whose cause is not known yet.
        metadata: the location of the table's metadata after the last trials.
    """

    name: str
    is_view: bool
    uuid: str | None
    actions: tuple[str, ...]
    metadata: str | None = None


class Breakage:
    """Try views and tables on the copy. The trials write to it: nothing is compared afterwards."""

    def __init__(self, engine: CopyExecutor, bounded: Bounded, base: CopyCheckpoint, before: Content) -> None:
        """Args:
        base: the copy after the files of the base.
        """
        self._engine = engine
        self._bounded = bounded
        self._base = base
        self._before = before
        self._session: Session | None = None

    def after(self, ran: Sequence[Step], changes: Sequence[TableChange], after: Content) -> Iterator[Broken]:
        """Yield what is broken after the new files.

        Args:
            ran: the statements of the new files that were run.
        """
        if ran and (changes or self._before.views != after.views):
            suspects = [*self._views(after.views), *self._tables(changes)]
            yield from self._attributed(suspects, ran) if suspects else ()

    def _views(self, views: Mapping[str, CopiedView]) -> Iterator[_Suspect]:
        for name, view in views.items():
            if refused := self._refused([view_trial(name)]):
                yield _Suspect(name, True, view.uuid, tuple(refused))

    def _tables(self, changes: Sequence[TableChange]) -> Iterator[_Suspect]:
        """Yield the changed tables with refused trials. Of tables that the engine treats equally, one is tried if it works."""
        accepted: set[Hashable] = set()
        for change in changes:
            shape = change.after
            if shape is None or not may_differ(change.before, shape):
                continue
            kind = (kind_of(shape), change.before and kind_of(change.before))
            if kind not in accepted:
                if refused := self._refused(table_trials(shape)):
                    yield _Suspect(change.table, False, shape.uuid, tuple(refused))
                else:
                    accepted.add(kind)

    def _refused(self, trials: Iterable[Trial]) -> dict[str, str]:
        """Run trials, and return the engine's error of each refused one by its action."""
        refused: dict[str, str] = {}
        for trial in trials:
            try:
                self._bounded(partial(self._run, trial.sql))
            except EngineError as error:
                if not error.message.startswith(_OF_COPY):
                    refused[trial.action] = first_line(error.message)
        return refused

    def _run(self, sql: str) -> None:
        if self._session is None:
            self._session = self._engine.open_session()
            for setting in SETTINGS:
                self._session.query(setting)
        self._session.query(sql)

    def _attributed(self, suspects: Sequence[_Suspect], ran: Sequence[Step]) -> Iterator[Broken]:
        """Run the new files again from the base, and yield each suspect at the statement after which trials are refused."""
        self._session = None
        self._bounded(lambda: self._engine.rewind(self._base))
        reader = CopyReader(self._engine)
        for suspect in suspects:  # What is refused on the base already was not broken by the new files.
            self._refused_now(suspect, self._before)
        session: Session | None = None
        for number, (file, step) in enumerate(ran):
            if session is None or file is not ran[number - 1][0]:
                session = self._bounded(self._engine.open_session)
            with suppress(EngineError):  # Rows of a trial may be the reason.
                self._bounded(partial(session.execute, step.text))
            self._session = None  # A session keeps a table of Hudi as it was when it was first read.
            content = Content(self._bounded(reader.read), self._bounded(self._engine.views))
            for suspect in suspects:
                if refused := self._refused_now(suspect, content):
                    why = next(iter(refused.values()))
                    yield Broken(suspect.name, suspect.is_view, tuple(refused), why, file, step)
            if not any(suspect.actions for suspect in suspects):
                return

    def _refused_now(self, suspect: _Suspect, content: Content) -> dict[str, str]:
        """Return the errors of the trials whose cause is not known yet. It is known afterwards."""
        name = _current_name(suspect, content)
        if name is None or not suspect.actions:
            return {}
        if suspect.is_view:
            trials: Iterable[Trial] = [view_trial(name)]
        else:
            table = content.tables[name]
            if table.metadata == suspect.metadata:
                return {}
            trials = table_trials(table.shape)
        refused = {action: why for action, why in self._refused(trials).items() if action in suspect.actions}
        suspect.actions = tuple(action for action in suspect.actions if action not in refused)
        suspect.metadata = None if suspect.is_view else self._bounded(self._engine.locations).get(name)
        return refused


def _current_name(suspect: _Suspect, content: Content) -> str | None:
    """Return the name that a view or a table has; None if there is none. What files create has a new uuid each time."""
    uuids: Mapping[str, str | None]
    if suspect.is_view:
        uuids = {name: view.uuid for name, view in content.views.items()}
    else:
        uuids = {name: table.shape.uuid for name, table in content.tables.items()}
    by_uuid = next((name for name, uuid in uuids.items() if uuid == suspect.uuid), None)
    return by_uuid or (suspect.name if suspect.name in uuids else None)


def first_line(message: str) -> str:
    """Return the message without the plan, the place in the SQL and hints."""
    return message.partition("\n")[0].partition(" SQLSTATE: ")[0].rstrip(";")
