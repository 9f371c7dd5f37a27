"""Key schemes: from ids, and how often they are requested, to the sorted keys of a table.

A key is modelled up to the last part that divides a load for longer than a day. What is the same for all keys is left out, and what
follows a time after an id: each period begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.partitions import Keys
from glacierbase.capabilities.load.traffic import DAY, Array
from glacierbase.layout.keys import hash_prefix, reversed_id

np = required("numpy")

MOST_IDS = 200_000
# Whole decades, so that the first digits follow Benford's law and the last ones do not.
_LOWEST, _HIGHEST = 10**6, 10**10
_NEWEST = 2_500_000
_ZIPF = 1.1
HEX = "0123456789abcdef"
_HEX_DIGITS = 8
_BASE2_BITS = 20
ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX_LENGTH = 2
# Bytes of a key: later ones divide no partition.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids, and the share of the requests of each.

    Attributes:
        values: as texts, as they are in a key.
        shares: their sum is 1.
    """

    values: Sequence[str]
    shares: Array

    @classmethod
    def of(cls, values: Sequence[str], weights: Array | None = None) -> Ids:
        """Return ids with these weights, by default the same for all."""
        weights = np.ones(len(values)) if weights is None else weights
        return cls(values, weights / weights.sum())


def _benford(random: Array) -> Ids:
    return Ids.of(_texts(10 ** random.uniform(np.log10(_LOWEST), np.log10(_HIGHEST), MOST_IDS)))


def _uniform(random: Array) -> Ids:
    return Ids.of(_texts(random.integers(_LOWEST, _HIGHEST, MOST_IDS)))


def _sequential(random: Array) -> Ids:
    return Ids.of(_texts(random.choice(np.arange(1, _NEWEST + 1), MOST_IDS, replace=False)))


def _even(random: Array) -> Ids:
    return Ids.of(_texts(10 ** random.uniform(np.log10(_LOWEST), np.log10(_HIGHEST), MOST_IDS) // 2 * 2))


def _zipf(random: Array) -> Ids:
    return Ids.of(_benford(random).values, np.arange(1, MOST_IDS + 1) ** -_ZIPF)


def _texts(numbers: Array) -> list[str]:
    return [str(number) for number in numbers.astype(np.int64).tolist()]


DISTRIBUTIONS: Mapping[str, Callable[[Array], Ids]] = {
    "benford": _benford,
    "uniform": _uniform,
    "sequential": _sequential,
    "even": _even,
    "zipf": _zipf,
}


def drawn(distribution: str, seed: int) -> Ids:
    """Return ids of one of `DISTRIBUTIONS`."""
    return DISTRIBUTIONS[distribution](np.random.default_rng([seed, 2]))


# Return the sorted keys of ids; random choices come from a generator of numpy.
Scheme: TypeAlias = Callable[[Ids, Array], Keys]


def _date_first(ids: Ids, _random: Array) -> Keys:
    return keys_of(ids.values, ids.shares, restart=DAY)


def _id_first(ids: Ids, _random: Array) -> Keys:
    return keys_of(ids.values, ids.shares)


def _hash(ids: Ids, _random: Array) -> Keys:
    return keys_of(hashed(ids.values), ids.shares)


def _reversed_id(ids: Ids, _random: Array) -> Keys:
    return keys_of([reversed_id(value) for value in ids.values], ids.shares)


def _base2(_ids: Ids, random: Array) -> Keys:
    return _of_files("01", _BASE2_BITS, random)


def _random(_ids: Ids, random: Array) -> Keys:
    return _of_files(ALPHANUMERIC, _PREFIX_LENGTH, random)


def _of_files(characters: str, length: int, random: Array) -> Keys:
    """Return keys that begin with a text of its own for each file, so that ids do not matter."""
    return keys_of(random_texts(characters, length, MOST_IDS, random), np.full(MOST_IDS, 1 / MOST_IDS))


# In the order in which the runs are listed.
SCHEMES: Mapping[str, Scheme] = {
    "date-first": _date_first,
    "id-first": _id_first,
    "hash": _hash,
    "base2": _base2,
    "reversed-id": _reversed_id,
    "random": _random,
}
# Their keys do not depend on ids.
OF_FILES = frozenset({"base2", "random"})
DEFAULT_SCHEMES = tuple(name for name in SCHEMES if name != "random")


def keys_of(texts: Sequence[str], shares: Array, restart: int | None = None) -> Keys:
    """Return the sorted keys, each once.

    Args:
        restart: see `Keys`.
    """
    # An id ends with a slash, which sorts before digits and letters.
    encoded = np.array([f"{text}/".encode()[:_LONGEST] for text in texts])
    distinct, places = np.unique(encoded, return_inverse=True)
    return Keys(distinct.view(np.uint8).reshape(len(distinct), -1), np.bincount(places, weights=shares), restart)


def hashed(values: Sequence[str]) -> list[str]:
    """Return the first hexadecimal digits of the MD5 of each value."""
    return [hash_prefix(value, _HEX_DIGITS) for value in values]


def random_texts(characters: str, length: int, count: int, random: Array) -> list[str]:
    """Return random texts of these characters."""
    codes = np.frombuffer(characters.encode(), dtype=np.uint8)
    chosen = codes[random.integers(0, len(codes), (count, length))]
    return list(map(str, chosen.view(f"S{length}").ravel().astype(str).tolist()))


def first_characters(keys: Keys) -> dict[str, float]:
    """Return the share of the requests by the first character that varies between the keys; `time` if they begin with a time."""
    if keys.restart:
        return {"time": 1.0}
    rows = keys.characters
    # The keys are sorted: the first and the last have the longest prefix that is common to all.
    shares = np.bincount(rows[:, np.argmax(rows[0] != rows[-1])], weights=keys.shares)
    return {_character(code): round(float(shares[code]), 6) for code in np.flatnonzero(shares).tolist()}


def _character(code: int) -> str:
    """Return the character of a byte; of a byte inside a character of UTF-8, its number."""
    return chr(code) if code < 0x80 else f"0x{code:02x}"
