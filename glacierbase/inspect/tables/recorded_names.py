"""The names of tables in a history, and which of them were the same table, without reading the shapes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glacierbase.history.mentions import Mention
from glacierbase.history.records import History
from glacierbase.inspect.versions.touched import touched_tables


@dataclass(frozen=True, slots=True)
class RecordedNames:
    """The names of a history.

    Attributes:
        all: whole names where tables were recorded, else as files wrote them; in the order of the files.
        spellings: by whole name, how files wrote it.
    """

    all: Sequence[str]
    spellings: Mapping[str, frozenset[str]]
    _links: Sequence[Mention]

    @classmethod
    def of(cls, history: History) -> RecordedNames:
        """Return the names of a history."""
        links = dict.fromkeys(each for mentions in history.mentions.values() for each in mentions)
        written: dict[str, set[str]] = {}
        for link in links:
            for _, whole in (each for each in link if each[0] == "table"):
                written.setdefault(whole, set()).update(name for kind, name in link if kind == "written")
        recorded = {name for names in written.values() for name in names}
        others = [name for name in touched_tables(history) if name not in recorded]
        spellings = {name: frozenset(names) for name, names in written.items()}
        return cls((*written, *(name for name in others if name not in written)), spellings, tuple(links))

    def linked(self, name: str) -> frozenset[str]:
        """Return the names of all tables that had this name, and of what these were renamed from or to, as files wrote them."""
        known = {("table", name), ("written", name)}
        while grown := {each for link in self._links if link & known for each in link} - known:
            known |= grown
        return frozenset(each for kind, each in known if kind == "written")
