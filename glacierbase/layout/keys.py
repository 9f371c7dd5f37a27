"""Keys from ids, in Python: the twins of the key macros of migration files, for programs that write the same keys.

Each function returns what the SQL of the macro of the same name computes (`expressions`; tests compare both on real engines). An id
is a text or a whole number; a number counts as its decimal text, `-120` or `0`, as an engine casts it. Hashes are MD5 of the UTF-8
bytes: engines compute it, and it is not for security.

    from glacierbase.layout.keys import bucket_prefix, hash_path, hash_prefix, id_of, reversed_id
"""

from __future__ import annotations

from hashlib import md5

# The numbers that the macros and the functions accept as `n`. MD5 has 32 hexadecimal digits.
LEVELS = range(1, 32 + 1)
BUCKETS = range(2, 10_000 + 1)


def reversed_id(id: str | int) -> str:
    """Return the characters of an id in reverse order: `021` for 120.

    The first character is the last digit of the id; of consecutive numbers, a tenth has each. Keep it as text: as a number, `021`
    is 21, and the ids 12 and 120 are one. Unicode is reversed by code point.

    Raises:
        TypeError: the id is no text and no whole number.
    """
    return _text(id)[::-1]


def id_of(reversed_id: str) -> str:
    """Return the id whose `reversed_id` this is, as text: `120` for `021`.

    Raises:
        TypeError: it is no text: zeros at the start of a number are lost.
    """
    if not isinstance(reversed_id, str):
        raise TypeError(f"a reversed id is a str, not {type(reversed_id).__name__}")
    return reversed_id[::-1]


def hash_prefix(id: str | int, n: int) -> str:
    """Return the first `n` hexadecimal digits of an id's MD5: one of 16 to the power of `n` prefixes.

    Raises:
        TypeError: the id is no text and no whole number, or `n` is no whole number.
        ValueError: `n` is not 1 to 32, or the id has no UTF-8.
    """
    return _digest(id)[: checked("n", n, LEVELS)]


def hash_path(id: str | int, n: int) -> str:
    """Return a path of `n` folders, a hexadecimal digit of the id's MD5 each, and the id: `d/a/120` for 120 with 2.

    Raises:
        TypeError, ValueError: as `hash_prefix`.
    """
    return "/".join((*hash_prefix(id, n), _text(id)))


def bucket_prefix(id: str | int, n: int) -> str:
    """Return the bucket of an id, a number from 0 to `n - 1`, with zeros in front so that all have the same length.

    Buckets hold equal shares of the ids. Their first characters do too where `n` is one digit followed by zeros: 10 and 100 have
    ten of them, 20 has two. Of 16 buckets, 10 begin with 0 and 6 with 1: `hash_prefix(id, 1)` has 16 first characters.

    The number is the upper half of the MD5, 64 bits, modulo `n`.

    Raises:
        TypeError: the id is no text and no whole number, or `n` is no whole number.
        ValueError: `n` is not 2 to 10,000, or the id has no UTF-8.
    """
    bucket = int(_digest(id)[:16], 16) % checked("n", n, BUCKETS)
    return f"{bucket:0{bucket_width(n)}}"


def bucket_width(n: int) -> int:
    """Return the number of digits of each of `n` buckets."""
    return len(str(n - 1))


def checked(name: str, number: int, allowed: range) -> int:
    """Return a number if it is allowed.

    Raises:
        TypeError, ValueError: it is not; the message names the range.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} is a whole number, not {type(number).__name__}")
    if number not in allowed:
        raise ValueError(f"{name} is {number}; allowed: {allowed[0]} to {allowed[-1]}")
    return number


def _digest(id: str | int) -> str:
    return md5(_text(id).encode(), usedforsecurity=False).hexdigest()


def _text(id: str | int) -> str:
    if not isinstance(id, (str, int)) or isinstance(id, bool):
        raise TypeError(f"an id is a str or an int, not {type(id).__name__}")
    return str(id)
