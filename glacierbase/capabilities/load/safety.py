"""Which key schemes divide the load of the ids of a column, and why.

An object store splits its keys by their first characters; how it chooses the places is not documented. So nothing here is a promise
of a store: a scheme counts as safe if no first character, and no id, has more than an eighth of the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, log10, sqrt
from typing import TypeAlias

from glacierbase.capabilities.load.counting import Hottest, IdCounts, IdKind
from glacierbase.capabilities.load.plots import visible
from glacierbase.model.amounts import share_text
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import counted

# Ten equal digits have 10 % each.
MOST_SHARE = 1 / 8
# Differences that chance alone would cause more often than this are not taken as uneven.
CHANCE = 0.01
# Of fewer values nothing is said: the test of chi-square requires about 5 of each character.
_LEAST_VALUES = 100
_LONGEST_ID = 60
# Whether a fact leaves a scheme safe, and the fact.
_Reason: TypeAlias = tuple[bool, str]
_BENFORD = {str(digit): log10(1 + 1 / digit) for digit in range(1, 10)}


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Pearson's test of whether all characters have equal shares.

    Attributes:
        p_value: the probability of a value this high, or higher, if the shares are equal; None with fewer than two characters.
    """

    chi_square: float
    degrees_of_freedom: int
    p_value: float | None


@dataclass(frozen=True, slots=True)
class SchemeSafety:
    """Whether a key scheme divides the load of the ids, and why."""

    scheme: str
    safe: bool
    why: str


def chi_square(counts: Mapping[str, int]) -> ChiSquare:
    """Return Pearson's chi-square of counts against equal shares."""
    expected, degrees = sum(counts.values()) / len(counts), len(counts) - 1
    value = sum((count - expected) ** 2 for count in counts.values()) / expected
    return ChiSquare(value, degrees, _above(value, degrees) if degrees else None)


def _above(value: float, degrees: int) -> float:
    """Return the probability of a chi-square above a value: the finite sum for whole degrees of freedom.

    https://dlmf.nist.gov/8.4 (8.4.10 and 8.4.14 with the half of the value)
    """
    half, odd = value / 2, degrees % 2
    if not half:
        return 1.0
    terms = (exp(-half + power * log(half) - lgamma(power + 1)) for power in (odd / 2 + i for i in range(degrees // 2)))
    return min(1.0, (erfc(sqrt(half)) if odd else 0.0) + sum(terms))


def schemes(counts: IdCounts) -> tuple[SchemeSafety, ...]:
    """Return the five schemes with their verdicts."""
    hot = tuple(_hot(counts))
    return (
        _verdict("id-first", *_id_first(counts), *hot),
        _verdict("reversed-id", *_reversed_id(counts), *hot),
        _verdict("hash", (True, _HASH), *hot),
        _verdict("base2", (True, _BASE2)),
        _verdict("random", (True, _RANDOM)),
    )


def _verdict(scheme: str, *reasons: _Reason) -> SchemeSafety:
    return SchemeSafety(scheme, all(safe for safe, _ in reasons), "; ".join(why for _, why in reasons))


_HASH = "a hash divides distinct ids evenly among 16 first characters, whatever their digits; keys are not readable"
_BASE2 = (
    "Iceberg hashes partition path and file name, so that the files of one id are divided too; a character is 0 or 1, so that the"
    " store has to split 4 characters deep for 16 parts"
)
_RANDOM = (
    "each object has a prefix of its own; a key cannot be computed from its id, so that reading an id requires an index"
)


def _hot(counts: IdCounts) -> Iterator[_Reason]:
    hottest = counts.hottest
    if hottest and hottest.share_at_most > MOST_SHARE:
        share = share_text(hottest.share)
        yield (
            False,
            f"the id {shown_id(hottest)} has {share} of the values: one partition gets them, in any scheme of ids",
        )


def shown_id(hottest: Hottest) -> str:
    """Return an id for a line of text."""
    return on_one_line(hottest.id, _LONGEST_ID)


def _id_first(counts: IdCounts) -> Iterator[_Reason]:
    kind, first = counts.kind, counts.first_characters()
    if kind in (IdKind.CLOCK_UUID, IdKind.ULID):
        yield False, "the ids begin with a time, so that all new ones have the same first characters"
    elif numbered := counts.numbered:
        span = f"{numbered[0]} to {numbered[1]}"
        yield (
            False,
            f"the ids are numbered in sequence ({span}): new ones share their first digits, whose shares change",
        )
    if counts.padded and kind is IdKind.INTEGER:
        yield True, f"{share_text(counts.padded / counts.values)} of the ids begin with zeros that fill them up"
    if "-" in first and kind is IdKind.INTEGER:
        yield True, f"{share_text(first['-'] / counts.values)} of the ids are negative: they begin with -"
    is_even, why = _spread(first, "begin with")
    by_law = "; the first digits follow Benford's law" if not is_even and _is_benford(first) else ""
    yield is_even, why + by_law


def _reversed_id(counts: IdCounts) -> Iterator[_Reason]:
    last = counts.last_characters()
    yield _spread(last, "end in")
    zeros = last.get("0", 0)
    if zeros and counts.kind is IdKind.INTEGER:
        share = share_text(zeros / counts.values)
        yield (
            True,
            f"{share} of the ids end in 0: keep the reversed id as text, because a number drops the 0 (100 becomes 1)",
        )


def _spread(counts: Mapping[str, int], verb: str) -> _Reason:
    """Return whether characters share the values well enough, and a sentence with the numbers.

    Args:
        verb: what ids do with the character.
    """
    values, kinds = sum(counts.values()), len(counts)
    character = max(counts, key=lambda name: counts[name])
    share, used = counts[character] / values, sum(map(bool, counts.values()))
    if values < _LEAST_VALUES:
        return False, f"{counted(values, 'value')} are too few to tell: {_LEAST_VALUES} are needed"
    few = f"only {used} of {kinds} characters occur; " if used < kinds else ""
    what = f"{few}{share_text(share)} of the ids {verb} {visible(character)}; equal shares are {share_text(1 / kinds)}"
    p_value = chi_square(counts).p_value
    if share > MOST_SHARE and kinds >= 1 / MOST_SHARE and p_value is not None and p_value >= CHANCE:
        return True, f"{what}; chance explains the difference"
    return share <= MOST_SHARE, what


def _is_benford(first: Mapping[str, int]) -> bool:
    """Return whether first digits are distributed as by Benford's law: the shares differ by a tenth in all, or less."""
    values = sum(first.values())
    return sum(abs(first.get(digit, 0) / values - share) for digit, share in _BENFORD.items()) <= 0.1
