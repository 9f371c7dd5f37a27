"""Find a table of a history by its name; list all names, and the tables that each file changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from glacierbase.errors import ConfigurationError
from glacierbase.history.records import History, Mention, written
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.command import command
from glacierbase.model.migration import Event, EventType, Key
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.result import Result
from glacierbase.model.text import did_you_mean
from glacierbase.record.points import Place, Point, place_of, reached
from glacierbase.record.timeline import ENDS, Moment, Timeline, may_mean, records_in, timelines
from glacierbase.sql.targets import table_names

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class TableAtPoint:
    """A table at a point of its history.

    Attributes:
        moments: those up to that point; none where it was not recorded until then.
        later: the next moment, or None.
        gaps: the versions that changed it since, up to that point, and recorded nothing of it.
        is_doubtful: whether a file that may have changed any table has run after its last record, at any point.
    """

    moments: tuple[Moment, ...] = ()
    later: Moment | None = None
    gaps: tuple[str, ...] = ()
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """A table of a history.

    Attributes:
        name: the requested one, as the history records it.
        timelines: the timelines of all tables that ever had that name, in the order of their first records; none without a record.
        spellings: by the name of a table, its forms in files.
    """

    name: str
    timelines: tuple[Timeline, ...]
    history: History
    spellings: Mapping[str, frozenset[str]]

    def written(self, *names: str) -> frozenset[str]:
        """Return the forms of table names in files: some lack their first parts."""
        return frozenset(names).union(*(self.spellings.get(name, ()) for name in names))

    def at(self, point: Point | None = None) -> TableAtPoint:
        """Return the table that has the name at a point; else the last one that had it; else the first one that got it later.

        Raises:
            ConfigurationError: the point is a version that never ran.
        """
        timeline, moments = self._chosen(point)
        if timeline is None:
            first = next((timeline.moments[0] for timeline in self.timelines), None)
            return TableAtPoint((), first, gaps(self.history, self.written(self.name), point))
        # Other tables may have its former names now.
        current = next((moment.shape.table for moment in reversed(moments) if moment.shape), self.name)
        missing = gaps(self.history, self.written(current), point)
        if point is None:  # Also of files that wrote another form of the name.
            missing = tuple(dict.fromkeys((*missing, *(event.label for event in timeline.unrecorded))))
        later = next(iter(timeline.moments[len(moments) :]), None)
        return TableAtPoint(moments, later, missing, timeline.is_doubtful)

    @property
    def lives(self) -> tuple[Timeline, ...]:
        """The timelines of the table that has the name now, or had it last, and of those that were dropped under the name."""
        chosen, _ = self._chosen(None)
        return tuple(
            timeline
            for timeline in self.timelines
            if timeline is chosen or (timeline.shape is None and timeline.table == self.name)
        )

    def _chosen(self, point: Point | None) -> tuple[Timeline | None, tuple[Moment, ...]]:
        """Return the timeline that `at` chooses, and its moments up to the point; None where no table was recorded until then."""
        is_reached = reached(point, self.history)
        reached_moments = [
            tuple(moment for moment in line.moments if is_reached(moment.event)) for line in self.timelines
        ]
        # A table that got the name later is chosen only if no other one had it; the last one of those that one event took it from.
        held = [(_held_until(moments, self.name) or (-1, -1), bool(moments)) for moments in reached_moments]
        if not any(reached_moments):
            return None, ()
        chosen = max(reversed(range(len(held))), key=lambda index: held[index])
        return self.timelines[chosen], reached_moments[chosen]


def _held_until(moments: Sequence[Moment], name: str) -> tuple[float, float] | None:
    """Return the place of the event with which a table lost a name; None if it never had it."""
    last = max(
        (index for index, moment in enumerate(moments) if moment.shape and moment.shape.table == name), default=None
    )
    if last is None:
        return None
    return place_of(moments[last + 1].event) if last + 1 < len(moments) else (math.inf, math.inf)


class TableSearch:
    """A name of a table that a caller gave, for a search in the histories of several catalogs."""

    def __init__(self, text: str) -> None:
        check_not_empty("the name of the table", text)
        self._text = text
        self._known: dict[str, None] = {}
        self._is_found = False
        self._places = "in the history"

    def find(self, history: History) -> ChosenTable | None:
        """Return the table of that name; None where there is none.

        The name may lack its first parts or differ in case, if only one table matches.

        Raises:
            ConfigurationError: `AMBIGUOUS_TABLE`.
        """
        return self._find(history, name_parts(self._text))

    def find_declared(self, names: Sequence[str]) -> str | None:
        """Return the one of the names that files declare which the text means; None where there is none.

        Raises:
            ConfigurationError: `AMBIGUOUS_TABLE`.
        """
        self._known.update(dict.fromkeys(names))
        self._places = "in the history or in the files"
        name = _match(name_parts(self._text), names)
        self._is_found = self._is_found or name is not None
        return name

    def find_with_column(self, history: History) -> tuple[ChosenTable, str | None] | None:
        """Return the table, and the column where the last parts of the text name one."""
        parts = name_parts(self._text)
        for end in range(len(parts), 0, -1):
            if chosen := self._find(history, parts[:end]):
                return chosen, name_of(parts[end:]) or None
        return None

    def check(self, results: tuple[R, ...]) -> tuple[R, ...]:
        """Return the results.

        Raises:
            ConfigurationError: `UNKNOWN_TABLE`: no history has the table.
        """
        if self._is_found:
            return results
        listing = command("history") if self._known else command("import", "tables", "--list")
        what_is_listed = "what ran" if self._known else "the tables that exist"
        hint = did_you_mean(self._text, _with_short_names(self._known), f"`{listing}` lists {what_is_listed}")
        raise ConfigurationError(
            "UNKNOWN_TABLE", f"no migration {self._places} changed a table {self._text}", hint, table=self._text
        )

    def _find(self, history: History, parts: Sequence[str]) -> ChosenTable | None:
        names = RecordedNames.of(history)
        self._known.update(dict.fromkeys(names.all))
        name = _match(parts, names.all)
        if name is None:
            return None
        self._is_found = True
        linked = timelines(history, names.linked(name))
        return ChosenTable(name, tuple(_by_name(linked).get(name, ())), history, names.spellings)


def _by_name(candidates: Sequence[Timeline]) -> Mapping[str, Sequence[Timeline]]:
    """Return the timelines by each name that their table ever had."""
    names: dict[str, list[Timeline]] = {}
    for timeline in candidates:
        for name in dict.fromkeys(moment.shape.table for moment in timeline.moments if moment.shape):
            names.setdefault(name, []).append(timeline)
    return names


def _match(parts: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the name that matches exactly, else without its first parts, else likewise with case ignored."""
    if not parts:
        return None
    for wanted, fold in ((tuple(parts), str), (tuple(map(str.casefold, parts)), str.casefold)):
        folded = {name: tuple(map(fold, name_parts(name))) for name in names}
        for matching in (
            [name for name, folded_parts in folded.items() if folded_parts == wanted],
            [name for name, folded_parts in folded.items() if folded_parts[-len(wanted) :] == wanted],
        ):
            if len(matching) > 1:
                raise ConfigurationError(
                    "AMBIGUOUS_TABLE",
                    f"{name_of(parts)} may be {' or '.join(sorted(matching))}",
                    "write the qualified name, as it is in this list",
                    candidates=sorted(matching),
                )
            if matching:
                return matching[0]
    return None


