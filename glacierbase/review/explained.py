"""Why a finding of `review` matters, and what to do: of the rule about the same, or of what only the replay shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from glacierbase.review.catalogue import FAMILIES

_RULES = {rule.code: rule for _, rules in FAMILIES.values() for rule in rules}
# By code: why, and the fix.
REPLAY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "REPLAY_REFUSED": (
            "Spark refuses the statement on tables that the same migrations made, and would refuse it in a run.",
            "Correct the statement; if a table differs from the real one, create it in the file of the key `review.fixtures`.",
        ),
        "REPLAY_NOT_RUN": (
            "The statement loads code or reaches files, programs or the network, which a review does not allow.",
            "Move it out of the migrations, or have its effect checked by a person.",
        ),
        "REPLAY_UNKNOWN_TABLE": (
            "No migration makes the table: its name is wrong, or the review cannot show what the statement does to it.",
            "Correct the name; if the table was made elsewhere, create it in the file of the key `review.fixtures`.",
        ),
        "REPLAY_LOCAL_PATH": (
            "The path is one of the machine that runs the migration, and another machine does not have it.",
            "Write an address such as s3://bucket/path, or leave LOCATION out.",
        ),
        "REPLAY_TIMEOUT": (
            "A statement that takes so long on empty tables does not end on the real ones.",
            "Make the statement smaller, or move data out of the migrations.",
        ),
    }
)


def explained(code: str) -> tuple[str, str]:
    """Return why the findings of a code matter, and the fix."""
    return REPLAY[code] if code in REPLAY else (_RULES[code].why, _RULES[code].fix)
