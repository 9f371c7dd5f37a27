"""Ids for comparing the key macros on an engine with their twins in Python."""

from __future__ import annotations

import random
import uuid

from glacierbase.layout.expressions import DIALECTS
from glacierbase.layout.keys import bucket_prefix, hash_path, hash_prefix, reversed_id

# The arguments of each macro, and its result in Python.
CALLS = {
    "reversed": ("reversed_id", (), reversed_id),
    "prefix": ("hash_prefix", (2,), lambda id: hash_prefix(id, 2)),
    "whole": ("hash_prefix", (32,), lambda id: hash_prefix(id, 32)),
    "path": ("hash_path", (3,), lambda id: hash_path(id, 3)),
    "two": ("bucket_prefix", (2,), lambda id: bucket_prefix(id, 2)),
    "sixteen": ("bucket_prefix", (16,), lambda id: bucket_prefix(id, 16)),
    "most": ("bucket_prefix", (10_000,), lambda id: bucket_prefix(id, 10_000)),
}


def expressions(dialect: str, column: str) -> dict[str, str]:
    """Return the SQL of each call for a column."""
    macros = DIALECTS[dialect]
    return {name: getattr(macros, macro)(column, *arguments) for name, (macro, arguments, _) in CALLS.items()}


def expected(ids: list[int] | list[str]) -> list[dict[str, str]]:
    """Return the results of all calls in Python for each id."""
    return [{name: function(id) for name, (_, _, function) in CALLS.items()} for id in ids]


def numbers(count: int) -> list[int]:
    """Return distinct whole numbers of up to 19 digits: 0, trailing zeros, the bounds of BIGINT, negative ones."""
    chosen = random.Random(5)
    edges = [0, 2**63 - 1, -(2**63), *(sign * 10**power for power in range(19) for sign in (1, -1))]
    round_numbers = (chosen.randrange(1, 10**6) * 10 ** chosen.randrange(1, 12) for _ in range(count // 4))
    spread = (chosen.randrange(-(2**63), 2**63) // 10 ** chosen.randrange(19) for _ in range(3 * count))
    return list(dict.fromkeys([*edges, *round_numbers, *spread]))[:count]


def texts(count: int) -> list[str]:
    """Return distinct texts: UUIDs, zeros in front, quotes, slashes, combining characters, characters beyond 16 bits."""
    chosen = random.Random(7)
    edges = [
        "",
        " ",
        "0",
        "007",
        "100",
        "-0",
        "1e3",
        "a/b=c",
        "it's",
        '"',
        "\\",
        "$1",
        "%s",
        "{}",
        "\t\n",
        "NULL",
        "\x00",
    ]
    alphabet = "aZ09-_/é\u0301\u200d\u0627\u05d0漢\ue000\uffff😀👩🏽‍🚀𝔘\U0010ffff"
    unicode = ("".join(chosen.choices(alphabet, k=chosen.randrange(1, 12))) for _ in range(count // 2))
    uuids = (str(uuid.UUID(int=chosen.getrandbits(128), version=4)) for _ in range(count))
    return list(dict.fromkeys([*edges, *unicode, *uuids]))[:count]