def _with_short_names(names: Mapping[str, None]) -> Iterator[str]:
    """Yield the names, and each without its first parts."""
    for name in names:
        parts = name_parts(name)
        yield from (name_of(parts[begin:]) for begin in range(len(parts)))


@dataclass(frozen=True, slots=True)
class RecordedNames:
    """The table names of a history.

    Attributes:
        all: qualified names where tables were recorded, else as files wrote them; in the order of the files.
        spellings: by qualified name, how files wrote it.
    """

    all: Sequence[str]
    spellings: Mapping[str, frozenset[str]]
    _links: Sequence[Mention]

    @classmethod
    def of(cls, history: History) -> RecordedNames:
        """Return the names of a history."""
        links = dict.fromkeys(mention for mentions in history.mentions.values() for mention in mentions)
        spellings: dict[str, set[str]] = {}
        for link in links:
            for _, whole in (node for node in link if node[0] == "table"):
                spellings.setdefault(whole, set())
            for name, whole in _meant(link):
                spellings[whole].add(name)
        recorded = {name for names in spellings.values() for name in names}
        others = []
        for name in changed_tables(history):
            # A file without a record, such as one of several that `baseline` recorded, may have left out the catalog.
            is_in_namespace = len(name_parts(name)) > 1
            wholes = [whole for whole in spellings if is_in_namespace and may_mean(name, whole)]
            if name not in recorded and len(wholes) == 1:
                spellings[wholes[0]].add(name)
            elif name not in recorded and name not in spellings:
                others.append(name)
        frozen = {name: frozenset(names) for name, names in spellings.items()}
        return cls((*spellings, *others), frozen, tuple(links))

    def linked(self, name: str) -> frozenset[str]:
        """Return the forms in files of all names that tables with this name had, directly or through renames."""
        known = {("table", name), ("written", name)}
        while grown := {node for link in self._links if link & known for node in link} - known:
            known |= grown
        return frozenset(text for kind, text in known if kind == "written")


