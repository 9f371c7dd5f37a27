"""Count the ids of a column while they are read, in a memory that does not grow with their number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce

from glacierbase.capabilities.load.ids import Batch

# Up to so many distinct ids the counts are exact. Above, those of the most frequent ids are lower limits (J. Misra and D. Gries,
# "Finding repeated elements", 1982). What they lack is at most the number of values divided by half of this.
EXACT = 500_000

# Fewer ids than this may be close together by chance.
_FEW = 100
# Ids that were given in sequence use at least one of so many numbers; the others were given to rows that are gone.
_PARTLY = 4
_HEX = "[0-9A-Fa-f]"
# By RFC 9562, the versions 1, 6 and 7 of a UUID begin with a time. A ULID does too: https://github.com/ulid/spec
_KINDS = re.compile(
    "(?P<integer>-?[0-9]+)|(?P<ulid>[0-7][0-9A-HJKMNP-TV-Z]{25})"
    f"|(?P<clock>{_HEX}{{8}}-?{_HEX}{{4}}-?[167]{_HEX}{{3}}-?[89ABab]{_HEX}{{3}}-?{_HEX}{{12}})"
    f"|(?P<uuid>{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})|(?P<hex>[0-9a-f]+|[0-9A-F]+)",
    re.ASCII,
)
_DIGITS = "0123456789"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class IdKind(Enum):
    """What all ids of a column are."""

    INTEGER = "integer"
    UUID = "uuid"
    CLOCK_UUID = "clock-uuid"
    ULID = "ulid"
    HEX = "hex"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Hottest:
    """The most frequent id.

    Attributes:
        share: its share of the values; if it is not exact, at least this.
        share_at_most: the highest possible share of any id.
    """

    id: str
    share: float
    share_at_most: float


class IdCounts:
    """The counts of the ids that were read.

    Attributes:
        values: how many are not null.
        padded: how many begin with 0 and have further characters.
        first, last: by character.
        kinds: how many values could be of a kind; None for texts.
        odd_one: the first value that is no integer, or None.
    """

    def __init__(self, exact: int = EXACT) -> None:
        self._exact = exact
        self.values = self.nulls = self.padded = 0
        self.first: Counter[str] = Counter()
        self.last: Counter[str] = Counter()
        self.kinds: Counter[str | None] = Counter()
        self.odd_one: str | None = None
        self._by_id: Counter[str] = Counter()
        self._lacking = 0
        self._range: tuple[int, int] | None = None
        self._numbered: tuple[int, int] | None = None

    @classmethod
    def of(cls, batches: Iterable[Batch], exact: int = EXACT) -> IdCounts:
        """Return the counts of all batches."""
        return reduce(cls._with, batches, cls(exact))

    def _with(self, batch: Batch) -> IdCounts:
        values = [value for value in batch if value is not None]
        self.nulls += len(batch) - len(values)
        if values:
            self._add(values)
        return self

    def _add(self, values: list[str]) -> None:
        self.values += len(values)
        self.first.update(value[0] for value in values)
        self.last.update(value[-1] for value in values)
        self.padded += sum(value[0] == "0" and len(value) > 1 for value in values)
        kinds = [match.lastgroup if (match := _KINDS.fullmatch(value)) else None for value in values]
        self.kinds.update(kinds)
        if self.kinds["integer"] == self.values:
            numbers = [*map(int, values), *(self._range or ())]
            self._range = min(numbers), max(numbers)
        elif self.odd_one is None:
            self.odd_one = next(value for value, kind in zip(values, kinds, strict=True) if kind != "integer")
        self._by_id.update(values)
        if len(self._by_id) > self._exact:
            self._reduce()

    def _reduce(self) -> None:
        """Keep at most half of the ids: subtract from each count what the most frequent one of the others has."""
        if self._numbered is None:
            self._numbered = self._dense_range()
        cut = sorted(self._by_id.values(), reverse=True)[self._exact // 2]
        self._by_id = Counter({id_: count - cut for id_, count in self._by_id.items() if count > cut})
        self._lacking += cut

    @property
    def distinct(self) -> tuple[int, bool]:
        """The number of distinct ids, and whether it is exact; otherwise there are more."""
        return (self._exact, False) if self._lacking else (len(self._by_id), True)

    @property
    def hottest(self) -> Hottest | None:
        """The most frequent id, of equal ones the first in order; None if none is known to be frequent."""
        if not self._by_id:
            return None
        count = max(self._by_id.values())
        id_ = min(id_ for id_, times in self._by_id.items() if times == count)
        return Hottest(id_, count / self.values, (count + self._lacking) / self.values)

    @property
    def kind(self) -> IdKind:
        """What all ids are."""
        of, all_ = self.kinds, self.values
        if of["integer"] == all_:
            return IdKind.INTEGER
        if of["ulid"] == all_:
            return IdKind.ULID
        if 2 * of["clock"] > all_ and of["clock"] + of["uuid"] + of["hex"] == all_:
            return IdKind.CLOCK_UUID
        if of["uuid"] + of["clock"] == all_:
            return IdKind.UUID
        is_hex = not of[None] and not of["ulid"] and "-" not in self.first
        return IdKind.HEX if is_hex else IdKind.TEXT

    @property
    def numbered(self) -> tuple[int, int] | None:
        """The lowest and the highest id if the ids are numbered in sequence: at least a quarter of the numbers between occurs."""
        if self.kind is not IdKind.INTEGER:
            return None
        return self._dense_range() if self._numbered is None else self._numbered

    def _dense_range(self) -> tuple[int, int] | None:
        low, high = self._range or (0, 0)
        is_dense = len(self._by_id) >= _FEW and high - low < _PARTLY * len(self._by_id)
        return (low, high) if is_dense else None

    def first_characters(self) -> Mapping[str, int]:
        """Return the count of each character that an id of this kind may begin with, in order."""
        return self._characters(self.first, _DIGITS[1:], _CROCKFORD[:8])

    def last_characters(self) -> Mapping[str, int]:
        """Return the count of each character that an id of this kind may end with, in order."""
        return self._characters(self.last, _DIGITS, _CROCKFORD)

    def _characters(self, counts: Counter[str], of_integers: str, of_ulids: str) -> Mapping[str, int]:
        alphabets = {IdKind.INTEGER: of_integers, IdKind.ULID: of_ulids, IdKind.TEXT: ""}
        hex_digits = _DIGITS + ("ABCDEF" if counts.keys() & set("ABCDEF") else "abcdef")
        alphabet = {*counts, *alphabets.get(self.kind, hex_digits)}
        return {character: counts[character] for character in sorted(alphabet)}
