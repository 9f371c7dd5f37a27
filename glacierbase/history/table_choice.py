"""The choice of recorded tables by patterns of names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from glacierbase.errors import ConfigurationError
from glacierbase.history.timeline import Timeline
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.names import matches
from glacierbase.model.spelling import did_you_mean
from glacierbase.model.text import first_of

T = TypeVar("T")

# Of the recorded tables, how many a message names.
_MOST_NAMED = 5


class TableChoice:
    """Patterns as a caller wrote them, none for all tables; looked up in the history of one catalog after the other."""

    def __init__(self, patterns: Collection[str] = ()) -> None:
        for each in patterns:
            check_not_empty("the pattern of tables", each)
        self._patterns = tuple(patterns)
        self._known: dict[str, None] = {}

    def fits(self, table: str) -> bool:
        """Return whether a table is chosen."""
        return not self._patterns or any(matches(table, each) for each in self._patterns)

    def of(self, known: Iterable[Timeline], others: Iterable[str] = ()) -> Sequence[Timeline]:
        """Return the timelines of the chosen tables.

        Args:
            others: names of tables that files touched and that have no timeline.
        """
        found = list(known)
        self._known.update(dict.fromkeys([*(each.table for each in found), *others]))
        return [each for each in found if self.fits(each.table)]

    def check(self, found: T) -> T:
        """Return what was found.

        Raises:
            ConfigurationError: `UNKNOWN_TABLE`: a pattern fits no table in the histories that were looked up.
        """
        for pattern in self._patterns:
            if not any(matches(table, pattern) for table in self._known):
                what = f"no migration in the history changed a table that fits {pattern}"
                hint = did_you_mean(pattern, self._known, self._named())
                raise ConfigurationError("UNKNOWN_TABLE", what, hint, table=pattern)
        return found

    def _named(self) -> str:
        names = sorted(self._known)
        return f"the tables are {first_of(names, _MOST_NAMED)}" if names else "no table is recorded"