@dataclass(frozen=True, slots=True)
class VersionEvent:
    """An event of a version or a repeatable.

    Attributes:
        tables: those that the file of the version changes, by its last start; by qualified names where it left records of them.
        begin: the place of the event that started the file.
    """

    event: Event
    tables: frozenset[str]
    begin: Place


def version_events(history: History) -> Iterator[VersionEvent]:
    """Yield the events of all versions and repeatables, in order, without those that runs wrote after they lost the lock."""
    files: dict[Key, tuple[frozenset[str], Place]] = {}
    meant: dict[tuple[Key | None, str], set[str]] = {}
    for event in history.events:
        for mention in history.mentions.get(place_of(event), ()):
            for name, whole in _meant(mention):
                meant.setdefault((event.key, name), set()).add(whole)
    for event in history.events:
        key = event.key
        if key is None or place_of(event) in history.late:
            continue
        if event.event in (EventType.STARTED, EventType.BASELINED) or key not in files:
            names = (meant.get((key, name), {name}) for name in table_names(event.tables))
            files[key] = frozenset().union(*names), place_of(event)
        yield VersionEvent(event, *files[key])


def _meant(mention: Mention) -> Iterator[tuple[str, str]]:
    """Yield the name in a record as the file wrote it, with each qualified name that it means."""
    wholes = [whole for kind, whole in mention if kind == "table"]
    for name in written(mention):
        # A renamed table has two names, of which the file may have written either.
        yield from ((name, whole) for whole in wholes if len(wholes) == 1 or may_mean(name, whole))


def changed_tables(history: History) -> list[str]:
    """Return the names of all tables that files change, in the order of the files."""
    changed = (table for version_event in version_events(history) for table in sorted(version_event.tables))
    return list(dict.fromkeys(changed))


def gaps(history: History, names: Collection[str], point: Point | None) -> tuple[str, ...]:
    """Return the versions that changed a table without a record of it, after the last record before a point.

    A version whose run has not ended, or was lost, is one of them.

    Args:
        names: all forms of the table's names in files.
    """
    unrecorded: dict[str, None] = {}
    started: dict[str, None] = {}
    is_reached = reached(point, history)
    for version_event in version_events(history):
        event = version_event.event
        if not version_event.tables.intersection(names):
            continue
        if event.event == EventType.STARTED and is_reached(event):
            started[event.label] = None
        elif event.event in ENDS and event.event != EventType.UNKNOWN:
            started.pop(event.label, None)
        if event.event in ENDS and is_reached(event):
            if any(record.unread is None for record in records_in(history, event, names)):
                unrecorded.clear()
            else:
                unrecorded[event.label] = None
    return tuple(unrecorded | started)
