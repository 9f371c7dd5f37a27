"""The cases of the oracle: statements that follow each other in a new namespace, by name, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.support import alter_chains, chains
from tests.support.direct_alters import ALTERS
from tests.support.direct_tables import TABLES

# How many chains of each kind are recorded.
CHAINS = 150


def groups() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the statements of each case by its name, by the name of the group."""
    return {
        "tables": dict(_cases("", TABLES)),
        "alters": dict(_cases("alter ", ALTERS)),
        "chains": {f"chain {seed}": _begun(chains.chain(seed)) for seed in range(CHAINS)},
        "alter chains": {f"alter chain {seed}": _begun(alter_chains.chain(seed)) for seed in range(CHAINS)},
    }


def _cases(prefix: str, listed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    for name, statements in listed.items():
        yield prefix + name, _begun(statements)


def _begun(statements: Sequence[str]) -> Sequence[str]:
    return ("CREATE NAMESPACE lake.NS", *statements)
